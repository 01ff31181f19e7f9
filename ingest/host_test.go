package ingest_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// bubbleStart is the time at which every synctest bubble begins.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// slowUpstream answers after a while and notes when it was asked, and whether it was asked twice at once.
type slowUpstream struct {
	takes time.Duration

	mu      sync.Mutex
	busy    map[string]int
	asked   map[string][]time.Duration // since bubbleStart, by host
	overlap bool
}

func (u *slowUpstream) RoundTrip(r *http.Request) (*http.Response, error) {
	u.mu.Lock()
	u.busy[r.URL.Host]++
	u.overlap = u.overlap || u.busy[r.URL.Host] > 1
	u.asked[r.URL.Host] = append(u.asked[r.URL.Host], time.Since(bubbleStart))
	u.mu.Unlock()
	timer := time.NewTimer(u.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	u.mu.Lock()
	u.busy[r.URL.Host]--
	u.mu.Unlock()
	w := httptest.NewRecorder()
	write(w, one("2026-03-02", 1))
	return w.Result(), nil
}

// bubbleEngine returns an engine on the bubble's own clock and timers.
func bubbleEngine(u *slowUpstream) (*ingest.Engine, *ledger) {
	u.busy, u.asked = map[string]int{}, map[string][]time.Duration{}
	now := func() time.Time { return bubbleStart.Add(time.Since(bubbleStart)) }
	l := newLedger(now)
	return &ingest.Engine{Transport: u, Now: now, Ledger: l, Archive: newBodies()}, l
}

func TestAHostIsAskedByOneAtATimeAndNotTooOften(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fact  string
		takes time.Duration
		want  []time.Duration // when each of four requests starts
	}{
		{"a quick upstream at its interval", 100 * time.Millisecond, []time.Duration{0, 2 * time.Second, 4 * time.Second, 6 * time.Second}},
		{"a slow one when it is done", 3 * time.Second, []time.Duration{0, 3 * time.Second, 6 * time.Second, 9 * time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := &slowUpstream{takes: tt.takes}
				e, _ := bubbleEngine(u)
				var wg sync.WaitGroup
				for _, url := range []string{
					"https://one.example/a", "https://ONE.example:443/b", "https://one.example/c", "https://one.example/d",
					"https://two.example/",
				} {
					wg.Go(func() {
						src := feed(url)
						src.Limits.Interval = 2 * time.Second
						if _, err := e.Collect(t.Context(), src, series.Window{}, 1); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				got := slices.Concat(u.asked["one.example"], u.asked["ONE.example:443"])
				slices.Sort(got)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("requests to one host (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]time.Duration{0}, u.asked["two.example"]); diff != "" {
					t.Errorf("the other host waits for nobody (-want +got):\n%s", diff)
				}
				if u.overlap {
					t.Error("a host was asked twice at once")
				}
			})
		})
	}
}

func TestTwoProcessesShareAHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := &slowUpstream{}
		first, l := bubbleEngine(u)
		second := &ingest.Engine{Transport: u, Now: first.Now, Ledger: l, Archive: newBodies()}
		var wg sync.WaitGroup
		for _, e := range []*ingest.Engine{first, second, first, second} {
			wg.Go(func() {
				if _, err := e.Collect(t.Context(), feed("https://one.example/"), series.Window{}, 1); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if diff := cmp.Diff([]time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}, u.asked["one.example"]); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}

func TestWaitingForAHostEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := &slowUpstream{takes: 30 * time.Second}
		e, _ := bubbleEngine(u)
		go func() { _, _ = e.Collect(t.Context(), feed("https://one.example/long"), series.Window{}, 1) }()
		synctest.Wait() // the long request has the host

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := e.Collect(ctx, feed("https://one.example/waiting"), series.Window{}, 1)
			done <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		if got := time.Since(bubbleStart); got != 0 {
			t.Errorf("it took %s to stop waiting, want no time", got)
		}
	})
}

func TestAWaitBeyondTheDeadlineIsNotBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := &slowUpstream{}
		e, l := bubbleEngine(u)
		if err := l.DelayHost(t.Context(), "one.example", time.Minute); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, err := e.Collect(ctx, feed("https://one.example/"), series.Window{}, 1)
		if f := failureOf(t, err, ingest.Temporary); f.RetryAfter != time.Minute {
			t.Errorf("RetryAfter %s, want 1m: when the host is free", f.RetryAfter)
		}
		if got := time.Since(bubbleStart); got != 0 || len(u.asked) != 0 {
			t.Errorf("gave up after %s and %d requests, want at once and none", got, len(u.asked))
		}
	})
}

func TestASlowExchangeTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := &slowUpstream{takes: time.Hour}
		e, _ := bubbleEngine(u)
		e.Attempts = 1
		_, err := e.Collect(t.Context(), feed("https://one.example/"), series.Window{}, 1)
		failure(t, err, ingest.Temporary)
		wantText(t, err, "no whole answer within 1m0s")
		if got := time.Since(bubbleStart); got != ingest.DefaultTimeout {
			t.Errorf("gave up after %s, want %s", got, ingest.DefaultTimeout)
		}
	})
}

func TestOfflineNobodyQueues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := &slowUpstream{takes: time.Second}
		e, l := bubbleEngine(u)
		e.Offline = true
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := e.Collect(t.Context(), feed("https://one.example/"), series.Window{}, 1); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := time.Since(bubbleStart); got != time.Second || l.booked["one.example"] != 0 {
			t.Errorf("took %s with %d bookings, want 1s and none", got, l.booked["one.example"])
		}
	})
}
