package synth

import (
	"math"
	"sort"
	"sync"
	"time"
)

// Session is one day's trading in a company's shares, in dollars for the shares as they were that day. A publisher leaves out the
// weekdays on which its exchange is closed.
type Session struct {
	Day                    time.Time
	Open, High, Low, Close float64
	Volume                 int64
}

// Split makes New shares of Old ones before the opening of Day.
type Split struct {
	Day      time.Time
	New, Old int
}

// Dividend pays Cash, in dollars, for each share as it is on Day, the first day of trading without it.
type Dividend struct {
	Day  time.Time
	Cash float64
}

// The rules for a company's splits. If the first price of a month is above the first bound, or below the second, it announces a split, and
// splits three weeks later.
const (
	splitAbove, splitBelow = 170.0, 8.0
	splitNotice            = 21
)

// history is the price history of a company's shares, as far as it was requested.
type history struct {
	company *Company
	price   *Series // of a share of the first day
	noises  [4]Noise

	mu        sync.Mutex
	done      int // points of price that are worked in
	factor    float64
	coming    Split
	yearly    float64 // dividends of a year, for a share of the first day
	before    float64 // the close before, likewise
	sessions  []Session
	splits    []Split
	dividends []Dividend
}

// newHistory draws the shares of a company: its own walk in addition to the common tide, and the company's growth.
func newHistory(w World, c *Company, tide *Series, price float64) *history {
	name := "shares " + c.tickers[0] + c.fund
	reversion, growth := 0.003, c.business.growth
	if fair := w.Prices == Fair || w.Prices == Planted; fair && c.tickers[0] != "" {
		const weekdays = 261 // in a year
		reversion, growth = 0, fairGrowth-c.business.volatility*c.business.volatility/2*weekdays
		if w.Prices == Planted {
			growth += plantedGrowth * marginTilt(w, c)
		}
	}
	own := w.Series(Process{
		Name: name, Calendar: Weekdays(FirstDay), Decimals: -1, Mean: price, Reversion: reversion, Volatility: c.business.volatility, Log: true,
	})
	h := &history{company: c, factor: 1}
	if c.business.yield > 0 {
		h.yearly = c.business.yield * price
	}
	pull := 0.7 + 0.6*w.Noise(name+" pull").Uniform(FirstDay)
	if c.tickers[0] == "" { // the fund
		pull = 1
	}
	h.price = Combine(func(day time.Time, v []float64) float64 {
		return v[0] * math.Pow(v[1], pull) * trend(growth, day)
	}, own, tide)
	for i, part := range []string{" open", " range", " volume", " payer"} {
		h.noises[i] = w.Noise(name + part)
	}
	if h.noises[3].Chance(FirstDay, 0.3) && c.tickers[0] != "" { // three in ten pay nothing
		h.yearly = 0
	}
	return h
}

// Sessions returns every weekday's trading up to a day, ascending. The slice is shared and must not be changed.
func (c *Company) Sessions(until time.Time) []Session {
	h := c.history
	h.mu.Lock()
	defer h.mu.Unlock()
	h.grow(until)
	n := sort.Search(len(h.sessions), func(i int) bool { return h.sessions[i].Day.After(until) })
	return h.sessions[:n:n]
}

// Splits returns the splits up to a day, ascending. The slice is shared and must not be changed.
func (c *Company) Splits(until time.Time) []Split {
	h := c.history
	h.mu.Lock()
	defer h.mu.Unlock()
	h.grow(until)
	n := sort.Search(len(h.splits), func(i int) bool { return h.splits[i].Day.After(until) })
	return h.splits[:n:n]
}

// Dividends returns the dividends up to a day, ascending. The slice is shared and must not be changed.
func (c *Company) Dividends(until time.Time) []Dividend {
	h := c.history
	h.mu.Lock()
	defer h.mu.Unlock()
	h.grow(until)
	n := sort.Search(len(h.dividends), func(i int) bool { return h.dividends[i].Day.After(until) })
	return h.dividends[:n:n]
}

// grow works in the days up to until. It is called with mu held.
func (h *history) grow(until time.Time) {
	if end := h.company.Ended; !end.IsZero() && until.After(end) {
		until = end
	}
	points := h.price.Until(until)
	for ; h.done < len(points); h.done++ {
		p := points[h.done]
		if p.At.Before(h.company.Listed) {
			h.before = p.Value
			continue
		}
		h.day(p)
		h.before = p.Value
	}
}

// day works in one day.
func (h *history) day(p Point) {
	if h.coming.Day.Equal(p.At) {
		h.splits = append(h.splits, h.coming)
		h.factor *= float64(h.coming.New) / float64(h.coming.Old)
	}
	first := len(h.sessions) == 0 || h.sessions[len(h.sessions)-1].Day.Month() != p.At.Month()
	fund := h.company.tickers[0] == ""
	if raw := p.Value / h.factor; first && !fund && !h.coming.Day.After(p.At) && (raw > splitAbove || raw < splitBelow) {
		h.coming = Split{Day: p.At.AddDate(0, 0, splitNotice), New: 1, Old: 10}
		if raw > splitAbove {
			h.coming.New, h.coming.Old = splitOf(raw), 1
		}
	}
	if first && p.At.Month() == time.January && h.yearly > 0 {
		h.yearly = h.company.business.yield * p.Value
	}
	// On a Friday in the middle of each quarter's second month.
	if h.yearly > 0 && p.At.Weekday() == time.Friday && int(p.At.Month())%3 == 2 && p.At.Day() > 7 && p.At.Day() <= 14 {
		if cash := Round(h.yearly/4/h.factor, 2); cash > 0 {
			h.dividends = append(h.dividends, Dividend{p.At, cash})
		}
	}
	h.sessions = append(h.sessions, h.session(p))
}

// splitOf is how many shares are made of one at a price.
func splitOf(price float64) int {
	for _, n := range []int{2, 3, 4, 5} {
		if price/float64(n) < 90 {
			return n
		}
	}
	return 10
}

func (h *history) session(p Point) Session {
	round := func(v float64) float64 {
		if v < 1 {
			return max(Round(v, 4), 0.0001)
		}
		return Round(v, 2)
	}
	before := h.before
	if before == 0 {
		before = p.Value
	}
	swing := h.company.business.volatility + 0.005
	s := Session{Day: p.At, Close: round(p.Value / h.factor)}
	s.Open = round(before / h.factor * math.Exp(0.4*swing*h.noises[0].Normal(p.At)))
	reach := swing * (0.1 + 0.8*h.noises[1].Uniform(p.At))
	s.High = round(max(s.Open, s.Close) * (1 + reach))
	s.Low = round(min(s.Open, s.Close) * (1 - reach))
	s.Volume = int64(h.company.shares * h.factor * 0.004 * math.Exp(0.35*h.noises[2].Normal(p.At)))
	return s
}

// Shares is how many shares there are on a day for one of the first day: what the splits so far have made of it.
func (c *Company) Shares(day time.Time) float64 {
	factor := 1.0
	for _, s := range c.Splits(day) {
		factor *= float64(s.New) / float64(s.Old)
	}
	return factor
}
