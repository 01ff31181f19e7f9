// Package forecast makes distributions of figures that are not published yet, and grades them on the figures' first prints. Everything
// here is a pure function of observations as of an instant: no HTTP, no SQL, no clock. Start at Target, then read petroleum.go, which is
// one of its models; walk.go has what all models share, record.go the text that is recorded, scorecard.go how the record is judged.
package forecast

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Levels are the probabilities of the quantiles of every forecast, ascending. They are a table: never write to it.
var Levels = [...]float64{
	0.01, 0.025, 0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40, 0.45, 0.50, 0.55, 0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90, 0.95, 0.975, 0.99,
}

// Quantiles are the values that a figure stays at or below with the probabilities of Levels, ascending, in the figure's unit.
type Quantiles [len(Levels)]float64

// normalOf are the standard normal quantiles of Levels.
var normalOf = func() (z Quantiles) {
	for i, p := range Levels {
		z[i] = distuv.UnitNormal.Quantile(p)
	}
	return z
}()

const (
	// Probabilities beyond these are taken for these: past them the tails say nothing.
	minProbability = 0.0001
	maxProbability = 1 - minProbability
)

// At is the quantile of any probability: linear between the levels, and beyond the outermost linear in the normal score.
func (q Quantiles) At(p float64) float64 {
	p = min(max(p, minProbability), maxProbability)
	i := sort.SearchFloat64s(Levels[:], p) // the first level that is not below p
	last := len(Levels) - 1
	x := Levels[:]
	switch {
	case i <= last && Levels[i] == p:
		return q[i]
	case i == 0 || i > last:
		x, p = normalOf[:], distuv.UnitNormal.Quantile(p)
		i = min(max(i, 1), last)
	}
	return q[i-1] + float64((p-x[i-1])/(x[i]-x[i-1])*(q[i]-q[i-1]))
}

// PIT is the probability that the distribution gave to values up to y: At turned round, in the middle where several probabilities have
// one quantile.
func (q Quantiles) PIT(y float64) float64 {
	below := sort.Search(len(q), func(i int) bool { return q[i] >= y })
	above := sort.Search(len(q), func(i int) bool { return q[i] > y })
	if below < above {
		return (Levels[below] + Levels[above-1]) / 2
	}
	last := len(q) - 1
	i := min(max(below, 1), last)
	if q[i] == q[i-1] { // a tail without width
		if y < q[0] {
			return minProbability
		}
		return maxProbability
	}
	share := (y - q[i-1]) / (q[i] - q[i-1])
	if math.IsInf(share, 0) {
		share = math.Copysign(math.MaxFloat32, share)
	}
	if below == 0 || below > last {
		z := normalOf[i-1] + float64(share*(normalOf[i]-normalOf[i-1]))
		return min(max(distuv.UnitNormal.CDF(z), minProbability), maxProbability)
	}
	return Levels[i-1] + float64(share*(Levels[i]-Levels[i-1]))
}

// sorted is q in ascending order.
func (q Quantiles) sorted() Quantiles {
	slices.Sort(q[:])
	return q
}

// notBelow returns q with lower values raised to a floor; nil means no floor.
func (q Quantiles) notBelow(floor *float64) Quantiles {
	if floor != nil {
		for i, x := range q {
			q[i] = max(x, *floor)
		}
	}
	return q
}

// known reports whether all quantiles are numbers.
func (q Quantiles) known() bool {
	return !slices.ContainsFunc(q[:], func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

// weights are the weights of the levels in an integral over the probabilities, by the trapezoidal rule. Its outermost parts reach to 0 and
// 1: (p[i+1]-p[i-1])/2, and (p[0]+p[1])/2 at both ends.
func weights(levels []float64) []float64 {
	v := make([]float64, len(levels))
	for i := range v {
		below, above := -levels[0], 2-levels[len(levels)-1]
		if i > 0 {
			below = levels[i-1]
		}
		if i < len(levels)-1 {
			above = levels[i+1]
		}
		v[i] = (above - below) / 2
	}
	return v
}

var levelWeights = weights(Levels[:])
