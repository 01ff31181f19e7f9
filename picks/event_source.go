package picks

import (
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/locale"
)

// itemSeverities are the items of a current report (form 8-K) that matter more than a note. Source: the SEC's form 8-K, general
// instructions and items.
var itemSeverities = map[string]Severity{
	"1.01": Low,      // a material agreement
	"1.02": Notable,  // the end of one
	"1.03": Critical, // bankruptcy
	"1.05": High,     // a material cybersecurity incident
	"2.01": Notable,  // an acquisition or sale completed
	"2.02": Notable,  // results
	"2.04": High,     // an obligation becomes due early
	"2.05": Notable,  // costs of leaving a business
	"2.06": High,     // a material impairment
	"3.01": High,     // a notice of delisting
	"4.01": High,     // a change of auditor
	"4.02": Critical, // earlier accounts cannot be relied on
	"5.01": High,     // a change of control
	"5.02": Notable,  // directors and officers leave or come
}

// formSeverities are the periodic reports.
var formSeverities = map[string]Severity{
	"10-K": Notable, "10-K/A": Notable, "20-F": Notable, "40-F": Notable, "10-Q": Low, "10-Q/A": Notable, "6-K": Note, "NT 10-K": High, "NT 10-Q": High,
}

// FilingEvent returns the event of a filing by a company of the portfolio, and whether the form is reported as an event. A current report
// with results (item 2.02) is of type Earnings. A filing whose time of acceptance is unknown counts as of its date's close of the market.
func FilingEvent(c equity.Company, f equity.Filing) (Event, bool) {
	severity, told := formSeverities[f.Form]
	kind := FilingMade
	if strings.HasPrefix(f.Form, "8-K") {
		severity, told = Note, true
		for _, item := range f.Items {
			severity = max(severity, itemSeverities[item])
		}
		if slices.Contains(f.Items, "2.02") {
			kind = Earnings
		}
	}
	if !told {
		return Event{}, false
	}
	at := f.AcceptedAt
	if at.IsZero() {
		at = calendar.At(f.Filed, 16*time.Hour)
	}
	e := newEvent(kind, severity, c, at, f.Accession)
	e.SourceURL = f.URL
	e.Facts = slices.DeleteFunc(e.Facts, func(d Datum) bool { return d.ID == "date" })
	e.Facts.date("date", f.Filed)
	e.Facts.word("form", f.Form, locale.Name)
	if len(f.Items) > 0 {
		e.Facts.word("items", strings.Join(f.Items, ", "), locale.Name)
		if kind == FilingMade {
			e.body = "event.filing.items"
		}
	}
	return e, true
}

// A dividend below this share of the one before is a cut.
const cutDividend = 0.95

// ActionEvents are the events of the splits and dividends of a company that take effect on a day. A dividend that is lower than the one
// before is a notable cut, but for the first after a split.
func ActionEvents(c equity.Company, h History, day time.Time) []Event {
	at, trading := calendar.Open(day)
	if !trading {
		return nil
	}
	day = calendar.DayOf(at)
	var events []Event
	before := equity.Price("")
	for _, a := range h.Actions {
		if a.Date.After(day) {
			break
		}
		switch today := a.Date.Equal(day); {
		case a.Kind == equity.Split && today:
			e := newEvent(SharesSplit, Low, c, at, "")
			if a.Ratio() < 1 {
				e.Severity, e.title = Notable, "event.split.reverse.title" // a reverse split seldom is good news
			}
			e.Facts.add("new", a.New, decimalsOf(a.New), locale.Count, day, -1)
			e.Facts.add("old", a.Old, decimalsOf(a.Old), locale.Count, day, -1)
			events = append(events, e)
		case a.Kind == equity.Dividend && today:
			e := newEvent(DividendPaid, Note, c, at, string(a.Cash))
			e.Facts = append(e.Facts, Datum{ID: "amount", Value: string(a.Cash), Unit: locale.Dollars, AsOf: day, Source: -1})
			if before != "" && a.Cash.Float() < float64(cutDividend*before.Float()) {
				e.Severity, e.phrase = Notable, "event.dividend.cut"
				e.Facts = append(e.Facts, Datum{ID: "amount_before", Value: string(before), Unit: locale.Dollars, AsOf: day, Source: -1})
			}
			events = append(events, e)
		}
		switch a.Kind {
		case equity.Split, equity.SpinOff, equity.Unexplained:
			before = "" // stated for other shares, or by a company that was larger
		case equity.Dividend:
			before = a.Cash
		}
	}
	return events
}

// decimalsOf is how many decimals a term of a split needs, at most four.
func decimalsOf(v float64) int {
	for d := range 4 {
		if scaled := v * math.Pow10(d); scaled == math.Round(scaled) {
			return d
		}
	}
	return 4
}

// SignalReading is one of our own signals at two successive values.
type SignalReading struct {
	ID        string
	Before, Z float64
	// At is when the newer value became known, in UTC.
	At time.Time
}

// The borders at which a signal's z-score is news.
const (
	farSignal     = 2.0
	farthestSigma = 3.0
)

// SignalEvents are the events of signals that crossed a threshold outwards, for one company that is exposed to them: notable beyond two
// standard deviations, high beyond three. A signal that stays beyond it gives no event.
func SignalEvents(c equity.Company, readings []SignalReading) []Event {
	var events []Event
	for _, x := range ExposuresOf(c.SIC) {
		for _, r := range readings {
			now, before := math.Abs(r.Z), math.Abs(r.Before)
			if math.Signbit(r.Z) != math.Signbit(r.Before) {
				before = 0 // it came from the other side
			}
			if r.ID != x.Signal || math.IsNaN(r.Z) || math.IsNaN(r.Before) || now < farSignal {
				continue
			}
			severity := Notable
			switch {
			case now >= farthestSigma && before < farthestSigma:
				severity = High
			case before >= farSignal:
				continue
			}
			e := newEvent(SignalChange, severity, c, r.At, x.Signal)
			e.Facts.word("signal", "signal."+x.Signal, locale.Term)
			e.Facts.add("z", r.Z, 1, locale.Deviations, calendar.DayOf(r.At), -1)
			e.Facts.add("z_before", r.Before, 1, locale.Deviations, calendar.DayOf(r.At), -1)
			e.body = "event.signal_change.body"
			e.phrase = "event.signal_change"
			if x.Shown() {
				e.body = "event.signal_change.shown.body"
				if e.phrase = "event.signal_change.for"; float64(x.Sign)*r.Z < 0 {
					e.phrase = "event.signal_change.bad"
				}
			}
			if d, _ := e.Facts.Find("z_before"); d.Number() == 0 { // neither above nor below
				e.body += ".level"
			}
			events = append(events, e)
		}
	}
	return events
}
