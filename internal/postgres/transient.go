package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/telemetry"
)

// Errors of the database are of three kinds, and this file alone tells them apart. Transient ones pass by themselves: the same statement
// succeeds a moment later. Lasting ones stay until a person changes something. Of all others nothing is known.

// The classes of transient errors, as the metrics name them.
const (
	ClassSerialization = "serialization" // two transactions that cannot both be
	ClassDeadlock      = "deadlock"      // Postgres chose this transaction to end a deadlock
	ClassLock          = "lock"          // another transaction held a row or a table for longer than lock_timeout
	ClassShutdown      = "shutdown"      // the server stops, starts, recovers, or ended this session
	ClassConnections   = "connections"   // the server has no connection left
	ClassConnection    = "connection"    // the way to the server is broken, or nothing listens there
)

// transientStates maps SQLSTATE to a class. Class 08 is beside it.
var transientStates = map[string]string{
	"40001": ClassSerialization,
	"40P01": ClassDeadlock,
	"55P03": ClassLock,
	"25P03": ClassShutdown, // idle_in_transaction_session_timeout: this process was frozen
	"57P01": ClassShutdown, "57P02": ClassShutdown, "57P03": ClassShutdown, "57P04": ClassShutdown, "57P05": ClassShutdown,
	"53300": ClassConnections,
}

// transientError marks an error of the database as transient, so that callers need not guess whose broken connection it tells of.
type transientError struct {
	class string
	err   error
}

func (e *transientError) Error() string { return e.err.Error() }
func (e *transientError) Unwrap() error { return e.err }

// Transient returns the class of an error of the database that passes by itself, and "" for any other error.
func Transient(err error) (class string) {
	if te, ok := errors.AsType[*transientError](err); ok {
		return te.class
	}
	if state := code(err); state != "" {
		if strings.HasPrefix(state, "08") {
			return ClassConnection
		}
		return transientStates[state]
	}
	// A refused password has a state. What is left are sockets, names and timeouts.
	if errors.As(err, new(*pgconn.ConnectError)) && !errors.Is(err, context.Canceled) {
		return ClassConnection
	}
	return ""
}

// classify is Transient for an error that is known to be of the database: a bare error of a socket is one, too.
func classify(err error) (class string) {
	if class = Transient(err); class != "" || err == nil || code(err) != "" {
		return class
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "" // the caller gave up
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, pgconn.ErrConnClosed) || errors.As(err, new(net.Error)) {
		return ClassConnection
	}
	return ""
}

// Lasting tells of an error of the database that it will be the same the next time: a row or a statement that it refuses, a right that is
// missing, a disk that is full. No error is both Lasting and Transient.
func Lasting(err error) bool {
	state := code(err)
	return strings.HasPrefix(state, "22") || strings.HasPrefix(state, "23") || strings.HasPrefix(state, "42") || state == "53100"
}

