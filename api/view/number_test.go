package view

import (
	"math"
	"testing"
)

func TestServedNumbersHaveNoNoise(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		16.207999999999988: "16.208", 26.479999999999997: "26.48", 0.1 + 0.2: "0.3", 421140: "421140", 0: "0", -36.98: "-36.98", 100: "100",
		1.0 / 3: "0.333333333333", 123456789012.25: "123456789012", 0.00001: "1e-05", 1e15: "1e+15", math.MaxFloat64: "1.79769313486e+308",
	} {
		if got := string(appendNumber(nil, v, "null")); got != want {
			t.Errorf("%v is served as %s, want %s", v, got, want)
		}
	}
	if got := string(appendNumber(nil, math.NaN(), "null")); got != "null" {
		t.Errorf("an unknown number is served as %s", got)
	}
	if got := served(new(16.207999999999988)); *got != 16.208 {
		t.Errorf("a snapshot has %v", *got)
	}
	if served(new(math.Inf(1))) != nil || served(nil) != nil {
		t.Error("what JSON cannot say is served")
	}
}
