package forecast

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"tidemark/internal/series"
	"tidemark/signals"
)

// no2MinMonths is the number of months that a spread needs.
const no2MinMonths = 24

// no2Index forecasts the next month's index of nitrogen dioxide over industrial regions, as the first grids of TEMIS make it.
func no2Index() Target {
	def, _ := signals.ByID("tropomi-no2-economic")
	track := func(in series.Set) []series.Point { return firstOf(in, def.Compute) }
	// TEMIS prints some weeks after the month. A grid has all regions; a cloudy month may lack one.
	middle := schedule{form: formMonth, series: def.Inputs[0], due: func(month time.Time) time.Time { return month.AddDate(0, 1, 14) }}
	return Target{
		Signal: def.ID, Figure: "index", Name: "Monthly index of nitrogen dioxide over industrial regions", Unit: def.Unit,
		Decimals: 2, Version: "index-2", Monthly: true, AllVintages: true, GradesNeeded: monthlyGrades, GivenUpAfter: days(60), Inputs: def.Inputs,
		schedules: []schedule{middle}, printed: def.Inputs,
		next: func(in series.Set, _ time.Time) (Release, bool) {
			p, ok := newest(track(in))
			if !ok {
				return Release{}, false
			}
			return middle.release(p.ObservedAt.Time().AddDate(0, 1, 0)), true
		},
		outcome: func(in series.Set, r Release) (series.Point, bool) { return pointOn(track(in), r.ObservedAt) },
		walk:    func(in series.Set, r Release) []step { return no2Steps(track(in), r.ObservedAt) },
	}
}

// firstOf returns the first value of each estimate: the value at the earliest vintage at which the data known then were enough. A month of
// a new version of the product can be compared only once its reference years are published again, so first vintages alone give it no value
// for years.
func firstOf(in series.Set, compute func(series.Set, time.Time) signals.Track) []series.Point {
	var instants []series.Instant
	for _, points := range in {
		for _, p := range points {
			instants = append(instants, p.VintageAt)
		}
	}
	slices.Sort(instants)
	first := map[series.Instant]series.Point{}
	for _, at := range slices.Compact(instants) {
		for _, e := range compute(asOf(in, at), at.Time()) {
			if _, there := first[e.ObservedAt]; !there && !math.IsNaN(e.Value) {
				first[e.ObservedAt] = series.Point{ObservedAt: e.ObservedAt, VintageAt: at, Value: e.Value}
			}
		}
	}
	return slices.SortedFunc(maps.Values(first), func(a, b series.Point) int { return cmp.Compare(a.ObservedAt, b.ObservedAt) })
}

// asOf returns the newest numbers that were known at an instant. in has all vintages, by observation time and vintage.
func asOf(in series.Set, at series.Instant) series.Set {
	out := make(series.Set, len(in))
	for id, points := range in {
		kept := make([]series.Point, 0, len(points))
		for _, p := range points {
			if p.VintageAt > at {
				continue
			}
			if n := len(kept); n > 0 && kept[n-1].ObservedAt == p.ObservedAt {
				kept = kept[:n-1]
			}
			kept = append(kept, p)
		}
		out[id] = slices.DeleteFunc(kept, func(p series.Point) bool { return math.IsNaN(p.Value) })
	}
	return out
}

// no2Steps says each month as 100 times what months were off by before, and holds that against the month before and against 100.
func no2Steps(months []series.Point, last time.Time) []step {
	correction := newConformal(conformalStep, conformalNodes)
	all := len(months)
	anomalies, fromLast, from100 := window{capacity: all}, window{capacity: all}, window{capacity: all}
	before := math.NaN()
	var out []step
	for _, p := range append(slices.Clip(months), series.Point{ObservedAt: series.InstantOf(last), Value: math.NaN()}) {
		s := step{period: p.ObservedAt.Time(), value: p.Value}
		logs, ok := anomalies.dress(0, 1, no2MinMonths)
		var ok1, ok2 bool
		s.naive1, ok1 = fromLast.dress(before, 1, no2MinMonths-1)
		s.naive2, ok2 = from100.dress(100, 1, no2MinMonths)
		if s.ok = ok && ok1 && ok2; s.ok {
			var q Quantiles
			for i, x := range logs {
				q[i] = 100 * math.Exp(x)
			}
			s.quantiles = correction.correct(q)
			if !math.IsNaN(p.Value) {
				correction.learn(func(level float64) bool { return p.Value <= q.At(level) })
			}
		}
		out = append(out, s)
		anomalies.add(math.Log(p.Value / 100))
		from100.add(p.Value - 100)
		fromLast.add(p.Value - before)
		before = p.Value
	}
	return out
}
