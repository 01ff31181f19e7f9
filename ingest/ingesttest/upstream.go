package ingesttest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// Upstream is an adapter's sandbox with a clock that the test sets.
type Upstream struct {
	Mux *http.ServeMux
	Now time.Time
}

// NewUpstream makes a sandbox at an instant. mount puts the adapter's handlers on the mux; they read the time from now.
func NewUpstream(at time.Time, mount func(mux *http.ServeMux, now func() time.Time)) *Upstream {
	u := &Upstream{Mux: http.NewServeMux(), Now: at}
	mount(u.Mux, func() time.Time { return u.Now })
	return u
}

// Ask sends one request.
func (u *Upstream) Ask(t testing.TB, r ingest.Request) *httptest.ResponseRecorder {
	t.Helper()
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	req := httptest.NewRequestWithContext(t.Context(), method, r.URL, bytes.NewReader(r.Body))
	req.Header = r.Header.Clone()
	w := httptest.NewRecorder()
	u.Mux.ServeHTTP(w, req)
	return w
}

// Get asks for one page.
func (u *Upstream) Get(t testing.TB, address string) *httptest.ResponseRecorder {
	t.Helper()
	return u.Ask(t, ingest.Request{URL: address})
}

// Collect requests all that a source declares for a window and follows the pages, as the engine does: a status for absent content ends
// its chain. It returns the readings in the order of arrival, and passes each page to the look functions.
func (u *Upstream) Collect(t testing.TB, src ingest.Source, w series.Window, look ...func(ingest.Request, ingest.Batch)) map[series.ID][]series.Reading {
	t.Helper()
	requests, err := src.Request(w)
	if err != nil {
		t.Fatal(err)
	}
	got := map[series.ID][]series.Reading{}
	for _, first := range requests {
		for r := &first; r != nil; {
			answer := u.Ask(t, *r)
			if slices.Contains(r.Absent, answer.Code) {
				break
			}
			if answer.Code != http.StatusOK {
				t.Fatalf("%s: status %d: %s", r.URL, answer.Code, answer.Body)
			}
			if media, _, _ := strings.Cut(answer.Header().Get("Content-Type"), ";"); !slices.Contains(src.Limits.ContentTypes, media) {
				t.Errorf("%s: content type %q is not one that the source allows", r.URL, media)
			}
			batch, err := src.Parse(ingest.Response{Request: *r, Header: answer.Header(), Body: answer.Body.Bytes(), FetchedAt: u.Now})
			if err != nil {
				t.Fatalf("%s: %v", r.URL, err)
			}
			for _, l := range look {
				l(*r, batch)
			}
			for _, v := range batch.Readings {
				got[v.Series] = append(got[v.Series], v)
			}
			r = batch.Next
		}
	}
	return got
}

// NewYork reads a date and time of day in New York, such as "2026-08-12 12:00:00".
func NewYork(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.ParseInLocation(time.DateTime, s, ingest.NewYork())
	if err != nil {
		t.Fatal(err)
	}
	return at
}
