package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
)

// Load is what one fetch said.
type Load struct {
	FetchID   int64
	FetchedAt time.Time
	Readings  []series.Reading
	Covers    []series.Coverage
	// Vintages are what the publisher says that it showed before, the readings' values included. They count when their series is loaded
	// for the first time, and never after.
	Vintages []series.Observation
	// Published gives, per series, when a value is assumed to have become known where nobody saw it arrive.
	Published func(id series.ID, observedAt time.Time) time.Time
	// Anew makes the load be compared although its bytes are the ones that confirmed its series last: the parser has changed.
	Anew bool

	// accepted tells that a person has looked at it: what is missing is missing.
	accepted bool
}

// ErrShrunk: a page that claims to be complete lacks more of what is known than publishers ever withdraw at once. The error is a
// *ShrunkError.
var ErrShrunk = errors.New("the answer lacks too much of what is known")

// ShrunkError is an ErrShrunk that says what is missing.
type ShrunkError struct {
	// FetchID is that of the load.
	FetchID int64
	Series  series.ID
	// Missing of Known observations are not there.
	Missing, Known int64
}

// Error names the series and the numbers.
func (e *ShrunkError) Error() string {
	return fmt.Sprintf("%s: %d of %d known observations are missing: %v", e.Series, e.Missing, e.Known, ErrShrunk)
}

// Unwrap makes it an ErrShrunk.
func (e *ShrunkError) Unwrap() error { return ErrShrunk }

// Rows that a publisher may withdraw with one answer: 1 % of the known ones, or this many if that is more.
const withdrawable = 10

// StoreLoads compares what fetches said with what is known and adds each difference as a vintage: new and changed values, and
// values that a complete answer no longer has. It returns how many rows were added; the same loads stored again add none.
//
// A value seen for the first time while its series is first loaded has the vintages that the publisher names or, where it names none,
// the assumed one of its publication; every other value the time of its fetch. When anything was added, each of the dependents (signal ids) is due to be computed for the time of the
// newest fetch, in the same commit. A load older than what confirmed its series last changes nothing, and neither does one that is
// in quarantine or was rejected; one that was accepted counts as fetched when it was. All or nothing is stored, and only while the
// attempt that f names is the current one.
func (db *DB) StoreLoads(ctx context.Context, f task.Fence, loads []Load, dependents []string) (added int64, err error) {
	return db.storeLoads(ctx, f, 0, loads, dependents)
}

// storeLoads is StoreLoads, or a step that is done again (not zero).
func (db *DB) storeLoads(ctx context.Context, f task.Fence, again int64, loads []Load, dependents []string) (added int64, err error) {
	ctx, span := telemetry.Step(ctx, "store", slog.Int("answers", len(loads)))
	defer func() {
		span.Set(slog.Int64("rows", added))
		span.End(err)
	}()
	err = db.session(ctx, func(c *pgxpool.Conn) error {
		added = 0
		loads, err := admit(ctx, c, loads)
		if err != nil {
			return err
		}
		if same, err := confirmSame(ctx, c, f, again, loads); err != nil || same {
			return err
		}
		groups := group(loads)
		// The rows travel before the transaction begins: no lock is held while a client could be slow.
		if err := stage(ctx, c.Conn(), loads, groups); err != nil {
			return err
		}
		return inTx(ctx, c, func(tx pgx.Tx) (err error) {
			if added, err = merge(ctx, tx, groups); err != nil {
				return err
			}
			return conclude(ctx, tx, f, again, loads, dependents, added)
		})
	})
	if err != nil {
		return 0, fmt.Errorf("store observations: %w", err)
	}
	return added, nil
}

const dependentsSQL = `
	insert into runs as r (job, subject, slot, trigger, queue, status, max_attempts, trace)
	select @job, t.subject, @at, 'data', @queue, 'due', @max_attempts, nullif(@trace, '')
	from unnest(@subjects::text[]) as t (subject)
	order by t.subject
	on conflict (job, subject, slot) do update
	set status = 'due', attempt = r.attempt + 1, next_try_at = null, error = null, trace = excluded.trace
	where r.status not in ('due', 'queued')`

