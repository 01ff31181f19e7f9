package signals

import (
	"math"
	"time"

	"tidemark/series"
)

// The seasonal baselines look at the same time of the year in the years before. Five years is the span of the "five-year range" in
// the charts of EIA's weekly report: long enough to average single winters and refinery outages away, short enough to
// leave out another market.
const (
	seasonYears = 5
	// minSeasonYears is how many of them must be matched before there is a baseline. A spread has one degree of freedom less
	// than it has values: from two years it rests on a single difference, and the z-score in it says nothing.
	minSeasonYears = 3
)

const secondsPerDay = 24 * 60 * 60

// dayOf is the UTC date of t as the number of days since 1970-01-01.
func dayOf(t time.Time) int { return int(floorDiv(t.Unix(), secondsPerDay)) }

// yearsBefore is the day with t's month and day, k years earlier. 29 February becomes the 28th where that year has none.
func yearsBefore(t time.Time, k int) int {
	year, month, day := t.UTC().Date()
	year -= k
	if month == time.February && day == 29 && !leap(year) {
		day = 28
	}
	return dayOf(time.Date(year, month, day, 0, 0, 0, 0, time.UTC))
}

func leap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func floorDiv[T int | int64](a, b T) T {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// businessDays counts the days from Monday to Friday after the day from, up to and with the day to, on the UTC calendar; 0 when to
// is not later. Holidays count: whoever scales a spread by it errs to the wide side.
func businessDays(from, to int) int {
	if to <= from {
		return 0
	}
	return weekdaysUntil(to) - weekdaysUntil(from)
}

// weekdaysUntil counts the days from Monday to Friday from Monday 1969-12-29 up to and with day.
func weekdaysUntil(day int) int {
	const monday = -3 // 1970-01-01 was a Thursday
	weeks := floorDiv(day-monday, 7)
	return 5*weeks + min(day-monday-7*weeks+1, 5)
}

// monthDayWindow is a baseline of all values within days calendar days of the same month and day in each of the five previous years.
type monthDayWindow struct {
	days int
	// minPerYear is how many values the window of a year must hold for the year to count as matched. All values found enter the
	// moments, but only once minSeasonYears are matched.
	minPerYear int
}

// moments yields the baseline's sample for every point: the empty one where too few years are matched. The windows close months
// before the point, so no point sees its own future. The blocks lie on the calendar and not on the history's start: the same
// windows give the same bits however far back the history goes.
func (b monthDayWindow) moments(points []series.Point) []moments {
	width := 2*b.days + 1
	days := make([]int, len(points))
	for i, p := range points {
		days[i] = dayOf(p.ObservedAt)
	}
	w := newWindows(valuesOf(points), func(i int) int { return floorDiv(days[i], width) })
	out := make([]moments, len(points))
	var lo, hi [seasonYears]int // a year's window is points[lo:hi]; both only ever move forward
	for i, p := range points {
		var sample moments
		matched := 0
		for k := range seasonYears {
			centre := yearsBefore(p.ObservedAt, k+1)
			for lo[k] < len(points) && days[lo[k]] < centre-b.days {
				lo[k]++
			}
			for hi[k] < len(points) && days[hi[k]] <= centre+b.days {
				hi[k]++
			}
			if hi[k]-lo[k] >= b.minPerYear {
				matched++
			}
			sample = sample.merge(w.over(lo[k], hi[k]))
		}
		if matched >= minSeasonYears {
			out[i] = sample
		}
	}
	return out
}

// sameWeeks finds for every point of a weekly series, and for each of the five previous years, the index of the point in the same
// week: at most three days from the same month and day, the nearest if there are several, the earlier of two equally near. Since
// weeks end on one weekday, seven days hold exactly one. -1 stands where the series has a gap or has not begun.
func sameWeeks(points []series.Point) [][seasonYears]int {
	const reach = 3
	days := make([]int, len(points))
	for i, p := range points {
		days[i] = dayOf(p.ObservedAt)
	}
	out := make([][seasonYears]int, len(points))
	var next [seasonYears]int // the first point that is not before the reach; it only ever moves forward
	for i, p := range points {
		for k := range seasonYears {
			centre := yearsBefore(p.ObservedAt, k+1)
			for days[next[k]] < centre-reach { // ends at i at the latest
				next[k]++
			}
			best, distance := -1, reach+1
			for j := next[k]; days[j] <= centre+reach; j++ {
				if d := max(days[j]-centre, centre-days[j]); d < distance {
					best, distance = j, d
				}
			}
			out[i][k] = best
		}
	}
	return out
}

// week is how one week of a weekly series stands against the same weeks of the five previous years. The samples are empty, and the
// numbers NaN, where fewer than minSeasonYears are matched.
type week struct {
	// level is the sample of the matched weeks' values, low and high its range.
	level     moments
	low, high float64
	// change is the difference from seven days before, NaN after a gap; season is the sample of the matched weeks' changes.
	change float64
	season moments
}

// surprise is the week's change less the mean change of the matched weeks.
func (w week) surprise() float64 { return w.change - w.season.mean() }

// weeks compares every point of a weekly series with the same weeks of the five previous years.
func weeks(points []series.Point) []week {
	out := make([]week, len(points))
	for i, matches := range sameWeeks(points) {
		w := week{low: math.Inf(1), high: math.Inf(-1), change: math.NaN()}
		if i > 0 && dayOf(points[i].ObservedAt)-dayOf(points[i-1].ObservedAt) == 7 {
			w.change = points[i].Value - points[i-1].Value
		}
		for _, j := range matches {
			if j < 0 {
				continue
			}
			w.level = w.level.add(points[j].Value)
			w.low, w.high = min(w.low, points[j].Value), max(w.high, points[j].Value)
			if change := out[j].change; !math.IsNaN(change) {
				w.season = w.season.add(change)
			}
		}
		if w.level.n < minSeasonYears {
			w.level, w.low, w.high = moments{}, math.NaN(), math.NaN()
		}
		if w.season.n < minSeasonYears {
			w.season = moments{}
		}
		out[i] = w
	}
	return out
}
