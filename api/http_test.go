package api_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/api"
	"tidemark/api/view"
	"tidemark/internal/postgres"
)

func TestProblems(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full()}})
	only := httptest.NewServer(s.server.SignalsHandler())
	t.Cleanup(only.Close)
	known := []any{"crack-spread-321", "hormuz-transit", "lng-arbitrage"}
	tests := map[string]struct {
		method, address string
		header          []string
		status          int
		code            string
		allow           string
		known           any
	}{
		"an unknown signal names the known ones": {address: "/api/signals/brent", status: 404, code: "unknown_signal", known: known},
		"the brief of an unknown signal":         {address: "/api/signals/brent/brief", status: 404, code: "unknown_signal", known: known},
		"an id in capitals":                      {address: "/api/signals/LNG-ARBITRAGE", status: 404, code: "unknown_signal", known: known},
		"an id with an escaped slash":            {address: "/api/signals/lng%2Farbitrage", status: 404, code: "unknown_signal", known: known},
		"nothing there":                          {address: "/api/v0/none", status: 404, code: "not_found"},
		"no such page":                           {address: "/none", status: 404, code: "not_found"},
		"no such page for curl":                  {address: "/none", header: []string{"Accept", "*/*"}, status: 404, code: "not_found"},
		"an API address for a browser": {
			address: "/api/none", header: []string{"Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
			status: 404, code: "not_found",
		},
		"a page of an unknown signal":      {address: "/signals/brent", status: 404, code: "not_found"},
		"a file that is not static":        {address: "/static/layout.html", status: 404, code: "not_found"},
		"POST on the catalog":              {method: http.MethodPost, address: "/api/signals", status: 405, code: "method_not_allowed", allow: "GET, HEAD, OPTIONS"},
		"DELETE on a signal":               {method: http.MethodDelete, address: "/api/signals/crack-spread-321", status: 405, code: "method_not_allowed", allow: "GET, HEAD, OPTIONS"},
		"PUT on a page":                    {method: http.MethodPut, address: "/", status: 405, code: "method_not_allowed", allow: "GET, HEAD, OPTIONS"},
		"a method of one's own":            {method: "BREW", address: "/healthz", status: 405, code: "method_not_allowed", allow: "GET, HEAD, OPTIONS"},
		"only XML is taken":                {address: "/api/signals", header: []string{"Accept", "application/xml"}, status: 406, code: "not_acceptable"},
		"JSON is refused":                  {address: "/api/signals/crack-spread-321", header: []string{"Accept", "*/*, application/json;q=0"}, status: 406, code: "not_acceptable"},
		"JSON in place of Markdown":        {address: "/api/signals/crack-spread-321/brief", header: []string{"Accept", "application/json"}, status: 406, code: "not_acceptable"},
		"at the Signals API's own address": {address: only.URL + "/brent", status: 404, code: "unknown_signal", known: known},
		"no page at that address":          {address: only.URL + "/signals/lng-arbitrage", status: 404, code: "not_found"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.method == "" {
				tt.method = http.MethodGet
			}
			a := s.ask(tt.method, tt.address, tt.header...)
			if a.StatusCode != tt.status || a.Header.Get("Content-Type") != "application/problem+json" || a.Header.Get("Allow") != tt.allow {
				t.Fatalf("%s as %q, Allow %q: want %d as a problem, Allow %q",
					a.Status, a.Header.Get("Content-Type"), a.Header.Get("Allow"), tt.status, tt.allow)
			}
			p := s.object(a)
			checkFields(t, p, map[string]func(any) bool{"title": isString, "detail": isString, "instance": isString})
			for member, want := range map[string]any{
				"status": float64(tt.status), "code": tt.code, "type": s.url + "/problems/" + tt.code,
				"request_id": a.Header.Get("X-Request-Id"), "known_signals": tt.known,
			} {
				if diff := cmp.Diff(want, p[member]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", member, diff)
				}
			}
			if a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("it may be cached: %s", a.Header.Get("Cache-Control"))
			}
			if page := s.ask(http.MethodGet, p["type"].(string)); page.StatusCode != http.StatusOK {
				t.Errorf("its type answers %s", page.Status)
			}
		})
	}
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full()}})
	for _, path := range []string{
		"/api/signals", "/api/signals/crack-spread-321", "/api/signals/crack-spread-321/brief", "/api/signals/none", "/healthz", "/readyz",
		"/", "/signals/crack-spread-321", "/none",
	} {
		get, head := s.ask(http.MethodGet, path, "X-Request-Id", "same"), s.ask(http.MethodHead, path, "X-Request-Id", "same")
		if len(head.body) != 0 {
			t.Errorf("HEAD %s has a body", path)
		}
		get.Header.Del("Date")
		head.Header.Del("Date")
		if diff := cmp.Diff(get.Header, head.Header); diff != "" || get.StatusCode != head.StatusCode {
			t.Errorf("%s: GET %s, HEAD %s, fields (-get +head):\n%s", path, get.Status, head.Status, diff)
		}
		if get.ContentLength != int64(len(get.body)) {
			t.Errorf("%s: Content-Length %d, want %d", path, get.ContentLength, len(get.body))
		}
	}
}

