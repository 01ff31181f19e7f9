package scheduler

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// On a busy machine the work of one slot can take longer than the patience of the clock. The clock waits while a worker works on it.
func TestTheClockWaitsForSlowWork(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fact    string
		working bool
		after   int // how many times the runs are asked about before the clock goes on
		warned  bool
	}{
		{"a worker works for half an hour", true, 30, false},
		{"nobody works on it", false, 2, true},
	} {
		t.Run(test.fact, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			wall, asked := time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC), 0
			s := Stepper{
				Scheduler: &Scheduler{Now: func() time.Time { return wall }},
				Unfinished: func(context.Context, time.Time) (bool, error) {
					asked++
					wall = wall.Add(time.Minute)
					return asked < 30, nil
				},
				Working: func(context.Context, time.Time) (bool, error) { return test.working, nil },
				Wall:    func() time.Time { return wall },
				Log:     slog.New(slog.NewTextHandler(&log, nil)),
			}
			if err := s.settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if asked != test.after || strings.Contains(log.String(), "does not end") != test.warned {
				t.Errorf("asked %d times, want %d; log: %s", asked, test.after, log.String())
			}
		})
	}
}
