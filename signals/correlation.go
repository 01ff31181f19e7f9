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
// distance at which one of the two is not positive. The result is at most n. a and b are centred, and x is unknown where they have no pair; nil
// if they have one everywhere.
func independent(a, b, x []float64, n int) float64 {
	span, sum := len(a), 0.0
	for k := 1; k < span/2; k += distances {
		as, bs := autocovariances(a, k), autocovariances(b, k)
		for j := range min(distances, span/2-k) {
			pairs := pairsApart(x, span, k+j)
			if pairs == 0 {
				continue // a season has ended before
			}
			if as[j] <= 0 || bs[j] <= 0 {
				return effective(n, sum)
			}
			shrink := (1 - float64(k+j)/float64(span)) / float64(pairs)
			sum += float64(pairs) * float64(as[j]*shrink) * float64(bs[j]*shrink)
		}
	}
	return effective(n, sum)
}

func effective(n int, sum float64) float64 {
	return min(float64(n), float64(n)*float64(n)/(float64(n)+2*sum))
}

// distances is how many autocovariances are added up in one pass. Each is added up in its own order, so its bits do not depend on the others. A
// processor adds them beside each other, where it would wait after each product of a single sum.
const distances = 4

// autocovariances are the sums of the products of a centred series with itself, at distance k and the next ones. Unknown values are 0 in it.
func autocovariances(a []float64, k int) (sums [distances]float64) {
	n := len(a) - k - (distances - 1) // as many have a partner at each of the distances
	if n > 0 {
		p, q, r, s := a[k:][:n], a[k+1:][:n], a[k+2:][:n], a[k+3:][:n]
		for i, v := range a[:n] {
			sums[0] += float64(v * p[i])
			sums[1] += float64(v * q[i])
			sums[2] += float64(v * r[i])
			sums[3] += float64(v * s[i])
		}
	}
	for j := range sums {
		for i := max(0, n); i+k+j < len(a); i++ {
			sums[j] += float64(a[i] * a[i+k+j])
		}
	}
	return sums
}

// pairsApart is how many of a number of periods are known k periods after another that is known. Where x is nil, all are.
func pairsApart(x []float64, span, k int) int {
	if x == nil {
		return span - k
	}
	pairs := 0
	for i := range x[:span-k] {
		if !math.IsNaN(x[i]) && !math.IsNaN(x[i+k]) {
			pairs++
		}
	}
	return pairs
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
