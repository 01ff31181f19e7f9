package signals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/internal/series"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// inRow makes cases on days in a row whose outcomes last so many days.
func inRow(predicted, happened []float64, lasting int) []Case {
	out := make([]Case, len(predicted))
	for i := range out {
		day := date("2020-01-01").AddDate(0, 0, i)
		out[i] = Case{
			Known: series.InstantOf(day), Start: series.InstantOf(day), End: series.InstantOf(day.AddDate(0, 0, lasting)), Predicted: predicted[i], Happened: happened[i], Naive: math.NaN(),
		}
	}
	return out
}

func TestRankCorrelationOfAWorkedExample(t *testing.T) {
	t.Parallel()
	// The example of encyclopedias: intelligence quotients and hours before the television, Spearman's rho -29/165.
	e := rankingOf(inRow(
		[]float64{106, 100, 86, 101, 99, 103, 97, 113, 112, 110},
		[]float64{7, 27, 2, 50, 28, 29, 20, 12, 6, 17}, 1)).edge()
	wantNear(t, "rank correlation", e.RankIC, -29.0/165)
}

func TestEqualNumbersShareTheirRank(t *testing.T) {
	t.Parallel()
	// By hand: ranks of 1, 2, 2, 5 are 1, 2.5, 2.5, 4, about a mean of 2.5 with a mean square of 1.125.
	got := rankingOf(inRow([]float64{5, 2, 1, 2}, make([]float64, 4), 1)).x
	for i, want := range []float64{1.5, 0, -1.5, 0} {
		wantNear(t, fmt.Sprint("rank ", i), got[i], want/math.Sqrt(1.125))
	}
	rng := rand.New(rand.NewPCG(1, 70))
	for range 100 {
		n := 10 + rng.IntN(60)
		x, y := make([]float64, n), make([]float64, n)
		for i := range n {
			x[i], y[i] = float64(rng.IntN(8)), float64(rng.IntN(8))+0.5*x[i]
		}
		// Ranks by counting, and Pearson's correlation of them by gonum.
		count := func(v []float64) []float64 {
			out := make([]float64, n)
			for i := range v {
				for j := range v {
					switch {
					case v[j] < v[i]:
						out[i]++
					case v[j] == v[i]:
						out[i] += 0.5
					}
				}
			}
			return out
		}
		if got, want := rankingOf(inRow(x, y, 1)).edge().RankIC, stat.Correlation(count(x), count(y), nil); !near(got, want, 1) {
			t.Fatalf("rank correlation of %d cases %v, want %v", n, got, want)
		}
	}
}

// The interval of a backtest holds the truth as often as it says, also where forecasts and outcomes persist. Spearman's correlation of two normal
// variables that correlate by rho is 6/pi asin(rho/2).
func TestTheIntervalOfAnEdgeHoldsItsLevel(t *testing.T) {
	t.Parallel()
	const tries = 600
	for i, c := range []struct {
		n        int
		phi, rho float64
	}{{260, 0, 0}, {260, 0, 0.5}, {130, 0.9, 0}, {260, 0.95, 0}, {850, 0.95, 0}, {260, 0.9, 0.5}, {850, 0.95, 0.5}} {
		rng := rand.New(rand.NewPCG(19, uint64(i)))
		truth := 6 / math.Pi * math.Asin(c.rho/2)
		held := 0
		for range tries {
			x, y := persistent(rng, c.n, c.phi, c.rho)
			if e := rankingOf(inRow(x, y, 1)).edge(); e.Lo <= truth && truth <= e.Hi {
				held++
			}
		}
		// Three standard errors of the share are 2.7 percentage points.
		share := float64(held) / tries
		if share < 0.915 || share > 0.985 {
			t.Errorf("%d cases with a persistence of %g and a correlation of %g: the 95 %% interval held in %.1f %% of %d tries", c.n, c.phi, c.rho, 100*share, tries)
		}
		t.Logf("%d cases, persistence %g, correlation %g: held in %.1f %%", c.n, c.phi, c.rho, 100*share)
	}
}

