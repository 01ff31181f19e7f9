package ingest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// hijack takes the connection over, so that a handler can end it badly.
func hijack(t *testing.T, w http.ResponseWriter, raw string) {
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = buf.WriteString(raw)
	_ = buf.Flush()
	_ = conn.Close()
}

func TestABadAnswerIsRefusedWhole(t *testing.T) {
	t.Parallel()
	const limit = 1 << 10
	whole := `{"rows":[{"day":"2026-03-02","value":1}]}`
	tests := []struct {
		fact     string
		handler  func(*testing.T, http.ResponseWriter)
		kind     ingest.Kind
		says     string
		attempts int
		recorded int // rows of the ledger
	}{
		{"a length beyond the limit, with less behind it", func(t *testing.T, w http.ResponseWriter) {
			hijack(t, w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n"+whole)
		}, ingest.TooLarge, "more than 1024 bytes", 1, 0},
		{"a body that breaks off", func(t *testing.T, w http.ResponseWriter) {
			hijack(t, w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"+whole)
		}, ingest.Temporary, "broke off after 41 bytes", 3, 0},
		{"chunks that break off", func(t *testing.T, w http.ResponseWriter) {
			hijack(t, w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n29\r\n"+whole+"\r\n")
		}, ingest.Temporary, "broke off after 41 bytes", 3, 0},
		{"no answer", func(t *testing.T, w http.ResponseWriter) { hijack(t, w, "") }, ingest.Temporary, "no answer", 3, 0},
		{"no HTTP", func(t *testing.T, w http.ResponseWriter) { hijack(t, w, "220 mail ready\r\n\r\n") }, ingest.Temporary, "no answer", 3, 0},
		{"ten times the limit, announced", func(_ *testing.T, w http.ResponseWriter) {
			w.Header().Set("Content-Length", strconv.Itoa(10*limit))
			_, _ = w.Write(bytes.Repeat([]byte(" "), 10*limit))
		}, ingest.TooLarge, "more than 1024 bytes", 1, 0},
		{"ten times the limit, in chunks", func(_ *testing.T, w http.ResponseWriter) {
			for range 10 {
				_, _ = w.Write(bytes.Repeat([]byte(" "), limit))
				w.(http.Flusher).Flush()
			}
		}, ingest.TooLarge, "more than 1024 bytes", 1, 0},
		{"ten times the limit after decompression", func(_ *testing.T, w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(bytes.Repeat([]byte(" "), 10*limit))
			_ = z.Close()
		}, ingest.TooLarge, "more than 1024 bytes", 1, 0},
		{"a coding nobody asked for", func(_ *testing.T, w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = w.Write([]byte("\x0b\x02\x80"))
		}, ingest.WrongType, `content coding "br"`, 1, 0},
		{"a page for humans with status 200", func(_ *testing.T, w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte("<html>Be right back</html>"))
		}, ingest.WrongType, "content type text/html, expected application/json", 1, 1},
		{"no content type", func(_ *testing.T, w http.ResponseWriter) {
			w.Header()["Content-Type"] = nil
			_, _ = w.Write([]byte(whole))
		}, ingest.WrongType, "content type none", 1, 1},
		{"half a JSON value", func(_ *testing.T, w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(whole[:20]))
		}, ingest.Layout, "expected a JSON object", 1, 1},
		{"an empty body", func(_ *testing.T, w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
		}, ingest.Layout, "expected a JSON object", 1, 1},
		{"a status that is no answer yet", func(_ *testing.T, w http.ResponseWriter) {
			w.WriteHeader(http.StatusAccepted)
		}, ingest.Temporary, "status 202, expected 200", 3, 3},
		{"a key that is refused", func(_ *testing.T, w http.ResponseWriter) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"error":{"code":"API_KEY_INVALID"}}`))
		}, ingest.Refused, "status 403, expected 200 (body archived as " + digest([]byte(`{"error":{"code":"API_KEY_INVALID"}}`)), 1, 1},
		{"a confirmation of nothing", func(_ *testing.T, w http.ResponseWriter) {
			w.WriteHeader(http.StatusNotModified)
		}, ingest.Temporary, "304 to a request without conditions", 3, 0},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); tt.handler(t, w) })
			// A fresh connection per attempt: net/http itself repeats a request on a reused connection that turns out dead.
			r := newRig(&http.Transport{DisableKeepAlives: true})
			src := feed(s.URL + "/data?api_key=s3cr3t-k3y")
			src.Limits.MaxBytes = limit
			got, err := r.collect(t, src)
			e := failureOf(t, err, tt.kind)
			wantText(t, err, "feed", s.URL+"/data?api_key=REDACTED", tt.says)
			if e.URL != s.URL+"/data?api_key=REDACTED" {
				t.Errorf("the error is about %s", e.URL)
			}
			if len(got) != 0 || int(asked.Load()) != tt.attempts {
				t.Errorf("got %d answers after %d attempts, want none after %d", len(got), asked.Load(), tt.attempts)
			}
			if len(r.ledger.rows) != tt.recorded || r.archive.puts != tt.recorded {
				t.Errorf("recorded %d and archived %d answers, want %d of each", len(r.ledger.rows), r.archive.puts, tt.recorded)
			}
		})
	}
}

func TestTroubleThatPassesIsOutlasted(t *testing.T) {
	t.Parallel()
	asked := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		if asked == 1 {
			http.Error(w, "database is down", http.StatusInternalServerError)
			return
		}
		write(w, one("2026-03-02", 1))
	})
	r := newRig(s.Client().Transport)
	if _, err := r.collect(t, feed(s.URL)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{500, 200}, r.ledger.statuses()); diff != "" {
		t.Errorf("each attempt is a row of the ledger (-want +got):\n%s", diff)
	}
	if string(r.archive.held[r.ledger.rows[0].SHA256]) != "database is down\n" {
		t.Error("the body of the failed attempt is not in the archive")
	}
	if len(r.clock.waits) != 1 || r.clock.waits[0] < time.Second || r.clock.waits[0] > 3*time.Second {
		t.Errorf("waited %v between the attempts, want once, 2 s give or take the half", r.clock.waits)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fact  string
		value string
		wait  time.Duration
	}{
		{"seconds", "30", 30 * time.Second},
		{"a date, counted from the upstream's own clock", "Wed, 04 Mar 2026 12:00:45 GMT", 45 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			asked := 0
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				asked++
				if asked == 1 {
					w.Header().Set("Date", "Wed, 04 Mar 2026 12:00:00 GMT") // hours behind ours
					w.Header().Set("Retry-After", tt.value)
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				write(w, one("2026-03-02", 1))
			})
			r := newRig(s.Client().Transport)
			if _, err := r.collect(t, feed(s.URL)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]time.Duration{tt.wait}, r.clock.waits); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
			if got := r.ledger.delays[strings.TrimPrefix(s.URL, "http://")]; got != tt.wait {
				t.Errorf("the other processes were told to wait %s, want %s", got, tt.wait)
			}
		})
	}
}

func TestALongRetryAfterEndsTheRun(t *testing.T) {
	t.Parallel()
	asked := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	r := newRig(s.Client().Transport)
	_, err := r.collect(t, feed(s.URL+"/a", s.URL+"/b"))
	e := failureOf(t, err, ingest.Temporary)
	if e.RetryAfter != time.Hour || e.Status != http.StatusServiceUnavailable {
		t.Errorf("got status %d and RetryAfter %s, want 503 and 1h", e.Status, e.RetryAfter)
	}
	wantText(t, err, "/a", "/b", "not asked")
	if asked != 1 || len(r.clock.waits) != 0 {
		t.Errorf("asked %d times and waited %v, want once and not at all: the host is shut for /b too", asked, r.clock.waits)
	}
	if again, after := ingest.Retryable(err); !again || after != time.Hour {
		t.Errorf("Again = %t, %s, want true, 1h", again, after)
	}

	// The next caller learns it without a request.
	other := newRig(s.Client().Transport)
	other.Ledger = r.ledger
	_, err = other.collect(t, feed(s.URL+"/c"))
	if e := failureOf(t, err, ingest.Temporary); e.RetryAfter < 59*time.Minute || asked != 1 {
		t.Errorf("another engine asked (%d requests) or got RetryAfter %s", asked, e.RetryAfter)
	}
}

func TestAHostThatForbidsIsLeftAlone(t *testing.T) {
	t.Parallel()
	asked := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusForbidden)
	})
	r := newRig(s.Client().Transport)
	src := feed(s.URL+"/a", s.URL+"/b")
	src.Limits.Forbidden = 10 * time.Minute
	_, err := r.collect(t, src)
	if e := failureOf(t, err, ingest.Temporary); e.RetryAfter != 10*time.Minute || e.Status != http.StatusForbidden || asked != 1 {
		t.Errorf("asked %d times: status %d and RetryAfter %s, want once, 403 and 10m", asked, e.Status, e.RetryAfter)
	}
	if got := r.ledger.delays[strings.TrimPrefix(s.URL, "http://")]; got != 10*time.Minute {
		t.Errorf("the other processes were told to wait %s, want 10m", got)
	}
	// To other publishers 403 is a no that stands.
	_, err = newRig(s.Client().Transport).collect(t, feed(s.URL+"/a"))
	failure(t, err, ingest.Refused)
}

func TestAnUpstreamThatHangsIsLeft(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fact   string
		before func(http.ResponseWriter)
	}{
		{"before the header", func(http.ResponseWriter) {}},
		{"in the middle of the body", func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(`{"rows":[`))
			w.(http.Flusher).Flush()
		}},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			over := make(chan struct{})
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				tt.before(w)
				<-over
			}))
			defer s.Close()
			defer close(over)
			r := newRig(s.Client().Transport)
			src := feed(s.URL)
			src.Limits.Timeout = 50 * time.Millisecond
			_, err := r.collect(t, src)
			failure(t, err, ingest.Temporary)
			wantText(t, err, "no whole answer within 50ms")
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v is not context.DeadlineExceeded", err)
			}
		})
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("another host was asked") })
	var base string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{
			"/old":       "/new",
			"/query":     "/new?api_key=s3cr3t-k3y",
			"/renamed":   "/new?token=s3cr3t-k3y",
			"/elsewhere": strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1) + "/",
			"/port":      elsewhere.URL + "/",
			"/scheme":    "ftp" + strings.TrimPrefix(base, "http") + "/",
			"/circle":    "/circle",
		}[r.URL.Path]
		switch {
		case to != "":
			http.Redirect(w, r, to, http.StatusMovedPermanently)
		case r.URL.Path == "/lost":
			w.WriteHeader(http.StatusFound)
		default:
			write(w, one("2026-03-02", 1))
		}
	})
	base = s.URL
	tests := []struct {
		fact     string
		path     string
		url      string // of the answer
		statuses []int
		says     string
	}{
		{"to the same host is followed, and each hop recorded", "/old", "/new", []int{301, 200}, ""},
		{"keeps the key secret", "/query?api_key=s3cr3t-k3y", "/new?api_key=REDACTED", []int{301, 200}, ""},
		{"keeps the key secret under another name", "/renamed?api_key=s3cr3t-k3y", "/new?token=REDACTED", []int{301, 200}, ""},
		{"to another host is refused", "/elsewhere", "", []int{301}, `redirected to the host "localhost"`},
		{"to another port is refused", "/port", "", []int{301}, "redirected to port"},
		{"to another protocol is refused", "/scheme", "", []int{301}, `scheme "ftp"`},
		{"without end is refused", "/circle", "", []int{301, 301, 301, 301, 301, 301}, "more than 5 times"},
		{"to nowhere is refused", "/lost", "", []int{302}, "status 302 without a Location"},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			r := newRig(s.Client().Transport)
			got, err := r.collect(t, feed(s.URL+tt.path))
			switch {
			case tt.says == "" && err != nil:
				t.Fatal(err)
			case tt.says == "":
				if len(got) != 1 || got[0].Fetch.URL != s.URL+tt.url {
					t.Errorf("got %v, want one answer of %s", got, tt.url)
				}
			default:
				failure(t, err, ingest.Refused)
				wantText(t, err, tt.says)
			}
			if diff := cmp.Diff(tt.statuses, r.ledger.statuses()); diff != "" {
				t.Errorf("ledger (-want +got):\n%s", diff)
			}
			for _, row := range r.ledger.rows {
				if strings.Contains(row.URL+row.Header["Location"], "s3cr3t-k3y") {
					t.Errorf("the ledger shows the key: %s -> %s", row.URL, row.Header["Location"])
				}
			}
		})
	}
}

// transport is an upstream without a socket.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestARedirectFromHTTPSToHTTPIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(transport(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		http.Redirect(w, r, "http://upstream.example/new?api_key=s3cr3t-k3y", http.StatusFound)
		return w.Result(), nil
	}))
	_, err := r.collect(t, feed("https://upstream.example/old?api_key=s3cr3t-k3y"))
	failure(t, err, ingest.Refused)
	wantText(t, err, "from https to http")
	if len(r.ledger.rows) != 1 {
		t.Errorf("%d requests were made, want 1", len(r.ledger.rows))
	}
}

func TestAPostedQuestionIsNamedByItsBody(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.Header.Get("If-None-Match") != "" {
			t.Errorf("%s with If-None-Match %q, want an unconditional POST", r.Method, r.Header.Get("If-None-Match"))
		}
		w.Header().Set("ETag", `"1"`)
		write(w, one("2026-03-02", 1))
	})
	src := feed()
	src.Request = func(series.Window) ([]ingest.Request, error) {
		return []ingest.Request{{Method: http.MethodPost, URL: s.URL + "/query", Body: []byte("test")}}, nil
	}
	r := newRig(s.Client().Transport)
	for range 2 {
		if _, err := r.collect(t, src); err != nil {
			t.Fatal(err)
		}
	}
	// The SHA-256 of "test" begins 9f86d081884c7d65.
	if got, want := r.ledger.rows[1].URL, s.URL+"/query#POST-9f86d081884c7d65"; got != want {
		t.Errorf("the ledger names %s, want %s", got, want)
	}
}

func TestSecretsStayOutOfErrors(t *testing.T) {
	t.Parallel()
	const key = "kEy+/=with specials"
	broken := transport(func(r *http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: errors.New("cannot reach " + r.URL.String() + " with key " + key)}
	})
	r := newRig(broken)
	_, err := r.collect(t, feed("https://upstream.example/?series=WTI&api_key=kEy%2B%2F%3Dwith+specials"))
	failure(t, err, ingest.Temporary)
	for _, spelling := range []string{key, "kEy%2B%2F%3Dwith+specials", "kEy+%2F=with%20specials"} {
		if strings.Contains(err.Error(), spelling) {
			t.Errorf("the error shows the key: %v", err)
		}
	}
	wantText(t, err, "https://upstream.example/?series=WTI&api_key=REDACTED")
	if leak, ok := errors.AsType[*net.OpError](err); ok {
		t.Errorf("the cause, which shows the key, can be taken out of the error: %v", leak)
	}

	src := feed("https://upstream.example/?api_key=s3cr3t-k3y")
	src.Parse = func(r ingest.Response) (ingest.Batch, error) {
		return ingest.Batch{}, errors.New("no rows in " + r.Request.URL)
	}
	r = newRig(transport(func(*http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		write(w, one("2026-03-02", 1))
		return w.Result(), nil
	}))
	_, err = r.collect(t, src)
	failure(t, err, ingest.Layout)
	if strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("the parser's error shows the key: %v", err)
	}
}

func TestWhereABodyComesFromIsRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(transport(func(*http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		w.Header().Set(ingest.SyntheticHeader, "true")
		w.Header().Set(ingest.ConstructedHeader, "true")
		write(w, one("2026-03-02", 1))
		return w.Result(), nil
	}))
	got, err := r.collect(t, feed("https://upstream.example/"))
	if err != nil {
		t.Fatal(err)
	}
	if f := got[0].Fetch; !f.Synthetic || !f.Constructed {
		t.Errorf("the fetch is synthetic %t and constructed %t, want both", f.Synthetic, f.Constructed)
	}
}
