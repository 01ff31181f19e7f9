package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/series"
	"tidemark/workers/task"
)

const asOfSQL = `
	select series, observed_at, vintage_at, value
	from (
		select distinct on (series, observed_at) series, observed_at, vintage_at, value
		from observations
		where series = any(@series) and vintage_at <= @as_of
		order by series, observed_at, vintage_at desc
	) known
	where value is not null
	order by series, observed_at` // primary key

// ObservationsAsOf returns what was known of several series at an instant. A series without any is absent from the set.
func (db *DB) ObservationsAsOf(ctx context.Context, ids []series.ID, asOf time.Time) (series.Set, error) {
	rows, err := db.pool.Query(ctx, asOfSQL, pgx.NamedArgs{"series": ids, "as_of": asOf})
	if err != nil {
		return nil, fmt.Errorf("read observations: %w", err)
	}
	set := series.Set{}
	var id series.ID
	var p series.Point
	_, err = pgx.ForEachRow(rows, []any{&id, &p.ObservedAt, &p.VintageAt, &p.Value}, func() error {
		set[id] = append(set[id], p)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read observations: %w", err)
	}
	return set, nil
}

// Observations returns every vintage of a series, ordered by observation time and vintage.
func (db *DB) Observations(ctx context.Context, id series.ID) ([]series.Observation, error) {
	rows, err := db.pool.Query(ctx, `
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

// Load is what one fetch said.
type Load struct {
	FetchID   int64
	FetchedAt time.Time
	Readings  []series.Reading
	Covers    []series.Coverage
	// Published gives, per series, when a value is assumed to have become known where nobody saw it arrive.
	Published func(id series.ID, observedAt time.Time) time.Time
	// Anew makes the load be compared although its bytes are the ones that confirmed its series last: the parser has changed.
	Anew bool
}

// ErrShrunk: a page that claims to be complete lacks more of what is known than publishers ever withdraw at once.
var ErrShrunk = errors.New("the answer lacks too much of what is known")

// Rows that a publisher may withdraw with one answer: 1 % of the known ones, or this many if that is more.
const withdrawable = 10

// StoreLoads compares what fetches said with what is known and adds each difference as a vintage: new and changed values, and
// values that a complete answer no longer has. It returns how many rows were added; the same loads stored again add none.
//
// A value seen for the first time while its series is first loaded gets the assumed vintage of its publication; every other one
// the time of its fetch. When anything was added, each of the dependents (signal ids) is due to be computed for the time of the
// newest fetch, in the same commit. A load older than what confirmed its series last changes nothing. All or nothing is stored, and only while the attempt that f names is the current one.
func (db *DB) StoreLoads(ctx context.Context, f task.Fence, loads []Load, dependents []string) (int64, error) {
	var added int64
	err := db.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		if same, err := db.confirmSame(ctx, c, f, loads); err != nil || same {
			return err
		}
		// The rows travel before the transaction begins: no lock is held while a client could be slow.
		if err := stage(ctx, c, loads); err != nil {
			return err
		}
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) (err error) {
			added, err = merge(ctx, tx, f, loads, dependents)
			return err
		})
	})
	if err != nil {
		return 0, fmt.Errorf("store observations: %w", err)
	}
	return added, nil
}

const sameSQL = `
	select coalesce(bool_and(coalesce(confirmed.url = f.url and confirmed.sha256 = f.sha256 and w.confirmed_at <= f.fetched_at, false)), false)
	from unnest(@ids::bigint[], @series::text[]) as t (fetch_id, series)
	join fetches f on f.id = t.fetch_id
	left join watermarks w on w.series = t.series
	left join fetches confirmed on confirmed.id = w.fetch_id`

const confirmSameSQL = `
	update watermarks w set fetch_id = t.fetch_id, confirmed_at = t.fetched_at
	from unnest(@ids::bigint[], @series::text[], @at::timestamptz[]) as t (fetch_id, series, fetched_at)
	where w.series = t.series`

// confirmSame spares the comparison where every series was confirmed last by the very bytes that came again.
func (db *DB) confirmSame(ctx context.Context, c *pgxpool.Conn, f task.Fence, loads []Load) (same bool, err error) {
	var ids []int64
	var names []string
	var at []time.Time
	for _, l := range loads {
		if l.Anew {
			return false, nil
		}
		seen := map[series.ID]bool{}
		for _, r := range l.Readings {
			seen[r.Series] = true
		}
		for _, c := range l.Covers {
			seen[c.Series] = true
		}
		for id := range seen {
			ids, names, at = append(ids, l.FetchID), append(names, string(id)), append(at, l.FetchedAt)
		}
	}
	args := pgx.NamedArgs{"ids": ids, "series": names, "at": at}
	if err := c.QueryRow(ctx, sameSQL, args).Scan(&same); err != nil || !same {
		return false, err
	}
	return true, pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, confirmSameSQL, args); err != nil {
			return err
		}
		return hold(ctx, tx, f, 0)
	})
}

const stageSQL = `
	create temporary table if not exists stage_readings (
		load int not null, series text not null, observed_at timestamptz not null, value double precision, marker text,
		published_at timestamptz not null);
	create temporary table if not exists stage_covers (
		load int not null, series text not null, from_at timestamptz, to_at timestamptz);
	create temporary table if not exists stage_loads (
		load int not null, fetch_id bigint not null, fetched_at timestamptz not null);
	truncate stage_readings, stage_covers, stage_loads`

func stage(ctx context.Context, c *pgxpool.Conn, loads []Load) error {
	if _, err := c.Exec(ctx, stageSQL); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	var readings, covers, heads [][]any
	for i, l := range loads {
		heads = append(heads, []any{i, l.FetchID, l.FetchedAt})
		for _, r := range l.Readings {
			var value, marker any
			if r.Marker == "" {
				value = r.Value
			} else {
				marker = r.Marker
			}
			readings = append(readings, []any{i, string(r.Series), r.ObservedAt, value, marker, l.Published(r.Series, r.ObservedAt)})
		}
		for _, cov := range l.Covers {
			covers = append(covers, []any{i, string(cov.Series), orNull(cov.Window.From), orNull(cov.Window.To)})
		}
	}
	for _, t := range []struct {
		name    string
		columns []string
		rows    [][]any
	}{
		{"stage_readings", []string{"load", "series", "observed_at", "value", "marker", "published_at"}, readings},
		{"stage_covers", []string{"load", "series", "from_at", "to_at"}, covers},
		{"stage_loads", []string{"load", "fetch_id", "fetched_at"}, heads},
	} {
		if _, err := c.CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, pgx.CopyFromRows(t.rows)); err != nil {
			return fmt.Errorf("stage: %w", err)
		}
	}
	return nil
}

func orNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// The series that nobody has loaded before these loads. Asked once, before the first of them confirms anything: the later pages of a
// first answer are as old news as the first one.
const firstLoadsSQL = `
	create temporary table first_loads on commit drop as
	select t.series
	from (select series from stage_readings union select series from stage_covers) t
	where not exists (select from watermarks w where w.series = t.series)`

// What is known of the series that a load speaks of: the newest vintage of each observation.
const knownSQL = `
	create temporary table known on commit drop as
	select distinct on (o.series, o.observed_at) o.series, o.observed_at, o.vintage_at, o.value, o.marker
	from observations o
	where o.series in (
		select series from stage_readings where load = @load union select series from stage_covers where load = @load)
	order by o.series, o.observed_at, o.vintage_at desc`

const shrunkSQL = `
	select c.series, count(*), count(*) filter (where s.series is null)
	from stage_covers c
	join known k on k.series = c.series and k.observed_at >= coalesce(c.from_at, '-infinity')
		and k.observed_at <= coalesce(c.to_at, 'infinity') and k.marker is distinct from 'withdrawn'
	left join stage_readings s on s.load = c.load and s.series = k.series and s.observed_at = k.observed_at
	where c.load = @load and not exists (
		select from watermarks w join stage_loads l on l.load = c.load where w.series = c.series and w.confirmed_at > l.fetched_at)
	group by c.series
	having count(*) filter (where s.series is null) > greatest(@withdrawable::bigint, count(*) / 100)
		or count(*) filter (where s.series is null) > count(*) / 2
	limit 1`

// An answer older than the one that confirmed its series last says nothing new. Otherwise a vintage is never older than the one it
// replaces, whatever the clocks of two workers say.
const addReadingsSQL = `
	insert into observations (series, observed_at, vintage_at, value, marker, assumed, fetch_id)
	select s.series, s.observed_at,
		case
			when k.series is null and first.series is not null then least(s.published_at, l.fetched_at)
			when k.series is null then l.fetched_at
			else greatest(l.fetched_at, k.vintage_at + interval '1 microsecond')
		end,
		s.value, s.marker,
		k.series is null and first.series is not null and s.published_at < l.fetched_at,
		l.fetch_id
	from stage_readings s
	join stage_loads l on l.load = s.load
	left join known k on k.series = s.series and k.observed_at = s.observed_at
	left join watermarks w on w.series = s.series
	left join first_loads first on first.series = s.series
	where s.load = @load and (w.series is null or w.confirmed_at <= l.fetched_at)
		and (k.series is null or k.value is distinct from s.value or k.marker is distinct from s.marker)
	on conflict do nothing`

const addWithdrawalsSQL = `
	insert into observations (series, observed_at, vintage_at, marker, fetch_id)
	select distinct k.series, k.observed_at, greatest(l.fetched_at, k.vintage_at + interval '1 microsecond'), 'withdrawn', l.fetch_id
	from stage_covers c
	join stage_loads l on l.load = c.load
	join known k on k.series = c.series and k.observed_at >= coalesce(c.from_at, '-infinity')
		and k.observed_at <= coalesce(c.to_at, 'infinity') and k.marker is distinct from 'withdrawn'
	left join watermarks w on w.series = c.series
	where c.load = @load and (w.series is null or w.confirmed_at <= l.fetched_at)
		and not exists (
			select from stage_readings s where s.load = c.load and s.series = k.series and s.observed_at = k.observed_at)
	on conflict do nothing`

const confirmSQL = `
	insert into watermarks as w (series, first_loaded_at, fetch_id, confirmed_at)
	select t.series, l.fetched_at, l.fetch_id, l.fetched_at
	from (
		select series from stage_readings where load = @load union select series from stage_covers where load = @load) t
	join stage_loads l on l.load = @load
	on conflict (series) do update set fetch_id = excluded.fetch_id, confirmed_at = excluded.confirmed_at
	where w.confirmed_at <= excluded.confirmed_at`

const dependentsSQL = `
	insert into runs as r (job, subject, slot, trigger, queue, status, max_attempts)
	select @job, t.subject, (select max(fetched_at) from stage_loads), 'data', @queue, 'due', @max_attempts
	from unnest(@subjects::text[]) as t (subject)
	on conflict (job, subject, slot) do update
	set status = 'due', attempt = r.attempt + 1, next_try_at = null, error = null
	where r.status not in ('due', 'queued')`

func merge(ctx context.Context, tx pgx.Tx, f task.Fence, loads []Load, dependents []string) (int64, error) {
	var added int64
	if _, err := tx.Exec(ctx, firstLoadsSQL); err != nil {
		return 0, fmt.Errorf("read what was ever loaded: %w", err)
	}
	for i := range loads {
		args := pgx.NamedArgs{"load": i, "withdrawable": withdrawable}
		if _, err := tx.Exec(ctx, knownSQL, args); err != nil {
			return 0, fmt.Errorf("read what is known: %w", err)
		}
		var id string
		var have, missing int64
		err := tx.QueryRow(ctx, shrunkSQL, args).Scan(&id, &have, &missing)
		if err == nil {
			return 0, fmt.Errorf("%s: %d of %d known observations are missing: %w", id, missing, have, ErrShrunk)
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return 0, fmt.Errorf("compare with what is known: %w", err)
		}
		for _, sql := range []string{addReadingsSQL, addWithdrawalsSQL} {
			tag, err := tx.Exec(ctx, sql, args)
			if err != nil {
				return 0, fmt.Errorf("add vintages: %w", err)
			}
			added += tag.RowsAffected()
		}
		for _, sql := range []string{confirmSQL, `drop table known`} {
			if _, err := tx.Exec(ctx, sql, args); err != nil {
				return 0, fmt.Errorf("confirm: %w", err)
			}
		}
	}
	if added > 0 && len(dependents) > 0 {
		p := task.Policies[task.Signal]
		_, err := tx.Exec(ctx, dependentsSQL, pgx.NamedArgs{
			"job": task.Signal, "subjects": dependents, "queue": p.Queue, "max_attempts": p.MaxAttempts,
		})
		if err != nil {
			return 0, fmt.Errorf("make signals due: %w", err)
		}
	}
	return added, hold(ctx, tx, f, added)
}
