package telemetry

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traceparent is the name of the W3C Trace Context field, the form in which a trace travels: in the run log, in the queue, in the
// requests of clients.
const traceparent = "traceparent"

// TraceParent returns where ctx is in which trace, as W3C Trace Context writes it (00-<trace id>-<span id>-<flags>); empty where it is in
// none.
func TraceParent(ctx context.Context) string {
	at := trace.SpanContextFromContext(ctx)
	if !at.IsValid() {
		return ""
	}
	return fmt.Sprintf("00-%s-%s-%s", at.TraceID(), at.SpanID(), at.TraceFlags())
}

// parse reads what Carried wrote, or a client. What cannot be read is no trace.
func parse(text string) trace.SpanContext {
	if text == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{traceparent: text})
	return trace.SpanContextFromContext(ctx)
}

// located are the attributes of a log line that tell its place in a trace; none outside of one.
func located(ctx context.Context) []slog.Attr {
	at := trace.SpanContextFromContext(ctx)
	if !at.IsValid() {
		return nil
	}
	return []slog.Attr{slog.String("trace_id", at.TraceID().String()), slog.String("span_id", at.SpanID().String())}
}
