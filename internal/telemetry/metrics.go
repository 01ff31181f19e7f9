package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics counts a process's own work, in Prometheus's form. Labels are bounded: there is no label for a key, a ticker or a client's
// address. All methods are safe for concurrent use. The methods of a nil Metrics do nothing, so that packages work without metrics.
type Metrics struct {
	registry *prometheus.Registry
	now      func() time.Time

	runs, asked, checks, charged, tools, transient, redis, panics, unreadable *prometheus.CounterVec
	runTime, askTime                                                          *prometheus.HistogramVec

	http httpMetrics
}

// NewMetrics makes the metrics of a process. version and commit identify the build. now is the process's clock, which times the work.
func NewMetrics(version, commit string, now func() time.Time) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), now: now}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		m.registry.MustRegister(c)
		return c
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		m.registry.MustRegister(h)
		return h
	}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tidemark_build_info", Help: "What is running: always 1.",
			ConstLabels: prometheus.Labels{"version": version, "commit": commit, "go": runtime.Version()},
		}, func() float64 { return 1 }),
	)
	m.runs = counter("tidemark_job_runs_total", "Attempts of runs that this process has ended.", "job", "outcome")
	m.runTime = histogram("tidemark_job_duration_seconds", "How long attempts took.",
		[]float64{.01, .05, .25, 1, 5, 15, 60, 300, 1200}, "job")
	m.asked = counter("tidemark_source_requests_total", "Requests to upstreams. The code is none where there was no whole answer.", "source", "code")
	m.askTime = histogram("tidemark_source_request_duration_seconds", "How long upstreams took to answer.",
		[]float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60}, "source")
	m.checks = counter("tidemark_quality_checks_total", "Findings of the checks between parser and store.", "check", "outcome")
	m.charged = counter("tidemark_billing_charged_micro_usd_total", "What keys paid for answers, in millionths of a US dollar.", "endpoint")
	m.tools = counter("tidemark_mcp_tool_calls_total", "Calls of MCP tools.", "tool", "outcome")
	m.transient = counter("tidemark_postgres_transient_errors_total",
		"Errors of the database that pass by themselves: repeated ones were tried again at once, returned ones ended what met them.", "class", "outcome")
	m.redis = counter("tidemark_redis_transient_errors_total",
		"Errors of Redis that pass by themselves, as commands met them after the client's own tries.", "class")
	m.panics = counter("tidemark_panics_total", "Panics that were caught. The log has their stacks.", "place")
	m.unreadable = counter("tidemark_changes_unreadable_total",
		"Changes that were left out because they cannot be read. The log has their cursors.", "place")
	m.http.register(m.registry)
	return m
}

// Handler serves the metrics. It leaves out metrics that cannot be read at the moment, and logs the reason.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), Registry: m.registry,
	})
}

// Now returns the time of the process's clock, or the zero time if m is nil.
func (m *Metrics) Now() time.Time {
	if m == nil {
		return time.Time{}
	}
	return m.now()
}

// Ran counts an attempt of a run. began is a time from Now.
func (m *Metrics) Ran(job, outcome string, began time.Time) {
	if m == nil {
		return
	}
	m.runs.WithLabelValues(job, outcome).Inc()
	m.runTime.WithLabelValues(job).Observe(m.now().Sub(began).Seconds())
}

// Asked counts a request to an upstream. began is a time from Now. The status is 0 if no complete response arrived.
func (m *Metrics) Asked(source string, status int, began time.Time) {
	if m == nil {
		return
	}
	code := "none"
	if status != 0 {
		code = strconv.Itoa(status)
	}
	m.asked.WithLabelValues(source, code).Inc()
	m.askTime.WithLabelValues(source).Observe(m.now().Sub(began).Seconds())
}

// Unreadable counts a change that was left out because it cannot be read. place is stream, replay, feed or alerts.
func (m *Metrics) Unreadable(place string) {
	if m == nil {
		return
	}
	m.unreadable.WithLabelValues(place).Inc()
}

// Checked counts a finding of a quality check.
func (m *Metrics) Checked(check, outcome string) {
	if m == nil {
		return
	}
	m.checks.WithLabelValues(check, outcome).Inc()
}

// Charged counts the price that a key paid for a response of an endpoint, in micro-dollars.
func (m *Metrics) Charged(endpoint string, micros int64) {
	if m == nil {
		return
	}
	m.charged.WithLabelValues(endpoint).Add(float64(micros))
}

// ToolCalled counts a call of an MCP tool.
func (m *Metrics) ToolCalled(tool, outcome string) {
	if m == nil {
		return
	}
	m.tools.WithLabelValues(tool, outcome).Inc()
}

// The outcomes of a transient database error: the statement is retried, or the caller gets the error.
const (
	TransientRepeated = "repeated"
	TransientReturned = "returned"
)

// Transient counts a transient error of the database.
func (m *Metrics) Transient(class, outcome string) {
	if m == nil {
		return
	}
	m.transient.WithLabelValues(class, outcome).Inc()
}

// RedisTransient counts a transient error of Redis.
func (m *Metrics) RedisTransient(class string) {
	if m == nil {
		return
	}
	m.redis.WithLabelValues(class).Inc()
}

// Guard calls f and returns its error. A panic in f becomes an ErrPanic: it is logged with its stack and counted under place, and the
// caller continues. Guard works with a nil Metrics.
func (m *Metrics) Guard(ctx context.Context, log *slog.Logger, place string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			m.Panicked(ctx, log, place, p)
			err = fmt.Errorf("%w: %v", ErrPanic, p)
		}
	}()
	return f()
}

// ErrPanic reports that a function panicked.
var ErrPanic = errors.New("panic")

// Panicked logs and counts a recovered panic. place says where it was recovered.
func (m *Metrics) Panicked(ctx context.Context, log *slog.Logger, place string, p any) {
	log.ErrorContext(ctx, "a panic was caught", "place", place, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	if m != nil {
		m.panics.WithLabelValues(place).Inc()
	}
}
