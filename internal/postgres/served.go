package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Served is the data to serve for a signal, read in one snapshot of the database.
type Served struct {
	// Snapshot is the newest snapshot for an instant that has come, or nil.
	Snapshot *Snapshot
	// Ahead is the instant of the newest stored snapshot for a future time, or zero.
	Ahead time.Time
	// Changed are the points of the history as of the snapshot that changed, in ascending ObservedAt. Removed points are marked as gone.
	Changed []Point
	// Newest is the number of the newest row read. It is passed to the next call, which then reads only later history.
	Newest int64
}

// Serve reads the data to serve for a signal at an instant of the world's time. It reads the history that was added since an earlier call,
// with a snapshot at or before this one, returned newest. If newest is 0, it reads the whole history.
func (db SnapshotStore) Serve(ctx context.Context, signal string, now time.Time, newest int64) (s Served, err error) {
	// It changes nothing, so it may run twice.
	err = db.pool.again(ctx, always, func() error {
		s, err = db.serve(ctx, signal, now, newest)
		return err
	})
	if err != nil {
		return Served{}, fmt.Errorf("read the data to serve of %s: %w", signal, err)
	}
	return s, nil
}

// unrevisedSQL selects the points of a history that have one version. Its columns are the same as in HistoryQuery. Most points are such points, and
// without the window functions of HistoryQuery they are read eight times as fast.
const unrevisedSQL = `
	select observed_at, known_at, null::timestamptz as known_to, gone, input_known_at, value, lo, hi, baseline, delta_pct, z_score,
		case when gone or kept then 0 else 1 end::bigint as vintage
	from estimates e
	where signal = @signal and known_at <= @as_of and not exists (
		select from estimates o
		where o.signal = @signal and o.known_at <= @as_of and o.observed_at = e.observed_at and (o.known_at, o.edition) <> (e.known_at, e.edition))
	order by observed_at` // primary key

func (db SnapshotStore) serve(ctx context.Context, signal string, now time.Time, newest int64) (Served, error) {
	var s Served
	var ahead *time.Time
	var last *int64
	// Each point became known at the instant of a snapshot: the points that are known now were known at the newest snapshot.
	changed := HistoryQuery{Signal: signal, AsOf: now, gone: true, since: newest, revised: newest == 0}
	var batch pgx.Batch
	batch.Queue(`
		select (select at from snapshots where signal = @signal and at > @now order by at desc limit 1),
			(select max(id) from estimates where signal = @signal)`,
		pgx.NamedArgs{"signal": signal, "now": now}).QueryRow(func(row pgx.Row) error { return row.Scan(&ahead, &last) }) // primary key, index estimates_added
	batch.Queue(snapshotAsOfSQL, pgx.NamedArgs{"signal": signal, "as_of": now}).Query(func(rows pgx.Rows) error {
		snap, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Snapshot])
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		s.Snapshot = &snap
		return err
	})
	read := func(rows pgx.Rows) (err error) {
		s.Changed, err = pgx.AppendRows(s.Changed, rows, newPointScan().point)
		return err
	}
	if newest == 0 {
		batch.Queue(unrevisedSQL, pgx.NamedArgs{"signal": signal, "as_of": now}).Query(read)
	}
	sql, args := changed.statement(pointColumns)
	batch.Queue(sql, args...).Query(read)
	err := pgx.BeginTxFunc(ctx, db.pool.Pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if err := tx.SendBatch(ctx, &batch).Close(); err != nil || s.Snapshot == nil || last == nil || ahead == nil {
			return err
		}
		// Rows for a future time must be read again when it comes.
		return tx.QueryRow(ctx, `select coalesce(min(id) - 1, @last) from estimates where signal = @signal and known_at > @now`,
			pgx.NamedArgs{"signal": signal, "now": now, "last": *last}).Scan(&last)
	})
	if err != nil {
		return Served{}, err
	}
	slices.SortFunc(s.Changed, func(a, b Point) int { return a.ObservedAt.Compare(b.ObservedAt) })
	if ahead != nil {
		s.Ahead = *ahead
	}
	if s.Snapshot != nil && last != nil {
		s.Newest = *last
	}
	return s, nil
}
