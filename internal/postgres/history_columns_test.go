package postgres

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRoundedWithoutATextIsTheSame compares the two ways to round: numbers of every size, those of few digits, and those beside a half of
// the twelfth digit and beside powers of ten.
func TestRoundedWithoutATextIsTheSame(t *testing.T) {
	t.Parallel()
	numbers := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1, 16.207999999999988, 123456789012.5, 1e22}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		f := r.Float64() * math.Pow(10, float64(r.IntN(40)-20))
		few := math.Round(f*1000) / 1000
		half := (math.Floor(r.Float64()*1e12) + 0.5) / math.Pow(10, float64(r.IntN(20)))
		power := math.Pow(10, float64(r.IntN(30)-15))
		for _, f := range []float64{f, few, half, power} {
			numbers = append(numbers, f, -f, math.Nextafter(f, 0), math.Nextafter(f, math.Inf(1)))
		}
	}
	fast := 0
	for _, f := range numbers {
		if _, ok := roundedFast(f); ok {
			fast++
		}
		if want, got := rounded(f, ServedDigits), Rounded(f); math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%v is rounded to %v, want %v", f, got, want)
		}
	}
	if fast < len(numbers)/3 {
		t.Errorf("%d of %d numbers are rounded without a text", fast, len(numbers))
	}
}
