package ingest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// clock is a world's clock that moves only when a caller waits on it.
type clock struct {
	mu    sync.Mutex
	at    time.Time
	waits []time.Duration
}

func newClock() *clock { return &clock{at: time.Date(2026, 3, 4, 15, 30, 0, 123456789, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) Wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	c.waits = append(c.waits, d)
	return nil
}

// row is a ledger's row.
type row struct {
	series.Fetch
	RunID int64
}

// ledger is a whole ingest.Ledger in memory, which counts and can fail.
type ledger struct {
	now func() time.Time

	mu     sync.Mutex
	rows   []row
	next   map[string]time.Time
	booked map[string]int
	delays map[string]time.Duration
	fail   error // of RecordFetch
}

func newLedger(now func() time.Time) *ledger {
	return &ledger{now: now, next: map[string]time.Time{}, booked: map[string]int{}, delays: map[string]time.Duration{}}
}

func (l *ledger) LastFetch(_ context.Context, source, url string) (series.Fetch, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range slices.Backward(l.rows) {
		f := r.Fetch
		if f.Source == source && f.URL == url && (f.Status == http.StatusOK || f.Status == http.StatusNotModified) {
			return f, true, nil
		}
	}
	return series.Fetch{}, false, nil
}

func (l *ledger) RecordFetch(_ context.Context, f series.Fetch, runID int64) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return 0, l.fail
	}
	f.ID = int64(len(l.rows) + 1)
	l.rows = append(l.rows, row{f, runID})
	return f.ID, nil
}

func (l *ledger) ReserveHost(_ context.Context, host string, interval time.Duration) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	at := l.next[host]
	if at.Before(now) {
		at = now
	}
	l.next[host] = at.Add(interval)
	l.booked[host]++
	return at.Sub(now), nil
}

func (l *ledger) DelayHost(_ context.Context, host string, d time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.now().Add(d); at.After(l.next[host]) {
		l.next[host] = at
	}
	l.delays[host] = d
	return nil
}

// statuses lists the statuses of the ledger's rows in order.
func (l *ledger) statuses() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := make([]int, len(l.rows))
	for i, r := range l.rows {
		s[i] = r.Status
	}
	return s
}

// bodies is a whole ingest.Archive in memory.
type bodies struct {
	mu   sync.Mutex
	held map[string][]byte
	puts int
}

func newBodies() *bodies { return &bodies{held: map[string][]byte{}} }

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

func (b *bodies) Put(_ context.Context, body []byte) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.puts++
	b.held[digest(body)] = body
	return digest(body), nil
}

func (b *bodies) Get(_ context.Context, sha256 string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	body, ok := b.held[sha256]
	if !ok {
		return nil, fmt.Errorf("%s: %w", sha256, ingest.ErrNotArchived)
	}
	return body, nil
}

// fixture is an engine on doubles.
type fixture struct {
	*ingest.Engine
	clock   *clock
	ledger  *ledger
	archive *bodies
}

func newRig(transport http.RoundTripper) *fixture {
	c := newClock()
	r := &fixture{clock: c, ledger: newLedger(c.Now), archive: newBodies()}
	r.Engine = &ingest.Engine{
		Transport: transport, Now: c.Now, Wait: c.Wait, Ledger: r.ledger, Archive: r.archive,
		UserAgent: ingest.UserAgent("https://tidemark.example/contact"),
	}
	return r
}

// collect runs a source once under run 7.
func (r *fixture) collect(t *testing.T, src ingest.Source) ([]ingest.Fetched, error) {
	t.Helper()
	return r.Collect(t.Context(), src, series.Window{}, 7)
}

// serve starts an upstream.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// page is the wire form of the test upstream.
type page struct {
	Rows []cell `json:"rows"`
	// Next is the URL of the following page.
	Next string `json:"next,omitempty"`
	// Covers claims that the page holds all of rates.
	Covers bool `json:"covers,omitempty"`
}

type cell struct {
	Day   string  `json:"day"`
	Value float64 `json:"value"`
}

const rates = series.ID("test.rates")

// feed is a source of one series that asks the given URLs.
func feed(urls ...string) ingest.Source {
	return ingest.Source{
		ID:     "feed",
		Limits: ingest.Limits{ContentTypes: []string{"application/json"}, Interval: time.Second},
		Series: []series.Info{{ID: rates}},
		Request: func(series.Window) ([]ingest.Request, error) {
			var rs []ingest.Request
			for _, u := range urls {
				rs = append(rs, ingest.Request{URL: u, Secret: []string{"api_key"}})
			}
			return rs, nil
		},
		Parse: func(r ingest.Response) (ingest.Batch, error) {
			var p page
			if err := json.Unmarshal(r.Body, &p); err != nil {
				return ingest.Batch{}, fmt.Errorf("%s: expected a JSON object: %w", r.Request.URL, err)
			}
			var b ingest.Batch
			for _, c := range p.Rows {
				at, err := time.Parse(time.DateOnly, c.Day)
				if err != nil {
					return ingest.Batch{}, errors.New("expected a day")
				}
				b.Readings = append(b.Readings, ingest.Reading{Series: rates, ObservedAt: at, Value: c.Value})
			}
			if p.Covers {
				b.Covers = []ingest.Coverage{{Series: rates}}
			}
			if p.Next != "" {
				next := r.Request
				next.URL = p.Next
				b.Next = &next
			}
			return b, nil
		},
	}
}

// write answers with a page.
func write(w http.ResponseWriter, p page) {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(body)
}

// one is a good page of one row.
func one(day string, value float64) page { return page{Rows: []cell{{day, value}}} }

// failure holds err to a kind.
func failure(t *testing.T, err error, kind ingest.Kind) {
	t.Helper()
	_ = failureOf(t, err, kind)
}

// failureOf finds the *ingest.Error in err and holds it to a kind.
func failureOf(t *testing.T, err error, kind ingest.Kind) *ingest.Error {
	t.Helper()
	e, ok := errors.AsType[*ingest.Error](err)
	if !ok {
		t.Fatalf("got error %v, want an *ingest.Error", err)
	}
	if !errors.Is(err, kind) || e.Kind != kind {
		t.Fatalf("got %v of kind %q, want kind %q", err, e.Kind, kind)
	}
	return e
}

// wantText holds an error to words that a reader of it needs.
func wantText(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}
