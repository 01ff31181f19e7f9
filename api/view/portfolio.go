package view

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/picks"
)

// Portfolio sums the model portfolio up at the close of its last session. Percentages only, rounded to two decimals; null where the
// history is too short.
type Portfolio struct {
	AsOf            string             `json:"as_of"`
	InceptionDate   string             `json:"inception_date"`
	ReturnPct       *float64           `json:"return_pct"`
	Benchmark       PortfolioBenchmark `json:"benchmark"`
	ExcessReturnPct *float64           `json:"excess_return_pct"`
	Return1DPct     *float64           `json:"return_1d_pct"`
	Return1WPct     *float64           `json:"return_1w_pct"`
	Return1MPct     *float64           `json:"return_1m_pct"`
	ReturnYTDPct    *float64           `json:"return_ytd_pct"`
	VolatilityPct   *float64           `json:"volatility_pct"`
	MaxDrawdownPct  *float64           `json:"max_drawdown_pct"`
	PositionsCount  int                `json:"positions_count"`
	CashPct         float64            `json:"cash_pct"`
	Best            []PositionReturn   `json:"best"`
	Worst           []PositionReturn   `json:"worst"`
	Method          string             `json:"method"`
	// TurnoverPct is half of what is bought and sold a year, in percent of the portfolio; null for fewer than 20 sessions.
	TurnoverPct *float64     `json:"turnover_pct"`
	NetOfCosts  []NetOfCosts `json:"net_of_costs"`
	// ReturnKind is "total_return" if all returns here count dividends, of the benchmark too. It is "price_return" if the source of prices states
	// none.
	ReturnKind string `json:"return_kind"`
	// Delistings are the returns under other assumptions about shares that stopped trading; null before they are computed.
	Delistings *Delistings `json:"delistings"`
	// PricesInDoubt are the open positions whose close of AsOf two publishers state differently by more than 0.5%.
	PricesInDoubt []PriceInDoubt `json:"prices_in_doubt"`
	// LikeWithLike is null in the first session. Skill has a row for all picks, one for the method's and one for the editor's.
	LikeWithLike *LikeWithLike `json:"like_with_like"`
	Skill        []Skill       `json:"skill"`
}

// Delistings says how the return since inception depends on what is assumed of shares that stopped trading for reasons of performance, without a
// price afterwards. ReturnPct of the portfolio has the published losses: 30% after the last close on the NYSE, 55% on Nasdaq, nothing after
// a merger. Sessions counts the sessions in which such shares were given up.
type Delistings struct {
	Sessions          int      `json:"sessions"`
	ReturnAtLastClose *float64 `json:"return_at_last_close_pct"`
	ReturnAtTotalLoss *float64 `json:"return_at_total_loss_pct"`
}

// PriceInDoubt is a close that is in doubt. Source is the publisher of OtherClose.
type PriceInDoubt struct {
	Ticker     string `json:"ticker"`
	Close      string `json:"close"`
	OtherClose string `json:"other_close"`
	Source     string `json:"source"`
}

// The kinds of return.
const (
	TotalReturn = "total_return"
	PriceReturn = "price_return"
)

// PortfolioBenchmark is the benchmark of the portfolio.
type PortfolioBenchmark struct {
	Symbol    string   `json:"symbol"`
	Name      string   `json:"name"`
	ReturnPct *float64 `json:"return_pct"`
}

// PositionReturn is an open position and its own return.
type PositionReturn struct {
	Ticker    string   `json:"ticker"`
	ReturnPct *float64 `json:"return_pct"`
}

// portfolioMethod describes in one line how the portfolio is built. docs/method-picks.md has the details.
const portfolioMethod = "equal weight, entered at the next session's close after the announcement, close to close, no costs"

