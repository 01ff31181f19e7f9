package api_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/api/fastpath"
	"tidemark/internal/postgres"
)

// TestFinishedAnswersAreThoseOfTheHandlers sends the same bytes to the fast path and to net/http.
func TestFinishedAnswersAreThoseOfTheHandlers(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full(), partial()}})
	plain := s.ask(http.MethodGet, "/api/signals/crack-spread-321").Header.Get("ETag")
	zipped := strings.TrimSuffix(plain, `"`) + `-gzip"`

	taken := map[string]string{
		"a signal":                          "GET /api/signals/crack-spread-321",
		"one with less":                     "GET /api/signals/hormuz-transit",
		"the catalog":                       "GET /api/signals",
		"the catalog, with a slash":         "GET /api/signals/",
		"compressed":                        "GET /api/signals/crack-spread-321|Accept-Encoding: gzip, deflate, br",
		"not compressed":                    "GET /api/signals/crack-spread-321|Accept-Encoding: gzip;q=0, br",
		"JSON":                              "GET /api/signals/crack-spread-321|Accept: application/json",
		"what a browser accepts":            "GET /api/signals/crack-spread-321|Accept: text/html,application/xhtml+xml,*/*;q=0.8|Accept-Encoding: gzip, deflate",
		"not modified":                      "GET /api/signals/crack-spread-321|If-None-Match: " + plain,
		"not modified, compressed":          "GET /api/signals/crack-spread-321|Accept-Encoding: gzip|If-None-Match: " + zipped,
		"the plain form is known":           "GET /api/signals/crack-spread-321|Accept-Encoding: gzip|If-None-Match: " + plain,
		"another form is known":             "GET /api/signals/crack-spread-321|If-None-Match: " + zipped,
		"any form is known":                 "GET /api/signals|If-None-Match: *",
		"a weak tag":                        "GET /api/signals/crack-spread-321|If-None-Match: \"other\", W/" + plain,
		"something else is known":           `GET /api/signals/crack-spread-321|If-None-Match: "other"`,
		"from another site":                 "GET /api/signals/crack-spread-321|Origin: https://elsewhere.example|Referer: https://elsewhere.example/",
		"a copy is not wanted":              "GET /api/signals/crack-spread-321|Cache-Control: no-cache|Pragma: no-cache",
		"with the language and the browser": "GET /api/signals/crack-spread-321|Accept-Language: hi|User-Agent: test/1.0",
	}
	handed := map[string]string{
		"HTML alone":       "GET /api/signals/crack-spread-321|Accept: text/html",
		"an unknown id":    "GET /api/signals/unknown",
		"a query":          "GET /api/signals/crack-spread-321?as_of=2026-03-04T12:00:00Z",
		"an empty query":   "GET /api/signals/crack-spread-321?",
		"a longer path":    "GET /api/signals/crack-spread-321/",
		"an encoded path":  "GET /api/signals/crack%2Dspread-321",
		"another address":  "GET /healthz",
		"the head alone":   "HEAD /api/signals/crack-spread-321",
		"what is not read": "PUT /api/signals/crack-spread-321",
	}
	fast, slow := s.doors()
	for _, group := range []struct {
		taken    bool
		requests map[string]string
	}{{true, taken}, {false, handed}} {
		for name, request := range group.requests {
			t.Run(name, func(t *testing.T) {
				line, fields, _ := strings.Cut(request, "|")
				text := line + " HTTP/1.1\r\nHost: " + strings.TrimPrefix(s.url, "http://") + "\r\n"
				for f := range strings.SplitSeq(fields, "|") {
					if f != "" {
						text += f + "\r\n"
					}
				}
				text += "\r\n"
				before := fast.answered.Load()
				ours, theirs := fast.say(t, text), slow.say(t, text)
				if diff := cmp.Diff(theirs, ours); diff != "" {
					t.Errorf("net/http's answer, and the lane's:\n%s", diff)
				}
				if got := fast.answered.Load() > before; got != group.taken {
					t.Errorf("the lane answered: %t, want %t", got, group.taken)
				}
			})
		}
	}

	t.Run("a change is answered at once", func(t *testing.T) {
		snap := full()
		snap.At, snap.Value = noon, new(99.5)
		s.save(snap)
		text := "GET /api/signals/crack-spread-321 HTTP/1.1\r\nHost: h\r\n\r\n"
		s.eventually("the change", func() bool { return strings.Contains(fast.say(t, text).Body, "99.5") })
		if diff := cmp.Diff(slow.say(t, text), fast.say(t, text)); diff != "" {
			t.Errorf("net/http's answer, and the lane's:\n%s", diff)
		}
	})
}

// fastPathFixture is a listener of the same server.
type fastPathFixture struct {
	address  string
	answered atomic.Int64
}

// doors opens two listeners: the first with the fast path before net/http, the second without it.
func (s *system) doors() (fast, slow *fastPathFixture) {
	s.t.Helper()
	fast, slow = &fastPathFixture{}, &fastPathFixture{}
	answer := s.server.Finished("/api/signals")
	for _, d := range []*fastPathFixture{fast, slow} {
		ln, err := (&net.ListenConfig{}).Listen(s.t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			s.t.Fatal(err)
		}
		d.address = ln.Addr().String()
		if d == fast {
			ln = fastpath.New(ln, fastpath.Options{
				HeaderTimeout: time.Minute, IdleTimeout: time.Minute, WriteTimeout: time.Minute, Now: time.Now,
				Answer: func(r *fastpath.Request, b []byte) ([]byte, bool) {
					b, ok := answer(r, b)
					if ok {
						d.answered.Add(1)
					}
					return b, ok
				},
			})
		}
		srv := &http.Server{Handler: s.server.Handler(), ReadHeaderTimeout: time.Minute}
		s.run(func(ctx context.Context) error {
			context.AfterFunc(ctx, func() { _ = srv.Close() })
			_ = srv.Serve(ln)
			return nil
		})
	}
	return fast, slow
}

// said is a response without the parts that differ between responses.
type said struct {
	Status string
	Header http.Header
	Body   string
}

// say sends a request and reads the response up to the end that its header defines.
func (d *fastPathFixture) say(t *testing.T, text string) said {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", d.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(text, " ")
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for name, valid := range map[string]bool{
		"Date":         len(resp.Header.Get("Date")) == len(http.TimeFormat),
		"X-Request-Id": len(resp.Header.Get("X-Request-Id")) == 30,
	} {
		if !valid || len(resp.Header[name]) != 1 {
			t.Errorf("%s: %q", name, resp.Header[name])
		}
		resp.Header.Del(name)
	}
	return said{Status: resp.Status, Header: resp.Header, Body: string(withoutIDs(body))}
}

// withoutIDs removes the request ids from a problem document.
func withoutIDs(body []byte) []byte {
	for {
		i := bytes.Index(body, []byte("req_"))
		if i < 0 || i+30 > len(body) {
			return body
		}
		body = append(body[:i:i], body[i+30:]...)
	}
}
