package signals

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// monday is the first day of a week.
var monday = time.Date(2020, 1, 6, 0, 0, 0, 0, time.UTC)

// weekly returns readings on the Wednesdays of consecutive weeks.
func weekly(z []float64) []Reading {
	out := make([]Reading, len(z))
	for i, v := range z {
		out[i] = Reading{monday.AddDate(0, 0, 7*i+2), v}
	}
	return out
}

// persistent returns two series whose innovations correlate by rho: each value is phi times the one before plus an innovation.
func persistent(rng *rand.Rand, n int, phi, rho float64) (x, y []float64) {
	x, y = make([]float64, n), make([]float64, n)
	var a, b float64
	for i := -200; i < n; i++ {
		e, f := rng.NormFloat64(), rng.NormFloat64()
		a, b = phi*a+e, phi*b+rho*e+math.Sqrt(1-rho*rho)*f
		if i >= 0 {
			x[i], y[i] = a, b
		}
	}
	return x, y
}

func TestAComparisonCanBeRecomputed(t *testing.T) {
	t.Parallel()
	x, y := persistent(rand.New(rand.NewPCG(7, 7)), 150, 0.8, 0.4)
	got := Compare(weekly(x), weekly(y), false, 3)
	a, b := x[:147], y[3:]
	n := len(a)
	autocorrelation := func(v []float64, k int) float64 {
		m, top, bottom := stat.Mean(v, nil), 0.0, 0.0
		for i := range v {
			bottom += (v[i] - m) * (v[i] - m)
			if i+k < len(v) {
				top += (v[i] - m) * (v[i+k] - m)
			}
		}
		return top / bottom
	}
	sum := 0.0
	for k := 1; k < n/2; k++ {
		ra, rb := autocorrelation(a, k), autocorrelation(b, k)
		if ra <= 0 || rb <= 0 {
			break
		}
		sum += float64(n-k) * ra * rb
	}
	independent := float64(n*n) / (float64(n) + 2*sum)
	r := stat.Correlation(a, b, nil)
	reach := distuv.StudentsT{Sigma: 1, Nu: independent - 2}.Quantile(0.95) / math.Sqrt(independent-3)
	want := Association{Lag: 3, N: n, Effective: independent, R: r, Lo: math.Tanh(math.Atanh(r) - reach), Hi: math.Tanh(math.Atanh(r) + reach)}
	c := got.Chosen
	for _, pair := range [][2]float64{{c.R, want.R}, {c.Lo, want.Lo}, {c.Hi, want.Hi}, {c.Effective, want.Effective}} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			t.Errorf("the comparison is %+v, want %+v", c, want)
		}
	}
	if c.Lag != 3 || c.N != n || len(got.Pairs) != n || !got.Pairs[0].At.Equal(monday) || got.Pairs[0].A != x[0] || got.Pairs[0].B != y[3] {
		t.Errorf("%d pairs at lag %d, beginning with %+v", c.N, c.Lag, got.Pairs[0])
	}
	if len(got.ByLag) != 2*MaxLag+1 || got.ByLag[MaxLag+3] != c {
		t.Errorf("the list by lag has %d rows and does not hold the chosen one", len(got.ByLag))
	}
	if c.Effective > 60 {
		t.Errorf("%d persistent weeks count as %.0f independent ones", c.N, c.Effective)
	}
}

// The interval holds the truth as often as it says, also where both series persist. An interval for independent pairs would hold it in 40 % of
// the cases with a persistence of 0.9.
func TestTheIntervalOfAComparisonHoldsItsLevel(t *testing.T) {
	t.Parallel()
	const tries = 1500
	for i, c := range []struct {
		n        int
		phi, rho float64
	}{{260, 0, 0}, {260, 0.5, 0}, {260, 0.9, 0}, {120, 0.9, 0}, {520, 0.95, 0}, {260, 0.8, 0.6}} {
		rng := rand.New(rand.NewPCG(1, uint64(i)))
		held := 0
		for range tries {
			x, y := persistent(rng, c.n, c.phi, c.rho)
			if e := associate(x, y, 0); e.Lo <= c.rho && c.rho <= e.Hi {
				held++
			}
		}
		// Three standard errors of the share are 2.3 percentage points.
		if share := float64(held) / tries; share < 0.865 || share > 0.93 {
			t.Errorf("%d pairs with a persistence of %g and a correlation of %g: the 90 %% interval held in %.1f %% of %d tries", c.n, c.phi, c.rho, 100*share, tries)
		}
	}
}

func TestAComparisonTakesTheNewestReadingOfEachPeriod(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return day
	}
	a := []Reading{{at("2026-03-02"), 1}, {at("2026-03-08"), 2}, {at("2026-03-09"), 3}, {at("2026-03-31"), math.NaN()}}
	b := []Reading{{at("2026-03-04"), 5}, {at("2026-03-15"), 6}}
	week := Compare(a, b, false, 0)
	if len(week.Pairs) != 2 || week.Pairs[0] != (Pair{at("2026-03-02"), 2, 5}) || week.Pairs[1] != (Pair{at("2026-03-09"), 3, 6}) {
		t.Errorf("the weeks are %+v", week.Pairs)
	}
	month := Compare(a, b, true, 0)
	if len(month.Pairs) != 1 || month.Pairs[0] != (Pair{at("2026-03-01"), 3, 6}) {
		t.Errorf("the months are %+v", month.Pairs)
	}
	if !math.IsNaN(week.Chosen.R) || !math.IsNaN(week.Chosen.Lo) {
		t.Errorf("two pairs have the correlation %+v", week.Chosen)
	}
	for _, day := range []string{"1969-12-29", "1960-02-29", "2026-01-01", "2026-11-22", "2026-11-23"} {
		for _, monthly := range []bool{false, true} {
			d := at(day)
			start := periodStart(periodOf(d, monthly), monthly)
			end := periodStart(periodOf(d, monthly)+1, monthly)
			if d.Before(start) || !d.Before(end) || !monthly && start.Weekday() != time.Monday {
				t.Errorf("%s is in the period from %s to %s", day, start, end)
			}
		}
	}
}

func TestAComparisonWithoutVariationOrIndependenceHasNoInterval(t *testing.T) {
	t.Parallel()
	constant, trend := make([]float64, 60), make([]float64, 60)
	for i := range trend {
		constant[i], trend[i] = 1, float64(i)
	}
	if e := Compare(weekly(constant), weekly(trend), false, 0).Chosen; !math.IsNaN(e.R) {
		t.Errorf("a constant has the correlation %+v", e)
	}
	if e := Compare(weekly(trend), weekly(trend), false, 1).Chosen; e.R < 0.99 || !math.IsNaN(e.Lo) {
		t.Errorf("two trends: %+v", e)
	}
	if e := Compare(nil, weekly(trend), false, 0).Chosen; e.N != 0 || !math.IsNaN(e.R) {
		t.Errorf("nothing was compared: %+v", e)
	}
	// A season of half a year: the gaps do not end the sum of the autocorrelations.
	seasons := make([]float64, 0, 520)
	rng := rand.New(rand.NewPCG(3, 3))
	level := 0.0
	for i := range 520 {
		level = 0.95*level + rng.NormFloat64()
		if i%52 < 26 {
			seasons = append(seasons, level)
		} else {
			seasons = append(seasons, math.NaN())
		}
	}
	if e := Compare(weekly(seasons), weekly(seasons), false, 0).Chosen; e.N != 260 || e.Effective > 60 {
		t.Errorf("ten persistent seasons count as %+v", e)
	}
}
