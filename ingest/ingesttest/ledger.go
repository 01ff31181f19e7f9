package ingesttest

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"tidemark/internal/series"
)

// FetchLog is an ingest.Ledger in memory without a rate limit.
type FetchLog struct {
	mu sync.Mutex
	// Rows are the recorded fetches in their order; to be read when nothing is asked.
	Rows []series.Fetch
	// Fail is the error of RecordFetch, nil for none.
	Fail error
}

// LastFetch returns the newest good answer of an address.
func (l *FetchLog) LastFetch(_ context.Context, source, url string) (series.Fetch, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range slices.Backward(l.Rows) {
		if f.Source == source && f.URL == url && (f.Status == http.StatusOK || f.NotModified) {
			return f, true, nil
		}
	}
	return series.Fetch{}, false, nil
}

// RecordFetch adds a row and returns its number, from 1 on.
func (l *FetchLog) RecordFetch(_ context.Context, f series.Fetch, _ int64) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Fail != nil {
		return 0, l.Fail
	}
	f.ID = int64(len(l.Rows) + 1)
	l.Rows = append(l.Rows, f)
	return f.ID, nil
}

// ReserveHost lets every caller send at once.
func (l *FetchLog) ReserveHost(context.Context, string, time.Duration) (time.Duration, error) {
	return 0, nil
}

// DelayHost does nothing.
func (l *FetchLog) DelayHost(context.Context, string, time.Duration) error { return nil }