// asUnavailable marks an error as ErrUnavailable where it is about the way to the database or its state, and not about the question.
func asUnavailable(err error) error {
	if err == nil {
		return nil
	}
	state := code(err)
	switch {
	case classify(err) != "":
	case errors.As(err, new(*pgconn.ConnectError)):
	case state != "":
		// 53: no memory, no disk. 57014 is a statement that took too long or was cancelled.
		if class := state[:2]; class != "53" && (class != "57" || state == "57014") {
			return err
		}
	case errors.Is(err, context.DeadlineExceeded) || pgconn.SafeToRetry(err):
	default:
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// undone tells that nothing of a statement happened: it was never sent, or the server has rolled it back and the session goes on. An error
// that ends the session leaves that open, since it can come after the commit and before its answer.
func undone(err error) bool {
	if errors.As(err, new(*pgconn.ConnectError)) || pgconn.SafeToRetry(err) {
		return true
	}
	pe, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pe.SeverityUnlocalized == "ERROR"
}

// commitError is an error of COMMIT that leaves open whether the transaction happened.
type commitError struct{ error }

func (e commitError) Unwrap() error { return e.error }

// uncommitted tells that nothing of a transaction happened: it never came to its COMMIT, or the server refused that.
func uncommitted(err error) bool { return !errors.As(err, new(commitError)) }

// always is for what may happen twice: the second time changes nothing.
func always(error) bool { return true }

// inTx runs f in a transaction of a connection or a pool, and commits when f returns nil. Its error is a commitError where it is open
// whether the transaction happened.
func inTx(ctx context.Context, on interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}, f func(pgx.Tx) error,
) error {
	committing := false
	err := pgx.BeginFunc(ctx, on, func(tx pgx.Tx) error {
		err := f(tx)
		committing = err == nil
		return err
	})
	if err != nil && committing && !undone(err) {
		return commitError{err}
	}
	return err
}

const (
	// Between two tries of the same, each pause with a random part, so that those that met do not meet again.
	firstPause, maxPause = 10 * time.Millisecond, time.Second
	// workerTimeout and apiTimeout are how long the pauses are together: a worker has time until a server has restarted, a client of the
	// API has not.
	workerTimeout, apiTimeout = 5 * time.Second, 100 * time.Millisecond
)

// pool is the connections of a DB. It does statements again that met a transient error, where that is safe: one that changes nothing always,
// another when nothing of it happened (undone), a transaction when it did not come to its COMMIT or that was refused. It never repeats what
// may have happened; whether that may be repeated is known to its caller alone.
type pool struct {
	*pgxpool.Pool

	// may tells after which errors a single statement is done again: undone, or always where it changes nothing.
	may func(error) bool
	// timeout bounds the pauses between tries. Zero: nothing is tried again.
	timeout time.Duration
	metrics *telemetry.Metrics
}

// reading is the pool for statements that change nothing.
func (p *pool) reading() *pool {
	return &pool{Pool: p.Pool, may: always, timeout: p.timeout, metrics: p.metrics}
}

// again does f until it has no transient error, or may does not allow to repeat it, or there were pauses enough. A transient error that is
// left is marked as one.
func (p *pool) again(ctx context.Context, may func(error) bool, f func() error) error {
	r := retry{pool: p}
	for {
		err := f()
		if err == nil || !r.wait(ctx, err, may) {
			return mark(err)
		}
	}
}

// returned counts an error that is left to the caller.
func (p *pool) returned(err error) {
	if class := classify(err); class != "" {
		p.metrics.Transient(class, telemetry.TransientReturned)
	}
}

// mark marks a transient error.
func mark(err error) error {
	if class := classify(err); class != "" {
		return &transientError{class, err}
	}
	return err
}

// retry counts the pauses between the tries of one thing.
type retry struct {
	pool          *pool
	pause, waited time.Duration
}

// wait waits before another try after an error, and tells whether there is to be one.
func (r *retry) wait(ctx context.Context, err error, may func(error) bool) bool {
	class := classify(err)
	if class == "" {
		return false
	}
	r.pause = min(max(2*r.pause, firstPause), maxPause)
	in := r.pause/2 + rand.N(r.pause/2)
	if r.waited += in; may(err) && r.waited <= r.pool.timeout && ctx.Err() == nil {
		t := time.NewTimer(in)
		defer t.Stop()
		select {
		case <-ctx.Done():
		case <-t.C:
			r.pool.metrics.Transient(class, telemetry.TransientRepeated)
			return true
		}
	}
	r.pool.metrics.Transient(class, telemetry.TransientReturned)
	return false
}

// Exec is that of pgxpool.Pool. The statement is repeated where that is safe.
func (p *pool) Exec(ctx context.Context, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	err = p.again(ctx, p.may, func() error {
		tag, err = p.Pool.Exec(ctx, sql, args...)
		return err
	})
	return tag, err
}

// Query is that of pgxpool.Pool. The statement is repeated where that is safe and no row of it was read.
func (p *pool) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	retry := retry{pool: p}
	rows := &rowsAgain{
		query: func() (pgx.Rows, error) { return p.Pool.Query(ctx, sql, args...) },
		wait:  func(err error) bool { return retry.wait(ctx, err, p.may) },
		seen:  func(err error) { p.returned(err) },
	}
	for {
		var err error
		if rows.Rows, err = rows.query(); err == nil {
			return rows, nil
		}
		if !rows.wait(err) {
			return rows.Rows, mark(err)
		}
	}
}

// QueryRow is that of pgxpool.Pool. The statement is repeated where that is safe.
func (p *pool) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return rowAgain(func(dest []any) error {
		return p.again(ctx, p.may, func() error { return p.Pool.QueryRow(ctx, sql, args...).Scan(dest...) })
	})
}

type rowAgain func(dest []any) error

// Scan sends the statement and reads its row.
func (r rowAgain) Scan(dest ...any) error { return r(dest) }

// rowsAgain are rows whose statement is repeated as long as none was read.
type rowsAgain struct {
	pgx.Rows

	query func() (pgx.Rows, error)
	wait  func(error) bool
	seen  func(error)
	begun bool
}

// Next implements pgx.Rows.
func (r *rowsAgain) Next() bool {
	more := r.Rows.Next()
	if !more && r.begun {
		r.seen(r.Rows.Err())
	}
	for !more && !r.begun {
		err := r.Rows.Err()
		if err == nil || !r.wait(err) {
			break
		}
		r.Rows, _ = r.query() // what the pool returns with an error has it as its Err
		more = r.Rows.Next()
	}
	r.begun = true
	return more
}

// Err implements pgx.Rows.
func (r *rowsAgain) Err() error { return mark(r.Rows.Err()) }

// tx runs f in a transaction and commits when it returns nil. After a transient error it runs f again, unless the transaction may have
// happened: f may leave nothing behind but what it assigns anew each time.
func (db *DB) tx(ctx context.Context, f func(pgx.Tx) error) error {
	return db.pool.again(ctx, uncommitted, func() error { return inTx(ctx, db.pool.Pool, f) })
}

// session hands f a connection, to prepare rows in tables of its own and to store them in a transaction of inTx. It runs f again as tx does.
func (db *DB) session(ctx context.Context, f func(*pgxpool.Conn) error) error {
	return db.pool.again(ctx, uncommitted, func() error { return db.pool.AcquireFunc(ctx, f) })
}
