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
func (db *DB) Serve(ctx context.Context, signal string, now time.Time, seen int64) (Served, error) {
	var s Served
	err := pgx.BeginTxFunc(ctx, db.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		var ahead *time.Time
		var last *int64
		err := tx.QueryRow(ctx, `
			select (select at from snapshots where signal = @signal and at > @now order by at desc limit 1),
				(select max(id) from estimates where signal = @signal)`,
			pgx.NamedArgs{"signal": signal, "now": now}).Scan(&ahead, &last) // primary key, index estimates_added
		if err != nil {
			return err
		}
		if ahead != nil {
			s.Ahead = *ahead
		}
		snap, err := snapshotAsOf(ctx, tx, signal, now)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		s.Snapshot = &snap
		if last == nil {
			return nil
		}
		s.Seen = *last
		if ahead != nil { // what is stored ahead of its time is read again when that has come
			err := tx.QueryRow(ctx, `
				select coalesce(min(id) - 1, @last) from estimates where signal = @signal and known_at > @at`,
				pgx.NamedArgs{"signal": signal, "at": snap.At, "last": *last}).Scan(&s.Seen)
			if err != nil {
				return err
			}
		}
		if *last == seen {
			return nil
		}
		s.Changed, err = changedPoints(ctx, tx, HistoryQuery{Signal: signal, AsOf: snap.At, gone: true, since: seen})
		return err
	})
	if err != nil {
		return Served{}, fmt.Errorf("read what is to be served of %s: %w", signal, err)
	}
	return s, nil
}

func changedPoints(ctx context.Context, tx pgx.Tx, q HistoryQuery) ([]Point, error) {
	var args []any
	sql := q.sql(pointColumns, bindTo(&args))
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanPoint)
}