// Portfolio returns the summary, or nil before the inception.
func (st *PublicationsState) Portfolio() (*Document, error) {
	if st.portfolio == nil {
		return nil, nil
	}
	doc, _, err := st.answers.getOrBuild("portfolio", func() (*Document, string, error) {
		meta, modified := st.meta(st.portfolioAt)
		doc, err := one(st.summary(), meta, modified)
		return doc, "", err
	})
	return doc, err
}

// summary returns the summary. The portfolio must exist.
func (st *PublicationsState) summary() Portfolio {
	sum := st.portfolio.Performance
	out := Portfolio{
		ReturnKind: st.returnKind(), PricesInDoubt: st.pricesInDoubt(),
		AsOf: st.portfolio.Date.Format(time.DateOnly), InceptionDate: sum.Inception, ReturnPct: shown(sum.ReturnPct),
		Benchmark:       PortfolioBenchmark{benchmarkSymbol, benchmarkName, shown(sum.BenchmarkReturnPct)},
		ExcessReturnPct: shownDifference(sum.ReturnPct, sum.BenchmarkReturnPct), Return1DPct: shown(sum.Return1DPct), Return1WPct: shown(sum.Return1WPct),
		Return1MPct: shown(sum.Return1MPct), ReturnYTDPct: shown(sum.ReturnYTDPct), VolatilityPct: shown(sum.VolatilityPct),
		MaxDrawdownPct: shown(sum.MaxDrawdownPct), PositionsCount: sum.Positions, CashPct: *shown(&sum.CashPct),
		Best: st.named(sum.Best), Worst: st.named(sum.Worst), Method: portfolioMethod,
		TurnoverPct: shown(sum.TurnoverPct), NetOfCosts: st.netOfCosts(), LikeWithLike: st.evaluated().comparison, Skill: st.evaluated().skill,
	}
	if d := sum.Delistings; d != nil {
		out.Delistings = &Delistings{d.Sessions, shown(&d.AtLastClosePct), shown(&d.AtTotalLossPct)}
	}
	return out
}

// returnKind says whether the returns count dividends.
func (st *PublicationsState) returnKind() string {
	if picks.TotalReturn(st.prices[equity.Benchmark], st.prices) {
		return TotalReturn
	}
	return PriceReturn
}

// pricesInDoubt returns none before there is a portfolio.
func (st *PublicationsState) pricesInDoubt() []PriceInDoubt {
	list := []PriceInDoubt{}
	if st.portfolio == nil {
		return list
	}
	for _, d := range st.portfolio.Performance.Doubts {
		if i := slices.IndexFunc(st.portfolio.Positions, func(p postgres.Position) bool { return p.Seq == d.Seq }); i >= 0 {
			list = append(list, PriceInDoubt{st.portfolio.Positions[i].Ticker, string(d.Close), string(d.Other), d.Source})
		}
	}
	return list
}

// InDoubt returns the open positions of companies whose newest close is in doubt.
func (st *PublicationsState) InDoubt(tickers ...string) (list []PriceInDoubt) {
	for _, d := range st.pricesInDoubt() {
		if slices.Contains(tickers, d.Ticker) {
			list = append(list, d)
		}
	}
	return list
}

func (st *PublicationsState) named(seqs []int) []PositionReturn {
	list := []PositionReturn{}
	for _, seq := range seqs {
		i := slices.IndexFunc(st.portfolio.Positions, func(p postgres.Position) bool { return p.Seq == seq })
		// A position that was bought at the newest close has no return yet.
		if i >= 0 && st.portfolio.Positions[i].EntryDate < st.portfolio.Date.Format(time.DateOnly) {
			list = append(list, PositionReturn{st.portfolio.Positions[i].Ticker, shown(st.portfolio.Positions[i].ReturnPct)})
		}
	}
	return list
}

