package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// replicaTimeout is how long a replica may take to be connected to, and to say how far it is.
	replicaTimeout = time.Second
	// replicaRetryDelay is for how long a replica is left alone after it failed.
	replicaRetryDelay = time.Second
)

// positionSQL is the end of everything that a statement it stands in can see, as bytes of the write-ahead log; 0 where that is unknown. A commit is in the log
// before anyone sees it, and replayed before anyone sees it on a replica.
const positionSQL = `coalesce(pg_wal_lsn_diff(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end, '0/0')::bigint, 0)`

// Replicated is a DB whose questions about the past are answered by a replica, as long as that has replayed whatever was seen before: no
// answer is older than one that was given. Where the replica is behind, away, or no replica any more, the primary answers. What is
// listened for, loaded to be kept, or written stays with the primary. It is safe for concurrent use.
type Replicated struct {
	*DB

	replica *DB
	log     *slog.Logger
	// seen is the furthest position that was read at. Before anything was read, the replica is not asked.
	seen atomic.Int64
	// rests tells that the replica has just failed.
	rests atomic.Bool
	// asUnavailable tells that the log was told so.
	unavailable atomic.Bool
}

// errBehind: the replica has not replayed what was seen.
var errBehind = errors.New("the replica is behind")

// Replicate adds a replica at url to a DB of a role. It does not connect: a replica that is away is no error. The caller closes both.
func Replicate(ctx context.Context, primary *DB, url, role string, log *slog.Logger, options ...Option) (*Replicated, error) {
	o, err := configure(url, role, options...)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_REPLICA_URL: %w", err)
	}
	r := &Replicated{DB: primary, log: log}
	o.config.ConnConfig.ConnectTimeout = replicaTimeout
	o.config.PingTimeout = replicaTimeout
	o.config.PrepareConn = r.prepare
	pool, err := o.open(ctx) // which has no patience: the primary answers at once
	if err != nil {
		return nil, fmt.Errorf("DATABASE_REPLICA_URL: %w", redact(err))
	}
	r.replica = &DB{pool: pool, reads: pool}
	return r, nil
}

// CloseReplica ends the connections to the replica.
func (r *Replicated) CloseReplica() { r.replica.Close() }

// prepare lets a connection be used that has replayed what was seen. It is asked before each use, of the very connection: the address
// may be that of several replicas.
func (r *Replicated) prepare(ctx context.Context, c *pgx.Conn) (bool, error) {
	ctx, stop := context.WithTimeout(ctx, replicaTimeout)
	defer stop()
	var follows bool
	var replayed int64
	err := c.QueryRow(ctx, `select pg_is_in_recovery(), `+positionSQL+``).Scan(&follows, &replayed)
	switch seen := r.seen.Load(); {
	case err != nil && ctx.Err() == nil:
		return false, nil // the connection is of a server that is no more: another is tried
	case err != nil:
		return false, fmt.Errorf("ask the replica how far it is: %w", err)
	case !follows:
		return false, errors.New("the server of DATABASE_REPLICA_URL follows no other")
	case seen == 0 || replayed < seen:
		return true, errBehind
	}
	return true, nil
}

// note remembers that something was read at a position.
func (r *Replicated) note(position int64) {
	for {
		seen := r.seen.Load()
		if position <= seen || r.seen.CompareAndSwap(seen, position) {
			return
		}
	}
}

// ask puts a question to the replica and, where it has no answer, to the primary. What is no error but an answer is ErrNotFound. Begun tells
// that part of an answer was given already, which then is not begun again; nil: never.
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

// Serve is that of the primary. From then on a replica must have replayed what it has seen.
func (r *Replicated) Serve(ctx context.Context, signal string, now time.Time, seen int64) (Served, error) {
	s, err := r.DB.Serve(ctx, signal, now, seen)
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

// SnapshotAsOf is that of DB.
func (r *Replicated) SnapshotAsOf(ctx context.Context, signal string, asOf time.Time) (s Snapshot, err error) {
	err = r.ask(ctx, nil, func(db *DB) (err error) {
		s, err = db.SnapshotAsOf(ctx, signal, asOf)
		return err
	})
	return s, err
}

// Computed is that of DB. What is read after it is not older.
func (r *Replicated) Computed(ctx context.Context, signal string, asOf time.Time) (at, last time.Time, err error) {
	err = r.ask(ctx, nil, func(db *DB) (err error) {
		var position int64
		at, last, position, err = db.computed(ctx, signal, asOf)
		r.note(position)
		return err
	})
	return at, last, err
}

// History is that of DB.
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

// CopyHistory is that of DB.
func (r *Replicated) CopyHistory(ctx context.Context, w io.Writer, q HistoryQuery) error {
	out := &counted{w: w}
	return r.ask(ctx, func() bool { return out.n > 0 || out.err != nil }, func(db *DB) error {
		return db.CopyHistory(ctx, out, q)
	})
}

// counted counts what was written, and keeps what went wrong.
type counted struct {
	w   io.Writer
	n   int
	err error
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += n
	c.err = err
	return n, err
}

// Changes is that of DB.
func (r *Replicated) Changes(ctx context.Context, q HistoryQuery) (list []Change, err error) {
	err = r.ask(ctx, nil, func(db *DB) (err error) {
		list, err = db.Changes(ctx, q)
		return err
	})
	return list, err
}

// ReplicaLag is how far a replica is behind.
type ReplicaLag struct {
	// Follows tells that the server is a replica at all.
	Follows bool
	// Bytes of the log are not replayed yet; Since is for how long nothing new was replayed, 0 where nothing is missing.
	Bytes int64
	Since time.Duration
	// Login is what the login can do beyond the role.
	Login LoginError
}

// ReplicaLag asks the server at url how far it is behind this one, as a role. An error is the replica's, or the primary's.
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
