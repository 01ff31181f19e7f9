package picks

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Performance is the summary of the portfolio. Percentages are not rounded; a percentage that needs a longer history is NaN.
type Performance struct {
	AsOf, Inception time.Time
	// ReturnPct, BenchmarkReturnPct and ExcessReturnPct (their difference) are since inception. The return is time-weighted: nothing
	// is ever paid in or out, so it is the product of the daily returns.
	ReturnPct, BenchmarkReturnPct, ExcessReturnPct float64
	// The returns of the last session, of the last 5 and of the last 21, and since the last session of the year before (since
	// inception in the first year).
	Return1DPct, Return1WPct, Return1MPct, ReturnYTDPct float64
	// VolatilityPct is the standard deviation of the daily returns since inception, times the root of 252; NaN for fewer than 20.
	VolatilityPct float64
	// MaxDrawdownPct is the largest fall from a high at a close; zero or less.
	MaxDrawdownPct float64
	Positions      int
	CashPct        float64
	// TurnoverPct is half of the purchases and sales a year, in percent of the portfolio; NaN for fewer than 20 daily returns.
	TurnoverPct float64
	// NetPct is the return since inception net of each of Costs.
	NetPct [len(Costs)]float64
	// AtLastClosePct and AtTotalLossPct are the return since inception under two assumptions. They are about shares that stopped trading
	// for reasons of performance, without a known worth: they lose nothing after the last close, or they lose all. ReturnPct has the
	// published losses. Delisted counts the sessions with such shares.
	AtLastClosePct, AtTotalLossPct float64
	Delisted                       int
	// Best and Worst are up to three open positions each by their own return, no position in both.
	Best, Worst []Position
}

// SessionsOfWeek and SessionsOfMonth are the numbers of sessions that the returns of a week and of a month are over.
const (
	SessionsOfWeek  = 5
	SessionsOfMonth = 21
)

const (
	minVolatilityDays = 20
	shownExtremes     = 3
)

// Performance sums the portfolio up on its last day; the zero Performance before its inception.
func (p Portfolio) Performance() Performance {
	n := len(p.Snapshots)
	if n == 0 {
		return Performance{}
	}
	last := p.Snapshots[n-1]
	if p.tally == nil {
		p.tally = &Tally{}
		for _, s := range p.Snapshots {
			p.tally.add(s)
		}
	}
	t := p.tally
	sum := Performance{
		AsOf: last.Date, Inception: p.Inception, ReturnPct: last.ReturnPct, BenchmarkReturnPct: last.BenchmarkReturnPct,
		ExcessReturnPct: last.ReturnPct - last.BenchmarkReturnPct, Return1DPct: t.since(1), Return1WPct: t.since(SessionsOfWeek),
		Return1MPct: t.since(SessionsOfMonth), ReturnYTDPct: between(t.YearBase, last.ReturnPct), MaxDrawdownPct: t.MaxDrawdown,
		Positions: last.Positions, CashPct: p.CashPct, VolatilityPct: math.NaN(), TurnoverPct: math.NaN(),
	}
	if t.Daily >= minVolatilityDays {
		sum.VolatilityPct = t.deviation() * math.Sqrt(yearlyDays)
		sum.TurnoverPct = t.TradedPct / 2 * yearlyDays / float64(t.Daily)
	}
	for i, worth := range t.Net {
		sum.NetPct[i] = 100 * (worth - 1)
	}
	sum.Delisted, sum.AtLastClosePct, sum.AtTotalLossPct = t.Delisted, 100*(t.AtLastClose-1), 100*(t.AtTotalLoss-1)
	sum.Best, sum.Worst = p.extremes()
	return sum
}

// between is the return in percent from one return since inception to a later one.
func between(from, to float64) float64 { return 100 * ((100+to)/(100+from) - 1) }

// extremes are the best and the worst open positions.
func (p Portfolio) extremes() (best, worst []Position) {
	open := slices.DeleteFunc(slices.Clone(p.Positions), func(q Position) bool { return !q.Open() })
	slices.SortFunc(open, func(a, b Position) int {
		return cmp.Or(cmp.Compare(b.ReturnPct, a.ReturnPct), cmp.Compare(a.Ticker, b.Ticker), cmp.Compare(a.Seq, b.Seq))
	})
	good := min(shownExtremes, (len(open)+1)/2)
	bad := min(shownExtremes, len(open)-good)
	best, worst = open[:good:good], slices.Clone(open[len(open)-bad:])
	slices.Reverse(worst)
	return best, worst
}

// Day is the snapshot of a date, or of the last one before, and whether there is one.
func (p Portfolio) Day(day time.Time) (Snapshot, bool) {
	i := p.index(day)
	if i < 0 {
		return Snapshot{}, false
	}
	return p.Snapshots[i], true
}

// index is the index of the last snapshot at or before a date; -1 if none exists.
func (p Portfolio) index(day time.Time) int {
	i, found := slices.BinarySearchFunc(p.Snapshots, day, func(s Snapshot, t time.Time) int { return s.Date.Compare(t) })
	if !found {
		i--
	}
	return i
}
