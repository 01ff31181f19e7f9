package nass_test

import (
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/nass"
	"tidemark/ingest/world/synth"
	"tidemark/internal/series"
)

const goodKey = "D1CA2087-5817-35BB-B266-2E5853CA5741"

func newFixture(t testing.TB, seed uint64, now string) *ingesttest.Upstream {
	t.Helper()
	return ingesttest.NewUpstream(ingesttest.NewYork(t, now), func(mux *http.ServeMux, now func() time.Time) {
		nass.Sandbox(mux, synth.World{Seed: seed, Now: now})
	})
}

// collect is all that a source shows of a window, each page of it checked.
func collect(t testing.TB, u *ingesttest.Upstream, src ingest.Source, w series.Window) map[series.ID][]series.Reading {
	t.Helper()
	return u.Collect(t, src, w, func(_ ingest.Request, b ingest.Batch) { checkBatch(t, b) })
}

func TestSandboxShowsEveryFigureFromItsReleaseOn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		fact                     string
		now                      string
		final, forecast, ratings string
	}{
		{"a second before August's report", "2026-08-12 11:59:59", "2025", "2025-11", "2026-08-09"},
		{"at August's report", "2026-08-12 12:00:00", "2025", "2026-08", "2026-08-09"},
		{"before the week's ratings", "2026-08-10 15:59:59", "2025", "2025-11", "2026-08-02"},
		{"at the week's ratings", "2026-08-10 16:00:00", "2025", "2025-11", "2026-08-09"},
		{"before the annual summary", "2026-01-12 11:59:59", "2024", "2025-11", "2025-09-28"},
		{"at the annual summary", "2026-01-12 12:00:00", "2025", "2025-11", "2025-09-28"},
	} {
		s := newFixture(t, 1, tc.now)
		got := collect(t, s, nass.Source(goodKey), series.Window{From: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)})
		newest := func(id series.ID, layout string) string {
			return got[id][len(got[id])-1].ObservedAt.Format(layout)
		}
		want := []string{tc.final, tc.forecast, tc.ratings}
		if diff := cmp.Diff(want, []string{newest(finals, "2006"), newest(forecasts, "2006-01"), newest(ratings, time.DateOnly)}); diff != "" {
			t.Errorf("%s: newest final, forecast and ratings (-want +got):\n%s", tc.fact, diff)
		}
	}
}

func TestSandboxHistoryBeginsWhereItSays(t *testing.T) {
	t.Parallel()
	got := collect(t, newFixture(t, 1, "2026-05-14 12:00:00"), nass.Source(""), series.Window{})
	first := map[series.ID]string{}
	for id, list := range got {
		first[id] = list[0].ObservedAt.Format(time.DateOnly)
	}
	want := map[series.ID]string{finals: "1900-01-01", forecasts: "1980-08-01", ratings: "1986-06-01"}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(got[ratings]); n != 40*18 {
		t.Errorf("%d weeks of ratings in 40 seasons, want 18 in each", n)
	}
	for _, v := range got[ratings] {
		if v.Marker != "" {
			t.Errorf("the ratings of %s do not add up", v.ObservedAt.Format(time.DateOnly))
		}
	}
}

// The forms differ in one thing: if a final repeats the newest forecast, the web form accepts it only in March.
func TestSandboxSaysTheSameInBothForms(t *testing.T) {
	t.Parallel()
	for _, now := range []string{"2026-05-14 12:00:00", "2026-10-15 12:00:00"} {
		s := newFixture(t, 4, now)
		if diff := cmp.Diff(collect(t, s, nass.Source(""), series.Window{}), collect(t, s, nass.Source(goodKey), series.Window{})); diff != "" {
			t.Errorf("%s (-form +api):\n%s", now, diff)
		}
	}
}

