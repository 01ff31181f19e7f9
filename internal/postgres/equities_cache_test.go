package postgres

import (
	"testing"
	"time"

	"tidemark/internal/equity"
	"tidemark/picks"
)

func TestAMarketThatIsTooLargeIsNotKept(t *testing.T) {
	t.Parallel()
	c := marketCache{limit: 3}
	at := time.Date(2026, 1, 5, 22, 0, 0, 0, time.UTC)
	k := &knownMarket{
		asOf: at, companies: map[equity.CIK]bool{1: true}, facts: map[equity.CIK][]equity.Fact{1: make([]equity.Fact, 2)},
		prices: picks.Prices{1: picks.History{Bars: make([]equity.Bar, 1)}},
	}
	c.put(k)
	if held, small := c.get(); held != k || !small {
		t.Error("three rows are not kept")
	}
	c.put(&knownMarket{asOf: at.Add(-time.Hour)})
	if held, _ := c.get(); held != k {
		t.Error("what was known earlier replaces what is known")
	}
	more := *k
	more.prices = picks.Prices{1: picks.History{Bars: make([]equity.Bar, 2)}}
	c.put(&more)
	if held, small := c.get(); len(held.companies) != 0 || small {
		t.Error("four rows are kept")
	}
}
