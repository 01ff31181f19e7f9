package picks

import (
	"slices"

	"tidemark/internal/concepts"
	"tidemark/internal/equity"
)

// Figure is a number with the facts that it was made of. The zero Figure is unknown.
type Figure struct {
	Value float64
	// Over is the period that the number is about.
	Over Period
	// From are the facts, in the order in which the formula names them.
	From []equity.Fact
	// Why says why the facts under these tags were taken and not those under others; empty for a formula of several things.
	Why concepts.Reason
}

// Known reports whether the figure has a value.
func (f Figure) Known() bool { return len(f.From) > 0 }

// plus is f + g, unknown where either is.
func (f Figure) plus(g Figure) Figure { return combine(f, g, f.Value+g.Value) }

// minus is f - g, unknown where either is.
func (f Figure) minus(g Figure) Figure { return combine(f, g, f.Value-g.Value) }

// over is f / g, unknown where either is or g is not positive.
func (f Figure) over(g Figure) Figure {
	if !(g.Value > 0) {
		return Figure{}
	}
	return combine(f, g, f.Value/g.Value)
}

// negated is -f.
func (f Figure) negated() Figure {
	f.Value = -f.Value
	return f
}

// mean is the mean of two figures, unknown where either is.
func (f Figure) mean(g Figure) Figure { return combine(f, g, (f.Value+g.Value)/2) }

// and adds a part that a company states only if it has it, at the same date: what is not stated, or was at another date, adds
// nothing.
func (f Figure) and(part Figure) Figure {
	if !f.Known() || !part.Known() || !part.Over.End.Equal(f.Over.End) {
		return f
	}
	return f.plus(part)
}

// plusStated adds a part that a company states only if it has it, for any date of the request.
func (f Figure) plusStated(part Figure) Figure {
	if !f.Known() || !part.Known() {
		return f
	}
	return f.plus(part)
}

// or is f, or g where f is unknown.
func (f Figure) or(g Figure) Figure {
	if f.Known() {
		return f
	}
	return g
}

// with is the figure, unknown unless it ends on the same date as g: a year's income is not compared with another day's assets.
func (f Figure) with(g Figure) Figure {
	if !f.Over.End.Equal(g.Over.End) {
		return Figure{}
	}
	return f
}

// combine is the figure of a formula of two others. Its period is the first one's, unless the second ends later.
func combine(f, g Figure, value float64) Figure {
	if !f.Known() || !g.Known() {
		return Figure{}
	}
	over := f.Over
	if g.Over.End.After(over.End) {
		over = g.Over
	}
	return Figure{Value: value, Over: over, From: slices.Concat(f.From, g.From)}
}

// concept is something that companies state under one of several tags.
type concept = concepts.Family

func keysOf(c concept) []tagUnit {
	keys := make([]tagUnit, len(c.Tags))
	for i, t := range c.Tags {
		keys[i] = tagUnit{c.Taxonomy, t, c.Unit}
	}
	return keys
}

// The concepts by the names of this package.
var (
	netIncome, operatingCash, capitalSpending = concepts.NetIncome, concepts.OperatingCash, concepts.CapitalSpending
	revenue, statedGrossProfit, costOfSales   = concepts.Revenue, concepts.GrossProfit, concepts.CostOfSales
	operatingIncome, stockIssued              = concepts.OperatingIncome, concepts.StockIssued

	assets, currentAssets, currentLiabilities = concepts.Assets, concepts.CurrentAssets, concepts.CurrentLiabilities
	bookEquity, minorityInterest              = concepts.BookEquity, concepts.MinorityInterest

	dilutedShares, coverShares = concepts.DilutedShares, concepts.CoverShares
)

// Reads reports whether any rule reads a fact: it is in a family of package concepts and from an accepted report. A store can drop all
// others.
func Reads(f equity.Fact) bool {
	_, accepted := acceptedForms[f.Form]
	return accepted && f.Unit != "" && concepts.Unit(f.Taxonomy, f.Tag) == f.Unit
}

// derivedGrossProfit is revenue minus the cost of sales, over a period.
func (b *Financials) derivedGrossProfit(p Period) Figure {
	return b.over(revenue, p).minus(b.over(costOfSales, p))
}
