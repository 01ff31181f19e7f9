// Package sharpe judges a Sharpe ratio. It computes the probability that the true ratio is above a benchmark, and the length of a record
// that shows it. It also computes the ratio that the best of many trials reaches by luck, and how often the choice of the best trial is
// overfitted. Start at Measure.
//
// A ratio here is the mean of the returns of one period over their standard deviation, never annualised. Returns are assumed independent of
// each other. Values that cannot be known are NaN. All functions are pure.
package sharpe

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Sample describes a sequence of returns. Kurtosis is 3 for a normal distribution.
type Sample struct {
	N                     int
	Ratio, Skew, Kurtosis float64
}

// Measure returns the Sample of some returns in excess of their benchmark. The standard deviation in the ratio divides by n-1. Skew and
// kurtosis describe the values themselves and are not estimates for a population. With fewer than two returns, returns that are all equal,
// or an unknown return the ratio is unknown.
func Measure(returns []float64) Sample {
	s := Sample{N: len(returns), Ratio: math.NaN(), Skew: math.NaN(), Kurtosis: math.NaN()}
	if len(returns) < 2 {
		return s
	}
	n, first := float64(len(returns)), returns[0]
	var sum float64
	same := true
	for _, r := range returns {
		sum += r - first
		same = same && r == first
	}
	if same {
		return s
	}
	shift := sum / n
	var m2, m3, m4 float64
	for _, r := range returns {
		d := r - first - shift
		m2 += d * d
		m3 += d * d * d
		m4 += d * d * d * d
	}
	s.Ratio = (first + shift) / math.Sqrt(m2/(n-1))
	s.Skew = m3 / n / math.Pow(m2/n, 1.5)
	s.Kurtosis = m4 / n / (m2 / n * m2 / n)
	return s
}

// spread is the variance of the estimate of the ratio times n-1 (Mertens 2002; Christie 2005; Opdyke 2007). It is NaN if it is not
// positive: that takes moments that no sample has, or returns of two values alone.
func (s Sample) spread() float64 {
	v := 1 - s.Skew*s.Ratio + (s.Kurtosis-1)/4*s.Ratio*s.Ratio
	if !(v > 0) {
		return math.NaN()
	}
	return v
}

// Probabilistic returns the probability that the true ratio is above a benchmark: the probabilistic Sharpe ratio (Bailey and López de Prado,
// "The Sharpe Ratio Efficient Frontier", Journal of Risk 15, 2012).
func Probabilistic(s Sample, benchmark float64) float64 {
	if s.N < 2 {
		return math.NaN()
	}
	return normal(float64((s.Ratio-benchmark)*math.Sqrt(float64(s.N-1))) / math.Sqrt(s.spread()))
}

// MinTrackRecord returns the minimum track record length of the same paper. With so many returns of the sample's kind, the ratio is above
// the benchmark with a confidence such as 0.95. It is +Inf if the ratio is not above the benchmark, and NaN for a
// confidence that is not between 0.5 and 1.
func MinTrackRecord(s Sample, benchmark, confidence float64) float64 {
	switch {
	case math.IsNaN(s.spread()) || math.IsNaN(benchmark) || !(confidence >= 0.5 && confidence < 1):
		return math.NaN()
	case s.Ratio <= benchmark:
		return math.Inf(1)
	}
	return 1 + float64(s.spread()*math.Pow(quantile(confidence)/(s.Ratio-benchmark), 2))
}

// ExpectedMax returns the expected ratio of the best of a number of independent trials without skill. variance is the variance of the
// trials' ratios. The formula is of Bailey and López de Prado, "The Deflated Sharpe Ratio", Journal of Portfolio Management 40, 2014. A
// single trial was not selected: its value is 0. It is NaN without a trial and for a negative variance.
func ExpectedMax(trials int, variance float64) float64 {
	switch {
	case trials < 1 || !(variance >= 0):
		return math.NaN()
	case trials == 1:
		return 0
	}
	const euler = 0.57721566490153286
	n := float64(trials)
	return math.Sqrt(variance) * ((1-euler)*quantile(1-1/n) + euler*quantile(1-1/(n*math.E)))
}

// Deflated returns the deflated Sharpe ratio of the same paper. This is the probability that the true ratio of the best of a number of
// trials is above what luck alone is expected to reach.
func Deflated(s Sample, trials int, variance float64) float64 {
	return Probabilistic(s, ExpectedMax(trials, variance))
}

func normal(x float64) float64   { return distuv.UnitNormal.CDF(x) }
func quantile(p float64) float64 { return distuv.UnitNormal.Quantile(p) }

// Years returns how many years of independent normal returns show, with a confidence such as 0.95, that a Sharpe ratio a year is above zero.
// It is +Inf for a ratio that is not above zero.
func Years(ratio, confidence float64) float64 {
	if !(ratio > 0) {
		return math.Inf(1)
	}
	return math.Pow(quantile(confidence)/ratio, 2)
}
