package temis_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/temis"
	"tidemark/ingest/world"
	"tidemark/ingest/world/synth"
	"tidemark/internal/series"
)

// fixture is an engine in a sandbox with a clock that the test sets.
type fixture struct {
	engine ingest.Engine
	ledger ingesttest.FetchLog
	now    time.Time
}

func newFixture(t *testing.T, seed uint64, now time.Time, missing ...string) *fixture {
	t.Helper()
	s := &fixture{now: now}
	store, err := archive.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	clock := func() time.Time { return s.now }
	mux := http.NewServeMux()
	temis.Sandbox(mux, synth.World{Seed: seed, Now: clock})
	fault := func(r *http.Request, _ int) (world.Fault, bool) {
		return world.Fault{Status: http.StatusForbidden}, slices.ContainsFunc(missing, func(m string) bool { return strings.Contains(r.URL.Path, m) })
	}
	s.engine = ingest.Engine{
		Transport: world.Sandbox(mux, world.SandboxOptions{Now: clock, Fault: fault}), Now: clock, Ledger: &s.ledger, Archive: store, Offline: true,
	}
	return s
}

// collect runs the source once and returns its readings by series.
func (s *fixture) collect(t *testing.T, w series.Window) map[series.ID][]series.Reading {
	t.Helper()
	fetched, err := s.engine.Collect(t.Context(), temis.Source(), w, 1)
	if err != nil {
		t.Fatal(err)
	}
	got := map[series.ID][]series.Reading{}
	for _, f := range fetched {
		for _, r := range f.Batch.Readings {
			got[r.Series] = append(got[r.Series], r)
		}
	}
	return got
}

// statuses counts the answers since the ledger had n rows.
func (s *fixture) statuses(n int) map[int]int {
	count := map[int]int{}
	for _, f := range s.ledger.Rows[n:] {
		if f.NotModified {
			count[http.StatusNotModified]++
			continue
		}
		count[f.Status]++
	}
	return count
}

