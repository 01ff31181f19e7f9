package api

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
	"unicode/utf8"

	"tidemark/api/endpoint"
)

// Any query is parsed within its bounds, or has faults that name its parameters.
func FuzzQuery(f *testing.F) {
	f.Add("from=2026-03-01&to=2026-03-04&limit=5&cursor=abc&ticker=NVDA&status=open&min_severity=3&since=2026-03-04T10:00:00Z&lang=es")
	f.Add("limit=-1&limit=2&from=%zz&as_of=9999-12-31T23:59:59.999999999Z")
	f.Fuzz(func(t *testing.T, query string) {
		r := &http.Request{URL: &url.URL{RawQuery: query}, Header: http.Header{}}
		p := readParameters(r, time.Unix(1_800_000_000, 0))
		q := p.list(^endpoint.Whole)
		_, langErr := p.lang(r, http.Header{})
		from, to := p.within()
		at := p.asOf()
		if p.err() != nil || langErr != nil {
			return
		}
		if q.Limit < 1 || q.Limit > maxLimit || q.MinSeverity < 0 || q.MinSeverity > 5 || at.After(time.Unix(1_800_000_000, 0)) ||
			!from.IsZero() && !to.IsZero() && to.Before(from) {
			t.Errorf("%q is read as %+v, from %s to %s, as of %s", query, q, from, to, at)
		}
	})
}

// Any body is an object of the requested form, or a problem.
func FuzzBody(f *testing.F) {
	f.Add([]byte(`{"name":"x"}`), "application/json", "")
	f.Add([]byte(`{"name":5}`), "application/json; charset=latin1", "gzip")
	f.Fuzz(func(t *testing.T, body []byte, contentType, coding string) {
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Content-Encoding", coding)
		var asked struct {
			Name              *string `json:"name"`
			TxHash, Signature *string
			Grace             int64 `json:"grace_seconds"`
		}
		if _, err := readObject(httptest.NewRecorder(), r, &asked, false); err == nil && asked.Name != nil && !utf8.ValidString(*asked.Name) {
			t.Errorf("%q has the name %q", body, *asked.Name)
		}
	})
}

// Any header fields select something that exists. Texts that are repeated to the client and to logs are plain.
func FuzzFields(f *testing.F) {
	f.Add("text/csv;q=0.5, */*", "es-MX, en;q=0.3", "gzip, *;q=0", `W/"a", "b"`, "req_1", "Bearer tmk_live_x")
	f.Fuzz(func(t *testing.T, accept, language, coding, tag, id, authorization string) {
		if format, err := negotiate([]string{accept}); err == nil && format == "" {
			t.Errorf("%q chooses nothing", accept)
		}
		if lang := preferred([]string{language}); len(lang) != 2 {
			t.Errorf("%q chooses %q", language, lang)
		}
		_ = acceptsGzip([]string{coding})
		_ = prefersHTML([]string{accept})
		_ = hasTag([]string{tag}, `"a"`)
		_ = takesJSON([]byte(accept))
		if got := requestID(http.Header{"X-Request-Id": {id}}); !wellFormed(got) {
			t.Errorf("%q is the request %q", id, got)
		}
		if key, err := bearer(http.Header{"Authorization": {authorization}}); err == nil && key.Reveal() == "" {
			t.Errorf("%q is an empty key", authorization)
		}
		_, _ = idempotencyKey(&http.Request{Header: http.Header{"Idempotency-Key": {id}}})
		_, _, _ = paymentHeader(&http.Request{Header: http.Header{"X-Payment": {id}}})
	})
}

// Any form of the dashboard is parsed or rejected. Hashes and signatures have their formats.
func FuzzForm(f *testing.F) {
	f.Add("tx_hash=0x00&signature=0x&token=x")
	f.Add("%zz=1;a=b")
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequest(http.MethodPost, "/dashboard/claim", bytes.NewReader([]byte(body)))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		s := &Server{sameOrigin: http.NewCrossOriginProtection()}
		if s.form(httptest.NewRecorder(), r) != nil {
			return
		}
		if tx := r.PostForm.Get("tx_hash"); txHashForm.MatchString(tx) && len(tx) != 66 {
			t.Errorf("%q is a hash", tx)
		}
		if (session{text: "x"}).ours(r) && r.PostForm.Get("token") != (session{text: "x"}).token() {
			t.Error("a form without the token is ours")
		}
	})
}