// conclude notes what was stored together, makes the dependents due where rows were added, and the whole conditional on the attempt.
func conclude(ctx context.Context, tx pgx.Tx, f task.Fence, again int64, loads []Load, dependents []string, added int64) error {
	if err := noteLoad(ctx, tx, stepOf(loads, added), again); err != nil {
		return err
	}
	if added > 0 && len(dependents) > 0 {
		var newest time.Time
		for _, l := range loads {
			if l.FetchedAt.After(newest) {
				newest = l.FetchedAt
			}
		}
		_, err := tx.Exec(ctx, dependentsSQL, dueArgs(ctx, task.Signal, pgx.NamedArgs{"subjects": dependents, "at": newest}))
		if err != nil {
			return fmt.Errorf("make signals due: %w", err)
		}
	}
	return checkFence(ctx, tx, f, added)
}

// speaks lists the series that a load says anything of.
func (l Load) speaks() map[series.ID]bool {
	ids := map[series.ID]bool{}
	for _, r := range l.Readings {
		ids[r.Series] = true
	}
	for _, c := range l.Covers {
		ids[c.Series] = true
	}
	return ids
}

// The last page of each series must be the one that confirmed it, and every page before that the newest of its address in the same run.
// What one page's bytes are says which page follows, so the same bytes from first to last are the same answer.
const sameSQL = `
	select coalesce(bool_and(coalesce(w.confirmed_at <= f.fetched_at and case
		when t.last then c.url = f.url and c.sha256 = f.sha256
		else (
			select p.sha256 = f.sha256
			from fetches p
			where p.source = c.source and p.url = f.url and p.run_id = c.run_id and p.status in (200, 304)
				and (p.fetched_at, p.id) <= (c.fetched_at, c.id)
			order by p.fetched_at desc, p.id desc
			limit 1)
		end, false)), false)
	from unnest(@ids::bigint[], @series::text[], @last::bool[]) as t (fetch_id, series, last)
	join fetches f on f.id = t.fetch_id
	left join watermarks w on w.series = t.series
	left join fetches c on c.id = w.fetch_id` // index fetches_by_url

const confirmSameSQL = `
	update watermarks w set fetch_id = t.fetch_id, confirmed_at = t.fetched_at
	from unnest(@ids::bigint[], @series::text[], @at::timestamptz[], @last::bool[]) as t (fetch_id, series, fetched_at, last)
	where w.series = t.series and t.last` // the caller holds the series

// confirmSame spares the comparison where every series was confirmed last by the very bytes that came again.
func confirmSame(ctx context.Context, c *pgxpool.Conn, f task.Fence, again int64, loads []Load) (same bool, err error) {
	var ids []int64
	var names []series.ID
	var at []time.Time
	var last []bool
	newest := map[series.ID]int{}
	for _, l := range loads {
		if l.Anew {
			return false, nil
		}
		for id := range l.speaks() {
			if i, ok := newest[id]; ok {
				last[i] = false
			}
			newest[id] = len(ids)
			ids, names, at, last = append(ids, l.FetchID), append(names, id), append(at, l.FetchedAt), append(last, true)
		}
	}
	args := pgx.NamedArgs{"ids": ids, "series": names, "at": at, "last": last}
	if err := c.QueryRow(ctx, sameSQL, args).Scan(&same); err != nil || !same {
		return false, err
	}
	err = inTx(ctx, c, func(tx pgx.Tx) error {
		if err := lockSeries(ctx, tx, names); err != nil {
			return err
		}
		// Another load may have confirmed them meanwhile.
		if err := tx.QueryRow(ctx, sameSQL, args).Scan(&same); err != nil || !same {
			return err
		}
		if _, err := tx.Exec(ctx, confirmSameSQL, args); err != nil {
			return err
		}
		if err := noteLoad(ctx, tx, stepOf(loads, 0), again); err != nil {
			return err
		}
		return checkFence(ctx, tx, f, 0)
	})
	return same && err == nil, err
}
