package postgres

import (
	"context"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/telemetry"
)

// Statements is a tracer (WithTracer) that adds a span for each statement, batch and COPY to the trace in its context. The statements'
// texts contain no values. Without a trace it does nothing.
type Statements struct{}

var (
	_ pgx.QueryTracer    = Statements{}
	_ pgx.BatchTracer    = Statements{}
	_ pgx.CopyFromTracer = Statements{}
)

// statementKey is the context key of a statement's span, separate from the key of the parent span.
type statementKey struct{}

func statement(ctx context.Context, operation, text string) context.Context {
	within, span := telemetry.Call(ctx, "sql "+operation, slog.String("db.system.name", "postgresql"),
		slog.String("db.operation.name", operation), slog.String("db.query.text", text))
	if span == nil {
		return ctx
	}
	return context.WithValue(within, statementKey{}, span)
}

func concluded(ctx context.Context, rows int64, err error) {
	span, _ := ctx.Value(statementKey{}).(*telemetry.Span)
	span.Set(slog.Int64("rows", rows))
	span.End(err)
}

// TraceQueryStart implements pgx.QueryTracer.
func (Statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	operation := "empty"
	if words := strings.Fields(q.SQL); len(words) > 0 {
		operation = words[0]
	}
	return statement(ctx, operation, q.SQL)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (Statements) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryEndData) {
	concluded(ctx, q.CommandTag.RowsAffected(), q.Err)
}

// TraceBatchStart implements pgx.BatchTracer.
func (Statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, b pgx.TraceBatchStartData) context.Context {
	first := ""
	if b.Batch != nil && len(b.Batch.QueuedQueries) > 0 {
		first = b.Batch.QueuedQueries[0].SQL
	}
	return statement(ctx, "batch", first)
}

// TraceBatchQuery implements pgx.BatchTracer. It does nothing: a batch has one span.
func (Statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (Statements) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, b pgx.TraceBatchEndData) {
	concluded(ctx, 0, b.Err)
}

// TraceCopyFromStart implements pgx.CopyFromTracer.
func (Statements) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, c pgx.TraceCopyFromStartData) context.Context {
	return statement(ctx, "copy", "copy "+c.TableName.Sanitize())
}

// TraceCopyFromEnd implements pgx.CopyFromTracer.
func (Statements) TraceCopyFromEnd(ctx context.Context, _ *pgx.Conn, c pgx.TraceCopyFromEndData) {
	concluded(ctx, c.CommandTag.RowsAffected(), c.Err)
}
