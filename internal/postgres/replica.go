package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// replicaTimeout limits a connection attempt to the replica, and the query of its position.
	replicaTimeout = time.Second
	// replicaRetryDelay is how long the replica is not used after it failed.
	replicaRetryDelay = time.Second
)

// positionSQL returns the server's current position in the write-ahead log, in bytes, or 0 if it is unknown. Everything that the statement
// can see lies before this position. A commit is in the log before it is visible, and a replica replays it before it is visible there.
const positionSQL = `coalesce(pg_wal_lsn_diff(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end, '0/0')::bigint, 0)`

// Replicated is a DB that reads the past from a replica. The replica must have replayed everything that was seen before, so no response is
// older than an earlier one. If the replica is behind, unavailable or no longer a replica, the primary is used. Notifications, data for
// caches, and writes always use the primary. It is safe for concurrent use.
type Replicated struct {
	*DB

	replica *DB
	log     *slog.Logger
	// seen is the highest position that was read at. While it is 0, the replica is not used.
	seen atomic.Int64
	// rests means that the replica has just failed.
	rests atomic.Bool
	// unavailable means that the failure was logged.
	unavailable atomic.Bool
}

// errBehind means that the replica has not replayed everything that was seen.
var errBehind = errors.New("the replica is behind")

// Replicate adds a replica at url to a DB of a role. It does not connect, so an unavailable replica is not an error. The caller closes
// both.
func Replicate(ctx context.Context, primary *DB, url, role string, log *slog.Logger, options ...Option) (*Replicated, error) {
	o, err := configure(url, role, options...)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_REPLICA_URL: %w", err)
	}
	r := &Replicated{DB: primary, log: log}
	o.config.ConnConfig.ConnectTimeout = replicaTimeout
	o.config.PingTimeout = replicaTimeout
	o.config.PrepareConn = r.prepare
	pool, err := o.open(ctx) // without retries: the primary is used at once
	if err != nil {
		return nil, fmt.Errorf("DATABASE_REPLICA_URL: %w", redact(err))
	}
	r.replica = newDB(&connections{pool: pool, reads: pool})
	return r, nil
}

// CloseReplica closes the connections to the replica.
func (r *Replicated) CloseReplica() { r.replica.Close() }

// prepare reports whether a connection can be used: its server has replayed everything that was seen. It runs before each use and queries
// that connection itself, because the address may lead to several replicas.
func (r *Replicated) prepare(ctx context.Context, c *pgx.Conn) (bool, error) {
	ctx, stop := context.WithTimeout(ctx, replicaTimeout)
	defer stop()
	var follows bool
	var replayed int64
	err := c.QueryRow(ctx, `select pg_is_in_recovery(), `+positionSQL+``).Scan(&follows, &replayed)
	switch seen := r.seen.Load(); {
	case err != nil && ctx.Err() == nil:
		return false, nil // this connection's server is unavailable: the pool tries another connection
	case err != nil:
		return false, fmt.Errorf("ask the replica how far it is: %w", err)
	case !follows:
		return false, errors.New("the server of DATABASE_REPLICA_URL follows no other")
	case seen == 0 || replayed < seen:
		return true, errBehind
	}
	return true, nil
}

// note records that data was read at a position.
func (r *Replicated) note(position int64) {
	for {
		seen := r.seen.Load()
		if position <= seen || r.seen.CompareAndSwap(seen, position) {
			return
		}
	}
}

// ask runs question on the replica, or on the primary if the replica fails. ErrNotFound counts as an answer. begun reports whether part of
// an answer was already returned; the primary is then not tried. A nil begun means never.
func (r *Replicated) ask(ctx context.Context, begun func() bool, question func(*DB) error) error {
	if r.rests.Load() {
		return question(r.DB)
	}
	err := question(r.replica)
	switch {
	case err == nil || errors.Is(err, ErrNotFound):
		if r.unavailable.CompareAndSwap(true, false) {
			r.log.InfoContext(ctx, "the replica answers again")
		}
		return err
	case ctx.Err() != nil:
		return err
	case !errors.Is(err, errBehind):
		if !r.rests.Swap(true) {
			time.AfterFunc(replicaRetryDelay, func() { r.rests.Store(false) })
		}
		if r.unavailable.CompareAndSwap(false, true) {
			r.log.WarnContext(ctx, "the replica does not answer (DATABASE_REPLICA_URL), the primary does its work", "err", err)
		}
	}
	if begun != nil && begun() {
		return err
	}
	return question(r.DB)
}

