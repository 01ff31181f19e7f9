package picks

import (
	"time"

	"tidemark/internal/equity"
)

// The assumed returns of shares that left an exchange for reasons of performance, from the last close to the first price elsewhere. They
// apply if that price is unknown. Sources: Shumway (Journal of Finance 52, 1997) for the NYSE; Shumway and Warther (Journal of Finance 54,
// 1999) for Nasdaq.
const (
	delistedNYSE   = -0.30
	delistedNasdaq = -0.55
)

// DelistingReturn returns what is assumed of shares that left an exchange for reasons of performance, after their last close there.
func DelistingReturn(exchange string) float64 {
	if exchange == "XNAS" {
		return delistedNasdaq
	}
	return delistedNYSE
}

// controlDays is how far from the last close a change of control may be reported.
const controlDays = 30

// ShowsMerger reports whether a filing shows that shares whose last close is of a day ended because the company was bought.
func ShowsMerger(f equity.Filing, last time.Time) bool {
	return bought(f) && f.Filed.Sub(last).Abs() <= controlDays*24*time.Hour
}

// lose applies the return that is assumed of shares that stopped trading without a known worth. After a merger nothing is assumed.
func (s *simulation) lose(h *holding, day time.Time) {
	for _, f := range s.in.Departures[h.Holding] {
		if ShowsMerger(f, h.priced) && !f.Filed.After(day) {
			return
		}
	}
	before := h.value
	change := DelistingReturn(s.listing(h.Holding, h.priced).Exchange)
	h.move(1 + change)
	h.AssumedPct = 100 * change
	s.staked += before
	s.lost += before - h.value
}
