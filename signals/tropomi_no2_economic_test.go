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

// columns yields the months of the eight regions from February 2018 on: value tells the mean of the r-th region in a month, NaN for none.
func columns(months int, value func(r int, day time.Time) float64) series.Set {
	return columnsFrom("2018-02-01", months, value)
}

func columnsFrom(first string, months int, value func(r int, day time.Time) float64) series.Set {
	set := series.Set{}
	for r, region := range no2Regions {
		for i := range months {
			day := date(first).AddDate(0, i, 0)
			if v := value(r, day); !math.IsNaN(v) {
				set[region.id] = append(set[region.id], series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(day.AddDate(0, 1, 20+r)), Value: v})
			}
		}
	}
	return set
}

// seasonal is a column with a winter, larger by region: the plain past of the tests.
func seasonal(r int, day time.Time) float64 {
	return float64(50+10*r) * (1 + 0.5*math.Cos(2*math.Pi*float64(day.Month()-1)/12))
}

// month finds an estimate by its month.
func month(t *testing.T, track Track, day string) Estimate {
	t.Helper()
	for _, e := range track {
		if e.ObservedAt.Time().Equal(date(day)) {
			return e
		}
	}
	t.Fatalf("no estimate of %s", day)
	return Estimate{}
}

func TestNO2IndexIsTheMeanChangeAgainstTheSameMonths(t *testing.T) {
	t.Parallel()
	// Seasons as ever, until in March 2024 half of the regions have a quarter less and half a fifth more.
	set := columns(80, func(r int, day time.Time) float64 {
		v := seasonal(r, day)
		if day.Equal(date("2024-03-01")) {
			v *= []float64{0.75, 1.2}[r%2]
		}
		return v
	})
	track := computeNO2(set, date("2025-01-01"))
	for _, e := range track {
		if e.ObservedAt.Time().Equal(date("2024-03-01")) {
			continue
		}
		if math.Abs(e.Value-100) > 1e-9 || e.Baseline != 100 {
			t.Fatalf("%v stands at %v of %v, want 100: the season alone is no change", e.ObservedAt, e.Value, e.Baseline)
		}
	}
	e := month(t, track, "2024-03-01")
	wantNear(t, "index", e.Value, 100*math.Sqrt(0.75*1.2)) // the geometric mean
	wantNear(t, "difference in percent", e.DeltaPct(), e.Value-100)
	if e.N != 5 || !e.KnownAt.Time().Equal(date("2024-03-01").AddDate(0, 1, 27)) {
		t.Errorf("March 2024 rests on %d years, known at %v, want 5 (2018, 2019, 2021, 2022, 2023) and the last region's time", e.N, e.KnownAt)
	}
	parts := map[string]Component{}
	for _, c := range no2Components(set, date("2025-01-01")) {
		parts[c.Name] = c
	}
	if len(parts) != 8 || parts["po"].Unit != no2Unit || math.Abs(parts["po"].Value-100) > 1e-9 {
		t.Errorf("regions %+v", parts)
	}
}

func TestTheYear2020IsNoReferenceButIsShown(t *testing.T) {
	t.Parallel()
	set := columns(80, func(r int, day time.Time) float64 {
		if day.Year() == 2020 {
			return 0.6 * seasonal(r, day)
		}
		return seasonal(r, day)
	})
	track := computeNO2(set, date("2025-01-01"))
	spring := month(t, track, "2020-04-01")
	wantNear(t, "index of April 2020", spring.Value, 60)
	if spring.N != 2 || !math.IsNaN(spring.Z()) || !math.IsNaN(spring.Lo) || !math.IsNaN(spring.Hi) {
		t.Errorf("April 2020 has two reference years, 2018 and 2019: %+v, z %v, want neither z-score nor interval", spring, spring.Z())
	}
	for _, day := range []string{"2021-04-01", "2022-04-01", "2024-04-01"} {
		if e := month(t, track, day); math.Abs(e.Value-100) > 1e-9 {
			t.Errorf("%s stands at %v, want 100: the lockdown is no reference", day, e.Value)
		}
	}
	if e := month(t, track, "2022-04-01"); e.N != 3 {
		t.Errorf("April 2022 has %d reference years, want 2018, 2019 and 2021", e.N)
	}
}

