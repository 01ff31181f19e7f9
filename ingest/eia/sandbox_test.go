package eia_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/eia"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/world/synth"
	"tidemark/internal/series"
)

// goodKey has the form of EIA's keys.
var goodKey = strings.Repeat("a1", 20)

func newFixture(seed uint64, now time.Time) *ingesttest.Upstream {
	return ingesttest.NewUpstream(now, func(mux *http.ServeMux, now func() time.Time) { eia.Sandbox(mux, synth.World{Seed: seed, Now: now}) })
}

func TestSandboxShowsEveryValueFromItsReleaseOn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		fact   string
		now    string
		source ingest.Source
		newest string
	}{
		{"a second before the spot release", "2026-05-13 17:59:59", eia.Spot(""), "2026-05-04"},
		{"at the spot release, to Monday", "2026-05-13 18:00:00", eia.Spot(""), "2026-05-11"},
		{"six days later still that Monday", "2026-05-19 23:00:00", eia.Spot(""), "2026-05-11"},
		{"a second before the report", "2026-05-13 10:29:59", eia.Weekly(""), "2026-05-01"},
		{"at the report, to Friday", "2026-05-13 10:30:00", eia.Weekly(""), "2026-05-08"},
		{"in winter time too", "2026-01-14 10:30:00", eia.Weekly(""), "2026-01-09"},
	} {
		s := newFixture(1, ingesttest.NewYork(t, tc.now))
		for id, list := range s.Collect(t, tc.source, series.Window{}) {
			if got := list[len(list)-1].ObservedAt.Format(time.DateOnly); got != tc.newest {
				t.Errorf("%s: the newest value of %s is of %s, want %s", tc.fact, id, got, tc.newest)
			}
			for _, v := range list {
				if at := tc.source.Published(id, v.ObservedAt); at.After(s.Now) {
					t.Errorf("%s: %s of %s is shown before its release at %s", tc.fact, id, v.ObservedAt, at)
				}
			}
		}
	}
}

