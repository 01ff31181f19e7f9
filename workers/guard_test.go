package workers

import (
	"context"
	"strings"
	"testing"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
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

func TestThePartsOfTheMatcherMayPanic(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	m := &Matcher{DB: &postgres.DB{}, Log: telemetry.Logger(&out, telemetry.FormatJSON, "info")} // without a pool each statement panics
	m.look(t.Context(), "changes", m.Match)
	if !strings.Contains(out.String(), `"place":"webhooks"`) || !strings.Contains(out.String(), `"waiting":"changes"`) {
		t.Errorf("after a panic, the log says %q", out.String())
	}
	m.look(t.Context(), "addresses", func(ctx context.Context) error {
		if end, ok := ctx.Deadline(); !ok || time.Until(end) > matchTimeout {
			t.Error("a part that hangs has no end")
		}
		return nil
	})
}

// The worker tells that it is alive although its own state is damaged.
func TestTheHeartbeatOutlivesAPanic(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s := &Server{
		o:       Options{Beat: time.Millisecond, Log: telemetry.Logger(stopAt{`"place":"kept logs"`, stop}, telemetry.FormatJSON, "info")},
		running: map[task.Fence]*running{{}: {}}, // without a database and without a log
	}
	s.heartbeat(ctx)
	if !s.mu.TryLock() {
		t.Error("the worker stays locked")
	}
}
