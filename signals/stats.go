package signals

import (
	"math"
	"slices"
	"time"

	"tidemark/series"
)

// The statistics that several signals share stand here and in seasonal.go. All are pure, take and yield values in the unit of
// their input, answer NaN for what is unknown, and cost O(n) for a whole history. The means and deviations of gonum's stat package
// are two passes over one sample: right for one window, O(n*w) for a window that slides, and not always zero for a constant sample,
// whose z-score must be unknown. The tests compare with gonum.
//
// Products that are added are written float64(a*b): the language lets some processors fuse the two and round once, and a past
// snapshot must come out with the same bits on every machine.

// moments are the count, the mean and the sum of squared deviations of a sample. The zero value is the empty sample. Samples are put
// together and never taken apart: a difference of running sums loses the digits that a small spread beside a large value is
// made of, and keeps the error of an outlier that has long left the window. The spread of a constant sample is exactly zero, and
// an unknown value (NaN) makes those samples unknown that hold it and no other.
type moments struct {
	n int
	// The mean is kept as the distance off from the sample's first value, so that it does not round to the size of the values.
	first, off float64
	m2         float64
}

// add is m with one more value: Welford's recurrence (Technometrics 4, 1962), counted from the first value.
func (m moments) add(x float64) moments {
	if m.n == 0 {
		return moments{n: 1, first: x}
	}
	m.n++
	y := x - m.first
	d := y - m.off
	m.off += d / float64(m.n)
	m.m2 += float64(d * (y - m.off))
	return m
}

// merge is the union of two samples that share no value: the pairwise formula of Chan, Golub and LeVeque (Stanford STAN-CS-79-773,
// 1979).
func (m moments) merge(o moments) moments {
	switch {
	case m.n == 0:
		return o
	case o.n == 0:
		return m
	}
	a, b := float64(m.n), float64(o.n)
	d := (o.first - m.first) + (o.off - m.off)
	m.n += o.n
	m.off += float64(d * (b / (a + b)))
	m.m2 += o.m2 + float64(d*d*(a*b/(a+b)))
	return m
}

// mean is NaN for the empty sample.
func (m moments) mean() float64 {
	if m.n == 0 {
		return math.NaN()
	}
	return m.first + m.off
}

// sd is the sample standard deviation (n-1), NaN for fewer than two values.
func (m moments) sd() float64 {
	if m.n < 2 {
		return math.NaN()
	}
	return math.Sqrt(m.m2 / float64(m.n-1))
}

// windows answers for the moments of many stretches of one sequence of values. It cuts the sequence into blocks and keeps the
// moments from every value to both ends of its block: a stretch over the border of two blocks is then one merge. This is the
// method of van Herk (1992) and of Gil and Werman (1993) for sliding minima, with moments in the minimum's place.
type windows struct {
	values             []float64
	block              []int
	fromStart, toClose []moments
}

// newWindows prepares windows over values. block tells the number of the block of the i-th value and never falls. Stretches as wide
// as a block cost O(1).
func newWindows(values []float64, block func(i int) int) windows {
	w := windows{
		values:    values,
		block:     make([]int, len(values)),
		fromStart: make([]moments, len(values)),
		toClose:   make([]moments, len(values)),
	}
	var run moments
	for i, v := range values {
		w.block[i] = block(i)
		if w.opens(i) {
			run = moments{}
		}
		run = run.add(v)
		w.fromStart[i] = run
	}
	for i, v := range slices.Backward(values) {
		if w.closes(i) {
			run = moments{}
		}
		run = run.add(v)
		w.toClose[i] = run
	}
	return w
}

// opens tells whether the i-th value is the first of its block, closes whether it is the last.
func (w windows) opens(i int) bool  { return i == 0 || w.block[i-1] != w.block[i] }
func (w windows) closes(i int) bool { return i == len(w.block)-1 || w.block[i+1] != w.block[i] }

// over is the moments of values[lo:hi].
func (w windows) over(lo, hi int) moments {
	if lo >= hi {
		return moments{}
	}
	switch first, last := w.block[lo], w.block[hi-1]; {
	case first == last && w.opens(lo):
		return w.fromStart[hi-1]
	case first == last && w.closes(hi-1):
		return w.toClose[lo]
	case first+1 == last:
		return w.toClose[lo].merge(w.fromStart[hi-1])
	}
	var m moments // a stretch that the blocks were not cut for
	for _, v := range w.values[lo:hi] {
		m = m.add(v)
	}
	return m
}

// trailing yields for every i the moments of the n values that end with values[i]: the empty sample where there are fewer than n.
func trailing(values []float64, n int) []moments {
	w := newWindows(values, func(i int) int { return i / n })
	out := make([]moments, len(values))
	for i := n - 1; i < len(values); i++ {
		out[i] = w.over(i+1-n, i+1)
	}
	return out
}

