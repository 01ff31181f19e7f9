package telemetry

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracer begins traces, which are exported when they end. Step and Call begin parts of a trace and find it in the context. So only the code
// that begins traces needs a Tracer: the scheduler, the workers, the API. All methods are safe for concurrent use. A nil Tracer does
// nothing, and the steps below it cost nothing.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// scope is the instrumentation scope of all spans of the program.
const scope = "tidemark"

// Close exports the ended spans that were not exported yet, for as long as ctx allows, and stops the tracer.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Flush exports the ended spans that were not exported yet. The tracer stays usable.
func (t *Tracer) Flush(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.ForceFlush(ctx)
}

// Begin begins a trace with an internal span. A span that is never ended is not exported.
func (t *Tracer) Begin(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, *Span) {
	return t.start(ctx, trace.SpanContext{}, trace.SpanKindInternal, name, attrs)
}

// Inject begins a span for a task that is put into the queue. The span is in the trace of parent (see TraceParent), or in a new trace if
// parent is empty.
func (t *Tracer) Inject(ctx context.Context, parent, name string, attrs ...slog.Attr) (context.Context, *Span) {
	return t.start(ctx, parse(parent), trace.SpanKindProducer, name, attrs)
}

// Extract begins a span for a task that was taken from the queue. The span is in the trace of parent (see TraceParent), or in a new trace
// if parent is empty.
func (t *Tracer) Extract(ctx context.Context, parent, name string, attrs ...slog.Attr) (context.Context, *Span) {
	return t.start(ctx, parse(parent), trace.SpanKindConsumer, name, attrs)
}

// Serve begins a trace for a client's request. It links the client's own trace (the field traceparent) but does not continue it, because
// clients must not decide what is recorded here.
func (t *Tracer) Serve(ctx context.Context, client, name string, attrs ...slog.Attr) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	var options []trace.SpanStartOption
	if other := parse(client); other.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: other}))
	}
	return t.start(ctx, trace.SpanContext{}, trace.SpanKindServer, name, attrs, options...)
}

func (t *Tracer) start(ctx context.Context, parent trace.SpanContext, kind trace.SpanKind, name string, attrs []slog.Attr,
	options ...trace.SpanStartOption,
) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	options = append(options, trace.WithSpanKind(kind), trace.WithAttributes(attributes(attrs)...))
	if parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	} else {
		options = append(options, trace.WithNewRoot())
	}
	ctx, span := t.tracer.Start(ctx, name, options...)
	return ctx, &Span{span: span}
}

// Step begins a span within the span of ctx. If ctx collects lines, the end of the step becomes a line. If ctx has no recorded span and
// collects no lines, nothing happens and the span is nil.
func Step(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, *Span) {
	lines, _ := ctx.Value(linesKey{}).(*Lines)
	ctx, span := within(ctx, trace.SpanKindInternal, name, attrs)
	if lines != nil {
		if span == nil {
			span = &Span{}
		}
		span.step = &step{lines, name, slices.Clone(attrs)}
	}
	return ctx, span
}

// Call is Step for a request to another system.
func Call(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, *Span) {
	return within(ctx, trace.SpanKindClient, name, attrs)
}

func within(ctx context.Context, kind trace.SpanKind, name string, attrs []slog.Attr) (context.Context, *Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, nil
	}
	ctx, span := parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes(attrs)...))
	return ctx, &Span{span: span}
}

// Span is a part of a trace, a line in the log of an attempt, or both. The methods of a nil Span do nothing.
type Span struct {
	span trace.Span // nil if it is not recorded
	step *step      // nil if lines are not collected
}

// step is a span whose end becomes a line.
type step struct {
	lines *Lines
	name  string
	attrs []slog.Attr
}

// Name renames the span.
func (s *Span) Name(name string) {
	if s != nil && s.span != nil {
		s.span.SetName(name)
	}
}

// Set adds attributes to the span. An attribute replaces an earlier one with the same key.
func (s *Span) Set(attrs ...slog.Attr) {
	if s == nil {
		return
	}
	if s.span != nil {
		s.span.SetAttributes(attributes(attrs)...)
	}
	if s.step != nil {
		for _, a := range attrs {
			s.step.attrs = append(slices.DeleteFunc(s.step.attrs, func(b slog.Attr) bool { return b.Key == a.Key }), a)
		}
	}
}

// End ends the span, with the error of its work or nil.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if s.step != nil {
		s.step.lines.Note(slog.LevelDebug, s.step.name, err, s.step.attrs...)
	}
	if s.span == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End()
}

// attributes converts attrs to the form of the exporter. An instant is written in UTC.
func attributes(attrs []slog.Attr) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, len(attrs))
	for _, a := range attrs {
		switch v := a.Value.Resolve(); v.Kind() {
		case slog.KindBool:
			out = append(out, attribute.Bool(a.Key, v.Bool()))
		case slog.KindInt64:
			out = append(out, attribute.Int64(a.Key, v.Int64()))
		case slog.KindFloat64:
			out = append(out, attribute.Float64(a.Key, v.Float64()))
		case slog.KindTime:
			out = append(out, attribute.String(a.Key, v.Time().UTC().Format(time.RFC3339Nano)))
		default:
			out = append(out, attribute.String(a.Key, v.String()))
		}
	}
	return out
}
