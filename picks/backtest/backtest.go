// Package backtest runs the method of the picks on history, and reports whether its scores say anything about later returns. Each day is scored
// as the day's job scores it: by facts filed before that day and closes up to it. The result is a versioned artefact: equal inputs give equal
// results, bit for bit, with the versions of the method and of this package. All functions are pure. Start at Run.
//
// It measures the rank correlation of scores with later returns, and how it decays. It also measures the returns of the fifths of the
// ranking, the turnover, and the excess return of the picks with the deflated Sharpe ratio. It compares the picks with a thousand random
// portfolios under the same constraints.
package backtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tidemark/internal/codehash"
	"tidemark/internal/equity"
	"tidemark/picks"
)

// SourceHash names the version of the backtest. It covers all code that the backtest is made of, including the picks.
func SourceHash() string { return codehash.Of("picks/backtest") }

const (
	// MonthSessions is a month of trading days: the period of one return in a rank correlation.
	MonthSessions = 21
	// MinCompanies is how many companies must be scored for a day to count.
	MinCompanies = 10
	// yearSessions is a year of trading days.
	yearSessions = 252
	// confidence is the level of the tests.
	confidence = 0.95
	// minT is the lowest t-statistic of a factor that counts if many were tried (Harvey, Liu and Zhu, 2016). minSpreadT is the lowest
	// t-statistic of a confirmation.
	minT, minSpreadT = 3, 2
	// minMonths is how many months a t-statistic needs to mean anything.
	minMonths = 24
)

// Lags are the months after a ranking whose returns its scores are compared with.
var Lags = []int{1, 2, 3, 6, 12}

// Input holds the data that a backtest runs on.
type Input struct {
	// Days are the trading days that are scored, ascending. To is the newest day whose closes are read.
	Days []time.Time
	To   time.Time
	// Market returns the candidates of a day. Facts filed on that day or later and closes after it change nothing.
	Market func(day time.Time) ([]picks.Candidate, error)
	// Prices are the histories of all candidates and of the benchmark up to To. They only measure what followed.
	Prices picks.Prices
	// Departures are the filings that announce that shares leave an exchange, or that control of a company changes: see picks.Departs.
	Departures map[equity.CIK][]equity.Filing
	Rules      picks.Rules
	// Holding says for how many sessions a pick is held, and how many it may lack a price before it is not bought.
	Holding picks.PortfolioRules
	// Trials is how many versions and variants of the method have run on history, this one and its variants included.
	Trials int
	// Random is the number of random portfolios, drawn from Seed.
	Random int
	Seed   uint64
	// Progress is called after each day; it may be nil.
	Progress func(done, all int)
}

// Number is a number of a result. In JSON it has six significant digits, and is null if it is unknown.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return fmt.Appendf(nil, "%.6g", float64(n)), nil
}

// Result is the artefact.
type Result struct {
	// Method and Code are the SHA-256 of the code of package picks and of this package. Both are in the registry of methods.
	Method string `json:"method_sha256"`
	Code   string `json:"backtest_sha256"`
	From   string `json:"from"`
	To     string `json:"to"`
	// Days were scored. Skipped had fewer than ten companies that could be.
	Days    int `json:"days"`
	Skipped int `json:"skipped"`
	// Companies are the least, the mean and the largest number of companies scored on a day. Delisted counts the companies whose shares
	// stopped trading later. Zero in many years means that the database never knew such companies.
	Companies [3]Number `json:"companies"`
	Delisted  Delisted  `json:"delisted"`

	IC     []Correlation          `json:"rank_ic"`
	Groups map[string]Correlation `json:"rank_ic_of_groups"`
	Fifths Fifths                 `json:"fifths"`
	Picks  Record                 `json:"picks"`
	Random Luck                   `json:"random_portfolios"`
	// Overfitting judges the choice of the weights among the variants of picks.Rules.Variants.
	Overfitting Overfitting `json:"overfitting"`
	Tests       []Test      `json:"tests"`
	// ScoresFound reports whether the scores say something about later returns, PicksFound whether the picks did better than luck: each the
	// outcome of Tests. Few picks show less than the scores of all companies.
	ScoresFound bool   `json:"scores_found"`
	PicksFound  bool   `json:"picks_found"`
	Seed        uint64 `json:"seed"`
	Digest      string `json:"digest,omitempty"`
}

// Correlation is the mean rank correlation of scores with the returns of one later month, over months that do not overlap.
type Correlation struct {
	// Month is the month after the ranking: 1 is the first.
	Month int    `json:"month"`
	Mean  Number `json:"mean"`
	// Months is how many rankings are in it, T the t-statistic of their mean.
	Months int    `json:"n"`
	T      Number `json:"t"`
}

// Fifths are the returns, a month, of the companies of each fifth of the ranking, the best first, in percent.
type Fifths struct {
	ReturnPct []Number `json:"return_pct"`
	// SpreadPct is the first less the last, a month. T is its t-statistic.
	SpreadPct Number `json:"spread_pct"`
	T         Number `json:"t"`
	// TurnoverPct is the share of the first fifth that was not in it a month before.
	TurnoverPct Number `json:"turnover_pct"`
}

// Record judges the picks that the method would have made: one on each day scored, bought at the first close after it, held as the model
// portfolio holds it.
type Record struct {
	Picks    int `json:"picks"`
	Sessions int `json:"sessions"`
	// The excess returns are of a year, in percentage points: over the benchmark, and over all companies scored at equal weight.
	ExcessOverBenchmarkPct Number `json:"excess_over_benchmark_pct"`
	ExcessOverUniversePct  Number `json:"excess_over_universe_pct"`
	// The rest judges the excess return over all companies scored.
	InformationRatio Number `json:"information_ratio"`
	T                Number `json:"t"`
	// Probabilistic is the probabilistic Sharpe ratio. Deflated counts the Trials too (Bailey and López de Prado, 2012 and 2014).
	Probabilistic Number `json:"probabilistic_sharpe_ratio"`
	Deflated      Number `json:"deflated_sharpe_ratio"`
	Trials        int    `json:"trials"`
	// TrialVariance is the variance of the trials' ratios of a session that Deflated assumes.
	TrialVariance Number `json:"trial_variance"`
	// TurnoverPct is the amount bought in a year, in percent of the portfolio.
	TurnoverPct Number `json:"turnover_pct"`
}

