package ops_test

import (
	"context"
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
	watch := ops.NewWatch([]ops.Need{{Name: "redis", Ask: func(context.Context) error { panic("odd") }}}, time.Now, log, nil)
	watch.Run(ctx)
	if s := watch.Standings()[0]; s.OK || s.LastError == nil || !strings.Contains(*s.LastError, "odd") {
		t.Errorf("the need is %+v", s)
	}
}
