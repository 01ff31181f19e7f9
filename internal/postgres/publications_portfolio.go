package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/equity"
	"tidemark/internal/task"
	"tidemark/picks"
)

// PortfolioSnapshot is the model portfolio at the close of a session, computed from the data known at AsOf. Percentages are not rounded.
// The benchmark's percentages are nil if it had no price on the inception day.
type PortfolioSnapshot struct {
	Date    time.Time
	Edition int
	AsOf    time.Time

	ReturnPct               float64
	BenchmarkReturnPct      *float64
	DailyReturnPct          float64
	BenchmarkDailyReturnPct *float64
	DrawdownPct             float64
	Positions               int
	CashPct                 float64
	RecordedAt              time.Time
}

// Same reports whether a computed snapshot equals a stored one, bit for bit.
func (s PortfolioSnapshot) Same(p picks.Snapshot) bool {
	bits := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	maybe := func(a *float64, b float64) bool {
		if a == nil {
			return math.IsNaN(b)
		}
		return bits(*a, b)
	}
	return s.Date.Equal(p.Date) && bits(s.ReturnPct, p.ReturnPct) && maybe(s.BenchmarkReturnPct, p.BenchmarkReturnPct) &&
		bits(s.DailyReturnPct, p.DailyReturnPct) && maybe(s.BenchmarkDailyReturnPct, p.BenchmarkDailyReturnPct) &&
		bits(s.DrawdownPct, p.DrawdownPct) && s.Positions == p.Positions && bits(s.CashPct, p.CashPct)
}

// PortfolioState is the model portfolio as of its last session. Percentages are not rounded, except the weights.
type PortfolioState struct {
	Date        time.Time
	AsOf        time.Time
	Performance Performance
	// Positions are all positions, including closed ones, in the order in which they were bought.
	Positions []Position
	Sectors   []SectorWeight
	Regions   []RegionWeight
}

// Performance is the summary of the portfolio. Numbers are nil if the history is too short.
type Performance struct {
	// Inception is YYYY-MM-DD.
	Inception          string   `json:"inception"`
	ReturnPct          *float64 `json:"return_pct"`
	BenchmarkReturnPct *float64 `json:"benchmark_return_pct"`
	ExcessReturnPct    *float64 `json:"excess_return_pct"`
	Return1DPct        *float64 `json:"return_1d_pct"`
	Return1WPct        *float64 `json:"return_1w_pct"`
	Return1MPct        *float64 `json:"return_1m_pct"`
	ReturnYTDPct       *float64 `json:"return_ytd_pct"`
	VolatilityPct      *float64 `json:"volatility_pct"`
	MaxDrawdownPct     *float64 `json:"max_drawdown_pct"`
	Positions          int      `json:"positions"`
	// CashPct is rounded to two decimals; with the weights it adds up to 100.
	CashPct float64 `json:"cash_pct"`
	// TurnoverPct is half of what is bought and sold a year. NetOfCosts is empty in a state that was stored before it was computed.
	TurnoverPct *float64    `json:"turnover_pct"`
	NetOfCosts  []NetReturn `json:"net_of_costs"`
	// Delistings is nil in a state that was stored before it was computed.
	Delistings *Delistings `json:"delistings,omitempty"`
	// Doubts are the open positions whose close of the last session two publishers state differently.
	Doubts []Doubt `json:"doubts,omitempty"`
	// Best and Worst are the numbers of up to three open positions each.
	Best  []int `json:"best"`
	Worst []int `json:"worst"`
}

// NetReturn is the return since inception after costs of trading, in basis points of each amount bought or sold.
type NetReturn struct {
	BasisPoints int     `json:"basis_points"`
	ReturnPct   float64 `json:"return_pct"`
}

// Doubt is an open position whose close of the last session is in doubt. Source is the publisher of Other.
type Doubt struct {
	Seq    int          `json:"seq"`
	Close  equity.Price `json:"close"`
	Other  equity.Price `json:"other"`
	Source string       `json:"source"`
}

