package equity

import (
	"path"
	"strings"
	"time"
)

// Filing is one submission to the SEC.
type Filing struct {
	CIK CIK
	// Accession is the SEC's id with dashes, for example "0000320193-25-000079".
	Accession string
	// Form as filed, for example "10-K", "10-K/A", "8-K".
	Form string
	// Filed is the filing date. A submission after 17:30 carries the next business day's date.
	Filed time.Time
	// AcceptedAt is the instant, in UTC, at which the SEC accepted it, zero if unknown.
	AcceptedAt time.Time
	// Period is the date that the report is about (its period of report), zero if it has none.
	Period time.Time
	// Items are the numbered items of an 8-K, for example "2.02", "9.01"; empty for other forms.
	Items []string
	// URL is the page of the filing's main document.
	URL string
}

// HasDocument reports whether URL is a main document in HTML. A filing whose main document is unknown has the list of its documents instead.
func (f Filing) HasDocument() bool {
	name := strings.ToLower(path.Base(f.URL))
	return (strings.HasSuffix(name, ".htm") || strings.HasSuffix(name, ".html")) && !strings.Contains(name, "-index.htm")
}

// Fact is one number of a filing, as XBRL tags it. A fact of a balance sheet has no Start.
type Fact struct {
	CIK CIK
	// Taxonomy is "us-gaap", "ifrs-full", "dei" or "srt"; Tag the concept in it, for example "NetIncomeLoss".
	Taxonomy, Tag string
	// Unit is "USD", another ISO currency, "shares", "USD/shares" or "pure".
	Unit string
	// Start and End are the first and the last date of the period, both included. Start is zero for a value at an instant.
	Start, End time.Time
	// Value in Unit, not scaled: 6.1 billion dollars are 6.1e9. It is exact up to 2^53.
	Value float64
	// Accession, Form and Filed identify the filing that states the fact, and the date since which it is known.
	Accession, Form string
	Filed           time.Time
	// FY and FP are the fiscal year and period of the filing, not of the value. A report repeats figures of earlier years with its own FY
	// and FP. Do not look up facts by them.
	FY int
	FP string
}

// Days returns the length of the fact's period in days, both ends included, zero for a value at an instant.
func (f Fact) Days() int {
	if f.Start.IsZero() {
		return 0
	}
	return int(f.End.Sub(f.Start)/(24*time.Hour)) + 1
}
