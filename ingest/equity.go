package ingest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"tidemark/internal/equity"
)

// checkEquity checks the company data of a batch against the rules of Batch.
func checkEquity(b Batch) error {
	if err := each("company", b.Companies, checkCompany); err != nil {
		return err
	}
	if err := each("filing", b.Filings, checkFiling); err != nil {
		return err
	}
	if err := each("fact", b.Facts, checkFact); err != nil {
		return err
	}
	if err := each("bar", b.Bars, checkBar); err != nil {
		return err
	}
	if err := each("action", b.Actions, checkAction); err != nil {
		return err
	}
	if err := each("news item", b.News, checkNews); err != nil {
		return err
	}
	return each("section of risk factors", b.Risks, checkRisks)
}

// each checks every value of a list, and that no two have one identity.
func each[V any, K comparable](what string, list []V, check func(V) (K, error)) error {
	held := make(map[K]bool, len(list))
	for _, v := range list {
		id, err := check(v)
		switch {
		case err != nil:
			return fmt.Errorf("the %s %v: %w", what, id, err)
		case held[id]:
			return fmt.Errorf("two values of the %s %v", what, id)
		}
		held[id] = true
	}
	return nil
}

var (
	errNoCompany = errors.New("no CIK, expected one above zero")
	errNoTicker  = errors.New("a listing without a ticker")
)

func checkCompany(c equity.Company) (equity.CIK, error) {
	if c.CIK <= 0 {
		return c.CIK, errNoCompany
	}
	for _, l := range c.Listings {
		switch {
		case l.Ticker == "":
			return c.CIK, errNoTicker
		case !l.From.IsZero() && !isDate(l.From), !l.To.IsZero() && !isDate(l.To):
			return c.CIK, fmt.Errorf("the listing %s has bounds that are not dates: %v to %v", l.Ticker, l.From, l.To)
		}
	}
	return c.CIK, nil
}

// The identities. Their fields are exported so that a CIK in an error is written as one.
type filingID struct {
	Company   equity.CIK
	Accession string
}

func checkFiling(f equity.Filing) (filingID, error) {
	id := filingID{f.CIK, f.Accession}
	switch {
	case f.CIK <= 0:
		return id, errNoCompany
	case f.Accession == "" || f.Form == "":
		return id, fmt.Errorf("accession number %q and form %q, expected both", f.Accession, f.Form)
	case !isDate(f.Filed):
		return id, fmt.Errorf("filed at %v, expected a date", f.Filed)
	case !f.Period.IsZero() && !isDate(f.Period):
		return id, fmt.Errorf("about %v, expected a date", f.Period)
	}
	return id, nil
}

type factID struct {
	Company             equity.CIK
	Taxonomy, Tag, Unit string
	// Start and End are dates as text, because two times of one instant need not be equal.
	Start, End string
	Accession  string
}

func checkFact(f equity.Fact) (factID, error) {
	id := factID{f.CIK, f.Taxonomy, f.Tag, f.Unit, date(f.Start), date(f.End), f.Accession}
	switch {
	case f.CIK <= 0:
		return id, errNoCompany
	case f.Taxonomy == "" || f.Tag == "" || f.Unit == "" || f.Accession == "" || f.Form == "":
		return id, errors.New("expected a taxonomy, a tag, a unit, an accession number and a form")
	case !isDate(f.End) || !isDate(f.Filed) || !f.Start.IsZero() && !isDate(f.Start):
		return id, fmt.Errorf("from %v to %v, filed at %v, expected dates", f.Start, f.End, f.Filed)
	case f.Start.After(f.End):
		return id, errors.New("a period that ends before it begins")
	case math.IsNaN(f.Value) || math.IsInf(f.Value, 0):
		return id, fmt.Errorf("the value is %v, expected a finite number", f.Value)
	}
	return id, nil
}

type tradeID struct {
	Company      equity.CIK
	Date, Source string
	Kind         equity.ActionKind
}

func checkBar(b equity.Bar) (tradeID, error) {
	id := tradeID{Company: b.CIK, Date: date(b.Date), Source: b.Source}
	switch {
	case b.CIK <= 0:
		return id, errNoCompany
	case !isDate(b.Date) || b.Source == "":
		return id, fmt.Errorf("at %v by %q, expected a date and a source", b.Date, b.Source)
	case b.Volume < 0:
		return id, fmt.Errorf("a volume of %d", b.Volume)
	case !isPrice(b.Close):
		return id, fmt.Errorf("the close is %q, expected a price", b.Close)
	}
	for _, p := range []equity.Price{b.Open, b.High, b.Low} {
		if p != "" && !isPrice(p) {
			return id, fmt.Errorf("%q is not a price", p)
		}
	}
	return id, nil
}

func checkAction(a equity.Action) (tradeID, error) {
	id := tradeID{a.CIK, date(a.Date), a.Source, a.Kind}
	terms := a.New > 0 && a.Old > 0 && !math.IsInf(a.New, 0) && !math.IsInf(a.Old, 0)
	switch {
	case a.CIK <= 0:
		return id, errNoCompany
	case !isDate(a.Date) || a.Source == "":
		return id, fmt.Errorf("at %v by %q, expected a date and a source", a.Date, a.Source)
	case a.Cash != "" && !isPrice(a.Cash):
		return id, fmt.Errorf("%q is not a price", a.Cash)
	case !terms && (a.New != 0 || a.Old != 0):
		return id, fmt.Errorf("%v new shares for %v old ones, expected both above zero or neither", a.New, a.Old)
	}
	switch a.Kind {
	case equity.Split:
		if !terms {
			return id, errors.New("a split without terms")
		}
	case equity.Dividend:
		if a.Cash == "" {
			return id, errors.New("a dividend of nothing")
		}
	case equity.Merger, equity.Delisting:
	default:
		return id, fmt.Errorf("the kind %q is unknown", a.Kind)
	}
	return id, nil
}

type newsID struct{ Source, ID string }

func checkNews(n equity.NewsItem) (newsID, error) {
	id := newsID{n.Source, n.ID}
	switch {
	case n.Source == "" || n.ID == "" || n.Title == "":
		return id, errors.New("expected a source, an id and a title")
	case n.PublishedAt.IsZero():
		return id, errors.New("no time of publication")
	}
	return id, nil
}

func checkRisks(r equity.RiskFactors) (filingID, error) {
	id := filingID{r.CIK, r.Accession}
	switch {
	case r.CIK <= 0:
		return id, errNoCompany
	case r.Accession == "" || r.State == "":
		return id, fmt.Errorf("accession number %q and state %q, expected both", r.Accession, r.State)
	case r.Reader <= 0:
		return id, fmt.Errorf("reader %d", r.Reader)
	case (r.State == equity.RisksRead) != (len(r.Risks) > 0):
		return id, fmt.Errorf("%d risks in the state %s", len(r.Risks), r.State)
	}
	for _, text := range r.Risks {
		if text == "" || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return id, fmt.Errorf("%.40q is not a text", text)
		}
	}
	return id, nil
}

// isPrice reports whether a price is set and written in the form of prices.
func isPrice(p equity.Price) bool {
	same, err := equity.ParsePrice(string(p))
	return err == nil && same == p
}

// isDate reports whether a time is a date: set, and midnight in UTC.
func isDate(t time.Time) bool {
	return !t.IsZero() && t.Location() == time.UTC && t.Equal(t.Truncate(24*time.Hour))
}

// date writes a date; empty for none.
func date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}
