package picks

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/locale"
)

// EventType is the kind of an event around the portfolio.
type EventType string

// The types. Rating and News are reserved for sources that yield them.
const (
	PickAnnounced EventType = "pick_announced"
	PickClosed    EventType = "pick_closed"
	PriceMove     EventType = "price_move"
	Earnings      EventType = "earnings"
	DividendPaid  EventType = "dividend"
	SharesSplit   EventType = "split"
	Rating        EventType = "rating"
	FilingMade    EventType = "filing"
	News          EventType = "news"
	SignalChange  EventType = "signal_change"
)

// Severity is from 1, a note, to 5, critical.
type Severity int

// The severities.
const (
	Note Severity = iota + 1
	Low
	Notable
	High
	Critical
)

// Event is something that happened to a company of the portfolio. Its text is written in any language from its facts.
type Event struct {
	// ID follows from the subject of the event, so that an event found twice has one ID.
	ID       string
	Type     EventType
	Severity Severity
	CIK      equity.CIK
	Ticker   string
	// OccurredAt is when it happened, in UTC: the close, the acceptance of a filing, the announcement.
	OccurredAt time.Time
	// ChangePct is the return of a price move in percent, not rounded; NaN for other types.
	ChangePct float64
	SourceURL string
	Facts     Data

	phrase string // the key of its title and body, without ".title" and ".body"
	title  string // the key of the title if it differs
	body   string // the key of the body if it differs
}

// EventText is an event in one language.
type EventText struct {
	Lang        Lang
	Title, Body string
}

// Text writes the event in a language.
func (e Event) Text(lang Lang) (EventText, error) {
	body := cmp.Or(e.body, e.phrase+".body")
	title, err := e.Facts.write(lang, cmp.Or(e.title, e.phrase+".title"))
	if err != nil {
		return EventText{}, err
	}
	text, err := e.Facts.write(lang, body)
	if err != nil {
		return EventText{}, err
	}
	return EventText{lang, title, text}, nil
}

// eventID makes the id of an event from its subject: "ev_" and 26 characters of a digest.
func eventID(kind EventType, cik equity.CIK, at time.Time, about string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s|%s|%s|%s", kind, cik, at.UTC().Format(time.RFC3339), about))
	return "ev_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))[:26]
}

// Key is the position of an event in the feed: by the time of its recording, then by id. Keys compare as text. A reader who continues
// from the last key it saw misses nothing, since an event that is found late is recorded late.
func (e Event) Key(recordedAt time.Time) string {
	return recordedAt.UTC().Format("2006-01-02T15:04:05.000000Z") + "/" + e.ID
}

// SortEvents puts events in the order of the feed, the newest first; of one instant the more severe first, then by id. Events with one
// id are one: the first stays.
func SortEvents(events []Event) []Event {
	sorted := slices.Clone(events)
	slices.SortStableFunc(sorted, func(a, b Event) int {
		return cmp.Or(b.OccurredAt.Compare(a.OccurredAt), cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.ID, b.ID))
	})
	seen := map[string]bool{}
	return slices.DeleteFunc(sorted, func(e Event) bool {
		again := seen[e.ID]
		seen[e.ID] = true
		return again
	})
}

// newEvent is an event about a company, with the facts that every text has.
func newEvent(kind EventType, severity Severity, c equity.Company, at time.Time, about string) Event {
	day := calendar.DayOf(at)
	e := Event{
		ID: eventID(kind, c.CIK, at, about), Type: kind, Severity: severity, CIK: c.CIK, Ticker: c.Ticker(day), OccurredAt: at.UTC(),
		ChangePct: math.NaN(), phrase: "event." + string(kind),
	}
	e.Facts.word("name", c.Name, locale.Name)
	e.Facts.word("ticker", e.Ticker, locale.Name)
	e.Facts.date("date", day)
	return e
}

