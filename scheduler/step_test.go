package scheduler_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"tidemark/internal/task"
	"tidemark/scheduler"
)

// A sandbox that is stopped while its clock advances has the same time in the database and in the process.
func TestAStoppedSandboxHasOneTime(t *testing.T) {
	t.Parallel()
	process := time.Date(2026, time.March, 2, 0, 30, 0, 0, time.UTC)
	database := process
	ctx, stop := context.WithCancel(t.Context())
	s := scheduler.Stepper{
		Scheduler: &scheduler.Scheduler{
			Schedules: []task.Schedule{{Job: task.Signal, Subject: "x", Cron: "0 * * * *", Zone: "UTC", CatchUp: "all"}},
			Now:       func() time.Time { return process },
		},
		Unfinished: func(context.Context, time.Time) (bool, error) { return false, nil },
		Advance: func(ctx context.Context, to time.Time) error {
			stop()
			database = to
			if err := ctx.Err(); err != nil {
				return err // the answer of the database is not read any more
			}
			process = to
			return nil
		},
		Wall: func() time.Time { return time.Date(2026, time.March, 3, 0, 0, 0, 0, time.UTC) },
		Log:  slog.New(slog.DiscardHandler),
	}
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2026, time.March, 2, 1, 0, 0, 0, time.UTC); !process.Equal(want) || !database.Equal(want) {
		t.Errorf("the process is at %s, the database at %s, want both at %s", process, database, want)
	}
}
