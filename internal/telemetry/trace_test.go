package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/telemetry"
	"tidemark/internal/telemetry/collector"
)

func newTracer(t *testing.T, o telemetry.TraceOptions) *telemetry.Tracer {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Service, o.Version, o.Instance, o.Share, o.Timeout = "tidemark", "v9", "host/1", 1, 5*time.Second
	tracer, err := telemetry.NewTracer(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

func deliver(t *testing.T, tracer *telemetry.Tracer) {
	t.Helper()
	if err := tracer.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

func TestATraceGoesFromProcessToProcess(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	o := telemetry.TraceOptions{
		Endpoint: c.URL + "/", Headers: "authorization=Bearer%20secret", Attributes: "deployment.environment.name=test,region=eu%2C1",
	}
	first := newTracer(t, o)
	ctx, slot := first.Begin(t.Context(), "slot", slog.String("job", "ingest"))
	_, dropped := first.Begin(t.Context(), "never ended")
	_ = dropped
	carried := telemetry.TraceParent(ctx)
	slot.End(nil)
	deliver(t, first)

	second := newTracer(t, o)
	ctx, run := second.Extract(t.Context(), carried, "run", slog.Int("attempt", 2), slog.Bool("last", true))
	_, call := telemetry.Call(ctx, "fetch", slog.Time("at", time.Date(2026, 3, 2, 12, 0, 0, 0, time.FixedZone("", 3600))))
	call.Set(slog.Float64("share", 0.5))
	call.End(errors.New("no answer"))
	run.End(nil)
	deliver(t, second)

	spans := map[string]collector.Span{}
	for _, s := range c.Spans() {
		spans[s.Name] = s
	}
	if len(spans) != 3 {
		t.Fatalf("exported %v, want slot, run and fetch", spans)
	}
	trace := strings.Split(carried, "-")[1]
	resource := map[string]string{
		"service.name": "tidemark", "service.version": "v9", "service.instance.id": "host/1",
		"deployment.environment.name": "test", "region": "eu,1",
	}
	want := map[string]collector.Span{
		"slot":  {Kind: "INTERNAL", Attributes: map[string]string{"job": "ingest"}},
		"run":   {Kind: "CONSUMER", Attributes: map[string]string{"attempt": "2", "last": "true"}, Parent: spans["slot"].ID},
		"fetch": {Kind: "CLIENT", Attributes: map[string]string{"at": "2026-03-02T11:00:00Z", "share": "0.5"}, Parent: spans["run"].ID, Error: "no answer"},
	}
	for name, w := range want {
		w.Name, w.Trace, w.ID, w.Resource = name, trace, spans[name].ID, resource
		if d := cmp.Diff(w, spans[name]); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if got := c.Header().Get("Authorization"); got != "Bearer secret" {
		t.Errorf("the collector was sent Authorization %q", got)
	}
}

func TestAClientsTraceIsLinkedAndNotGoneOnWith(t *testing.T) {
	t.Parallel()
	const theirs = "4bf92f3577b34da6a3ce929d0e0e4736" // the example of W3C Trace Context
	for client, links := range map[string][]string{
		"00-" + theirs + "-00f067aa0ba902b7-01": {theirs},
		"00-" + theirs + "-00f067aa0ba902b7-00": {theirs},
		"nonsense":                              nil,
		"":                                      nil,
	} {
		c := collector.New(t)
		tracer := newTracer(t, telemetry.TraceOptions{Endpoint: c.URL})
		_, span := tracer.Serve(t.Context(), client, "GET")
		span.Name("GET /api/signals")
		span.End(nil)
		deliver(t, tracer)
		got := c.Spans()
		if len(got) != 1 || got[0].Trace == theirs || got[0].Parent != "" || got[0].Kind != "SERVER" || got[0].Name != "GET /api/signals" {
			t.Fatalf("%q: exported %+v, want one root of its own", client, got)
		}
		if d := cmp.Diff(links, got[0].Links); d != "" {
			t.Errorf("%q: links (-want +got):\n%s", client, d)
		}
	}
}

func TestALineTellsItsPlaceInATrace(t *testing.T) {
	t.Parallel()
	tracer := newTracer(t, telemetry.TraceOptions{Endpoint: collector.New(t).URL})
	ctx, span := tracer.Begin(t.Context(), "slot")
	defer span.End(nil)
	var out bytes.Buffer
	log := telemetry.Logger(&out, telemetry.FormatText, "info")
	log.InfoContext(ctx, "within")
	log.InfoContext(t.Context(), "outside")
	within, outside, _ := strings.Cut(out.String(), "\n")
	_, rest, _ := strings.Cut(telemetry.TraceParent(ctx), "-")
	id, rest, _ := strings.Cut(rest, "-")
	place, _, _ := strings.Cut(rest, "-")
	if !strings.HasSuffix(within, "trace_id="+id+" span_id="+place) {
		t.Errorf("line %q, want the ids %s and %s", within, id, place)
	}
	if strings.Contains(outside, "trace_id") {
		t.Errorf("line %q outside of any trace", outside)
	}
}

func TestWithoutACollectorNothingIsDone(t *testing.T) {
	tracer := newTracer(t, telemetry.TraceOptions{})
	if tracer != nil {
		t.Fatal("there is a tracer, want none")
	}
	ctx := t.Context()
	work := func() {
		ctx, span := tracer.Extract(ctx, "", "run", slog.String("job", "ingest"), slog.Int("attempt", 1))
		_, step := telemetry.Step(ctx, "parse", slog.String("source", "eia"))
		step.Set(slog.Int("readings", 3))
		step.End(nil)
		span.End(nil)
	}
	if n := testing.AllocsPerRun(100, work); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
	if got := telemetry.TraceParent(ctx); got != "" {
		t.Errorf("carried %q, want nothing", got)
	}
	deliver(t, tracer)
}

func TestACollectorThatIsAwayIsToldOfOnce(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	c.SetDown(true)
	var out bytes.Buffer
	tracer := newTracer(t, telemetry.TraceOptions{Endpoint: c.URL, Log: telemetry.Logger(&out, telemetry.FormatText, "info")})
	for range 2 {
		_, span := tracer.Begin(t.Context(), "slot")
		span.End(nil)
		if err := tracer.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c.SetDown(false)
	_, span := tracer.Begin(t.Context(), "slot")
	span.End(nil)
	deliver(t, tracer)
	if got := strings.Count(out.String(), "traces cannot be delivered (OTEL_EXPORTER_OTLP_ENDPOINT)"); got != 1 {
		t.Errorf("told %d times, want once:\n%s", got, out.String())
	}
	if !strings.Contains(out.String(), "traces are delivered again") || len(c.Spans()) != 1 {
		t.Errorf("%d spans came, want one, and a line that says so:\n%s", len(c.Spans()), out.String())
	}
}

func TestFaultsOfTheSettingsAreNamed(t *testing.T) {
	t.Parallel()
	for setting, o := range map[string]telemetry.TraceOptions{
		"OTEL_EXPORTER_OTLP_HEADERS": {Headers: "authorization"},
		"OTEL_RESOURCE_ATTRIBUTES":   {Attributes: "a=%zz"},
	} {
		o.Endpoint = "http://127.0.0.1:1"
		_, err := telemetry.NewTracer(t.Context(), o)
		if err == nil || !strings.HasPrefix(err.Error(), setting+": ") {
			t.Errorf("%s: %v", setting, err)
		}
	}
}
