package workers_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/redisurl"
	"tidemark/internal/task"
	"tidemark/scheduler"
	"tidemark/workers"
)

// The worker of a process that also hands out tasks begins them at once: it looked every 20 ms before, for each of thousands of slots.
func TestATaskOfTheSameProcessBeginsWithoutALook(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	db, err := postgres.Open(ctx, pgtest.New(t)+"&pool_max_conns=8", postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	ran := make(chan string, 1)
	handlers := map[string]workers.Handler{}
	for job := range task.Policies {
		handlers[job] = func(_ context.Context, t task.Task) error {
			ran <- t.Subject
			return nil
		}
	}
	log := slog.New(slog.DiscardHandler)
	bell, ended := &redisurl.Bell{}, make(chan struct{}, 1)
	redis := pgtest.Redis(t)
	w, err := workers.New(workers.Options{
		DB: db, RedisURL: redis, Handlers: handlers, Name: "w", Log: log, Poll: 24 * time.Hour, Bell: bell, Ended: func() { ended <- struct{}{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	running, end := context.WithCancel(ctx)
	go func() { over <- w.Run(running) }()
	queue, err := scheduler.NewAsynqQueue(redis, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = queue.Close() })
	s := &scheduler.Scheduler{Store: db, Queue: queue, Now: time.Now, Log: log, HandedOut: bell.Ring}
	slot := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for i, job := range []string{task.Signal, task.Announce, task.Claims, task.Ingest, task.Signal} {
		id, err := db.AddRun(ctx, job, "x", slot.Add(time.Duration(i)*time.Hour), t.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Tick(ctx); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ran:
		case <-ctx.Done():
			t.Fatalf("%s was not begun", job)
		}
		<-ended
		list, err := db.Runs(ctx, postgres.RunFilter{ID: id, Limit: 1})
		if err != nil || len(list) != 1 || list[0].Status != "succeeded" {
			t.Errorf("%s is told to have ended: %+v, %v", job, list, err)
		}
	}
	end()
	if err := <-over; err != nil {
		t.Error(err)
	}
}
