package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
	"tidemark/signals"
)

// ObservationStore keeps the observations with all their vintages, the loads that brought them, and the steps that rebuild them.
//
// It reads arrivals, fetches, load_fetches, loads, log_entries, log_heads, observations, quarantine, quarantined_fetches, rebuilding, signal_states,
// snapshots, watermarks. It writes forecasts_brought, load_fetches, loads, observations, rebuilding, runs, signal_states, watermarks. It uses
// ForecastStore, SnapshotStore.
type ObservationStore struct{ *connections }

// Reads series by series to avoid a sort by their names, which takes longer than the rest of the query.
const asOfSQL = `
	select t.n, o.observed_at, o.vintage_at, o.value
	from unnest(@series::text[]) with ordinality as t (series, n) cross join lateral (
		select distinct on (observed_at) observed_at, vintage_at, value
		from observations
		where series = t.series and vintage_at <= @as_of
		order by observed_at desc, vintage_at desc
	) o
	where o.value is not null
	order by t.n, o.observed_at` // primary key, backwards

// ObservationsAsOf returns the observations of several series as known at an instant. A series without observations is absent. If it is
// called with ascending instants, it only reads the data that were added in between.
func (db ObservationStore) ObservationsAsOf(ctx context.Context, ids []series.ID, asOf time.Time) (series.Set, error) {
	all, err := db.observations(ctx, asOfSQL, ids, asOf, func(s *knownPoints) []series.Point { return s.values })
	if err != nil {
		return nil, fmt.Errorf("read observations: %w", err)
	}
	return all, nil
}

const beforeSQL = `
	select t.n, n.observed_at, n.vintage_at, b.value
	from unnest(@series::text[]) with ordinality as t (series, n) cross join lateral (
		select observed_at, vintage_at, value, lead(vintage_at) over (partition by observed_at order by vintage_at desc) as before_at,
			row_number() over (partition by observed_at order by vintage_at desc) as place
		from observations
		where series = t.series and vintage_at <= @as_of
	) n join observations b on b.series = t.series and b.observed_at = n.observed_at and b.vintage_at = n.before_at
	where n.place = 1 and n.value is not null and b.value is not null
	order by t.n, n.observed_at` // primary key, backwards

// InputsOf returns the inputs of a signal as of an instant. For inputs in Reestimated it adds the values before their newest change.
func (db ObservationStore) InputsOf(ctx context.Context, d signals.Definition, asOf time.Time) (series.Set, error) {
	states, err := db.knownAsOf(ctx, d.Inputs, asOf)
	if err != nil {
		return nil, fmt.Errorf("read observations: %w", err)
	}
	if states == nil {
		in, err := db.points(ctx, asOfSQL, d.Inputs, asOf)
		if err != nil {
			return nil, fmt.Errorf("read observations: %w", err)
		}
		before, err := db.points(ctx, beforeSQL, d.Reestimated, asOf)
		if err != nil {
			return nil, fmt.Errorf("read what observations were before: %w", err)
		}
		return withBefore(in, before), nil
	}
	in := set(d.Inputs, states, func(s *knownPoints) []series.Point { return s.values })
	for i, id := range d.Inputs {
		if slices.Contains(d.Reestimated, id) {
			in = withBefore(in, set(d.Inputs[i:i+1], states[i:i+1], func(s *knownPoints) []series.Point { return s.replaced }))
		}
	}
	return in, nil
}

// withBefore adds to a set what its values were before.
func withBefore(in, before series.Set) series.Set {
	for id, points := range before {
		in[series.Before(id)] = points
	}
	return in
}

