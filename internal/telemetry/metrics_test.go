package telemetry_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/internal/telemetry"
)

func scrape(m *telemetry.Metrics) string {
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

func TestRequestsAreCountedByRouteMethodAndStatus(t *testing.T) {
	t.Parallel()
	clock := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	m := telemetry.NewMetrics("1.2", "abc", func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		clock = clock.Add(time.Millisecond)
		return clock
	})
	var g sync.WaitGroup
	for range 40 {
		g.Go(func() { m.EndRequest("/a/{id}", "GET", 200, m.BeginRequest()) })
		g.Go(func() { m.EndRequest("/a/{id}", "BREW", 405, m.BeginRequest()) })
	}
	g.Wait()
	m.BeginRequest()
	text := scrape(m)
	for _, want := range []string{
		`tidemark_http_requests_total{code="200",method="GET",route="/a/{id}"} 40`,
		`tidemark_http_requests_total{code="405",method="other",route="/a/{id}"} 40`,
		`tidemark_http_request_duration_seconds_count{route="/a/{id}"} 80`,
		`tidemark_http_in_flight_requests 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s:\n%s", want, text)
		}
	}
}

func TestWhatCannotBeReadIsLeftOut(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics("1.2", "abc", time.Now)
	good, bad := &telemetry.Family{Name: "good_total", Help: "g", Labels: []string{"l"}, Counter: true}, &telemetry.Family{Name: "bad", Help: "b"}
	m.Watch(func(context.Context) ([]telemetry.Reading, error) {
		return []telemetry.Reading{{Of: good, Value: 2, Labels: []string{"x"}}}, nil
	}, good)
	m.Watch(func(context.Context) ([]telemetry.Reading, error) { return nil, errors.New("away") }, bad)
	text := scrape(m)
	if !strings.Contains(text, "# TYPE good_total counter\ngood_total{l=\"x\"} 2") || strings.Contains(text, "\nbad") {
		t.Errorf("metrics:\n%s", text)
	}
}

func TestWithoutMetricsNothingHappens(t *testing.T) {
	t.Parallel()
	var m *telemetry.Metrics
	m.Ran("job", "succeeded", m.Now())
	m.Asked("source", 200, m.Now())
	m.Checked("range", "warn")
	m.Charged("/picks", 1)
	m.ToolCalled("verify_pick", "ok")
	m.Transient("deadlock", telemetry.TransientRepeated)
	m.RedisTransient("loading")
	m.EndRequest("/", "GET", 200, m.BeginRequest())
	m.Watch(nil)
}
