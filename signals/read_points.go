package signals

import (
	"iter"
	"slices"

	"tidemark/internal/series"
)

// at sets the times and the value of an estimate.
func (e *Estimate) at(p series.Point) {
	e.ObservedAt, e.KnownAt, e.Value = p.ObservedAt, p.VintageAt, p.Value
}

// collected are the points of a sequence, which has at most limit points.
func collected(points iter.Seq[series.Point], limit int) []series.Point {
	return slices.AppendSeq(make([]series.Point, 0, limit), points)
}

// readPoints are the points whose estimates asKnown keeps. A publisher prints several days at once, and readers only had the estimate of the
// newest.
type readPoints struct {
	points []series.Point
	// places are their indexes among all points, known the times since when each was read, and all is the number of points.
	places []int
	known  []series.Instant
	all    int
}

// newReadPoints has room for a quarter of n points, and takes more. Of a week that comes at once one is read.
func newReadPoints(n int) readPoints {
	n /= 4
	return readPoints{points: make([]series.Point, 0, n), places: make([]int, 0, n), known: make([]series.Instant, 0, n)}
}

func (r *readPoints) add(p series.Point) {
	if last := len(r.points) - 1; last >= 0 && r.known[last] >= p.VintageAt {
		r.points[last], r.places[last] = p, r.all // it came with the one before
	} else {
		r.points, r.places, r.known = append(r.points, p), append(r.places, r.all), append(r.known, p.VintageAt)
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
		track[i].KnownAt = r.known[i]
	}
	return track
}
