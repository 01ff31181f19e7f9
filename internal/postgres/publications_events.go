package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/equity"
	"tidemark/internal/task"
	"tidemark/picks"
)

// PortfolioEvent is an event of the feed with its texts.
type PortfolioEvent struct {
	ID       string
	Type     string
	Severity int
	CIK      equity.CIK
	Ticker   string
	// OccurredAt is when it happened. RecordedAt is its place in the feed: rows become visible in the order of (RecordedAt, ID).
	OccurredAt, RecordedAt time.Time
	// ChangePct is the return of a price move in percent, not rounded. It is nil for other types.
	ChangePct *float64
	SourceURL string
	Facts     []Datum
	Texts     map[picks.Lang]EventText
}

// EventText is an event in one language.
type EventText struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

// Key returns the place of the event in the feed as text, in the form of picks.Event.Key. A client continues from the last key that it
// received.
func (e PortfolioEvent) Key() string { return picks.Event{ID: e.ID}.Key(e.RecordedAt) }

// All events of a statement get one place, after all stored events.
const addEventsSQL = `
	insert into portfolio_events (id, type, severity, cik, ticker, occurred_at, recorded_at, change_pct, source_url, facts, texts)
	select e.id, e.type, e.severity, e.cik, e.ticker, e.occurred_at, now.place, e.change_pct, e.source_url, e.facts, e.texts
	from jsonb_to_recordset(@events) as e (id text, type text, severity int, cik bigint, ticker text, occurred_at timestamptz,
			change_pct double precision, source_url text, facts jsonb, texts jsonb),
		(select greatest(world_now(), max(recorded_at) + interval '1 microsecond') as place from portfolio_events) now
	on conflict (id) do nothing` // index portfolio_events_feed

// newEvent is a row of addEventsSQL.
type newEvent struct {
	ID         string                   `json:"id"`
	Type       picks.EventType          `json:"type"`
	Severity   picks.Severity           `json:"severity"`
	CIK        equity.CIK               `json:"cik"`
	Ticker     string                   `json:"ticker"`
	OccurredAt time.Time                `json:"occurred_at"`
	ChangePct  *float64                 `json:"change_pct"`
	SourceURL  string                   `json:"source_url"`
	Facts      []Datum                  `json:"facts"`
	Texts      map[picks.Lang]EventText `json:"texts"`
}

