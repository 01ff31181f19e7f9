package signals

import (
	"math"
	"slices"
	"time"

	"tidemark/internal/series"
)

// The interval of Hormuz bounds the mean of the same seven days after PortWatch's next re-estimate of them. The effect of re-estimates is
// learned from the earlier ones. A re-estimate is measured on the scale of 2*sqrt(count of the week + 3/8). There counting errors have
// equal size (Anscombe, Biometrika 35, 1948), so weeks of 4 ships a day and of 100 can be pooled.
const (
	// hormuzMinWeeks is how many weeks to Sunday must have been seen to change before anything is learned from them. The quantiles of fewer
	// would be their extremes.
	hormuzMinWeeks = 20
	// hormuzAssumedDown and hormuzAssumedUp are used until then. They are the 5 % and 95 % quantiles of the re-estimates of 52 weeks to
	// Sunday between 21 April and 6 July 2026.
	hormuzAssumedDown, hormuzAssumedUp = -6.9, 3.4
)

// hormuzShift is how far a re-estimate moves a week, on the scale of counting errors, at 5 % and at 95 %.
type hormuzShift struct{ down, up float64 }

// learned reports whether the shift is not the assumed one.
func (s hormuzShift) learned() bool { return s != hormuzShift{hormuzAssumedDown, hormuzAssumedUp} }

// shiftOf learns from the last re-estimate of each week. It reaches to either side of the value at least as far as the value itself.
func shiftOf(moves []float64) hormuzShift {
	if len(moves) < hormuzMinWeeks {
		return hormuzShift{hormuzAssumedDown, hormuzAssumedUp}
	}
	s := sorted(slices.Sorted(slices.Values(moves)))
	return hormuzShift{min(0, s.between((1-Level)/2)), max(0, s.between((1+Level)/2))}
}

// band returns the bounds for a mean of seven days after a re-estimate.
func (s hormuzShift) band(mean float64) (lo, hi float64) {
	on := stabilised(mean)
	return shifted(on, s.down), shifted(on, s.up)
}

// stabilised is a mean of seven days on the scale of counting errors. shifted is the mean that lies by so much beside a place on it, never
// below zero.
func stabilised(mean float64) float64 { return 2 * math.Sqrt(float64(hormuzWeek*mean)+0.375) }

func shifted(on, by float64) float64 {
	root := (on + by) / 2
	if root < 0 {
		root = 0
	}
	mean := (float64(root*root) - 0.375) / hormuzWeek
	if mean < 0 {
		return 0
	}
	return mean
}

// learnShift learns from the last re-estimate that each week to Sunday had. before holds what days were before their newest change.
func learnShift(now, before []series.Point) hormuzShift {
	var moves []float64
	for _, r := range reestimates(now, before) {
		moves = append(moves, r.by)
	}
	return shiftOf(moves)
}

// reestimate is the last re-estimate of a week to Sunday.
type reestimate struct {
	// week are its seven days now, and before what some of them were before their newest change.
	week, before []series.Point
	// by is how far its mean moved, on the scale of counting errors.
	by float64
}

// reestimates returns the last re-estimate of each week to Sunday whose mean it moved.
func reestimates(now, before []series.Point) (out []reestimate) {
	if len(before) == 0 {
		return nil
	}
	old := make(map[int]series.Point, len(before))
	for _, p := range before {
		old[p.ObservedAt.Days()] = p
	}
	for i := hormuzWeek - 1; i < len(now); i++ {
		week := now[i+1-hormuzWeek : i+1]
		if !weekToSunday(week) {
			continue
		}
		last := 0 // the day of the last change
		var changed []series.Point
		for _, p := range week {
			if o, ok := old[p.ObservedAt.Days()]; ok {
				last = max(last, o.VintageAt.Days())
				changed = append(changed, o)
			}
		}
		var was, is float64
		for _, p := range week {
			is += p.Value
			if o, ok := old[p.ObservedAt.Days()]; ok && o.VintageAt.Days() == last {
				was += o.Value
			} else {
				was += p.Value
			}
		}
		if was != is { // whole numbers
			out = append(out, reestimate{week, changed, stabilised(is/hormuzWeek) - stabilised(was/hormuzWeek)})
		}
	}
	return out
}

// weekToSunday reports whether seven points are a week from Monday to Sunday.
func weekToSunday(week []series.Point) bool {
	return week[hormuzWeek-1].ObservedAt.Time().Weekday() == time.Sunday &&
		week[hormuzWeek-1].ObservedAt.Days()-week[0].ObservedAt.Days() == hormuzWeek-1
}

// hormuzTrials walks through the days on which PortWatch changed old counts. Each week to Sunday that changed is tested against its
// interval before the change, if that was learned; so no day counts twice. All changes of one day are one response.
func hormuzTrials(h IntervalHistory) []Trial {
	vintages := slices.Clone(h.Vintages[hormuzShips])
	slices.SortStableFunc(vintages, func(a, b series.Observation) int {
		if a.VintageAt.Equal(b.VintageAt) {
			return a.ObservedAt.Compare(b.ObservedAt)
		}
		return a.VintageAt.Compare(b.VintageAt)
	})
	counts := map[int]float64{}
	moves := map[int]float64{} // the last re-estimate of a week
	served := shiftOf(nil)     // what intervals were made with before the answer at hand
	var out []Trial
	for len(vintages) > 0 {
		day, at := dayOf(vintages[0].VintageAt), vintages[0].VintageAt
		n := 0
		before := map[int]float64{} // the means of the weeks that this answer changes; NaN for an unknown mean
		for ; n < len(vintages) && dayOf(vintages[n].VintageAt) == day; n++ {
			sunday := sundayOf(dayOf(vintages[n].ObservedAt))
			if _, ok := before[sunday]; !ok {
				before[sunday] = weekMean(counts, sunday)
			}
			if v := vintages[n]; v.Marker == "" {
				counts[dayOf(v.ObservedAt)] = v.Value
			} else {
				delete(counts, dayOf(v.ObservedAt))
			}
		}
		vintages = vintages[n:]
		for sunday, was := range before {
			is := weekMean(counts, sunday)
			if was == is {
				delete(moves, sunday)
				continue
			}
			if math.IsNaN(was) || math.IsNaN(is) {
				continue
			}
			if served.learned() {
				lo, hi := served.band(was)
				out = append(out, Trial{At: at, Hit: lo <= is && is <= hi})
			}
			moves[sunday] = stabilised(is) - stabilised(was)
		}
		sizes := make([]float64, 0, len(moves))
		for _, by := range moves {
			sizes = append(sizes, by)
		}
		served = shiftOf(sizes)
	}
	return out
}

// sundayOf is the number of the Sunday that ends the week of a day.
func sundayOf(day int) int {
	const sunday = 3 // 1970-01-04
	return day + (sunday-day%7+7)%7
}

// weekMean returns the mean of the seven days up to a Sunday; NaN if one is unknown.
func weekMean(counts map[int]float64, sunday int) float64 {
	var sum float64
	for day := sunday - hormuzWeek + 1; day <= sunday; day++ {
		v, ok := counts[day]
		if !ok {
			return math.NaN()
		}
		sum += v
	}
	return sum / hormuzWeek
}
