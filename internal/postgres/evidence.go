package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
	"tidemark/signals"
)

const cellsSQL = `
	select o.series, o.observed_at, o.vintage_at, o.value, o.assumed, o.fetch_id, 0 as vintages
	from unnest(@series::text[], @observed::timestamptz[], @vintages::timestamptz[]) as t (series, observed_at, vintage_at)
	join observations o using (series, observed_at, vintage_at)
	where o.value is not null
	order by o.series, o.observed_at` // primary key

// CellsKnown returns the stored observations of cells, with the fetches that brought them, ordered by series and time. It does not count
// vintages.
func (db ObservationStore) CellsKnown(ctx context.Context, cells []signals.Cell) ([]KnownObservation, error) {
	ids, observed, vintages := make([]series.ID, len(cells)), make([]time.Time, len(cells)), make([]time.Time, len(cells))
	for i, c := range cells {
		ids[i], observed[i], vintages[i] = c.Series, c.ObservedAt, c.VintageAt
	}
	rows, err := db.reads.Query(ctx, cellsSQL, pgx.NamedArgs{"series": ids, "observed": observed, "vintages": vintages})
	list, err := collect[KnownObservation](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the observations of cells: %w", asUnavailable(err))
	}
	return list, nil
}

// Withdrawal is an observation that its publisher took back.
type Withdrawal struct {
	Series series.ID
	// VintageAt is when it was taken back.
	ObservedAt, VintageAt time.Time
	// Marker is series.MarkerWithdrawn, or the publisher's own sign in the place of the number.
	Marker  string
	FetchID int64
}

const withdrawnSQL = `
	select o.series, o.observed_at, o.vintage_at, coalesce(o.marker, '') as marker, o.fetch_id
	from unnest(@series::text[]) as t (series) cross join lateral (
		select distinct on (observed_at) series, observed_at, vintage_at, value, marker, fetch_id
		from observations
		where series = t.series and vintage_at <= @as_of and observed_at <= @until
		order by observed_at desc, vintage_at desc
	) o
	where o.value is null and exists (
		select from observations b
		where b.series = o.series and b.observed_at = o.observed_at and b.vintage_at < o.vintage_at and b.value is not null)
	order by o.series, o.observed_at` // primary key, backwards

// WithdrawnAsOf returns the observations of several series up to a time of observation that had a number once, and had none at an instant,
// ordered by series and time.
func (db ObservationStore) WithdrawnAsOf(ctx context.Context, ids []series.ID, until, asOf time.Time) ([]Withdrawal, error) {
	rows, err := db.reads.Query(ctx, withdrawnSQL, pgx.NamedArgs{"series": ids, "until": until, "as_of": asOf})
	list, err := collect[Withdrawal](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read what was withdrawn: %w", asUnavailable(err))
	}
	return list, nil
}

// Body is an archived body that numbers rest on.
type Body struct {
	FetchID     int64
	Source, URL string
	ContentType string
	FetchedAt   time.Time
	SHA256      string
	Bytes       int64
	// PublishedAt is when the newest of its observations became known. Observations counts those in force.
	PublishedAt  time.Time
	Observations int
	// PublishedAssumed reports that PublishedAt was not observed: the observation was there at the first load of its series.
	PublishedAssumed bool
	// LogIndex is the number of its leaf in the log of sources, nil if it has none.
	LogIndex *int64
}

const bodiesAsOfSQL = `
	select f.id as fetch_id, f.source, f.url, coalesce(f.header->>'Content-Type', '') as content_type, f.fetched_at, f.sha256, f.bytes,
		k.published_at, k.observations, k.published_assumed,
		(select e.idx from log_entries e where e.log = 'sources' and e.key = 'body:' || f.id) as log_index
	from (
		select o.fetch_id, count(*) as observations, max(vintage_at) as published_at,
			coalesce(max(vintage_at) = max(vintage_at) filter (where o.assumed or o.vintage_at = w.first_loaded_at), false) as published_assumed
		from unnest(@series::text[]) as t (series) left join watermarks w on w.series = t.series cross join lateral (
			select distinct on (observed_at) observed_at, vintage_at, value, assumed, o.fetch_id
			from observations o
			where o.series = t.series and vintage_at <= @as_of
			order by observed_at desc, vintage_at desc
		) o
		where o.value is not null
		group by o.fetch_id
	) k join fetches f on f.id = k.fetch_id
	order by f.id` // primary keys, backwards

// BodiesAsOf returns the archived bodies that brought the observations of several series, as known at an instant. A body that came twice is
// one, its first fetch. They are ordered by the time of the fetch, then by SHA-256.
func (db ObservationStore) BodiesAsOf(ctx context.Context, ids []series.ID, asOf time.Time) ([]Body, error) {
	rows, err := db.reads.Query(ctx, bodiesAsOfSQL, pgx.NamedArgs{"series": ids, "as_of": asOf})
	list, err := collect[Body](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the bodies behind observations: %w", asUnavailable(err))
	}
	first := map[string]int{}
	out := list[:0]
	for _, b := range list {
		if i, twice := first[b.SHA256]; twice {
			out[i].Observations += b.Observations
			if b.PublishedAt.After(out[i].PublishedAt) {
				out[i].PublishedAt, out[i].PublishedAssumed = b.PublishedAt, b.PublishedAssumed
			}
			continue
		}
		first[b.SHA256] = len(out)
		out = append(out, b)
	}
	for i := range out {
		out[i].FetchedAt, out[i].PublishedAt = out[i].FetchedAt.UTC(), out[i].PublishedAt.UTC()
	}
	slices.SortStableFunc(out, func(a, b Body) int { return cmp.Or(a.FetchedAt.Compare(b.FetchedAt), cmp.Compare(a.SHA256, b.SHA256)) })
	return out, nil
}