func TestSandboxThroughTheEngine(t *testing.T) {
	t.Parallel()
	s := newFixture(t, 1, time.Date(2018, 10, 25, 10, 40, 0, 0, time.UTC))
	whole := s.collect(t, series.Window{})
	if diff := cmp.Diff([]string{"2018-05", "2018-06", "2018-07", "2018-08", "2018-09"}, monthsOf(whole["temis.NO2.version"])); diff != "" {
		t.Errorf("months (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[int]int{200: 5}, s.statuses(0)); diff != "" {
		t.Errorf("the first run (-want +got):\n%s", diff)
	}
	for _, f := range s.ledger.Rows {
		if !f.Synthetic {
			t.Errorf("%s is not marked as synthetic", f.URL)
		}
	}

	// In the next month the last grids are read again, and October's is not there yet.
	n := len(s.ledger.Rows)
	s.now = time.Date(2018, 11, 10, 10, 40, 0, 0, time.UTC)
	window := temis.Source().Window(s.now, month(2018, 9))
	again := s.collect(t, window)
	if diff := cmp.Diff(map[int]int{304: 3, 404: 1}, s.statuses(n)); diff != "" {
		t.Errorf("a run before the release (-want +got):\n%s", diff)
	}
	for id, list := range again {
		if diff := cmp.Diff(whole[id][len(whole[id])-3:], list); diff != "" {
			t.Errorf("%s changed (-first +second):\n%s", id, diff)
		}
	}

	n = len(s.ledger.Rows)
	s.now = time.Date(2018, 11, 25, 10, 40, 0, 0, time.UTC)
	if diff := cmp.Diff([]string{"2018-07", "2018-08", "2018-09", "2018-10"}, monthsOf(s.collect(t, window)["temis.NO2.po"])); diff != "" {
		t.Errorf("after the release (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[int]int{200: 1, 304: 3}, s.statuses(n)); diff != "" {
		t.Errorf("a run after the release (-want +got):\n%s", diff)
	}
}

func monthsOf(list []series.Reading) []string {
	var months []string
	for _, r := range list {
		months = append(months, r.ObservedAt.Format("2006-01"))
	}
	return months
}

func TestAMissingMonthIsSteppedOver(t *testing.T) {
	t.Parallel()
	s := newFixture(t, 1, time.Date(2018, 12, 25, 10, 40, 0, 0, time.UTC), "no2_201806", "no2_201807", "no2_201810")
	if diff := cmp.Diff([]string{"2018-05", "2018-08", "2018-09", "2018-11"}, monthsOf(s.collect(t, series.Window{})["temis.NO2.po"])); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestThreeMissingMonthsAreAFailure(t *testing.T) {
	t.Parallel()
	s := newFixture(t, 1, time.Date(2019, 3, 25, 10, 40, 0, 0, time.UTC), "no2_201806", "no2_201807", "no2_201808")
	fetched, err := s.engine.Collect(t.Context(), temis.Source(), series.Window{}, 1)
	if err == nil || !strings.Contains(err.Error(), "no2_201808") || len(fetched) != 0 {
		t.Errorf("%d answers, error is %v", len(fetched), err)
	}
}

func TestSandboxLooksLikeTheAir(t *testing.T) {
	t.Parallel()
	got := newFixture(t, 1, time.Date(2021, 5, 25, 10, 40, 0, 0, time.UTC)).collect(t, series.Window{From: month(2020, 1)})
	lost := 0
	for id, list := range got {
		if id == "temis.NO2.version" {
			continue
		}
		var winter, summer float64
		for _, r := range list {
			switch {
			case r.Marker != "":
				lost++
			case r.Value < 10 || r.Value > 500:
				t.Errorf("%s of %s is %v", id, r.ObservedAt.Format("2006-01"), r.Value)
			case r.ObservedAt.Month() == time.January:
				winter = max(winter, r.Value)
			case r.ObservedAt.Month() == time.July:
				summer = max(summer, r.Value)
			}
		}
		if winter <= summer {
			t.Errorf("%s is higher in July, %v, than in January, %v", id, summer, winter)
		}
	}
	if lost > 8*16/10 { // one of thirty is the rule
		t.Errorf("%d of %d regional months are lost under clouds", lost, 8*16)
	}
	// The lockdowns: the delta in February, Delhi in April, against the year after.
	for id, m := range map[series.ID]string{"temis.NO2.yangtze": "-02", "temis.NO2.delhi": "-04"} {
		values := map[string]float64{}
		for _, r := range got[id] {
			values[r.ObservedAt.Format("2006-01")] = r.Value
		}
		if v, after := values["2020"+m], values["2021"+m]; v == 0 || v > 0.85*after {
			t.Errorf("%s of 2020%s is %v, %v a year later", id, m, v, after)
		}
	}
}

func TestSandboxIsTheSameWorldForASeed(t *testing.T) {
	t.Parallel()
	at := time.Date(2018, 7, 25, 10, 40, 0, 0, time.UTC)
	a, b := newFixture(t, 7, at), newFixture(t, 7, at)
	b.collect(t, series.Window{From: month(2018, 6)}) // another question first
	history := a.collect(t, series.Window{})
	if diff := cmp.Diff(history, b.collect(t, series.Window{})); diff != "" {
		t.Errorf("(-one +other):\n%s", diff)
	}
	if cmp.Equal(history, newFixture(t, 8, at).collect(t, series.Window{})) {
		t.Error("another seed gives the same world")
	}
}

func TestSandboxHasNoOtherGrids(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	temis.Sandbox(mux, synth.World{Now: func() time.Time { return time.Date(2020, 6, 11, 23, 0, 0, 0, time.UTC) }})
	for address, want := range map[string]int{
		temis.GridURL(month(2020, 4)): 200,
		temis.GridURL(month(2020, 5)): 404, // not out before the 12th
		temis.GridURL(month(2018, 4)): 404,
		"https://d1qb6yzwaaq4he.cloudfront.net/tropomi/no2/2020/04/no2_202004.grd": 404,
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody))
		if w.Code != want {
			t.Errorf("%s: status %d, want %d", address, w.Code, want)
		}
	}
}

func TestSandboxIsSafeForManyAtOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t, 3, time.Date(2018, 8, 25, 10, 40, 0, 0, time.UTC))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := s.engine.Collect(t.Context(), temis.Source(), series.Window{}, 1); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
