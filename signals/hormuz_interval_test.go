package signals

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tidemark/internal/series"
)

// estimator is a publisher of daily counts that estimates its whole history again now and then: each week keeps a share of its ships, drawn
// from a skewed distribution.
type estimator struct {
	rng  *rand.Rand
	all  []series.Observation
	last map[int]float64
}

func newEstimator(seed uint64) *estimator {
	return &estimator{rng: rand.New(rand.NewPCG(seed, 19)), last: map[int]float64{}}
}

func (e *estimator) say(day int, at time.Time, v float64) {
	if old, ok := e.last[day]; ok && old == v {
		return
	}
	e.last[day] = v
	e.all = append(e.all, series.Observation{
		Series: hormuzShips, ObservedAt: time.Unix(int64(day)*secondsPerDay, 0).UTC(), VintageAt: at, Value: v,
	})
}

// publish says the days from one to another for the first time.
func (e *estimator) publish(from, to int, at time.Time) {
	for day := from; day <= to; day++ {
		e.say(day, at, math.Round(80+20*e.rng.Float64()))
	}
}

// again estimates every week again, mostly downwards.
func (e *estimator) anew(at time.Time) {
	for day := range e.last {
		week := rand.New(rand.NewPCG(uint64(sundayOf(day)), uint64(at.Unix()))) // the days of a week move together
		e.say(day, at, math.Round(e.last[day]*(1.02-0.3*math.Abs(week.NormFloat64())/2)))
	}
	slices.SortStableFunc(e.all, func(a, b series.Observation) int {
		if d := a.ObservedAt.Compare(b.ObservedAt); d != 0 {
			return d
		}
		return a.VintageAt.Compare(b.VintageAt)
	})
}

// known returns the inputs of Compute as of an instant: the newest values, and the values before their newest change.
func (e *estimator) known(at time.Time) series.Set {
	now, before := map[int]series.Point{}, map[int]series.Point{}
	for _, o := range e.all {
		if o.VintageAt.After(at) {
			continue
		}
		day := dayOf(o.ObservedAt)
		if old, ok := now[day]; ok {
			before[day] = series.Point{ObservedAt: series.InstantOf(o.ObservedAt), VintageAt: series.InstantOf(o.VintageAt), Value: old.Value}
		}
		now[day] = series.Point{ObservedAt: series.InstantOf(o.ObservedAt), VintageAt: series.InstantOf(o.VintageAt), Value: o.Value}
	}
	return series.Set{hormuzShips: inDays(now), series.Before(hormuzShips): inDays(before)}
}

func inDays(m map[int]series.Point) []series.Point {
	var out []series.Point
	for _, p := range m {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b series.Point) int { return a.ObservedAt.Time().Compare(b.ObservedAt.Time()) })
	return out
}

func TestHormuzIntervalIsTheAssumedOneUntilTwentyWeeksWereReestimated(t *testing.T) {
	t.Parallel()
	for weeks, learned := range map[int]bool{19: false, 20: true} {
		e := newEstimator(1)
		first := dayOf(date("2024-01-01")) // a Monday
		e.publish(first, first+7*weeks-1, date("2025-01-02"))
		e.anew(date("2025-02-01"))
		track := computeHormuz(e.known(date("2025-02-02")), date("2025-02-02"))
		last := track[len(track)-1]
		lo, hi := hormuzShift{hormuzAssumedDown, hormuzAssumedUp}.band(last.Value)
		if same := last.Lo == lo && last.Hi == hi; same == learned {
			t.Errorf("after %d weeks: %v to %v around %v, assumed are %v to %v", weeks, last.Lo, last.Hi, last.Value, lo, hi)
		}
	}
	if lo, hi := (hormuzShift{hormuzAssumedDown, hormuzAssumedUp}).band(0); lo != 0 || hi < 0.3 {
		t.Errorf("no ship in seven days makes the band %v to %v, want one from 0 that is open above", lo, hi)
	}
}

func TestHormuzIntervalLeansToWhereReestimatesGoAndHoldsTheNextOnes(t *testing.T) {
	t.Parallel()
	e := newEstimator(2)
	first := dayOf(date("2019-01-07")) // a Monday
	e.publish(first, first+7*150-1, date("2022-06-01"))
	at := date("2022-07-01")
	for range 6 {
		e.anew(at)
		at = at.AddDate(0, 2, 0)
	}
	track := computeHormuz(e.known(at), at)
	last := track[len(track)-1]
	if down, up := last.Value-last.Lo, last.Hi-last.Value; !(down > 3*up) {
		t.Errorf("%v to %v around %v: the interval should be longer below", last.Lo, last.Hi, last.Value)
	}
	basis, record := hormuzTransit().MeasureInterval(series.Set{}, map[series.ID][]series.Observation{hormuzShips: e.all}, at)
	if basis != BasisMeasured || record.Cases < 500 || record.Share < 0.86 || record.Share > 0.94 || record.Last2Years.Cases != record.Cases {
		t.Errorf("%s, %+v", basis, record)
	}
	if basis, record := hormuzTransit().MeasureInterval(series.Set{}, nil, at); basis != BasisAssumed || record != nil {
		t.Errorf("without any re-estimate: %s, %+v", basis, record)
	}
}

// The record counts exactly the intervals that were served: those in the last track computed before a re-estimate.
func TestHormuzRecordIsOfTheIntervalsThatWereServed(t *testing.T) {
	t.Parallel()
	e := newEstimator(3)
	day := dayOf(date("2023-01-02"))
	e.publish(day, day+7*40-1, date("2023-10-12"))
	day += 7 * 40
	at := date("2023-11-01")
	hits, cases := 0, 0
	for i := range 8 {
		before := map[int]Estimate{}
		for _, x := range computeHormuz(e.known(at.Add(-time.Hour)), at.Add(-time.Hour)) {
			before[x.ObservedAt.Days()] = x
		}
		was := map[int]bool{} // weeks whose interval was learned
		for d, x := range before {
			lo, _ := hormuzShift{hormuzAssumedDown, hormuzAssumedUp}.band(x.Value)
			was[d] = x.Lo != lo
		}
		if i%2 == 0 {
			e.anew(at)
		} else {
			e.publish(day, day+7*3-1, at)
			day += 7 * 3
		}
		for _, x := range computeHormuz(e.known(at), at) {
			d := x.ObservedAt.Days()
			if old, ok := before[d]; ok && x.ObservedAt.Time().Weekday() == time.Sunday && old.Value != x.Value && was[d] {
				cases++
				if old.Lo <= x.Value && x.Value <= old.Hi {
					hits++
				}
			}
		}
		at = at.AddDate(0, 1, 0)
	}
	got := hormuzTrials(IntervalHistory{Vintages: map[series.ID][]series.Observation{hormuzShips: e.all}})
	gotHits := 0
	for _, trial := range got {
		if trial.Hit {
			gotHits++
		}
	}
	if cases < 100 || len(got) != cases || gotHits != hits {
		t.Errorf("the record has %d hits of %d, what was served %d of %d", gotHits, len(got), hits, cases)
	}
}
