package portwatch_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/portwatch"
	"tidemark/ingest/world/synth"
	"tidemark/internal/series"
)

// service is something that answers queries.
type service func(address string) *httptest.ResponseRecorder

func newFixture(seed uint64, now time.Time) *ingesttest.Upstream {
	return ingesttest.NewUpstream(now, func(mux *http.ServeMux, now func() time.Time) {
		portwatch.Sandbox(mux, synth.World{Seed: seed, Now: now})
	})
}

func serviceOf(t testing.TB, u *ingesttest.Upstream) service {
	t.Helper()
	return func(address string) *httptest.ResponseRecorder { return u.Get(t, address) }
}

// history is a series by day.
type history map[string]float64

// collect asks all questions of the chain, as the engine does, and returns what was read and how many questions it took. It fails
// when a day is read twice, and when the pages' claims leave a day between them out.
func collect(t testing.TB, ask service, fetched time.Time) (map[series.ID]history, int, error) {
	t.Helper()
	src := portwatch.Source()
	requests, err := src.Request(series.Window{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[series.ID]history{}
	covered := map[series.ID]time.Time{}
	asked := 0
	for r := &requests[0]; r != nil; asked++ {
		answer := ask(r.URL)
		if media, _, _ := strings.Cut(answer.Header().Get("Content-Type"), ";"); answer.Code != http.StatusOK || !slices.Contains(src.Limits.ContentTypes, media) {
			t.Fatalf("%s: status %d, content type %q", r.URL, answer.Code, media)
		}
		batch, err := src.Parse(ingest.Response{Request: *r, Header: answer.Header(), Body: answer.Body.Bytes(), FetchedAt: fetched})
		if err != nil {
			return nil, asked, err
		}
		for _, v := range batch.Readings {
			if all[v.Series] == nil {
				all[v.Series] = history{}
			}
			day := v.ObservedAt.Format(time.DateOnly)
			if _, twice := all[v.Series][day]; twice {
				t.Fatalf("%s of %s is read twice", v.Series, day)
			}
			all[v.Series][day] = v.Value
		}
		for _, c := range batch.Covers {
			if end, ok := covered[c.Series]; ok && !c.Window.From.Equal(end.AddDate(0, 0, 1)) {
				t.Fatalf("%s is covered to %s and then from %s", c.Series, end.Format(time.DateOnly), c.Window.From.Format(time.DateOnly))
			}
			covered[c.Series] = c.Window.To
		}
		r = batch.Next
	}
	return all, asked, nil
}

func collectAll(t testing.TB, u *ingesttest.Upstream) map[series.ID]history {
	t.Helper()
	all, _, err := collect(t, serviceOf(t, u), u.Now)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func instant(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04:05", s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestSandboxShowsAWeekFromItsReleaseOn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ fact, now, newest string }{
		{"a second before the release", "2026-06-30 13:34:59", "2026-06-21"},
		{"at the release, to Sunday", "2026-06-30 13:35:00", "2026-06-28"},
		{"a week later still that Sunday", "2026-07-07 13:34:59", "2026-06-28"},
		{"in winter an hour later", "2026-01-06 14:34:59", "2025-12-28"},
		{"in winter at the release", "2026-01-06 14:35:00", "2026-01-04"},
	} {
		all := collectAll(t, newFixture(1, instant(t, tc.now)))
		if len(all) != 8 {
			t.Errorf("%s: %d series", tc.fact, len(all))
		}
		for id, h := range all {
			days := slices.Sorted(maps.Keys(h))
			if days[0] != "2019-01-01" || days[len(days)-1] != tc.newest {
				t.Errorf("%s: %s has days from %s to %s, want 2019-01-01 to %s", tc.fact, id, days[0], days[len(days)-1], tc.newest)
			}
			first, last := instant(t, days[0]+" 00:00:00"), instant(t, tc.newest+" 00:00:00")
			if want := int(last.Sub(first).Hours()/24) + 1; len(days) != want {
				t.Errorf("%s: %s has %d days, want all %d", tc.fact, id, len(days), want)
			}
		}
	}
}

func TestSandboxGivesPagesOfAThousand(t *testing.T) {
	t.Parallel()
	for now, want := range map[string]int{ // the request for the count, and the pages; each page repeats a row
		"2021-09-21 13:35:00": 1 + 1, // 992 days
		"2021-10-05 13:35:00": 1 + 2, // 1,006 days
		"2026-06-30 13:35:00": 1 + 3, // 2,736 days
	} {
		s := newFixture(1, instant(t, now))
		if _, asked, err := collect(t, serviceOf(t, s), s.Now); err != nil || asked != want {
			t.Errorf("%s: %d questions, want %d (%v)", now, asked, want, err)
		}
	}
}

func TestSandboxRevisesTheNewestWeekAndSometimesAll(t *testing.T) {
	t.Parallel()
	s := newFixture(3, instant(t, "2019-12-31 14:35:00"))
	before := collectAll(t, s)
	whole, weekly := 0, 0
	for range 54 {
		last := slices.Max(slices.Collect(maps.Keys(before["portwatch.chokepoint6.n_total"])))
		s.Now = s.Now.AddDate(0, 0, 7).Truncate(24 * time.Hour).Add(15 * time.Hour)
		after := collectAll(t, s)
		changed, oldest := 0, "9999"
		for day, v := range before["portwatch.chokepoint6.n_total"] {
			if now, ok := after["portwatch.chokepoint6.n_total"][day]; !ok {
				t.Fatalf("%s: %s is gone", s.Now.Format(time.DateOnly), day)
			} else if now != v {
				changed++
				oldest = min(oldest, day)
			}
		}
		share := float64(changed) / float64(len(before["portwatch.chokepoint6.n_total"]))
		switch {
		case share > 0.05:
			whole++
			if month := s.Now.Month(); (month-1)%3 != 0 || s.Now.Day() > 7 {
				t.Errorf("%s: the whole history changed, which only a quarter's first release may", s.Now.Format(time.DateOnly))
			}
		case changed > 7 || changed > 0 && oldest < instant(t, last+" 00:00:00").AddDate(0, 0, -7).Format(time.DateOnly):
			t.Errorf("%s: %d days changed, the oldest %s: want some of the week to %s, or nearly all", s.Now.Format(time.DateOnly), changed, oldest, last)
		case changed > 0:
			weekly++
		}
		before = after
	}
	if whole < 1 || whole > 4 || weekly < 40 {
		t.Errorf("in a year %d releases changed the whole history and %d the newest week", whole, weekly)
	}
}

func TestSandboxFiguresArePlausible(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		all := collectAll(t, newFixture(seed, instant(t, "2026-06-30 14:00:00")))
		for id, bounds := range map[series.ID][2]float64{
			"portwatch.chokepoint6.n_total": {65, 110}, "portwatch.chokepoint6.n_tanker": {45, 75},
			"portwatch.chokepoint6.n_roro": {1, 4}, "portwatch.chokepoint6.capacity": {2.5e6, 6e6},
		} {
			var sum, most float64
			for _, v := range all[id] {
				sum += v
				most = max(most, v)
			}
			if mean := sum / float64(len(all[id])); mean < bounds[0] || mean > bounds[1] {
				t.Errorf("seed %d: the mean of %s is %.4g, want %v", seed, id, mean, bounds)
			}
			if most > 4*bounds[1] {
				t.Errorf("seed %d: %s reaches %v", seed, id, most)
			}
		}
	}
}

func TestSandboxOfOneSeedIsOneHistory(t *testing.T) {
	t.Parallel()
	now := instant(t, "2026-06-30 14:00:00")
	one, two := newFixture(5, now), newFixture(5, now.AddDate(-2, 0, 0))
	collectAll(t, two)
	two.Now = now.AddDate(0, 0, 5) // after other questions, later in the week
	want := collectAll(t, one)
	if diff := cmp.Diff(want, collectAll(t, two)); diff != "" {
		t.Errorf("another history (-want +got):\n%s", diff)
	}
	if cmp.Equal(want, collectAll(t, newFixture(6, now))) {
		t.Error("another seed has the same history")
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if got, _, err := collect(t, serviceOf(t, one), now); err != nil || !maps.Equal(got["portwatch.chokepoint6.capacity"], want["portwatch.chokepoint6.capacity"]) {
				t.Errorf("asked at once it has another history (%v)", err)
			}
		})
	}
	wg.Wait()
}

