package audit_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
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
