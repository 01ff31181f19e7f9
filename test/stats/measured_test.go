package stats

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"tidemark/ingest/worldbank"
	"tidemark/internal/series"
	"tidemark/signals"
)

// The briefs state figures that were measured on recorded data. Here they are measured again.

func TestTheMeasuredFiguresOfTheLNGBrief(t *testing.T) {
	t.Parallel()
	track := definition(t, "lng-arbitrage").Compute(pinkSheet(t, "2026-03-03"), date("2026-03-05"))
	if first := track[0].ObservedAt; !first.Time().Equal(date("2015-04-01")) || len(track) != 131 {
		t.Errorf("%d months from %v, want 131 from April 2015", len(track), first)
	}
	low, high, far := track[0], track[0], 0
	for i, e := range track {
		if e.Value < low.Value {
			low = e
		}
		if e.Value > high.Value {
			high = e
		}
		if i > 0 && math.Abs(e.Value-track[i-1].Value) > 0.75 {
			far++
		}
	}
	printed(t, "lowest margin", low.Value, "-4.74")
	printed(t, "highest margin", high.Value, "55.64")
	if !low.ObservedAt.Time().Equal(date("2020-05-01")) || !high.ObservedAt.Time().Equal(date("2022-08-01")) {
		t.Errorf("extremes in %v and %v, want May 2020 and August 2022", low.ObservedAt, high.ObservedAt)
	}
	printed(t, "share of months with a move beyond the interval", 100*float64(far)/130, "47")
	var window []float64
	for _, e := range track[len(track)-61 : len(track)-1] {
		window = append(window, e.Value)
	}
	mean, sd := stat.MeanStdDev(window, nil)
	printed(t, "mean of the 60 months", mean, "9.93")
	printed(t, "standard deviation of the 60 months", sd, "11.96")
}

func TestJapansNewestMonthIsTheOnlyPriceThatWasRevised(t *testing.T) {
	t.Parallel()
	vintages := []series.Set{pinkSheet(t, "2024-12-03"), pinkSheet(t, "2025-12-02"), pinkSheet(t, "2026-03-03")}
	for v, later := range vintages[1:] {
		for id, points := range vintages[v] {
			for i, p := range points {
				again, ok := series.At(later[id], p.ObservedAt)
				if !ok || !again.ObservedAt.Time().Equal(p.ObservedAt.Time()) {
					t.Fatalf("%s of %v was withdrawn", id, p.ObservedAt)
				}
				newest := id == "worldbank.LNG_JP" && i == len(points)-1
				if d := math.Abs(again.Value - p.Value); newest != (d > 0.006) || d > 1.97 {
					t.Errorf("%s of %v was changed by %v", id, p.ObservedAt, d)
				}
			}
		}
	}
}

// The source says which differences are none: of the recorded workbooks, those of copies with other digits.
func TestACopyOfThePinkSheetWithTwoDecimalsHasNoRevisions(t *testing.T) {
	t.Parallel()
	infos := map[series.ID]series.Info{}
	for _, i := range worldbank.Source().Series {
		infos[i.ID] = i
	}
	revisions, other := 0, 0
	for id, points := range pinkSheet(t, "2026-03-03") {
		for _, p := range points {
			short := math.Round(100*p.Value) / 100
			if short != p.Value {
				other++
			}
			if !infos[id].Same(p.Value, short) {
				revisions++
			}
		}
	}
	if revisions != 0 || other < 100 {
		t.Errorf("a copy of the workbook with two decimals has %d revisions; %d of its prices have more decimals", revisions, other)
	}
	if i := infos["worldbank.LNG_JP"]; i.Same(12.1, 12.11) || i.Same(12.1, 12) {
		t.Error("a cent is a revision")
	}
}

