package synth

import (
	"math"
	"time"
)

// Books is how a company reports.
type Books string

// The kinds of books.
const (
	// Commercial books have sales, costs and a balance sheet by terms; Financial books, of banks and insurers, do not.
	Commercial Books = "commercial"
	Financial  Books = "financial"
	// Foreign books follow the international standards, once a year and in euros.
	Foreign Books = "foreign"
	// Unreported books are of a company that is not required to state figures in machine-readable form.
	Unreported Books = "unreported"
)

// Prices names the rule that the prices of the market's shares follow.
type Prices string

// The kinds of prices.
const (
	// Drawn prices return slowly to a level that grows with the company's business, so the past tells something about the future.
	Drawn Prices = "drawn"
	// Fair prices are walks without memory: every share is expected to gain as much, and no figure says which gains more.
	Fair Prices = "fair"
	// Planted prices are fair but for one effect: a company with a higher margin than its business gains more and grows faster, for good.
	Planted Prices = "planted"
)

const (
	// fairGrowth is the expected growth of fair prices in a year.
	fairGrowth = 0.05
	// plantedGrowth is added to it, and to the growth of the sales, for a margin one standard deviation above its business.
	plantedGrowth = 0.20
)

// Market is a stock market of invented companies. Everything follows from the world's seed; it is drawn as far as it is asked for.
// Methods may be called from any number of goroutines.
type Market struct {
	// Companies are the invented companies, in the order in which they are listed.
	Companies []*Company
	// Fund is a fund that holds the market. It has shares and no books.
	Fund *Company
	// EqualFund is a fund that holds it at equal weight.
	EqualFund *Company
}

// Funds are Fund and EqualFund.
func (m *Market) Funds() []*Company { return []*Company{m.Fund, m.EqualFund} }

// Holds reports whether a company is one of the funds.
func (m *Market) Holds(c *Company) bool { return c == m.Fund || c == m.EqualFund }

// Company is one invented company.
type Company struct {
	// CIK lies far above every number that was ever given.
	CIK int64
	// Name ends in "(synthetic)".
	Name     string
	Exchange string
	SIC      int
	Industry string
	// Location is EDGAR's code of the state or country.
	Location string
	YearEnd  time.Month
	Books    Books
	// Listed is the first day of trading; zero: since before the market's first day. Ended is the last one; zero: none is in sight.
	Listed, Ended time.Time
	// Renamed is the first day under the second ticker; zero: it keeps the first.
	Renamed time.Time

	tickers  [2]string
	fund     string // the name of a fund but the first, which has no ticker
	business business
	shares   float64 // of the first day, before any split
	history  *history
	ledger   *books
}

// FirstDay is the first day of the market's prices, a Monday.
var FirstDay = time.Date(2018, 1, 1, 0, 0, 0, 0, time.UTC)

const firstCIK = 9_900_000_001

// Market draws the market.
func (w World) Market() *Market {
	tide := w.Series(Process{
		Name: "market", Calendar: Weekdays(FirstDay), Decimals: -1, Mean: 1, Reversion: 0.002, Volatility: 0.008, Log: true,
	})
	m := &Market{}
	for i, p := range w.profiles() {
		c := &Company{
			CIK: firstCIK + int64(i), Name: p.name + " (synthetic)", Exchange: p.exchange, SIC: p.sic, Industry: p.industry,
			Location: p.location, YearEnd: time.Month(p.yearEnd), Books: p.books,
			tickers: [2]string{p.ticker + "SYN", p.later + "SYN"}, business: p.business, shares: p.shares * 1e6,
		}
		c.draw(w)
		c.history = newHistory(w, c, tide, p.price)
		c.ledger = newLedger(w, c, p.price)
		m.Companies = append(m.Companies, c)
	}
	m.Fund = &Company{
		Name: "Whole Market Fund (synthetic)", Exchange: nyse, business: business{growth: 0.05, yield: 0.014, volatility: 0.0005}, shares: 9e8,
	}
	m.Fund.history = newHistory(w, m.Fund, tide, 265)
	m.EqualFund = &Company{
		Name: "Equal Weight Fund (synthetic)", Exchange: nyse, business: business{growth: 0.05, yield: 0.016, volatility: 0.002}, shares: 3e8,
		fund: "equal weight",
	}
	m.EqualFund.history = newHistory(w, m.EqualFund, tide, 140)
	return m
}

// draw draws the events of a company's life. A fifth of the companies take another ticker at some time, an eighth disappear from the
// exchange, and a tenth came to it late.
func (c *Company) draw(w World) {
	turn := func(what string, share float64, first time.Time, years int) time.Time {
		noise := w.Noise("company " + c.tickers[0] + " " + what)
		if !noise.Chance(FirstDay, share) {
			return time.Time{}
		}
		day := first.AddDate(0, 0, int(noise.Uniform(FirstDay.AddDate(0, 0, 1))*float64(years)*365))
		for day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
			day = day.AddDate(0, 0, 1)
		}
		return day
	}
	c.Listed = turn("listed", 0.10, FirstDay.AddDate(1, 0, 0), 8)
	c.Renamed = turn("renamed", 0.20, FirstDay.AddDate(1, 0, 0), 12)
	c.Ended = turn("ended", 0.125, FirstDay.AddDate(2, 0, 0), 16)
	if !c.Ended.IsZero() && c.Ended.Before(c.Listed.AddDate(2, 0, 0)) {
		c.Ended = c.Listed.AddDate(2, 0, 0)
	}
	if c.Books == Unreported && c.Listed.IsZero() {
		c.Listed = FirstDay.AddDate(5, 1, 13)
	}
}

// Ticker is the company's ticker on a day; empty when it is not listed. A company is listed on its last day of trading.
func (c *Company) Ticker(day time.Time) string {
	switch {
	case day.Before(c.Listed), !c.Ended.IsZero() && day.After(c.Ended):
		return ""
	case !c.Renamed.IsZero() && !day.Before(c.Renamed):
		return c.tickers[1]
	}
	return c.tickers[0]
}

// years is how long a day is after the market's first, in years.
func years(day time.Time) float64 { return day.Sub(FirstDay).Hours() / 24 / 365.25 }

// trend is the value by a day of one dollar with a yearly growth.
func trend(growth float64, day time.Time) float64 { return math.Exp(growth * years(day)) }
