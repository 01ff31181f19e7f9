package signals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"tidemark/internal/series"
)

// daily yields points on every day from one on, each known two days later.
func daily(first string, n int, value func(i int) float64) []series.Point {
	out := make([]series.Point, n)
	for i := range out {
		day := date(first).AddDate(0, 0, i)
		out[i] = series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(day.AddDate(0, 0, 2)), Value: value(i)}
	}
	return out
}

func TestHormuzIsTheMeanOfSevenKnownDays(t *testing.T) {
	t.Parallel()
	days := daily("2026-03-01", 16, func(i int) float64 { return []float64{9, 4, 0, 7, 3, 0, 5, 12}[i%8] })
	days[5].VintageAt = series.InstantOf(date("2026-03-20")) // the sixth was counted again
	days = append(days[:9], days[10:]...)                    // the tenth is missing, which is not zero
	track := computeHormuz(series.Set{hormuzShips: days}, date("2026-04-01"))
	if len(track) != 3 { // the 7th, 8th and 9th: later weeks hold the tenth, the 17th is beyond the data
		t.Fatalf("%d means, want 3", len(track))
	}
	wantNear(t, "mean of the first seven days", track[0].Value, (9+4+0+7+3+0+5)/7.0)
	wantNear(t, "mean of the 2nd to the 8th", track[1].Value, (4+0+7+3+0+5+12)/7.0)
	for i, day := range []string{"2026-03-07", "2026-03-08", "2026-03-09"} {
		if e := track[i]; !e.ObservedAt.Time().Equal(date(day)) || !e.KnownAt.Time().Equal(date("2026-03-20")) {
			t.Errorf("mean of %v known at %v, want %s known with the last of its days", e.ObservedAt, e.KnownAt, day)
		}
	}
}

func TestHormuzBaselineIsOfTheReferenceYearsBeforeThePoint(t *testing.T) {
	t.Parallel()
	// As many ships a day as the year has units: 9 in 2019, 10 in 2020 and so on. A closure from March 2026.
	days := daily("2019-01-01", 8*365, func(i int) float64 {
		day := date("2019-01-01").AddDate(0, 0, i)
		if !day.Before(date("2026-03-01")) {
			return 0
		}
		return float64(day.Year() - 2010)
	})
	at := map[string]Estimate{}
	for _, e := range computeHormuz(series.Set{hormuzShips: days}, date("2027-01-01")) {
		at[e.ObservedAt.Time().Format(time.DateOnly)] = e
	}
	for _, c := range []struct {
		day      string
		n        int
		baseline float64
	}{
		{"2019-06-30", 0, math.NaN()},
		{"2021-06-30", 0, math.NaN()}, // two years
		{"2022-06-30", 3 * 31, 10},    // 9, 10, 11
		{"2024-06-30", 5 * 31, 11},    // 9 to 13
		{"2025-06-30", 6 * 31, 11.5},  // 9 to 14
		{"2026-06-30", 6 * 31, 11.5},  // neither 2025 nor the closure
		{"2024-02-29", 5 * 31, 11},    // the 28th where there is no 29th
	} {
		e := at[c.day]
		if e.N != c.n {
			t.Errorf("%s: %d means, want %d", c.day, e.N, c.n)
		}
		wantNear(t, c.day+" baseline", e.Baseline, c.baseline)
	}
	if e := at["2026-06-30"]; e.Value != 0 || !(e.Z() < -5) || e.DeltaPct() != -100 {
		t.Errorf("the closure stands at %+v, z %v, %v %%", e, e.Z(), e.DeltaPct())
	}
	// The windows of 15 January reach from 31 December to the 30th. The mean of 31 December belongs to the year before, and the first six
	// means of January hold 6 to 1 days of it: together four whole units less. In 2019 the means begin on the 7th.
	if e := at["2023-01-15"]; e.N != 24+3*31 {
		t.Errorf("15 January: %d means, want 117", e.N)
	}
	wantNear(t, "baseline of 15 January", at["2023-01-15"].Baseline, (24*9+31*(10+11+12)-3*4)/117.0)
}

func TestHormuzYearsCountFromSixteenMeansOn(t *testing.T) {
	t.Parallel()
	for means, want := range map[int]int{15: 0, 16: 2*31 + 16} {
		var points []series.Point
		for year := 2019; year <= 2021; year++ {
			n := 31
			if year == 2020 {
				n = means
			}
			points = append(points, daily(fmt.Sprintf("%d-06-15", year), n, always(5))...)
		}
		points = append(points, daily("2022-06-30", 1, always(5))...)
		season := hormuzSeason(datedPoints(points), new(scratch))
		if got := season.of(len(points) - 1).n; got != want {
			t.Errorf("two full years and one of %d means make a baseline of %d, want %d", means, got, want)
		}
	}
}

