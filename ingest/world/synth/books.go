package synth

import (
	"math"
	"sync"
	"time"
)

// Quarter is one fiscal quarter of a company's books, in dollars (euros in Foreign books) and whole thousands. Shares are counted as on
// the market's first day, before any split.
type Quarter struct {
	// Start and End are the first and last day. FiscalYear is the year that the fiscal year ends in, Number 1 to 4.
	Start, End         time.Time
	FiscalYear, Number int

	// Over the quarter. Issued is the proceeds of new shares; Diluted the average number of shares.
	Sales, Cost, Operating, Net, CashFlow, Spending, Issued, Diluted float64
	// At its end. Financial books have no Current, Owed and DebtDue.
	Assets, Current, Owed, Debt, DebtDue, Cash, Securities, Equity, Outstanding float64
}

// firstFiscalYear is the first fiscal year of the books.
const firstFiscalYear = 2015

// books is a company's books, as far as they were asked for.
type books struct {
	company *Company
	first   time.Time
	// sales, margin, backing, frame and crowd are factors for the ratios of the business: sales, margins, cash flow over income, the
	// shares of the balance sheet, the number of shares.
	sales, margin, backing, frame, crowd *Series
	base                                 float64 // a year's sales on the market's first day
	issues                               Noise
	standing                             business

	mu       sync.Mutex
	quarters []Quarter
}

// marginTilt is by how many standard deviations the logarithm of a company's net margin differs from the margin of its business.
func marginTilt(w World, c *Company) float64 { return w.Noise(tiltName(c)).Normal(FirstDay) }

func tiltName(c *Company) string { return "books " + c.tickers[0] + " tilt" }

func newLedger(w World, c *Company, price float64) *books {
	name := "books " + c.tickers[0]
	// The fiscal year ends with its month: the first quarter begins a day later.
	first := time.Date(firstFiscalYear-1, c.YearEnd+1, 1, 0, 0, 0, 0, time.UTC)
	walk := func(what string, reversion, volatility float64) *Series {
		return w.Series(Process{
			Name: name + " " + what, Calendar: Calendar{first, func(t time.Time) time.Time { return t.AddDate(0, 3, 0) }},
			Decimals: -1, Mean: 1, Reversion: reversion, Volatility: volatility, Log: true,
		})
	}
	tilt := w.Noise(tiltName(c))
	spread := func(n int, size float64) float64 { return math.Exp(size * tilt.Normal(FirstDay.AddDate(0, 0, n))) }
	b := c.business
	b.net *= spread(0, 0.25) // see marginTilt
	b.operating *= spread(1, 0.1)
	b.gross *= min(spread(2, 0.1), 1.2)
	b.debt *= spread(3, 0.3)
	if w.Prices == Planted {
		b.gross = c.business.gross * min(math.Exp(0.2*marginTilt(w, c)), 1.2)
		b.growth += plantedGrowth * marginTilt(w, c) // else the price would run away from the books
	}
	b.growth += 0.02 * tilt.Normal(FirstDay.AddDate(0, 0, 4))
	return &books{
		company: c, first: first, base: b.sales * price * c.shares * spread(5, 0.2), standing: b, issues: w.Noise(name + " issues"),
		sales: walk("sales", 0.15, 0.03), margin: walk("margin", 0.25, 0.17), backing: walk("backing", 0.5, 0.15),
		frame: walk("frame", 0.1, 0.02), crowd: walk("crowd", 0.05, 0.004),
	}
}

// Quarters returns the fiscal quarters that ended before or on a day, ascending; none for a company without books. The slice is
// shared and must not be changed.
func (c *Company) Quarters(until time.Time) []Quarter {
	l := c.ledger
	if l == nil || c.Books == Unreported {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for ; ; n++ {
		start := l.first.AddDate(0, 3*n, 0)
		if end := start.AddDate(0, 3, -1); end.After(until) {
			break
		}
		if n == len(l.quarters) {
			l.quarters = append(l.quarters, l.quarter(start, n))
		}
	}
	return l.quarters[:n:n]
}

// quarter draws the n-th quarter.
func (l *books) quarter(start time.Time, n int) Quarter {
	at := func(s *Series) float64 { return s.Until(start)[n].Value }
	b, end := l.standing, start.AddDate(0, 3, -1)
	thousands := func(v float64) float64 { return math.Round(v/1000) * 1000 }
	q := Quarter{Start: start, End: end, FiscalYear: firstFiscalYear + n/4, Number: n%4 + 1}

	year := l.base * trend(b.growth, end)
	season := 1 + 0.06*math.Cos(math.Pi*float64(q.Number)/2) // strongest in the fourth quarter
	sales := year / 4 * at(l.sales) * season
	margin := at(l.margin)
	// A bad quarter eats up the income: margins below three quarters of their level turn into losses by half.
	net := b.net * (1 - 2.5*max(1-margin, 0) + max(margin-1, 0))
	operating := b.operating + 1.25*(net-b.net)
	q.Sales = thousands(sales)
	q.Net = thousands(sales * net)
	q.CashFlow = thousands(sales * (b.net*1.1*at(l.backing) + 0.3*(net-b.net)))
	q.Spending = thousands(sales * b.spending * (0.8 + 0.2*margin))
	crowd := at(l.crowd) * trend(-0.006, end)
	q.Outstanding = math.Round(l.company.shares*crowd/1000) * 1000
	q.Diluted = math.Round(q.Outstanding*1.012/1000) * 1000
	if l.issues.Chance(start, 0.35) {
		q.Issued = thousands(sales * 0.004)
	}
	if b.gross > 0 {
		q.Cost = thousands(sales * (1 - min(b.gross*(0.9+0.1*margin), 0.95)))
		q.Operating = thousands(sales * operating)
	}

	frame := at(l.frame)
	assets := b.assets * year * frame
	q.Assets = thousands(assets)
	q.Cash = thousands(assets * b.cash * (0.7 + 0.3*margin))
	q.Debt = thousands(assets * b.debt / frame / frame)
	q.Equity = thousands(assets * 0.09 * frame)
	if b.current > 0 {
		q.Current = thousands(assets * b.current * (0.8 + 0.2*margin))
		q.Owed = thousands(assets * b.owed / frame)
		q.DebtDue = thousands(assets * b.debt * 0.06)
		q.Securities = thousands(assets * b.cash * 0.4)
		q.Equity = thousands(assets*0.94) - q.Owed - q.Debt
	}
	return q
}