// changes yields the differences between neighbours: changes(v)[i] is v[i+1] - v[i].
func changes(values []float64) []float64 {
	if len(values) < 2 {
		return nil
	}
	out := make([]float64, len(values)-1)
	for i := range out {
		out[i] = values[i+1] - values[i]
	}
	return out
}

// sorted is a multiset of numbers in ascending order. A change costs a search and a move of at most the whole set, which a window
// keeps small.
type sorted []float64

func (s *sorted) insert(x float64) {
	i, _ := slices.BinarySearch(*s, x)
	*s = slices.Insert(*s, i, x)
}

// remove takes one x away, which must be there.
func (s *sorted) remove(x float64) {
	i, _ := slices.BinarySearch(*s, x)
	*s = slices.Delete(*s, i, i+1)
}

// quantile is the smallest member that at least the share p of the members does not exceed: the inverse of the empirical
// distribution, as gonum's stat.Empirical and SQL's percentile_disc. It is always a value that occurred. NaN for the empty set.
func (s sorted) quantile(p float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	rank := int(math.Ceil(p * float64(len(s))))
	return s[min(max(rank, 1), len(s))-1]
}

// between is the quantile p by linear interpolation at rank p*(n+1), the ends standing in for what lies beyond them: type 6 of Hyndman
// and Fan (The American Statistician 50, 1996). It is the one for bands around a forecast: of n earlier errors and the one to come,
// each rank is equally likely to be the newcomer's, so that the share p of all cases falls below. NaN for the empty set.
func (s sorted) between(p float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	rank := min(max(float64(p*float64(len(s)+1)), 1), float64(len(s)))
	below := min(int(rank), len(s)-1)
	if below == 0 {
		return s[0] // the only one
	}
	return s[below-1] + float64((rank-float64(below))*(s[below]-s[below-1]))
}

// median is the middle member, or the mean of the two in the middle. NaN for the empty set.
func (s sorted) median() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// mad is the median of the distances from the median. The members below the median and those above it are two runs of rising
// distances: they are merged up to the middle. NaN for the empty set.
func (s sorted) mad() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	m := s.median()
	above, _ := slices.BinarySearch(s, m)
	below := above - 1
	var last, d float64
	for range len(s)/2 + 1 {
		last = d
		if above == len(s) || below >= 0 && m-s[below] < s[above]-m {
			d = m - s[below]
			below--
		} else {
			d = s[above] - m
			above++
		}
	}
	if len(s)%2 == 0 {
		d = (last + d) / 2
	}
	return d
}

// trailingQuantiles yields for every point the empirical quantiles p and q of the values that belong to the points of the years
// before it, its own included: those after the same month and day years earlier. Unknown values are left out; NaN where fewer
// than atLeast are known.
func trailingQuantiles(points []series.Point, values []float64, years, atLeast int, p, q float64) (lower, upper []float64) {
	lower, upper = make([]float64, len(points)), make([]float64, len(points))
	var window sorted
	oldest := 0
	for i, point := range points {
		if !math.IsNaN(values[i]) {
			window.insert(values[i])
		}
		for start := yearsBefore(point.ObservedAt, years); dayOf(points[oldest].ObservedAt) <= start; oldest++ {
			if !math.IsNaN(values[oldest]) {
				window.remove(values[oldest])
			}
		}
		lower[i], upper[i] = math.NaN(), math.NaN()
		if len(window) >= atLeast {
			lower[i], upper[i] = window.quantile(p), window.quantile(q)
		}
	}
	return lower, upper
}

// known is x, or NaN where arithmetic on absurd input ended in an infinity.
func known(x float64) float64 {
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	return x
}

// known is the estimate without infinities.
func (e Estimate) known() Estimate {
	e.Value, e.Lo, e.Hi = known(e.Value), known(e.Lo), known(e.Hi)
	e.Baseline, e.Scale = known(e.Baseline), known(e.Scale)
	return e
}

// known is the component without infinities.
func (c Component) known() Component {
	c.Value, c.Baseline, c.Scale = known(c.Value), known(c.Baseline), known(c.Scale)
	return c
}

// valuesOf is the bare values of points.
func valuesOf(points []series.Point) []float64 {
	out := make([]float64, len(points))
	for i, p := range points {
		out[i] = p.Value
	}
	return out
}

// until is the points at or before t, the rest of which is cut off without copying.
func until(points []series.Point, t time.Time) []series.Point {
	n, _ := slices.BinarySearchFunc(points, t, func(p series.Point, t time.Time) int {
		if p.ObservedAt.After(t) {
			return 1
		}
		return -1
	})
	return points[:n:n]
}
