// Package equity defines the types of data about listed companies: their identity, filings, share prices and news. It is a leaf: no I/O, no
// clock, no imports from this module. Start at Company.
//
// A date (of a bar, a filing, a period's end) is midnight UTC of that date. Dates of trading and of filings are New York's dates. An
// instant is in UTC.
package equity

import (
	"fmt"
	"time"
)

// CIK is the number under which a company files with the SEC. It is the company's identity in this module. Tickers are given up, taken over
// and reassigned, but the CIK stays. Zero means no company.
type CIK int64

// String returns the ten-digit form in EDGAR's addresses, for example "0000320193".
func (c CIK) String() string { return fmt.Sprintf("%010d", int64(c)) }

// Benchmark is the CIK of the fund that portfolios are compared with: the SPDR S&P 500 ETF Trust, SPY. Its bars and dividends are stored
// like a company's.
const Benchmark CIK = 884394

// EqualWeightFund is the CIK of the fund that holds the companies of the same index at equal weight: the trust of the Invesco S&P 500 Equal Weight
// ETF, RSP. Its bars and dividends are stored like a company's.
const EqualWeightFund CIK = 1209466

// IsFund reports whether a CIK is of one of these funds, which are never picked.
func IsFund(cik CIK) bool { return cik == Benchmark || cik == EqualWeightFund }

// Company is one filer.
type Company struct {
	CIK CIK
	// Name as the SEC has it, for example "Apple Inc.".
	Name string
	// SIC is the four-digit Standard Industrial Classification code that the SEC assigned, zero if it assigned none.
	SIC int
	// Location is EDGAR's code of the state or country of the business address: "CA" is California, "L2" Ireland. These are not ISO codes.
	// It is empty if unknown. The state of incorporation is different and is not stored.
	Location string
	// FiscalYearEnd is month and day as MMDD, for example "0926"; empty when unknown.
	FiscalYearEnd string
	// Listings are the company's tickers through time. The first listing that is valid on a date is the company's main listing.
	Listings []Listing
}

// Listing is a ticker of a company on an exchange for a period.
type Listing struct {
	// Ticker is upper case, share classes with a dash: "BRK-B".
	Ticker string
	// Exchange is the ISO 10383 market code, for example "XNAS".
	Exchange string
	// From and To are the first and the last date on which the company had the ticker. A zero From is before our records. A zero To means
	// that the listing is current.
	From, To time.Time
}

// Valid reports whether the listing was valid on a date.
func (l Listing) Valid(day time.Time) bool {
	return (l.From.IsZero() || !day.Before(l.From)) && (l.To.IsZero() || !day.After(l.To))
}

// Listing returns the company's main listing on a date, and whether it had one.
func (c Company) Listing(day time.Time) (Listing, bool) {
	for _, l := range c.Listings {
		if l.Valid(day) {
			return l, true
		}
	}
	return Listing{}, false
}

// Ticker returns the company's ticker on a date, empty if it had none.
func (c Company) Ticker(day time.Time) string {
	l, _ := c.Listing(day)
	return l.Ticker
}

// NewsItem is one headline about companies, as its publisher wrote it.
type NewsItem struct {
	// ID is the publisher's own id (the feed's guid), unique within Source.
	ID     string
	Source string
	// Companies lists the companies that the item is about, empty if unknown.
	Companies []CIK
	Title     string
	Summary   string
	URL       string
	// PublishedAt is the publisher's time, in UTC.
	PublishedAt time.Time
}