func TestTheMeasuredFiguresOfTheHormuzBrief(t *testing.T) {
	t.Parallel()
	d := definition(t, "hormuz-transit")
	set := portWatch(t)
	july := d.Compute(set, date("2026-07-08"))
	at := map[time.Time]signals.Estimate{}
	for _, e := range july {
		at[e.ObservedAt.Time()] = e
	}
	april := portWatchPoll(t, "2026-04-21T13-36-09Z")
	var moves, sundays []float64
	old := [2]int{}
	for _, e := range d.Compute(series.Set{"portwatch.chokepoint6.n_total": april}, date("2026-04-22")) {
		anew := at[e.ObservedAt.Time()].Value
		x := func(mean float64) float64 { return 2 * math.Sqrt(7*mean+0.375) }
		moves = append(moves, x(anew)-x(e.Value))
		hit := heldBefore(e.Value, anew)
		old[0] += hit
		if e.ObservedAt.Time().Weekday() == time.Sunday {
			sundays = append(sundays, x(anew)-x(e.Value))
			old[1] += hit
		}
	}
	if len(moves) != 359 || len(sundays) != 52 {
		t.Errorf("%d means and %d weeks, want 359 and 52", len(moves), len(sundays))
	}
	printed(t, "share of the means in the symmetric interval", 100*float64(old[0])/359, "93")
	printed(t, "share of the weeks in the symmetric interval", 100*float64(old[1])/52, "88")
	slices.Sort(sundays)
	printed(t, "5 % quantile", between(sundays, 0.05), "-6.9")
	printed(t, "95 % quantile", between(sundays, 0.95), "3.4")
	// The signal learns these two numbers from the same re-estimate.
	known := maps.Clone(set)
	for _, p := range april {
		if now, ok := series.At(set["portwatch.chokepoint6.n_total"], p.ObservedAt); ok && now.Value != p.Value {
			id := series.Before("portwatch.chokepoint6.n_total")
			known[id] = append(known[id], series.Point{ObservedAt: p.ObservedAt, VintageAt: series.InstantOf(date("2026-07-06")), Value: p.Value})
		}
	}
	learned := d.Compute(known, date("2026-07-08"))
	last := learned[len(learned)-1]
	for _, end := range []struct{ bound, by float64 }{{last.Lo, between(sundays, 0.05)}, {last.Hi, between(sundays, 0.95)}} {
		root := (2*math.Sqrt(7*last.Value+0.375) + end.by) / 2
		if want := (root*root - 0.375) / 7; math.Abs(end.bound-want) > 1e-9 {
			t.Errorf("the bound is %v, want %v", end.bound, want)
		}
	}
	// Two Poisson counts of a week differ by about the root of their sum.
	var differences []float64
	for _, e := range july {
		if before, ok := at[e.ObservedAt.AddDate(0, 0, -7).Time()]; ok && e.ObservedAt.Time().Before(date("2026-01-01")) {
			differences = append(differences, (e.Value-before.Value)/math.Sqrt((e.Value+before.Value)/7))
		}
	}
	printed(t, "difference of two weeks in its Poisson deviation", stat.StdDev(differences, nil), "2.4")
	// Every seventh day's component, so that each day is counted once.
	blind := 0
	for day := date("2019-01-13"); !day.After(date("2026-06-28")); day = day.AddDate(0, 0, 7) {
		for _, c := range d.Components(upTo(recent(set, day), day), day.AddDate(0, 0, 2)) {
			if c.Name != "days_of_bad_coverage" || c.Value == 0 {
				continue
			}
			blind += int(c.Value)
			if day.Before(date("2026-03-05")) {
				t.Errorf("%v days of bad coverage up to %v", c.Value, day)
			}
		}
	}
	printed(t, "days of bad coverage", float64(blind), "12")
	first := slices.IndexFunc(july, func(e signals.Estimate) bool { return !math.IsNaN(e.Baseline) })
	if day := july[first].ObservedAt; day.Time().Year() != 2022 || day.Time().Month() != time.January {
		t.Errorf("the first baseline is of %v, want January 2022", day)
	}
}

