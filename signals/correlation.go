package signals

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// This file has what both the comparison of two signals and the backtest of one say about a correlation.

// centred scales a series to a mean of 0 and a mean square of 1, with 0 where a value is unknown. It returns nil without any variation.
func centred(x []float64, n int) []float64 {
	var sum, square float64
	for _, v := range x {
		if !math.IsNaN(v) {
			sum += v
		}
	}
	mean := sum / float64(n)
	out := make([]float64, len(x))
	for i, v := range x {
		if !math.IsNaN(v) {
			out[i] = v - mean
			square += float64(out[i] * out[i])
		}
	}
	if square == 0 {
		return nil
	}
	unit := math.Sqrt(square / float64(n))
	for i := range out {
		out[i] /= unit
	}
	return out
}

// independent returns how many independent pairs say as much as n pairs of two series that persist. Neighbours of a persistent signal repeat
// each other. How much follows from the autocorrelations of both series (Bartlett, Journal of the Royal Statistical Society 98, 1935):
//
//	n² / (n + 2 · sum over k of pairs(k) · a(k) · b(k))
//
// pairs(k) is how many pairs are k periods apart, and a(k) and b(k) are the autocorrelations at that distance. The sum ends before the first
// distance at which one of the two is not positive. The result is at most n. a and b are centred, and x is unknown if they have no pair.
func independent(a, b, x []float64, n int) float64 {
	span, sum := len(a), 0.0
	for k := 1; k < span/2; k++ {
		var ra, rb float64
		pairs := 0
		for i := range span - k {
			if math.IsNaN(x[i]) || math.IsNaN(x[i+k]) {
				continue
			}
			pairs++
			ra += float64(a[i] * a[i+k])
			rb += float64(b[i] * b[i+k])
		}
		if pairs == 0 {
			continue // a season has ended before
		}
		if ra <= 0 || rb <= 0 {
			break
		}
		shrink := (1 - float64(k)/float64(span)) / float64(pairs)
		sum += float64(pairs) * float64(ra*shrink) * float64(rb*shrink)
	}
	return min(float64(n), float64(n)*float64(n)/(float64(n)+2*sum))
}

// minIndependent is how many independent pairs an interval needs.
const minIndependent = 4

// bounds returns the interval of a correlation from so many independent pairs. It is Fisher's: tanh(atanh(r) ± t / sqrt(pairs - 3)), where t is
// the quantile of Student's distribution with pairs - 2 degrees of freedom. Too few pairs and a perfect correlation have none.
func bounds(r, pairs, level float64) (lo, hi float64) {
	if !(pairs > minIndependent) || 1-math.Abs(r) < perfect {
		return math.NaN(), math.NaN()
	}
	student := distuv.StudentsT{Sigma: 1, Nu: pairs - 2}
	reach := student.Quantile((1+level)/2) / math.Sqrt(pairs-3)
	return math.Tanh(math.Atanh(r) - reach), math.Tanh(math.Atanh(r) + reach)
}

// perfect is how close to 1 a correlation is 1, apart from rounding.
const perfect = 1e-12
