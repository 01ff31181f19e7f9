package ops_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tidemark/internal/ops"
	"tidemark/internal/telemetry"
)

// stopAt is a log that ends a context at a text.
type stopAt struct {
	text string
	stop func()
}

func (s stopAt) Write(line []byte) (int, error) {
	if strings.Contains(string(line), s.text) {
		s.stop()
	}
	return len(line), nil
}

func TestAPanicOfACheckIsAnErrorOfTheNeed(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	log := telemetry.Logger(stopAt{"something that the process needs is away", stop}, telemetry.FormatJSON, "info")
	metrics := telemetry.NewMetrics("dev", "", time.Now)
	watch := ops.NewWatch([]ops.Need{{Name: "redis", Setting: "REDIS_URL", Ask: func(context.Context) error { panic("odd") }}}, time.Now, log, metrics)
	watch.Run(ctx)
	if s := watch.Standings()[0]; s.OK || s.LastError == nil || !strings.Contains(*s.LastError, "odd") {
		t.Errorf("the need is %+v", s)
	}
	w := httptest.NewRecorder()
	metrics.Handler(log).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if !strings.Contains(w.Body.String(), `tidemark_need_ok{need="redis",setting="REDIS_URL"} 0`) {
		t.Error("the metrics do not say that the need is away")
	}
}
