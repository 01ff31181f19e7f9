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

// Tracer begins traces, which are exported as they end. Parts of a trace are begun by Step and Call, which find it in the context; so
// only what a trace begins with is handed a Tracer: the scheduler, the workers, the API. All methods are safe for concurrent use. A nil
// Tracer begins nothing, and nothing below it costs anything.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// scope is what all spans of the program say they come from.
const scope = "tidemark"

// Close exports what has ended and was not exported yet, for as long as ctx allows.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Flush exports what has ended and was not exported yet, and goes on.
func (t *Tracer) Flush(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.ForceFlush(ctx)
}

// Begin begins a trace with a span inside the program. One that is never ended is not exported.
func (t *Tracer) Begin(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, *Span) {
	return t.start(ctx, trace.SpanContext{}, trace.SpanKindInternal, name, attrs)
}

// Inject is a span for what is put into the queue, in the trace that parent tells of (Carried); without one, in a new trace.
func (t *Tracer) Inject(ctx context.Context, parent, name string, attrs ...slog.Attr) (context.Context, *Span) {
	return t.start(ctx, parse(parent), trace.SpanKindProducer, name, attrs)
}

// Extract is a span for what came out of the queue, in the trace that parent tells of (Carried); without one, in a new trace.
func (t *Tracer) Extract(ctx context.Context, parent, name string, attrs ...slog.Attr) (context.Context, *Span) {
	return t.start(ctx, parse(parent), trace.SpanKindConsumer, name, attrs)
}

// Serve begins a trace for the request of a client. A trace of the client's own (its field traceparent) is linked and not gone on with:
// strangers do not decide what is recorded here.
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

// Step begins a span within the one that ctx carries. Where it carries none that is recorded, and its lines are not collected, nothing happens
// and the span is nil. Where they are, the end of the step is one of them.
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

// Call is Step for what is asked of another system.
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

// Span is a part of a trace, a line of what an attempt did, or both. Its methods do nothing where it is nil.
type Span struct {
	span trace.Span // nil: it is not recorded
	step *step      // nil: its lines are not collected
}

// step is a span whose end is a line.
type step struct {
	lines *Lines
	name  string
	attrs []slog.Attr
}

// Name gives the span another name.
func (s *Span) Name(name string) {
	if s != nil && s.span != nil {
		s.span.SetName(name)
	}
}

// Set adds facts to the span. One takes the place of another with the same key.
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

// End ends the span, with the error that the work ended with or nil.
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

// attributes are attrs in the form of the exporter. An instant is written in UTC.
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
