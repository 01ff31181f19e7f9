package picks

import (
	"math"
	"time"

	"tidemark/internal/equity"
)

// holding is a position while the portfolio runs.
type holding struct {
	Position
	// place is how many positions were bought before it.
	place int
	// value is its value, as a fraction of the portfolio at its inception.
	value float64
	// growth is the present value of one dollar at the entry; gained is the position's contribution to the portfolio.
	growth, gained float64
	// price and priced are the last close and its date.
	price  float64
	priced time.Time
	// sessions counts the sessions since the entry, silent those since the last price.
	sessions, silent int
	// tradable reports whether there is a price today.
	tradable bool
}

// mark moves a position to the close of a day.
func (s *simulation) mark(h *holding, day time.Time) {
	h.sessions++
	history := s.in.Prices[h.Holding]
	if end, ended := history.end(h.priced, day); ended {
		s.settle(h, end, day)
		return
	}
	bar, ok := history.BarOn(day)
	h.tradable = ok
	if !ok {
		h.silent++
		return
	}
	h.silent = 0
	h.move(history.growth(h.price, h.priced, bar, s.rules.Dividends))
	h.price, h.priced = bar.Close.Float(), bar.Date
}

// move multiplies the position's value.
func (h *holding) move(factor float64) {
	after := float64(h.value * factor) // rounded here: some processors fuse a product with the sum that follows
	h.gained += after - h.value
	h.value = after
	h.growth *= factor
}

// settle does what the end of a company's shares says. Their last close is that before the end.
func (s *simulation) settle(h *holding, end equity.Action, day time.Time) {
	h.tradable = false
	cashFactor := end.Cash.Float() / h.price
	if end.Kind == equity.Delisting {
		if end.Cash != "" {
			h.move(cashFactor)
		} else {
			s.lose(h, day)
		}
		s.sell(h, day, ClosedDelisted)
		return
	}
	if end.Successor == 0 {
		if end.Cash != "" {
			h.move(cashFactor)
		}
		s.sell(h, day, ClosedMerger)
		return
	}
	first, ok := s.in.Prices[end.Successor].first(end.Date, day)
	if !ok {
		// The new shares have no price yet: the position waits at its last close, and is given up like any other that has none.
		h.silent++
		return
	}
	sharesFactor := float64(end.Ratio()*first.Close.Float()) / h.price
	h.move(cashFactor + sharesFactor)
	if cashFactor > 0 {
		// The merger's cash payment goes to cash; the position's own return counts it as invested in the new shares.
		part := float64(h.value * (cashFactor / (cashFactor + sharesFactor)))
		h.value -= part
		s.cash += part
	}
	h.Holding, h.price, h.priced, h.silent, h.tradable = end.Successor, first.Close.Float(), first.Date, 0, true
	if c, known := s.in.Companies[end.Successor]; known {
		h.Name, h.Sector = c.Name, SectorOf(c.SIC)
		h.Region, h.Country = RegionOf(c.Location), CountryOf(c.Location)
	}
	if first.Date.Before(day) {
		// It had a price on an earlier day that the simulation did not read then: continue from there.
		h.sessions--
		s.mark(h, day)
	}
}

// sell closes a position at its last value. A position whose shares end is not a trade.
func (s *simulation) sell(h *holding, day time.Time, reason string) {
	if reason == ClosedHeld || reason == ClosedReplaced {
		s.traded += h.value
	}
	s.cash += h.value
	h.value, h.tradable = 0, false
	h.ExitDate, h.Reason = day, reason
}

// describe names a new position.
func (s *simulation) describe(p AnnouncedPick, day time.Time, snapshot int) Position {
	c := s.in.Companies[p.CIK]
	return Position{
		Seq: p.Seq, CIK: p.CIK, Holding: p.CIK, Name: c.Name, Sector: SectorOf(c.SIC), Region: RegionOf(c.Location),
		Country: CountryOf(c.Location), EntryDate: day, entered: snapshot,
	}
}

// benchmark moves the benchmark to the close of a day and returns its return since inception and of the day, in percent. A day without a
// bar is a day without a change.
func (s *simulation) benchmark(day time.Time) (sincePct, dailyPct float64) {
	bar, ok := s.in.Benchmark.BarOn(day)
	if len(s.out) == 0 {
		if !ok {
			s.bench = math.NaN()
		}
		s.marked = bar
		return 100 * (s.bench - 1), 100 * (s.bench - 1)
	}
	before := s.bench
	if ok && !math.IsNaN(s.bench) {
		s.bench *= s.in.Benchmark.growth(s.marked.Close.Float(), s.marked.Date, bar, s.rules.Dividends)
		s.marked = bar
	}
	return 100 * (s.bench - 1), 100 * (s.bench/before - 1)
}

// result puts the portfolio together.
func (s *simulation) result() Portfolio {
	p := Portfolio{Snapshots: s.out, Missed: s.missed, Checkpoints: s.checkpoints}
	if len(s.out) == 0 {
		return p
	}
	p.Inception, p.tally = s.inception, &s.tally
	last := s.out[len(s.out)-1].Date
	values := make([]float64, s.bought)
	for _, h := range s.held {
		values[h.place] = h.value
	}
	weights := Hundredths(append(values, s.cash))
	p.Positions = make([]Position, s.bought)
	for _, q := range s.past {
		p.Positions[q.place] = q.Position
	}
	for _, h := range s.held {
		on := last
		if !h.Open() {
			on = h.ExitDate.AddDate(0, 0, -1) // a company that ended has no ticker on the day after
		}
		h.Ticker = s.ticker(h.Holding, on)
		h.WeightPct = float64(weights[h.place]) / 100
		h.ReturnPct, h.ContributionPct, h.PricedOn = 100*(h.growth-1), 100*h.gained, h.priced
		p.Positions[h.place] = h.Position
	}
	p.CashPct = float64(weights[len(weights)-1]) / 100
	return p
}

// ticker is a company's ticker on a date, or the last it had before.
func (s *simulation) ticker(cik equity.CIK, day time.Time) string { return s.listing(cik, day).Ticker }

// listing is a company's listing on a date, or the last it had before.
func (s *simulation) listing(cik equity.CIK, day time.Time) equity.Listing {
	c := s.in.Companies[cik]
	if l, ok := c.Listing(day); ok {
		return l
	}
	var latest equity.Listing
	for _, l := range c.Listings {
		if !l.From.After(day) && (latest.Ticker == "" || l.To.After(latest.To)) {
			latest = l
		}
	}
	return latest
}
