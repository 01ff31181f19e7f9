package signals

import (
	"iter"
	"math"
	"math/bits"
	"slices"

	"tidemark/internal/series"
)

// The statistics that several signals share are in this file and in seasonal.go. All are pure, take and return values in the unit of
// their input, return NaN for unknown values, and cost O(n) for a whole history. The means and deviations of gonum's stat package are two
// passes over one sample. That is right for one window, but O(n*w) for a sliding window. It is also not always zero for a constant
// sample, whose z-score must be unknown. The tests compare with gonum.
//
// Products that are added are written float64(a*b): the language lets some processors fuse the two and round once, and a past snapshot
// must have the same bits on every machine.

// moments are the count, the sum and the sum of squares of a sample, both relative to the sample's first value. The zero value is the empty
// sample. Samples are merged and never split. A difference of running sums loses the digits of a spread that is small compared with the
// values, and keeps the error of an outlier that has left the window. The spread of a constant sample is exactly zero. An unknown value
// (NaN) makes only the samples unknown that contain it.
//
// Sums of squares are often distrusted because a spread is then the small difference of two large numbers. That does not apply if they are
// relative to a member of the sample. If the value farthest from that member is at distance D, the sums of n values are at most n*D*D. The
// squared deviations, which include these two values, are at least D*D/2. So at most a factor of 2n is lost, three of sixteen digits for
// the samples here. The division is done only on request. (The shift is from Chan, Golub and LeVeque, The American Statistician 37, 1983.)
type moments struct {
	n                   int
	first, sum, squares float64
}

// add is m with one more value.
func (m moments) add(x float64) moments {
	if m.n == 0 {
		m.first = x
	}
	y := x - m.first
	m.n++
	m.sum += y
	m.squares += float64(y * y)
	return m
}

// merge is the union of two samples that share no value. It is counted from the first value of m.
func (m moments) merge(o moments) moments {
	switch {
	case m.n == 0:
		return o
	case o.n == 0:
		return m
	}
	return m.join(o)
}

// join is merge of two samples that are not empty.
func (m moments) join(o moments) moments {
	d, n := o.first-m.first, float64(o.n)
	m.n += o.n
	m.squares += o.squares + float64(d*(float64(2*o.sum)+float64(n*d)))
	m.sum += o.sum + float64(n*d)
	return m
}

// mean is NaN for the empty sample.
func (m moments) mean() float64 {
	if m.n == 0 {
		return math.NaN()
	}
	return m.first + m.sum/float64(m.n)
}

// meanAndSD are mean and sd. It divides once less.
func (m moments) meanAndSD() (mean, sd float64) {
	if m.n < 2 {
		return m.mean(), math.NaN()
	}
	n := float64(m.n)
	share := m.sum / n
	deviations := m.squares - float64(m.sum*share)
	if deviations < 0 {
		deviations = 0
	}
	return m.first + share, math.Sqrt(deviations / (n - 1))
}

// deviations is the sum of the squared deviations from the mean.
func (m moments) deviations() float64 {
	d := m.squares - float64(m.sum*(m.sum/float64(m.n)))
	if d < 0 {
		return 0
	}
	return d
}

// sd is the sample standard deviation (n-1), NaN for fewer than two values.
func (m moments) sd() float64 {
	_, sd := m.meanAndSD()
	return sd
}

// Windows that slide over a sequence of values come from blocks of it. A block has the moments from each value to its end, and from its start up to
// each value. A window over the border of two blocks is then one merge. This is the method of van Herk (1992) and of Gil and Werman
// (1993) for sliding minima, with moments in place of the minimum. It costs O(1) a window, and memory for one block.

// tailsOf are the moments from every value of a block to the block's end. It reuses memory.
func tailsOf(block []float64, memory []moments) []moments {
	tails := sized(memory, len(block))
	var tail moments
	for i := len(block) - 1; i >= 0; i-- {
		tail = tail.add(block[i])
		tails[i] = tail
	}
	return tails
}

// headsOf are the moments from the start of a block up to every value. It reuses memory.
func headsOf(block []float64, memory []moments) []moments {
	heads := sized(memory, len(block))
	var head moments
	for i, x := range block {
		head = head.add(x)
		heads[i] = head
	}
	return heads
}

// trailing yields the moments of the n values that end with the i-th, for each i that has so many.
func trailing(values []float64, n int) iter.Seq2[int, moments] {
	return func(yield func(int, moments) bool) {
		var tails []moments
		for from := 0; from+n <= len(values); from += n {
			tails = tailsOf(values[from:from+n], tails)
			after := values[from+n:]
			var head moments
			for i, tail := range tails {
				if !yield(from+i+n-1, tail.merge(head)) || i == len(after) {
					return
				}
				head = head.add(after[i])
			}
		}
	}
}

// changes are the differences between neighbours: the i-th is values[i+1] - values[i]. They are in memory, if that is large enough.
func changes(values, memory []float64) []float64 {
	if len(values) < 2 {
		return nil
	}
	out := sized(memory, len(values)-1)
	for i := range out {
		out[i] = values[i+1] - values[i]
	}
	return out
}

