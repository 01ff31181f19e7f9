package telemetry

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traceparent is the name of the W3C Trace Context field. Traces travel in its form: in the run log, in the queue, in clients' requests.
const traceparent = "traceparent"

// TraceParent returns the position of ctx in its trace, in the form of W3C Trace Context (00-<trace id>-<span id>-<flags>). It is empty if
// ctx has no trace.
func TraceParent(ctx context.Context) string {
	at := trace.SpanContextFromContext(ctx)
	if !at.IsValid() {
		return ""
	}
	return fmt.Sprintf("00-%s-%s-%s", at.TraceID(), at.SpanID(), at.TraceFlags())
}

// parse reads a text from TraceParent or from a client. An invalid text gives an invalid span context.
func parse(text string) trace.SpanContext {
	if text == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{traceparent: text})
	return trace.SpanContextFromContext(ctx)
}

// located returns the attributes of a log line that identify its position in a trace, nil outside of a trace.
func located(ctx context.Context) []slog.Attr {
	at := trace.SpanContextFromContext(ctx)
	if !at.IsValid() {
		return nil
	}
	return []slog.Attr{slog.String("trace_id", at.TraceID().String()), slog.String("span_id", at.SpanID().String())}
}