func TestTheYear2020LeavesNoTraceInLaterMonths(t *testing.T) {
	t.Parallel()
	weather := func(r int, day time.Time) float64 { // ups and downs of up to a tenth that no two months share
		return seasonal(r, day) * math.Exp(0.1*math.Sin(float64(7*r)+float64(day.Unix())/1e6))
	}
	with := computeNO2(columnsFrom("2014-01-01", 120, func(r int, day time.Time) float64 {
		if day.Year() == 2020 {
			return 0.3 * weather(r, day)
		}
		return weather(r, day)
	}), date("2025-01-01"))
	without := computeNO2(columnsFrom("2014-01-01", 120, func(r int, day time.Time) float64 {
		if day.Year() == 2020 {
			return math.NaN()
		}
		return weather(r, day)
	}), date("2025-01-01"))
	compared := 0
	for _, e := range without {
		if e.ObservedAt.Time().Year() < 2021 {
			continue
		}
		compared++
		if got := month(t, with, e.ObservedAt.Time().Format(time.DateOnly)); got != e || math.IsNaN(e.Z()) {
			t.Fatalf("%v: %+v, without 2020 %+v", e.ObservedAt, got, e)
		}
	}
	if compared != 36 {
		t.Errorf("%d months compared, want three years", compared)
	}
	if e := month(t, with, "2020-06-01"); !(e.Z() < -5) {
		t.Errorf("June 2020 has six reference years and stands at %+v, z %v", e, e.Z())
	}
}

func TestNO2IntervalAndZScoreAreOfTheIndexsOwnPast(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 40))
	set := columns(80, func(r int, day time.Time) float64 {
		return seasonal(r, day) * math.Exp(0.1*rng.NormFloat64())
	})
	// An independent computation: logs by region and month, then the mean over regions.
	type key struct {
		region int
		day    time.Time
	}
	logs := map[key]float64{}
	for r, region := range no2Regions {
		for _, p := range set[region.id] {
			logs[key{r, p.ObservedAt.Time()}] = math.Log(p.Value)
		}
	}
	var past []float64
	checked := 0
	for i, e := range computeNO2(set, date("2025-01-01")) {
		day := e.ObservedAt
		var anomalies []float64
		years := 0
		for r := range no2Regions {
			var reference []float64
			for year := 2018; year < day.Time().Year(); year++ {
				if v, ok := logs[key{r, date(fmt.Sprintf("%d-%s", year, day.Time().Format("01-02")))}]; ok && year != 2020 {
					reference = append(reference, v)
				}
			}
			years = len(reference)
			anomalies = append(anomalies, logs[key{r, day.Time()}]-stat.Mean(reference, nil))
		}
		a := stat.Mean(anomalies, nil)
		if !near(e.Value, 100*math.Exp(a), 0) || e.N != years {
			t.Fatalf("%v: %v from %d years, want %v from %d", day, e.Value, e.N, 100*math.Exp(a), years)
		}
		known := years >= 3 && len(past) >= 12
		if known == math.IsNaN(e.Z()) || known == math.IsNaN(e.Lo) || known == math.IsNaN(e.Hi) {
			t.Fatalf("estimate %d, %v with %d years and %d past anomalies: z %v, %v to %v", i, day, years, len(past), e.Z(), e.Lo, e.Hi)
		}
		if known {
			checked++
			sd := stat.StdDev(past, nil)
			half := 1.645 * math.Hypot(sd, stat.StdDev(anomalies, nil)/math.Sqrt(8))
			if !near(e.Z(), a/sd, 0) || !near(e.Lo, 100*math.Exp(a-half), 0) || !near(e.Hi, 100*math.Exp(a+half), 0) {
				t.Fatalf("%v: z %v, %v to %v, want %v, %v to %v", day, e.Z(), e.Lo, e.Hi, a/sd, 100*math.Exp(a-half), 100*math.Exp(a+half))
			}
		}
		if years >= 3 && day.Time().Year() != 2020 {
			past = append(past, a)
		}
	}
	if checked < 15 {
		t.Fatalf("only %d months with a z-score", checked)
	}
}

