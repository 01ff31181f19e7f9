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

// This file classifies the errors of the database. Transient errors end without action: the same statement succeeds a moment later. Lasting
// errors stay until an operator changes something. Other errors are not classified.

// The classes of transient errors, as the metrics name them.
const (
	ClassSerialization = "serialization" // conflict between two transactions
	ClassDeadlock      = "deadlock"      // Postgres chose this transaction to end a deadlock
	ClassLock          = "lock"          // another transaction held a row or a table for longer than lock_timeout
	ClassShutdown      = "shutdown"      // the server stops, starts, recovers, or ended this session
	ClassConnections   = "connections"   // the server has no connection left
	ClassConnection    = "connection"    // the connection is broken, or no server listens
	ClassReadOnly      = "readonly"      // the server accepts no changes: another one has become the primary, or an operator set it so
)

// transientStates maps SQLSTATE to a class. Class 08 is handled separately, in Transient.
var transientStates = map[string]string{
	"40001": ClassSerialization,
	"40P01": ClassDeadlock,
	"55P03": ClassLock,
	"25P03": ClassShutdown, // idle_in_transaction_session_timeout: this process was frozen
	"57P01": ClassShutdown, "57P02": ClassShutdown, "57P03": ClassShutdown, "57P04": ClassShutdown, "57P05": ClassShutdown,
	"53300": ClassConnections,
	"25006": ClassReadOnly,
}

// transientError marks an error of the database as transient. Callers then need not guess which connection broke.
type transientError struct {
	class string
	err   error
}

func (e *transientError) Error() string { return e.err.Error() }
func (e *transientError) Unwrap() error { return e.err }

// Transient returns the class of a transient error of the database, and "" for any other error.
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
	// A rejected password has a SQLSTATE. The remaining errors concern sockets, host names and timeouts.
	if errors.As(err, new(*pgconn.ConnectError)) && !errors.Is(err, context.Canceled) {
		return ClassConnection
	}
	return ""
}

// Cancelled reports whether the server cancelled a statement or the start of a session: at a time limit, or on a signal. A signal also comes
// from who ends what a killed server left.
func Cancelled(err error) bool { return code(err) == "57014" }

// classify is Transient for an error that comes from the database, so a bare socket error counts, too.
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

// Lasting reports whether an error of the database will occur again: a rejected row or statement, a missing right, a full disk. No error is
// both Lasting and Transient.
func Lasting(err error) bool {
	state := code(err)
	return strings.HasPrefix(state, "22") || strings.HasPrefix(state, "23") || strings.HasPrefix(state, "42") || state == "53100"
}

// asUnavailable marks an error as ErrUnavailable if it concerns the connection to the database or its state, and not the statement.
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

// undone reports whether a statement took no effect: it was never sent, or the server rolled it back and the session continues. After an
// error that ends the session this is unknown, because the error can come after the commit and before the response.
func undone(err error) bool {
	if errors.As(err, new(*pgconn.ConnectError)) || pgconn.SafeToRetry(err) {
		return true
	}
	pe, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pe.SeverityUnlocalized == "ERROR"
}

// commitError is an error of COMMIT that leaves open whether the transaction took effect.
type commitError struct{ error }

func (e commitError) Unwrap() error { return e.error }

// uncommitted reports whether a transaction took no effect: it did not reach COMMIT, or the server rejected the COMMIT.
func uncommitted(err error) bool { return !errors.As(err, new(commitError)) }

// always is for operations that may run twice: the second time changes nothing.
func always(error) bool { return true }

// inTx runs f in a transaction of a connection or a pool, and commits when f returns nil. It returns a commitError if it is unknown whether
// the transaction took effect.
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
	// The backoff between two tries. Each pause has a random part, so that transactions that conflicted do not meet again.
	firstPause, maxPause = 10 * time.Millisecond, time.Second
	// workerTimeout and apiTimeout limit the sum of the pauses. A worker can wait until a server has restarted, a client of the API cannot.
	workerTimeout, apiTimeout = 5 * time.Second, 100 * time.Millisecond
)

// pool is the connections of a DB. It retries statements after a transient error if that is safe. A statement that changes nothing is
// always retried. Another statement is retried if it took no effect (undone). A transaction is retried if it did not commit: it did not
// reach COMMIT, or the server rejected that. pool never repeats an operation that may have taken effect. Only the caller knows whether that
// is safe.
type pool struct {
	*pgxpool.Pool

	// may reports whether a single statement is retried after an error. It is undone, or always for statements that change nothing.
	may func(error) bool
	// timeout limits the sum of the pauses between tries. Zero means no retries.
	timeout time.Duration
	metrics *telemetry.Metrics
}

// reading returns the pool for statements that change nothing.
func (p *pool) reading() *pool {
	return &pool{Pool: p.Pool, may: always, timeout: p.timeout, metrics: p.metrics}
}

// again runs f until it returns no transient error, may forbids a retry, or the pauses reach the timeout. It marks a transient error that
// remains.
func (p *pool) again(ctx context.Context, may func(error) bool, f func() error) error {
	r := retry{pool: p}
	for {
		err := f()
		if err == nil || !r.wait(ctx, err, may) {
			return mark(err)
		}
	}
}

// returned counts an error that is returned to the caller.
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

// retry counts the pauses between the tries of one operation.
type retry struct {
	pool          *pool
	pause, waited time.Duration
}

// wait waits before the next try after an error, and reports whether to try again.
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

// Exec is pgxpool.Pool.Exec with retries if they are safe.
func (p *pool) Exec(ctx context.Context, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	err = p.again(ctx, p.may, func() error {
		tag, err = p.Pool.Exec(ctx, sql, args...)
		return err
	})
	return tag, err
}

// Query is pgxpool.Pool.Query with retries if they are safe and no row was read.
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

// QueryRow is pgxpool.Pool.QueryRow with retries if they are safe.
func (p *pool) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return rowAgain(func(dest []any) error {
		return p.again(ctx, p.may, func() error { return p.Pool.QueryRow(ctx, sql, args...).Scan(dest...) })
	})
}

type rowAgain func(dest []any) error

// Scan sends the statement and reads its row.
func (r rowAgain) Scan(dest ...any) error { return r(dest) }

// rowsAgain are rows whose statement is retried until the first row was read.
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
		r.Rows, _ = r.query() // if the pool returns an error, the rows return it from Err
		more = r.Rows.Next()
	}
	r.begun = true
	return more
}

// Err implements pgx.Rows.
func (r *rowsAgain) Err() error { return mark(r.Rows.Err()) }

// tx runs f in a transaction and commits when f returns nil. After a transient error it runs f again, unless the transaction may have taken
// effect. So f must assign every result again in each run, and must have no other side effects.
func (c *connections) tx(ctx context.Context, f func(pgx.Tx) error) error {
	return c.pool.again(ctx, uncommitted, func() error { return inTx(ctx, c.pool.Pool, f) })
}

// session calls f with a connection. f prepares rows in temporary tables and stores them in a transaction of inTx. session retries f as tx
// does.
func (c *connections) session(ctx context.Context, f func(*pgxpool.Conn) error) error {
	return c.pool.again(ctx, uncommitted, func() error { return c.pool.AcquireFunc(ctx, f) })
}