// The API's earlier response is kept until there is something new. A clock that goes back restores the earlier rows.
func TestSandboxAPISaysTheNewThingFromARelease(t *testing.T) {
	t.Parallel()
	s := newFixture(t, 1, "2026-08-12 11:59:59")
	q := url.Values{"key": {goodKey}, "year__GE": {"2025"}, "statisticcat_desc": {"YIELD"}, "agg_level_desc": {"STATE"}, "state_name": {"IOWA"}}
	ask := func(at string) string {
		s.Now = ingesttest.NewYork(t, at)
		return s.Get(t, "https://quickstats.nass.usda.gov/api/api_GET/?"+q.Encode()).Body.String()
	}
	before := ask("2026-08-12 11:59:59")
	at := ask("2026-08-12 12:00:00")
	for when, want := range map[string]string{"2026-08-12 11:59:00": before, "2026-08-12 12:00:01": at} {
		if got := ask(when); got != want {
			t.Errorf("at %s the answer is\n%.400s\nwant\n%.400s", when, got, want)
		}
	}
	if fresh := newFixture(t, 1, "2026-08-12 12:00:00").Get(t, "https://quickstats.nass.usda.gov/api/api_GET/?"+q.Encode()).Body.String(); at != fresh || at == before {
		t.Errorf("at its release the API says\n%.400s\nwant\n%.400s", at, fresh)
	}
}

func TestSandboxFollowsAWindow(t *testing.T) {
	t.Parallel()
	s := newFixture(t, 4, "2026-05-14 12:00:00")
	day := func(year int) time.Time { return time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC) }
	got := collect(t, s, nass.Source(goodKey), series.Window{From: day(2020), To: day(2022)})
	if n := len(got[finals]); n != 3 || got[finals][0].ObservedAt.Year() != 2020 {
		t.Errorf("the years 2020 to 2022 have %d finals, from %v", n, got[finals])
	}
	if got := collect(t, s, nass.Source(goodKey), series.Window{From: day(2030), To: day(2031)}); len(got) != 0 {
		t.Errorf("years to come have %v", got)
	}
}

// In the season the row of the year already exists. Its value must be the newest forecast, and not a final.
func TestSandboxHasTheRowOfARunningYear(t *testing.T) {
	t.Parallel()
	s := newFixture(t, 1, "2026-09-20 12:00:00")
	q := url.Values{
		"key": {goodKey}, "year": {"2026"}, "state_alpha": {"IA"}, "statisticcat_desc": {"YIELD"}, "util_practice_desc": {"GRAIN"},
		"source_desc": {"SURVEY"},
	}
	body := s.Ask(t, ingest.Request{URL: "https://quickstats.nass.usda.gov/api/api_GET?" + q.Encode()}).Body.String()
	if !strings.Contains(body, `"reference_period_desc":"YEAR"`) || !strings.Contains(body, "SEP FORECAST") {
		t.Errorf("no row of the running year beside its forecasts:\n%.600s", body)
	}
	for _, key := range []string{"", goodKey} {
		got := collect(t, s, nass.Source(key), series.Window{})
		if last := got[finals][len(got[finals])-1]; last.ObservedAt.Year() != 2025 {
			t.Errorf("a final of %d in its season", last.ObservedAt.Year())
		}
	}
}

func TestSandboxForecastsComeNearerAsTheSeasonGoesOn(t *testing.T) {
	t.Parallel()
	square, n := map[time.Month]float64{}, map[time.Month]float64{}
	cancelled := 0
	for seed := range uint64(12) {
		got := collect(t, newFixture(t, seed, "2026-05-14 12:00:00"), nass.Source(""), series.Window{})
		final := map[int]float64{}
		for _, v := range got[finals] {
			final[v.ObservedAt.Year()] = v.Value
			if v.Value < 10 || v.Value > 320 {
				t.Errorf("seed %d: the yield of %d is %v", seed, v.ObservedAt.Year(), v.Value)
			}
		}
		for _, v := range got[forecasts] {
			d := final[v.ObservedAt.Year()] - v.Value
			square[v.ObservedAt.Month()] += d * d
			n[v.ObservedAt.Month()]++
		}
		cancelled += 46*4 - len(got[forecasts])
	}
	// As measured for Illinois.
	for month, want := range map[time.Month]float64{time.August: 10.4, time.September: 8.6, time.October: 5.2, time.November: 2.8} {
		if rmse := math.Sqrt(square[month] / n[month]); math.Abs(rmse-want) > 0.12*want {
			t.Errorf("the error of %s is %.2f, want about %.1f", month, rmse, want)
		}
	}
	if cancelled < 20 || cancelled > 70 { // of 12 * 46 * 3
		t.Errorf("%d reports were cancelled, want about 41", cancelled)
	}
}

