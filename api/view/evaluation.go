package view

import (
	"math"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/picks"
	"tidemark/picks/evaluation"
)

// LikeWithLike compares the portfolio with a benchmark that holds the portfolio's share of cash after each close. Cash earns nothing on both
// sides. So the cash of a portfolio that has not enough picks yet does not count as a lack of skill, or as skill.
type LikeWithLike struct {
	Portfolio ComparedSide `json:"portfolio"`
	Benchmark ComparedSide `json:"benchmark"`
	// BenchmarkWithoutCash is the benchmark as it is quoted.
	BenchmarkWithoutCash ComparedSide `json:"benchmark_without_cash"`
	// ExcessReturnPct is the portfolio's return less that of Benchmark, in percentage points.
	ExcessReturnPct *float64 `json:"excess_return_pct"`
	MeanCashPct     *float64 `json:"mean_cash_pct"`
	// Others are the same comparison with RSP and with all companies that the method scored. One without a known price is left out.
	Others []OtherComparison `json:"others"`
}

// OtherComparison compares the portfolio with another benchmark that holds the portfolio's share of cash after each close. Symbol is "RSP", the
// companies of the benchmark's index at equal weight, or "universe", all companies that the method scored, at equal weight each session. From is
// the close at which it begins: that of the inception, or the first one at which the other benchmark is known.
type OtherComparison struct {
	Symbol               string       `json:"symbol"`
	Name                 string       `json:"name"`
	From                 string       `json:"from"`
	Portfolio            ComparedSide `json:"portfolio"`
	Benchmark            ComparedSide `json:"benchmark"`
	BenchmarkWithoutCash ComparedSide `json:"benchmark_without_cash"`
	ExcessReturnPct      *float64     `json:"excess_return_pct"`
}

// universeSymbol is the symbol of the comparison with all companies that the method scored.
const universeSymbol = "universe"

// ComparedSide is one side of a comparison since the inception. VolatilityPct is of daily returns, a year; null for fewer than 20.
type ComparedSide struct {
	ReturnPct      *float64 `json:"return_pct"`
	VolatilityPct  *float64 `json:"volatility_pct"`
	MaxDrawdownPct *float64 `json:"max_drawdown_pct"`
}

// Skill says how much of the picks' excess return over the benchmark is more than luck. It is about a portfolio of the picks of Origin at
// equal weight, each held from its entry for 120 sessions, without cash and costs. Numbers are null for fewer than 20 sessions, and
// the probability and the length of a record for fewer than 60.
type Skill struct {
	// Origin is "method", "editor", or "all" for both.
	Origin string `json:"origin"`
	// Picks counts the picks with an entry, Sessions the daily excess returns.
	Picks    int `json:"picks"`
	Sessions int `json:"sessions"`
	// ExcessPctPerYear is the mean excess return from entry. InformationRatio is the mean over the standard deviation, a year.
	ExcessPctPerYear *float64 `json:"excess_pct_per_year"`
	InformationRatio *float64 `json:"information_ratio"`
	TStatistic       *float64 `json:"t_statistic"`
	// ProbabilityPct is the probabilistic Sharpe ratio: the probability that the true ratio is above zero. It is null for fewer than 60 sessions.
	ProbabilityPct *float64 `json:"probability_pct"`
	// MinTrackRecordYears is how long a record with this ratio must be to show with 95% confidence that the true one is above zero. It is
	// null if the ratio is zero or less, because no length shows it, and for fewer than 60 sessions.
	MinTrackRecordYears *float64 `json:"min_track_record_years"`
	// YearsStillNeeded are the years that are missing from the record of a method with an information ratio of 0.5, which needs 10.8.
	YearsStillNeeded *float64 `json:"years_still_needed"`
}

// goodRatio is a good information ratio a year. It does not depend on the record.
const goodRatio = 0.5

// evaluated holds the results that are computed once for a state.
type evaluated struct {
	comparison *LikeWithLike
	skill      []Skill
}

