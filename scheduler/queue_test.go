package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"tidemark/internal/pgtest"
	"tidemark/internal/task"
	"tidemark/scheduler"
)

// A worker has taken a task and claims its run only later, because it is busy. The task is not given to another worker in the meantime.
func TestATaskThatALivingWorkerHasWaits(t *testing.T) {
	t.Parallel()
	redis := pgtest.Redis(t)
	q, err := scheduler.NewAsynqQueue(redis, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	q.Silence = time.Nanosecond
	options, err := asynq.ParseRedisURI(redis)
	if err != nil {
		t.Fatal(err)
	}
	begun, over := make(chan struct{}), make(chan struct{})
	server := asynq.NewServer(options, asynq.Config{Concurrency: 1, Queues: map[string]int{task.Default: 1}, LogLevel: asynq.FatalLevel})
	err = server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		close(begun)
		<-over
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	t.Cleanup(func() { close(over) })
	held := task.Task{Fence: task.Fence{RunID: 1, Attempt: 1}, Job: task.Signal, Subject: "x", Queue: task.Default}
	if err := q.Enqueue(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	<-begun
	if state, err := q.State(t.Context(), held); err != nil || state != scheduler.StateWaiting {
		t.Fatalf("a task that was taken a moment ago is %q (%v), want waiting", state, err)
	}
	deadline := time.Now().Add(time.Minute)
	for {
		state, err := q.State(t.Context(), held)
		if err != nil {
			t.Fatal(err)
		}
		if state == scheduler.StateWaiting {
			return // it is in the list of its worker
		}
		if time.Now().After(deadline) {
			t.Fatalf("a task that a living worker has is %q, want waiting", state)
		}
	}
}
