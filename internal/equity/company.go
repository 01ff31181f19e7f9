// Package equity is the vocabulary of listed companies: who they are, what they file, what their shares cost, and what is
// written about them. It is a leaf: no I/O, no clock, nothing of this module imported. Start at Company.
//
// A date (of a bar, a filing, a period's end) is midnight UTC of that date. Dates of trading and of filings are New York's dates.
// An instant is in UTC.
package equity

import (
	"fmt"
	"time"
)

// CIK is the number under which a company files with the SEC. It is the company's identity in this module: tickers are given up,
// taken over and given again, the CIK stays. Zero is no company.
type CIK int64

// String is the ten-digit form of EDGAR's addresses, for example "0000320193".
func (c CIK) String() string { return fmt.Sprintf("%010d", int64(c)) }

// Benchmark is the fund that portfolios are compared with, under the number by which it files: the SPDR S&P 500 ETF Trust, SPY. Its
// bars and dividends are kept like those of a company.
const Benchmark CIK = 884394

// Company is one filer.
type Company struct {
	CIK CIK
	// Name as the SEC has it, for example "Apple Inc.".
	Name string
	// SIC is the four-digit Standard Industrial Classification code that the SEC assigned; zero when it did not.
	SIC int
	// Location is EDGAR's code of the state or country of the business address: "CA" is California, "L2" Ireland. These are not
	// ISO codes. Empty when unknown. The state of incorporation is another thing and is not kept.
	Location string
	// FiscalYearEnd is month and day as MMDD, for example "0926"; empty when unknown.
	FiscalYearEnd string
	// Listings are the company's tickers through time. Of those valid at one time, the first is the one that stands for the
	// company.
	Listings []Listing
}

// Listing is a ticker of a company on an exchange, while it lasted.
type Listing struct {
	// Ticker is upper case, share classes with a dash: "BRK-B".
	Ticker string
	// Exchange is the ISO 10383 market code, for example "XNAS".
	Exchange string
	// From and To are the first and the last date on which the ticker was the company's. A zero From is before our records, a
	// zero To is still.
	From, To time.Time
}

// Valid tells whether the listing held on a date.
func (l Listing) Valid(day time.Time) bool {
	return (l.From.IsZero() || !day.Before(l.From)) && (l.To.IsZero() || !day.After(l.To))
}

// Listing is the listing that stands for the company on a date, and whether it had one.
func (c Company) Listing(day time.Time) (Listing, bool) {
	for _, l := range c.Listings {
		if l.Valid(day) {
			return l, true
		}
	}
	return Listing{}, false
}

// Ticker is the company's ticker on a date; empty when it had none.
func (c Company) Ticker(day time.Time) string {
	l, _ := c.Listing(day)
	return l.Ticker
}

// NewsItem is one headline about companies, as its publisher wrote it.
type NewsItem struct {
	// ID is the publisher's own id (the feed's guid), unique within Source.
	ID     string
	Source string
	// Companies the item was found to be about; empty when unknown.
	Companies []CIK
	Title     string
	Summary   string
	URL       string
	// PublishedAt is the publisher's time, in UTC.
	PublishedAt time.Time
}
