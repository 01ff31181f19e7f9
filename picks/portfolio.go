package picks

import (
	"slices"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
)

// PortfolioRules are the rules of the model portfolio. DefaultPortfolioRules has those in force.
type PortfolioRules struct {
	// MaxPositions is how many positions there are at most. A pick beyond that replaces the oldest.
	MaxPositions int
	// MaxWeight is the most that a position is bought at or rebalanced to, as a fraction.
	MaxWeight float64
	// HoldingDays is after how many sessions a position is sold.
	HoldingDays int
	// SilentDays is after how many sessions without a price a position is given up at its last one, and a pick without a first
	// price is left out.
	SilentDays int
	// DepartedDays is after how many sessions without a price a position is closed at its last one, where the company has filed that its
	// shares leave the exchange.
	DepartedDays int
	// Dividends reports whether returns, including the benchmark's, are total returns. Otherwise both are price returns.
	Dividends bool
}

// DefaultPortfolioRules are the rules in force: section "Model portfolio" of docs/method-picks.md.
func DefaultPortfolioRules() PortfolioRules {
	return PortfolioRules{MaxPositions: 60, MaxWeight: 0.05, HoldingDays: 120, SilentDays: 20, DepartedDays: 3, Dividends: true}
}

// AnnouncedPick is a pick as the portfolio knows it.
type AnnouncedPick struct {
	Seq  int
	Date time.Time
	CIK  equity.CIK
}

// PortfolioInput is all that the portfolio is made of.
type PortfolioInput struct {
	// Picks are the announced picks in any order.
	Picks     []AnnouncedPick
	Companies map[equity.CIK]equity.Company
	Prices    Prices
	// Departures are the filings of companies that Departs selects, in any order.
	Departures map[equity.CIK][]equity.Filing
	// Benchmark is the history of a fund or index. Like is compared with like: for an index without dividends set
	// PortfolioRules.Dividends to false.
	Benchmark History
	// To is the last day that is read.
	To time.Time
}

// Portfolio is the model portfolio from its first day on. All of it is percentages: it has no amount of money and no number of
// shares.
type Portfolio struct {
	// Inception is the day at whose close the first position was bought; zero if none was bought.
	Inception time.Time
	// Snapshots has one entry for each session from the inception on, oldest first. After Resume, it begins with the checkpoint's
	// session.
	Snapshots []Snapshot
	// Positions are all positions that there ever were, in the order in which they were bought.
	Positions []Position
	// Missed are the picks that were never bought because they had no price. After Resume, it holds only the missed picks of the sessions
	// since.
	Missed []AnnouncedPick
	// CashPct is the cash of the last day; with the weights of the open positions it adds up to exactly 100.
	CashPct float64
	// Checkpoints are the sessions that Resume can continue from: the newest ones, and the last one of each month. They are ascending, and
	// the last is the last snapshot's.
	Checkpoints []Checkpoint
	// Doubts are the open positions whose close of the last session is in doubt. The caller sets it, by Doubted.
	Doubts []Doubt
	// ResumedAt is the session of the checkpoint that Resume went on from; zero after Simulate.
	ResumedAt time.Time

	tally *Tally // nil: to be made of the snapshots
}

// Snapshot is the portfolio at the close of a session. Percentages are not rounded; the benchmark's are NaN if it has no price on the
// inception day.
type Snapshot struct {
	Date time.Time
	// ReturnPct and BenchmarkReturnPct are since inception.
	ReturnPct, BenchmarkReturnPct           float64
	DailyReturnPct, BenchmarkDailyReturnPct float64
	// DrawdownPct is the distance from the highest close so far; zero or less.
	DrawdownPct float64
	Positions   int
	CashPct     float64
	// TradedPct is the sum of the purchases and sales at the close, in percent of the portfolio. A position whose shares ended is not a
	// trade.
	TradedPct float64
	// StakedPct is the worth of the held shares that stopped trading for reasons of performance without a known worth. It is their worth at
	// their last close, in percent of the portfolio at the close before. LostPct is the part of it that is assumed to be lost.
	StakedPct, LostPct float64
}

// Why a position was closed.
const (
	ClosedHeld     = "holding period over"
	ClosedReplaced = "replaced by a newer pick"
	ClosedMerger   = "bought by another company"
	ClosedDelisted = "delisted"
	ClosedSilent   = "no price any more"
)

// Position is one pick in the portfolio.
type Position struct {
	Seq int
	// CIK is the company that was picked, Holding the one whose shares are held: another after a merger.
	CIK, Holding equity.CIK
	Ticker, Name string
	Sector       Sector
	Region       Region
	Country      string
	EntryDate    time.Time
	// ExitDate is zero and Reason empty while the position is open.
	ExitDate time.Time
	Reason   string
	// WeightPct is the share of the portfolio on the last day, rounded to two decimals so that all weights and the cash add up to
	// 100; zero when closed.
	WeightPct float64
	// ReturnPct is the position's own return since it was bought, however much of it was held; not rounded.
	ReturnPct float64
	// ContributionPct is the position's contribution to the portfolio's return since inception, in percentage points. The contributions
	// of all positions, including closed ones, add up to that return. It is not rounded.
	ContributionPct float64
	// AssumedPct is the return that is assumed after the last close of shares that stopped trading without a known worth; zero for none.
	AssumedPct float64
	// PricedOn is the date of the last price that was read.
	PricedOn time.Time
	// contributed is ContributionPct at the close of each session from the entry on.
	contributed []float64
	entered     int // the index of the entry's snapshot
}

// Open reports whether the position is held.
func (p Position) Open() bool { return p.ExitDate.IsZero() }

// Simulate runs the portfolio from the first pick to the last day. Every step happens at the close of a session, in this order. Values move
// with prices. Ended companies are settled. Positions at the end of their holding period are sold. New picks are bought. On the first
// session of a month all positions are set to equal weights. Trades cost nothing, cash earns nothing. It is a pure function: equal inputs
// give equal bits.
func Simulate(in PortfolioInput, rules PortfolioRules) Portfolio {
	s := simulation{in: in, rules: rules, cash: 1, peak: 1, bench: 1}
	s.pending = slices.Clone(in.Picks)
	s.sort()
	if len(s.pending) == 0 {
		return Portfolio{}
	}
	for _, day := range calendar.Between(calendar.Next(s.pending[0].Date), in.To) {
		s.step(day)
		s.keep(day)
	}
	return s.result()
}
