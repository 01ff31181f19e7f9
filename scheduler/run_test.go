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

	first     []func(context.Context) error
	schedules []task.Schedule
	unstarted []task.Task
}

func (c *idleStore) SaveSchedules(context.Context, []task.Schedule) error { return nil }

func (c *idleStore) Schedules(ctx context.Context) ([]task.Schedule, error) {
	if n := c.asked.Add(1); int(n) <= len(c.first) {
		return nil, c.first[n-1](ctx)
	}
	return c.schedules, nil
}

func (c *idleStore) HandOut(context.Context, int) ([]task.Task, error) {
	c.handedOut.Add(1)
	return nil, nil
}

// RecordSlots hangs, as a statement does behind a lock.
func (c *idleStore) RecordSlots(ctx context.Context, _ task.Schedule, _ []task.Slot) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

func (c *idleStore) UnstartedRuns(context.Context, time.Duration, bool, int64, int) ([]task.Task, error) {
	return c.unstarted, nil
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

// A scheduler that only handed out runs is not ready: it may miss slots.
func TestASchedulerIsReadyAfterAWholeTick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &idleStore{first: []func(context.Context) error{func(context.Context) error { return errors.New("connection refused") }}}
		wake := make(chan struct{})
		s := &scheduler.Scheduler{Store: store, Queue: &queue{}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Wake: wake, Every: time.Minute}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		wake <- struct{}{}
		synctest.Wait()
		if n := store.handedOut.Load(); n != 2 || s.Ready() {
			t.Errorf("after a tick that failed and a wake, due runs were claimed %d times, ready %t; want 2 and not ready", n, s.Ready())
		}
		<-time.After(time.Minute)
		synctest.Wait()
		if !s.Ready() {
			t.Error("not ready after the next tick")
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Where slots cannot be recorded, due runs are handed out after one timeout, however many schedules there are.
func TestSlotsThatCannotBeRecordedDelayDueRunsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hour := time.Now().Add(-time.Hour)
		store := &idleStore{}
		for _, signal := range []string{"a", "b", "c", "d"} {
			store.schedules = append(store.schedules, task.Schedule{
				Job: task.Signal, Subject: signal, Cron: "* * * * *", Zone: "UTC", CatchUp: "latest", LastSlot: &hour,
			})
		}
		s := &scheduler.Scheduler{
			Store: store, Queue: &queue{}, Schedules: store.schedules, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		}
		began := time.Now()
		err := s.Tick(t.Context())
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 30*time.Second || store.handedOut.Load() != 1 {
			t.Errorf("the tick took %s, claimed due runs %d times and says %v", took, store.handedOut.Load(), err)
		}
	})
}

// distantQueue is a queue that needs 5 ms for each task that it looks up.
type distantQueue struct{ *queue }

func (q distantQueue) States(ctx context.Context, tasks []task.Task) ([]scheduler.State, error) {
	var states []scheduler.State
	for range tasks {
		if len(states) > 0 && ctx.Err() != nil {
			break
		}
		<-time.After(5 * time.Millisecond)
		states = append(states, scheduler.StateWaiting)
	}
	return states, nil
}

// A due run is handed out soon, although a thousand runs wait in a queue that is slow to say so.
func TestRunsThatWaitDoNotDelayDueRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, wake := &idleStore{unstarted: make([]task.Task, 1000)}, make(chan struct{}, 1)
		s := &scheduler.Scheduler{
			Store: store, Queue: distantQueue{}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Wake: wake,
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		if store.handedOut.Load() != 1 {
			t.Error("the first tick looks at runs that wait before it hands out due runs")
		}
		for range 20 {
			<-time.After(170 * time.Millisecond) // anywhere between two ticks
			before := store.handedOut.Load()
			wake <- struct{}{}
			<-time.After(600 * time.Millisecond)
			if store.handedOut.Load() == before {
				t.Error("a due run is not handed out within 600 ms")
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