func TestConditionalRequests(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full()}})
	const path = "/api/signals/crack-spread-321"
	whole, zipped := s.ask(http.MethodGet, path), s.ask(http.MethodGet, path, "Accept-Encoding", "gzip")
	id, zip := whole.Header.Get("ETag"), zipped.Header.Get("ETag")
	if want := strings.TrimSuffix(id, `"`) + `-gzip"`; zip != want || !regexp.MustCompile(`^"[0-9a-f]{32}"$`).MatchString(id) {
		t.Fatalf("ETags %s and %s: want a strong one, and the same with -gzip", id, zip)
	}
	tests := map[string]struct {
		header []string
		status int
		etag   string
	}{
		"the plain body's tag":            {[]string{"If-None-Match", id}, 304, id},
		"the tag, weakened by a proxy":    {[]string{"If-None-Match", "W/" + id}, 304, id},
		"one tag of a list":               {[]string{"If-None-Match", `"x", ` + id}, 304, id},
		"any":                             {[]string{"If-None-Match", "*"}, 304, id},
		"the compressed body's tag":       {[]string{"If-None-Match", zip, "Accept-Encoding", "gzip"}, 304, zip},
		"a plain copy, gzip accepted":     {[]string{"If-None-Match", id, "Accept-Encoding", "gzip"}, 304, id},
		"a compressed copy, gzip refused": {[]string{"If-None-Match", zip}, 200, id},
		"another tag":                     {[]string{"If-None-Match", `"x"`}, 200, id},
		"another tag, gzip accepted":      {[]string{"If-None-Match", `"x"`, "Accept-Encoding", "gzip"}, 200, zip},
		"only a date":                     {[]string{"If-Modified-Since", whole.Header.Get("Last-Modified")}, 200, id},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := s.ask(http.MethodGet, path, tt.header...)
			if a.StatusCode != tt.status || a.Header.Get("ETag") != tt.etag {
				t.Errorf("%s with %s, want %d with %s", a.Status, a.Header.Get("ETag"), tt.status, tt.etag)
			}
			if tt.status == http.StatusNotModified {
				if len(a.body) != 0 || a.Header.Get("Content-Type") != "" || a.Header.Get("Content-Encoding") != "" {
					t.Errorf("a 304 with a body or its fields: %v", a.Header)
				}
			}
			for field, want := range map[string]string{
				"Vary": "Accept-Encoding", "Cache-Control": "public, max-age=60, stale-while-revalidate=300",
				"Last-Modified": "Wed, 04 Mar 2026 10:30:15 GMT",
			} {
				if got := a.Header.Get(field); got != want {
					t.Errorf("%s: %q, want %q", field, got, want)
				}
			}
		})
	}
}

