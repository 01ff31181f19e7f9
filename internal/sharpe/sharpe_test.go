package sharpe

import (
	"math"
	"math/rand/v2"
	"testing"
)

// near reports whether two values agree to the digits that a paper prints.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %v, want %v within %v", what, got, want, within)
	}
}

// A hedge fund with two years of monthly returns. It looks good at 95 % if its returns are taken for normal, but not with their own skew
// and kurtosis. With a third year it looks good again.
func TestProbabilisticIsAsInTheExampleOfThePaper(t *testing.T) {
	t.Parallel()
	near(t, "of normal returns", Probabilistic(Sample{N: 24, Ratio: 0.458, Kurtosis: 3}, 0), 0.982, 0.0005)
	near(t, "of the fund's returns", Probabilistic(Sample{N: 24, Ratio: 0.458, Skew: -2.448, Kurtosis: 10.164}, 0), 0.913, 0.0005)
	near(t, "with a third year", Probabilistic(Sample{N: 36, Ratio: 0.458, Skew: -2.448, Kurtosis: 10.164}, 0), 0.953, 0.0006)
}

// An annual ratio of 2 is above an annual ratio of 1 at 95 % after so many years.
func TestMinTrackRecordIsAsInTheExamplesOfThePaper(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what                string
		a, skew, kurt, want float64
	}{
		{"daily", 252, 0, 3, 2.73}, {"weekly", 52, 0, 3, 2.83}, {"monthly", 12, 0, 3, 3.24}, {"monthly, of hedge funds", 12, -0.72, 5.78, 4.99},
	} {
		s := Sample{N: 2, Ratio: 2 / math.Sqrt(c.a), Skew: c.skew, Kurtosis: c.kurt}
		near(t, c.what, MinTrackRecord(s, 1/math.Sqrt(c.a), 0.95)/c.a, c.want, 0.005)
	}
}

func TestAfterTheMinTrackRecordTheProbabilityIsTheConfidence(t *testing.T) {
	t.Parallel()
	s := Sample{Ratio: 0.3, Skew: -1, Kurtosis: 7}
	s.N = int(math.Ceil(MinTrackRecord(s, 0.1, 0.95)))
	if p := Probabilistic(s, 0.1); p < 0.95 {
		t.Errorf("after %d returns it is %v", s.N, p)
	}
	s.N--
	if p := Probabilistic(s, 0.1); p >= 0.95 {
		t.Errorf("after %d returns it is %v already", s.N, p)
	}
}

// 100 trials on five years of daily returns, the best with an annual ratio of 2.5: not enough at 95 %. It would be after 46 trials, or after
// 88 had the returns been normal.
func TestDeflatedIsAsInTheExampleOfThePaper(t *testing.T) {
	t.Parallel()
	const variance = 0.5 / 250
	best := Sample{N: 1250, Ratio: 2.5 / math.Sqrt(250), Skew: -3, Kurtosis: 10}
	near(t, "the ratio that luck reaches", ExpectedMax(100, variance), 0.1132, 0.00005)
	near(t, "of 100 trials", Deflated(best, 100, variance), 0.9004, 0.00005)
	near(t, "of 46 trials", Deflated(best, 46, variance), 0.9505, 0.00005)
	best.Skew, best.Kurtosis = 0, 3
	near(t, "of 88 trials of normal returns", Deflated(best, 88, variance), 0.9505, 0.00005)
}

func TestTheBestOfManyRandomTrialsReachesTheExpectedMax(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(21, 1))
	for _, trials := range []int{10, 100, 1000} {
		var sum float64
		const rounds = 2000
		for range rounds {
			best := math.Inf(-1)
			for range trials {
				best = max(best, random.NormFloat64())
			}
			sum += best
		}
		near(t, "the mean of the best", sum/rounds, ExpectedMax(trials, 1), 0.06)
	}
}

func TestOneTrialIsNotDeflated(t *testing.T) {
	t.Parallel()
	s := Sample{N: 100, Ratio: 0.2, Kurtosis: 3}
	if got, want := Deflated(s, 1, 0.3), Probabilistic(s, 0); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMeasureCountsTheMoments(t *testing.T) {
	t.Parallel()
	// Computed by hand: mean 0.02, deviations -1, -1, 0, 2 hundredths, squares 6, cubes 6, fourth powers 18.
	s := Measure([]float64{0.01, 0.01, 0.02, 0.04})
	near(t, "the ratio", s.Ratio, 2/math.Sqrt(2), 1e-12)
	near(t, "the skew", s.Skew, 6.0/4/math.Pow(6.0/4, 1.5), 1e-12)
	near(t, "the kurtosis", s.Kurtosis, 18.0/4/(36.0/16), 1e-12)
	if s.N != 4 {
		t.Errorf("%d returns", s.N)
	}
}

func TestWhatCannotBeKnownIsNotANumber(t *testing.T) {
	t.Parallel()
	for what, returns := range map[string][]float64{
		"nothing": nil, "one return": {0.1}, "equal returns": {0.1, 0.1, 0.1}, "an unknown return": {0.1, math.NaN(), 0.2},
	} {
		s := Measure(returns)
		for name, v := range map[string]float64{
			"ratio": s.Ratio, "probability": Probabilistic(s, 0), "deflated": Deflated(s, 10, 0.1), "track record": MinTrackRecord(s, 0, 0.95),
		} {
			if !math.IsNaN(v) {
				t.Errorf("%s of %s is %v", name, what, v)
			}
		}
	}
	good := Sample{N: 100, Ratio: 0.2, Kurtosis: 3}
	for what, v := range map[string]float64{
		"no trial": ExpectedMax(0, 1), "a negative variance": ExpectedMax(10, -1), "an unknown variance": Deflated(good, 10, math.NaN()),
		"an unknown benchmark": MinTrackRecord(good, math.NaN(), 0.95),
		"a confidence of 1":    MinTrackRecord(good, 0, 1), "impossible moments": Probabilistic(Sample{N: 9, Ratio: 1, Skew: 5, Kurtosis: 3}, 0),
	} {
		if !math.IsNaN(v) {
			t.Errorf("with %s it is %v", what, v)
		}
	}
	if v := MinTrackRecord(good, 0.2, 0.95); !math.IsInf(v, 1) {
		t.Errorf("a ratio at its benchmark is above it after %v", v)
	}
}
