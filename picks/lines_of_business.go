package picks

import (
	"time"

	"tidemark/internal/concepts"
	"tidemark/internal/locale"
)

// The measures of single lines of business: for banks the equity without goodwill, for property trusts the funds from operations, for
// insurers the combined ratio.

// recent is a concept's figure at a date, or at the last date before that states it, at most maxDebtAge earlier: some lines are stated once a
// year.
func (b *Financials) recent(c concept, end time.Time) Figure {
	best := b.at(c, end)
	if best.Known() {
		return best
	}
	for _, k := range keysOf(c) {
		for _, f := range b.stated[k] {
			if f.Start.IsZero() && f.End.Before(end) && end.Sub(f.End) <= maxDebtAge && f.End.After(best.Over.End) {
				best = b.at(c, f.End)
			}
		}
	}
	return best
}

// tangible is equity without goodwill and other intangible assets. Goodwill must be stated; other intangibles are taken off if stated.
func (b *Financials) tangible(whole Figure) Figure {
	rest := whole.minus(b.recent(concepts.Goodwill, whole.Over.End))
	if other := b.recent(concepts.Intangibles, whole.Over.End); rest.Known() && other.Known() {
		rest = rest.minus(other)
	}
	return rest
}

// funds are a property trust's funds from operations over the months of its income: net income and depreciation, less gains on sales of
// property, plus impairments. Depreciation must be stated.
func (b *Financials) funds(income Figure) Figure {
	months := func(c concept) Figure {
		if f := b.trailing(c); f.Over == income.Over {
			return f
		}
		return Figure{}
	}
	sum := b.commonIncome(income).plus(months(concepts.Depreciation))
	if gains := months(concepts.PropertyGains); sum.Known() && gains.Known() {
		sum = sum.minus(gains)
	}
	return sum.plusStated(months(concepts.PropertyImpairments))
}

// A combined ratio outside these bounds belongs to another business: benefits of life insurance exceed its premiums.
const minCombined, maxCombined = 0.5, 1.6

// combinedRatio is claims and costs over premiums, over some months; unknown unless a filing states all four parts.
func (b *Financials) combinedRatio(over Period) Figure {
	var costs Figure
	for _, c := range []concept{concepts.Claims, concepts.AcquisitionCosts, concepts.Underwriting} {
		f := b.trailing(c)
		if !f.Known() || f.Over != over {
			return Figure{}
		}
		costs = costs.plusKnown(f)
	}
	premiums := b.trailing(concepts.Premiums)
	if premiums.Over != over {
		return Figure{}
	}
	if ratio := costs.over(premiums); ratio.Value >= minCombined && ratio.Value <= maxCombined {
		return ratio
	}
	return Figure{}
}

// lineFacts adds the figures of single lines of business.
func (w *briefWriter) lineFacts() {
	s, d := w.score, w.facts()
	if lends(s.SIC) {
		w.amount("provisions", s.Provisions)
		w.ratio("provision_ratio", s.Provisions.over(s.Assets))
		w.amount("tangible_equity", s.Book.tangible(s.Equity))
		if m := s.metric(TangibleYield); m.Known() && m.Value > 0 {
			d.add("price_to_tangible", 1/m.Value, 1, locale.Times, w.day, w.source(m.Facts...))
		}
	}
	if propertyTrust(s.SIC) {
		w.amount("funds", s.Funds)
	}
	if s.metric(Underwriting).Known() {
		w.ratio("combined_ratio", s.CombinedRatio)
	}
}