func TestCompressedBodyEqualsThePlainOne(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full(), partial()}})
	for _, path := range []string{"/api/signals", "/api/signals/crack-spread-321", "/", "/signals/crack-spread-321"} {
		whole, zipped := s.ask(http.MethodGet, path), s.ask(http.MethodGet, path, "Accept-Encoding", "br, gzip;q=0.8")
		if zipped.Header.Get("Content-Encoding") != "gzip" || len(zipped.body) >= len(whole.body) {
			t.Errorf("%s is not compressed", path)
			continue
		}
		if got := unzip(t, zipped.body); got != string(whole.body) {
			t.Errorf("%s differs when compressed", path)
		}
	}
	small := s.ask(http.MethodGet, "/api/signals/crack-spread-321/brief", "Accept-Encoding", "gzip")
	if small.Header.Get("Content-Encoding") != "" || len(small.body) >= 1024 {
		t.Errorf("%d bytes were compressed", len(small.body))
	}
}

func TestAnyWebPageMayReadTheAPI(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	for _, path := range []string{"/api/signals", "/api/signals/", "/api/signals/crack-spread-321", "/api/none"} {
		a := s.ask(http.MethodGet, path, "Origin", "https://elsewhere.example")
		if a.Header.Get("Access-Control-Allow-Origin") != "*" || a.Header.Get("Access-Control-Allow-Credentials") != "" ||
			!strings.Contains(a.Header.Get("Access-Control-Expose-Headers"), "ETag") {
			t.Errorf("%s: %v", path, a.Header)
		}
		p := s.ask(http.MethodOptions, path, "Origin", "https://elsewhere.example", "Access-Control-Request-Method", "GET",
			"Access-Control-Request-Headers", "if-none-match, traceparent")
		if p.StatusCode != http.StatusNoContent || len(p.body) != 0 || p.Header.Get("Access-Control-Allow-Origin") != "*" ||
			p.Header.Get("Access-Control-Allow-Methods") != "GET, HEAD, OPTIONS" {
			t.Errorf("preflight of %s: %s, %v", path, p.Status, p.Header)
		}
		for _, want := range []string{"Authorization", "If-Match", "If-None-Match", "Last-Event-ID", "X-Request-Id", "X-PAYMENT", "PAYMENT-SIGNATURE", "traceparent"} {
			if !strings.Contains(p.Header.Get("Access-Control-Allow-Headers"), want) {
				t.Errorf("preflight of %s does not allow %s", path, want)
			}
		}
	}
	if page := s.ask(http.MethodOptions, "/"); page.StatusCode != http.StatusNoContent || page.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a page opens itself to others: %s, %v", page.Status, page.Header)
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	made := regexp.MustCompile(`^req_[0-9a-z]{26}$`)
	seen := map[string]bool{}
	for range 100 {
		id := s.ask(http.MethodGet, "/healthz").Header.Get("X-Request-Id")
		if !made.MatchString(id) || seen[id] {
			t.Fatalf("%q is malformed or was there before", id)
		}
		seen[id] = true
	}
	longest := strings.Repeat("a", 100)
	for _, given := range []string{"a", "A.b_c-9", longest} {
		if got := s.ask(http.MethodGet, "/api/none", "X-Request-Id", given); got.Header.Get("X-Request-Id") != given || s.object(got)["request_id"] != given {
			t.Errorf("the client's id %q became %q", given, got.Header.Get("X-Request-Id"))
		}
	}
	for _, bad := range []string{"", longest + "a", "a b", `"`, "é", "a=b"} {
		if got := s.ask(http.MethodGet, "/healthz", "X-Request-Id", bad).Header.Get("X-Request-Id"); !made.MatchString(got) {
			t.Errorf("in place of %q the id is %q, want one of ours", bad, got)
		}
	}
}

