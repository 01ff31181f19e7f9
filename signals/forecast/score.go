package forecast

import (
	"fmt"
	"math/big"
)

// Score is the exact continuous ranked probability score of recorded quantiles at an outcome. It is twice the weighted sum of their pinball
// losses (Gneiting and Ranjan, Journal of Business & Economic Statistics 29, 2011). It is in the figure's unit; less is better, 0 is a
// certain and true forecast.
func Score(quantiles []Decimal, outcome Decimal) (Decimal, error) {
	if len(quantiles) != len(Levels) {
		return "", fmt.Errorf("a forecast has %d quantiles, want %d", len(quantiles), len(Levels))
	}
	y, err := outcome.rat()
	if err != nil {
		return "", err
	}
	total := new(big.Rat)
	for i, text := range quantiles {
		q, err := text.rat()
		if err != nil {
			return "", err
		}
		loss := new(big.Rat).Sub(y, q)
		if loss.Sign() >= 0 {
			loss.Mul(loss, exactLevels[i])
		} else {
			loss.Mul(loss, new(big.Rat).Sub(exactLevels[i], big.NewRat(1, 1)))
		}
		total.Add(total, loss.Mul(loss, exactWeights[i]))
	}
	return exactDecimal(total.Mul(total, big.NewRat(2, 1)))
}

// exactLevels and exactWeights are Levels, in thousandths, and their weights, in ten-thousandths, as exact numbers.
var exactLevels, exactWeights = func() (levels, weights [len(Levels)]*big.Rat) {
	for i, p := range Levels {
		levels[i] = big.NewRat(int64(p*1000+0.5), 1000)
		weights[i] = big.NewRat(int64(levelWeights[i]*10000+0.5), 10000)
	}
	return levels, weights
}()

// CRPS is Score in binary arithmetic.
func (q Quantiles) CRPS(y float64) float64 {
	var total float64
	for i, p := range Levels {
		loss := float64(p * (y - q[i]))
		if y < q[i] {
			loss = float64((p - 1) * (y - q[i]))
		}
		total += float64(levelWeights[i] * loss)
	}
	return 2 * total
}

// Holds reports whether an outcome is in the central interval with 50, 80 or 90 percent of the distribution, both ends included.
func (q Quantiles) Holds(percent int, y float64) bool {
	var lo, hi float64
	switch percent {
	case 50:
		lo, hi = q.At(0.25), q.At(0.75)
	case 80:
		lo, hi = q.At(0.10), q.At(0.90)
	case 90:
		lo, hi = q.At(0.05), q.At(0.95)
	default:
		return false
	}
	return lo <= y && y <= hi
}
