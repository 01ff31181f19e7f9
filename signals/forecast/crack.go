package forecast

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tidemark/internal/series"
)

// The legs of the spread, and the gallons in a barrel of gasoline or diesel.
const (
	crudeOil series.ID = "eia.RWTC"
	petrol   series.ID = "eia.EER_EPMRU_PF4_Y35NY_DPG"
	diesel   series.ID = "eia.EER_EPD2DXL0_PF4_Y35NY_DPG"

	gallons = 42
)

// crackSpread forecasts the 3:2:1 crack spread at New York Harbor on the last day up to a Monday that has all three prices. The prices
// count as first printed by EIA's spot prices on the Wednesday after.
func crackSpread() Target {
	wednesday := schedule{form: time.DateOnly, series: crudeOil, weekday: time.Monday, due: func(monday time.Time) time.Time {
		return onClock(monday.Add(days(2)), 10, 30)
	}}
	return Target{
		Signal: "crack-spread-321", Figure: "spread", Name: "3:2:1 crack spread, New York Harbor, on the last priced day up to Monday",
		Unit: "USD/bbl", Decimals: 3, Version: "spread-1", GradesNeeded: weeklyGrades, GivenUpAfter: gradeTimeout,
		Inputs: []series.ID{crudeOil, petrol, diesel}, schedules: []schedule{wednesday},
		next: func(in series.Set, at time.Time) (Release, bool) {
			p, ok := newest(spreads(in))
			if !ok {
				return Release{}, false
			}
			today := onClock(at.In(newYork), 0, 0).In(newYork)
			monday := time.Date(today.Year(), today.Month(), today.Day()+7-(int(today.Weekday())+6)%7, 0, 0, 0, 0, time.UTC)
			// It is issued once the prices up to the Monday before are known, which is on Wednesday; on Thursday it is issued with the
			// known prices.
			evening, thursday := onClock(monday.Add(-days(5)), 17, 0), onClock(monday.Add(-days(4)), 12, 0)
			if at.Before(evening) || at.Before(thursday) && p.ObservedAt.Time().Before(monday.Add(-days(7))) {
				return Release{}, false
			}
			return wednesday.release(monday), true
		},
		outcome: func(in series.Set, r Release) (series.Point, bool) {
			var last series.Point
			for _, p := range spreads(in) {
				if day := p.ObservedAt.Time(); !day.After(r.ObservedAt) && day.After(r.ObservedAt.Add(-week)) {
					last = p
				}
			}
			// A Monday without prices is a holiday: the day before it counts once the release has come.
			whole := last.ObservedAt.Time().Equal(r.ObservedAt) || !last.VintageAt.Time().Before(r.ScheduledAt.Add(-12*time.Hour))
			return last, !last.ObservedAt.IsZero() && whole
		},
		walk: func(in series.Set, r Release) []step { return crackWalk(spreads(in), r.ObservedAt).run() },
	}
}

// spreads are the days with all three prices.
func spreads(in series.Set) []series.Point {
	a, b, c := in[petrol], in[diesel], in[crudeOil]
	out := make([]series.Point, 0, min(len(a), len(b), len(c)))
	i, j := 0, 0
	for _, p := range c {
		for i < len(a) && a[i].ObservedAt < p.ObservedAt {
			i++
		}
		for j < len(b) && b[j].ObservedAt < p.ObservedAt {
			j++
		}
		if i == len(a) || j == len(b) {
			break
		}
		if a[i].ObservedAt != p.ObservedAt || b[j].ObservedAt != p.ObservedAt {
			continue
		}
		s := series.Point{ObservedAt: p.ObservedAt, VintageAt: max(p.VintageAt, a[i].VintageAt, b[j].VintageAt)}
		s.Value = (float64(2*gallons*a[i].Value) + float64(gallons*b[j].Value) - float64(3*p.Value)) / 3
		out = append(out, s)
	}
	return out
}

const (
	crackYear = 52
	// crackFloor is the smallest spread, in USD/bbl, that errors may be measured in.
	crackFloor = 3
	// crackReach is how many days on both sides of a date make its season, of five years.
	crackReach = 15
)

// crackWalk has the spread on the last priced day of each week up to a Monday. Its experts use the last value with four estimates of its
// moves; one of them reverts to the mean of its year and its season.
func crackWalk(daily []series.Point, last time.Time) walk {
	if len(daily) == 0 {
		return walk{}
	}
	first := daily[0].ObservedAt.Time()
	for first.Weekday() != time.Monday {
		first = first.Add(days(1))
	}
	n := int(last.Sub(first)/week) + 1
	spread, moves := weeks{first: first, values: unknowns(n)}, unknowns(n)
	daysMove := ewma{lambda: 0.94, clip: 25, minSquares: 26}
	next := 0
	for i := range n {
		monday := spread.day(i)
		moves[i] = math.Sqrt(5) * daysMove.sd() // before the week
		from, to := series.InstantOf(monday.Add(-week)), series.InstantOf(monday)
		for ; next < len(daily) && daily[next].ObservedAt <= to; next++ {
			if next > 0 {
				daysMove.add(daily[next].Value - daily[next-1].Value)
			}
			if daily[next].ObservedAt > from {
				spread.values[i] = daily[next].Value
			}
		}
	}
	before := append([]float64{math.NaN()}, spread.values[:n-1]...)
	season := aboutTheDate(daily, spread)
	rows, change, floor := make([][]float64, n), less(spread.values, before), make([]float64, n)
	for i := range rows {
		rows[i] = []float64{before[i] - yearMean(spread.values[:i]), before[i] - season[i]}
		floor[i] = max(before[i], crackFloor)
	}
	leaning := regress(rows, change, 0.2)
	for i := range leaning {
		leaning[i] += before[i]
	}
	prints := make([]firstPrint, n)
	for i := range prints {
		prints[i] = firstPrint{period: spread.day(i), value: spread.values[i]}
	}
	naive1 := plain(before)
	return walk{
		prints: prints,
		experts: []expert{
			naive1, running(before, spread.values, 0.94, 26), {at: before, scale: moves}, {at: before, scale: floor}, {at: leaning, scale: moves},
		},
		naive1: naive1, naive2: plain(season), window: 260, minErrors: 52,
	}
}

// yearMean is the mean of the last year's values, NaN before there is one.
func yearMean(values []float64) float64 {
	if len(values) < crackYear {
		return math.NaN()
	}
	var sum float64
	n := 0
	for _, v := range values[len(values)-crackYear:] {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	return sum / float64(n)
}

// aboutTheDate is for each week the mean of the daily values within crackReach days of its date in the five years before. Three of these
// years must have ten values.
func aboutTheDate(daily []series.Point, w weeks) []float64 {
	until := make([]float64, len(daily)+1)
	for i, p := range daily {
		until[i+1] = until[i] + p.Value
	}
	index := func(t time.Time) int {
		i, _ := slices.BinarySearchFunc(daily, series.InstantOf(t), func(p series.Point, t series.Instant) int { return cmp.Compare(p.ObservedAt, t) })
		return i
	}
	out := unknowns(len(w.values))
	for i := range out {
		var sum float64
		n, years := 0, 0
		for k := 1; k <= 5; k++ {
			date := w.day(i).AddDate(-k, 0, 0)
			from, to := index(date.Add(-days(crackReach))), index(date.Add(days(crackReach+1)))
			if to-from >= 10 {
				years++
			}
			sum += until[to] - until[from]
			n += to - from
		}
		if years >= 3 {
			out[i] = sum / float64(n)
		}
	}
	return out
}
