package signals

import (
	"iter"
	"time"

	"tidemark/internal/series"
)

// pointRef is a series.Point whose times stay in place. To copy two times costs more than what is computed of most points.
type pointRef struct {
	observedAt, vintageAt *time.Time
	value                 float64
}

// at sets the times and the value of an estimate.
func (e *Estimate) at(p pointRef) {
	e.ObservedAt, e.KnownAt, e.Value = *p.observedAt, *p.vintageAt, p.value
}

// copies are the points of a sequence, which has at most limit points.
func copies(refs iter.Seq[pointRef], limit int) []series.Point {
	out := make([]series.Point, 0, limit)
	for p := range refs {
		out = append(out, series.Point{ObservedAt: *p.observedAt, VintageAt: *p.vintageAt, Value: p.value})
	}
	return out
}

// readPoints are the points whose estimates asKnown keeps. A publisher prints several days at once, and readers only had the estimate of the
// newest.
type readPoints struct {
	points []pointRef
	// places are their indexes among all points, known the times since when each was read, and all is the number of points.
	places []int
	known  []*time.Time
	all    int
}

// newReadPoints has room for a quarter of n points, and takes more. Of a week that comes at once one is read.
func newReadPoints(n int) readPoints {
	n /= 4
	return readPoints{points: make([]pointRef, 0, n), places: make([]int, 0, n), known: make([]*time.Time, 0, n)}
}

func (r *readPoints) add(p pointRef) {
	if last := len(r.points) - 1; last >= 0 && !instantOf(r.known[last]).before(instantOf(p.vintageAt)) {
		r.points[last], r.places[last] = p, r.all // it came with the one before
	} else {
		r.points, r.places, r.known = append(r.points, p), append(r.places, r.all), append(r.known, p.vintageAt)
	}
	r.all++
}

// track returns the result of asKnown for the estimates of all points. estimate sets the numbers of the estimate at a place. It is not called
// for estimates that no reader had.
func (r *readPoints) track(estimate func(i int, e *Estimate)) Track {
	track := make(Track, len(r.points))
	for i := range track {
		track[i].at(r.points[i])
		estimate(r.places[i], &track[i])
		track[i].KnownAt = *r.known[i]
	}
	return track
}
