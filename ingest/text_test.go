package ingest_test

import (
	"math"
	"testing"

	"tidemark/ingest"
)

func TestDecimalKnowsOneNothing(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"0": 0, "0.0": 0, "-0": 0, "-0.0": 0, "-0.1": -0.1, "12.50": 12.5} {
		if v, err := ingest.Decimal(text); err != nil || v != want || math.Signbit(v) != (want < 0) {
			t.Errorf("%q is %v (%v), want %v", text, v, err, want)
		}
	}
	for _, text := range []string{"", "1e3", "0x1p4", "NaN", "Inf", "1,000", "--1"} {
		if v, err := ingest.Decimal(text); err == nil {
			t.Errorf("%q is %v, and no number", text, v)
		}
	}
}
