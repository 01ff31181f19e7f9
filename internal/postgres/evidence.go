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
	select t.series, o.observed_at, o.vintage_at, o.value, o.assumed, o.fetch_id, 0 as vintages
	from unnest(@series::text[], @stored::text[], @observed::timestamptz[], @vintages::timestamptz[]) as t (series, stored, observed_at, vintage_at)
	join observations o on o.series = t.stored and o.observed_at = t.observed_at and o.vintage_at = case
		when t.series = t.stored then t.vintage_at
		else (select max(b.vintage_at) from observations b where b.series = t.stored and b.observed_at = t.observed_at and b.vintage_at < t.vintage_at)
	end
	where o.value is not null
	order by t.series, o.observed_at` // primary key

// CellsKnown returns the stored observations of cells, with the fetches that brought them, ordered by series and time. A cell of series.Before
// is the observation that its vintage replaced. CellsKnown does not count vintages.
func (db ObservationStore) CellsKnown(ctx context.Context, cells []signals.Cell) ([]KnownObservation, error) {
	ids, stored := make([]series.ID, len(cells)), make([]series.ID, len(cells))
	observed, vintages := make([]time.Time, len(cells)), make([]time.Time, len(cells))
	for i, c := range cells {
		ids[i], observed[i], vintages[i] = c.Series, c.ObservedAt.Time(), c.VintageAt.Time()
		stored[i], _ = series.Current(c.Series)
	}
	rows, err := db.reads.Query(ctx, cellsSQL, pgx.NamedArgs{"series": ids, "stored": stored, "observed": observed, "vintages": vintages})
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

// Body is an archived body that a snapshot rests on.
type Body struct {
	FetchID     int64
	Source, URL string
	ContentType string
	FetchedAt   time.Time
	// Again are the later times at which the same bytes came and brought or withdrew a value, ascending.
	Again  []time.Time `db:"-"`
	SHA256 string
	Bytes  int64
	// PublishedAt is when the newest of its observations in force became known, or of all if none is. Observations counts those in force.
	PublishedAt  time.Time
	Observations int
	// Withdraws reports that it took an observation back.
	Withdraws bool
	// PublishedAssumed reports that PublishedAt was not observed: the observation was there at the first load of its series.
	PublishedAssumed bool
	// AssumedSeries are the series that were loaded for the first time with it: their values were there before, and the times at which they became
	// known are calculated.
	AssumedSeries []string
	// LogIndex is the number of its leaf in the log of sources, nil while no signed size has it.
	LogIndex *int64
}

const bodiesAsOfSQL = `
	select f.id as fetch_id, f.source, f.url, coalesce(f.header->>'Content-Type', '') as content_type, f.fetched_at, f.sha256, f.bytes,
		coalesce(k.published_at, k.any_published_at) as published_at, k.observations, k.withdraws, k.published_assumed, k.assumed_series,
		(select e.idx from log_heads h join log_entries e on e.log = h.log and e.idx < h.size
			where h.log = 'sources' and e.key = 'body:' || f.id) as log_index
	from (
		select o.fetch_id, count(*) filter (where o.in_force and t.input) as observations,
			max(o.vintage_at) filter (where o.in_force) as published_at, max(o.vintage_at) as any_published_at,
			bool_or(o.withdraws) as withdraws, coalesce(array_agg(distinct t.series order by t.series) filter (where o.assumed and t.input), '{}') as assumed_series,
			coalesce(case when bool_or(o.in_force)
				then max(o.vintage_at) filter (where o.in_force) = max(o.vintage_at) filter (where o.in_force and o.unobserved)
				else max(o.vintage_at) = max(o.vintage_at) filter (where o.unobserved) end, false) as published_assumed
		from unnest(@series::text[], @input::boolean[]) as t (series, input) left join watermarks w on w.series = t.series cross join lateral (
			select observed_at, vintage_at, value, assumed, o.fetch_id,
				value is not null and (assumed or vintage_at = w.first_loaded_at) as unobserved,
				value is not null and row_number() over (partition by observed_at order by vintage_at desc) = 1 as in_force,
				value is null and bool_or(value is not null) over (
					partition by observed_at order by vintage_at desc rows between 1 following and unbounded following) as withdraws
			from observations o
			where o.series = t.series and vintage_at <= @as_of
		) o
		where o.value is not null or o.withdraws
		group by o.fetch_id
	) k join fetches f on f.id = k.fetch_id
	order by f.id` // primary keys, backwards

// CountBehind returns how many observations BodiesAsOf goes through. Observations are only added, so as long as the number stays the same,
// the bodies do, too.
func (db ObservationStore) CountBehind(ctx context.Context, d signals.Definition, asOf time.Time) (n int64, err error) {
	err = db.reads.QueryRow(ctx, `select count(*) from observations where series = any(@series) and vintage_at <= @as_of`,
		pgx.NamedArgs{"series": d.BacktestInputs(), "as_of": asOf}).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the observations behind a signal: %w", asUnavailable(err))
	}
	return n, nil
}

// BodiesAsOf returns the archived bodies that a signal's numbers, intervals, backtest and record rest on, as known at an instant. Each
// brought a value of its inputs or of its backtest's target, in force or replaced since, or withdrew one. A body that came
// twice is one, its first fetch, with the times of the others in Again. They are ordered by the time of the fetch, then by SHA-256.
func (db ObservationStore) BodiesAsOf(ctx context.Context, d signals.Definition, asOf time.Time) ([]Body, error) {
	ids := d.BacktestInputs()
	inputs := make([]bool, len(ids))
	for i, id := range ids {
		inputs[i] = slices.Contains(d.Inputs, id)
	}
	rows, err := db.reads.Query(ctx, bodiesAsOfSQL, pgx.NamedArgs{"series": ids, "input": inputs, "as_of": asOf})
	list, err := collect[Body](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the bodies behind observations: %w", asUnavailable(err))
	}
	first := map[string]int{}
	out := list[:0]
	for _, b := range list {
		if i, twice := first[b.SHA256]; twice {
			out[i].Again = append(out[i].Again, b.FetchedAt.UTC())
			out[i].Observations, out[i].Withdraws = out[i].Observations+b.Observations, out[i].Withdraws || b.Withdraws
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