// Position is one pick in the portfolio.
type Position struct {
	Seq    int    `json:"seq"`
	Ticker string `json:"ticker"`
	Name   string `json:"name"`
	// WeightPct is 0 for a closed position; the weights of the open ones and the cash add up to 100.
	WeightPct float64 `json:"weight_pct"`
	// ReturnPct is the position's own since it was bought, ContributionPct what it added to the portfolio's, in percentage points.
	ReturnPct       *float64 `json:"return_pct"`
	ContributionPct *float64 `json:"contribution_pct"`
	EntryDate       string   `json:"entry_date" column:"date"`
	ExitDate        *string  `json:"exit_date" column:"date"`
	ExitReason      *string  `json:"exit_reason"`
	Sector          string   `json:"sector"`
	Region          string   `json:"region"`
	Country         string   `json:"country"`
	Status          string   `json:"status"`
}

// Positions lists all positions. The open ones come first, by weight, heaviest first. The closed ones follow, last bought first.
func (st *PublicationsState) Positions(q ListQuery) (*Document, string, error) {
	return st.answers.getOrBuild("positions"+q.name(), func() (*Document, string, error) {
		var rows []postgres.Position
		if st.portfolio != nil {
			rows = slices.Clone(st.portfolio.Positions)
		}
		slices.SortFunc(rows, func(a, b postgres.Position) int { return strings.Compare(positionKey(a), positionKey(b)) })
		meta, modified := st.meta(st.portfolioAt)
		return listing[postgres.Position, Position]{
			order: "positions", rows: rows, key: positionKey, meta: meta, modified: modified,
			keep: func(p postgres.Position) bool {
				return q.within(p.EntryDate) && q.about(p.Ticker, p.Sector, p.Region) && (q.Status == "" || q.Status == statusOf(p))
			},
			show: func(p postgres.Position) Position {
				return Position{
					Seq: p.Seq, Ticker: p.Ticker, Name: p.Name, WeightPct: p.WeightPct, ReturnPct: shown(p.ReturnPct),
					ContributionPct: shown(p.ContributionPct), EntryDate: p.EntryDate, ExitDate: p.ExitDate, ExitReason: stated(p.Reason),
					Sector: p.Sector, Region: p.Region, Country: p.Country, Status: statusOf(p),
				}
			},
		}.page(q, canonicalQuery)
	})
}

func statusOf(p postgres.Position) string {
	if p.ExitDate != nil {
		return StatusClosed
	}
	return StatusOpen
}

func positionKey(p postgres.Position) string {
	weight := int64(0)
	if p.ExitDate == nil {
		weight = 1 + int64(math.Round(p.WeightPct*100)) // in hundredths of a percent, and always larger than the key of a closed position
	}
	return newestFirst(weight) + newestFirst(int64(p.Seq))
}

// HistorySnapshot is the portfolio at the close of a session. Returns are since inception but for the daily ones.
type HistorySnapshot struct {
	Date                    string   `json:"date" column:"date"`
	ReturnPct               *float64 `json:"return_pct"`
	BenchmarkReturnPct      *float64 `json:"benchmark_return_pct"`
	DailyReturnPct          *float64 `json:"daily_return_pct"`
	BenchmarkDailyReturnPct *float64 `json:"benchmark_daily_return_pct"`
	DrawdownPct             *float64 `json:"drawdown_pct"`
	PositionsCount          int      `json:"positions_count"`
	CashPct                 *float64 `json:"cash_pct"`
}

// History lists the daily snapshots, oldest first.
func (st *PublicationsState) History(q ListQuery) (*Document, string, error) {
	return st.answers.getOrBuild("history"+q.name(), func() (*Document, string, error) {
		date := func(s postgres.PortfolioSnapshot) string { return s.Date.Format(time.DateOnly) }
		meta, modified := st.meta(st.portfolioAt)
		return listing[postgres.PortfolioSnapshot, HistorySnapshot]{
			order: "history", rows: st.history, key: date, meta: meta, modified: modified,
			keep: func(s postgres.PortfolioSnapshot) bool { return q.within(date(s)) },
			show: func(s postgres.PortfolioSnapshot) HistorySnapshot {
				return HistorySnapshot{
					Date: date(s), ReturnPct: shown(&s.ReturnPct), BenchmarkReturnPct: shown(s.BenchmarkReturnPct), DailyReturnPct: shown(&s.DailyReturnPct),
					BenchmarkDailyReturnPct: shown(s.BenchmarkDailyReturnPct), DrawdownPct: shown(&s.DrawdownPct), PositionsCount: s.Positions,
					CashPct: shown(&s.CashPct),
				}
			},
		}.page(q, canonicalQuery)
	})
}

