package sharpe

import (
	"fmt"
	"math"
	"math/bits"
)

// maxBlocks bounds the work: 20 blocks have 184,756 splits.
const maxBlocks = 20

// Overfit is the result of the best trial in periods that had no part in the choice.
type Overfit struct {
	// Probability is how often the trial that was the best in one half of the periods was in the lower half of all trials in the other.
	Probability float64
	// Loss is how often its ratio in the other half was negative.
	Loss float64
	// Slope and Intercept are the line through its ratio in the other half over its ratio in the first: a slope below zero says that what
	// looked better was worse. Both are NaN where the ratio was the same in each split.
	Slope, Intercept float64
	// Splits is the number of ways to choose the halves.
	Splits int
}

// Overfitting measures how overfitted the choice of the trial with the highest Sharpe ratio is. The method is combinatorially symmetric
// cross-validation (Bailey, Borwein, López de Prado and Zhu, "The Probability of Backtest Overfitting", Journal of Computational Finance
// 20, 2016). Each trial has the returns of the same periods, the oldest first. They are cut into an even number of blocks of equal length.
// Each choice of half the blocks selects the best trial, and the other half ranks it. The oldest periods that fill no block are left out.
// Trials with equal ratios share their mean rank. A trial without variation has no ratio: it is never selected and is ranked last.
//
// It returns an error for fewer than two trials, and for trials of different length or with unknown returns. It also returns an error for
// an odd number of blocks, fewer than 2 or more than 20 blocks, or blocks of fewer than 2 periods.
func Overfitting(trials [][]float64, blocks int) (Overfit, error) {
	if len(trials) < 2 {
		return Overfit{}, fmt.Errorf("overfitting needs 2 trials or more, not %d", len(trials))
	}
	if blocks < 2 || blocks > maxBlocks || blocks%2 != 0 {
		return Overfit{}, fmt.Errorf("the number of blocks must be even and from 2 to %d, not %d", maxBlocks, blocks)
	}
	periods := len(trials[0])
	if periods/blocks < 2 {
		return Overfit{}, fmt.Errorf("%d periods are too few for %d blocks of 2 or more", periods, blocks)
	}
	parts := make([][]sums, len(trials))
	for i, returns := range trials {
		if len(returns) != periods {
			return Overfit{}, fmt.Errorf("trial %d has %d periods, the first %d", i, len(returns), periods)
		}
		for _, r := range returns {
			if math.IsNaN(r) || math.IsInf(r, 0) {
				return Overfit{}, fmt.Errorf("trial %d has an unknown return", i)
			}
		}
		parts[i] = cut(returns, blocks)
	}

	var o Overfit
	var below, losses int
	var line fit
	first, second := make([]float64, len(trials)), make([]float64, len(trials))
	for half := uint(0); half < 1<<blocks; half++ {
		if bits.OnesCount(half) != blocks/2 {
			continue
		}
		for i, p := range parts {
			first[i], second[i] = split(p, half)
		}
		best := 0
		for i := range first {
			if first[i] > first[best] {
				best = i
			}
		}
		if math.IsInf(first[best], -1) {
			return Overfit{}, fmt.Errorf("no trial has a ratio in half %b", half)
		}
		o.Splits++
		if rank(second, best) <= float64(len(trials)+1)/2 {
			below++
		}
		if second[best] < 0 {
			losses++
		}
		if !math.IsInf(second[best], -1) {
			line.add(first[best], second[best])
		}
	}
	o.Probability = float64(below) / float64(o.Splits)
	o.Loss = float64(losses) / float64(o.Splits)
	o.Slope, o.Intercept = line.solve()
	return o, nil
}

// sums are the number, sum and sum of squares of a block's returns, less the first return of the trial.
type sums struct{ n, base, sum, squares float64 }

func cut(returns []float64, blocks int) []sums {
	size := len(returns) / blocks
	returns = returns[len(returns)-size*blocks:]
	out := make([]sums, blocks)
	for b := range out {
		out[b].n, out[b].base = float64(size), returns[0]
		for _, r := range returns[b*size : (b+1)*size] {
			d := r - returns[0]
			out[b].sum += d
			out[b].squares += d * d
		}
	}
	return out
}

// split returns the ratios of a trial in the blocks of a half and in the others.
func split(parts []sums, half uint) (in, out float64) {
	var a, b sums
	for i, p := range parts {
		s := &b
		if half>>i&1 == 1 {
			s = &a
		}
		s.n, s.base = s.n+p.n, p.base
		s.sum, s.squares = s.sum+p.sum, s.squares+p.squares
	}
	return a.ratio(), b.ratio()
}

// ratio is the Sharpe ratio, -Inf without variation. A variance within the rounding error of the sums counts as no variation.
func (s sums) ratio() float64 {
	v := s.squares - s.sum*s.sum/s.n
	if !(v > 1e-14*s.squares) {
		return math.Inf(-1)
	}
	return (s.base + s.sum/s.n) / math.Sqrt(v/(s.n-1))
}

// rank is the place of one value from below, from 1. Equal values share the mean of their places.
func rank(values []float64, of int) float64 {
	less, equal := 0, 0
	for _, v := range values {
		switch {
		case v < values[of]:
			less++
		case v == values[of]:
			equal++
		}
	}
	return float64(less) + float64(equal+1)/2
}

// fit gathers the points of a least-squares line. The zero value has no point.
type fit struct{ n, x, y, xx, xy float64 }

// add moves the means and the sums of squares by one point (Welford), so that points close together lose no digits.
func (f *fit) add(x, y float64) {
	f.n++
	dx := x - f.x
	f.x += dx / f.n
	f.y += (y - f.y) / f.n
	f.xx += dx * (x - f.x)
	f.xy += dx * (y - f.y)
}

func (f *fit) solve() (slope, intercept float64) {
	if !(f.xx > 0) {
		return math.NaN(), math.NaN()
	}
	slope = f.xy / f.xx
	return slope, f.y - slope*f.x
}
