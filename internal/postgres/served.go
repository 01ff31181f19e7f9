package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Served is what is to be served of a signal, read at one moment of the database.
type Served struct {
	// Snapshot is the newest one for an instant that has come, nil where there is none.
	Snapshot *Snapshot
	// Ahead is the instant of one that is stored already though its time has yet to come, zero where there is none.
	Ahead time.Time
	// Changed are the points of the history as of the snapshot that are other than before, in ascending ObservedAt; those that went are
	// marked as gone.
	Changed []Point
	// Seen is up to where the history need not be read again.
	Seen int64
}

// Serve reads what is to be served of a signal at an instant of the world's time. Of the history it reads what has come since an
// earlier reading had Seen, for a snapshot at or before this one; 0 reads all of it.
func (db *DB) Serve(ctx context.Context, signal string, now time.Time, seen int64) (s Served, err error) {
	// Nothing is changed, so it may be done twice.
	err = db.pool.again(ctx, always, func() error {
		s, err = db.serve(ctx, signal, now, seen)
		return err
	})
	if err != nil {
		return Served{}, fmt.Errorf("read what is to be served of %s: %w", signal, err)
	}
	return s, nil
}

func (db *DB) serve(ctx context.Context, signal string, now time.Time, seen int64) (Served, error) {
	var s Served
	var ahead *time.Time
	var last *int64
	// Points are only ever known at an instant of which there is a snapshot: those that were known now were known at the newest one.
	changed, args := HistoryQuery{Signal: signal, AsOf: now, gone: true, since: seen}.statement(pointColumns)
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
	batch.Queue(changed, args...).Query(func(rows pgx.Rows) (err error) {
		s.Changed, err = pgx.CollectRows(rows, scanPoint)
		return err
	})
	err := pgx.BeginTxFunc(ctx, db.pool.Pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if err := tx.SendBatch(ctx, &batch).Close(); err != nil || s.Snapshot == nil || last == nil || ahead == nil {
			return err
		}
		// What is stored ahead of its time is read again when that has come.
		return tx.QueryRow(ctx, `select coalesce(min(id) - 1, @last) from estimates where signal = @signal and known_at > @now`,
			pgx.NamedArgs{"signal": signal, "now": now, "last": *last}).Scan(&last)
	})
	if err != nil {
		return Served{}, err
	}
	if ahead != nil {
		s.Ahead = *ahead
	}
	if s.Snapshot != nil && last != nil {
		s.Seen = *last
	}
	return s, nil
}
