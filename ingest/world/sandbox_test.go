package world_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/world"
)

var csv = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/csv")
	_, _ = fmt.Fprintf(w, "%s %s%s\n", r.Method, r.Host, r.URL.RequestURI())
})

func TestSandboxAnswersInProcess(t *testing.T) {
	t.Parallel()
	rt := world.Sandbox(csv, world.SandboxOptions{Now: world.Fixed(at(2)).Now})
	resp, body, err := get(t, rt, "https://upstream.example/a?b=c", nil)
	if err != nil {
		t.Fatal(err)
	}
	if body != "GET upstream.example/a?b=c\n" || resp.StatusCode != http.StatusOK {
		t.Errorf("got %d %q", resp.StatusCode, body)
	}
	sum := sha256.Sum256([]byte(body))
	for name, want := range map[string]string{
		ingest.SyntheticHeader: "true", ingest.ConstructedHeader: "", "Content-Type": "text/csv",
		"Date": "Mon, 02 Mar 2026 15:30:00 GMT", "ETag": `"` + hex.EncodeToString(sum[:16]) + `"`,
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	again, body, err := get(t, rt, "https://upstream.example/a?b=c", http.Header{"If-None-Match": {resp.Header.Get("ETag")}})
	if err != nil || again.StatusCode != http.StatusNotModified || body != "" || again.Header.Get(ingest.SyntheticHeader) != "true" {
		t.Errorf("asked again with the tag: got %v %q and error %v, want 304, synthetic", again, body, err)
	}
}

func TestSandboxKeepsWhatTheHandlerSays(t *testing.T) {
	t.Parallel()
	rt := world.Sandbox(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/tagged":
			w.Header().Set("ETag", `"own"`)
			_, _ = io.WriteString(w, "x")
		case "/missing":
			http.Error(w, "no such series", http.StatusNotFound)
		case "/silent": // neither status nor body
		case "/posted":
			body, _ := io.ReadAll(r.Body)
			_, _ = w.Write(body)
		case "/aborted":
			panic(http.ErrAbortHandler)
		case "/lying":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "short")
		}
	}), world.SandboxOptions{})
	tests := []struct {
		path   string
		status int
		body   string
		etag   bool
	}{{"/tagged", 200, "x", true}, {"/missing", 404, "no such series\n", false}, {"/silent", 200, "", true}}
	for _, tt := range tests {
		resp, body, err := get(t, rt, "https://upstream.example"+tt.path, nil)
		if err != nil || resp.StatusCode != tt.status || body != tt.body || (resp.Header.Get("ETag") != "") != tt.etag {
			t.Errorf("%s: got %v %q and error %v, want %d %q", tt.path, resp, body, err, tt.status, tt.body)
		}
	}
	for _, path := range []string{"/aborted", "/lying"} {
		if _, _, err := get(t, rt, "https://upstream.example"+path, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: got %v, want a connection that broke", path, err)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://upstream.example/posted", strings.NewReader("question"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, err := io.ReadAll(resp.Body); string(body) != "question" {
		t.Errorf("posted: got %q and error %v", body, err)
	}
}

func TestSandboxTakesItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt := world.Sandbox(csv, world.SandboxOptions{Latency: 3 * time.Second})
		if _, _, err := get(t, rt, "https://upstream.example/", nil); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(bubbleStart); got != 3*time.Second {
			t.Errorf("answered after %s, want 3s", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://upstream.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(bubbleStart) != 4*time.Second {
			t.Errorf("got %v after %s, want the deadline after 1s more", err, time.Since(bubbleStart))
		}
	})
}

func TestSandboxFaults(t *testing.T) {
	t.Parallel()
	refused := errors.New("connection refused")
	tests := []struct {
		fact   string
		fault  world.Fault
		status int
		body   string
		err    error
	}{
		{"another status", world.Fault{Status: 503}, 503, "GET upstream.example/\n", nil},
		{"a page for humans", world.ErrorPage(200), 200, "<!DOCTYPE html>", nil},
		{"a body that breaks off", world.Fault{Keep: 0.5}, 200, "GET upstre", io.ErrUnexpectedEOF},
		{"no connection", world.Fault{Err: refused}, 0, "", refused},
		{"another body", world.Fault{Body: []byte(`{"features":[]}`)}, 200, `{"features":[]}`, nil},
		{"another header", world.Fault{Status: 429, Header: http.Header{"Retry-After": {"7"}}}, 429, "GET", nil},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			rt := world.Sandbox(csv, world.SandboxOptions{Fault: func(_ *http.Request, nth int) (world.Fault, bool) {
				return tt.fault, nth == 2
			}})
			for nth := 1; nth <= 3; nth++ {
				resp, body, err := get(t, rt, "https://upstream.example/", nil)
				if nth != 2 {
					if err != nil || resp.StatusCode != http.StatusOK || body != "GET upstream.example/\n" {
						t.Errorf("request %d: got %v %q and error %v, want the good answer", nth, resp, body, err)
					}
					continue
				}
				if !errors.Is(err, tt.err) || !strings.HasPrefix(body, tt.body) && tt.status != 0 && tt.err == nil {
					t.Errorf("request 2: got %q and error %v, want %q and %v", body, err, tt.body, tt.err)
				}
				if err == nil && (resp.StatusCode != tt.status || resp.Header.Get(ingest.SyntheticHeader) != "true") {
					t.Errorf("request 2: got status %d, want %d, synthetic", resp.StatusCode, tt.status)
				}
			}
		})
	}
	t.Run("an upstream that hangs", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			rt := world.Sandbox(csv, world.SandboxOptions{Fault: func(*http.Request, int) (world.Fault, bool) { return world.Fault{Hang: true}, true }})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://upstream.example/", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := rt.RoundTrip(r)
			if err == nil {
				_ = resp.Body.Close()
			}
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(bubbleStart) != time.Minute {
				t.Errorf("got %v after %s, want the deadline after 1m", err, time.Since(bubbleStart))
			}
		})
	})
}
