package portwatch_test

import (
	"math"
	"net/http"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/portwatch"
	"tidemark/internal/series"
)

// FuzzAnswer gives one body to each kind of question: the number of days, a first page and a further one.
func FuzzAnswer(f *testing.F) {
	seeds := map[string]bool{}
	for _, dir := range ingesttest.Dirs(f) {
		r := loadCase(f, dir)
		seeds[string(r.Body)] = true
	}
	for body := range seeds {
		f.Add([]byte(body))
	}
	var questions []string
	for _, dir := range []string{"count", "first-page", "last-page", "service-gives-less-than-asked"} {
		questions = append(questions, loadCase(f, "testdata/"+dir).Request.URL)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, address := range questions {
			batch, err := portwatch.Source().Parse(ingest.Response{Request: ingest.Request{URL: address}, Body: body})
			if err == nil {
				checkBatch(t, address, batch)
			}
		}
	})
}

// checkBatch checks a batch against the parser's promises.
func checkBatch(t *testing.T, address string, b ingest.Batch) {
	t.Helper()
	if len(b.Readings) == 0 && b.Next == nil {
		t.Error("an end of the chain without readings")
	}
	if b.Next != nil {
		if b.Next.URL == address {
			t.Error("the next page is this page")
		}
		if _, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.Next.URL, http.NoBody); err != nil {
			t.Errorf("leads to %q: %v", b.Next.URL, err)
		}
	}
	covered := map[series.ID]series.Window{}
	for _, c := range b.Covers {
		if c.Window.To.Before(c.Window.From) || c.Window.From.IsZero() {
			t.Errorf("covers %v", c)
		}
		covered[c.Series] = c.Window
	}
	type key struct {
		id series.ID
		at time.Time
	}
	seen := map[key]bool{}
	for _, r := range b.Readings {
		k := key{r.Series, r.ObservedAt}
		switch {
		case math.IsNaN(r.Value) || math.IsInf(r.Value, 0) || r.Value < 0:
			t.Errorf("%v is %v", k, r.Value)
		case seen[k]:
			t.Errorf("two readings of %v", k)
		case !r.ObservedAt.Equal(r.ObservedAt.Truncate(24*time.Hour)) || r.ObservedAt.Location() != time.UTC:
			t.Errorf("%v is not a midnight in UTC", k)
		case !covered[r.Series].Contains(r.ObservedAt):
			t.Errorf("%v is not covered by %v", k, covered[r.Series])
		}
		seen[k] = true
	}
}
