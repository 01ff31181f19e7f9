package backtest

import (
	"math"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/picks"
)

// loss is an assumption about shares that stopped trading for reasons of performance, without a price.
type loss int

const (
	lossPublished loss = iota // picks.DelistingReturn
	lossNone                  // the last close
	lossAll
)

// Delisted says how the companies scored stopped trading, and how much the result depends on what is assumed of them.
type Delisted struct {
	// Mergers paid a known price, or reported a change of control: they count with that price, or their last close. Performance is the number of
	// the others.
	Mergers     int `json:"mergers"`
	Performance int `json:"performance"`
	// The picks' excess returns a year over the benchmark, under three assumptions about the other shares. Published: they lose 30 percent
	// (NYSE) or 55 percent (Nasdaq) after the last close, as all other figures of the result assume. The other two: they lose nothing, and
	// they lose all.
	Published Number `json:"excess_as_published_pct"`
	Nothing   Number `json:"excess_at_last_close_pct"`
	All       Number `json:"excess_at_total_loss_pct"`
}

// change is the return after the last close of shares that stopped trading on an exchange.
func (l loss) change(exchange string) float64 {
	switch l {
	case lossNone:
		return math.NaN() // sold at the last close
	case lossAll:
		return -1
	default:
		return picks.DelistingReturn(exchange)
	}
}

// ending is how a company stopped trading: after is its last close.
type ending struct {
	after    time.Time
	merger   bool
	exchange string
}

// endings finds the companies scored that stopped trading.
func (in Input) endings(days []ranked) map[equity.CIK]ending {
	all := map[equity.CIK]ending{}
	for _, d := range days {
		for _, s := range d.scores {
			h := in.Prices[s.cik]
			last, ok := h.BarAt(in.To)
			if !ok || !last.Date.Before(calendar.Add(in.To, -in.Holding.SilentDays)) {
				continue
			}
			e := ending{after: last.Date, exchange: s.exchange}
			for _, a := range h.Actions {
				// With terms it is told by the prices: cash, or shares of another company.
				if a.Kind == equity.Merger || a.Kind == equity.Delisting && a.Cash != "" {
					e.merger = true
				}
			}
			for _, f := range in.Departures[s.cik] {
				if picks.ShowsMerger(f, last.Date) {
					e.merger = true
				}
			}
			all[s.cik] = e
		}
	}
	return all
}

// lose adds the loss of shares that stopped trading to their daily returns: in the session after the last close.
func (m *market) lose(cik equity.CIK, list []float64, l loss) {
	e, ended := m.ended[cik]
	if !ended || e.merger {
		return
	}
	for i, day := range m.sessions {
		if day.After(e.after) {
			list[i] = l.change(e.exchange)
			return
		}
	}
}

// delisted measures the picks again under the other assumptions.
func (m *market) delisted(own []holding) Delisted {
	var d Delisted
	for _, e := range m.ended {
		if e.merger {
			d.Mergers++
		} else {
			d.Performance++
		}
	}
	excess := func(l loss) Number {
		for cik, e := range m.ended {
			if !e.merger {
				m.lose(cik, m.returns[cik], l)
			}
		}
		over, _, _ := m.excess(own)
		return Number(yearly(over))
	}
	d.Nothing, d.All, d.Published = excess(lossNone), excess(lossAll), excess(lossPublished) // the last is the one in force
	return d
}
