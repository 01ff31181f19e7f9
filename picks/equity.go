package picks

import (
	"time"

	"tidemark/internal/concepts"
)

// minEquity is the part of the assets below which a return on equity says nothing: buybacks or losses have used the equity up.
const minEquity = 0.05

// commonEquity is the equity of the holders of common shares at a date: shareholders' equity less preferred stock, if the company states
// some.
func (b *Financials) commonEquity(end time.Time) Figure {
	whole := b.at(bookEquity, end)
	preferred := b.over(concepts.PreferredStock, Period{End: end})
	if !whole.Known() || !(preferred.Value > 0) {
		return whole
	}
	return whole.minus(preferred)
}

// commonIncome is the income of the holders of common shares: income less the dividends of preferred shares over the same months, if the
// company states some.
func (b *Financials) commonIncome(income Figure) Figure {
	dividends := b.trailing(concepts.PreferredDividends)
	if !income.Known() || !(dividends.Value > 0) || dividends.Over != income.Over {
		return income
	}
	return income.minus(dividends)
}

// meaningfulEquity is the equity, unknown if it is less than minEquity of the assets.
func (s *Score) meaningfulEquity() Figure {
	if !(s.Equity.Value >= float64(minEquity*s.Assets.Value)) {
		return Figure{}
	}
	return s.Equity
}

// liquidFunds are cash and securities of a balance: the larger of the one line that has both, and the sum of two.
func (b *Financials) liquidFunds(at Period) Figure {
	sum := b.over(concepts.Cash, at).and(b.over(concepts.Securities, at))
	if whole := b.over(concepts.LiquidFunds, at); whole.Known() && !(sum.Value > whole.Value) {
		return whole
	}
	return sum
}
