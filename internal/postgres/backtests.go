package postgres

import (
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/signals"
)

// Backtest is a signal's backtest against its target, as it is stored and published. Unknown numbers are nil. Statistics have
// StatisticDigits significant digits.
type Backtest struct {
	Target       BacktestTarget `json:"target"`
	Predictor    string         `json:"predictor"`
	Naive        string         `json:"naive"`
	HorizonDays  int            `json:"horizon_days"`
	Period       Period         `json:"period"`
	N            int            `json:"n_obs"`
	Method       string         `json:"method"`
	RankIC       *float64       `json:"rank_ic"`
	RankICBounds *[2]float64    `json:"rank_ic_ci95"`
	T            *float64       `json:"t_stat"`
	P            *float64       `json:"p_value"`
	HitRatePct   *float64       `json:"hit_rate_pct"`
	OutOfSample  OutOfSample    `json:"oos"`
	NaiveRankIC  *float64       `json:"naive_rank_ic"`
	// BestRule is the better one of the naive forecast and its opposite. It is absent from backtests of older programs.
	BestRule *SimpleRule `json:"best_rule,omitempty"`
	// Wins is signal (significant, also after the correction for all tests), simple_rule (it relates to the outcome at least as much as the
	// signal), source (the publisher's own forecasts lay nearer to the outcome) or neither (the signal relates more, and not clearly more
	// than chance). Null if that is unknown.
	Wins   *string       `json:"wins"`
	Trials MultipleTests `json:"multiple_testing"`
	// CostsBps is nil: a rank correlation has no costs.
	CostsBps *float64 `json:"costs_bps"`
	// LookAheadSafe reports that no case used a value that was not known at its time. It is false where the time of a value was assumed,
	// unless its publisher was seen to leave old values as they are.
	LookAheadSafe bool `json:"look_ahead_safe"`
	// LookAheadReason is recorded (every value was recorded as it came) or unrevised (values with an assumed time are of publishers that left
	// old values as they are, 60 of each series at least) where LookAheadSafe is true. Otherwise it is unwatched (a publisher of such values was not
	// watched as long), revised (it changes old values, by its own word or by what was fetched) or looked_ahead (a forecast changes with
	// values that became known after it). LookAheadText says it in words. Both are absent from backtests of older programs.
	LookAheadReason string `json:"look_ahead_reason,omitempty"`
	LookAheadText   string `json:"look_ahead_text,omitempty"`
	// Vintages is absent if all values were recorded as they came, or are of publishers that were seen to leave old ones as they are.
	Vintages    *AssumedVintages `json:"assumed_vintages,omitempty"`
	Skill       []ForecastSkill  `json:"forecast_skill"`
	Examples    []BacktestCase   `json:"examples"`
	CodeVersion string           `json:"code_version"`
	// ComputedAt is the as-of instant of the backtest.
	ComputedAt time.Time `json:"computed_at"`
}

// BacktestTarget is the quantity that a signal is tested against.
type BacktestTarget struct {
	Symbol      string `json:"symbol"`
	Description string `json:"description"`
}

// SimpleRule is a forecast that takes nothing from the signal.
type SimpleRule struct {
	Rule   string   `json:"rule"`
	RankIC *float64 `json:"rank_ic"`
}

// Period is a range of days, both included.
type Period struct {
	From *string `json:"from"`
	To   *string `json:"to"`
}

// OutOfSample is the result for the newer half of the cases.
type OutOfSample struct {
	From         *string     `json:"from"`
	N            int         `json:"n_obs"`
	RankIC       *float64    `json:"rank_ic"`
	RankICBounds *[2]float64 `json:"rank_ic_ci95"`
}

// AssumedVintages splits the cases in two. Before holds cases with values that were not recorded as they were published, from publishers
// who revise old values or were not seen to leave them. Since holds cases with values recorded as they came: their forecast is that of all data as known at known_at.
type AssumedVintages struct {
	// RecordedFrom is when the recording of values as they came began, which is not before the first request for them.
	RecordedFrom time.Time  `json:"recorded_from"`
	Before       PartOfEdge `json:"before"`
	Since        PartOfEdge `json:"since"`
}

// PartOfEdge is the rank correlation in one part of the cases.
type PartOfEdge struct {
	N            int         `json:"n_obs"`
	RankIC       *float64    `json:"rank_ic"`
	RankICBounds *[2]float64 `json:"rank_ic_ci95"`
}

// MultipleTests is the correction for the number of tests on history. Each version of the signals in /api/methods tests all of them. Each
// trial of a signal before the registry that was not taken was one test more.
type MultipleTests struct {
	Trials    int      `json:"trials"`
	AdjustedP *float64 `json:"adjusted_p"`
}