func TestHormuzSeasonEqualsADirectComputation(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 30))
	points := walk(rng, date("2018-11-01"), date("2027-03-31"), 90, 3, func(time.Time) bool { return true })
	at := map[int]float64{}
	for _, p := range points {
		at[p.ObservedAt.Days()] = p.Value
	}
	some, none := 0, 0
	season := hormuzSeason(datedPoints(points), new(scratch))
	for i, p := range points {
		day, got := p.ObservedAt, season.of(i)
		var window []float64
		matched := 0
		for year := 2019; year <= 2024 && year < day.Time().Year(); year++ {
			var found []float64
			centre := dayOf(earlier(day.Time(), day.Time().Year()-year))
			for d := centre - 15; d <= centre+15; d++ {
				if v, ok := at[d]; ok {
					found = append(found, v)
				}
			}
			if len(found) >= 16 {
				matched++
				window = append(window, found...)
			}
		}
		if matched < 3 {
			none++
			if got.n != 0 {
				t.Fatalf("%v: a baseline from %d years", day, matched)
			}
			continue
		}
		some++
		mean, sd := stat.MeanStdDev(window, nil)
		if got.n != len(window) || !near(got.mean(), mean, 0) || !near(got.sd(), sd, 0) {
			t.Fatalf("%v: %d, %v, %v, want %d, %v, %v", day, got.n, got.mean(), got.sd(), len(window), mean, sd)
		}
	}
	if some < 1000 || none < 500 {
		t.Fatalf("%d baselines and %d without one: the series does not test what it should", some, none)
	}
}

func TestHormuzComponentsAreTankersAndTheYearBefore(t *testing.T) {
	t.Parallel()
	set := series.Set{
		hormuzShips:   daily("2024-01-01", 500, func(i int) float64 { return float64(100 + i) }),
		hormuzTankers: daily("2024-01-01", 498, func(int) float64 { return 40 }), // two days behind
	}
	parts := map[string]Component{}
	for _, c := range hormuzComponents(set, date("2025-06-01")) {
		parts[c.Name] = c
	}
	newest := date("2024-01-01").AddDate(0, 0, 499)
	if c := parts["tankers"]; c.Value != 40 || !c.ObservedAt.Time().Equal(newest.AddDate(0, 0, -2)) || !math.IsNaN(c.Baseline) {
		t.Errorf("tankers %+v", c)
	}
	year := parts["previous_364_days"]
	if year.Value != 596 || year.Baseline != 596-364 || !year.ObservedAt.Time().Equal(newest) || !math.IsNaN(year.Z()) {
		t.Errorf("against the year before %+v", year)
	}
	wantNear(t, "difference from the year before", year.DeltaPct(), 100*(596.0/232-1))

	// A year of data has no mean 364 days before.
	set[hormuzShips] = set[hormuzShips][:365]
	delete(set, hormuzTankers)
	if parts := hormuzComponents(set, date("2025-06-01")); parts != nil {
		t.Errorf("components %+v, want none", parts)
	}
}

func TestHormuzCountsTheDaysOfBadCoverage(t *testing.T) {
	t.Parallel()
	tankers := []float64{5, 3, 0, 4, 0, 2, 9, 6}
	cargo := []float64{0, 100, 0, 0, 70, 0, 800, 500}
	set := series.Set{
		hormuzShips:   daily("2026-03-01", 8, always(10)),
		hormuzTankers: daily("2026-03-01", 8, func(i int) float64 { return tankers[i] }),
		hormuzCargo:   daily("2026-03-01", 8, func(i int) float64 { return cargo[i] }),
	}
	find := func() *Component {
		for _, c := range hormuzComponents(set, date("2026-03-12")) {
			if c.Name == "days_of_bad_coverage" {
				return &c
			}
		}
		return nil
	}
	// Of the 2nd to the 8th: on the 4th and the 6th tankers passed without cargo; on the 3rd none passed; the 1st is too old.
	if c := find(); c == nil || c.Value != 2 || c.Unit != "days" || !c.ObservedAt.Time().Equal(date("2026-03-08")) {
		t.Errorf("%+v, want two days", c)
	}
	set[hormuzCargo] = set[hormuzCargo][:7] // the newest day's cargo is not known
	if c := find(); c != nil {
		t.Errorf("%+v, want nothing: six days are not seven", c)
	}
}
