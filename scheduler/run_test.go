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

	// asked counts reads of the schedules, handedOut counts claims of due runs.
	asked, handedOut atomic.Int64

	first []func(context.Context) error
}

func (c *idleStore) SaveSchedules(context.Context, []task.Schedule) error { return nil }

func (c *idleStore) Schedules(ctx context.Context) ([]task.Schedule, error) {
	if n := c.asked.Add(1); int(n) <= len(c.first) {
		return nil, c.first[n-1](ctx)
	}
	return nil, nil
}

func (c *idleStore) HandOut(context.Context, int) ([]task.Task, error) {
	c.handedOut.Add(1)
	return nil, nil
}

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

func TestAWakeOnlyHandsOutDueRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, wake := &idleStore{}, make(chan struct{})
		s := &scheduler.Scheduler{Store: store, Queue: &queue{}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Wake: wake, Every: time.Minute}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		for range 3 {
			wake <- struct{}{}
			synctest.Wait()
		}
		if asked, handedOut := store.asked.Load(), store.handedOut.Load(); asked != 1 || handedOut != 4 {
			t.Errorf("after the first tick and three wakes, the schedules were read %d times, due runs claimed %d times; want 1 and 4", asked, handedOut)
		}
		<-time.After(time.Minute)
		synctest.Wait()
		if asked := store.asked.Load(); asked != 2 {
			t.Errorf("after the next tick, the schedules were read %d times, want 2", asked)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