// ForecastSkill is the error of the forecasts of one stage.
type ForecastSkill struct {
	Stage         string   `json:"stage"`
	From          int      `json:"from"`
	To            int      `json:"to"`
	N             int      `json:"n_obs"`
	RMSE          *float64 `json:"rmse"`
	MAE           *float64 `json:"mae"`
	Bias          *float64 `json:"bias"`
	Coverage90Pct *float64 `json:"coverage_90_pct"`
	BaselineRMSE  *float64 `json:"baseline_rmse"`
	Skill         *float64 `json:"skill"`
	// SourceRMSE is the RMSE of the publisher's own forecasts over the same cases. It is null if it has none at this stage.
	SourceRMSE *float64 `json:"source_rmse"`
	// Wins is signal or source, whichever has the smaller RMSE. It is null if the publisher has no forecasts at this stage.
	Wins *string `json:"wins"`
}

// BacktestCase is one forecast and its outcome. Readers can recompute the result from such cases.
type BacktestCase struct {
	KnownAt   time.Time `json:"known_at"`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Predicted *float64  `json:"predicted"`
	Happened  *float64  `json:"happened"`
	Naive     *float64  `json:"naive"`
}

// NewBacktest returns the stored form of a result.
func NewBacktest(d signals.Definition, r signals.BacktestResult, codeVersion string) *Backtest {
	out := &Backtest{
		Target:        BacktestTarget{Symbol: d.Backtest.Symbol, Description: d.Backtest.Description},
		Predictor:     d.Backtest.Predictor,
		Naive:         d.Backtest.Naive,
		HorizonDays:   d.Backtest.HorizonDays,
		Period:        Period{From: day(r.From), To: day(r.To)},
		N:             r.N,
		Method:        signals.BacktestMethod,
		RankIC:        Known(r.RankIC),
		RankICBounds:  bounds(r.Edge),
		T:             Known(r.T),
		P:             Known(r.P),
		HitRatePct:    Known(r.HitRatePct),
		NaiveRankIC:   Known(r.NaiveRankIC),
		BestRule:      &SimpleRule{Rule: r.BestRule, RankIC: Known(r.BestRuleIC)},
		Trials:        MultipleTests{Trials: r.Trials, AdjustedP: Known(r.AdjustedP)},
		LookAheadSafe: r.LookAheadSafe(), LookAheadReason: r.LookAhead, LookAheadText: lookAheadText(r),
		Skill:       []ForecastSkill{},
		Examples:    []BacktestCase{},
		CodeVersion: codeVersion,
		ComputedAt:  r.At.UTC(),
		OutOfSample: OutOfSample{
			From: day(r.OutOfSampleFrom), N: r.OutOfSample.N, RankIC: Known(r.OutOfSample.RankIC), RankICBounds: bounds(r.OutOfSample),
		},
	}
	if !r.RecordedFrom.IsZero() {
		part := func(e signals.Edge) PartOfEdge { return PartOfEdge{e.N, Known(e.RankIC), bounds(e)} }
		out.Vintages = &AssumedVintages{RecordedFrom: r.RecordedFrom.UTC(), Before: part(r.Assumed), Since: part(r.Recorded)}
	}
	if wins := r.Wins(); wins != "" {
		out.Wins = new(wins)
	}
	for _, s := range r.Skill {
		out.Skill = append(out.Skill, ForecastSkill{
			SourceRMSE: Known(s.SourceRMSE), Wins: stageWinner(s),
			Stage: s.Stage, From: s.From, To: s.To, N: s.N, RMSE: Known(s.RMSE), MAE: Known(s.MAE), Bias: Known(s.Bias),
			Coverage90Pct: Known(s.Coverage90Pct), BaselineRMSE: Known(s.BaselineRMSE), Skill: Known(s.Skill),
		})
	}
	for _, c := range r.Examples {
		out.Examples = append(out.Examples, BacktestCase{
			KnownAt: c.Known.Time(), From: c.Start.Time(), To: c.End.Time(), Predicted: Known(c.Predicted), Happened: Known(c.Happened), Naive: Known(c.Naive),
		})
	}
	return new(out.Rounded().Concluded()) // the conclusions follow from the numbers that readers see
}

