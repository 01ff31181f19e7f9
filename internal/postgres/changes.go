package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
	"tidemark/signals"
	"tidemark/signals/changes"
)

const snapshotAboutSQL = `
	select ` + snapshotColumns + ` from snapshots
	where signal = @signal and at <= @as_of and observed_at <= @about
	order by at desc
	limit 1` // primary key

// SnapshotAbout returns a signal's newest snapshot at or before asOf that is about an observation at or before about. It returns
// ErrNotFound if no such snapshot exists.
func (db SnapshotStore) SnapshotAbout(ctx context.Context, signal string, about, asOf time.Time) (Snapshot, error) {
	return db.snapshot(ctx, snapshotAboutSQL, pgx.NamedArgs{"signal": signal, "about": about, "as_of": asOf})
}

const pointAboutSQL = `
	select s.signal, s.at, s.status, s.cause, s.covers_from, e.observed_at, e.input_known_at as known_at, s.first_ingested_at, e.value, e.lo, e.hi, e.baseline,
		e.scale, e.z_score as z, e.delta_pct, e.n, '[]'::jsonb as components, s.inputs, null::jsonb as backtest, s.uncertainty, s.synthetic, s.code_version,
		s.run_id, s.served_at, s.loads_seen
	from (select * from snapshots where signal = @signal and at <= @as_of order by at desc limit 1) s cross join lateral (
		select * from (
			select distinct on (observed_at) * from estimates
			where signal = @signal and observed_at <= @about and known_at <= s.at
			order by observed_at desc, known_at desc, edition desc
		) points where not gone
		order by observed_at desc
		limit 1
	) e` // primary keys, backwards

// PointAbout returns the newest point at or before about in a signal's history, as the signal's newest snapshot at or before asOf shows the
// history. The result is that snapshot with the point's numbers in the place of its own, and without components and backtest, which are
// not about the point. It returns ErrNotFound if the history has no such point.
func (db SnapshotStore) PointAbout(ctx context.Context, signal string, about, asOf time.Time) (Snapshot, error) {
	return db.snapshot(ctx, pointAboutSQL, pgx.NamedArgs{"signal": signal, "about": about, "as_of": asOf})
}

const observedAfterSQL = `
	select min(observed_at) from snapshots
	where signal = @signal and at <= @as_of and observed_at >= @day::timestamptz + interval '1 day'` // primary key

// ObservedAfter returns the first observation time later than a day that a signal's snapshot at or before asOf is about, or zero.
func (db SnapshotStore) ObservedAfter(ctx context.Context, signal string, day, asOf time.Time) (time.Time, error) {
	var at *time.Time
	err := db.reads.QueryRow(ctx, observedAfterSQL, pgx.NamedArgs{"signal": signal, "day": day.UTC().Truncate(24 * time.Hour), "as_of": asOf}).Scan(&at)
	if err != nil {
		return time.Time{}, fmt.Errorf("look up the next snapshot of %s: %w", signal, asUnavailable(err))
	}
	if at == nil {
		return time.Time{}, nil
	}
	return at.UTC(), nil
}

const snapshotBeforeSQL = `
	select ` + snapshotColumns + ` from snapshots
	where signal = @signal and at < @as_of
		and (observed_at, value, baseline, z_score) is distinct from (@observed_at::timestamptz, @value::float8, @baseline::float8, @z::float8)
	order by at desc
	limit 1` // primary key

// SnapshotBefore returns the newest earlier snapshot of the same signal with other values. It returns ErrNotFound if no such snapshot
// exists.
func (db SnapshotStore) SnapshotBefore(ctx context.Context, s Snapshot) (Snapshot, error) {
	return db.snapshot(ctx, snapshotBeforeSQL, pgx.NamedArgs{
		"signal": s.Signal, "as_of": s.At, "observed_at": s.ObservedAt, "value": s.Value, "baseline": s.Baseline, "z": s.Z,
	})
}

func (db SnapshotStore) snapshot(ctx context.Context, sql string, args pgx.NamedArgs) (Snapshot, error) {
	rows, err := db.reads.Query(ctx, sql, args)
	if err != nil {
		return Snapshot{}, fmt.Errorf("read a snapshot of %s: %w", args["signal"], asUnavailable(err))
	}
	s, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Snapshot])
	if errors.Is(err, pgx.ErrNoRows) {
		return Snapshot{}, fmt.Errorf("a snapshot of %s: %w", args["signal"], ErrNotFound)
	}
	if err != nil {
		return Snapshot{}, fmt.Errorf("read a snapshot of %s: %w", args["signal"], asUnavailable(err))
	}
	return s, nil
}

// ErrTooMany means that a query would read too many rows.
var ErrTooMany = errors.New("too many observations")

// maxNews limits the vintages that KnownBetween reads.
const maxNews = 100_000

const newsSQL = `
	select o.series, o.observed_at, o.vintage_at, coalesce(o.value, 0), coalesce(o.marker, ''), o.assumed, f.source,
		case when o.assumed then 0 else coalesce(f.run_id, 0) end
	from unnest(@series::text[]) as t (series) cross join lateral (
		select series, observed_at, vintage_at, value, marker, assumed, fetch_id
		from observations
		where series = t.series and vintage_at > @after and vintage_at <= @until
		offset 0
	) o join fetches f on f.id = o.fetch_id
	limit @most` // primary keys

// KnownBetween returns the inputs of a signal as of from, as InputsOf does. It also returns the vintages that became known after from, up
// to and including to, in no order. It returns ErrTooMany if these are more than maxNews.
func (db ObservationStore) KnownBetween(ctx context.Context, d signals.Definition, from, to time.Time) (series.Set, []changes.Vintage, error) {
	known, err := db.InputsOf(ctx, d, from)
	if err != nil {
		return nil, nil, asUnavailable(err)
	}
	rows, err := db.reads.Query(ctx, newsSQL, pgx.NamedArgs{"series": d.Inputs, "after": from, "until": to, "most": maxNews + 1})
	if err != nil {
		return nil, nil, fmt.Errorf("read what became known: %w", asUnavailable(err))
	}
	news, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v changes.Vintage, err error) {
		err = row.Scan(&v.Series, &v.ObservedAt, &v.VintageAt, &v.Value, &v.Marker, &v.Assumed, &v.Source, &v.Release)
		v.ObservedAt, v.VintageAt = v.ObservedAt.UTC(), v.VintageAt.UTC()
		return v, err
	})
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read what became known: %w", asUnavailable(err))
	case len(news) > maxNews:
		return nil, nil, fmt.Errorf("more than %d: %w", maxNews, ErrTooMany)
	}
	return known, news, nil
}
