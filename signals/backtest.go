package signals

import (
	"math"
	"slices"
	"time"

	"tidemark/internal/series"
)

// Backtest declares the backtest of a signal: a target quantity that the signal should predict before it is known. Predictor and sign are
// declared here and not fitted, so that no choice depends on the outcome.
type Backtest struct {
	// Symbol is the id of the target's series or signal, Description what of it is foretold.
	Symbol, Description string
	// Predictor says in words which number foretells it and in which direction; Naive says the same of the forecast without the signal.
	Predictor, Naive string
	// Inputs are the series that only the backtest needs.
	Inputs []series.ID
	// HorizonDays is how far the outcome lies ahead, in calendar days, about.
	HorizonDays int
	// Cases pairs each forecast with its outcome, in ascending Known. read holds, for each instant at which new data became known, the
	// newest estimate of that instant.
	Cases func(read Track, in series.Set) []Case
	// Skill compares forecasts in the unit of the signal with the outcome. It is nil for a signal that is not a forecast.
	Skill func(read Track, in series.Set) []ForecastSkill
}

// Case is one forecast and its outcome.
type Case struct {
	// Known is when the forecast could be made. The outcome happened from Start to End, and Start is never before Known.
	Known, Start, End series.Instant
	// Predicted is oriented: the larger, the larger the outcome is expected to be; above zero means an outcome above zero. Naive, of the
	// same kind, takes nothing from the signal.
	Predicted, Happened, Naive float64
}

// BacktestResult is how well a signal foretold its target. Numbers that are unknown, for want of cases or of any variation in them, are
// NaN. The job that runs a backtest adds the version of its code and the time of the run.
type BacktestResult struct {
	// At is the as-of instant of the backtest.
	At time.Time
	// From is the start of the first outcome, To the end of the last: zero without cases.
	From, To time.Time
	Edge
	// HitRatePct is the percentage of cases in which the outcome was on the predicted side of zero. Cases with either number at zero are
	// left out.
	HitRatePct float64
	// OutOfSample is the newer half of the cases alone, OutOfSampleFrom the start of its first outcome.
	OutOfSample     Edge
	OutOfSampleFrom time.Time
	// NaiveRankIC is the naive forecast's, of the cases that have one.
	NaiveRankIC float64
	// BestRule is the better one of the naive forecast and its opposite, and BestRuleIC its rank correlation.
	BestRule   string
	BestRuleIC float64
	// Trials is how many tests were made on history: see Tests. AdjustedP is the p-value of all cases times that, at most 1 (Bonferroni).
	Trials    int
	AdjustedP float64
	// LookAhead says whether every case uses values as they were published, and no outcome began before its forecast was known: one of
	// LookAheadRecorded and the following. Doubted are the series behind the doubt.
	LookAhead string
	Doubted   []series.ID
	// RecordedFrom is from when on every value that a publisher may change was recorded as it came, the zero time where all are. Assumed
	// are the cases that were known before, Recorded those from then on.
	RecordedFrom      time.Time
	Assumed, Recorded Edge
	// Examples are the first case, the middle one and the newest, for readers who recompute them.
	Examples []Case
	Skill    []ForecastSkill
}

// Edge is the strength of the relation in a stretch of cases.
type Edge struct {
	// N is the number of cases.
	N int
	// RankIC is Spearman's rank correlation of forecast and outcome, Lo and Hi bound it at 95 %.
	RankIC, Lo, Hi float64
	// T is RankIC in its standard error, P the probability of one as far from zero without any relation.
	T, P float64
	// Lags is how many neighbouring cases a shift test leaves out on either side, because they are related.
	Lags int
}

// Clear reports whether the interval is above zero. The sign is declared, so a significant result with the wrong sign is not an edge.
func (e Edge) Clear() bool { return e.Lo > 0 }

// ForecastSkill is how far forecasts of one stage lay from the outcome, in the unit of the signal.
type ForecastSkill struct {
	// Stage is a stable machine name. From and To are the first and last year.
	Stage    string
	From, To int
	N        int
	// Bias is the mean of outcome less forecast.
	RMSE, MAE, Bias float64
	// Coverage90Pct is the share of outcomes within the 90 % interval.
	Coverage90Pct float64
	// BaselineRMSE is the RMSE of the baseline over the same cases. Skill is 1 - RMSE/BaselineRMSE.
	BaselineRMSE, Skill float64
	// SourceRMSE is the RMSE of the publisher's own forecast over the same cases, unknown if it has none at this stage.
	SourceRMSE float64
}

// Who wins a backtest.
const (
	WinsSignal  = "signal"      // significant, also with the correction for all tests, and it relates more to the outcome than the best simple rule
	WinsRule    = "simple_rule" // the best simple rule relates at least as much
	WinsSource  = "source"      // the publisher's own forecasts lay nearer to the outcome, at all its stages together
	WinsNeither = "neither"     // the signal relates more than the rule, and not clearly more than chance
)

// significant is the largest p-value that counts as a relation.
const significant = 0.05

// Wins says who is better. It is empty if the signal's correlation is unknown.
func (r BacktestResult) Wins() string {
	switch {
	case math.IsNaN(r.RankIC):
		return ""
	case r.sourceWins():
		return WinsSource
	case r.BestRuleIC >= r.RankIC:
		return WinsRule
	case r.Clear() && r.AdjustedP < significant:
		return WinsSignal
	}
	return WinsNeither
}

// sourceWins compares the squared errors of the publisher's forecasts with those of the signal, over all stages at which it has some.
func (r BacktestResult) sourceWins() bool {
	var signal, source float64
	for _, s := range r.Skill {
		if !math.IsNaN(s.SourceRMSE) {
			signal += float64(float64(s.N) * s.RMSE * s.RMSE)
			source += float64(float64(s.N) * s.SourceRMSE * s.SourceRMSE)
		}
	}
	return signal > 0 && source <= signal
}