func TestEveryAnswerIsGuarded(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	for _, path := range []string{"/", "/api/signals", "/none", "/healthz"} {
		a := s.ask(http.MethodGet, path)
		if a.Header.Get("X-Content-Type-Options") != "nosniff" || a.Header.Get("Server") != "" {
			t.Errorf("%s: %v", path, a.Header)
		}
	}
	if a := s.ask(http.MethodGet, "/healthz", "X-Long", strings.Repeat("a", 64<<10)); a.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("64 KiB of header: %s, want 431", a.Status)
	}
}

func TestNotReadyBeforeTheFirstLoad(t *testing.T) {
	t.Parallel()
	var migrated atomic.Bool
	s := start(t, setup{unloaded: true, ready: []api.Check{{Name: "migrations", OK: migrated.Load}}})
	for _, path := range []string{"/api/signals", "/api/signals/crack-spread-321", "/", "/signals/crack-spread-321"} {
		a := s.ask(http.MethodGet, path)
		if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || s.object(a)["code"] != view.CodeUnavailable {
			t.Errorf("%s: %s %s, want 503 %s with Retry-After", path, a.Status, a.body, view.CodeUnavailable)
		}
	}
	if a := s.ask(http.MethodGet, "/healthz"); a.StatusCode != http.StatusOK {
		t.Errorf("/healthz: %s, want 200 from the start", a.Status)
	}
	missing := func() any {
		a := s.ask(http.MethodGet, "/readyz")
		body := s.object(a)
		if (a.StatusCode == http.StatusOK) != (body["ok"] == true) || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("/readyz: %s with %s, %s", a.Status, a.body, a.Header.Get("Cache-Control"))
		}
		return body["missing"]
	}
	if diff := cmp.Diff([]any{"snapshots", "migrations"}, missing()); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	s.run(s.view.Run)
	s.eventually("the first load", func() bool { return s.view.State() != nil })
	if diff := cmp.Diff([]any{"migrations"}, missing()); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	migrated.Store(true)
	if diff := cmp.Diff([]any{}, missing()); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

func TestSignalsHaveAnAddressOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full()}})
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.run(func(ctx context.Context) error { return s.server.ServeSignals(ctx, ln) })
	base := "http://" + ln.Addr().String()
	for theirs, ours := range map[string]string{
		base: "/api/signals", base + "/": "/api/signals", base + "/crack-spread-321": "/api/signals/crack-spread-321",
		base + "/crack-spread-321/brief": "/api/signals/crack-spread-321/brief",
	} {
		a, b := s.ask(http.MethodGet, theirs), s.ask(http.MethodGet, ours)
		if a.StatusCode != http.StatusOK || string(a.body) != string(b.body) || a.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %s, want what %s answers", theirs, a.Status, ours)
		}
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.server.Serve(ctx, ln) }()
	// The server does not wait for a client that sent half a request.
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost"); err != nil {
		t.Fatal(err)
	}
	if a := s.ask(http.MethodGet, "http://"+ln.Addr().String()+"/healthz"); a.StatusCode != http.StatusOK {
		t.Fatalf("/healthz: %s", a.Status)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Serve = %v, want nil", err)
	}
}

func TestAPanicIsAnInternalError(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	var out strings.Builder
	broken := api.New(api.Options{
		View: s.view, Log: slog.New(slog.NewTextHandler(&out, nil)),
		Ready: []api.Check{{Name: "bad", OK: func() bool { panic("secret detail") }}},
	})
	w := httptest.NewRecorder()
	broken.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), `"code":"internal_error"`) ||
		strings.Contains(w.Body.String(), "secret") {
		t.Errorf("it answers %d: %s", w.Code, w.Body)
	}
	if !strings.Contains(out.String(), "secret detail") {
		t.Errorf("the log lacks the cause: %s", out.String())
	}
}
