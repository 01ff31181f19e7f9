package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/scheduler"
	"tidemark/test/program"
)

// flood asks for n runs of a signal, each for another slot, and returns when the first are through.
func (s *fixture) flood(n int) {
	s.t.Helper()
	slot := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		if _, err := s.db.AddRun(s.t.Context(), task.Signal, "crack-spread-321", slot.Add(time.Duration(i)*time.Minute), s.t.Name()); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *fixture) statuses() map[string]int {
	s.t.Helper()
	out := map[string]int{}
	for _, r := range s.flooded() {
		out[r.Status]++
	}
	return out
}

// flooded returns the requested runs, without the runs of the paused schedule.
func (s *fixture) flooded() []postgres.Run {
	s.t.Helper()
	return slices.DeleteFunc(s.runs(postgres.RunFilter{Job: task.Signal}), func(r postgres.Run) bool { return r.Trigger != task.TriggerManual })
}

// settled checks that all of the flood had its effect, once each.
func (s *fixture) settled(n int) {
	s.t.Helper()
	program.Until(s.t, program.Timeout, fmt.Sprintf("all %d runs have succeeded", n), func() (bool, string) {
		st := s.statuses()
		return st["succeeded"] == n, fmt.Sprint(st)
	})
	for _, r := range s.flooded() {
		if r.RowsAdded == nil || *r.RowsAdded != 1 {
			s.t.Errorf("run %d (attempt %d) added %v rows, want 1", r.ID, r.Attempt, r.RowsAdded)
		}
	}
	if got := s.query(`select count(*) from snapshots`)[0]; got != fmt.Sprint(n) {
		s.t.Errorf("%s snapshots, want %d", got, n)
	}
}

func TestRedisLosesEverything(t *testing.T) { // R2
	t.Parallel()
	const n = 400
	for name, lose := range map[string]func(*testing.T, *fixture){
		"FLUSHALL": func(t *testing.T, s *fixture) {
			t.Helper()
			if err := s.redisClient().FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		},
		"killed without its file": func(t *testing.T, s *fixture) {
			t.Helper()
			if err := s.redis.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := s.redis.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t, "CONCURRENCY=1")
			s.pauseSchedule()
			s.start("scheduler")
			s.flood(n)
			program.Until(t, program.Timeout, "the queue has the tasks", func() (bool, string) {
				st := s.statuses()
				return st["queued"] == n, fmt.Sprint(st)
			})
			s.start("worker")
			program.Until(t, program.Timeout, "the worker is in the middle of it", func() (bool, string) {
				st := s.statuses()
				return st["succeeded"] > n/20, fmt.Sprint(st)
			})
			lose(t, s)
			if st := s.statuses(); st["succeeded"] == n {
				t.Fatalf("the work was over before Redis lost it: %v", st)
			}
			s.settled(n)
		})
	}
}

func TestRedisIsAwayAtFirst(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.pauseSchedule()
	if err := s.redis.Kill(); err != nil {
		t.Fatal(err)
	}
	s.start("scheduler")
	s.start("worker")
	s.flood(5)
	if err := s.redis.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.settled(5)
}

// TestQueueHoldsADeadTask is R8: the queue has a task's id and will never run it.
func TestQueueHoldsADeadTask(t *testing.T) {
	t.Parallel()
	for name, bury := range map[string]func(t *testing.T, s *fixture, tk task.Task){
		"archived under the id": func(t *testing.T, s *fixture, tk task.Task) {
			t.Helper()
			s.enqueue(tk)
			i := asynq.NewInspector(s.asynqOpt())
			defer func() { _ = i.Close() }()
			if err := i.ArchiveTask(task.Critical, tk.ID()); err != nil {
				t.Fatal(err)
			}
		},
		"active with its lease entry lost": func(t *testing.T, s *fixture, tk task.Task) {
			t.Helper()
			s.enqueue(tk)
			c := s.redisClient()
			key := "asynq:{" + task.Critical + "}:"
			if err := c.LMove(t.Context(), key+"pending", key+"active", "RIGHT", "LEFT").Err(); err != nil {
				t.Fatal(err)
			}
			if err := c.HSet(t.Context(), key+"t:"+tk.ID(), "state", "active").Err(); err != nil {
				t.Fatal(err)
			}
		},
		"pending list lost, the id kept": func(t *testing.T, s *fixture, tk task.Task) {
			t.Helper()
			s.enqueue(tk)
			if err := s.redisClient().Del(t.Context(), "asynq:{"+task.Critical+"}:pending").Err(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			s.pauseSchedule()
			s.flood(1)
			due, err := s.db.HandOut(t.Context(), 10)
			if err != nil || len(due) != 1 {
				t.Fatalf("%d runs are due, want 1 (%v)", len(due), err)
			}
			bury(t, s, due[0])
			sched := s.start("scheduler")
			s.start("worker")
			s.settled(1)
			program.Until(t, program.Timeout, "the scheduler says so", func() (bool, string) {
				return strings.Contains(sched.Output(), "taking their next attempt"), ""
			})
		})
	}
}

// enqueue puts a task into the queue as the scheduler does.
func (s *fixture) enqueue(tk task.Task) {
	s.t.Helper()
	q, err := scheduler.NewAsynqQueue(s.redis.URL(), time.Now)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	if err := q.Enqueue(s.t.Context(), tk); err != nil {
		s.t.Fatal(err)
	}
}
