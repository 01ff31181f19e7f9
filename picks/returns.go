package picks

import (
	"math"
	"slices"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
)

// History is the price history of one company's shares: the raw bars and the actions on the shares, both in ascending date. Returns are
// always computed from these two. The adjusted column of a publisher is never read: its past changes at every dividend.
type History struct {
	Bars    []equity.Bar
	Actions []equity.Action
}

// Prices holds the histories of companies.
type Prices map[equity.CIK]History

// Level is the worth, at the close of a date, of one dollar put into a share at the first close of a history.
type Level struct {
	Date  time.Time
	Level float64
}

// upTo is the index of the first bar after a date.
func (h History) upTo(day time.Time) int {
	i, found := slices.BinarySearchFunc(h.Bars, day, func(b equity.Bar, t time.Time) int { return b.Date.Compare(t) })
	if found {
		i++
	}
	return i
}

// BarAt is the newest bar at or before a date, and whether there is one.
func (h History) BarAt(day time.Time) (equity.Bar, bool) {
	i := h.upTo(day)
	if i == 0 {
		return equity.Bar{}, false
	}
	return h.Bars[i-1], true
}

// BarOn is the bar of exactly a date, and whether there is one.
func (h History) BarOn(day time.Time) (equity.Bar, bool) {
	b, ok := h.BarAt(day)
	return b, ok && b.Date.Equal(day)
}

// between lists the actions that take effect after one date and at or before another.
func (h History) between(after, to time.Time) []equity.Action {
	search := func(day time.Time) int {
		i, _ := slices.BinarySearchFunc(h.Actions, day, func(a equity.Action, t time.Time) int {
			if a.Date.After(t) {
				return 1
			}
			return -1
		})
		return i
	}
	return h.Actions[search(after):search(to)]
}

// growth is the growth factor of an investment from the close price from, of the date after, to the close of bar. Splits multiply the
// shares; shares of another company that a spin-off gives count as reinvested. A dividend is reinvested at the close of the first bar on or
// after its date (the convention of CRSP's total return); dividends are left out for a price return. Of several actions between two bars
// the earlier is applied first. On one date splits come before dividends, since a dividend is stated for the new shares.
func (h History) growth(from float64, after time.Time, bar equity.Bar, dividends bool) float64 {
	if !(from > 0) {
		return 1
	}
	shares, cash := 1.0, 0.0
	actions := h.between(after, bar.Date)
	for i := 0; i < len(actions); {
		date := actions[i].Date
		j := i
		for ; j < len(actions) && actions[j].Date.Equal(date); j++ {
			if actions[j].Scales() {
				shares *= actions[j].Ratio()
			}
		}
		for ; i < j; i++ {
			if dividends && actions[i].Kind == equity.Dividend {
				cash += float64(shares * actions[i].Cash.Float())
			}
		}
	}
	return (float64(shares*bar.Close.Float()) + cash) / from
}

// Levels is the adjusted series up to a date: 1 at the first bar, total return where dividends are counted, else price return.
func (h History) Levels(to time.Time, dividends bool) []Level {
	bars := h.Bars[:h.upTo(to)]
	levels := make([]Level, len(bars))
	for i, b := range bars {
		levels[i] = Level{b.Date, 1}
		if i > 0 {
			levels[i].Level = levels[i-1].Level * h.growth(bars[i-1].Close.Float(), bars[i-1].Date, b, dividends)
		}
	}
	return levels
}

// levelAt is the level of the newest date at or before a day, NaN before the first.
func levelAt(levels []Level, day time.Time) float64 {
	i, found := slices.BinarySearchFunc(levels, day, func(l Level, t time.Time) int { return l.Date.Compare(t) })
	if !found {
		i--
	}
	if i < 0 {
		return math.NaN()
	}
	return levels[i].Level
}

// Return is the result of an investment.
type Return struct {
	// Pct is the change in percent, not rounded.
	Pct float64
	// LastPrice is the newest close, of LastDate, of the shares held at the end: the company's own or, after a merger, the successor's.
	LastPrice equity.Price
	LastDate  time.Time
	// Ended reports whether the shares no longer trade: the return no longer changes, except for the shares that a merger gave.
	Ended bool
}

