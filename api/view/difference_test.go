package view

import (
	"math"
	"testing"
)

// A reader who subtracts the numbers that a page shows finds the difference that it shows.
func TestADifferenceIsThatOfTheNumbersShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want float64 }{
		{4.4049, 4.0651, 0.33}, // shown as 4.40 and 4.07; the difference alone would be 0.34
		{-1.006, 2, -3.01}, {0.004, -0.004, 0},
	} {
		if got := shownDifference(&c.a, &c.b); got == nil || math.Abs(*got-c.want) > 1e-9 {
			t.Errorf("%g less %g is shown as %v, want %g", c.a, c.b, got, c.want)
		}
	}
	if shownDifference(new(1.0), nil) != nil || shownDifference(nil, new(1.0)) != nil {
		t.Error("a difference from an unknown number is known")
	}
}