func TestSandboxSpeaksAsTheServiceDoes(t *testing.T) {
	t.Parallel()
	s := newFixture(1, instant(t, "2026-06-30 14:00:00"))
	const query = "https://services9.arcgis.com/weJ1QsnbMYJlCHdG/arcgis/rest/services/Daily_Chokepoints_Data/FeatureServer/0/query?"
	order := "&outFields=*&orderByFields=" + url.QueryEscape("date ASC,ObjectId ASC")
	strait := "where=" + url.QueryEscape("portid='chokepoint6'")
	for _, tc := range []struct{ fact, query, want string }{
		{"the number of days", strait + "&returnCountOnly=true&f=json", `{"count":2736,`},
		{"another strait has no days here", "where=" + url.QueryEscape("portid='chokepoint1'") + "&returnCountOnly=true&f=json", `{"count":0,`},
		{"a condition that it cannot read", "where=date&f=json", `{"error":{"code":400,`},
		{"an order that it does not know", strait + "&f=json&outFields=*", `{"error":{"code":400,`},
		{"an offset that is none", strait + "&f=json&resultOffset=x" + order, `{"error":{"code":400,`},
		{"not JSON", strait, `{"error":{"code":400,`},
		{"behind the last day", strait + "&f=json&resultOffset=5000" + order, `"features":[]`},
		{"the first days", strait + "&f=json&resultRecordCount=2" + order, `"exceededTransferLimit":true,"features":[{"attributes":{"date":"2019-01-01","year":2019,"month":1,"day":1,"portid":"chokepoint6","portname":"Strait of Hormuz","n_container":`},
	} {
		answer := serviceOf(t, s)(query + tc.query)
		if body := answer.Body.String(); answer.Code != http.StatusOK || !strings.Contains(body, tc.want) || !strings.Contains(body, "Synthetic figures") {
			t.Errorf("%s: status %d, want %s and a note:\n%.600s", tc.fact, answer.Code, tc.want, body)
		}
	}
	// More than a thousand days are never returned, for any request; the absence of the flag shows the end.
	for offset, want := range map[string]struct {
		rows     int
		exceeded bool
	}{"0": {1000, true}, "1736": {1000, false}, "2735": {1, false}} {
		var page struct {
			Exceeded *bool `json:"exceededTransferLimit"`
			Features []any `json:"features"`
		}
		body := serviceOf(t, s)(query + strait + "&f=json&resultRecordCount=5000&resultOffset=" + offset + order).Body.Bytes()
		if err := json.Unmarshal(body, &page); err != nil || len(page.Features) != want.rows || (page.Exceeded != nil) != want.exceeded {
			t.Errorf("from %s: %d rows, exceeded %v, want %v (%v)", offset, len(page.Features), page.Exceeded, want, err)
		}
	}
}

