package audit_test

import (
	"context"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/chain/audit"
)

func TestAServerIsFollowedThroughFiveRedirectsOnly(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	_, err := run(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 50 {
			http.NotFound(w, r)
			return
		}
		http.Redirect(w, r, r.URL.String(), http.StatusFound)
	})))
	if n := asked.Load(); err == nil || n > 7 {
		t.Errorf("it was asked %d times: %v", n, err)
	}
}

// A server that refuses is not listened to for longer than a refusal takes.
func TestOfAProblemOnlyTheBeginningIsRead(t *testing.T) {
	t.Parallel()
	_, err := run(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"detail":"` + strings.Repeat("a", 1<<20) + `"}`))
	})))
	if err == nil || !strings.Contains(err.Error(), "503 Service Unavailable") || strings.Contains(err.Error(), "aaaa") {
		t.Errorf("the error is %.300v", err)
	}
}

func TestAnErrorRepeatsLittleOfWhatAServerSends(t *testing.T) {
	t.Parallel()
	_, err := run(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`"\u001b[2J` + strings.Repeat("a", 1<<20) + `"`))
	})))
	if err == nil || len(err.Error()) > 1000 || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("the error is %.300v", err)
	}
}

func TestAServerThatFallsSilentIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		begins, says string
		drips        bool
	}{
		"before the answer":             {"", "says nothing for 2s", false},
		"within the answer":             {`{"valid":`, "sends less than 4096 bytes in 2s", false},
		"though it drips within a text": {`{"valid":`, "sends less than 4096 bytes in 2s", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tt.begins != "" {
					w.Header().Set("Content-Type", "application/json")
					_, _ = w.Write([]byte(tt.begins))
					w.(http.Flusher).Flush()
				}
				for tick := time.NewTicker(20 * time.Millisecond); tt.drips && r.Context().Err() == nil; <-tick.C {
					_, _ = w.Write([]byte(" "))
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
			}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := audit.Run(ctx, audit.Options{URL: address, Now: now, Environ: os.Environ(), ReadTimeout: 2 * time.Second})
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// A server that never ends its answer is cut off at the first value that is longer than any, wherever it talks on.
func TestAnAnswerThatKeepsTalkingEnds(t *testing.T) {
	t.Parallel()
	r := newRecord(t, 3)
	whole := string(r.body(t, 1, 0))
	before, after, _ := strings.Cut(whole, `"picks":[`)
	for name, tt := range map[string]struct{ begins, talks string }{
		"before it begins":          {"", " "},
		"between two members":       {before, "\n"},
		"within a text":             {`{"environment":"`, "a"},
		"within a number":           {`{"chain_length":1`, "0"},
		"in a member of its own":    {`{"x":[`, "[],"},
		"within ever deeper lists":  {`{"x":`, "["},
		"before the first pick":     {before + `"picks":[`, " "},
		"within a pick":             {before + `"picks":[{"ticker":"`, "A"},
		"after the answer":          {whole, " "},
		"after the last pick":       {before + `"picks":[` + strings.TrimSuffix(strings.SplitAfter(after, "}]")[0], "]"), "\t"},
		"with the same pick again":  {before + `"picks":[` + strings.TrimSuffix(strings.SplitAfter(after, "}]")[0], "]"), strings.Repeat(",{}", 100)},
		"with members of any names": {before, `"x":1,`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(tt.begins))
				for part := []byte(strings.Repeat(tt.talks, 1000)); ; {
					n, err := w.Write(part)
					if sent.Add(int64(n)); err != nil || req.Context().Err() != nil {
						return
					}
				}
			}))
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			report, err := audit.Run(ctx, audit.Options{URL: address, Now: now, Environ: os.Environ(), ReadTimeout: time.Minute})
			if ctx.Err() != nil || err == nil && report.Verified {
				t.Errorf("it was listened to until %v; %v", ctx.Err(), err)
			}
			if n := sent.Load(); n > 64<<20 {
				t.Errorf("%d bytes were sent: %v", n, err)
			}
		})
	}
}

// A server that breaks off after each pick is asked again for each, and not forever.
func TestAServerThatBreaksOffAfterEachPickIsGivenUp(t *testing.T) {
	t.Parallel()
	r := newRecord(t, 150)
	var asked atomic.Int64
	_, err := run(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != chainPath || req.FormValue("limit") != "" {
			r.handler(t)(w, req)
			return
		}
		from, _ := strconv.ParseInt(req.FormValue("from_seq"), 10, 64)
		body := r.body(t, max(from, 1), 1)
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
		_, _ = w.Write(body[:strings.LastIndex(string(body), "]")])
	})))
	if n := asked.Load(); err == nil || n > 100 {
		t.Errorf("it was asked %d times: %v", n, err)
	}
}
