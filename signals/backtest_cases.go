package signals

import (
	"math"
	"slices"
	"time"

	"tidemark/internal/series"
)

// inOrder leaves out the points that became known only after a later one: readers of the later one did not have them. All remaining
// points, up to any point, were known when that point was. It costs O(n), and returns the same slice if no point is left out.
func inOrder(points []series.Point) []series.Point {
	n := 0
	for last := series.Instant(math.MinInt64); n < len(points); n++ {
		known := points[n].VintageAt
		if known < last {
			break
		}
		last = known
	}
	if n == len(points) {
		return points
	}
	var out []series.Point
	var next series.Instant // the earliest vintage among the points that follow
	for _, p := range slices.Backward(points) {
		if !next.IsZero() && p.VintageAt > next {
			continue
		}
		next = p.VintageAt
		out = append(out, p)
	}
	slices.Reverse(out)
	return out
}

// asKnown turns a track into the estimates that its readers had: each from the instant when it and all before it, on which its
// baseline depends, were known. Of the estimates of one instant only the newest is kept. It reuses the track's memory.
func asKnown(track Track) Track {
	read := track[:0]
	var known series.Instant
	for i := range track {
		known = max(known, track[i].KnownAt)
		if i+1 < len(track) && known >= track[i+1].KnownAt {
			continue // the next one is of the same instant
		}
		read = append(read, track[i])
		read[len(read)-1].KnownAt = known
	}
	return read
}

// asRead returns the part of the signal's track that readers had: see asKnown.
func (d Definition) asRead(in series.Set, at time.Time) Track {
	if d.read != nil {
		return d.read(in, at, true)
	}
	return asKnown(d.Compute(in, at))
}

// pointsOf is a target that is one series.
func pointsOf(id series.ID) func(series.Set) []series.Point {
	return func(in series.Set) []series.Point { return in[id] }
}

// forwardChanges pairs the z-score of a signal, times the expected sign of its effect, with the change of a target over a number of its
// steps. The change starts at the first value about the instant when the signal was known, or a later one. If several estimates
// precede one start, the newest is the forecast. The naive forecast is the target's last known change over as many steps.
func forwardChanges(target func(series.Set) []series.Point, steps int, sign float64) func(Track, series.Set) []Case {
	return func(read Track, in series.Set) []Case {
		points := target(in)
		out := make([]Case, 0, len(read))
		start, last := 0, -1
		for i := range read {
			e := &read[i]
			for start < len(points) && points[start].ObservedAt < e.KnownAt {
				start++
			}
			for last+1 < len(points) && points[last+1].VintageAt <= e.KnownAt {
				last++
			}
			if start+steps >= len(points) {
				break
			}
			c := Case{
				Known: e.KnownAt, Start: points[start].ObservedAt, End: points[start+steps].ObservedAt,
				Predicted: sign * e.Z(), Happened: points[start+steps].Value - points[start].Value, Naive: math.NaN(),
			}
			if last >= steps {
				c.Naive = known(points[last].Value - points[last-steps].Value)
			}
			if n := len(out); n > 0 && out[n-1].Start == c.Start {
				out[n-1] = c
				continue
			}
			out = append(out, c)
		}
		return out
	}
}
