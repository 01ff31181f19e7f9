package backtest

import (
	"cmp"
	"math"
	"slices"
)

// Spearman returns the rank correlation of two lists of equal length. Equal numbers share the mean of their ranks. It is NaN for fewer than
// three pairs, or if one of the lists does not vary.
func Spearman(x, y []float64) float64 {
	if len(x) < 3 || len(x) != len(y) {
		return math.NaN()
	}
	a, b := ranks(x), ranks(y)
	mean := float64(len(x)+1) / 2
	var xy, xx, yy float64
	for i := range a {
		xy += (a[i] - mean) * (b[i] - mean)
		xx += (a[i] - mean) * (a[i] - mean)
		yy += (b[i] - mean) * (b[i] - mean)
	}
	if xx == 0 || yy == 0 {
		return math.NaN()
	}
	return xy / math.Sqrt(xx*yy)
}

// ranks are the ranks of values, from 1 on.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	out := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+to+1) / 2
		}
		from = to
	}
	return out
}

// meanAndT returns the mean of a list and its t-statistic; NaN if it is unknown.
func meanAndT(list []float64) (mean, t float64) {
	if len(list) == 0 {
		return math.NaN(), math.NaN()
	}
	for _, v := range list {
		mean += v / float64(len(list))
	}
	squares := 0.0
	for _, v := range list {
		squares += (v - mean) * (v - mean)
	}
	if len(list) < 2 || squares == 0 {
		return mean, math.NaN()
	}
	n := float64(len(list))
	return mean, mean / math.Sqrt(squares/(n-1)/n)
}
