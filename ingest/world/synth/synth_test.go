package synth_test

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest/world/synth"
)

func day(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

// price is a process such as an adapter would declare.
func price(name string) synth.Process {
	return synth.Process{
		Name: name, Calendar: synth.Weekdays(day("2006-06-14")),
		Mean: 70, Reversion: 0.01, Volatility: 0.02, Log: true, Decimals: 2,
	}
}

func TestSameDrawWhateverWasAskedBefore(t *testing.T) {
	t.Parallel()
	end := day("2026-01-01")
	atOnce := synth.World{Seed: 7}.Series(price("a")).Until(end)

	stepwise := synth.World{Seed: 7}.Series(price("a"))
	for d := day("2006-01-01"); d.Before(end); d = d.AddDate(0, 0, 13) {
		stepwise.Until(d)
	}
	stepwise.Until(day("2010-01-01")) // a clock that went back
	if diff := cmp.Diff(atOnce, stepwise.Until(end)); diff != "" {
		t.Errorf("a history drawn in steps differs (-at once +stepwise):\n%s", diff)
	}
	if got := stepwise.Until(day("2006-06-16")); len(got) != 3 {
		t.Errorf("an early question after a late one: got %d points, want the 3 up to its date", len(got))
	}
	if got := stepwise.Until(day("2006-06-13")); len(got) != 0 {
		t.Errorf("before the first date: got %d points", len(got))
	}
}

func TestOtherNamesAndSeedsAreOtherHistories(t *testing.T) {
	t.Parallel()
	end := day("2020-01-01")
	base := synth.World{Seed: 7}.Series(price("a")).Until(end)
	for name, other := range map[string][]synth.Point{
		"name": synth.World{Seed: 7}.Series(price("b")).Until(end),
		"seed": synth.World{Seed: 8}.Series(price("a")).Until(end),
	} {
		var a, b []float64
		for i := 1; i < len(base); i++ {
			a = append(a, math.Log(base[i].Value/base[i-1].Value))
			b = append(b, math.Log(other[i].Value/other[i-1].Value))
		}
		if c := correlation(a, b); math.Abs(c) > 0.06 { // 3,500 steps: 3.5 standard errors
			t.Errorf("another %s: steps correlate by %.3f", name, c)
		}
	}
}

func TestNoiseHasTheMomentsItClaims(t *testing.T) {
	t.Parallel()
	n := synth.World{Seed: 3}.Noise("moments")
	const count = 40_000
	var uniform, normal []float64
	hits := 0
	for i := range count {
		d := day("1950-01-01").AddDate(0, 0, i) // before and after the Unix epoch
		u := n.Uniform(d)
		if u < 0 || u >= 1 {
			t.Fatalf("uniform draw %v outside [0, 1)", u)
		}
		uniform = append(uniform, u)
		normal = append(normal, n.Normal(d))
		if n.Chance(d, 0.001) {
			hits++
		}
	}
	mean, sd := moments(uniform)
	if math.Abs(mean-0.5) > 0.006 || math.Abs(sd-math.Sqrt(1.0/12)) > 0.004 {
		t.Errorf("uniform: mean %.4f sd %.4f", mean, sd)
	}
	if c := correlation(uniform[1:], uniform[:count-1]); math.Abs(c) > 0.02 {
		t.Errorf("draws of neighbouring dates correlate by %.4f", c)
	}
	mean, sd = moments(normal)
	if math.Abs(mean) > 0.02 || math.Abs(sd-1) > 0.02 {
		t.Errorf("normal: mean %.4f sd %.4f", mean, sd)
	}
	if hits < 20 || hits > 65 {
		t.Errorf("chance of 0.001: %d of %d dates", hits, count)
	}
	if a, b := n.Uniform(day("2020-05-05")), n.Uniform(day("2020-05-05").Add(23*time.Hour)); a != b {
		t.Error("two instants of one day have different draws")
	}
}

func TestWalkSettlesWhereTheFormulaSays(t *testing.T) {
	t.Parallel()
	p := synth.Process{
		Name: "walk", Calendar: synth.Days(day("1900-01-01")),
		Mean: 100, Reversion: 0.1, Volatility: 2, Decimals: -1,
	}
	var v []float64
	for _, point := range (synth.World{}).Series(p).Until(day("2020-01-01")) {
		v = append(v, point.Value)
	}
	mean, sd := moments(v)
	// An autoregressive process of order one has the standard deviation vol/sqrt(1-phi^2) and the lag-one correlation phi.
	if want := 2 / math.Sqrt(1-0.9*0.9); math.Abs(sd-want) > 0.1 || math.Abs(mean-100) > 0.4 {
		t.Errorf("mean %.3f sd %.3f, want 100 and %.3f", mean, sd, want)
	}
	if c := correlation(v[1:], v[:len(v)-1]); math.Abs(c-0.9) > 0.01 {
		t.Errorf("lag-one correlation %.3f, want 0.9", c)
	}
}

func TestValuesKeepTheirBoundsAndDecimals(t *testing.T) {
	t.Parallel()
	p := synth.Process{
		Name: "ships", Calendar: synth.Days(day("2019-01-01")),
		Mean: 5, Reversion: 0.2, Volatility: 6, Floor: 0, Ceiling: 12,
	}
	seen := map[float64]bool{}
	for _, point := range (synth.World{}).Series(p).Until(day("2022-01-01")) {
		if point.Value != math.Trunc(point.Value) || point.Value < 0 || point.Value > 12 {
			t.Fatalf("%s: %v is not a whole number from 0 to 12", point.At.Format(time.DateOnly), point.Value)
		}
		seen[point.Value] = true
	}
	if !seen[0] || !seen[12] {
		t.Error("the bounds were never reached: the case shows nothing")
	}
	if got := synth.Round(-36.985, 2); got != -36.99 {
		t.Errorf("Round(-36.985, 2) = %v", got)
	}
}

func TestSeasonMovesTheLevel(t *testing.T) {
	t.Parallel()
	p := price("seasonal")
	p.Volatility, p.Decimals = 0, -1
	p.Season = synth.Yearly(0.1, time.July, 1)
	byDay := map[time.Time]float64{}
	for _, point := range (synth.World{}).Series(p).Until(day("2021-01-01")) {
		byDay[point.At] = point.Value
	}
	if got, want := byDay[day("2020-07-01")], 70*math.Exp(0.1); math.Abs(got-want) > 0.01 {
		t.Errorf("on the peak day %.4f, want %.4f", got, want)
	}
	if got, want := byDay[day("2020-12-31")], 70*math.Exp(-0.1); math.Abs(got-want) > 0.02 {
		t.Errorf("half a year later %.4f, want %.4f", got, want)
	}
}

func TestCalendars(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		dates synth.Calendar
		want  []string
	}{
		{"days cross a leap day", synth.Days(day("2024-02-28")), []string{"2024-02-28", "2024-02-29", "2024-03-01"}},
		{"weekdays skip the weekend", synth.Weekdays(day("2024-12-26")), []string{"2024-12-26", "2024-12-27", "2024-12-30"}},
		{"weeks keep the weekday", synth.Weeks(day("1990-01-05")), []string{"1990-01-05", "1990-01-12", "1990-01-19"}},
		{"months keep the day", synth.Months(day("1960-12-01")), []string{"1960-12-01", "1961-01-01", "1961-02-01"}},
	} {
		var got []string
		for d := tc.dates.First; len(got) < 3; d = tc.dates.Next(d) {
			got = append(got, d.Format(time.DateOnly))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestCombinedSeriesMoveTogether(t *testing.T) {
	t.Parallel()
	w := synth.World{Seed: 11}
	crude := price("crude")
	margin := synth.Process{Name: "margin", Calendar: crude.Calendar, Mean: 20, Reversion: 0.05, Volatility: 0.5, Decimals: -1}
	margin.Calendar.First = day("2006-06-19") // a part that begins later
	oil := w.Series(crude)
	product := synth.Combine(func(_ time.Time, v []float64) float64 {
		return synth.Round((v[0]+v[1])/42, 3)
	}, oil, w.Series(margin))

	product.Until(day("2012-01-01"))
	product.Until(day("2008-01-01"))
	got := product.Until(day("2020-01-01"))
	if first := got[0].At; !first.Equal(day("2006-06-19")) {
		t.Errorf("the first common date is %s, want 2006-06-19", first.Format(time.DateOnly))
	}
	base := oil.Until(day("2020-01-01"))[3:]
	if len(base) != len(got) {
		t.Fatalf("%d dates combined, want %d", len(got), len(base))
	}
	var a, b []float64
	for i := range got {
		if !got[i].At.Equal(base[i].At) {
			t.Fatalf("point %d is of %s, want %s", i, got[i].At, base[i].At)
		}
		a, b = append(a, base[i].Value), append(b, got[i].Value)
	}
	if c := correlation(a, b); c < 0.95 {
		t.Errorf("product and crude correlate by %.3f", c)
	}
	if n := len(synth.Combine(nil).Until(day("2020-01-01"))); n != 0 {
		t.Errorf("a combination of nothing has %d points", n)
	}
}

func TestBoardShowsWhatWasKnown(t *testing.T) {
	t.Parallel()
	p := synth.Process{Name: "board", Calendar: synth.Days(day("2024-01-01")), Mean: 1, Reversion: 1, Decimals: 0}
	two := 48 * time.Hour
	board := synth.NewBoard((synth.World{}).Series(p), func(points []synth.Point) []synth.Print {
		last := points[len(points)-1]
		first := synth.Print{KnownAt: last.At.Add(two), Value: last.Value}
		switch last.At.Day() {
		case 2:
			return []synth.Print{first, {KnownAt: last.At.Add(5 * 24 * time.Hour), Value: 9}}
		case 3:
			return []synth.Print{first, {KnownAt: last.At.Add(5 * 24 * time.Hour), Withdrawn: true}}
		case 4:
			return nil
		}
		return []synth.Print{first}
	})
	at := func(s string, v float64) synth.Point { return synth.Point{At: day(s), Value: v} }
	for _, tc := range []struct {
		name string
		now  time.Time
		want []synth.Point
	}{
		{"all revisions are in at the end", day("2024-01-09"), []synth.Point{
			at("2024-01-01", 1), at("2024-01-02", 9), at("2024-01-05", 1), at("2024-01-06", 1), at("2024-01-07", 1),
		}},
		{"nothing before the first release", day("2024-01-02"), []synth.Point{}},
		{"a value is shown from its release on", day("2024-01-03"), []synth.Point{at("2024-01-01", 1)}},
		{"the second before a release it is not", day("2024-01-04").Add(-time.Second), []synth.Point{at("2024-01-01", 1)}},
		{"the first print stands until the revision", day("2024-01-06"), []synth.Point{
			at("2024-01-01", 1), at("2024-01-02", 1), at("2024-01-03", 1),
		}},
		{"a withdrawn value is gone", day("2024-01-08"), []synth.Point{
			at("2024-01-01", 1), at("2024-01-02", 9), at("2024-01-05", 1), at("2024-01-06", 1),
		}},
	} {
		if diff := cmp.Diff(tc.want, board.AsOf(tc.now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestConcurrentQuestionsGetOneHistory(t *testing.T) {
	t.Parallel()
	w := synth.World{Seed: 5}
	product := synth.Combine(func(_ time.Time, v []float64) float64 { return v[0] }, w.Series(price("shared")))
	board := synth.NewBoard(product, func(p []synth.Point) []synth.Print {
		return []synth.Print{{KnownAt: p[len(p)-1].At, Value: p[len(p)-1].Value}}
	})
	want := w.Series(price("shared")).Until(day("2016-01-01"))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				board.AsOf(day("2007-01-01").AddDate(0, (i*7+j*5)%100, 0))
			}
			if diff := cmp.Diff(want, board.AsOf(day("2016-01-01"))); diff != "" {
				t.Errorf("another history (-want +got):\n%s", diff)
			}
		})
	}
	wg.Wait()
}

func moments(v []float64) (mean, sd float64) {
	for _, x := range v {
		mean += x
	}
	mean /= float64(len(v))
	for _, x := range v {
		sd += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(sd / float64(len(v)-1))
}

func correlation(a, b []float64) float64 {
	meanA, sdA := moments(a)
	meanB, sdB := moments(b)
	var sum float64
	for i := range a {
		sum += (a[i] - meanA) * (b[i] - meanB)
	}
	return sum / float64(len(a)-1) / sdA / sdB
}