// ReturnSince returns the return, including splits and dividends, of a share bought at a price at the close of a date, up to another
// date. If no later bar is known, the price is the last one and the return zero. A merger pays its cash and continues with the shares it
// gives. A delisting ends at the cash value of a share, or at the last close if that is unknown.
func (p Prices) ReturnSince(cik equity.CIK, price equity.Price, date, to time.Time) Return {
	r := Return{LastPrice: price, LastDate: date}
	r.Pct = 100 * (p.follow(cik, price.Float(), to, &r, 0, func(time.Time, float64) {}) - 1)
	return r
}

// Path returns the worth of one dollar at each close after an investment. ReturnSince returns the last of these. Sessions without a close
// have no level. The path ends with the shares.
func (p Prices) Path(cik equity.CIK, price equity.Price, date, to time.Time) []Level {
	var path []Level
	r := Return{LastPrice: price, LastDate: date}
	p.follow(cik, price.Float(), to, &r, 0, func(day time.Time, level float64) { path = append(path, Level{day, level}) })
	return path
}

// Entry returns the bar at whose close a reader of a pick could first buy the shares. That is the first bar after the day whose close the
// announcement followed. The result is false before that close, and if the shares ended before it. It is also false if they have no price
// up to the session at which the rules leave a pick out.
func (p Prices) Entry(cik equity.CIK, after time.Time, rules PortfolioRules) (equity.Bar, bool) {
	h := p[cik]
	bar, ok := h.first(after.AddDate(0, 0, 1), calendar.Add(after, 1+rules.SilentDays))
	if !ok {
		return equity.Bar{}, false
	}
	_, ended := h.end(after, bar.Date)
	return bar, !ended
}

// maxMergers bounds the chain of successors, so that a loop in the records cannot hang.
const maxMergers = 8

// follow is the growth factor of an investment from the close price from, of r.LastDate, up to a date. It updates r's last price, and calls
// seen with the growth at each close.
func (p Prices) follow(cik equity.CIK, from float64, to time.Time, r *Return, mergers int, seen func(day time.Time, growth float64)) float64 {
	h, factor := p[cik], 1.0
	end, ended := h.end(r.LastDate, to)
	for _, b := range h.Bars[h.upTo(r.LastDate):h.upTo(to)] {
		if ended && !b.Date.Before(end.Date) {
			break
		}
		factor *= h.growth(from, r.LastDate, b, true)
		from, r.LastPrice, r.LastDate = b.Close.Float(), b.Close, b.Date
		seen(b.Date, factor)
	}
	if !ended || !(from > 0) {
		return factor
	}
	r.Ended = true
	cashPart := end.Cash.Float() / from
	if end.Kind == equity.Delisting {
		return paidOut(factor, cashPart, end, seen)
	}
	first, ok := p[end.Successor].first(end.Date, to)
	if end.Successor == 0 || !ok || mergers >= maxMergers {
		return paidOut(factor, cashPart, end, seen)
	}
	sharesPart := float64(end.Ratio()*first.Close.Float()) / from
	r.LastPrice, r.LastDate = first.Close, first.Date
	seen(first.Date, factor*(cashPart+sharesPart))
	return factor * (cashPart + float64(sharesPart*p.follow(end.Successor, first.Close.Float(), to, r, mergers+1, func(day time.Time, growth float64) {
		seen(day, factor*(cashPart+float64(sharesPart*growth)))
	})))
}

// paidOut is the growth factor of shares that ended for cash: at the last close if the amount is unknown.
func paidOut(factor, cashPart float64, end equity.Action, seen func(day time.Time, growth float64)) float64 {
	if end.Cash == "" {
		return factor
	}
	seen(end.Date, factor*cashPart)
	return factor * cashPart
}

// end is the merger or delisting that took effect after one date and at or before another, and whether there was one.
func (h History) end(after, to time.Time) (equity.Action, bool) {
	for _, a := range h.between(after, to) {
		if a.Kind == equity.Merger || a.Kind == equity.Delisting {
			return a, true
		}
	}
	return equity.Action{}, false
}

// first is the first bar at or after one date and at or before another, and whether there is one.
func (h History) first(from, to time.Time) (equity.Bar, bool) {
	i := h.upTo(from.AddDate(0, 0, -1))
	if i == len(h.Bars) || h.Bars[i].Date.After(to) {
		return equity.Bar{}, false
	}
	return h.Bars[i], true
}

// Round2 rounds a percentage to two decimals as it is shown, halves away from zero; NaN stays NaN.
func Round2(pct float64) float64 {
	r := math.Round(pct*100) / 100
	if r == 0 {
		return 0 // never minus zero
	}
	return r
}
