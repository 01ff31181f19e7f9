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

// traceFlushTimeout is how long the last traces of a process may take to be delivered.
const traceFlushTimeout = 3 * time.Second

// newTracer is the tracer of the settings, nil where they name no collector.
func (p *program) newTracer(ctx context.Context) (*telemetry.Tracer, error) {
	return telemetry.NewTracer(ctx, telemetry.TraceOptions{
		Endpoint: p.settings.OTLPEndpoint, Headers: p.settings.OTLPHeaders, Attributes: p.settings.OTelAttributes,
		Service: p.settings.OTelService, Version: codeVersion(), Instance: fmt.Sprintf("%s/%d", config.Hostname(), os.Getpid()),
		Share: p.settings.OTelTracesShare, Timeout: time.Duration(p.settings.OTLPTimeout) * time.Millisecond, Log: p.log,
	})
}

// flushTraces delivers what is left.
func (p *program) flushTraces(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), traceFlushTimeout)
	defer stop()
	if err := p.tracer.Close(ctx); err != nil {
		p.log.WarnContext(ctx, "the last traces could not be delivered (OTEL_EXPORTER_OTLP_ENDPOINT)", "err", err)
	}
}

// connectionOptions are those of a role's connections: they count transient errors, make statements parts of traces, where there are any, and
// make the pool as large as the role needs it. No task of a worker waits for a connection that another one has: a task has one at a time, and
// the rest of the process has some besides.
func (p *program) connectionOptions(role string) []postgres.Option {
	list := []postgres.Option{postgres.WithMetrics(p.metrics), postgres.WithSetting(p.databaseSetting(role))}
	switch {
	case role == postgres.RoleAPI:
		list = append(list, postgres.OnlyRole(role), postgres.WithConnections(apiConnections))
	case p.tasks > 0:
		list = append(list, postgres.WithConnections(p.tasks+spareConnections))
	}
	if p.tracer != nil {
		list = append(list, postgres.WithTracer(postgres.Statements{}))
	}
	return list
}

const (
	// spareConnections are those of a worker's pool that its tasks do not need.
	spareConnections = 8
	// apiConnections are those of an API's pool. Charges and counted requests take two each (the statement under way and the one that goes
	// next), payments and the reload of a view one each; that leaves ten for answers that are read from the database, each of which has its
	// connection until the client has received it. Two APIs and three workers of the default concurrency stay below the 100 of Postgres.
	apiConnections = 16
)
