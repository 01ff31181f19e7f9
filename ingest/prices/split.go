package prices

import (
	"math"
	"slices"
	"time"

	"tidemark/internal/equity"
)

// SplitBetween finds the split that explains why a source now states other closes than before. It compares a share's bars as kept from day
// to day with its bars in a newer response of the same source. Both are ascending. There was a split before the opening of a day if the
// closes of all common dates before it differ by one factor, and all others are equal. It applies only to a source that restates its
// history for the shares of today without stating the split. It does not find a split of less than a tenth. The terms are the smallest that
// the rounding of the prices allows: the factor of a spin-off is not made a split of small terms.
//
// The dates must overlap by at least two days before the split. ok is false if there was no split, or more than one.
func SplitBetween(kept, now []equity.Bar) (split equity.Action, ok bool) {
	var factors []float64
	best, rounding := 0.0, math.Inf(1) // the factor that the rounding of prices leaves the least in doubt, and by how much
	var first time.Time                // of the bars that agree
	var last equity.Bar                // the last common one before
	for _, b := range now {
		i, common := slices.BinarySearchFunc(kept, b.Date, func(k equity.Bar, d time.Time) int { return k.Date.Compare(d) })
		if !common {
			if len(factors) > 0 && first.IsZero() && b.Date.After(last.Date) {
				first = b.Date // a day that was not stored yet is stated for the shares of today
			}
			continue
		}
		was, is := kept[i].Close.Float(), b.Close.Float()
		factor := was / is
		switch differs := math.Abs(math.Log(factor)) > 0.1; {
		case differs && !first.IsZero():
			return split, false
		case differs:
			factors = append(factors, factor)
			if off := halfCent/was + halfCent/is; off < rounding {
				best, rounding = factor, off
			}
		case len(factors) > 0 && first.IsZero():
			first = b.Date
		case len(factors) == 0: // agrees before anything differs
			return split, false
		}
		last = b
	}
	if len(factors) < 2 || first.IsZero() {
		return split, false
	}
	// Prices are rounded to cents: of a low one the factor is known to a percent only.
	if slices.Max(factors)/slices.Min(factors) > 1.02 {
		return split, false
	}
	gained, given := simple(best, max(rounding, minRounding))
	return equity.Action{CIK: last.CIK, Kind: equity.Split, Date: first, New: gained, Old: given, Source: last.Source}, true
}

// Prices are rounded to cents; even a high price leaves a factor in doubt by minRounding, since a publisher may round twice.
const (
	halfCent    = 0.005
	minRounding = 0.0002
)

// simple writes a factor, which is known to a tolerance, by the smallest terms that fit.
func simple(factor, tolerance float64) (gained, given float64) {
	for given = 1; given <= 50; given++ {
		gained = max(math.Round(factor*given), 1)
		if math.Abs(gained/given/factor-1) < tolerance {
			return gained, given
		}
	}
	return math.Round(factor*1e4) / 1e4, 1
}