// VintagesAsOf returns all vintages of several series that were known at an instant, each series by observation time and vintage.
func (db ObservationStore) VintagesAsOf(ctx context.Context, ids []series.ID, asOf time.Time) (map[series.ID][]series.Observation, error) {
	rows, err := db.reads.Query(ctx, `
		select series, observed_at, vintage_at, coalesce(value, 0), coalesce(marker, ''), assumed
		from observations
		where series = any(@series) and vintage_at <= @as_of
		order by series, observed_at, vintage_at`, pgx.NamedArgs{"series": ids, "as_of": asOf}) // primary key
	if err != nil {
		return nil, fmt.Errorf("read vintages: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[series.Observation])
	if err != nil {
		return nil, fmt.Errorf("read vintages: %w", err)
	}
	out := map[series.ID][]series.Observation{}
	for _, o := range list {
		o.ObservedAt, o.VintageAt = o.ObservedAt.UTC(), o.VintageAt.UTC()
		out[o.Series] = append(out[o.Series], o)
	}
	return out, nil
}

const firstSQL = `
	select t.n, o.observed_at, o.vintage_at, o.value
	from unnest(@series::text[]) with ordinality as t (series, n) cross join lateral (
		select distinct on (observed_at) observed_at, vintage_at, value
		from observations
		where series = t.series and vintage_at <= @as_of and value is not null
		order by observed_at, vintage_at
	) o
	order by t.n, o.observed_at` // primary key

// FirstObservationsAsOf returns the observations of several series as known at an instant, each with the first number that was published
// for it.
func (db ObservationStore) FirstObservationsAsOf(ctx context.Context, ids []series.ID, asOf time.Time) (series.Set, error) {
	all, err := db.observations(ctx, firstSQL, ids, asOf, (*knownPoints).firsts)
	if err != nil {
		return nil, fmt.Errorf("read first observations: %w", err)
	}
	return all, nil
}

// observations returns one vintage of each observation, which the function of selects. It reads the rows of sql if the cached state of a
// series is newer than asOf.
func (db ObservationStore) observations(ctx context.Context, sql string, ids []series.ID, asOf time.Time, of func(*knownPoints) []series.Point) (series.Set, error) {
	if states, err := db.knownAsOf(ctx, ids, asOf); err != nil || states != nil {
		return set(ids, states, of), err
	}
	return db.points(ctx, sql, ids, asOf)
}

// points reads the rows of sql. Each row has the number of a series in ids, from 1, and a point of it; rows are in the order of both.
func (db ObservationStore) points(ctx context.Context, sql string, ids []series.ID, asOf time.Time) (series.Set, error) {
	rows, err := db.pool.Query(ctx, sql, pgx.NamedArgs{"series": ids, "as_of": asOf})
	if err != nil {
		return nil, err
	}
	lists := make([][]series.Point, len(ids))
	var n int64
	var observed, vintage time.Time
	var value float64
	_, err = pgx.ForEachRow(rows, []any{&n, &observed, &vintage, &value}, func() error {
		lists[n-1] = append(lists[n-1], series.Point{ObservedAt: series.InstantOf(observed), VintageAt: series.InstantOf(vintage), Value: value})
		return nil
	})
	if err != nil {
		return nil, err
	}
	set := make(series.Set, len(ids))
	for i, points := range lists {
		if len(points) > 0 {
			set[ids[i]] = points
		}
	}
	return set, nil
}

const newestVintageSQL = `
	select max(o.vintage_at)
	from unnest(@series::text[]) as t (series) join observations o on o.series = t.series
	where o.vintage_at <= @as_of` // primary key alone

// NewestVintage returns the time of the newest vintage of several series that was known at an instant. It is zero if they have none.
func (db ObservationStore) NewestVintage(ctx context.Context, ids []series.ID, asOf time.Time) (time.Time, error) {
	states, err := db.knownAsOf(ctx, ids, asOf)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the newest vintage: %w", err)
	}
	if states != nil {
		var newest time.Time
		for _, s := range states {
			newest = latest(newest, s.newest)
		}
		return newest, nil
	}
	var at *time.Time
	if err := db.reads.QueryRow(ctx, newestVintageSQL, pgx.NamedArgs{"series": ids, "as_of": asOf}).Scan(&at); err != nil {
		return time.Time{}, fmt.Errorf("read the newest vintage: %w", err)
	}
	if at == nil {
		return time.Time{}, nil
	}
	return at.UTC(), nil
}

// RecordedFrom returns the time since which the values of several series were recorded as they came, as of an instant. It is not before the
// first load of a series, nor before its newest assumed vintage. A vintage is assumed if its publication was not observed. Series without
// vintages do not count. The result is zero if no series has a vintage.
func (db ObservationStore) RecordedFrom(ctx context.Context, ids []series.ID, asOf time.Time) (time.Time, error) {
	states, err := db.knownAsOf(ctx, ids, asOf)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the newest assumed vintage: %w", err)
	}
	var at *time.Time
	if states != nil {
		var some []series.ID
		var newest time.Time
		for i, s := range states {
			if !s.assumed.IsZero() {
				some, newest = append(some, ids[i]), latest(newest, s.assumed)
			}
		}
		if len(some) == 0 {
			return time.Time{}, nil
		}
		err = db.reads.QueryRow(ctx, `select greatest(max(first_loaded_at), @newest) from watermarks where series = any(@series)`,
			pgx.NamedArgs{"series": some, "newest": newest}).Scan(&at) // primary key
	} else {
		err = db.reads.QueryRow(ctx, `
			select greatest(max(o.vintage_at), max(w.first_loaded_at))
			from unnest(@series::text[]) as t (series) join observations o on o.series = t.series left join watermarks w on w.series = t.series
			where o.assumed and o.vintage_at <= @as_of`, pgx.NamedArgs{"series": ids, "as_of": asOf}).Scan(&at) // primary key
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("look up from when on values were recorded: %w", err)
	}
	if at == nil {
		return time.Time{}, nil
	}
	return at.UTC(), nil
}

// Observations returns every vintage of a series, ordered by observation time and vintage.
func (db ObservationStore) Observations(ctx context.Context, id series.ID) ([]series.Observation, error) {
	rows, err := db.reads.Query(ctx, `
		select series, observed_at, vintage_at, coalesce(value, 0), coalesce(marker, ''), assumed
		from observations
		where series = @series
		order by observed_at, vintage_at`, pgx.NamedArgs{"series": id})
	if err != nil {
		return nil, fmt.Errorf("read observations of %s: %w", id, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[series.Observation])
	if err != nil {
		return nil, fmt.Errorf("read observations of %s: %w", id, err)
	}
	return list, nil
}
