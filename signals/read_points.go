package signals

import "tidemark/internal/series"

// at sets the times and the value of an estimate.
func (e *Estimate) at(p series.Point) {
	e.ObservedAt, e.KnownAt, e.Value = p.ObservedAt, p.VintageAt, p.Value
}

// setNumbers sets the interval of an estimate and what its season says. It leaves no infinity.
func (e *Estimate) setNumbers(lo, hi float64, season moments) {
	mean, sd := season.meanAndSD()
	e.Value, e.Lo, e.Hi = known(e.Value), known(lo), known(hi)
	e.Baseline, e.Scale, e.N = known(mean), known(sd), season.n
}

// trackFrom returns the estimates of points from the n-th point on. set sets the numbers of the estimate of the i-th point.
func trackFrom(points []series.Point, n int, set func(i int, e *Estimate)) Track {
	track := make(Track, len(points)-n)
	for i := range track {
		e := &track[i]
		e.at(points[n+i])
		set(n+i, e)
	}
	return track
}

// readTrack returns the result of asKnown for the estimates of points. A publisher prints several days at once, and readers only had the
// estimate of the newest. set sets the numbers of the estimate of the i-th point. It is not called for estimates that no reader had.
func readTrack(points []series.Point, memory *scratch, set func(i int, e *Estimate)) Track {
	read := sized(memory.read, len(points))[:0]
	var known series.Instant
	for i := range points {
		known = max(known, points[i].VintageAt)
		if i+1 < len(points) && known >= points[i+1].VintageAt {
			continue // the next one is of the same instant
		}
		read = append(read, readPoint{i, known})
	}
	memory.read = read
	track := make(Track, len(read))
	for j, r := range read {
		e := &track[j]
		e.at(points[r.i])
		set(r.i, e)
		e.KnownAt = r.known
	}
	return track
}

// readPoint is the place of a point whose estimate readers had, and since when they had it.
type readPoint struct {
	i     int
	known series.Instant
}