// Delistings is the return since inception under other assumptions about shares that stopped trading for reasons of performance, without a
// known worth. Sessions counts the sessions with such shares.
type Delistings struct {
	Sessions       int     `json:"sessions"`
	AtLastClosePct float64 `json:"at_last_close_pct"`
	AtTotalLossPct float64 `json:"at_total_loss_pct"`
}

// Position is one pick in the portfolio.
type Position struct {
	// Seq is the pick's number.
	Seq int `json:"seq"`
	// CIK is the company that was picked. Holding is the company whose shares are held.
	CIK     equity.CIK `json:"cik"`
	Holding equity.CIK `json:"holding"`
	Ticker  string     `json:"ticker"`
	Name    string     `json:"name"`
	Sector  string     `json:"sector"`
	Region  string     `json:"region"`
	Country string     `json:"country"`
	// The dates are YYYY-MM-DD. ExitDate is nil and Reason empty while the position is open.
	EntryDate       string   `json:"entry_date"`
	ExitDate        *string  `json:"exit_date"`
	Reason          string   `json:"reason"`
	WeightPct       float64  `json:"weight_pct"`
	ReturnPct       *float64 `json:"return_pct"`
	ContributionPct *float64 `json:"contribution_pct"`
	PricedOn        string   `json:"priced_on"`
	// AssumedPct is the return that is assumed after the last close of shares that stopped trading without a known worth; zero for none.
	AssumedPct float64 `json:"assumed_pct,omitempty"`
}

// SectorWeight is the part of one sector in the portfolio, or of the cash.
type SectorWeight struct {
	Sector    string   `json:"sector"`
	WeightPct float64  `json:"weight_pct"`
	Positions int      `json:"positions"`
	ReturnPct *float64 `json:"return_pct"`
}

// RegionWeight is the part of one region in the portfolio, or of the cash.
type RegionWeight struct {
	Region    string          `json:"region"`
	WeightPct float64         `json:"weight_pct"`
	Positions int             `json:"positions"`
	Countries []CountryWeight `json:"countries"`
	ReturnPct *float64        `json:"return_pct"`
}

// CountryWeight is the part of one country. Country is empty if unknown.
type CountryWeight struct {
	Country   string  `json:"country"`
	WeightPct float64 `json:"weight_pct"`
}

// StateOf returns the state of a portfolio on its last session, as known at an instant. The portfolio must have begun.
func StateOf(p picks.Portfolio, asOf time.Time) PortfolioState {
	sum := p.Performance()
	state := PortfolioState{
		Date: sum.AsOf, AsOf: asOf.UTC(),
		Performance: Performance{
			Inception: sum.Inception.Format(time.DateOnly), ReturnPct: Known(sum.ReturnPct), BenchmarkReturnPct: Known(sum.BenchmarkReturnPct),
			ExcessReturnPct: Known(sum.ExcessReturnPct), Return1DPct: Known(sum.Return1DPct), Return1WPct: Known(sum.Return1WPct),
			Return1MPct: Known(sum.Return1MPct), ReturnYTDPct: Known(sum.ReturnYTDPct), VolatilityPct: Known(sum.VolatilityPct),
			MaxDrawdownPct: Known(sum.MaxDrawdownPct), Positions: sum.Positions, CashPct: p.CashPct, Best: seqs(sum.Best), Worst: seqs(sum.Worst),
			TurnoverPct: Known(sum.TurnoverPct), Delistings: &Delistings{sum.Delisted, sum.AtLastClosePct, sum.AtTotalLossPct},
		},
		Positions: []Position{},
	}
	for i, points := range picks.Costs {
		state.Performance.NetOfCosts = append(state.Performance.NetOfCosts, NetReturn{points, sum.NetPct[i]})
	}
	for _, d := range p.Doubts {
		state.Performance.Doubts = append(state.Performance.Doubts, Doubt(d))
	}
	for _, q := range p.Positions {
		one := Position{
			Seq: q.Seq, CIK: q.CIK, Holding: q.Holding, Ticker: q.Ticker, Name: q.Name, Sector: string(q.Sector), Region: string(q.Region),
			Country: q.Country, EntryDate: q.EntryDate.Format(time.DateOnly), Reason: q.Reason, WeightPct: q.WeightPct,
			ReturnPct: Known(q.ReturnPct), ContributionPct: Known(q.ContributionPct), PricedOn: q.PricedOn.Format(time.DateOnly), AssumedPct: q.AssumedPct,
		}
		if !q.Open() {
			one.ExitDate = new(q.ExitDate.Format(time.DateOnly))
		}
		state.Positions = append(state.Positions, one)
	}
	for _, s := range p.Sectors() {
		state.Sectors = append(state.Sectors, SectorWeight{s.Sector, s.WeightPct, s.Positions, Known(s.ReturnPct)})
	}
	for _, r := range p.Regions() {
		row := RegionWeight{Region: r.Region, WeightPct: r.WeightPct, Positions: r.Positions, Countries: []CountryWeight{}, ReturnPct: Known(r.ReturnPct)}
		for _, c := range r.Countries {
			row.Countries = append(row.Countries, CountryWeight{c.Country, c.WeightPct})
		}
		state.Regions = append(state.Regions, row)
	}
	return state
}