// Sector is one sector's part of the portfolio, or the cash. The weights of the list add up to 100.
type Sector struct {
	Sector         string   `json:"sector"`
	WeightPct      float64  `json:"weight_pct"`
	PositionsCount int      `json:"positions_count"`
	ReturnPct      *float64 `json:"return_pct"`
}

// Sectors lists the distribution by sector, largest first, cash last.
func (st *PublicationsState) Sectors(q ListQuery) (*Document, string, error) {
	return st.answers.getOrBuild("sectors"+q.name(), func() (*Document, string, error) {
		var rows []weighted[postgres.SectorWeight]
		if st.portfolio != nil {
			rows = inOrder(st.portfolio.Sectors)
		}
		meta, modified := st.meta(st.portfolioAt)
		return listing[weighted[postgres.SectorWeight], Sector]{
			order: "sectors", rows: rows, key: weighted[postgres.SectorWeight].key, meta: meta, modified: modified,
			keep: func(p weighted[postgres.SectorWeight]) bool { return q.about("", p.row.Sector, "") },
			show: func(p weighted[postgres.SectorWeight]) Sector {
				return Sector{p.row.Sector, p.row.WeightPct, p.row.Positions, shown(p.row.ReturnPct)}
			},
		}.page(q, canonicalQuery)
	})
}

// Region is the part of the portfolio in one region, or the cash, with the parts of the region's countries. Both add up.
type Region struct {
	Region         string    `json:"region"`
	WeightPct      float64   `json:"weight_pct"`
	PositionsCount int       `json:"positions_count"`
	Countries      []Country `json:"countries"`
	ReturnPct      *float64  `json:"return_pct"`
}

// Country is one country's part. Country is null if it is unknown.
type Country struct {
	Country   *string `json:"country"`
	WeightPct float64 `json:"weight_pct"`
}

// Regions lists the distribution by region, largest first, cash last.
func (st *PublicationsState) Regions(q ListQuery) (*Document, string, error) {
	return st.answers.getOrBuild("regions"+q.name(), func() (*Document, string, error) {
		var rows []weighted[postgres.RegionWeight]
		if st.portfolio != nil {
			rows = inOrder(st.portfolio.Regions)
		}
		meta, modified := st.meta(st.portfolioAt)
		return listing[weighted[postgres.RegionWeight], Region]{
			order: "regions", rows: rows, key: weighted[postgres.RegionWeight].key, meta: meta, modified: modified,
			keep: func(p weighted[postgres.RegionWeight]) bool { return q.about("", "", p.row.Region) },
			show: func(p weighted[postgres.RegionWeight]) Region {
				r := Region{p.row.Region, p.row.WeightPct, p.row.Positions, []Country{}, shown(p.row.ReturnPct)}
				for _, c := range p.row.Countries {
					r.Countries = append(r.Countries, Country{stated(c.Country), c.WeightPct})
				}
				return r
			},
		}.page(q, canonicalQuery)
	})
}

// weighted is a row of a list that is already sorted.
type weighted[T any] struct {
	place int
	row   T
}

func (p weighted[T]) key() string { return fmt.Sprintf("%06d", p.place) }

func inOrder[T any](list []T) []weighted[T] {
	out := make([]weighted[T], len(list))
	for i, r := range list {
		out[i] = weighted[T]{i, r}
	}
	return out
}
