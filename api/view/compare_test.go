package view

import (
	"strings"
	"testing"

	"tidemark/picks"
)

func TestABoundShowsOnWhichSideOfZeroItIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lang         picks.Lang
		lo, hi       float64
		bounds, says string
	}{
		{"en", 0.004, 0.39, "from +0.004 to +0.39.", "does not contain zero"},
		{"en", -0.25, -0.0004, "from −0.25 to −0.0004.", "does not contain zero"},
		{"es", -0.004, 0.39, "de −0,004 a +0,39.", "contiene el cero"},
		{"pt", 0.004, 0.39, "de +0,004 a +0,39.", "não contém o zero"},
		{"hi", -0.39, 0.0049, "−0.39 से +0.005।", "शून्य शामिल है"},
		{"en", 0, 0.39, "from 0.00 to +0.39.", "contains zero"},
		{"en", 0.0051, 0.39, "from +0.01 to +0.39.", "does not contain zero"},
	} {
		told := (&Comparison{Lang: string(c.lang), Period: "week", Result: ComparisonAtLag{
			N: 100, EffectiveN: new(30.0), Correlation: new(0.2), Interval: &CorrelationInterval{0.9, c.lo, c.hi},
		}}).Sentences()
		if len(told) != 3 || !strings.HasSuffix(told[0], c.bounds) || !strings.Contains(told[2], c.says) {
			t.Errorf("%s, %v to %v: %q, want %q and %q", c.lang, c.lo, c.hi, told, c.bounds, c.says)
		}
	}
}