func TestSandboxRatingsForetellTheHarvest(t *testing.T) {
	t.Parallel()
	var xs, ys []float64
	for seed := range uint64(5) {
		got := collect(t, newFixture(t, seed, "2026-05-14 12:00:00"), nass.Source(""), series.Window{})
		last := map[int]float64{}
		for _, v := range got[ratings] {
			last[v.ObservedAt.Year()] = v.Value
		}
		for _, v := range got[finals] {
			if year := v.ObservedAt.Year(); year >= 1986 {
				xs, ys = append(xs, last[year]), append(ys, v.Value/(38+2.05*float64(year-1935)))
			}
		}
	}
	var sx, sy, sxx, syy, sxy float64
	n := float64(len(xs))
	for i := range xs {
		sx, sy, sxx, syy, sxy = sx+xs[i], sy+ys[i], sxx+xs[i]*xs[i], syy+ys[i]*ys[i], sxy+xs[i]*ys[i]
	}
	r := (n*sxy - sx*sy) / math.Sqrt((n*sxx-sx*sx)*(n*syy-sy*sy))
	if r*r < 0.5 { // 0.62 was measured for Iowa
		t.Errorf("the last ratings explain %.2f of the yields", r*r)
	}
}

func TestSandboxIsTheSameWorldForASeed(t *testing.T) {
	t.Parallel()
	a := newFixture(t, 7, "2026-05-14 12:00:00")
	b := newFixture(t, 7, "2020-05-14 12:00:00")
	collect(t, b, nass.Source(""), series.Window{}) // another question first
	b.Now = a.Now
	history := collect(t, a, nass.Source(""), series.Window{})
	if diff := cmp.Diff(history, collect(t, b, nass.Source(""), series.Window{})); diff != "" {
		t.Errorf("(-one +other):\n%s", diff)
	}
	if cmp.Equal(history, collect(t, newFixture(t, 8, "2026-05-14 12:00:00"), nass.Source(""), series.Window{})) {
		t.Error("another seed gives the same world")
	}
}

func TestSandboxAnswersChangeAtReleasesOnly(t *testing.T) {
	t.Parallel()
	s := newFixture(t, 2, "2026-08-12 12:00:00")
	requests, err := nass.Source("").Request(series.Window{})
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Trim(s.Ask(t, requests[0]).Body.String(), `"`)
	get := func() string { return s.Ask(t, ingest.Request{URL: nass.SpreadsheetURL(name)}).Body.String() }
	first := get()
	s.Now = ingesttest.NewYork(t, "2026-09-11 11:59:59")
	if get() != first {
		t.Error("the file changed between two reports")
	}
	s.Now = ingesttest.NewYork(t, "2026-09-11 12:00:00") // the 12th is a Saturday
	if get() == first {
		t.Error("the file did not change with a report")
	}
	if again := strings.Trim(s.Ask(t, requests[0]).Body.String(), `"`); again != name {
		t.Errorf("the question is now called %s, was %s", again, name)
	}
}

func TestSandboxRefusesAsQuickStatsDoes(t *testing.T) {
	t.Parallel()
	s := newFixture(t, 1, "2026-05-14 12:00:00")
	const api = "https://quickstats.nass.usda.gov/api/api_GET/?"
	for _, tc := range []struct {
		fact, url string
		status    int
		text      string
	}{
		{"no key", api + "state_name=IOWA", 401, "unauthorized"},
		{"a column that is none", api + "key=" + goodKey + "&state=IOWA", 400, "bad request - invalid query"},
		{"no row", api + "key=" + goodKey + "&state_name=OHIO", 400, "bad request - invalid query"},
		{"a format that it does not speak", api + "key=" + goodKey + "&state_name=IOWA&format=XML", 400, "bad request"},
		{"a question that nobody put", nass.SpreadsheetURL("7C4B3D9F-15F6-3EF3-A2C0-7095218FF6A1"), 404, ""},
		{"the newest year alone", api + "key=" + goodKey + "&year__GT=2024&year__NE=2026&state_name=IOWA&statisticcat_desc=YIELD", 200, `"year":"2025"`},
	} {
		answer := s.Ask(t, ingest.Request{URL: tc.url})
		if answer.Code != tc.status || !strings.Contains(answer.Body.String(), tc.text) {
			t.Errorf("%s: status %d, %.200s", tc.fact, answer.Code, answer.Body)
		}
	}
}

func TestSandboxIsSafeForManyAtOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t, 3, "2026-05-14 12:00:00")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			key := ""
			if i%2 == 0 {
				key = goodKey
			}
			collect(t, s, nass.Source(key), series.Window{})
		})
	}
	wg.Wait()
}
