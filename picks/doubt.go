package picks

import (
	"math"

	"tidemark/internal/equity"
)

// Doubt is an open position whose close of the portfolio's last session two publishers state differently.
type Doubt struct {
	Seq          int
	Close, Other equity.Price
	// Source is the publisher of Other.
	Source string
}

// Doubted returns the open positions whose close of the last session is in doubt, by a second publisher's closes of that day.
func (p Portfolio) Doubted(prices Prices, second map[equity.CIK]SecondClose, tolerance float64) []Doubt {
	if len(p.Snapshots) == 0 {
		return nil
	}
	last := p.Snapshots[len(p.Snapshots)-1].Date
	var list []Doubt
	for _, q := range p.Positions {
		bar, traded := prices[q.Holding].BarOn(last)
		if other := second[q.Holding]; q.Open() && traded && other.Disputes(bar.Close, tolerance) != "" {
			list = append(list, Doubt{q.Seq, bar.Close, other.Close, other.Source})
		}
	}
	return list
}

// statesNoDividends are the publishers of prices that state no dividends.
var statesNoDividends = map[string]bool{"nasdaq": true}

// quietDays is longer than the time between two dividends of the benchmark, which pays every quarter.
const quietDays = 130

// TotalReturn reports whether returns of all these histories count dividends. They do not if a publisher of one of them states no
// dividends. They do not either if the benchmark, which pays every quarter, has none for longer than that: an operator's own files may lack
// dividends.
func TotalReturn(benchmark History, all Prices) bool {
	for _, h := range all {
		if !h.CountsDividends() {
			return false
		}
	}
	if !benchmark.CountsDividends() {
		return false
	}
	if len(benchmark.Bars) == 0 {
		return true
	}
	since, longest := benchmark.Bars[0].Date, 0.0
	for _, a := range benchmark.Actions {
		if a.Kind == equity.Dividend && a.Date.After(since) {
			longest, since = math.Max(longest, a.Date.Sub(since).Hours()/24), a.Date
		}
	}
	longest = math.Max(longest, benchmark.Bars[len(benchmark.Bars)-1].Date.Sub(since).Hours()/24)
	return longest <= quietDays
}

// CountsDividends reports whether the publishers of all closes state dividends, too.
func (h History) CountsDividends() bool {
	for _, b := range h.Bars {
		if statesNoDividends[b.Source] {
			return false
		}
	}
	return true
}
