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

// traceFlushTimeout limits the delivery of the last traces of a process.
const traceFlushTimeout = 3 * time.Second

// newTracer returns the tracer of the settings, nil if they name no collector.
func (p *program) newTracer(ctx context.Context) (*telemetry.Tracer, error) {
	return telemetry.NewTracer(ctx, telemetry.TraceOptions{
		Endpoint: p.settings.OTLPEndpoint, Headers: p.settings.OTLPHeaders, Attributes: p.settings.OTelAttributes,
		Service: p.settings.OTelService, Version: codeVersion(), Instance: fmt.Sprintf("%s/%d", config.Hostname(), os.Getpid()),
		Share: p.settings.OTelTracesShare, Timeout: time.Duration(p.settings.OTLPTimeout) * time.Millisecond, Log: p.log,
	})
}

// flushTraces delivers the remaining traces.
func (p *program) flushTraces(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), traceFlushTimeout)
	defer stop()
	if err := p.tracer.Close(ctx); err != nil {
		p.log.WarnContext(ctx, "the last traces could not be delivered (OTEL_EXPORTER_OTLP_ENDPOINT)", "err", err)
	}
}

// connectionOptions returns the options of a role's connections. They count transient errors, add statements to traces if there are any,
// and set the size of the pool. The pool of a worker is large enough that no task waits for a connection. A task uses one connection at a
// time, and spare connections serve the rest of the process.
func (p *program) connectionOptions(role string) []postgres.Option {
	list := []postgres.Option{postgres.WithMetrics(p.metrics), postgres.WithSetting(p.databaseSetting(role))}
	if p.answers > 0 {
		list = append(list, postgres.WithAnswerTimeout(p.answers, p.giveUp))
	}
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
	// spareConnections is the number of connections in a worker's pool for everything except tasks.
	spareConnections = 8
	// apiConnections is the number of connections in an API's pool. Charges and counted requests take two each: one for the running
	// statement and one for the next. Payments and the reload of a view take one each. That leaves ten for responses that are read from the
	// database; each uses its connection until the client has received it. Two APIs and three workers with the default concurrency stay
	// below Postgres' default of 100.
	apiConnections = 16
)
