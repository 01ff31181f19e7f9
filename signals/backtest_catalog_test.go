package signals_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/signals"
)

// These properties hold for the backtest of every signal of the catalog.

func TestABacktestIsAPureFunctionToTheBit(t *testing.T) {
	t.Parallel()
	perDefinition(t, func(t *testing.T, d signals.Definition) {
		set := madeUp(d, 2*history, 11)
		before := clone(set)
		first := d.RunBacktest(set, end, signals.Arrivals{})
		if diff := cmp.Diff(before, set, sameBits); diff != "" {
			t.Fatalf("the input was changed (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(first, d.RunBacktest(clone(set), end, signals.Arrivals{}), sameBits); diff != "" {
			t.Errorf("the same input gave another result (-first +second):\n%s", diff)
		}
		if first.N < 30 || math.IsNaN(first.RankIC) || math.IsNaN(first.OutOfSample.Lo) || math.IsNaN(first.NaiveRankIC) ||
			math.IsNaN(first.HitRatePct) || math.IsNaN(first.AdjustedP) || !first.LookAheadSafe() {
			t.Errorf("the backtest of %d years is not whole: %+v", 2*history, first)
		}
		if first.To.After(end) || !first.From.Before(first.OutOfSampleFrom) || !first.OutOfSampleFrom.Before(first.To) {
			t.Errorf("outcomes from %v, out of sample from %v, to %v", first.From, first.OutOfSampleFrom, first.To)
		}
	})
}

func TestCasesDoNotChangeWithWhatCameLater(t *testing.T) {
	t.Parallel()
	perDefinition(t, func(t *testing.T, d signals.Definition) {
		set := madeUp(d, 2*history, 12)
		track := d.Compute(set, end)
		whole := d.Backtest.Cases(track, set)
		for _, share := range []float64{0.5, 0.7, 0.9, 0.97} {
			at := track[int(share*float64(len(track)))].KnownAt
			known := knownBy(set, at.Time())
			early := d.Backtest.Cases(d.Compute(known, at.Time()), known)
			if len(early) == 0 || len(early) >= len(whole) {
				t.Fatalf("as of %v there are %d cases, in the end %d", at, len(early), len(whole))
			}
			if diff := cmp.Diff(whole[:len(early)], early, sameBits); diff != "" {
				t.Fatalf("as of %v the cases are others than in the end (-end +then):\n%s", at, diff)
			}
		}
		for _, c := range whole {
			if c.Start.Time().Before(c.Known.Time()) || c.End.Time().Before(c.Start.Time()) {
				t.Fatalf("the outcome of %+v began before it was foretold", c)
			}
		}
	})
}

func TestMadeUpPricesAreNotForetold(t *testing.T) {
	t.Parallel()
	// The made-up series are independent random walks. A crack spread and a margin made of walks return to nothing, forecasts of corn are
	// drawn around the finals, and an index of walks persists. So these four signals have no level of chance to compare with.
	for _, id := range []string{"eia-weekly-petroleum", "hormuz-transit"} {
		d, _ := signals.ByID(id)
		edges := 0
		for seed := range uint64(12) {
			if d.RunBacktest(madeUp(d, 2*history, 100+seed), end, signals.Arrivals{}).Clear() {
				edges++
			}
		}
		if edges > 3 {
			t.Errorf("%s: an edge in %d of 12 worlds of chance", id, edges)
		}
	}
}

func TestABacktestOfAbsurdInputHoldsNoInfinity(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(i int, v float64) float64{
		"huge values":    func(i int, _ float64) float64 { return math.MaxFloat64 * float64(1-2*(i%2)) },
		"a constant":     func(int, float64) float64 { return 3.3 },
		"unknown values": func(int, float64) float64 { return math.NaN() },
		"tiny values":    func(i int, _ float64) float64 { return 5e-324 * float64(i%3) },
	} {
		t.Run(name, func(t *testing.T) {
			perDefinition(t, func(t *testing.T, d signals.Definition) {
				set := madeUp(d, history, 15)
				every(replace)(set)
				r := d.RunBacktest(set, end, signals.Arrivals{})
				for _, x := range []float64{
					r.RankIC, r.Lo, r.Hi, r.T, r.P, r.AdjustedP, r.HitRatePct, r.NaiveRankIC, r.OutOfSample.RankIC, r.OutOfSample.T,
				} {
					if math.IsInf(x, 0) {
						t.Fatalf("%+v", r)
					}
				}
				for _, s := range r.Skill {
					for _, x := range []float64{s.RMSE, s.MAE, s.Bias, s.Coverage90Pct, s.BaselineRMSE, s.Skill} {
						if math.IsInf(x, 0) {
							t.Fatalf("%+v", s)
						}
					}
				}
			})
		})
	}
}

// BenchmarkBacktest shows the cost of a whole backtest: twice the history, about twice the time.
func BenchmarkBacktest(b *testing.B) {
	for _, d := range signals.All() {
		for _, years := range []int{20, 40, 80} {
			set := madeUp(d, years, 6)
			b.Run(fmt.Sprintf("%s/years=%d", d.ID, years), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					d.RunBacktest(set, end, signals.Arrivals{})
				}
			})
		}
	}
}

func TestNoSignalLooksAhead(t *testing.T) {
	t.Parallel()
	perDefinition(t, func(t *testing.T, d signals.Definition) {
		if d.LooksAhead(madeUp(d, 2*history, 13), end) {
			t.Error("an estimate changes with what became known only after it")
		}
	})
}