// AddPortfolioEvents stores events that are not stored yet, with their texts in all languages, and returns their number. It stores all or
// nothing, and only while the attempt in f is current. Listeners on ChannelPublications are notified.
func (db PublicationStore) AddPortfolioEvents(ctx context.Context, f task.Fence, events []picks.Event) (added int64, err error) {
	fresh, err := db.unknownEvents(ctx, events)
	if err != nil {
		return 0, err
	}
	rows := make([]newEvent, len(fresh))
	for i, e := range fresh {
		rows[i] = newEvent{
			ID: e.ID, Type: e.Type, Severity: e.Severity, CIK: e.CIK, Ticker: e.Ticker, OccurredAt: e.OccurredAt, ChangePct: Known(e.ChangePct),
			SourceURL: e.SourceURL, Facts: DataOf(e.Facts), Texts: map[picks.Lang]EventText{},
		}
		for _, lang := range picks.Langs() {
			t, err := e.Text(lang)
			if err != nil {
				return 0, fmt.Errorf("write event %s: %w", e.ID, err)
			}
			rows[i].Texts[lang] = EventText{Title: t.Title, Body: t.Body}
		}
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return 0, fmt.Errorf("record events: %w", err)
	}
	err = db.tx(ctx, func(tx pgx.Tx) error {
		if len(rows) > 0 {
			// The next statement sees all rows that were committed before the lock was granted.
			if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('portfolio_events', 0))`); err != nil {
				return err
			}
			tag, err := tx.Exec(ctx, addEventsSQL, pgx.NamedArgs{"events": list})
			if err != nil {
				return err
			}
			added = tag.RowsAffected()
		}
		return checkFence(ctx, tx, f, added)
	})
	if err != nil {
		return 0, fmt.Errorf("record events: %w", err)
	}
	return added, nil
}

// unknownEvents removes events that are already stored, so that their texts are not written.
func (db PublicationStore) unknownEvents(ctx context.Context, events []picks.Event) ([]picks.Event, error) {
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	rows, err := db.reads.Query(ctx, `select id from portfolio_events where id = any(@ids)`, pgx.NamedArgs{"ids": ids})
	if err != nil {
		return nil, fmt.Errorf("look up events: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look up events: %w", err)
	}
	known := map[string]bool{}
	for _, id := range list {
		known[id] = true
	}
	var fresh []picks.Event
	for _, e := range picks.SortEvents(events) {
		if !known[e.ID] {
			fresh = append(fresh, e)
		}
	}
	return fresh, nil
}

// EventFilter selects events. Empty fields select all.
type EventFilter struct {
	// Before and After are keys. They select events before (older than) or after that place in the feed.
	Before, After string
	// From and To limit when an event happened: at or after From, before To.
	From, To    time.Time
	Ticker      string
	MinSeverity int
	Limit       int
}

const eventsSQL = `
	select id, type, severity, cik, ticker, occurred_at, recorded_at, change_pct, source_url, facts, texts
	from portfolio_events
	where (@before_id = '' or (recorded_at, id) < (@before::timestamptz, @before_id))
		and (@after_id = '' or (recorded_at, id) > (@after::timestamptz, @after_id))
		and (@from::timestamptz is null or occurred_at >= @from) and (@to::timestamptz is null or occurred_at < @to)
		and (@ticker = '' or ticker = @ticker) and severity >= @min_severity
	order by recorded_at desc, id desc
	limit nullif(@limit, 0)` // index portfolio_events_feed

// PortfolioEvents returns events, newest first. A limit of 0 means no limit.
func (db PublicationStore) PortfolioEvents(ctx context.Context, q EventFilter) ([]PortfolioEvent, error) {
	before, beforeID, err1 := place(q.Before)
	after, afterID, err2 := place(q.After)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	rows, err := db.reads.Query(ctx, eventsSQL, pgx.NamedArgs{
		"before": before, "before_id": beforeID, "after": after, "after_id": afterID, "from": orNil(q.From), "to": orNil(q.To),
		"ticker": q.Ticker, "min_severity": q.MinSeverity, "limit": q.Limit,
	})
	list, err := collect[PortfolioEvent](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", asUnavailable(err))
	}
	return list, nil
}

// place parses a key of the feed.
func place(key string) (at time.Time, id string, err error) {
	if key == "" {
		return at, "", nil
	}
	stamp, id, ok := strings.Cut(key, "/")
	if at, err = time.Parse(time.RFC3339Nano, stamp); !ok || err != nil || id == "" {
		return time.Time{}, "", fmt.Errorf("%q is not a place in the feed", key)
	}
	return at, id, nil
}

func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// SignalZ is the z-score of a signal at a computed instant.
type SignalZ struct {
	Signal string
	At     time.Time
	// Z and DeltaPct are nil if unknown.
	Z, DeltaPct *float64
	Status      string
}

const signalZSQL = `
	select signal, at, z_score as z, delta_pct, status
	from snapshots
	where at > @from and at <= @to
	order by signal, at` // primary key

// SignalZs returns the z-scores of all signals after from, up to and including to, ordered by signal and instant.
func (db PublicationStore) SignalZs(ctx context.Context, from, to time.Time) ([]SignalZ, error) {
	rows, err := db.reads.Query(ctx, signalZSQL, pgx.NamedArgs{"from": from, "to": to})
	list, err := collect[SignalZ](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the signals: %w", err)
	}
	return list, nil
}
