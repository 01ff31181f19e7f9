package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/postgres"
	"tidemark/internal/telemetry"
)

// traceGrace is how long the last traces of a process may take to be delivered.
const traceGrace = 3 * time.Second

// newTracer is the tracer of the settings, nil where they name no collector.
func (p *program) newTracer(ctx context.Context) (*telemetry.Tracer, error) {
	return telemetry.NewTracer(ctx, telemetry.TraceOptions{
		Endpoint: p.settings.OTLPEndpoint, Headers: p.settings.OTLPHeaders, Attributes: p.settings.OTelAttributes,
		Service: p.settings.OTelService, Version: codeVersion(), Instance: fmt.Sprintf("%s/%d", config.Hostname(), os.Getpid()),
		Share: p.settings.OTelTracesShare, Timeout: time.Duration(p.settings.OTLPTimeout) * time.Millisecond, Log: p.log,
	})
}

// endTraces delivers what is left.
func (p *program) endTraces(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), traceGrace)
	defer stop()
	if err := p.tracer.Close(ctx); err != nil {
		p.log.WarnContext(ctx, "the last traces could not be delivered (OTEL_EXPORTER_OTLP_ENDPOINT)", "err", err)
	}
}

// traceStatements makes statements parts of traces, where there are any.
func (p *program) traceStatements() []postgres.Option {
	if p.tracer == nil {
		return nil
	}
	return []postgres.Option{postgres.WithTracer(postgres.Statements{})}
}
