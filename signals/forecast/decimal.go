package forecast

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strings"
)

// Decimal is a number in its recorded form: a fixed number of decimals, no exponent, no negative zero. It never rounds, so that every
// computation with it gives the same digits.
type Decimal string

var decimalForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// NewDecimal rounds x, half to even of its exact binary value, to a number of decimals.
func NewDecimal(x float64, decimals int) (Decimal, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "", fmt.Errorf("%g is not a decimal number", x)
	}
	return decimalOf(new(big.Rat).SetFloat64(x), decimals), nil
}

// decimalOf rounds half to even: big.Rat's own text rounds half away from zero.
func decimalOf(r *big.Rat, decimals int) Decimal {
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	scaled := new(big.Rat).Mul(r, new(big.Rat).SetInt(ten))
	twice := new(big.Int).Mul(scaled.Num(), big.NewInt(2))
	twice.Add(twice, scaled.Denom())
	whole, rest := new(big.Int).DivMod(twice, new(big.Int).Mul(scaled.Denom(), big.NewInt(2)), new(big.Int)) // floor(x + 1/2)
	if rest.Sign() == 0 && whole.Bit(0) == 1 {                                                               // exactly between two
		whole.Sub(whole, big.NewInt(1))
	}
	text := new(big.Rat).SetFrac(whole, ten).FloatString(decimals)
	if whole.Sign() == 0 {
		text = strings.TrimPrefix(text, "-")
	}
	return Decimal(text)
}

// rat is the exact number.
func (d Decimal) rat() (*big.Rat, error) {
	if !decimalForm.MatchString(string(d)) {
		return nil, fmt.Errorf("%q is not a decimal number", string(d))
	}
	r, ok := new(big.Rat).SetString(string(d))
	if !ok {
		return nil, fmt.Errorf("%q is not a decimal number", string(d))
	}
	return r, nil
}

// Float is the number as the nearest binary one; NaN if it is not valid.
func (d Decimal) Float() float64 {
	r, err := d.rat()
	if err != nil {
		return math.NaN()
	}
	f, _ := r.Float64()
	return f
}

// exactDecimal writes a number whose denominator has only twos and fives, with all its decimals and at least one.
func exactDecimal(r *big.Rat) (Decimal, error) {
	for decimals := 1; decimals <= 64; decimals++ {
		d := decimalOf(r, decimals)
		if back, err := d.rat(); err == nil && back.Cmp(r) == 0 {
			return d, nil
		}
	}
	return "", fmt.Errorf("%s has no exact decimal form", r)
}