// After some of the questions the layer becomes another one.
func TestLayerThatMovesBetweenTwoPagesIsToldFromOneThatStands(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		fact  string
		later string
		spoil func(body []byte) []byte
	}{
		{"a release that adds a week", "2026-07-07 14:00:00", nil},
		{"a release that goes back", "2026-06-16 14:00:00", nil},
		{"an estimate of the whole history, of the same length", "2026-06-30 14:00:00", func(body []byte) []byte {
			return bytes.ReplaceAll(body, []byte(`"capacity":`), []byte(`"capacity":1`))
		}},
		{"a layer being loaded", "2026-06-30 14:00:00", func([]byte) []byte { return []byte(`{"fields":[],"features":[]}`) }},
	} {
		for after := 1; after <= 3; after++ { // before the first page, the second, the third
			s := newFixture(2, instant(t, "2026-06-30 14:00:00"))
			asked := 0
			_, _, err := collect(t, func(address string) *httptest.ResponseRecorder {
				if asked == after {
					s.Now = instant(t, tc.later)
				}
				asked++
				answer := serviceOf(t, s)(address)
				if asked > after && tc.spoil != nil {
					answer.Body = bytes.NewBuffer(tc.spoil(answer.Body.Bytes()))
				}
				return answer
			}, instant(t, "2026-07-10 00:00:00"))
			// Before the first page the estimate changes nothing: all reads see one state.
			quiet := after == 1 && strings.Contains(tc.fact, "same length")
			if quiet != (err == nil) || err != nil && !strings.Contains(err.Error(), "the layer moved while it was read") {
				t.Errorf("%s, after %d questions: error is %v", tc.fact, after, err)
			}
		}
	}
}

func TestWrittenRowsReadBack(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 12, 0, 0, 0, 0, time.UTC)
	var rows []portwatch.Row
	for i := range 3 {
		r := portwatch.NewRow(day.AddDate(0, 0, i))
		if i != 1 { // the second day has no ship
			r.Container, r.DryBulk, r.GeneralCargo, r.RoRo, r.Tanker = 1, 2, 3, 4, float64(5+i)
			r.Cargo, r.Total = 10, float64(15+i)
			r.CapacityTanker, r.Capacity = 1e5, 1.5e5+0.25
		}
		rows = append(rows, r)
	}
	all, asked, err := collect(t, func(address string) *httptest.ResponseRecorder {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(portwatch.Answer(rows, u.Query(), ""))
		return w
	}, time.Time{})
	if err != nil || asked != 2 {
		t.Fatalf("%d questions: %v", asked, err)
	}
	want := map[series.ID]history{}
	for field, values := range map[string][3]float64{
		"n_total": {15, 0, 17}, "n_tanker": {5, 0, 7}, "n_container": {1, 0, 1}, "n_dry_bulk": {2, 0, 2}, "n_general_cargo": {3, 0, 3},
		"n_roro": {4, 0, 4}, "capacity_tanker": {1e5, 0, 1e5}, "capacity": {150000.25, 0, 150000.25},
	} {
		want[series.ID("portwatch.chokepoint6."+field)] = history{"2026-03-12": values[0], "2026-03-13": values[1], "2026-03-14": values[2]}
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	if body := portwatch.Answer([]portwatch.Row{{Capacity: math.NaN()}}, url.Values{
		"f": {"json"}, "where": {"portid='chokepoint6'"}, "outFields": {"*"}, "orderByFields": {"date ASC,ObjectId ASC"},
	}, ""); !strings.Contains(string(body), `"code":500`) {
		t.Errorf("a row that JSON cannot hold is answered with %s", body)
	}
}
