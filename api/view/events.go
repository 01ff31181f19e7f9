package view

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/internal/locale/languages"
	"tidemark/internal/postgres"
	"tidemark/picks"
)

// Event is something that happened around the companies of the portfolio.
type Event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	// Severity is 1 note, 2 low, 3 notable, 4 high, 5 critical.
	Severity   int       `json:"severity"`
	Ticker     string    `json:"ticker"`
	Title      string    `json:"title"`
	Body       string    `json:"body"`
	OccurredAt time.Time `json:"occurred_at"`
	// RecordedAt is the event's place in the feed.
	RecordedAt time.Time `json:"recorded_at"`
	// ChangePct is the return of a price move, null for other types.
	ChangePct *float64   `json:"change_pct"`
	SourceURL *string    `json:"source_url"`
	Lang      picks.Lang `json:"lang"`
}

// FeedPagination is the position of a page in a feed. To miss nothing, clients send NewestCursor as the parameter after in the next
// request.
type FeedPagination struct {
	Pagination

	NewestCursor *string `json:"newest_cursor"`
}

// eventOrder is the name of the feed's order, newest first. A cursor holds a position in it, in either direction.
const eventOrder = "events"

// eventKey ascends from the newest event to the oldest. Events recorded at the same instant keep the database's order.
func eventKey(e postgres.PortfolioEvent) string {
	id := []byte(e.ID)
	for i := range id {
		id[i] = 0x7f - id[i]&0x7f
	}
	return newestFirst(e.RecordedAt.UnixMicro()) + hex.EncodeToString(id)
}

func event(e postgres.PortfolioEvent, lang picks.Lang) Event {
	t, lang := languages.Choose(e.Texts, lang)
	return Event{
		ID: e.ID, Type: e.Type, Severity: e.Severity, Ticker: e.Ticker, Title: t.Title, Body: t.Body, OccurredAt: e.OccurredAt.UTC(),
		RecordedAt: e.RecordedAt.UTC(), ChangePct: shown(e.ChangePct), SourceURL: stated(e.SourceURL), Lang: lang,
	}
}

// Events lists the feed, newest first.
func (st *PublicationsState) Events(q ListQuery) (*Document, string, error) {
	return st.answers.getOrBuild("events"+q.name(), func() (*Document, string, error) {
		rows := st.events
		if q.After != "" {
			last, err := decodePlace(q.After, eventOrder)
			if err != nil {
				return nil, "", err
			}
			n, _ := slices.BinarySearchFunc(rows, last, func(e postgres.PortfolioEvent, last string) int {
				if eventKey(e) < last {
					return -1
				}
				return 1
			})
			rows = rows[:n]
		}
		var newest *string
		var known time.Time
		if len(st.events) > 0 {
			at := encodePlace(eventOrder, eventKey(st.events[0]))
			newest, known = &at, st.events[0].RecordedAt
		}
		meta, modified := st.meta(known)
		return listing[postgres.PortfolioEvent, Event]{
			order: eventOrder, rows: rows, key: eventKey, meta: meta, modified: modified,
			keep: func(e postgres.PortfolioEvent) bool {
				day := e.OccurredAt.UTC().Format(time.DateOnly)
				return e.Severity >= q.MinSeverity && (q.MaxSeverity == 0 || e.Severity <= q.MaxSeverity) && q.within(day) && q.about(e.Ticker, "", "") && e.RecordedAt.After(q.Since)
			},
			show: func(e postgres.PortfolioEvent) Event { return event(e, q.Lang) },
		}.page(q, func(p Pagination) any { return FeedPagination{p, newest} })
	})
}