// Serve calls DB.Serve on the primary. From then on, a replica must have replayed what it saw.
func (r *Replicated) Serve(ctx context.Context, signal string, now time.Time, newest int64) (Served, error) {
	s, err := r.DB.Serve(ctx, signal, now, newest)
	if err != nil {
		return s, err
	}
	var position int64
	if err := r.reads.QueryRow(ctx, `select `+positionSQL).Scan(&position); err != nil {
		return s, fmt.Errorf("ask the database how far it is: %w", asUnavailable(err))
	}
	r.note(position)
	return s, nil
}

// SnapshotAsOf is DB.SnapshotAsOf, on the replica if possible.
func (r *Replicated) SnapshotAsOf(ctx context.Context, signal string, asOf time.Time) (s Snapshot, err error) {
	err = r.ask(ctx, nil, func(db *DB) (err error) {
		s, err = db.SnapshotAsOf(ctx, signal, asOf)
		return err
	})
	return s, err
}

// Computed is DB.Computed, on the replica if possible. Later reads see at least the same data.
func (r *Replicated) Computed(ctx context.Context, signal string, asOf time.Time) (at, last time.Time, version int64, err error) {
	err = r.ask(ctx, nil, func(db *DB) (err error) {
		var position int64
		at, last, version, position, err = db.computed(ctx, signal, asOf)
		r.note(position)
		return err
	})
	return at, last, version, err
}

// History is DB.History, on the replica if possible.
func (r *Replicated) History(ctx context.Context, q HistoryQuery) iter.Seq2[Point, error] {
	return func(yield func(Point, error) bool) {
		given, over := false, false
		err := r.ask(ctx, func() bool { return given }, func(db *DB) error {
			for p, err := range db.History(ctx, q) {
				if err != nil {
					return err
				}
				given = true
				if !yield(p, nil) {
					over = true
					return nil
				}
			}
			return nil
		})
		if err != nil && !over {
			yield(Point{}, err)
		}
	}
}

// Changes is DB.Changes, on the replica if possible.
func (r *Replicated) Changes(ctx context.Context, q HistoryQuery) (list []Change, err error) {
	err = r.ask(ctx, nil, func(db *DB) (err error) {
		list, err = db.Changes(ctx, q)
		return err
	})
	return list, err
}

// ReplicaLag is how far a replica is behind the primary.
type ReplicaLag struct {
	// Follows means that the server is a replica.
	Follows bool
	// Bytes is the amount of log that is not replayed yet. Since is the time since the last replayed transaction, 0 if Bytes is 0.
	Bytes int64
	Since time.Duration
	// Login lists the rights of the login beyond the role.
	Login LoginError
}

// ReplicaLag measures how far the server at url is behind this one, connected as a role. An error is from the replica or from the primary.
func (db *DB) ReplicaLag(ctx context.Context, url, role string) (l ReplicaLag, err error) {
	o, err := configure(url, role)
	if err != nil {
		return l, fmt.Errorf("DATABASE_REPLICA_URL: %w", err)
	}
	var position int64
	if err := db.reads.QueryRow(ctx, `select `+positionSQL).Scan(&position); err != nil {
		return l, fmt.Errorf("ask the database how far it is: %w", asUnavailable(err))
	}
	ctx, stop := context.WithTimeout(ctx, 5*replicaTimeout)
	defer stop()
	c, err := pgx.ConnectConfig(ctx, o.config.ConnConfig)
	if err != nil {
		return l, fmt.Errorf("connect to the replica: %w", redact(err))
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	err = c.QueryRow(ctx, `
		select pg_is_in_recovery(), greatest(0, $1 - `+positionSQL+`),
			coalesce(clock_timestamp() - pg_last_xact_replay_timestamp(), '0')`, position).Scan(&l.Follows, &l.Bytes, &l.Since)
	if err != nil {
		return l, fmt.Errorf("ask the replica how far it is: %w", err)
	}
	if l.Bytes == 0 {
		l.Since = 0
	}
	l.Login, err = powersOf(ctx, c, role)
	return l, err
}
