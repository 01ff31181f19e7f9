package quality

import (
	"math"
	"slices"

	"tidemark/internal/series"
)

// toSigma turns a median absolute deviation into the standard deviation of a normal distribution that has it: 1/Φ⁻¹(3/4).
const toSigma = 1.4826

// median returns the middle of a list, which it sorts; NaN of an empty one.
func median(list []float64) float64 {
	n := len(list)
	if n == 0 {
		return math.NaN()
	}
	slices.Sort(list)
	if n%2 == 1 {
		return list[n/2]
	}
	return (list[n/2-1] + list[n/2]) / 2
}

// spread is how a series usually changes from one observation to the next.
type spread struct {
	// n counts the changes, center is their median, scale a robust standard deviation and largest the greatest distance of one from
	// the center.
	n                      int
	center, scale, largest float64
	// steady reports whether more than half of the changes are equal, as for a policy rate or a version: a change then says little about
	// the next.
	steady bool
}

// habitOf learns from ascending readings. The scale is 1.4826 times the median absolute deviation of the changes. If that is zero, the
// scale is the mean absolute deviation times sqrt(pi/2), which is its factor for a normal distribution.
func habitOf(list []series.Reading) spread {
	changes := changesOf(list)
	h := spread{n: len(changes), center: median(slices.Clone(changes))}
	if h.n == 0 {
		return spread{}
	}
	sum := 0.0
	for i, d := range changes {
		changes[i] = math.Abs(d - h.center)
		sum += changes[i]
		h.largest = max(h.largest, changes[i])
	}
	h.scale = toSigma * median(changes)
	if h.steady = h.scale == 0; h.steady {
		h.scale = math.Sqrt(math.Pi/2) * sum / float64(h.n)
	}
	return h
}

// changesOf lists the changes between neighbouring numbers.
func changesOf(list []series.Reading) []float64 {
	var changes []float64
	last := math.NaN()
	for _, r := range list {
		if r.Marker != "" {
			continue
		}
		if !math.IsNaN(last) {
			changes = append(changes, r.Value-last)
		}
		last = r.Value
	}
	return changes
}