// EconomicEvent is the first print of a macro figure.
type EconomicEvent struct {
	ID string `json:"id"`
	// Date is the day of the publication in New York.
	Date      string `json:"date" column:"date"`
	Region    string `json:"region"`
	Indicator string `json:"indicator"`
	Actual    string `json:"actual"`
	// Consensus is always null: no survey of forecasters is used. Expected is the value by the rule of the method, rounded to the figure's
	// last published digit. Surprise and z-score are calculated from the rounded value.
	Consensus *string  `json:"consensus"`
	Expected  *string  `json:"expected"`
	SurpriseZ *float64 `json:"surprise_z"`
	Previous  *string  `json:"previous"`
	// Revised is the current value of Previous, null if it was not revised.
	Revised        *string      `json:"revised"`
	Unit           string       `json:"unit"`
	Severity       int          `json:"severity"`
	Importance     int          `json:"importance"`
	Lang           picks.Lang   `json:"lang"`
	AvailableLangs []picks.Lang `json:"available_langs"`
	Title          string       `json:"title"`
	Summary        string       `json:"summary"`
	// Analysis is Markdown. Of a list only the most relevant event of each day has it; it is null for the others.
	Analysis        *string          `json:"analysis"`
	AffectedSectors []string         `json:"affected_sectors"`
	Sources         []SourceDocument `json:"sources"`
	PublishedAt     time.Time        `json:"published_at"`
	// Assumed reports that the arrival of the figure was not observed: PublishedAt follows from the publisher's calendar.
	Assumed bool `json:"published_at_assumed"`
}

func economicEvent(e postgres.EconomicEvent, lang picks.Lang, whole bool) EconomicEvent {
	t, lang := languages.Choose(e.Texts, lang)
	out := EconomicEvent{
		ID: e.ID, Date: e.Date.Format(time.DateOnly), Region: e.Region, Indicator: e.Indicator, Actual: e.Actual, Expected: e.Expected,
		SurpriseZ: shown(e.SurpriseZ), Previous: e.Previous, Unit: e.Unit, Severity: e.Severity, Importance: e.Importance, Lang: lang,
		AvailableLangs: languages.Of(e.Texts), Title: t.Title, Summary: t.Summary, AffectedSectors: e.Sectors, Sources: documents(e.Sources),
		PublishedAt: e.PublishedAt.UTC(), Assumed: e.Assumed,
	}
	if e.Revised != nil && (e.Previous == nil || *e.Revised != *e.Previous) {
		out.Revised = e.Revised
	}
	if whole {
		out.Analysis = &t.Analysis
	}
	return out
}

// EconomicEvents lists the macro events, newest day first. Within a day the most relevant event comes first, so the first of all is the
// event of the day.
func (st *PublicationsState) EconomicEvents(q ListQuery) (*Document, string, error) {
	return st.answers.getOrBuild("economic"+q.name(), func() (*Document, string, error) {
		rows := st.economicRows()
		first := map[string]string{}
		var known time.Time
		for _, e := range rows {
			day := e.Date.Format(time.DateOnly)
			if _, told := first[day]; !told {
				first[day] = e.ID
			}
			if e.PublishedAt.After(known) {
				known = e.PublishedAt
			}
		}
		meta, modified := st.meta(known)
		return listing[postgres.EconomicEvent, EconomicEvent]{
			order: economicOrder, rows: rows, key: economicKey, meta: meta, modified: modified,
			keep: func(e postgres.EconomicEvent) bool {
				return q.within(e.Date.Format(time.DateOnly)) && e.Severity >= q.MinSeverity
			},
			show: func(e postgres.EconomicEvent) EconomicEvent {
				return economicEvent(e, q.Lang, first[e.Date.Format(time.DateOnly)] == e.ID)
			},
		}.page(q, canonicalQuery)
	})
}

// economicOrder is the name of the order of macro events.
const economicOrder = "economic-events"

// economicRows returns the macro events in order.
func (st *PublicationsState) economicRows() []postgres.EconomicEvent {
	rows := slices.Clone(st.economic)
	slices.SortFunc(rows, func(a, b postgres.EconomicEvent) int { return strings.Compare(economicKey(a), economicKey(b)) })
	return rows
}

// economicKey ascends from the newest day to the oldest, and within a day in the order of picks.SortEconomic.
func economicKey(e postgres.EconomicEvent) string {
	order := slices.IndexFunc(picks.Indicators(), func(d picks.Indicator) bool { return d.ID == e.Indicator })
	return newestFirst(e.Date.Unix()) + fmt.Sprintf("%d %03d %020d ", 9-e.Severity, order+1, e.PublishedAt.UnixMicro()) + e.ID
}

