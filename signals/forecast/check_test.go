package forecast

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// near fails where a number is not what two other programs made of the same input, to the digits that they printed.
func near(t *testing.T, name string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-11*max(1, math.Abs(want)) {
		t.Errorf("%s: %.13g, want %.13g", name, got, want)
	}
}

func oneTo23() (q Quantiles, text []Decimal) {
	for i := range q {
		q[i] = float64(i + 1)
		d, _ := NewDecimal(q[i], 1)
		text = append(text, d)
	}
	return q, text
}

func TestScoresAreThoseOfTwoOtherPrograms(t *testing.T) {
	t.Parallel()
	q, text := oneTo23()
	near(t, "CRPS at 10.5", q.CRPS(10.5), 1.7802)
	near(t, "CRPS at 30", q.CRPS(30), 14.5952)
	for _, c := range []struct{ outcome, want Decimal }{{"10.5", "1.7802"}, {"30", "14.5952"}, {"30.000", "14.5952"}} {
		if got, err := Score(text, c.outcome); err != nil || got != c.want {
			t.Errorf("the exact score at %s is %s (%v), want %s", c.outcome, got, err, c.want)
		}
	}
	near(t, "Q(.005)", q.At(0.005), 0.31907096175)
	near(t, "Q(.33)", q.At(0.33), 8.6)
	near(t, "Q(.9995)", q.At(0.9995), 25.6316082259)
	for _, p := range []float64{0.005, 0.01, 0.33, 0.5, 0.97, 0.9995} {
		near(t, "the PIT of a quantile", q.PIT(q.At(p)), p)
	}
	errors := []float64{-3, -1, 0, 2, 7}
	near(t, "type 6 at .05", quantile6(errors, 0.05), -3)
	near(t, "type 6 at .25", quantile6(errors, 0.25), -2)
	near(t, "type 6 at .5", quantile6(errors, 0.5), 0)
	near(t, "type 6 at .9", quantile6(errors, 0.9), 7)
}

// A normal distribution's score has a closed form (Gneiting and Raftery, 2007); 23 quantiles come close to it.
func TestTheScoreIsCloseToTheIntegral(t *testing.T) {
	t.Parallel()
	var q Quantiles
	for i, p := range Levels {
		q[i] = distuv.UnitNormal.Quantile(p)
	}
	for y, want := range map[float64]float64{0: 0.233694977255, 1: 0.602441357628} {
		if got := q.CRPS(y); math.Abs(got/want-1) > 0.01 {
			t.Errorf("the score of N(0,1) at %g is %g, the integral %g", y, got, want)
		}
	}
}

func TestComparisonsAreThoseOfTwoOtherPrograms(t *testing.T) {
	t.Parallel()
	scores := []float64{1.2, 0.8, 2.5, 1.9, 0.4, 3.1, 1, 2.2, 0.9, 1.6, 2.8, 0.7}
	naive := []float64{1.5, 0.9, 2.4, 2.6, 0.7, 3, 1.4, 2.9, 0.8, 1.9, 3.6, 1.1}
	for lags, want := range map[int][2]float64{
		0: {3.36363636364, 0.00632305157896},
		2: {5.39816495732, 0.000217265112068},
		4: {4.68961652635, 0.000661169232253},
	} {
		c := compareAt(scores, naive, lags)
		near(t, "Diebold-Mariano", c.DM, want[0])
		near(t, "its p", c.P, want[1])
	}
	c := compare(scores, naive)
	near(t, "skill", c.Skill, 0.162280701754)
	near(t, "its lower bound", c.Lo, 0.089782920199)
	near(t, "its upper bound", c.Hi, 0.23477848331)
	near(t, "evenness", evenness([]int{12, 8, 10, 9, 11, 13, 7, 10, 12, 8}), 0.935716410914)
	for _, b := range []struct {
		n      int
		p      float64
		lo, hi int
	}{{52, 0.5, 19, 33}, {52, 0.8, 36, 47}, {52, 0.9, 42, 51}, {104, 0.8, 75, 91}, {104, 0.9, 87, 99}} {
		if lo, hi := band(b.n, b.p); lo != b.lo || hi != b.hi {
			t.Errorf("the band of %d at %g is %d to %d, want %d to %d", b.n, b.p, lo, hi, b.lo, b.hi)
		}
	}
}

func TestCorrectionsAreThoseOfTwoOtherPrograms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step       float64
		pits, want []float64
	}{
		{0.01, []float64{.5, .97, .03, .99, .96, .2, .985, .94}, []float64{.9495, .959, .9585, .968, .9675, .967, .9765, .976}},
		{0.2, []float64{.5, .97, .6, .99, .2}, []float64{.94, 1.13, 1.12, 1.11, 1.1}},
	} {
		a := newConformal(c.step, []float64{0.95})
		for i, pit := range c.pits {
			a.learn(func(level float64) bool { return pit <= level })
			near(t, "the threshold", a.thresholds[0], c.want[i])
		}
	}
}

func TestMixturesAreThoseOfTwoOtherPrograms(t *testing.T) {
	t.Parallel()
	p := newPool([]float64{0.25, 0.5, 0.75}, 2)
	here := []bool{true, true}
	near(t, "the first weight before anything", p.shares(here)[0], 0.5)
	outcomes, want := []float64{2.5, 4.5, 4, 1}, []float64{0.73105857863, 0.70403228135, 0.596733487373, 0.646451365722}
	for i, experts := range [][][]float64{{{1, 2, 3}, {2, 4, 6}}, {{2, 3, 4}, {1, 2, 5}}, {{0, 2, 5}, {3, 4, 5}}, {{1, 3, 4}, {2, 2.5, 3}}} {
		p.learn(experts, here, p.mix(experts, p.shares(here)), outcomes[i])
		near(t, "the first weight", p.shares(here)[0], want[i])
	}
	if got := p.shares([]bool{false, true}); !slices.Equal(got, []float64{0, 1}) {
		t.Errorf("with the first expert away the weights are %v", got)
	}
}

func TestVolatilitiesAreThoseOfTwoOtherPrograms(t *testing.T) {
	t.Parallel()
	w := ewma{lambda: 0.94, clip: 16, minSquares: 1, n: 1, v: 4}
	for i, want := range []float64{2, 1.95448202857, 2.03243696089, 2.80152101545, 2.72719797595} {
		w.add([]float64{2, -1, 3, -10, 1}[i])
		near(t, "the deviation", w.sd(), want)
	}
}

func TestDecimalsAreRoundedHalfToEvenAndHaveNoNegativeZero(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		x        float64
		decimals int
		want     Decimal
	}{{0.125, 2, "0.12"}, {0.375, 2, "0.38"}, {-0.125, 2, "-0.12"}, {-0.04, 1, "0.0"}, {2.5, 0, "2"}, {-2.5, 0, "-2"}, {3.5, 0, "4"}, {-1, 1, "-1.0"}, {1e6, 1, "1000000.0"}} {
		if got, err := NewDecimal(c.x, c.decimals); err != nil || got != c.want {
			t.Errorf("%g to %d decimals is %s (%v), want %s", c.x, c.decimals, got, err, c.want)
		}
	}
	if _, err := NewDecimal(math.NaN(), 1); err == nil {
		t.Error("an unknown number became a decimal")
	}
}