// An edge and a comparison of the same ranks, spoken of in weeks, are the same: both have the interval of one place.
func TestAnEdgeIsBoundedAsAComparisonIs(t *testing.T) {
	t.Parallel()
	x, y := persistent(rand.New(rand.NewPCG(3, 70)), 150, 0.8, 0.4)
	cases := inRow(x, y, 5)
	e := rankingOf(cases).edge()
	u, v := rankingOf(cases).x, rankingOf(cases).y
	c := Compare(weekly(u), weekly(v), false, 0).Chosen
	wantNear(t, "correlation", e.RankIC, c.R)
	wantNear(t, "t", e.T, c.R*math.Sqrt((c.Effective-2)/(1-c.R*c.R)))
	wantNear(t, "middle of the interval", (math.Atanh(e.Lo)+math.Atanh(e.Hi))/2, math.Atanh(c.R))
	student := distuv.StudentsT{Sigma: 1, Nu: c.Effective - 2}
	wantNear(t, "width", (math.Atanh(e.Hi)-math.Atanh(e.Lo))/(math.Atanh(c.Hi)-math.Atanh(c.Lo)), student.Quantile(0.975)/student.Quantile(0.95))
	wantNear(t, "p", e.P, 2*student.CDF(-math.Abs(e.T)))
}

func TestLagsCoverTwiceTheOverlap(t *testing.T) {
	t.Parallel()
	flat := make([]float64, 100)
	for lasting, want := range map[int]int{0: 13, 1: 13, 5: 13, 8: 14, 20: 38, 200: 99} {
		cases := inRow(flat, flat, lasting)
		if got := lags(len(cases), overlapOf(cases)); got != want {
			t.Errorf("outcomes of %d days: %d lags, want %d", lasting, got, want)
		}
	}
	// Cases of a week that last four weeks overlap with the next three.
	var weekly []Case
	for i := range 50 {
		day := date("2020-01-01").AddDate(0, 0, 7*i)
		weekly = append(weekly, Case{Known: series.InstantOf(day), Start: series.InstantOf(day), End: series.InstantOf(day.AddDate(0, 0, 28))})
	}
	if got := overlapOf(weekly); got != 3 {
		t.Errorf("four weeks overlap with %d others, want 3", got)
	}
}

// A test at a level of 5 % must not call noise an edge in many more than 5 of 100 cases. This also holds for a signal that hardly moves,
// and for any overlap of the outcomes.
func TestChanceIsCalledChance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		n, lasting int
		stays      float64
	}{
		{"months, a quarter ahead", 130, 3, 0.9},
		{"weeks, four ahead", 850, 4, 0.95},
		{"days, twenty ahead", 1500, 20, 0.95},
		{"years, one ahead", 45, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			worlds := min(600, 250_000/c.n)
			edges := 0
			for w := range worlds {
				rng := rand.New(rand.NewPCG(uint64(w), uint64(c.n)))
				steps := make([]float64, c.n+c.lasting)
				for i := range steps {
					steps[i] = rng.NormFloat64()
				}
				predicted, happened := make([]float64, c.n), make([]float64, c.n)
				state := rng.NormFloat64()
				for i := range c.n {
					state = c.stays*state + math.Sqrt(1-c.stays*c.stays)*rng.NormFloat64()
					predicted[i] = state
					for _, s := range steps[i : i+c.lasting] {
						happened[i] += s
					}
				}
				if rankingOf(inRow(predicted, happened, c.lasting)).edge().P < 0.05 {
					edges++
				}
			}
			if share := float64(edges) / float64(worlds); share < 0.02 || share > 0.11 {
				t.Errorf("an edge in %.3f of worlds without one, want about 0.05", share)
			}
		})
	}
}

