package accounts

import (
	"fmt"
	"strconv"
	"strings"
)

// Micros is an amount in millionths of a US dollar, which matches the six decimals of the stablecoin. It may be negative.
type Micros int64

// PerDollar is one dollar.
const PerDollar Micros = 1_000_000

// String returns the exact amount in dollars, with two decimals or as many more as it needs: "0.20", "0.005", "-5.00".
func (m Micros) String() string {
	s := m.Shortest()
	_, decimals, found := strings.Cut(s, ".")
	switch {
	case !found:
		return s + ".00"
	case len(decimals) == 1:
		return s + "0"
	}
	return s
}

// Shortest returns the exact amount with no more decimals than it needs: "0.2", "0.005", "5", "0".
func (m Micros) Shortest() string {
	sign, whole, part := "", uint64(m), uint64(0)
	if m < 0 {
		sign, whole = "-", -whole // two's complement: the minimum value has no positive counterpart, but its bits are right
	}
	whole, part = whole/uint64(PerDollar), whole%uint64(PerDollar)
	s := sign + strconv.FormatUint(whole, 10)
	if part == 0 {
		return s
	}
	return s + "." + strings.TrimRight(fmt.Sprintf("%06d", part), "0")
}

// maxWhole is the maximum number of digits before the decimal point. It exceeds all the money in the world and does not overflow.
const maxWhole = 12

// ParseMicros parses a plain decimal of dollars with at most six decimals: "5", "0.20", "0.000001". It accepts no sign, exponent or blank.
func ParseMicros(s string) (Micros, error) {
	whole, decimals, found := strings.Cut(s, ".")
	if !digits(whole) || len(whole) > maxWhole || found && (!digits(decimals) || len(decimals) > 6) {
		return 0, fmt.Errorf("%q is not an amount: digits, and at most six decimals after a point", s)
	}
	n, err := strconv.ParseInt(whole+decimals+"000000"[len(decimals):], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not an amount: %w", s, err)
	}
	return Micros(n), nil
}

func digits(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}
