package audit_test

import (
	"context"
	"net/http"
	"os"
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
	for name, begins := range map[string]string{"before the answer": "", "within the answer": `{"valid":`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if begins != "" {
					w.Header().Set("Content-Type", "application/json")
					_, _ = w.Write([]byte(begins))
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
			}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := audit.Run(ctx, audit.Options{URL: address, Now: now, Environ: os.Environ(), ReadTimeout: 200 * time.Millisecond})
			if err == nil || !strings.Contains(err.Error(), "says nothing for 200ms") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
