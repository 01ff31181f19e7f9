package picks

import (
	"slices"
	"sync"

	"tidemark/internal/equity"
)

// Figure is a number with the facts that it was made of. The zero Figure is unknown.
type Figure struct {
	Value float64
	// Over is the period that the number is about.
	Over Period
	// From are the facts, in the order in which the formula names them.
	From []equity.Fact
}

// Known tells whether there is a number.
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

// combine is the figure of a formula of two others. Its period is that of the first, unless the second ends later.
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

// concept is something that companies state under one of several tags, in the order in which we believe them.
type concept struct {
	taxonomy, unit string
	tags           []string
}

func (c concept) keys() []tagUnit {
	keys := make([]tagUnit, len(c.tags))
	for i, t := range c.tags {
		keys[i] = tagUnit{c.taxonomy, t, c.unit}
	}
	return keys
}

func dollars(tags ...string) concept { return concept{"us-gaap", "USD", tags} }

// The concepts, in the us-gaap taxonomy and in US dollars. A company that reports by other rules or in another currency states none
// of them and is left out of the universe.
var (
	netIncome     = dollars("NetIncomeLoss", "ProfitLoss")
	operatingCash = dollars("NetCashProvidedByUsedInOperatingActivities",
		"NetCashProvidedByUsedInOperatingActivitiesContinuingOperations")
	capitalSpending = dollars("PaymentsToAcquirePropertyPlantAndEquipment", "PaymentsToAcquireProductiveAssets")
	revenue         = dollars("RevenueFromContractWithCustomerExcludingAssessedTax", "Revenues",
		"RevenueFromContractWithCustomerIncludingAssessedTax", "SalesRevenueNet", "RevenuesNetOfInterestExpense")
	statedGrossProfit = dollars("GrossProfit")
	costOfSales       = dollars("CostOfGoodsAndServicesSold", "CostOfRevenue", "CostOfGoodsSold")
	operatingIncome   = dollars("OperatingIncomeLoss")
	stockIssued       = dollars("ProceedsFromIssuanceOfCommonStock")

	assets             = dollars("Assets")
	currentAssets      = dollars("AssetsCurrent")
	currentLiabilities = dollars("LiabilitiesCurrent")
	bookEquity         = dollars("StockholdersEquity")
	cash               = dollars("CashAndCashEquivalentsAtCarryingValue")
	securities         = dollars("MarketableSecuritiesCurrent")
	minorityInterest   = dollars("MinorityInterest")
	longDebt           = dollars("LongTermDebtNoncurrent")
	longDebtTotal      = dollars("LongTermDebt")
	longDebtCurrent    = dollars("LongTermDebtCurrent")
	shortDebt          = dollars("CommercialPaper", "ShortTermBorrowings")

	dilutedShares = concept{"us-gaap", "shares", []string{"WeightedAverageNumberOfDilutedSharesOutstanding"}}
	coverShares   = concept{"dei", "shares", []string{"EntityCommonStockSharesOutstanding"}}
)

// read holds every tag and unit of the concepts.
var read = sync.OnceValue(func() map[tagUnit]bool {
	all := map[tagUnit]bool{}
	for _, c := range []concept{
		netIncome, operatingCash, capitalSpending, revenue, statedGrossProfit, costOfSales, operatingIncome, stockIssued,
		assets, currentAssets, currentLiabilities, bookEquity, cash, securities, minorityInterest, longDebt, longDebtTotal, longDebtCurrent,
		shortDebt, dilutedShares, coverShares,
	} {
		for _, k := range c.keys() {
			all[k] = true
		}
	}
	return all
})

// Reads tells whether any rule reads a fact: it is of a concept in the list above and from a report that is accepted. A store needs to
// keep no others.
func Reads(f equity.Fact) bool {
	_, accepted := acceptedForms[f.Form]
	return accepted && read()[tagUnit{f.Taxonomy, f.Tag, f.Unit}]
}

// derivedGrossProfit is revenue minus the cost of what was sold, over a period.
func (b *Financials) derivedGrossProfit(p Period) Figure {
	return b.over(revenue, p).minus(b.over(costOfSales, p))
}

// longTermDebt is the debt at a date that is due after a year.
func (b *Financials) longTermDebt(p Period) Figure {
	at := Period{End: p.End}
	return b.over(longDebt, at).or(b.over(longDebtTotal, at).minus(b.over(longDebtCurrent, at)))
}