// Luck compares the picks with random ones.
type Luck struct {
	N int `json:"n"`
	// MeanPct, and the 5 and 95 percent quantiles, are of their excess returns a year over all companies scored.
	MeanPct  Number    `json:"mean_pct"`
	RangePct [2]Number `json:"range_pct"`
	// P is the share that did as well as the picks, the picks counted among them.
	P Number `json:"p"`
}

// Test is a condition: the first of both, two of ScoresFound, two of PicksFound.
type Test struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
}

var errNoDay = errors.New("on no day at least ten companies can be scored: figures, a year of prices before the day and a month after it are needed")

// Run runs a backtest.
func Run(in Input) (Result, error) {
	r := Result{Method: picks.SourceHash(), Code: SourceHash(), To: in.To.Format(time.DateOnly), Seed: in.Seed}
	days, skipped, err := rank(in)
	if err != nil {
		return r, err
	}
	if len(days) == 0 {
		return r, errNoDay
	}
	r.Days, r.Skipped, r.From = len(days), skipped, days[0].day.Format(time.DateOnly)
	m := newMarket(in, days)
	r.Companies = m.census()
	apart := m.apart()
	for _, lag := range Lags {
		r.IC = append(r.IC, m.correlation(apart, lag, func(s scored) float64 { return s.total }))
	}
	r.Groups = map[string]Correlation{}
	for _, g := range []picks.Group{picks.Quality, picks.Value, picks.Momentum, picks.Risk} {
		r.Groups[string(g)] = m.correlation(apart, 1, func(s scored) float64 { return s.groups[g] })
	}
	r.Fifths = m.fifths(apart)
	var own []holding
	for i, d := range days {
		if d.pick >= 0 {
			own = append(own, m.hold(i, d.scores[d.pick].cik))
		}
	}
	r.Overfitting = m.overfitting(own)
	r.Picks = m.record(own, in.Trials, r.Overfitting.variance())
	r.Delisted = m.delisted(own)
	r.Random = m.luck(float64(r.Picks.ExcessOverUniversePct))
	scores := []Test{
		{fmt.Sprintf("the rank correlation of the first month has a t of at least %d", minT), r.IC[0].T >= minT},
		{fmt.Sprintf("the best fifth less the worst has a t of at least %d", minSpreadT), r.Fifths.T >= minSpreadT},
	}
	chosen := []Test{
		{"at most one in twenty random portfolios did as well", r.Random.P <= 1-confidence},
		{"the deflated Sharpe ratio is at least 95 %", r.Picks.Deflated >= confidence},
	}
	long := Test{fmt.Sprintf("at least %d months that do not overlap", minMonths), r.IC[0].Months >= minMonths}
	r.Tests = slices.Concat([]Test{long}, scores, chosen)
	failed := func(t Test) bool { return !t.Passed }
	r.ScoresFound, r.PicksFound = long.Passed && !slices.ContainsFunc(scores, failed), long.Passed && !slices.ContainsFunc(chosen, failed)
	text, err := json.Marshal(r)
	if err != nil {
		return r, fmt.Errorf("write the result: %w", err)
	}
	sum := sha256.Sum256(text)
	r.Digest = hex.EncodeToString(sum[:])
	return r, nil
}

// scored is the part of a score that a backtest keeps.
type scored struct {
	cik              equity.CIK
	ticker, exchange string
	sector           picks.Sector
	total            float64
	groups           map[picks.Group]float64
}

// ranked is one day's ranking, best first. pick is the place of the method's pick, -1 without one.
type ranked struct {
	day    time.Time
	scores []scored
	pick   int
	// others are the picks of the variants, in their order; zero without one.
	others []equity.CIK
}

// rank scores all days. The past picks of each day are the picks that the method would have made before.
func rank(in Input) (days []ranked, skipped int, err error) {
	var past []picks.PastPick
	variants := in.Rules.Variants()
	others := make([][]picks.PastPick, len(variants))
	for i, day := range in.Days {
		candidates, err := in.Market(day)
		if err != nil {
			return nil, 0, err
		}
		// Our signals tilt no score, and a second source of prices is as young as the record.
		r := picks.Rank(picks.Market{Day: day, Candidates: candidates, Past: past}, in.Rules)
		if in.Progress != nil {
			in.Progress(i+1, len(in.Days))
		}
		if len(r.Scores) < MinCompanies {
			skipped++
			continue
		}
		d := ranked{day: day, pick: -1, others: make([]equity.CIK, len(variants))}
		for n, v := range variants {
			if s := r.PickBy(v, others[n], in.Rules); s != nil {
				d.others[n] = s.CIK
				others[n] = append(others[n], picks.PastPick{Date: day, CIK: s.CIK, Sector: s.Sector})
			}
		}
		for _, s := range r.Scores {
			if r.Pick != nil && s.CIK == r.Pick.CIK {
				d.pick = len(d.scores)
				past = append(past, picks.PastPick{Date: day, CIK: s.CIK, Sector: s.Sector})
			}
			d.scores = append(d.scores, scored{s.CIK, s.Ticker, s.Exchange, s.Sector, s.Total, s.Groups})
		}
		days = append(days, d)
	}
	return days, skipped, nil
}
