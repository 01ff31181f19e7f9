package picks

import (
	"math"
	"slices"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
)

// simulation is the state between two closes. Values are fractions of the portfolio's value at its inception.
type simulation struct {
	in      PortfolioInput
	rules   PortfolioRules
	pending []AnnouncedPick
	held    []*holding // open and closed, in the order of buying
	past    []former   // closed before the simulation began
	bought  int        // how many there ever were
	missed  []AnnouncedPick
	cash    float64
	peak    float64
	bench   float64
	marked  equity.Bar // the benchmark's last bar
	out     []Snapshot
	traded  float64 // bought and sold at the close of the session
	// staked is the worth of the held shares that stopped trading in the session without a known worth; lost is the part that is assumed to
	// be lost.
	staked, lost float64

	inception   time.Time
	tally       Tally
	checkpoints []Checkpoint
	recent      time.Time // the first of the newest sessions with stored checkpoints
}

// step is one session.
func (s *simulation) step(day time.Time) {
	s.traded, s.staked, s.lost = 0, 0, 0
	for _, h := range s.open() {
		s.mark(h, day)
	}
	for _, h := range s.open() {
		switch {
		case s.departs(h, day):
		case h.silent >= s.rules.SilentDays:
			if end, ended := s.in.Prices[h.Holding].end(h.priced, day); !ended || end.Kind != equity.Merger {
				s.lose(h, day)
			}
			s.sell(h, day, ClosedSilent)
		case h.tradable && h.sessions >= s.rules.HoldingDays:
			s.sell(h, day, ClosedHeld)
		}
	}
	s.enter(day)
	if s.bought == 0 {
		return // before the inception
	}
	if len(s.out) > 0 && s.out[len(s.out)-1].Date.Month() != day.Month() {
		s.rebalance()
	}
	s.record(day)
}

// departs closes a position without a price for some sessions, if its company has filed that its shares leave the exchange. A position
// that waits for the first price of the shares from a merger continues to wait.
func (s *simulation) departs(h *holding, day time.Time) bool {
	if h.silent < s.rules.DepartedDays {
		return false
	}
	if _, ended := s.in.Prices[h.Holding].end(h.priced, day); ended {
		return false
	}
	reason, ok := departed(s.in.Departures[h.Holding], h.priced, day)
	if ok {
		if reason == ClosedDelisted {
			s.lose(h, day)
		}
		s.sell(h, day, reason)
	}
	return ok
}

// open lists the open positions, oldest first.
func (s *simulation) open() []*holding {
	var open []*holding
	for _, h := range s.held {
		if h.Open() {
			open = append(open, h)
		}
	}
	return open
}

// worth is the value of everything.
func (s *simulation) worth() float64 {
	total := s.cash
	for _, h := range s.open() {
		total += h.value
	}
	return total
}

// enter buys the due picks: picks of an earlier day, as soon as they have a price. The first possible time is the close of the session
// after the pick's.
func (s *simulation) enter(day time.Time) {
	var later []AnnouncedPick
	for i, p := range s.pending {
		if !p.Date.Before(day) {
			later = append(later, s.pending[i:]...) // they ascend by date
			break
		}
		switch {
		case s.renew(p, day):
		case s.buy(p, day):
		case !day.Before(calendar.Add(p.Date, 1+s.rules.SilentDays)):
			s.missed = append(s.missed, p)
		default:
			later = append(later, p)
		}
	}
	s.pending = later
}

// renew starts the holding period of a position again, if the company is held already.
func (s *simulation) renew(p AnnouncedPick, day time.Time) bool {
	for _, h := range s.open() {
		if h.Holding == p.CIK && !h.EntryDate.Equal(day) {
			h.sessions = 0
			return true
		}
	}
	return false
}

// buy opens a position, if the company has a price on the day. It gets the weight of equal positions, at most MaxWeight. Cash pays first;
// the rest is sold from all other positions in proportion.
func (s *simulation) buy(p AnnouncedPick, day time.Time) bool {
	bar, ok := s.in.Prices[p.CIK].BarOn(day)
	if _, ended := s.in.Prices[p.CIK].end(p.Date, day); !ok || ended {
		return false
	}
	if open := s.open(); len(open) >= s.rules.MaxPositions {
		oldest := slices.IndexFunc(open, func(h *holding) bool { return h.tradable })
		if oldest < 0 {
			return false
		}
		s.sell(open[oldest], day, ClosedReplaced)
	}
	amount := float64(s.worth() * s.weight(len(s.open())+1))
	if lack := amount - s.cash; lack > 0 {
		s.raise(lack)
	}
	amount = min(amount, s.cash)
	s.cash -= amount
	s.traded += amount
	s.held = append(s.held, &holding{
		Position: s.describe(p, day, len(s.out)), place: s.bought, value: amount, growth: 1, price: bar.Close.Float(), priced: bar.Date, tradable: true,
	})
	s.bought++
	return true
}

// weight is the target of each of n positions.
func (s *simulation) weight(n int) float64 { return min(1/float64(n), s.rules.MaxWeight) }

// raise sells from all positions that trade, in proportion, until the cash has grown by an amount or nothing is left.
func (s *simulation) raise(amount float64) {
	total := 0.0
	for _, h := range s.open() {
		if h.tradable {
			total += h.value
		}
	}
	if !(total > 0) {
		return
	}
	share := min(amount/total, 1)
	for _, h := range s.open() {
		if h.tradable {
			part := float64(h.value * share)
			h.value -= part
			s.cash += part
			s.traded += part
		}
	}
}

// rebalance sets all trading positions to one weight; the others keep their values.
func (s *simulation) rebalance() {
	open, total, n := s.open(), s.cash, 0.0
	for _, h := range open {
		if h.tradable {
			total += h.value
			n++
		}
	}
	if n == 0 {
		return
	}
	each := min(float64(s.worth()*s.weight(len(open))), total/n)
	s.cash = total
	for _, h := range open {
		if h.tradable {
			s.traded += math.Abs(h.value - each)
			h.value = each
			s.cash -= each
		}
	}
	s.cash = max(s.cash, 0) // the last bit of a difference
}

// record takes the snapshot of a day.
func (s *simulation) record(day time.Time) {
	worth := s.worth()
	snap := Snapshot{Date: day, ReturnPct: 100 * (worth - 1), Positions: len(s.open()), CashPct: 100 * s.cash / worth, TradedPct: 100 * s.traded / worth}
	s.peak = max(s.peak, worth)
	snap.DrawdownPct = 100 * (worth/s.peak - 1)
	before := 1.0
	if n := len(s.out); n > 0 {
		before = 1 + s.out[n-1].ReturnPct/100
	}
	snap.DailyReturnPct = 100 * (worth/before - 1)
	snap.StakedPct, snap.LostPct = 100*s.staked/before, 100*s.lost/before
	snap.BenchmarkReturnPct, snap.BenchmarkDailyReturnPct = s.benchmark(day)
	for _, h := range s.held {
		h.contributed = append(h.contributed, 100*h.gained)
	}
	if len(s.out) == 0 {
		s.inception = day
	}
	s.tally.add(snap)
	s.out = append(s.out, snap)
}
