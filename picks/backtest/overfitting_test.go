package backtest_test

import (
	"math"
	"testing"

	"tidemark/picks"
	"tidemark/picks/backtest"
)

// The deflated ratio assumes the variance among the weightings, where it is larger than that of trials without skill. Here companies with higher
// margins gain, so the weightings differ.
func TestTheDeflatedRatioAssumesTheVarianceAmongTheWeightings(t *testing.T) {
	t.Parallel()
	in := fund(t, 24, func(company, _ int, market float64) float64 { return market + 0.0004*float64(company%12) })
	in.Random = 0
	r := run(t, in)
	var ratios []float64
	mean := 0.0
	for _, trial := range r.Overfitting.Trials {
		ratios = append(ratios, float64(trial.InformationRatio)/math.Sqrt(252))
		mean += ratios[len(ratios)-1] / 14
	}
	want := 0.0
	for _, v := range ratios {
		want += (v - mean) * (v - mean) / 13
	}
	if floor := 1 / float64(r.Picks.Sessions-1); want <= floor {
		t.Fatalf("the weightings vary by %v alone, less than %v", want, floor)
	}
	if got := float64(r.Picks.TrialVariance); math.Abs(got-want) > 1e-12 {
		t.Errorf("the variance is %v, want %v", got, want)
	}
}

// The ratio of each variant is that of a backtest whose rules have its weights.
func TestEachTrialIsTheBacktestOfItsWeights(t *testing.T) {
	t.Parallel()
	in := fund(t, 24, noise(6, 0.015))
	in.Days, in.Random = in.Days[:40], 0
	trials := run(t, in).Overfitting.Trials
	variants := in.Rules.Variants()
	if len(trials) != 1+len(variants) || len(variants) != 13 {
		t.Fatalf("%d trials of %d variants", len(trials), len(variants))
	}
	ratios := map[float64]bool{}
	for _, i := range []int{0, 1, 2, 3, 5, 11} { // one of each kind; quality has companies with equal totals
		trial, other := trials[i], in
		if i > 0 {
			v := variants[i-1]
			w := v.Weights
			other.Rules.QualityWeight, other.Rules.ValueWeight, other.Rules.MomentumWeight, other.Rules.RiskWeight = w[picks.Quality], w[picks.Value], w[picks.Momentum], w[picks.Risk]
			if trial.Name != v.Name {
				t.Fatalf("trial %d is %s, not %s", i, trial.Name, v.Name)
			}
		}
		want := float64(run(t, other).Picks.InformationRatio)
		if got := float64(trial.InformationRatio); !(math.Abs(got-want) < 1e-9) {
			t.Errorf("%s: a ratio of %v, its own backtest has %v", trial.Name, got, want)
		}
		ratios[want] = true
	}
	if len(ratios) < 5 {
		t.Errorf("the variants have %d ratios: they pick the same", len(ratios))
	}
}

// Where prices are noise, the better a weighting was in one half, the worse it is in the other. Where past gains continue, the best stays the best.
func TestAChoiceOfWeightsIsOverfittedWhereNothingIsToBeFound(t *testing.T) {
	t.Parallel()
	drawn := noise(7, 0.015)
	few := func(in backtest.Input) backtest.Input { in.Random = 0; return in }
	luck := run(t, few(fund(t, 24, drawn))).Overfitting
	drift := func(session, company int, market float64) float64 {
		return drawn(session, company, market) + 0.0006*float64(company-12)
	}
	found := run(t, few(fund(t, 24, drift))).Overfitting
	if luck.Sessions < 16*backtest.MonthSessions || luck.Blocks != 16 || !(luck.Probability > 0.1) || !(luck.Slope < 0) {
		t.Errorf("of noise: %+v", luck)
	}
	if found.Best() != "momentum-alone" || !(found.Probability < 0.05) || !(found.Loss < 0.05) {
		t.Errorf("where gains go on: best is %s, %+v", found.Best(), found)
	}
}

func TestAShortHistoryHasNoProbabilityOfOverfitting(t *testing.T) {
	t.Parallel()
	in := fund(t, 16, noise(3, 0.015))
	in.To = in.Days[20]
	in.Days = in.Days[:12]
	if o := run(t, in).Overfitting; !math.IsNaN(float64(o.Probability)) || len(o.Trials) != 14 || o.Sessions < 1 {
		t.Errorf("%+v", o)
	}
}
