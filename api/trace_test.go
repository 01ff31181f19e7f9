package api_test

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/postgres"
	"tidemark/internal/telemetry"
	"tidemark/internal/telemetry/collector"
)

func TestRequestsOutsideTheFastLaneAreTraced(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	tracer, err := telemetry.NewTracer(t.Context(), telemetry.TraceOptions{
		Endpoint: c.URL, Service: "tidemark", Share: 1, Timeout: 5 * time.Second, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, setup{stored: []postgres.Snapshot{full()}, tracer: tracer})
	for i, address := range []string{
		"/api/signals/crack-spread-321", // from memory, on the fast path
		"/api/signals/crack-spread-321/vintages",
		"/api/signals/nothing/vintages",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			req.Header.Set("X-Request-Id", "mine") // with this header, or after such a request on the connection, net/http serves everything
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	if err := tracer.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, span := range c.Spans() {
		if span.Kind != "SERVER" || span.Attributes["request_id"] != "mine" {
			t.Errorf("the span of %s is %+v", span.Name, span)
		}
		got[span.Attributes["url.path"]] = span.Name + " " + span.Attributes["http.response.status_code"]
	}
	want := map[string]string{
		"/api/signals/crack-spread-321/vintages": "GET /api/signals/{id}/vintages 200",
		"/api/signals/nothing/vintages":          "GET /api/signals/{id}/vintages 404",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("traced (-want +got):\n%s", d)
	}
}