func TestSandboxHistoryBeginsWhereItSays(t *testing.T) {
	t.Parallel()
	s := newFixture(1, ingesttest.NewYork(t, "2027-03-01 12:00:00"))
	first := map[series.ID]string{}
	for _, src := range []ingest.Source{eia.Spot(""), eia.Weekly("")} {
		for id, list := range s.Collect(t, src, series.Window{}) {
			first[id] = list[0].ObservedAt.Format(time.DateOnly)
		}
	}
	want := map[series.ID]string{
		"eia.RWTC": "2006-06-14", "eia.EER_EPMRU_PF4_Y35NY_DPG": "2006-06-14", "eia.EER_EPD2DXL0_PF4_Y35NY_DPG": "2006-06-14",
		"eia.WCESTUS1": "1990-01-05", "eia.WGTSTUS1": "1990-01-05", "eia.WDISTUS1": "1990-01-05", "eia.WPULEUS3": "1990-11-02",
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSandboxSaysTheSameInBothForms(t *testing.T) {
	t.Parallel()
	s := newFixture(4, ingesttest.NewYork(t, "2027-03-01 12:00:00"))
	for _, form := range []func(string) ingest.Source{eia.Spot, eia.Weekly} {
		pages, rows := s.Collect(t, form(""), series.Window{}), s.Collect(t, form(goodKey), series.Window{})
		if diff := cmp.Diff(pages, rows); diff != "" {
			t.Errorf("%s (-pages +api):\n%s", form("").ID, diff)
		}
		if id := form("").ID; id == "eia-petroleum-spot" && len(rows["eia.RWTC"]) <= 5000 {
			t.Errorf("%d rows: the case needs more than one page", len(rows["eia.RWTC"]))
		}
	}
	window := series.Window{From: day("2026-03-01"), To: day("2026-03-31")}
	got := s.Collect(t, eia.Weekly(goodKey), window)["eia.WCESTUS1"]
	if first, last := got[0].ObservedAt, got[len(got)-1].ObservedAt; first.After(window.From) || !last.Equal(day("2026-03-27")) {
		t.Errorf("a window of March 2026 yields %s to %s", first, last)
	}
}

func TestSandboxIsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	const page = "https://www.eia.gov/dnav/pet/hist/LeafHandler.ashx?n=PET&s=RWTC&f=D"
	walked := newFixture(9, ingesttest.NewYork(t, "2007-01-01 12:00:00"))
	for walked.Now.Year() < 2012 {
		walked.Get(t, page)
		walked.Now = walked.Now.AddDate(0, 0, 5)
	}
	walked.Now = ingesttest.NewYork(t, "2012-01-02 12:00:00")
	straight := newFixture(9, walked.Now)
	if !bytes.Equal(walked.Get(t, page).Body.Bytes(), straight.Get(t, page).Body.Bytes()) {
		t.Error("a sandbox that was asked before shows another page than one that was not")
	}
	if bytes.Equal(newFixture(10, walked.Now).Get(t, page).Body.Bytes(), straight.Get(t, page).Body.Bytes()) {
		t.Error("another seed shows the same page")
	}
	before := straight.Get(t, page).Body.String()
	straight.Now = ingesttest.NewYork(t, "2012-01-04 17:59:59")
	if straight.Get(t, page).Body.String() != before {
		t.Error("the page changed between two releases")
	}
	straight.Now = straight.Now.Add(time.Second)
	if straight.Get(t, page).Body.String() == before {
		t.Error("the page did not change at a release")
	}
	if !strings.Contains(before, "Synthetic") {
		t.Error("the page does not say that its figures are synthetic")
	}
}

// The days of 2023 to 2025 on which WTI has no price in EIA's own history of December 2025. Two days are left out: 2025-01-09, a day of
// mourning, and 2023-11-10, when Veterans Day fell on a Saturday.
var blankDays = []string{
	"2023-01-02", "2023-01-16", "2023-02-20", "2023-04-07", "2023-05-29", "2023-06-19", "2023-07-04", "2023-09-04", "2023-10-09",
	"2023-11-10", "2023-11-23", "2023-12-25",
	"2024-01-01", "2024-01-15", "2024-02-19", "2024-03-29", "2024-05-27", "2024-06-19", "2024-07-04", "2024-09-02", "2024-10-14",
	"2024-11-11", "2024-11-28", "2024-12-25",
	"2025-01-01", "2025-01-20", "2025-02-17", "2025-04-18", "2025-05-26", "2025-06-19", "2025-07-04", "2025-09-01", "2025-10-13",
	"2025-11-11", "2025-11-27",
}

func TestSandboxLeavesHolidaysBlank(t *testing.T) {
	t.Parallel()
	s := newFixture(2, ingesttest.NewYork(t, "2025-12-10 19:00:00"))
	has := map[string]bool{}
	for _, v := range s.Collect(t, eia.Spot(""), series.Window{})["eia.RWTC"] {
		has[v.ObservedAt.Format(time.DateOnly)] = true
	}
	var blank []string
	for d := day("2023-01-01"); d.Before(day("2025-12-08")); d = d.AddDate(0, 0, 1) {
		if d.Weekday() != time.Saturday && d.Weekday() != time.Sunday && !has[d.Format(time.DateOnly)] {
			blank = append(blank, d.Format(time.DateOnly))
		}
	}
	if diff := cmp.Diff(blankDays, blank); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The cadence that was measured on the real pages. Rows are revised rarely, and the row of a holiday may appear with the price of the day
// before and be withdrawn a week later. Weekly figures do not change.
func TestSandboxRevisesAndWithdrawsRarely(t *testing.T) {
	t.Parallel()
	values, revised, withdrawn := 0, 0, 0
	for seed := range uint64(2) {
		s := newFixture(seed, ingesttest.NewYork(t, "2006-08-02 20:00:00"))
		known := map[series.ID]map[time.Time]float64{}
		for ; s.Now.Year() < 2009; s.Now = s.Now.AddDate(0, 0, 7) {
			shown := s.Collect(t, eia.Spot(goodKey), series.Window{}) // the same figures as on the pages, read faster
			for id, list := range shown {
				now := map[time.Time]float64{}
				var previous float64
				for _, v := range list {
					now[v.ObservedAt] = v.Value
					if old, ok := known[id][v.ObservedAt]; ok && old != v.Value {
						revised++
						if math.Abs(v.Value/old-1) > 0.05 {
							t.Errorf("%s of %s was revised from %v to %v", id, v.ObservedAt.Format(time.DateOnly), old, v.Value)
						}
					}
					if v.ObservedAt.Format(time.DateOnly) == "2008-07-04" && v.Value != previous {
						t.Errorf("the price of a holiday, %v, is not that of the day before, %v", v.Value, previous)
					}
					previous = v.Value
				}
				for at := range known[id] {
					if _, ok := now[at]; !ok {
						withdrawn++
						if age := s.Now.Sub(at); age > 17*24*time.Hour {
							t.Errorf("%s of %s was withdrawn after %s", id, at.Format(time.DateOnly), age)
						}
					}
				}
				known[id], values = now, values+len(now)-len(known[id])
			}
		}
	}
	if revised == 0 || float64(revised)/float64(values) > 0.002 {
		t.Errorf("%d of %d values were revised", revised, values)
	}
	if withdrawn == 0 || withdrawn > 2*3*24/2 { // two seeds, three series, 24 holidays: fewer than half
		t.Errorf("%d rows were withdrawn", withdrawn)
	}

	s := newFixture(1, ingesttest.NewYork(t, "2014-01-01 20:00:00"))
	early := s.Collect(t, eia.Weekly(""), series.Window{})
	s.Now = ingesttest.NewYork(t, "2018-01-03 20:00:00")
	for id, list := range s.Collect(t, eia.Weekly(""), series.Window{}) {
		if diff := cmp.Diff(early[id], list[:len(early[id])]); diff != "" {
			t.Errorf("%s was revised (-2014 +2018):\n%s", id, diff)
		}
	}
}

func TestSandboxFiguresArePlausible(t *testing.T) {
	t.Parallel()
	bounds := map[series.ID][2]float64{
		"eia.RWTC": {20, 180}, "eia.EER_EPMRU_PF4_Y35NY_DPG": {0.6, 5}, "eia.EER_EPD2DXL0_PF4_Y35NY_DPG": {0.7, 5.5},
		"eia.WCESTUS1": {280_000, 580_000}, "eia.WGTSTUS1": {190_000, 270_000},
		"eia.WDISTUS1": {85_000, 180_000}, "eia.WPULEUS3": {70, 100},
	}
	for seed := range uint64(4) {
		s := newFixture(seed, ingesttest.NewYork(t, "2026-12-30 19:00:00"))
		all := s.Collect(t, eia.Weekly(goodKey), series.Window{})
		maps.Copy(all, s.Collect(t, eia.Spot(goodKey), series.Window{}))
		price := map[series.ID]map[time.Time]float64{}
		for id, list := range all {
			price[id] = map[time.Time]float64{}
			for _, v := range list {
				price[id][v.ObservedAt] = v.Value
				if b := bounds[id]; v.Value < b[0] || v.Value > b[1] {
					t.Errorf("seed %d: %s of %s is %v, want %v to %v", seed, id, v.ObservedAt.Format(time.DateOnly), v.Value, b[0], b[1])
					break
				}
			}
		}
		usual, days := 0, 0
		var crude, gasoline []float64
		for at, wti := range price["eia.RWTC"] {
			g, okG := price["eia.EER_EPMRU_PF4_Y35NY_DPG"][at]
			d, okD := price["eia.EER_EPD2DXL0_PF4_Y35NY_DPG"][at]
			if !okG || !okD {
				continue
			}
			days++
			spread := (2*42*g + 42*d - 3*wti) / 3
			if spread < 0 || spread > 60 {
				t.Errorf("seed %d: a crack spread of %.2f on %s", seed, spread, at.Format(time.DateOnly))
			}
			if spread >= 10 && spread <= 40 {
				usual++
			}
			crude, gasoline = append(crude, wti), append(gasoline, g)
		}
		if float64(usual) < 0.85*float64(days) {
			t.Errorf("seed %d: %d of %d crack spreads lie between 10 and 40 dollars", seed, usual, days)
		}
		if c := correlation(crude, gasoline); c < 0.85 {
			t.Errorf("seed %d: crude and gasoline correlate by %.2f", seed, c)
		}
	}
}

func TestSandboxStocksHaveTheirSeason(t *testing.T) {
	t.Parallel()
	s := newFixture(3, ingesttest.NewYork(t, "2026-12-30 19:00:00"))
	all := s.Collect(t, eia.Weekly(""), series.Window{})
	mean := func(id series.ID, month time.Month) float64 {
		sum, n := 0.0, 0
		for _, v := range all[id] {
			if v.ObservedAt.Month() == month {
				sum, n = sum+v.Value, n+1
			}
		}
		return sum / float64(n)
	}
	for _, tc := range []struct {
		fact      string
		id        series.ID
		high, low time.Month
	}{
		{"crude stocks are higher in spring than in autumn", "eia.WCESTUS1", time.April, time.October},
		{"gasoline stocks are higher in winter than at the end of the driving season", "eia.WGTSTUS1", time.February, time.August},
		{"distillate stocks fall over the heating season", "eia.WDISTUS1", time.January, time.May},
		{"refineries run harder in summer than at the autumn maintenance", "eia.WPULEUS3", time.July, time.October},
	} {
		if high, low := mean(tc.id, tc.high), mean(tc.id, tc.low); high <= low {
			t.Errorf("%s: %s %.1f, %s %.1f", tc.fact, tc.high, high, tc.low, low)
		}
	}
}

func TestSandboxAPISpeaksAsDocumented(t *testing.T) {
	t.Parallel()
	s := newFixture(1, ingesttest.NewYork(t, "2027-03-01 12:00:00"))
	type reply struct {
		Error    json.RawMessage
		Code     int
		Response struct {
			Total    string
			Warnings []struct{ Warning string }
			Data     []struct {
				Period, Series string
				Value          *string
			}
		}
	}
	ask := func(route string, params ...string) (int, reply) {
		t.Helper()
		q := url.Values{}
		for i := 0; i < len(params); i += 2 {
			q.Set(params[i], params[i+1])
		}
		answer := s.Get(t, "https://api.eia.gov/v2/"+route+"/data/?"+q.Encode())
		var r reply
		if err := json.Unmarshal(answer.Body.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", answer.Body, err)
		}
		return answer.Code, r
	}
	const spot = "petroleum/pri/spt"
	for _, tc := range []struct {
		fact   string
		route  string
		params []string
		status int
		error  string
	}{
		{"no key", spot, nil, http.StatusForbidden, `"API_KEY_MISSING"`},
		{"a key of another form", spot, []string{"api_key", "nonsense"}, http.StatusForbidden, `"API_KEY_INVALID"`},
		{"an unknown facet", spot, []string{"api_key", goodKey, "facets[None][]", "x"}, http.StatusBadRequest, "Invalid facet 'None'"},
		{"another frequency", spot, []string{"api_key", goodKey, "frequency", "weekly"}, http.StatusBadRequest, "Invalid frequency"},
		{"an unknown route", "petroleum/pri/none", []string{"api_key", goodKey}, http.StatusNotFound, "Not found."},
	} {
		status, r := ask(tc.route, tc.params...)
		if status != tc.status || !strings.Contains(string(r.Error), tc.error) {
			t.Errorf("%s: status %d, error %s, want %d and %s", tc.fact, status, r.Error, tc.status, tc.error)
		}
	}

	_, unknown := ask(spot, "api_key", goodKey, "facets[series][]", "PET.RWTC.D")
	if unknown.Response.Total != "0" || unknown.Response.Data == nil || len(unknown.Response.Data) != 0 {
		t.Errorf("an unknown series is an error, want zero rows: %+v", unknown)
	}
	_, bare := ask(spot, "api_key", goodKey, "facets[series][]", "RWTC", "length", "10")
	if bare.Response.Data[0].Value != nil {
		t.Error("values without data[]=value")
	}
	if bare.Response.Data[0].Period < bare.Response.Data[9].Period {
		t.Error("without a sort the oldest come first")
	}
	_, long := ask(spot, "api_key", goodKey, "facets[series][]", "RWTC", "length", "6000", "data[0]", "value")
	if len(long.Response.Data) != 5000 || len(long.Response.Warnings) != 2 ||
		long.Response.Warnings[0].Warning != "parameter out of range: length" || long.Response.Warnings[1].Warning != "incomplete return" {
		t.Errorf("a length of 6000: %d rows, warnings %v", len(long.Response.Data), long.Response.Warnings)
	}
}

func TestSandboxAnswersOtherPagesWith404(t *testing.T) {
	t.Parallel()
	s := newFixture(1, ingesttest.NewYork(t, "2027-03-01 12:00:00"))
	for _, query := range []string{"n=PET&s=RBRTE&f=D", "n=PET&s=RWTC&f=M", "n=NG&s=RWTC&f=D", ""} {
		if answer := s.Get(t, "https://www.eia.gov/dnav/pet/hist/LeafHandler.ashx?"+query); answer.Code != http.StatusNotFound {
			t.Errorf("%q: status %d", query, answer.Code)
		}
	}
	if answer := s.Get(t, "https://www.eia.gov/dnav/pet/hist/LeafHandler.ashx?n=pet&s=rwtc&f=d"); answer.Code != http.StatusOK {
		t.Errorf("lower case: status %d", answer.Code)
	}
	s.Now = ingesttest.NewYork(t, "2006-06-14 12:00:00")
	if answer := s.Get(t, "https://www.eia.gov/dnav/pet/hist/LeafHandler.ashx?n=PET&s=RWTC&f=D"); answer.Code != http.StatusNotFound {
		t.Errorf("before the first release: status %d", answer.Code)
	}
}

func TestSandboxMayBeAskedByManyAtOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(6, ingesttest.NewYork(t, "2020-01-08 19:00:00"))
	var wg sync.WaitGroup
	bodies := make([]string, 16)
	for i := range bodies {
		wg.Go(func() {
			bodies[i] = s.Get(t, "https://www.eia.gov/dnav/pet/hist/LeafHandler.ashx?n=PET&s=RWTC&f=D").Body.String()
		})
	}
	wg.Wait()
	if slices.ContainsFunc(bodies, func(b string) bool { return b != bodies[0] || len(b) < 1000 }) {
		t.Error("the answers differ")
	}
}

func correlation(a, b []float64) float64 {
	n := float64(len(a))
	var sa, sb, saa, sbb, sab float64
	for i := range a {
		sa, sb = sa+a[i], sb+b[i]
		saa, sbb, sab = saa+a[i]*a[i], sbb+b[i]*b[i], sab+a[i]*b[i]
	}
	return (sab - sa*sb/n) / math.Sqrt((saa-sa*sa/n)*(sbb-sb*sb/n))
}

// BenchmarkSandboxRelease is a page at a release that was not asked for before.
func BenchmarkSandboxRelease(b *testing.B) {
	s := newFixture(1, ingesttest.NewYork(b, "2026-01-07 19:00:00"))
	for b.Loop() {
		s.Now = s.Now.AddDate(0, 0, 7)
		if s.Now.Year() > 2027 {
			s.Now = ingesttest.NewYork(b, "2026-01-07 19:00:00")
		}
		s.Get(b, "https://www.eia.gov/dnav/pet/hist/LeafHandler.ashx?n=PET&s=RWTC&f=D")
	}
}

// BenchmarkParsePage reads twenty years of daily prices.
func BenchmarkParsePage(b *testing.B) {
	s := newFixture(1, ingesttest.NewYork(b, "2026-06-17 19:00:00"))
	src := eia.Spot("")
	requests, err := src.Request(series.Window{})
	if err != nil {
		b.Fatal(err)
	}
	answer := s.Get(b, requests[0].URL)
	b.SetBytes(int64(answer.Body.Len()))
	for b.Loop() {
		if _, err := src.Parse(ingest.Response{Request: requests[0], Header: answer.Header(), Body: answer.Body.Bytes()}); err != nil {
			b.Fatal(err)
		}
	}
}