// Rounded returns the backtest with its numbers as they are served: statistics with StatisticDigits, cases with ServedDigits. Backtests that an
// older program stored have more digits.
func (b Backtest) Rounded() Backtest {
	b.RankIC, b.RankICBounds, b.T, b.P, b.HitRatePct = statistic(b.RankIC), statistics(b.RankICBounds), statistic(b.T), statistic(b.P), statistic(b.HitRatePct)
	b.NaiveRankIC = statistic(b.NaiveRankIC)
	b.OutOfSample.RankIC, b.OutOfSample.RankICBounds = statistic(b.OutOfSample.RankIC), statistics(b.OutOfSample.RankICBounds)
	if b.BestRule != nil {
		b.BestRule = &SimpleRule{b.BestRule.Rule, statistic(b.BestRule.RankIC)}
	}
	b.Trials.AdjustedP = statistic(b.Trials.AdjustedP)
	if v := b.Vintages; v != nil {
		part := func(e PartOfEdge) PartOfEdge { return PartOfEdge{e.N, statistic(e.RankIC), statistics(e.RankICBounds)} }
		b.Vintages = &AssumedVintages{v.RecordedFrom, part(v.Before), part(v.Since)}
	}
	b.Skill, b.Examples = slices.Clone(b.Skill), slices.Clone(b.Examples)
	for i := range b.Skill {
		s := &b.Skill[i]
		for _, number := range []**float64{&s.RMSE, &s.MAE, &s.Bias, &s.Coverage90Pct, &s.BaselineRMSE, &s.Skill, &s.SourceRMSE} {
			*number = statistic(*number)
		}
	}
	for i := range b.Examples {
		c := &b.Examples[i]
		for _, number := range []**float64{&c.Predicted, &c.Happened, &c.Naive} {
			if *number != nil {
				*number = new(Rounded(**number))
			}
		}
	}
	return b
}

// stageWinner names whichever has the smaller error at a stage, nil if the publisher has no forecasts there.
func stageWinner(s signals.ForecastSkill) *string {
	switch {
	case s.SourceRMSE <= s.RMSE:
		return new("source")
	case s.SourceRMSE > s.RMSE:
		return new("signal")
	}
	return nil
}

// Concluded returns the backtest with the members that follow from its other ones: who wins, as a whole and at each stage, the p-value that allows for all
// tests, and whether it is safe.
func (b Backtest) Concluded() Backtest {
	r := signals.BacktestResult{BestRuleIC: math.NaN(), LookAhead: b.LookAheadReason}
	r.RankIC, r.P, r.Lo, r.Hi = value(b.RankIC), value(b.P), math.NaN(), math.NaN()
	if b.RankICBounds != nil {
		r.Lo, r.Hi = b.RankICBounds[0], b.RankICBounds[1]
	}
	if b.BestRule != nil {
		r.BestRuleIC = value(b.BestRule.RankIC)
	}
	b.Skill = slices.Clone(b.Skill)
	for i, s := range b.Skill {
		stage := signals.ForecastSkill{N: s.N, RMSE: value(s.RMSE), SourceRMSE: value(s.SourceRMSE)}
		r.Skill, b.Skill[i].Wins = append(r.Skill, stage), stageWinner(stage)
	}
	r = r.Allow(b.Trials.Trials)
	b.Trials.AdjustedP, b.Wins, b.LookAheadSafe = Statistic(r.AdjustedP), nil, r.LookAheadSafe()
	if wins := r.Wins(); wins != "" {
		b.Wins = new(wins)
	}
	return b
}

// value is a stored number, NaN if it is unknown.
func value(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

// lookAheadText explains whether a backtest is safe.
func lookAheadText(r signals.BacktestResult) string {
	doubted := make([]string, len(r.Doubted))
	for i, id := range r.Doubted {
		doubted[i] = string(id)
	}
	of := strings.Join(doubted, ", ")
	switch r.LookAhead {
	case signals.LookAheadUnrevised:
		return "Some values were there before the first request. Their publishers were seen to leave old values as they are."
	case signals.LookAheadUnwatched:
		return "Some values were there before the first request, and may differ from those that readers had. Too few came since to say that their publisher " +
			"leaves old values as they are: " + of + "."
	case signals.LookAheadRevised:
		return "Some values were there before the first request, and may differ from those that readers had. Their publisher changes old values: " + of + "."
	case signals.LookAheadFound:
		return "A forecast changes with values that became known only after it."
	}
	return "Every value was recorded as it came."
}

// Known returns a number as it is stored: nil if it is unknown. It turns negative zero into zero, since the database treats them as equal.
func Known(v float64) *float64 {
	n, known := number(v)
	if !known {
		return nil
	}
	return &n
}

func day(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC().Format(time.DateOnly))
}

func bounds(e signals.Edge) *[2]float64 {
	if math.IsNaN(e.Lo) || math.IsNaN(e.Hi) {
		return nil
	}
	return &[2]float64{e.Lo, e.Hi}
}
