package scheduler_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/task"
	"tidemark/scheduler"
)

// idleStore is a store without work, whose first answers are a test's.
type idleStore struct {
	scheduler.Store

	asked atomic.Int64
	first []func(context.Context) error
}

func (c *idleStore) SaveSchedules(context.Context, []task.Schedule) error { return nil }

func (c *idleStore) Schedules(ctx context.Context) ([]task.Schedule, error) {
	if n := c.asked.Add(1); int(n) <= len(c.first) {
		return nil, c.first[n-1](ctx)
	}
	return nil, nil
}

func (c *idleStore) HandOut(context.Context, int) ([]task.Task, error) { return nil, nil }

func (c *idleStore) UnstartedRuns(context.Context, time.Duration) ([]task.Task, error) {
	return nil, nil
}

func (c *idleStore) Reclaim(context.Context, time.Duration) ([]task.Task, error) { return nil, nil }

// TestASchedulerGoesOn makes the store hang, panic and fail, once each; the clock of the test advances automatically.
func TestASchedulerGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &idleStore{first: []func(context.Context) error{
			func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, // a socket whose peer has disappeared
			func(context.Context) error { panic("a fault of the program") },
			func(context.Context) error { return errors.New("deadlock detected (SQLSTATE 40P01)") },
		}}
		s := &scheduler.Scheduler{Store: store, Queue: &queue{}, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		<-time.After(2 * time.Minute)
		if store.asked.Load() < 60 || !s.Ready() {
			t.Errorf("the schedule was read %d times in two minutes, ready %t", store.asked.Load(), s.Ready())
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
