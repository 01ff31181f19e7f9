package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
	"tidemark/picks"
)

// EconomicEvent is the first published value of a macro figure, with its texts.
type EconomicEvent struct {
	// ID consists of region, figure and period. Indicator is the id of the figure.
	ID, Indicator string
	// Date is the day of publication in New York. PublishedAt is the instant. Assumed means that the publication was not observed.
	Date        time.Time
	PublishedAt time.Time
	Assumed     bool
	// Region is an ISO 3166-1 code, or "EZ" for the euro area.
	Region string
	// The figures as they are published, in Unit. Unknown figures are nil.
	Actual                      string
	Expected, Previous, Revised *string
	Unit                        string
	SurpriseZ                   *float64
	Severity, Importance        int
	Sectors                     []string
	Sources                     []Document
	Facts                       []Datum
	Texts                       map[picks.Lang]EconomicText
	RecordedAt                  time.Time
}

// EconomicText is the text about a figure in one language. Analysis is Markdown.
type EconomicText struct {
	Title    string `json:"title"`
	Summary  string `json:"summary"`
	Analysis string `json:"analysis"`
}

const addEconomicSQL = `
	insert into economic_events (id, indicator, date, published_at, assumed, region, actual, expected, previous, revised, unit, surprise_z,
		severity, importance, place, sectors, sources, facts, texts)
	values (@id, @indicator, @date, @published_at, @assumed, @region, @actual, nullif(@expected, ''), nullif(@previous, ''),
		nullif(@revised, ''), @unit, @surprise_z, @severity, @importance, @place, @sectors, @sources, @facts, @texts)
	on conflict (id) do nothing`

// AddEconomicEvents stores events that are not stored yet, with their texts in all languages, and returns their number. It stores all or
// nothing, and only while the attempt in f is current. Listeners on ChannelPublications are notified.
func (db PublicationStore) AddEconomicEvents(ctx context.Context, f task.Fence, events []picks.EconomicEvent) (added int64, err error) {
	var b pgx.Batch
	for _, e := range events {
		args, err := economicArgs(e)
		if err != nil {
			return 0, fmt.Errorf("record macro events: %w", err)
		}
		b.Queue(addEconomicSQL, args)
	}
	if added, err = db.publish(ctx, f, &b); err != nil {
		return 0, fmt.Errorf("record macro events: %w", err)
	}
	return added, nil
}

func economicArgs(e picks.EconomicEvent) (pgx.NamedArgs, error) {
	texts := map[picks.Lang]EconomicText{}
	for _, lang := range picks.Langs() {
		t, err := e.Text(lang)
		if err != nil {
			return nil, err
		}
		texts[lang] = EconomicText{Title: t.Title, Summary: t.Summary, Analysis: t.Analysis}
	}
	written, err1 := json.Marshal(texts)
	facts, err2 := json.Marshal(DataOf(e.Facts()))
	sources, err3 := json.Marshal(DocumentsOf(e.Sources()))
	def := e.Indicator
	sectors := []string{}
	for _, s := range def.Sectors {
		sectors = append(sectors, string(s))
	}
	place := slices.IndexFunc(picks.Indicators(), func(d picks.Indicator) bool { return d.ID == def.ID })
	return pgx.NamedArgs{
		"id": e.ID, "indicator": def.ID, "date": e.Date(), "published_at": e.PublishedAt(), "assumed": e.Print.Assumed,
		"region": def.Region,
		"actual": def.Format(e.Print.Value), "expected": def.Format(e.Expected), "previous": def.Format(e.Print.Previous),
		"revised": def.Format(e.Print.Revised), "unit": string(def.Unit), "surprise_z": Known(e.Z), "severity": int(e.Severity),
		"importance": def.Importance, "place": place, "sectors": sectors, "sources": sources, "facts": facts, "texts": written,
	}, errors.Join(err1, err2, err3)
}

const economicSQL = `
	select id, indicator, date, published_at, assumed, region, actual, expected, previous, revised, unit, surprise_z, severity, importance,
		sectors, sources, facts, texts, recorded_at
	from economic_events
	order by date desc, severity desc, place, published_at, id
	limit nullif(@limit, 0)` // index economic_events_feed

// EconomicEvents returns macro events, newest day first; within a day the event of the day comes first. A limit of 0 means no limit.
func (db PublicationStore) EconomicEvents(ctx context.Context, limit int) ([]EconomicEvent, error) {
	rows, err := db.reads.Query(ctx, economicSQL, pgx.NamedArgs{"limit": limit})
	list, err := collect[EconomicEvent](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read macro events: %w", asUnavailable(err))
	}
	return list, nil
}

// NewestPrints returns when the newest recorded value of each indicator was published, by the indicator's id.
func (db PublicationStore) NewestPrints(ctx context.Context) (map[string]time.Time, error) {
	rows, err := db.reads.Query(ctx, `select indicator, max(published_at) from economic_events group by indicator`)
	if err != nil {
		return nil, fmt.Errorf("look up macro events: %w", err)
	}
	newest := map[string]time.Time{}
	var indicator string
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&indicator, &at}, func() error {
		newest[indicator] = at.UTC()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look up macro events: %w", err)
	}
	return newest, nil
}