// Forecasts and outcomes that both move slowly relate by chance more often than an error of neighbours allows. A shift test knows.
func TestAShiftTestKnowsWhatPersists(t *testing.T) {
	t.Parallel()
	edges, both := 0, 0
	const worlds = 300
	for w := range worlds {
		rng := rand.New(rand.NewPCG(uint64(w), 19))
		x, y := make([]float64, 600), make([]float64, 600)
		var a, b float64
		for i := range x {
			a, b = 0.97*a+rng.NormFloat64(), 0.97*b+rng.NormFloat64()
			x[i], y[i] = a, b
		}
		cases := inRow(x, y, 4)
		e := rankingOf(cases).edge()
		if p := rankingOf(cases).shiftP(e); p < 0.05 {
			edges++
			if e.P < 0.05 {
				both++
			}
		}
	}
	if share := float64(edges) / worlds; share > 0.1 {
		t.Errorf("an edge in %.3f of worlds without one, want about 0.05", share)
	}
	// What relates is found.
	x := make([]float64, 400)
	rng := rand.New(rand.NewPCG(1, 19))
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	cases := inRow(x, x, 1)
	if p := rankingOf(cases).shiftP(rankingOf(cases).edge()); p > 0.01 {
		t.Errorf("a perfect forecast has the p-value %v", p)
	}
	// Nine shifts tell nothing below a tenth.
	few := inRow(x[:20], x[:20], 1)
	if p := rankingOf(few).shiftP(rankingOf(few).edge()); p != 0.1 {
		t.Errorf("20 cases have the p-value %v of a shift test", p)
	}
}

// The relation is that of the case itself among all shifts, each worked out directly.
func TestAShiftTestCountsTheShiftsThatRelateAsMuch(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(2, 19))
	x, y := make([]float64, 150), make([]float64, 150)
	for i := range x {
		x[i] = rng.NormFloat64()
		y[i] = 0.15*x[i] + rng.NormFloat64()
	}
	cases := inRow(x, y, 1)
	e := rankingOf(cases).edge()
	as, all := 1, 1
	for shift := e.Lags + 1; shift <= len(x)-e.Lags-1; shift++ {
		moved := slices.Concat(y[shift:], y[:shift])
		other := inRow(x, moved, 1)
		ic := correlation(rankingOf(other).x, rankingOf(other).y)
		if all++; math.Abs(ic) >= math.Abs(e.RankIC) {
			as++
		}
	}
	wantNear(t, "p", rankingOf(cases).shiftP(e), float64(as)/float64(all))
}

// The transforms of all sizes give the products that are added up in order.
func TestTransformsGiveTheProductsOfAllShifts(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 19))
	for _, n := range []int{1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 32, 33, 150, 1025, 2000} {
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = rng.NormFloat64(), rng.NormFloat64()
		}
		for shift, got := range circular(x, y) {
			if want := productsAt(x, y, shift); math.Abs(got-want) > 1e-10 {
				t.Fatalf("%d numbers, shifted by %d: %v, want %v", n, shift, got, want)
			}
		}
	}
}

func TestNumbersComeInOrder(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 19))
	for what, number := range map[string]func(i int) float64{
		"far apart":        func(int) float64 { return rng.NormFloat64() * math.Pow(10, float64(rng.IntN(600)-300)) },
		"scores":           func(int) float64 { return rng.NormFloat64() },
		"equal ones":       func(int) float64 { return float64(rng.IntN(7) - 3) },
		"close together":   func(int) float64 { return 100 + 1e-9*rng.Float64() },
		"falling":          func(i int) float64 { return -1e-6 * float64(i) },
		"zeros and others": func(i int) float64 { return []float64{0, math.Copysign(0, -1), 5e-324, -5e-324}[i%4] },
	} {
		for _, n := range []int{0, 1, 2, 50, 3000} {
			x := make([]float64, n)
			for i := range x {
				x[i] = number(i)
			}
			order := inOrderOf(x)
			var got []float64
			seen := make([]bool, n)
			for _, c := range order {
				if seen[c.i] || x[c.i] != c.x {
					t.Fatalf("%d %s: number %d is %v", n, what, c.i, c.x)
				}
				seen[c.i] = true
				got = append(got, c.x)
			}
			if len(got) != n || !slices.IsSorted(got) {
				t.Errorf("%d %s are not in order", n, what)
			}
		}
	}
}