// heldBefore returns 1 if a value is inside Hormuz's former interval, from before it learned from re-estimates, and 0 if not. The interval
// was the score interval of a Poisson count, widened by a factor of 0.83 on either side.
func heldBefore(mean, anew float64) int {
	const z = 1.645
	k := 7 * mean
	middle, half := k+z*z/2, z*math.Sqrt(k+z*z/4)
	if (middle-half)/7*0.83 <= anew && anew <= (middle+half)/7/0.83 {
		return 1
	}
	return 0
}

// between is the quantile p of ascending numbers by linear interpolation at rank p*(n+1).
func between(sorted []float64, p float64) float64 {
	rank := p * float64(len(sorted)+1)
	i := int(rank)
	return sorted[i-1] + (rank-float64(i))*(sorted[i]-sorted[i-1])
}

// recent returns the points of a set in the month up to a day.
func recent(set series.Set, day time.Time) series.Set {
	out := series.Set{}
	for id, points := range set {
		for _, p := range points {
			if p.ObservedAt.Time().After(day.AddDate(0, -1, 0)) {
				out[id] = append(out[id], p)
			}
		}
	}
	return out
}

func TestTheMeasuredFiguresOfTheCornBrief(t *testing.T) {
	t.Parallel()
	d := definition(t, "iowa-corn-yield")
	var squares, distance, bias, n float64
	for _, e := range d.Compute(iowaCorn(t), date("2012-03-01")) {
		if e.ObservedAt.Time().Month() == time.January && e.ObservedAt.Time().Year() > 1986 { // the finals of 1986 to 2011
			miss := e.Value - e.Baseline
			squares, distance, bias, n = squares+miss*miss, distance+math.Abs(miss), bias+miss, n+1
		}
	}
	printed(t, "years", n, "26")
	printed(t, "error of Iowa's trend", math.Sqrt(squares/n), "17.7")
	printed(t, "mean error of Iowa's trend", distance/n, "12.9")
	printed(t, "bias of Iowa's trend", bias/n, "2.9")

	iowa := d.RunBacktest(iowaCorn(t), date("2012-03-01"), signals.Arrivals{})
	if len(iowa.Skill) != 1 || iowa.Skill[0].N != 121 || iowa.Skill[0].From != 1891 || iowa.Skill[0].To != 2011 {
		t.Fatalf("stages of Iowa: %+v", iowa.Skill)
	}
	printed(t, "finals inside", iowa.Skill[0].Coverage90Pct*1.21, "107")

	known := illinoisCorn(t)
	illinois := d.RunBacktest(known, date("2025-12-01"), signals.Arrivals{})
	for i, want := range []struct{ stage, rmse, cover, base string }{
		{"trend", "", "", ""},
		{"august", "12.3", "91", "20.8"},
		{"september", "9.4", "89", "20.8"},
		{"october", "6.2", "93", ""},
		{"november", "4.7", "96", "20.8"},
	} {
		s := illinois.Skill[i]
		if s.Stage != want.stage || i > 0 && (s.From != 1980 || s.To != 2024) {
			t.Errorf("stage %+v, want %s of 1980 to 2024", s, want.stage)
			continue
		}
		if want.rmse == "" {
			continue
		}
		printed(t, s.Stage+" error", s.RMSE, want.rmse)
		printed(t, s.Stage+" coverage", s.Coverage90Pct, want.cover)
		printed(t, s.Stage+" error of the trend", s.BaselineRMSE, want.base)
		if s.Skill < 0.4 {
			t.Errorf("%s has the skill %v", s.Stage, s.Skill)
		}
	}
	if illinois.N != 45 || illinois.Lo < 0.5 || illinois.P > 1.0/29 { // none of 28 shifts relates as much
		t.Errorf("forecasts of Illinois: %+v", illinois.Edge)
	}

	// From 1986 on, compared with NASS alone. Others measured the errors of NASS.
	track, finals := d.Compute(known, date("2025-12-01")), map[int]float64{}
	for _, p := range known[cornFinal] {
		finals[p.ObservedAt.Time().Year()] = p.Value
	}
	for month, want := range map[time.Month][2]string{
		time.August: {"11.3", "10.4"}, time.September: {"9.0", "8.6"}, time.October: {"5.0", "5.2"}, time.November: {"2.7", "2.8"},
	} {
		var blend, nass []float64
		for _, e := range track {
			if e.ObservedAt.Time().Month() == month && e.ObservedAt.Time().Year() >= 1986 && e.ObservedAt.Time().Year() <= 2024 {
				p, _ := series.At(known[cornForecast], e.ObservedAt)
				blend = append(blend, finals[e.ObservedAt.Time().Year()]-e.Value)
				nass = append(nass, finals[e.ObservedAt.Time().Year()]-p.Value)
			}
		}
		printed(t, month.String()+" blend", rms(blend), want[0])
		printed(t, month.String()+" NASS", rms(nass), want[1])
	}
}

