// Package evaluation judges the record of the picks. It compares the model portfolio with a benchmark that is invested as far as the
// portfolio was, and measures how much of the picks' excess return is more than luck. It is apart from package picks, whose code is the
// version of the method. All functions are pure. Start at LikeWithLike and Excess.
package evaluation

import (
	"math"

	"tidemark/internal/sharpe"
	"tidemark/picks"
)

// Sessions is the number of sessions that turns daily figures into yearly ones.
const Sessions = 252

// minSessions is the smallest number of daily returns that a volatility or a test is computed from.
const minSessions = 20

// minMoments is the smallest number that a probability is computed from: its formula holds for long records, and the skew and kurtosis of fewer
// returns are mostly luck.
const minMoments = 60

// Side is one side of a comparison. Percentages are not rounded.
type Side struct {
	// ReturnPct is since inception.
	ReturnPct float64
	// VolatilityPct is the standard deviation of the daily returns times the root of 252. It is NaN for fewer than 20 returns.
	VolatilityPct float64
	// MaxDrawdownPct is the largest fall from a high at a close; zero or less.
	MaxDrawdownPct float64
}

// Comparison is the portfolio compared with its benchmark.
type Comparison struct {
	Portfolio Side
	// Matched is the benchmark with the portfolio's share of cash at each close. Whole is the benchmark without cash.
	Matched, Whole Side
	// ExcessPct is the portfolio's return less Matched's, in percentage points.
	ExcessPct float64
	// MeanCashPct is the mean share of cash over the closes before a further session.
	MeanCashPct float64
}

// LikeWithLike compares the portfolio with a benchmark that holds as much cash. A new portfolio holds cash until it has enough picks, which
// a benchmark without cash does not: their difference is about cash and not about picks. Cash earns nothing on both sides. Snapshots ascend
// and begin with the inception. The result is false if there are fewer than two snapshots or the benchmark has no return on one of the days.
//
// If every share moves like the benchmark, ExcessPct is zero.
func LikeWithLike(snapshots []picks.Snapshot) (Comparison, bool) {
	if len(snapshots) < 2 {
		return Comparison{}, false
	}
	portfolio, matched, whole := newPath(), newPath(), newPath()
	var c Comparison
	for i, s := range snapshots[1:] {
		bench := s.BenchmarkDailyReturnPct / 100
		if math.IsNaN(bench) {
			return Comparison{}, false
		}
		cash := snapshots[i].CashPct / 100
		portfolio.add(s.DailyReturnPct / 100)
		matched.add((1 - cash) * bench)
		whole.add(bench)
		c.MeanCashPct += 100 * cash / float64(len(snapshots)-1)
	}
	c.Portfolio, c.Matched, c.Whole = portfolio.side(), matched.side(), whole.side()
	c.ExcessPct = c.Portfolio.ReturnPct - c.Matched.ReturnPct
	return c, true
}

// path is the worth of one dollar over the sessions.
type path struct {
	worth, peak, drawdown float64
	returns               []float64
}

func newPath() *path { return &path{worth: 1, peak: 1} }

func (p *path) add(r float64) {
	p.worth *= 1 + r
	p.peak = max(p.peak, p.worth)
	p.drawdown = min(p.drawdown, p.worth/p.peak-1)
	p.returns = append(p.returns, r)
}

func (p *path) side() Side {
	s := Side{ReturnPct: 100 * (p.worth - 1), VolatilityPct: math.NaN(), MaxDrawdownPct: 100 * p.drawdown}
	if len(p.returns) >= minSessions {
		s.VolatilityPct = 100 * deviation(p.returns) * math.Sqrt(Sessions)
	}
	return s
}

func deviation(values []float64) float64 {
	mean := 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(values)-1))
}

// Skill says how much of an excess return is more than luck. Numbers are NaN if the record is shorter than 20 sessions or never varies,
// Probability and TrackRecordYears also if it is shorter than 60.
type Skill struct {
	// Sessions is the number of daily excess returns.
	Sessions int
	// ExcessPct is the mean excess return a year, in percentage points.
	ExcessPct float64
	// InformationRatio is the mean over the standard deviation, a year.
	InformationRatio float64
	// T is the t-statistic of the mean.
	T float64
	// Probability is the probabilistic Sharpe ratio: the probability that the true ratio is above zero.
	Probability float64
	// TrackRecordYears is the minimum track record length. A record of this length, ratio, skew and kurtosis shows with a confidence of 95
	// % that the true ratio is above zero. It is +Inf if the ratio is zero or less.
	TrackRecordYears float64
}

// Confidence is the confidence that TrackRecordYears and YearsAt ask for.
const Confidence = 0.95

// Judge measures daily excess returns.
func Judge(excess []float64) Skill {
	s := Skill{Sessions: len(excess), ExcessPct: math.NaN(), InformationRatio: math.NaN(), T: math.NaN(), Probability: math.NaN(), TrackRecordYears: math.NaN()}
	if len(excess) < minSessions {
		return s
	}
	mean := 0.0
	for _, x := range excess {
		mean += x / float64(len(excess))
	}
	s.ExcessPct = 100 * mean * Sessions
	sample := sharpe.Measure(excess)
	s.InformationRatio = sample.Ratio * math.Sqrt(Sessions)
	s.T = sample.Ratio * math.Sqrt(float64(len(excess)))
	if len(excess) >= minMoments {
		s.Probability = sharpe.Probabilistic(sample, 0)
		s.TrackRecordYears = sharpe.MinTrackRecord(sample, 0, Confidence) / Sessions
	}
	return s
}

// YearsAt returns how many years of normal returns with an information ratio a year show that it is above zero: 10.8 for a ratio of 0.5.
func YearsAt(ratio float64) float64 { return sharpe.Years(ratio, Confidence) }