// sorted is a multiset of numbers in ascending order. A change costs a search and a move of at most the whole set, which a window
// keeps small.
type sorted []float64

func (s *sorted) insert(x float64) {
	*s = slices.Insert(*s, s.place(x), x)
}

// remove takes one x away, which must be there.
func (s *sorted) remove(x float64) {
	i := s.place(x)
	*s = slices.Delete(*s, i, i+1)
}

// place is how many members are below x. No member is NaN, which slices.BinarySearch would look for at each step.
func (s *sorted) place(x float64) int {
	list, from := *s, 0
	for n := len(list); n > 0; {
		half := n / 2
		if list[from+half] < x {
			from, n = from+half+1, n-half-1
		} else {
			n = half
		}
	}
	return from
}

// quantile is the smallest member that at least the share p of the members does not exceed: the inverse of the empirical
// distribution, as gonum's stat.Empirical and SQL's percentile_disc. It is always a value that occurred. NaN for the empty set.
func (s sorted) quantile(p float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	return s[quantileRank(p, len(s))-1]
}

// quantileRank is the rank of the quantile p among n members, from 1 on.
func quantileRank(p float64, n int) int {
	return min(max(int(math.Ceil(p*float64(n))), 1), n)
}

// between is the quantile p by linear interpolation at rank p*(n+1), limited to the ends: type 6 of Hyndman and Fan (The American
// Statistician 50, 1996). It suits bands around a forecast. Among n earlier errors and the next one, the next error has each rank with
// equal probability, so the share p of all cases falls below. The result is NaN for the empty set.
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

// trailingQuantiles returns for every point the empirical quantiles p and q of the values of earlier years and its own year: the points
// with the same month and day. Unknown values are left out. The result is NaN if fewer than minKnown, which is at least 1, are known. It
// sorts all values once: a window is a set of places in that order.
func trailingQuantiles(points []series.Point, values []float64, years, minKnown int, p, q float64) (lower, upper []float64) {
	lower, upper = make([]float64, len(points)), make([]float64, len(points))
	known := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	order := inOrderOf(known)
	places := make([]int, len(known))
	for place, c := range order {
		places[c.i] = place
	}
	window := make(placeSet, len(known)/64+1)
	var low, high nth
	from, to := 0, 0 // the known values in the window
	oldest := 0
	before := anniversaries{ago: func(calendarDay) []int { return []int{years} }}
	for i := range points {
		day := points[i].ObservedAt.Days()
		for start := day - before.daysBack(day)[0]; points[oldest].ObservedAt.Days() <= start; oldest++ {
			if !math.IsNaN(values[oldest]) {
				window.remove(places[from])
				low.removed(places[from])
				high.removed(places[from])
				from++
			}
		}
		if !math.IsNaN(values[i]) {
			window.add(places[to])
			low.added(places[to])
			high.added(places[to])
			to++
		}
		lower[i], upper[i] = math.NaN(), math.NaN()
		if n := to - from; n >= minKnown {
			lower[i], upper[i] = order[low.move(window, quantileRank(p, n)-1)].x, order[high.move(window, quantileRank(q, n)-1)].x
		}
	}
	return lower, upper
}

// placeSet is a set of places in a sorted list, one bit each.
type placeSet []uint64

func (s placeSet) add(place int) { s[place/64] |= 1 << (place % 64) }

func (s placeSet) remove(place int) { s[place/64] &^= 1 << (place % 64) }

// next is the first member from a place on. There must be one.
func (s placeSet) next(place int) int {
	word := place / 64
	rest := s[word] >> (place % 64) << (place % 64)
	for rest == 0 {
		word++
		rest = s[word]
	}
	return 64*word + bits.TrailingZeros64(rest)
}

// last is the last member before a place. There must be one.
func (s placeSet) last(place int) int {
	word := place / 64
	rest := s[word] & (1<<(place%64) - 1)
	for rest == 0 {
		word--
		rest = s[word]
	}
	return 64*word + bits.Len64(rest) - 1
}

// nth finds the member of a set that has some number of members below it. It goes there from the member before, so it is fast where the
// set and the number change little. The zero value is for the empty set.
type nth struct {
	// place was found last. below is how many members are below it now.
	place, below int
}

func (c *nth) added(place int) {
	if place < c.place {
		c.below++
	}
}

func (c *nth) removed(place int) {
	if place < c.place {
		c.below--
	}
}

// move returns the member with n members below it. There must be one.
func (c *nth) move(s placeSet, n int) int {
	for c.below > n {
		c.place = s.last(c.place)
		c.below--
	}
	c.place = s.next(c.place)
	for c.below < n {
		c.place = s.next(c.place + 1)
		c.below++
	}
	return c.place
}

// known is x, or NaN where arithmetic on absurd input ended in an infinity.
func known(x float64) float64 {
	const infinity = 0x7ff << 53
	if math.Float64bits(x)<<1 == infinity { // without its sign
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

// until returns the points at or before t, without copying.
func until(points []series.Point, t series.Instant) []series.Point {
	n, _ := slices.BinarySearchFunc(points, t, func(p series.Point, t series.Instant) int {
		if p.ObservedAt > t {
			return 1
		}
		return -1
	})
	return points[:n:n]
}