// Digest is the digest of one week. Events, Picks and Economic are the ids and numbers of its entries, in its order.
type Digest struct {
	// Week is the ISO week, for example "2026-W47". FromDate and ToDate are its Monday and Friday.
	Week             string
	FromDate, ToDate time.Time
	// AsOf is the instant whose knowledge it was written from.
	AsOf     time.Time
	Delta    PortfolioDelta
	Events   []string
	Picks    []int64
	Economic []string
	Signals  []DigestSignal
	Facts    []Datum
	Texts    map[picks.Lang]DigestText
	// RecordedAt is when it was stored, in the world's time.
	RecordedAt time.Time
}

// PortfolioDelta is the change of the portfolio in a week. Percentages are not rounded, and nil if unknown.
type PortfolioDelta struct {
	ReturnPct          *float64       `json:"return_pct"`
	BenchmarkReturnPct *float64       `json:"benchmark_return_pct"`
	ExcessReturnPct    *float64       `json:"excess_return_pct"`
	Added              []string       `json:"added"`
	Removed            []string       `json:"removed"`
	Top                []Contribution `json:"top"`
	Bottom             []Contribution `json:"bottom"`
}

// Contribution is a position's contribution to the week's return, in percentage points.
type Contribution struct {
	Ticker          string  `json:"ticker"`
	ContributionPct float64 `json:"contribution_pct"`
}

// DigestSignal is the state of a signal in a digest.
type DigestSignal struct {
	ID       string   `json:"id"`
	Z        float64  `json:"z_score"`
	DeltaPct *float64 `json:"delta_vs_baseline_pct"`
}

// DigestText is a digest in one language. Body is Markdown.
type DigestText struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

const addDigestSQL = `
	insert into digests (week, from_date, to_date, as_of, delta, events, picks, economic, signals, facts, texts)
	values (@week, @from_date, @to_date, @as_of, @delta, @events, @picks, @economic, @signals, @facts, @texts)
	on conflict (week) do nothing`

// AddDigest stores the digest of a week. deltas are the signals' differences from their baselines. If the week has a digest, it stays and
// added is false. It stores nothing unless the attempt in f is current.
func (db PublicationStore) AddDigest(ctx context.Context, f task.Fence, g picks.Digest, deltas map[string]*float64, asOf time.Time) (added bool, err error) {
	args, err := digestArgs(g, deltas)
	if err != nil {
		return false, fmt.Errorf("store the digest of %s: %w", g.Week, err)
	}
	args["as_of"] = asOf
	var b pgx.Batch
	b.Queue(addDigestSQL, args)
	n, err := db.publish(ctx, f, &b)
	if err != nil {
		return false, fmt.Errorf("store the digest of %s: %w", g.Week, err)
	}
	return n == 1, nil
}

func digestArgs(g picks.Digest, deltas map[string]*float64) (pgx.NamedArgs, error) {
	texts := map[picks.Lang]DigestText{}
	for _, lang := range picks.Langs() {
		t, err := g.Text(lang)
		if err != nil {
			return nil, err
		}
		texts[lang] = DigestText{Title: t.Title, Body: t.Body}
	}
	delta := PortfolioDelta{
		ReturnPct: Known(g.Delta.ReturnPct), BenchmarkReturnPct: Known(g.Delta.BenchmarkReturnPct), ExcessReturnPct: Known(g.Delta.ExcessReturnPct),
		Added: nonNil(g.Delta.Added), Removed: nonNil(g.Delta.Removed), Top: contributions(g.Delta.Top), Bottom: contributions(g.Delta.Bottom),
	}
	events, economic, numbers, signals := []string{}, []string{}, []int64{}, []DigestSignal{}
	for _, e := range g.Events {
		events = append(events, e.ID)
	}
	for _, e := range g.Economic {
		economic = append(economic, e.ID)
	}
	for _, p := range g.Picks {
		numbers = append(numbers, int64(p.Seq))
	}
	for _, s := range g.Signals {
		signals = append(signals, DigestSignal{ID: s.ID, Z: s.Z, DeltaPct: deltas[s.ID]})
	}
	deltaJSON, err1 := json.Marshal(delta)
	signalsJSON, err2 := json.Marshal(signals)
	facts, err3 := json.Marshal(DataOf(g.Facts()))
	written, err4 := json.Marshal(texts)
	return pgx.NamedArgs{
		"week": g.Week, "from_date": g.From, "to_date": g.To, "delta": deltaJSON, "events": events, "picks": numbers, "economic": economic,
		"signals": signalsJSON, "facts": facts, "texts": written,
	}, errors.Join(err1, err2, err3, err4)
}

func contributions(list []picks.Contribution) []Contribution {
	out := []Contribution{}
	for _, c := range list {
		out = append(out, Contribution{c.Ticker, c.Points})
	}
	return out
}

// Digests returns the digests, newest week first. A limit of 0 means no limit.
func (db PublicationStore) Digests(ctx context.Context, limit int) ([]Digest, error) {
	rows, err := db.reads.Query(ctx, `
		select week, from_date, to_date, as_of, delta, events, picks, economic, signals, facts, texts, recorded_at
		from digests
		order by week desc
		limit nullif(@limit, 0)`, pgx.NamedArgs{"limit": limit}) // primary key
	list, err := collect[Digest](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the digests: %w", asUnavailable(err))
	}
	return list, nil
}