// evaluate compares the portfolio and judges the picks by origin.
func (st *PublicationsState) evaluate() evaluated {
	var out evaluated
	snapshots := make([]picks.Snapshot, len(st.history))
	for i, s := range st.history {
		bench := math.NaN()
		if s.BenchmarkDailyReturnPct != nil {
			bench = *s.BenchmarkDailyReturnPct
		}
		snapshots[i] = picks.Snapshot{Date: s.Date, DailyReturnPct: s.DailyReturnPct, BenchmarkDailyReturnPct: bench, CashPct: s.CashPct}
	}
	if c, ok := evaluation.LikeWithLike(snapshots); ok {
		out.comparison = &LikeWithLike{
			Portfolio: side(c.Portfolio), Benchmark: side(c.Matched), BenchmarkWithoutCash: side(c.Whole), ExcessReturnPct: shownDifference(&c.Portfolio.ReturnPct, &c.Matched.ReturnPct),
			MeanCashPct: shown(&c.MeanCashPct), Others: st.others(snapshots),
		}
	}
	byOrigin := map[string][]evaluation.Entry{}
	for _, p := range st.priced {
		if p.bought.Close != "" {
			e := evaluation.Entry{CIK: p.CIK, Bar: p.bought, Assumed: p.assumed}
			if p.closed != nil {
				e.Exit = calendar.DayOf(*p.closed)
			}
			byOrigin["all"] = append(byOrigin["all"], e)
			byOrigin[p.Origin] = append(byOrigin[p.Origin], e)
		}
	}
	holding := picks.DefaultPortfolioRules().HoldingDays
	out.skill = []Skill{}
	for _, origin := range []string{"all", "method", "editor"} {
		out.skill = append(out.skill, skill(origin, len(byOrigin[origin]), evaluation.Judge(evaluation.Excess(byOrigin[origin], st.prices, holding, farFuture))))
	}
	return out
}

// others compares the portfolio with the other benchmarks.
func (st *PublicationsState) others(snapshots []picks.Snapshot) []OtherComparison {
	universe := map[time.Time]float64{}
	for _, u := range st.universe {
		if u.ReturnPct != nil {
			universe[u.Day] = *u.ReturnPct / 100
		}
	}
	dividends := picks.TotalReturn(st.prices[equity.Benchmark], st.prices)
	list := []OtherComparison{}
	for _, o := range []struct {
		symbol, name string
		daily        map[time.Time]float64
	}{
		{"RSP", "US large-cap index, equal weight", evaluation.Daily(st.prices[equity.EqualWeightFund], farFuture, dividends)},
		{universeSymbol, "all companies scored, equal weight", universe},
	} {
		since := evaluation.Against(snapshots, o.daily)
		if c, ok := evaluation.LikeWithLike(since); ok {
			list = append(list, OtherComparison{
				Symbol: o.symbol, Name: o.name, From: since[0].Date.Format(time.DateOnly), Portfolio: side(c.Portfolio), Benchmark: side(c.Matched),
				BenchmarkWithoutCash: side(c.Whole), ExcessReturnPct: shownDifference(&c.Portfolio.ReturnPct, &c.Matched.ReturnPct),
			})
		}
	}
	return list
}

func side(s evaluation.Side) ComparedSide {
	return ComparedSide{shown(&s.ReturnPct), shown(&s.VolatilityPct), shown(&s.MaxDrawdownPct)}
}

func skill(origin string, entries int, s evaluation.Skill) Skill {
	probability := 100 * s.Probability
	still := max(0, evaluation.YearsAt(goodRatio)-float64(s.Sessions)/evaluation.Sessions)
	out := Skill{
		Origin: origin, Picks: entries, Sessions: s.Sessions, ExcessPctPerYear: shown(&s.ExcessPct), InformationRatio: shown(&s.InformationRatio),
		TStatistic: shown(&s.T), ProbabilityPct: shown(&probability), YearsStillNeeded: shown(&still),
	}
	if !math.IsInf(s.TrackRecordYears, 1) {
		out.MinTrackRecordYears = shown(&s.TrackRecordYears)
	}
	return out
}

// NetOfCosts is the portfolio's return after costs of trading, in basis points of each amount bought or sold. The costs of the benchmark's side
// are zero. ExcessReturnPct is the difference from LikeWithLike's benchmark, in percentage points.
type NetOfCosts struct {
	BasisPoints     int      `json:"basis_points"`
	ReturnPct       *float64 `json:"return_pct"`
	ExcessReturnPct *float64 `json:"excess_return_pct"`
}

func (st *PublicationsState) netOfCosts() []NetOfCosts {
	list := []NetOfCosts{}
	for _, n := range st.portfolio.Performance.NetOfCosts {
		row := NetOfCosts{BasisPoints: n.BasisPoints, ReturnPct: shown(&n.ReturnPct)}
		if e := st.evaluated(); e.comparison != nil {
			row.ExcessReturnPct = shownDifference(&n.ReturnPct, e.comparison.Benchmark.ReturnPct)
		}
		list = append(list, row)
	}
	return list
}
