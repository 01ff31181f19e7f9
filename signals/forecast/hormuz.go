package forecast

import (
	"math"
	"time"

	"tidemark/internal/series"
)

const ships series.ID = "portwatch.chokepoint6.n_total"

// hormuzTransits forecasts the mean number of ships a day through the Strait of Hormuz in a week from Monday to Sunday, as PortWatch first
// prints it.
func hormuzTransits() Target {
	tuesday := schedule{form: time.DateOnly, series: ships, weekday: time.Sunday, due: func(sunday time.Time) time.Time {
		return sunday.Add(days(2) + 13*time.Hour + 35*time.Minute)
	}}
	return Target{
		Signal: "hormuz-transit", Figure: "ships_week", Name: "Ships a day through the Strait of Hormuz, mean of the week from Monday to Sunday",
		Unit: "transits/day", Decimals: 3, Version: "ships_week-1", GradesNeeded: weeklyGrades, GivenUpAfter: gradeTimeout, Inputs: []series.ID{ships},
		schedules: []schedule{tuesday},
		next: func(in series.Set, _ time.Time) (Release, bool) {
			all := sundays(in[ships], time.Time{})
			p, ok := newest(all)
			if !ok {
				return Release{}, false
			}
			return tuesday.release(p.ObservedAt.Time().Add(week)), true
		},
		outcome: func(in series.Set, r Release) (series.Point, bool) {
			return pointOn(sundays(in[ships], r.ObservedAt.Add(-week)), r.ObservedAt)
		},
		walk: func(in series.Set, r Release) []step { return shipWalk(in[ships], r.ObservedAt).run() },
	}
}

// sundays are the means of the whole weeks that end on a Sunday after an instant, each dated that day. A week that lacks a day has none.
func sundays(daily []series.Point, after time.Time) []series.Point {
	var out []series.Point
	for i, p := range daily {
		day := p.ObservedAt.Time()
		if day.Weekday() != time.Sunday || i < 6 || !day.After(after) || daily[i-6].ObservedAt != p.ObservedAt.AddDate(0, 0, -6) {
			continue
		}
		mean := series.Point{ObservedAt: p.ObservedAt}
		for _, d := range daily[i-6 : i+1] {
			mean.Value += d.Value
			mean.VintageAt = max(mean.VintageAt, d.VintageAt)
		}
		mean.Value /= 7
		out = append(out, mean)
	}
	return out
}

const (
	// shipHalfLife is in days.
	shipHalfLife = 5
	// The strait counts as closed while the median of the last weeks is below this share of the mean of the years named.
	closedWeeks              = 4
	closedShare              = 0.5
	normalSince, normalUntil = 2019, 2024
)

// shipWalk has the mean of each week up to one, on the scale of square roots. Its experts are the last week, smoothing with and without
// breaks, and the days with a half-life. While the strait is practically closed, only the last week's expert forecasts.
func shipWalk(daily []series.Point, last time.Time) walk {
	means := sundays(daily, time.Time{})
	if len(means) == 0 {
		return walk{}
	}
	first := means[0].ObservedAt.Time()
	n := int(last.Sub(first)/week) + 1
	mean := weekly(means, first, n)
	roots := make([]float64, n)
	for i, v := range mean.values {
		roots[i] = math.Sqrt(v)
	}
	before := append([]float64{math.NaN()}, roots[:n-1]...)
	rooted := func(at []float64) expert {
		e := running(at[:n], roots, 0.9, 26)
		e.squareRoot = true
		return e
	}
	lastWeek := append([]float64{math.NaN()}, mean.values[:n-1]...)
	naive1 := plain(lastWeek)
	prints := make([]firstPrint, n)
	for i := range prints {
		prints[i] = firstPrint{period: mean.day(i), value: mean.values[i]}
	}
	return walk{
		prints: prints,
		experts: []expert{
			rooted(before), naive1, rooted(smooth(roots, 0.5)), rooted(smoothWithBreaks(roots, 0.5)), rooted(recentDays(daily, mean)),
		},
		naive1: naive1, naive2: plain(mean.sameWeeks(4, 2, 5)),
		window: 156, minErrors: 26, floor: new(0.0),
		alone: func(i int) bool { return closed(mean, i) },
	}
}

// recentDays is for each week the mean of the square roots of the days before it, the weight of a day halved with each half-life.
func recentDays(daily []series.Point, mean weeks) []float64 {
	out := unknowns(len(mean.values))
	fade := math.Exp2(-1.0 / shipHalfLife)
	var sum, weight float64
	next := 0
	for i := range out {
		monday := series.InstantOf(mean.day(i).Add(-days(6)))
		for ; next < len(daily) && daily[next].ObservedAt < monday; next++ {
			sum = float64(fade*sum) + math.Sqrt(daily[next].Value)
			weight = float64(fade*weight) + 1
		}
		if weight > 0 {
			out[i] = sum / weight
		}
	}
	return out
}

// closed reports whether the weeks before one were practically empty.
func closed(mean weeks, i int) bool {
	var recent []float64
	for k := 1; k <= closedWeeks; k++ {
		if v := mean.at(i - k); !math.IsNaN(v) {
			recent = append(recent, v)
		}
	}
	var sum float64
	n := 0
	for j, v := range mean.values[:i] {
		if year := mean.day(j).Year(); year >= normalSince && year <= normalUntil && !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	return len(recent) == closedWeeks && n >= 52 && median(recent) < closedShare*sum/float64(n)
}