// What a backtest knows of the values that it uses. The first two are safe: a forecast uses only what readers had.
const (
	LookAheadRecorded  = "recorded"     // every value was recorded as it came
	LookAheadUnrevised = "unrevised"    // some values were there before the first request, and their publishers were seen to leave old values as they are
	LookAheadUnwatched = "unwatched"    // some were, and a publisher was not watched long enough to say that
	LookAheadRevised   = "revised"      // some were, and a publisher changes old values
	LookAheadFound     = "looked_ahead" // a forecast uses what became known after it
)

// LookAheadSafe reports whether every forecast uses only what readers had. If a publisher changes old values, values that were not recorded
// on arrival may differ from the values that readers had.
func (r BacktestResult) LookAheadSafe() bool {
	return r.LookAhead == LookAheadRecorded || r.LookAhead == LookAheadUnrevised
}

// lookAhead judges cases.
func (a Arrivals) lookAhead(cases []Case) (string, []series.ID) {
	assumed := slices.ContainsFunc(cases, func(c Case) bool { return !c.Known.Time().After(a.RecordedFrom) })
	switch {
	case slices.ContainsFunc(cases, func(c Case) bool { return c.Start < c.Known || c.End < c.Start }):
		return LookAheadFound, nil
	case assumed && len(a.Revised) == 0:
		return LookAheadUnwatched, a.Unwatched
	case assumed:
		return LookAheadRevised, a.Revised
	case len(a.Unrevised) > 0:
		return LookAheadUnrevised, nil
	}
	return LookAheadRecorded, nil
}

// BacktestMethod describes the method of RunBacktest for readers of a result.
const BacktestMethod = "walk forward: each value is used from the instant at which it and all values before it were known, against outcomes that " +
	"begin later; predictor and sign are declared, nothing is fitted; rank correlation with Fisher's interval and the effective number " +
	"of cases n^2/(n + 2 sum pairs(k) a(k) b(k)) of the autocorrelations a and b of the ranks up to the first that is not positive (Bartlett " +
	"1935); p-value: the larger of theirs and of the share of circular shifts of the outcomes, by more than 1.3 times the square root of the number of " +
	"cases, that relate as much to the forecasts, which is never below 1 over one more than the number of possible shifts; " +
	"out of sample: the newer half"

// Allow returns the result with a p-value that allows for a number of tests. RunBacktest allows for the tests of one version.
func (r BacktestResult) Allow(tests int) BacktestResult {
	r.Trials, r.AdjustedP = tests, min(1, r.P*float64(tests))
	return r
}

// BacktestInputs are all series that a backtest of the signal reads.
func (d Definition) BacktestInputs() []series.ID {
	return append(slices.Clone(d.Inputs), d.Backtest.Inputs...)
}

// RunBacktest tests the signal against its target as of an instant. in holds BacktestInputs, and ideally the first vintage of each
// observation, because readers had that one. A value is used only from its vintage on. Newer vintages are therefore safe too, but leave
// fewer cases. RunBacktest is pure. It costs O(n log n) for each time at which old values changed, and O(n²) for series that never stop persisting.
func (d Definition) RunBacktest(in series.Set, at time.Time, a Arrivals) BacktestResult {
	arrived := d.arrived(in)
	var firsts Track
	if d.read != nil && len(a.Vintages) == 0 {
		firsts = d.read(arrived, at, false) // no case has an interval, but a change of one is a change of its estimate
	} else {
		firsts = d.asRead(arrived, at)
	}
	read := d.reread(firsts, in, at, a)
	cases := slices.DeleteFunc(d.Backtest.Cases(read, arrived), func(c Case) bool {
		return math.IsNaN(known(c.Predicted)) || math.IsNaN(known(c.Happened))
	})
	all := rankingOf(cases)
	r := BacktestResult{
		At: at, Edge: all.edge(), HitRatePct: hitRate(cases), OutOfSample: all.part(len(cases)/2, len(cases)).edge(), NaiveRankIC: all.naiveRankIC(),
		RecordedFrom: a.RecordedFrom,
	}
	r.LookAhead, r.Doubted = a.lookAhead(cases)
	first := len(cases)
	if i := slices.IndexFunc(cases, func(c Case) bool { return c.Known.Time().After(a.RecordedFrom) }); i >= 0 {
		first = i
	}
	r.Assumed, r.Recorded = all.part(0, first).edge(), r.Edge
	if first > 0 {
		r.Recorded = all.part(first, len(cases)).edge()
	}
	r.P = max(r.P, all.shiftP(r.Edge)) // an unknown one makes it unknown
	r = r.Allow(Tests(1))
	r.BestRule, r.BestRuleIC = d.Backtest.Naive, r.NaiveRankIC
	if r.NaiveRankIC < 0 {
		r.BestRule, r.BestRuleIC = "the opposite of "+d.Backtest.Naive, -r.NaiveRankIC
	}
	if n := len(cases); n > 0 {
		r.From, r.OutOfSampleFrom = cases[0].Start.Time(), cases[n/2].Start.Time()
		var end series.Instant
		for i := range cases {
			end = max(end, cases[i].End)
		}
		r.To = end.Time()
		r.Examples = slices.CompactFunc([]Case{cases[0], cases[n/2], cases[n-1]}, func(a, b Case) bool { return a.Start == b.Start })
	}
	if d.Backtest.Skill != nil {
		r.Skill = d.Backtest.Skill(firsts, arrived)
	}
	return r
}
