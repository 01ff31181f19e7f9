package picks

import (
	"testing"
	"time"

	"tidemark/internal/equity"
)

func TestClosesAreEnoughIfNineOfTenAreThere(t *testing.T) {
	t.Parallel()
	friday, monday := time.Date(2026, 3, 6, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC)
	// market has companies with closes on both sessions, on the first only, and on the second only.
	market := func(both, first, second int) Prices {
		all := Prices{}
		for n := range both + first + second {
			var h History
			if n < both+first {
				h.Bars = append(h.Bars, equity.Bar{Date: friday, Close: "1"})
			}
			if n < both || n >= both+first {
				h.Bars = append(h.Bars, equity.Bar{Date: monday, Close: "1"})
			}
			all[equity.CIK(n)] = h
		}
		return all
	}
	for _, test := range []struct {
		fact           string
		prices         Prices
		have, expected int
		enough         bool
		says           string
	}{
		{"all are there", market(10, 0, 0), 10, 10, true, "10 of 10 closing prices of 2026-03-09 are there"},
		{"one of ten is missing", market(9, 1, 0), 9, 10, true, "9 of 10 closing prices of 2026-03-09 are there"},
		{"two of ten are missing", market(8, 2, 0), 8, 10, false, "8 of 10 closing prices of 2026-03-09 are there"},
		{"a new company replaces no other", market(8, 2, 5), 8, 10, false, "8 of 10 closing prices of 2026-03-09 are there"},
		{"none is there", market(0, 3, 0), 0, 3, false, "0 of 3 closing prices of 2026-03-09 are there"},
		{
			"nothing is known",
			Prices{},
			0, 0, false,
			"no company has a closing price of 2026-03-09 or of the session before (`tidemark help settings` lists the sources of prices)",
		},
	} {
		t.Run(test.fact, func(t *testing.T) {
			t.Parallel()
			c := ClosesOf(test.prices, monday)
			if c.Have != test.have || c.Expected != test.expected || len(c.Missing) != test.expected-test.have || c.Enough() != test.enough {
				t.Errorf("%+v, enough %t; want %d of %d, enough %t", c, c.Enough(), test.have, test.expected, test.enough)
			}
			if says := c.Describe(nil); says != test.says {
				t.Errorf("%q, want %q", says, test.says)
			}
		})
	}
}
