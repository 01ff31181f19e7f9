package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// TraceOptions configure the export of traces and the description of this process. The texts have the form of OpenTelemetry's environment
// variables.
type TraceOptions struct {
	// Endpoint is the base URL of a collector for OTLP over HTTP (OTEL_EXPORTER_OTLP_ENDPOINT). Empty means no traces.
	Endpoint string
	// Headers are sent with each export: name=value, separated by commas, percent-encoded (OTEL_EXPORTER_OTLP_HEADERS).
	Headers string
	// Attributes describe this installation, in the same form (OTEL_RESOURCE_ATTRIBUTES).
	Attributes string
	// Service, Version and Instance identify the program, its build, and the process.
	Service, Version, Instance string
	// Share is the part of all traces that is recorded, from 0 to 1 (OTEL_TRACES_SAMPLER_ARG). A trace is recorded completely or not at
	// all.
	Share float64
	// Timeout limits one export (OTEL_EXPORTER_OTLP_TIMEOUT).
	Timeout time.Duration
	// Log receives a line when traces cannot be delivered, and when delivery works again. Undelivered traces are dropped; no work waits for
	// them.
	Log *slog.Logger
}

// NewTracer returns the tracer of a process, nil if no endpoint is set. It does not connect: an unavailable collector is not an error.
// OpenTelemetry's own variables set the limits of the queue, compression and certificates.
func NewTracer(ctx context.Context, o TraceOptions) (*Tracer, error) {
	if o.Endpoint == "" {
		return nil, nil
	}
	headers, herr := pairs(o.Headers)
	facts, ferr := pairs(o.Attributes)
	if err := errors.Join(named("OTEL_EXPORTER_OTLP_HEADERS", herr), named("OTEL_RESOURCE_ATTRIBUTES", ferr)); err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(strings.TrimRight(o.Endpoint, "/")+"/v1/traces"),
		otlptracehttp.WithHeaders(headers), otlptracehttp.WithTimeout(o.Timeout),
	)
	if err != nil {
		return nil, named("OTEL_EXPORTER_OTLP_ENDPOINT", err)
	}
	attrs := make([]attribute.KeyValue, 0, len(facts)+3)
	for k, v := range facts {
		attrs = append(attrs, attribute.String(k, v))
	}
	attrs = append(attrs, attribute.String("service.name", o.Service), attribute.String("service.version", o.Version),
		attribute.String("service.instance.id", o.Instance))
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(&loggingExporter{SpanExporter: exporter, log: o.Log}),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(o.Share))),
		sdk.WithResource(resource.NewSchemaless(attrs...)),
	)
	return &Tracer{provider: provider, tracer: provider.Tracer(scope)}, nil
}

func named(setting string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", setting, err)
}

// pairs reads name=value pairs, separated by commas, with percent-encoded values. The error quotes no value, because values may be secrets.
func pairs(text string) (map[string]string, error) {
	out := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || err != nil {
			return nil, errors.New("it is not a list of name=value, separated by commas, with percent-encoded values")
		}
		out[name] = value
	}
	return out, nil
}

// loggingExporter logs errors that the library would write to standard error, once for each time that the collector becomes unavailable.
type loggingExporter struct {
	sdk.SpanExporter

	log         *slog.Logger
	unavailable atomic.Bool
}

// ExportSpans implements sdk.SpanExporter.
func (t *loggingExporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	switch err := t.SpanExporter.ExportSpans(ctx, spans); {
	case err != nil && !t.unavailable.Swap(true):
		t.log.WarnContext(ctx, "traces cannot be delivered (OTEL_EXPORTER_OTLP_ENDPOINT), they are dropped", "err", err)
	case err == nil && t.unavailable.Swap(false):
		t.log.InfoContext(ctx, "traces are delivered again")
	}
	return nil
}