func rms(errors []float64) float64 {
	var sum float64
	for _, e := range errors {
		sum += e * e
	}
	return math.Sqrt(sum / float64(len(errors)))
}

// The falls of the spring of 2020 were measured on recorded columns of other boxes. Each is put in the place of all regions here, as one
// value for the spring of a year, so that the index is that box's alone.
func TestTheLockdownIsSeenInRecordedColumns(t *testing.T) {
	t.Parallel()
	d := definition(t, "tropomi-no2-economic")
	for city, want := range map[string]string{
		"beijing": "-30", "london": "-34", "amsterdam": "-26", "new-delhi": "-38", "riga": "-19", "tokyo": "-5",
	} {
		weeks := cityWeeks(t, city)
		set := series.Set{}
		for _, year := range []int{2019, 2020} {
			var columns []float64
			for _, w := range weeks {
				if w.ObservedAt.Time().Year() == year && w.ObservedAt.Time().Month() >= time.February && w.ObservedAt.Time().Month() <= time.May {
					columns = append(columns, w.Value)
				}
			}
			day := time.Date(year, time.February, 1, 0, 0, 0, 0, time.UTC)
			for _, region := range no2Regions {
				id := series.ID("temis.NO2." + region)
				set[id] = append(set[id], series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(day.AddDate(0, 4, 0)), Value: stat.Mean(columns, nil)})
			}
		}
		track := d.Compute(set, date("2020-07-01"))
		if len(track) != 1 || track[0].N != 1 || !math.IsNaN(track[0].Z()) {
			t.Errorf("%s: %+v, want the spring of 2020 against one year, without a z-score", city, track)
			continue
		}
		printed(t, city, track[0].DeltaPct(), want)
	}
}

// cityWeeks are recorded weekly columns over a city, without the weeks that have none.
func cityWeeks(tb testing.TB, city string) []series.Point {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join(upstream, "tropomi-no2", "city-weekly-2019-2020", city+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		tb.Skip("no recorded columns at ../shared/upstream/tropomi-no2, beside the repository")
	}
	if err != nil {
		tb.Fatal(err)
	}
	var weeks []struct {
		Date struct {
			Value int64 // milliseconds
		}
		Number *float64
	}
	if err := json.Unmarshal(raw, &weeks); err != nil {
		tb.Fatal(err)
	}
	var points []series.Point
	for _, w := range weeks {
		if w.Number != nil {
			points = append(points, series.Point{ObservedAt: series.InstantOf(time.UnixMilli(w.Date.Value).UTC()), Value: 1e6 * *w.Number})
		}
	}
	slices.SortFunc(points, func(a, b series.Point) int { return a.ObservedAt.Time().Compare(b.ObservedAt.Time()) })
	return points
}