// Digest is one week.
type Digest struct {
	// Week is an ISO week, Period its Monday and Friday.
	Week           string          `json:"week"`
	Period         Period          `json:"period"`
	Title          string          `json:"title"`
	Body           string          `json:"body"`
	Events         []Event         `json:"events"`
	PortfolioDelta PortfolioDelta  `json:"portfolio_delta"`
	Picks          []Pick          `json:"picks"`
	EconomicEvents []EconomicEvent `json:"economic_events"`
	Signals        []DigestSignal  `json:"signals"`
	Lang           picks.Lang      `json:"lang"`
	AvailableLangs []picks.Lang    `json:"available_langs"`
	GeneratedAt    time.Time       `json:"generated_at"`
}

// Period is two dates, both included.
type Period struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// PortfolioDelta is the change of the portfolio in a week.
type PortfolioDelta struct {
	ReturnPct          *float64       `json:"return_pct"`
	BenchmarkReturnPct *float64       `json:"benchmark_return_pct"`
	ExcessReturnPct    *float64       `json:"excess_return_pct"`
	Added              []string       `json:"added"`
	Removed            []string       `json:"removed"`
	Top                []Contribution `json:"top"`
	Bottom             []Contribution `json:"bottom"`
}

// Contribution is the part of a return that a position added, in percentage points.
type Contribution struct {
	Ticker          string   `json:"ticker"`
	ContributionPct *float64 `json:"contribution_pct"`
}

// DigestSignal is the state of a signal in the digest.
type DigestSignal struct {
	ID                 string   `json:"id"`
	ZScore             float64  `json:"z_score"`
	DeltaVsBaselinePct *float64 `json:"delta_vs_baseline_pct"`
}

// LatestDigest returns the newest digest, or nil before the first.
func (st *PublicationsState) LatestDigest(lang picks.Lang) (*Document, error) {
	g := st.digest
	if g == nil {
		return nil, nil
	}
	doc, _, err := st.answers.getOrBuild("digest"+string(lang), func() (*Document, string, error) {
		text, lang := languages.Choose(g.Texts, lang)
		out := Digest{
			Week: g.Week, Period: Period{g.FromDate.Format(time.DateOnly), g.ToDate.Format(time.DateOnly)}, Title: text.Title, Body: text.Body,
			Events: []Event{}, Picks: []Pick{}, EconomicEvents: []EconomicEvent{}, Signals: []DigestSignal{}, Lang: lang,
			AvailableLangs: languages.Of(g.Texts), GeneratedAt: g.RecordedAt.UTC(),
			PortfolioDelta: PortfolioDelta{
				ReturnPct: shown(g.Delta.ReturnPct), BenchmarkReturnPct: shown(g.Delta.BenchmarkReturnPct), ExcessReturnPct: shownDifference(g.Delta.ReturnPct, g.Delta.BenchmarkReturnPct),
				Added: g.Delta.Added, Removed: g.Delta.Removed, Top: contributions(g.Delta.Top), Bottom: contributions(g.Delta.Bottom),
			},
		}
		for _, id := range g.Events {
			if i := slices.IndexFunc(st.events, func(e postgres.PortfolioEvent) bool { return e.ID == id }); i >= 0 {
				out.Events = append(out.Events, event(st.events[i], lang))
			}
		}
		for _, seq := range g.Picks {
			if p := st.bySeq[seq]; p != nil {
				out.Picks = append(out.Picks, st.pick(p, lang))
			}
		}
		for n, id := range g.Economic {
			if i := slices.IndexFunc(st.economic, func(e postgres.EconomicEvent) bool { return e.ID == id }); i >= 0 {
				out.EconomicEvents = append(out.EconomicEvents, economicEvent(st.economic[i], lang, n == 0))
			}
		}
		for _, s := range g.Signals {
			out.Signals = append(out.Signals, DigestSignal{s.ID, postgres.Rounded(s.Z), served(s.DeltaPct)})
		}
		meta, modified := st.meta(g.RecordedAt)
		doc, err := one(out, meta, modified)
		return doc, "", err
	})
	return doc, err
}

func contributions(list []postgres.Contribution) []Contribution {
	out := []Contribution{}
	for _, c := range list {
		out = append(out, Contribution{c.Ticker, shown(&c.ContributionPct)})
	}
	return out
}
