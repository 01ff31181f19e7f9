package signals

import "tidemark/internal/series"

// at sets the times and the value of an estimate.
func (e *Estimate) at(p series.Point) {
	e.ObservedAt, e.KnownAt, e.Value = p.ObservedAt, p.VintageAt, p.Value
}

// readTrack returns the result of asKnown for the estimates of points. A publisher prints several days at once, and readers only had the
// estimate of the newest. set sets the numbers of the estimate of the i-th point. It is not called for estimates that no reader had.
func readTrack(points []series.Point, set func(i int, e *Estimate)) Track {
	track := make(Track, 0, len(points)/4+1) // of a week that comes at once one is read
	var known series.Instant
	for i := range points {
		known = max(known, points[i].VintageAt)
		if i+1 < len(points) && known >= points[i+1].VintageAt {
			continue // the next one is of the same instant
		}
		track = append(track, Estimate{})
		e := &track[len(track)-1]
		e.at(points[i])
		set(i, e)
		e.KnownAt = known
	}
	return track
}
