package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"tidemark/internal/pgtest"
	"tidemark/internal/task"
	"tidemark/scheduler"
)

// look returns the states of tasks, all of which must be looked up.
func look(t *testing.T, q *scheduler.AsynqQueue, tasks ...task.Task) []scheduler.State {
	t.Helper()
	states, err := q.States(t.Context(), tasks)
	if err != nil || len(states) != len(tasks) {
		t.Fatalf("%d states of %d tasks: %v", len(states), len(tasks), err)
	}
	return states
}

// connect returns a queue on a Redis of its own, and a client of that Redis.
func connect(t *testing.T, now func() time.Time) (*scheduler.AsynqQueue, redis.UniversalClient, string) {
	t.Helper()
	address := pgtest.Redis(t)
	q, err := scheduler.NewAsynqQueue(address, now)
	if err != nil {
		t.Fatal(err)
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(options)
	t.Cleanup(func() { _, _ = q.Close(), c.Close() })
	return q, c, address
}

// fill enqueues n tasks for a queue.
func fill(t *testing.T, q *scheduler.AsynqQueue, queue string, n int) (tasks []task.Task) {
	t.Helper()
	for i := range n {
		tasks = append(tasks, task.Task{Fence: task.Fence{RunID: int64(i), Attempt: 1}, Job: task.Signal, Subject: fmt.Sprint(queue, i), Queue: queue})
		if err := q.Enqueue(t.Context(), tasks[i]); err != nil {
			t.Fatal(err)
		}
	}
	return tasks
}

// One look at many tasks asks Redis once about each of their queues. It ends with its context, after one task at least.
func TestALookAtManyTasks(t *testing.T) {
	t.Parallel()
	q, c, _ := connect(t, time.Now)
	tasks := append(fill(t, q, task.Webhooks, 50), fill(t, q, task.Low, 50)...)
	lengths := func(tasks ...task.Task) string { // how often Redis is asked for the length of a list
		if err := c.ConfigResetStat(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		for i, state := range look(t, q, tasks...) {
			if state != scheduler.StateWaiting {
				t.Fatalf("task %d is %q, want waiting", i, state)
			}
		}
		stats, err := c.InfoMap(t.Context(), "commandstats").Result()
		if err != nil {
			t.Fatal(err)
		}
		calls, _, _ := strings.Cut(stats["Commandstats"]["cmdstat_llen"], ",")
		return calls
	}
	if two, all := lengths(tasks[0], tasks[50]), lengths(tasks...); two == "" || two != all {
		t.Errorf("one task of each queue costs %q, all tasks %q; want the same", two, all)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if states, err := q.States(ended, tasks); err != nil || len(states) != 1 {
		t.Errorf("a look without time left has %d states (%v), want 1", len(states), err)
	}
	// A list that Redis lost: its tasks are there and no worker will get them. Those of the other list wait.
	if err := c.Del(t.Context(), "asynq:{"+task.Low+"}:pending").Err(); err != nil {
		t.Fatal(err)
	}
	for i, state := range look(t, q, tasks...) {
		if over := state == scheduler.StateOver; over != (i >= 50) {
			t.Fatalf("task %d is %q after one list was lost", i, state)
		}
	}
}

// A task that was taken by a worker that gives no sign is found dead, after the time of silence. What was seen more than an hour ago does not
// count: the task may have been lost and taken again since.
func TestATaskInNoWorkersList(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)
	q, c, _ := connect(t, func() time.Time { return now })
	taken := fill(t, q, task.Default, 1)[0]
	key := "asynq:{" + task.Default + "}:"
	if err := errors.Join(c.LMove(t.Context(), key+"pending", key+"active", "RIGHT", "LEFT").Err(),
		c.HSet(t.Context(), key+"t:"+taken.ID(), "state", "active").Err()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after time.Duration
		want  scheduler.State
	}{
		{0, scheduler.StateWaiting},
		{9 * time.Second, scheduler.StateWaiting},
		{time.Second, scheduler.StateActive},
		{2 * time.Hour, scheduler.StateWaiting},
		{30 * time.Minute, scheduler.StateActive}, // many runs may be looked at in between
	} {
		now = now.Add(step.after)
		if state := look(t, q, taken)[0]; state != step.want {
			t.Errorf("at %s it is %q, want %q", now.Format(time.TimeOnly), state, step.want)
		}
	}
}

// A worker has taken a task and claims its run only later, because it is busy. The task is not given to another worker in the meantime.
func TestATaskThatALivingWorkerHasWaits(t *testing.T) {
	t.Parallel()
	q, c, address := connect(t, time.Now)
	q.Silence = time.Nanosecond
	options, err := asynq.ParseRedisURI(address)
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
	held := fill(t, q, task.Default, 1)[0]
	<-begun
	if state := look(t, q, held)[0]; state != scheduler.StateWaiting {
		t.Fatalf("a task that was taken a moment ago is %q, want waiting", state)
	}
	deadline := time.Now().Add(time.Minute)
	for look(t, q, held)[0] != scheduler.StateWaiting { // until it is in the list of its worker
		if time.Now().After(deadline) {
			t.Fatal("a task that a living worker has does not wait")
		}
	}
	// Redis loses that list. The worker has until now given signs, so its time of silence begins now.
	for after := scheduler.StateWaiting; after == scheduler.StateWaiting; after = look(t, q, held)[0] {
		if time.Now().After(deadline) {
			t.Fatal("a task in no worker's list waits after the time of silence")
		}
		lists, err := c.Keys(t.Context(), "asynq:workers*").Result()
		if err == nil && len(lists) > 0 {
			err = c.Del(t.Context(), lists...).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
		if state := look(t, q, held)[0]; state != scheduler.StateWaiting {
			t.Fatalf("a task whose worker's list was lost a moment ago is %q, want waiting", state)
		}
	}
}
