package sharpe

import (
	"math"
	"math/rand/v2"
	"testing"
)

// study returns trials of daily returns whose annual ratios are exactly these, as the paper makes them: random, then rescaled and moved.
func study(random *rand.Rand, periods int, annual ...float64) [][]float64 {
	out := make([][]float64, len(annual))
	for i, want := range annual {
		r := make([]float64, periods)
		var sum, squares float64
		for j := range r {
			r[j] = random.NormFloat64()
			sum += r[j]
		}
		for j := range r {
			r[j] -= sum / float64(periods)
			squares += r[j] * r[j]
		}
		sd := math.Sqrt(squares / float64(periods-1))
		for j := range r {
			r[j] = r[j]/sd*0.01 + want/math.Sqrt(252)*0.01
		}
		out[i] = r
	}
	return out
}

func overfitting(t *testing.T, trials [][]float64, blocks int) Overfit {
	t.Helper()
	o, err := Overfitting(trials, blocks)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// The paper's first test case: 100 trials whose ratio over all periods is zero. What one half gains the other loses, so that the best is
// always below the median, and loses.
func TestTrialsThatAreZeroOverAllPeriodsAreFullyOverfitted(t *testing.T) {
	t.Parallel()
	o := overfitting(t, study(rand.New(rand.NewPCG(21, 2)), 1000, make([]float64, 100)...), 16)
	if o.Splits != 12870 {
		t.Errorf("%d splits, want 12,870", o.Splits)
	}
	near(t, "the probability", o.Probability, 1, 0)
	near(t, "the loss", o.Loss, 1, 0)
	near(t, "the slope", o.Slope, -1, 0.05)
}

// The paper's table of the method's accuracy: one trial has an annual ratio of 1 or 2, the others 0; the mean over many studies with 16 blocks.
func TestTheProbabilityOfOverfittingIsThatOfThePapersTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ratio              float64
		periods, n, rounds int
		want               float64
	}{
		{1, 500, 10, 30, 0.618}, {1, 1000, 10, 30, 0.399}, {1, 1000, 50, 10, 0.666}, {2, 1000, 50, 10, 0.059},
	} {
		random := rand.New(rand.NewPCG(21, uint64(c.periods+c.n)))
		annual := make([]float64, c.n)
		annual[c.n-1] = c.ratio
		var sum float64
		for range c.rounds {
			sum += overfitting(t, study(random, c.periods, annual...), 16).Probability
		}
		near(t, "the mean probability", sum/float64(c.rounds), c.want, 0.05)
	}
}

// Independent trials without skill: the best of one half is as likely below the median as above it.
func TestTheChoiceAmongIndependentTrialsWithoutSkillIsACoin(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(21, 3))
	var sum float64
	const rounds = 60
	for range rounds {
		trials := make([][]float64, 20)
		for i := range trials {
			trials[i] = make([]float64, 320)
			for j := range trials[i] {
				trials[i][j] = random.NormFloat64()
			}
		}
		sum += overfitting(t, trials, 8).Probability
	}
	near(t, "the mean probability", sum/rounds, 0.5, 0.1)
}

// The same by the words of the paper: rows are put together, ratios are computed from them, and the logit of the rank is counted.
func TestOverfittingEqualsThePlainComputation(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(21, 4))
	trials := study(random, 43, 0, 1, 2, 0.5, -1) // the oldest 3 periods fill no block
	got := overfitting(t, trials, 4)
	var below, losses, splits float64
	for _, in := range [][]int{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}} {
		first, second := make([]float64, 5), make([]float64, 5)
		for i, r := range trials {
			r = r[3:]
			var a, b []float64
			for block := range 4 {
				if block == in[0] || block == in[1] {
					a = append(a, r[10*block:10*block+10]...)
				} else {
					b = append(b, r[10*block:10*block+10]...)
				}
			}
			first[i], second[i] = Measure(a).Ratio, Measure(b).Ratio
		}
		best, rank := 0, 0.0
		for i := range first {
			if first[i] > first[best] {
				best = i
			}
		}
		for _, r := range second {
			if r <= second[best] {
				rank++
			}
		}
		splits++
		if omega := rank / 6; math.Log(omega/(1-omega)) <= 0 {
			below++
		}
		if second[best] < 0 {
			losses++
		}
	}
	near(t, "the probability", got.Probability, below/splits, 1e-12)
	near(t, "the loss", got.Loss, losses/splits, 1e-12)
}

func TestTrialsWithoutVariationAreNeverChosen(t *testing.T) {
	t.Parallel()
	flat := make([]float64, 40)
	for i := range flat {
		flat[i] = 0.1 + 0.2 // a mean that is no exact number
	}
	trials := append(study(rand.New(rand.NewPCG(21, 5)), 40, 1), flat)
	if o := overfitting(t, trials, 4); o.Probability != 0 {
		t.Errorf("the only trial with a ratio is in the lower half: %+v", o)
	}
	if _, err := Overfitting([][]float64{flat, flat}, 4); err == nil {
		t.Error("trials without any ratio are taken")
	}
}

func TestOverfittingRefusesWhatItCannotJudge(t *testing.T) {
	t.Parallel()
	trials := study(rand.New(rand.NewPCG(21, 6)), 40, 0, 0)
	for what, bad := range map[string]struct {
		trials [][]float64
		blocks int
	}{
		"one trial":              {trials[:1], 4},
		"an odd number":          {trials, 5},
		"no block":               {trials, 0},
		"too many blocks":        {trials, 22},
		"blocks of one period":   {[][]float64{trials[0][:7], trials[1][:7]}, 4},
		"trials of other length": {[][]float64{trials[0], trials[1][:39]}, 4},
		"an unknown return":      {[][]float64{trials[0], append([]float64{math.NaN()}, trials[1][1:]...)}, 4},
	} {
		if _, err := Overfitting(bad.trials, bad.blocks); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}