func TestNO2NeedsFiveRegionsAndLeavesOutWhatHasNoLogarithm(t *testing.T) {
	t.Parallel()
	set := columns(80, func(r int, day time.Time) float64 {
		switch {
		case day.Equal(date("2023-05-01")) && r >= 4: // four of eight are left
			return math.NaN()
		case day.Equal(date("2023-06-01")) && r >= 5: // five are left
			return math.NaN()
		case day.Equal(date("2023-07-01")) && r == 2: // noise around nothing
			return -0.4
		case day.Equal(date("2023-08-01")) && r == 2:
			return 0
		}
		return seasonal(r, day)
	})
	track := computeNO2(set, date("2025-01-01"))
	for _, e := range track {
		if e.ObservedAt.Time().Equal(date("2023-05-01")) {
			t.Errorf("an index from four regions: %+v", e)
		}
		if math.Abs(e.Value-100) > 1e-9 {
			t.Errorf("%v stands at %v, want 100", e.ObservedAt, e.Value)
		}
	}
	for _, day := range []string{"2023-06-01", "2023-07-01", "2023-08-01"} {
		month(t, track, day)
	}
}

func TestARegionWithAShortPastStaysOutWhileOthersHaveALongOne(t *testing.T) {
	t.Parallel()
	// The third region has no Aprils before 2022, and twice the usual in April 2023.
	set := columns(80, func(r int, day time.Time) float64 {
		if r == 2 && day.Month() == time.April {
			switch {
			case day.Year() < 2022:
				return math.NaN()
			case day.Year() == 2023:
				return 2 * seasonal(r, day)
			}
		}
		return seasonal(r, day)
	})
	if e := month(t, computeNO2(set, date("2025-01-01")), "2023-04-01"); math.Abs(e.Value-100) > 1e-9 || e.N != 4 {
		t.Errorf("April 2023 stands at %v from %d years, want 100 from 4", e.Value, e.N)
	}
}

func TestAMonthIsComparedWithinItsVersionAlone(t *testing.T) {
	t.Parallel()
	// From January 2023 on version 2 shows a third more than version 1 did. A minor step, in 2021, changes nothing.
	set := columns(80, func(r int, day time.Time) float64 {
		if day.Year() >= 2023 {
			return seasonal(r, day) * 4 / 3
		}
		return seasonal(r, day)
	})
	for i := range 80 {
		day := date("2018-02-01").AddDate(0, i, 0)
		version := map[bool]float64{false: 1.02, true: 1.03}[day.Year() >= 2021]
		if day.Year() >= 2023 {
			version = 2.04
		}
		set[no2Version] = append(set[no2Version], series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(day.AddDate(0, 3, 0)), Value: version})
	}
	track := computeNO2(set, date("2025-01-01"))
	for _, e := range track {
		if math.Abs(e.Value-100) > 1e-9 {
			t.Errorf("%v stands at %v, want 100: a new version is no change in the air", e.ObservedAt, e.Value)
		}
		if e.ObservedAt.Time().Year() == 2023 {
			t.Errorf("%v has an index although its version has no earlier year", e.ObservedAt)
		}
		if !e.KnownAt.Time().Equal(e.ObservedAt.AddDate(0, 3, 0).Time()) {
			t.Errorf("%v was known at %v, want with its version", e.ObservedAt, e.KnownAt)
		}
	}
	if e := month(t, track, "2022-12-01"); e.N != 3 {
		t.Errorf("December 2022 rests on %d years, want 2018, 2019 and 2021", e.N)
	}
	if e := month(t, track, "2024-05-01"); e.N != 1 || !math.IsNaN(e.Z()) {
		t.Errorf("May 2024 rests on %d years, z %v, want the first year of its version and no z-score", e.N, e.Z())
	}
}

func TestNO2BacktestFindsPersistenceAndNothingInNoise(t *testing.T) {
	t.Parallel()
	d, _ := ByID("tropomi-no2-economic")
	for _, c := range []struct {
		name  string
		stays float64
		clear bool
	}{
		{"months that have nothing to do with each other", 0, false},
		{"a slow cycle", 0.97, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(2, 41))
			level := map[time.Time]float64{}
			state := 0.0
			for i := range 400 {
				state = c.stays*state + 0.1*rng.NormFloat64()
				level[date("2018-02-01").AddDate(0, i, 0)] = state
			}
			r := d.RunBacktest(columns(400, func(r int, day time.Time) float64 {
				return seasonal(r, day) * math.Exp(level[day])
			}), date("2055-01-01"), Arrivals{})
			if r.N < 300 || r.Clear() != c.clear || !r.LookAheadSafe() {
				t.Errorf("%d cases, rank correlation %v between %v and %v", r.N, r.RankIC, r.Lo, r.Hi)
			}
		})
	}
}