// The signal wins only where it beats the rule and chance, after the correction for all tests; the publisher wins where its own forecasts are nearer.
func TestWhoWinsABacktest(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	stage := func(n int, signal, source float64) ForecastSkill {
		return ForecastSkill{N: n, RMSE: signal, SourceRMSE: source}
	}
	for _, c := range []struct {
		signal, lo, adjusted, rule float64
		skill                      []ForecastSkill
		wins                       string
	}{
		{0.108, 0.02, 0.01, 0.189, nil, WinsRule},
		{0.3, 0.1, 0.01, 0.189, nil, WinsSignal},
		{0.3, 0.1, 0.4, 0.189, nil, WinsNeither}, // corn's, until it was called the signal's
		{0.3, 0.1, nan, 0.189, nil, WinsNeither},
		{0.2, -0.1, 0.01, 0.189, nil, WinsNeither},
		{nan, nan, nan, 0.1, nil, ""},
		{0.3, 0.1, 0.01, nan, nil, WinsSignal},
		{-0.4, -0.6, 1, 0.1, nil, WinsRule},
		{0.3, 0.1, 0.01, 0.189, []ForecastSkill{stage(60, 12, nan), stage(60, 8, 7), stage(40, 5, 5.1)}, WinsSource},
		{0.3, 0.1, 0.01, 0.189, []ForecastSkill{stage(60, 12, nan), stage(60, 7, 8), stage(40, 5.1, 5)}, WinsSignal},
	} {
		r := BacktestResult{Edge: Edge{RankIC: c.signal, Lo: c.lo}, AdjustedP: c.adjusted, BestRuleIC: c.rule, Skill: c.skill}
		if got := r.Wins(); got != c.wins {
			t.Errorf("%+v: %q wins, want %q", c, got, c.wins)
		}
	}
}

func TestAPerfectForecastHasNoError(t *testing.T) {
	t.Parallel()
	x := make([]float64, 50)
	for i := range x {
		x[i] = float64(i*i%53) - 20
	}
	e := rankingOf(inRow(x, x, 1)).edge()
	if e.RankIC < 1-1e-12 || e.Lo < 1-1e-12 || e.Hi > 1 || e.P > 1e-6 || math.IsInf(e.T, 0) {
		t.Errorf("a perfect forecast scores %+v", e)
	}
}

func TestHitRateCountsSidesOfZero(t *testing.T) {
	t.Parallel()
	cases := inRow([]float64{1, -1, 2, 0, -3, 5}, []float64{2, -3, -1, 4, 0, 0.1}, 1)
	if got := hitRate(cases); got != 75 { // right, right, wrong, no call, no move, right
		t.Errorf("hit rate %v, want 75", got)
	}
	if got := hitRate(nil); !math.IsNaN(got) {
		t.Errorf("hit rate of nothing %v", got)
	}
}

// BenchmarkEdge shows the cost of a backtest's statistics: twice the cases, about twice the time where neither persists.
func BenchmarkEdge(b *testing.B) {
	for _, n := range []int{5_000, 10_000, 20_000, 40_000} {
		rng := rand.New(rand.NewPCG(4, 70))
		x, y := make([]float64, n), make([]float64, n)
		for i := range n {
			x[i], y[i] = rng.NormFloat64(), rng.NormFloat64()
		}
		cases := inRow(x, y, 20)
		b.Run(fmt.Sprint("cases=", n), func(b *testing.B) {
			for b.Loop() {
				rankingOf(cases).edge()
			}
		})
	}
}
