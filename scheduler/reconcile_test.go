package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/scheduler"
)

var errBroken = errors.New("unexpected value")

// busyQueue has all tasks but one. It looks up perLook tasks at a time, and cannot read one of those that it has.
type busyQueue struct {
	*queue

	perLook      int
	lost, broken int64
}

func (q busyQueue) States(_ context.Context, tasks []task.Task) (states []scheduler.State, _ error) {
	for _, t := range tasks[:min(q.perLook, len(tasks))] {
		switch {
		case t.RunID == q.broken:
			return states, errBroken
		case t.RunID == q.lost && q.given[t.ID()] == 0:
			states = append(states, scheduler.StateAbsent)
		default:
			states = append(states, scheduler.StateWaiting)
		}
	}
	return states, nil
}

// TestALostRunIsFoundAmongManyThatWait: however many runs wait for busy workers, and while more of them come, a run that the queue lost is
// handed out again.
func TestALostRunIsFoundAmongManyThatWait(t *testing.T) {
	t.Parallel()
	const waiting = 2500
	for _, test := range []struct {
		fact    string
		job     string
		queue   string
		behind  int // how many runs were recorded before it
		perLook int
		ticks   int // after so many, it was handed out again
	}{
		{"a pick, recorded first", task.Pick, task.Timely, 0, 1000, 2},
		{"a pick, recorded last", task.Pick, task.Timely, waiting, 1000, 2},
		{"a pick, the queue is slow", task.Pick, task.Timely, 0, 1, 2},
		{"a webhook, recorded first", task.Webhook, task.Webhooks, 0, 1000, 5},
		{"a webhook, recorded last", task.Webhook, task.Webhooks, waiting, 1000, 2},
		{"a webhook, the queue is slow", task.Webhook, task.Webhooks, 0, 100, 27},
	} {
		t.Run(test.fact, func(t *testing.T) {
			t.Parallel()
			address := pgtest.New(t)
			db := open(t, address, "")
			added := 0
			wait := func(n int) {
				admin(t, address, fmt.Sprintf(`insert into runs (job, subject, slot, trigger, queue, status, max_attempts, queued_at)
					select 'webhook', 'alert_' || i, now() - interval '1 hour', 'data', 'webhooks', 'queued', 100, now() - interval '1 minute'
					from generate_series(%d, %d) i`, added+1, added+n))
				added += n
			}
			wait(test.behind)
			admin(t, address, fmt.Sprintf(`insert into runs (job, subject, slot, trigger, queue, status, max_attempts, queued_at)
				values ('%s', 'lost', now() - interval '50 minutes', 'cron', '%s', 'queued', 10, now() - interval '1 minute')`, test.job, test.queue))
			wait(waiting - test.behind)
			runs, err := db.Runs(t.Context(), postgres.RunFilter{Job: test.job, Subject: "lost", Limit: 1})
			if err != nil || len(runs) != 1 {
				t.Fatal(runs, err)
			}
			q := busyQueue{&queue{}, test.perLook, runs[0].ID, runs[0].ID + 7}
			s := newScheduler(db, q)
			for range test.ticks {
				if err := s.Tick(t.Context()); err != nil && !errors.Is(err, errBroken) {
					t.Fatal(err)
				}
				wait(300)
			}
			if len(q.given) != 1 {
				t.Errorf("after %d ticks the queue was given %d tasks, want the one that it lost", test.ticks, len(q.given))
			}
		})
	}
}

// TestWhatTheQueueLostStartsAgain: a task that Redis lost begins again under the same attempt, and one that Redis will not run under the
// next. Tasks of other runs, and of runs that a worker has claimed, stay.
func TestWhatTheQueueLostStartsAgain(t *testing.T) {
	t.Parallel()
	address := pgtest.New(t)
	flood(t, address, 4)
	db := open(t, address, "")
	q := &stateQueue{}
	s := newScheduler(db, q)
	s.Unstarted = time.Nanosecond
	handed, err := db.HandOut(t.Context(), 10)
	if err != nil || len(handed) != 4 {
		t.Fatalf("%d runs are due (%v), want 4", len(handed), err)
	}
	q.states = map[string]scheduler.State{
		"s1": scheduler.StateWaiting, "s2": scheduler.StateAbsent, "s3": scheduler.StateOver, "s4": scheduler.StateActive,
	}
	q.meanwhile = func() {
		for _, f := range handed {
			if f.Subject == "s4" {
				if claimed, err := db.Claim(t.Context(), f.Fence, "w"); err != nil || !claimed {
					t.Error(claimed, err)
				}
			}
		}
	}
	if err := s.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	runs, err := db.Runs(t.Context(), postgres.RunFilter{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range runs {
		got[r.Subject] = fmt.Sprintf("%s, attempt %d", r.Status, r.Attempt)
	}
	for subject, want := range map[string]string{
		"s1": "queued, attempt 1", "s2": "due, attempt 1", "s3": "due, attempt 2", "s4": "running, attempt 1",
	} {
		if got[subject] != want {
			t.Errorf("%s is %s, want %s", subject, got[subject], want)
		}
	}
}

// stateQueue has a state for each subject, and calls meanwhile once it was asked.
type stateQueue struct {
	queue

	states    map[string]scheduler.State
	meanwhile func()
}

func (q *stateQueue) States(_ context.Context, tasks []task.Task) (states []scheduler.State, _ error) {
	for _, t := range tasks {
		states = append(states, q.states[t.Subject])
	}
	if len(tasks) > 0 {
		q.meanwhile()
	}
	return states, nil
}
