package simulate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// workFault is a fault of a piece of work at one of its statements.
type workFault string

const (
	none workFault = ""
	// killedBefore ends the process before the statement is sent. killedAfter ends it after the response: the server has executed the
	// statement. A commit then counts, although no client learned of it.
	killedBefore workFault = "killed before"
	killedAfter  workFault = "killed after"
	// cut ends the session during the statement; the process continues with the error.
	cut workFault = "cut off at"
	// frozen stops the process at the statement until it is resumed.
	frozen workFault = "frozen at"
)

// errKilled ends the contexts of a killed process.
var errKilled = errors.New("the simulated process has ended")

// work is one piece of work of a process: an attempt of a run, a tick of a scheduler, or a request to the API. Its statements are counted,
// and at one of them its fault occurs. It runs in its own goroutine. The driver waits until the work has ended or is frozen, so nothing
// runs in parallel.
type work struct {
	fault  workFault
	at     int
	server sessions

	statements int
	// hit is the statement at which the fault occurred, empty before.
	hit    string
	dead   bool
	cancel context.CancelCauseFunc
	// parked signals that the work is frozen, resume that it continues, done that it has ended, with its result.
	parked chan struct{}
	resume chan struct{}
	done   chan error
}

// sessions are the database's sessions. The simulation can end them like the server itself. Both methods return after the sessions have
// ended.
type sessions interface {
	// end ends one session.
	end(pid uint32)
	// terminate ends the sessions in the middle of a transaction.
	terminate()
}

type workKey struct{}

// start begins f as a piece of work.
func start(ctx context.Context, m workFault, at int, server sessions, f func(context.Context) error) *work {
	w := &work{fault: m, at: at, server: server, parked: make(chan struct{}), resume: make(chan struct{}), done: make(chan error, 1)}
	ctx, w.cancel = context.WithCancelCause(context.WithValue(ctx, workKey{}, w))
	go func() {
		defer w.cancel(nil)
		w.done <- f(ctx)
	}()
	return w
}

// wait returns when the work has ended (true, with its result) or is frozen.
func (w *work) wait() (bool, error) {
	select {
	case err := <-w.done:
		return true, err
	case <-w.parked:
		return false, nil
	}
}

// wake lets frozen work continue, and waits for its end.
func (w *work) wake() error {
	w.resume <- struct{}{}
	return <-w.done
}

// before is called before each statement, and returns the context to send it under.
func (w *work) before(ctx context.Context, conn *pgx.Conn, sql string) context.Context {
	if w.dead {
		return gone(ctx)
	}
	if w.statements++; w.statements != w.at {
		return ctx
	}
	switch w.fault {
	case killedBefore:
		w.die(sql)
		return gone(ctx)
	case cut:
		w.hit = brief(sql)
		w.server.end(conn.PgConn().PID())
	case frozen:
		w.hit = brief(sql)
		w.server.terminate() // the server ends a session that is idle in a transaction, before any process can detect the freeze
		w.parked <- struct{}{}
		<-w.resume
	}
	return ctx
}

// after is called after the response to a statement.
func (w *work) after(sql string) {
	if !w.dead && w.fault == killedAfter && w.statements == w.at {
		w.die(sql)
	}
}

func (w *work) die(sql string) {
	w.dead, w.hit = true, brief(sql)
	w.cancel(errKilled)
}

func gone(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	cancel(errKilled)
	return ctx
}

// brief returns the beginning of a statement, on one line.
func brief(sql string) string {
	words := strings.Fields(sql)
	return fmt.Sprintf("%q", strings.Join(words[:min(len(words), 6)], " "))
}

// tracer passes the statements of a DB to the work that they belong to. It ignores statements that belong to no work.
type tracer struct {
	// spent counts all statements. It may be nil.
	spent *spent
}

type sqlKey struct{}

func (t tracer) began(ctx context.Context, conn *pgx.Conn, sql string) context.Context {
	if t.spent != nil {
		t.spent.statements.Add(1)
	}
	w, ok := ctx.Value(workKey{}).(*work)
	if !ok {
		return ctx
	}
	return context.WithValue(w.before(ctx, conn, sql), sqlKey{}, sql)
}

func ended(ctx context.Context) {
	if w, ok := ctx.Value(workKey{}).(*work); ok {
		sql, _ := ctx.Value(sqlKey{}).(string)
		w.after(sql)
	}
}

// TraceQueryStart implements pgx.QueryTracer.
func (t tracer) TraceQueryStart(ctx context.Context, conn *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	return t.began(ctx, conn, d.SQL)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) { ended(ctx) }

// TraceBatchStart implements pgx.BatchTracer.
func (t tracer) TraceBatchStart(ctx context.Context, conn *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	sql := "batch"
	if len(d.Batch.QueuedQueries) > 0 {
		sql = d.Batch.QueuedQueries[0].SQL
	}
	return t.began(ctx, conn, sql)
}

// TraceBatchQuery implements pgx.BatchTracer.
func (tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (tracer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) { ended(ctx) }

// TraceCopyFromStart implements pgx.CopyFromTracer.
func (t tracer) TraceCopyFromStart(ctx context.Context, conn *pgx.Conn, d pgx.TraceCopyFromStartData) context.Context {
	return t.began(ctx, conn, "copy "+d.TableName.Sanitize())
}

// TraceCopyFromEnd implements pgx.CopyFromTracer.
func (tracer) TraceCopyFromEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromEndData) {
	ended(ctx)
}
