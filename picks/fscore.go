package picks

import "tidemark/internal/concepts"

// The nine signals of Piotroski's score, in his order: Value Investing: The Use of Historical Financial Statement Information to
// Separate Winners from Losers, Journal of Accounting Research 38 (2000). Income and cash flow are scaled by the assets at the
// beginning of the year, debt by the year's average assets.
const (
	SignalIncome    = "net income is positive"
	SignalCash      = "operating cash flow is positive"
	SignalReturn    = "return on assets rose"
	SignalAccruals  = "operating cash flow exceeds net income"
	SignalDebt      = "long-term debt to average assets fell"
	SignalLiquidity = "current ratio rose"
	SignalShares    = "no new shares"
	SignalMargin    = "gross margin rose"
	SignalTurnover  = "asset turnover rose"
	signalsOfFScore = 9
	minFScoreKnown  = 6
)

// FScore is Piotroski's score of a company for one fiscal year.
type FScore struct {
	Year Period
	// Score counts the signals that are known and good.
	Score int
	// Known counts the signals that can be told at all: banks state neither current liabilities nor gross profit.
	Known   int
	Signals [signalsOfFScore]FSignal
}

// FSignal is one of the nine.
type FSignal struct {
	Name        string
	Known, Good bool
	// Now and Before are the two sides of the comparison. Before is unknown for the signals that compare with zero.
	Now, Before Figure
}

// FScore is the score for the newest fiscal year.
func (b *Financials) FScore() FScore {
	if len(b.years) == 0 {
		return FScore{}
	}
	return b.FScoreOf(0)
}

// FScoreOf is the score for the n-th fiscal year of Years; the zero FScore where there is no such year. The years before that it
// compares with may be missing: their signals are then unknown.
func (b *Financials) FScoreOf(n int) FScore {
	if n < 0 || n >= len(b.years) {
		return FScore{}
	}
	year := b.years[n]
	var last, lastButOne Period
	if n+1 < len(b.years) {
		last = b.years[n+1]
	}
	if n+2 < len(b.years) {
		lastButOne = b.years[n+2]
	} else if !last.Start.IsZero() {
		// The balance at the beginning of last year is known even if the year before it has no income statement.
		lastButOne = Period{End: last.Start.AddDate(0, 0, -1)}
	}
	income, cashFlow := b.over(netIncome, year), b.over(operatingCash, year)
	ta, taLast, taBefore := b.at(assets, year.End), b.at(assets, last.End), b.at(assets, lastButOne.End)

	s := FScore{Year: year}
	s.Signals = [signalsOfFScore]FSignal{
		sign(SignalIncome, income),
		sign(SignalCash, cashFlow),
		rose(SignalReturn, income.over(taLast), b.over(netIncome, last).over(taBefore)),
		rose(SignalAccruals, cashFlow, income),
		b.debtFell(year, last, ta.mean(taLast), taLast.mean(taBefore)),
		rose(SignalLiquidity, b.currentRatio(year), b.currentRatio(last)),
		b.noNewShares(year, last),
		b.marginRose(year, last),
		rose(SignalTurnover, b.over(revenue, year).over(taLast), b.over(revenue, last).over(taBefore)),
	}
	for _, g := range s.Signals {
		if g.Known {
			s.Known++
		}
		if g.Good {
			s.Score++
		}
	}
	return s
}

func (b *Financials) currentRatio(p Period) Figure {
	return b.at(currentAssets, p.End).over(b.at(currentLiabilities, p.End))
}

// debtFell compares two debts that are stated in one way: without the part that is due within the year, or else all long-term debt, as
// Piotroski does. A company without debt in both years has none that could fall. A total of zero is not read, as in longTermDebt.
func (b *Financials) debtFell(year, last Period, meanAssets, meanBefore Figure) FSignal {
	now, before := b.longTermDebt(year), b.longTermDebt(last)
	if !now.Known() || !before.Known() || !sameTags(now, before) {
		now, before = b.at(concepts.LongDebtTotal, year.End), b.at(concepts.LongDebtTotal, last.End)
		if now.Value == 0 || before.Value == 0 {
			return FSignal{Name: SignalDebt}
		}
	}
	if !sameTags(now, before) || now.Value == 0 && before.Value == 0 {
		return FSignal{Name: SignalDebt}
	}
	return fell(SignalDebt, now.over(meanAssets), before.over(meanBefore))
}

// noNewShares compares the diluted share counts of one filing, which has worked any split into both. Where no filing states both, a
// year without proceeds from new shares is good too; with proceeds nothing is known, since options are paid for as well.
func (b *Financials) noNewShares(year, last Period) FSignal {
	now, before := b.pair(dilutedShares, year, last)
	if now.Known() {
		return FSignal{Name: SignalShares, Known: true, Good: now.Value <= before.Value, Now: now, Before: before}
	}
	if issued := b.over(stockIssued, year); issued.Known() && issued.Value == 0 {
		return FSignal{Name: SignalShares, Known: true, Good: true, Now: issued}
	}
	return FSignal{Name: SignalShares}
}

// marginRose compares two margins made in one way: both from stated gross profit, or both derived.
func (b *Financials) marginRose(year, last Period) FSignal {
	margin := func(profit func(Period) Figure) FSignal {
		return rose(SignalMargin, profit(year).over(b.over(revenue, year)), profit(last).over(b.over(revenue, last)))
	}
	stated := margin(func(p Period) Figure { return b.over(statedGrossProfit, p) })
	if stated.Known {
		return stated
	}
	return margin(b.derivedGrossProfit)
}

// sign is good when a figure is positive.
func sign(name string, f Figure) FSignal {
	return FSignal{Name: name, Known: f.Known(), Good: f.Known() && f.Value > 0, Now: f}
}

func rose(name string, now, before Figure) FSignal {
	known := now.Known() && before.Known()
	return FSignal{Name: name, Known: known, Good: known && now.Value > before.Value, Now: now, Before: before}
}

func fell(name string, now, before Figure) FSignal {
	known := now.Known() && before.Known()
	return FSignal{Name: name, Known: known, Good: known && now.Value < before.Value, Now: now, Before: before}
}