func seqs(positions []picks.Position) []int {
	list := []int{}
	for _, p := range positions {
		list = append(list, p.Seq)
	}
	return list
}

const addSnapshotSQL = `
	insert into portfolio_snapshots (date, edition, as_of, return_pct, benchmark_return_pct, daily_return_pct, benchmark_daily_return_pct,
		drawdown_pct, positions, cash_pct)
	values (@date, @edition, @as_of, @return_pct, @benchmark_return_pct, @daily_return_pct, @benchmark_daily_return_pct, @drawdown_pct,
		@positions, @cash_pct)`

const setStateSQL = `
	insert into portfolio_state (date, as_of, performance, positions, sectors, regions)
	values (@date, @as_of, @performance, @positions, @sectors, @regions)
	on conflict (one) do update
	set date = excluded.date, as_of = excluded.as_of, performance = excluded.performance, positions = excluded.positions,
		sectors = excluded.sectors, regions = excluded.regions
	where (portfolio_state.date, portfolio_state.as_of) < (excluded.date, excluded.as_of)`

// SavePortfolio stores a portfolio that was computed as known at an instant. It adds a snapshot of each session without one, a further
// edition of each changed snapshot, and the state of the last session. Newer stored data stays, so the same or an older portfolio changes
// nothing. The portfolio's checkpoints replace the stored ones of the sessions that were computed. It returns the number of added
// snapshots. It stores all or nothing, and only while the attempt in f is current. Listeners on ChannelPublications are notified.
func (db PublicationStore) SavePortfolio(ctx context.Context, f task.Fence, p picks.Portfolio, asOf time.Time) (added int64, err error) {
	if len(p.Snapshots) == 0 {
		return 0, nil
	}
	args, err := stateArgs(StateOf(p, asOf))
	if err != nil {
		return 0, fmt.Errorf("store the portfolio: %w", err)
	}
	err = db.tx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('portfolio', 0))`); err != nil {
			return err
		}
		stored, err := latestSnapshots(ctx, tx, p.Snapshots[0].Date)
		if err != nil {
			return err
		}
		var b pgx.Batch
		for _, s := range p.Snapshots {
			last, known := stored[s.Date]
			if known && (last.Same(s) || last.AsOf.After(asOf)) {
				continue
			}
			b.Queue(addSnapshotSQL, pgx.NamedArgs{
				"date": s.Date, "edition": last.Edition + 1, "as_of": asOf, "return_pct": s.ReturnPct, "benchmark_return_pct": Known(s.BenchmarkReturnPct),
				"daily_return_pct": s.DailyReturnPct, "benchmark_daily_return_pct": Known(s.BenchmarkDailyReturnPct),
				"drawdown_pct": s.DrawdownPct, "positions": s.Positions, "cash_pct": s.CashPct,
			})
		}
		if added, err = runBatch(ctx, tx, &b); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, setStateSQL, args); err != nil {
			return err
		}
		if err := saveCheckpoints(ctx, tx, p, asOf); err != nil {
			return err
		}
		return checkFence(ctx, tx, f, added)
	})
	if err != nil {
		return 0, fmt.Errorf("store the portfolio: %w", err)
	}
	return added, nil
}

func stateArgs(s PortfolioState) (pgx.NamedArgs, error) {
	performance, err1 := json.Marshal(s.Performance)
	positions, err2 := json.Marshal(s.Positions)
	sectors, err3 := json.Marshal(s.Sectors)
	regions, err4 := json.Marshal(s.Regions)
	return pgx.NamedArgs{
		"date": s.Date, "as_of": s.AsOf, "performance": performance, "positions": positions, "sectors": sectors, "regions": regions,
	}, errors.Join(err1, err2, err3, err4)
}

const snapshotsOfPortfolioSQL = `
	select date, edition, as_of, return_pct, benchmark_return_pct, daily_return_pct, benchmark_daily_return_pct, drawdown_pct, positions,
		cash_pct, recorded_at
	from portfolio_snapshots
	where date >= @from
	order by date, edition` // primary key

// latestSnapshots returns the last editions of the snapshots from a day on.
func latestSnapshots(ctx context.Context, tx pgx.Tx, from time.Time) (map[time.Time]PortfolioSnapshot, error) {
	rows, err := tx.Query(ctx, snapshotsOfPortfolioSQL, pgx.NamedArgs{"from": from})
	list, err := collect[PortfolioSnapshot](rows, err)
	stored := map[time.Time]PortfolioSnapshot{}
	for _, s := range list {
		stored[s.Date] = s // the last edition comes last
	}
	return stored, err
}

// PortfolioSnapshots returns every edition of every snapshot, by date and edition.
func (db PublicationStore) PortfolioSnapshots(ctx context.Context) ([]PortfolioSnapshot, error) {
	rows, err := db.reads.Query(ctx, snapshotsOfPortfolioSQL, pgx.NamedArgs{"from": orFirstDay(time.Time{})})
	list, err := collect[PortfolioSnapshot](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the snapshots of the portfolio: %w", asUnavailable(err))
	}
	return list, nil
}

const portfolioHistorySQL = `
	select distinct on (date) date, edition, as_of, return_pct, benchmark_return_pct, daily_return_pct, benchmark_daily_return_pct,
		drawdown_pct, positions, cash_pct, recorded_at
	from portfolio_snapshots
	order by date, edition desc` // primary key

// PortfolioHistory returns the last edition of the snapshot of each session, by date.
func (db PublicationStore) PortfolioHistory(ctx context.Context) ([]PortfolioSnapshot, error) {
	rows, err := db.reads.Query(ctx, portfolioHistorySQL)
	list, err := collect[PortfolioSnapshot](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the history of the portfolio: %w", asUnavailable(err))
	}
	return list, nil
}

// PortfolioState returns the portfolio as of its last session, or ErrNotFound before its inception.
func (db PublicationStore) PortfolioState(ctx context.Context) (PortfolioState, error) {
	rows, err := db.reads.Query(ctx, `select date, as_of, performance, positions, sectors, regions from portfolio_state`)
	list, err := collect[PortfolioState](rows, err)
	if err != nil {
		return PortfolioState{}, fmt.Errorf("read the portfolio: %w", asUnavailable(err))
	}
	if len(list) == 0 {
		return PortfolioState{}, fmt.Errorf("a portfolio: %w", ErrNotFound)
	}
	return list[0], nil
}
