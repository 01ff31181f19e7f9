package prices

import (
	"math"
	"slices"
	"time"

	"tidemark/internal/equity"
)

// SplitBetween finds the split that explains why a source now states other closes than before. kept are the bars of a share as stored
// from day to day, now the bars of a newer response of the same source, both ascending. If the closes of all common dates before some day
// differ by one factor, and all others are equal, there was a split before the opening of that day. It applies only to a source that
// restates its history for the shares of today without stating the split; it does not find a split of less than a tenth.
//
// The dates must overlap by at least two days before the split. ok is false if there was no split, or more than one.
func SplitBetween(kept, now []equity.Bar) (split equity.Action, ok bool) {
	var factors []float64
	var first time.Time // of the bars that agree
	var last equity.Bar // the last common one before
	for _, b := range now {
		i, common := slices.BinarySearchFunc(kept, b.Date, func(k equity.Bar, d time.Time) int { return k.Date.Compare(d) })
		if !common {
			if len(factors) > 0 && first.IsZero() && b.Date.After(last.Date) {
				first = b.Date // a day that was not stored yet is stated for the shares of today
			}
			continue
		}
		factor := kept[i].Close.Float() / b.Close.Float()
		switch differs := math.Abs(math.Log(factor)) > 0.1; {
		case differs && !first.IsZero():
			return split, false
		case differs:
			factors = append(factors, factor)
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
	slices.Sort(factors)
	middle := factors[len(factors)/2]
	// Prices are rounded to cents: of a low one the factor is known to a percent only.
	if factors[len(factors)-1]/factors[0] > 1.02 {
		return split, false
	}
	gained, given := simple(middle)
	return equity.Action{CIK: last.CIK, Kind: equity.Split, Date: first, New: gained, Old: given, Source: last.Source}, true
}

// simple writes a factor, which is known to a percent, by the smallest terms that fit.
func simple(factor float64) (gained, given float64) {
	for given = 1; given <= 50; given++ {
		gained = max(math.Round(factor*given), 1)
		if math.Abs(gained/given/factor-1) < 0.01 {
			return gained, given
		}
	}
	return factor, 1
}