// AnnouncedEvent is the announcement of a pick.
func AnnouncedEvent(c equity.Company, date time.Time, price equity.Price, announcedAt time.Time) Event {
	e := newEvent(PickAnnounced, Notable, c, announcedAt, date.Format(time.DateOnly))
	e.Facts = slices.DeleteFunc(e.Facts, func(d Datum) bool { return d.ID == "date" })
	e.Facts.date("date", date)
	e.Facts = append(e.Facts, Datum{ID: "price", Value: string(price), Unit: locale.Dollars, AsOf: date, Source: -1})
	return e
}

// closedTerms are the words for the reason why a position was closed, and its severity: an unplanned end matters more.
var closedTerms = map[string]struct {
	term     string
	severity Severity
}{
	ClosedHeld: {"closed.held", Low}, ClosedReplaced: {"closed.replaced", Low}, ClosedMerger: {"closed.merger", Notable},
	ClosedDelisted: {"closed.delisted", High}, ClosedSilent: {"closed.silent", High},
}

// ClosedTerm returns the term for the reason why a position was closed, or "" if the reason is unknown.
func ClosedTerm(reason string) string { return closedTerms[reason].term }

// ClosedEvents are the events of all positions that were closed on a day.
func ClosedEvents(p Portfolio, companies map[equity.CIK]equity.Company, day time.Time) []Event {
	at, trading := calendar.Close(day)
	if !trading {
		return nil
	}
	var events []Event
	for _, q := range p.Positions {
		if q.Open() || !calendar.DayOf(at).Equal(q.ExitDate) {
			continue
		}
		why := closedTerms[q.Reason]
		e := newEvent(PickClosed, why.severity, companies[q.CIK], at, strconv.Itoa(q.Seq))
		e.Ticker = q.Ticker
		e.Facts = slices.DeleteFunc(e.Facts, func(d Datum) bool { return d.ID == "ticker" || d.ID == "name" })
		e.Facts.word("ticker", q.Ticker, locale.Name)
		e.Facts.word("name", q.Name, locale.Name)
		e.Facts.percent("return", q.ReturnPct/100, day, -1)
		e.Facts.word("closed", why.term, locale.Term)
		events = append(events, e)
	}
	return events
}

// moveSeverity is the severity of a price move that is times the usual one; zero if it is not an event.
func moveSeverity(times float64) Severity {
	switch {
	case times >= 6:
		return Critical
	case times >= 4:
		return High
	case times >= 3:
		return Notable
	case times >= 2:
		return Low
	default:
		return 0
	}
}

// minMove is the min price move for an event, for shares of any volatility.
const minMove = 0.02

// MoveEvent returns the event of a company's price move on a day, and whether there is one. The move is a return, including dividends, of
// at least two percent and at least twice the standard deviation of the 63 daily returns before.
func MoveEvent(c equity.Company, h History, day time.Time) (Event, bool) {
	at, trading := calendar.Close(day)
	today, ok := h.BarOn(day)
	levels := h.Levels(day, true)
	n := len(levels)
	if !trading || !ok || n < volatileDays+2 {
		return Event{}, false
	}
	daily := make([]float64, volatileDays)
	for i := range daily {
		daily[i] = levels[n-1-volatileDays+i].Level/levels[n-2-volatileDays+i].Level - 1
	}
	change := levels[n-1].Level/levels[n-2].Level - 1
	usual := stat.StdDev(daily, nil)
	if math.Abs(change) < minMove || !(usual > 0) {
		return Event{}, false
	}
	size := math.Abs(change) / usual
	severity := moveSeverity(size)
	if severity == 0 {
		return Event{}, false
	}
	e := newEvent(PriceMove, severity, c, at, "")
	e.ChangePct = 100 * change
	e.Facts.percent("change", change, day, -1)
	e.Facts.add("size", size, 1, locale.Times, day, -1)
	e.Facts = append(e.Facts, Datum{ID: "price", Value: string(today.Close), Unit: locale.Dollars, AsOf: day, Source: -1})
	if e.body = "event.price_move.body"; !h.CountsDividends() {
		e.body += ".price"
	}
	if e.phrase = "event.price_move.up"; change < 0 {
		e.phrase = "event.price_move.down"
	}
	return e, true
}
