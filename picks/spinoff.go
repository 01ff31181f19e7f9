package picks

import (
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/internal/equity"
)

// Publishers of prices state a spin-off as a split: AT&T "1,324 for 1,000" when it gave away the shares of Warner Bros. Discovery. The ratio
// is how far the price fell. The number of shares stayed what it was.

// maxTerm is the smaller term of a split at most, as "4 for 1" or "1 for 20"; of a split that nothing else explains.
const maxTerm = 20

// How far a filing may be from the first day on which the shares trade without the distribution.
const (
	reportBefore, reportAfter = 10 * 24 * time.Hour, 15 * 24 * time.Hour
	registrationBefore        = 400 * 24 * time.Hour
)

// ReadSplits returns the actions of one company, with each false split under its own kind. A ratio of small whole terms is a split. Another
// ratio is a spin-off if the company reported a completed disposal (8-K item 2.01) near its date. It is one too if a registration of shares
// to be given away (form 10) came before. Without such a filing, a ratio of whole or half percents is a dividend in shares, which is a
// split, and any other is unexplained. Filings are of the same company, in any order. ReadSplits does not modify actions.
func ReadSplits(actions []equity.Action, filings []equity.Filing) []equity.Action {
	var read []equity.Action
	for i, a := range actions {
		kind := splitKind(a, filings)
		if kind == a.Kind {
			continue
		}
		if read == nil {
			read = slices.Clone(actions)
		}
		read[i].Kind = kind
	}
	if read == nil {
		return actions
	}
	return read
}

// MayBeSpinOff reports whether the terms of a split alone do not show that it is one.
func MayBeSpinOff(a equity.Action) bool {
	return a.Kind == equity.Split && a.Ratio() > 1 && !smallTerms(a.Ratio())
}

// ShowsSpinOff reports whether a filing can show that a company gave away the shares of another.
func ShowsSpinOff(f equity.Filing) bool { return disposal(f) || registration(f) }

// SpinOffFilings are the first and the last filing date of the filings that can show that an action is a spin-off.
func SpinOffFilings(a equity.Action) (from, to time.Time) {
	return a.Date.Add(-registrationBefore), a.Date.Add(reportAfter)
}

func splitKind(a equity.Action, filings []equity.Filing) equity.ActionKind {
	if !MayBeSpinOff(a) {
		return a.Kind
	}
	for _, f := range filings {
		near := !f.Filed.Before(a.Date.Add(-reportBefore)) && !f.Filed.After(a.Date.Add(reportAfter))
		before := !f.Filed.Before(a.Date.Add(-registrationBefore)) && !f.Filed.After(a.Date)
		if near && disposal(f) || before && registration(f) {
			return equity.SpinOff
		}
	}
	if halves := 200 * a.Ratio(); a.Ratio() <= 1.25 && math.Abs(halves-math.Round(halves)) < 1e-6 {
		return equity.Split
	}
	return equity.Unexplained
}

// smallTerms reports whether a ratio above one is the ratio of two whole numbers, the smaller at most maxTerm. Some publishers state a
// ratio with four decimals.
func smallTerms(ratio float64) bool {
	for given := 1.0; given <= maxTerm; given++ {
		if gained := math.Round(ratio * given); math.Abs(gained/given-ratio) < 1e-4 {
			return true
		}
	}
	return false
}

func disposal(f equity.Filing) bool {
	return strings.HasPrefix(f.Form, "8-K") && slices.Contains(f.Items, "2.01")
}

func registration(f equity.Filing) bool {
	return strings.HasPrefix(f.Form, "10-12B") || strings.HasPrefix(f.Form, "10-12G")
}
