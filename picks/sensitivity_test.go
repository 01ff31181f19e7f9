package picks

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// Before group scores were standardised, the share of momentum in the variance of this market's totals was far above its weight.
func TestStatedWeightsAreEffectiveWeights(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		r := Rank(synthMarket(seed, 120, day("2026-03-16")), DefaultRules())
		for _, g := range scoreGroups {
			var all []float64
			for _, s := range r.Scores {
				all = append(all, s.Groups[g])
			}
			if mean, sd := stat.MeanStdDev(all, nil); len(all) < 60 || math.Abs(mean) > 1e-9 || math.Abs(sd-1) > 1e-9 {
				t.Errorf("seed %d: the scores of %s have mean %v and standard deviation %v among %d, want 0 and 1", seed, g, mean, sd, len(all))
			}
		}
	}
}

func TestThePickOfEachOtherWeightIsNamed(t *testing.T) {
	t.Parallel()
	m := synthMarket(5, 90, day("2026-03-16"))
	r := Rank(m, DefaultRules())
	list := r.vary(m.Past, DefaultRules())
	if len(list) != 8 {
		t.Fatalf("%d variations", len(list))
	}
	for i, v := range list {
		rules := DefaultRules()
		switch v.Group {
		case Quality:
			rules.QualityWeight *= v.Factor
		case Value:
			rules.ValueWeight *= v.Factor
		case Momentum:
			rules.MomentumWeight *= v.Factor
		case Risk:
			rules.RiskWeight *= v.Factor
		}
		// Another ranking with these weights makes the same pick.
		other := Rank(m, rules)
		if other.Pick.CIK != v.CIK || v.Same != (v.CIK == r.Pick.CIK) || v.Group != scoreGroups[i/2] {
			t.Errorf("%s, same %v: the ranking picks %s", v, v.Same, other.Pick.Ticker)
		}
		if text := v.String(); !strings.HasPrefix(text, string(v.Group)+[]string{" -20 %: ", " +20 %: "}[i%2]) {
			t.Errorf("it reads %q", text)
		}
	}
	r.Pick = nil
	if got := r.vary(m.Past, DefaultRules()); got != nil {
		t.Errorf("a day without a pick has %v", got)
	}
}
