package workers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/workers"
)

// claimed records a run and makes a worker of the test's own its worker.
func claimed(t *testing.T, db *postgres.DB, job, subject string, slot time.Time) task.Task {
	t.Helper()
	for try := range 100 { // a worker running in parallel with the test may be quicker
		at := slot.Add(time.Duration(-try) * time.Microsecond)
		id, err := db.AddRun(t.Context(), job, subject, at, t.Name())
		if err != nil {
			t.Fatal(err)
		}
		f := task.Fence{RunID: id, Attempt: 1}
		ok, err := db.Claim(t.Context(), f, "test")
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			return task.Task{Fence: f, Job: job, Subject: subject, Slot: at}
		}
	}
	t.Fatalf("no run of %s %s could be claimed", job, subject)
	return task.Task{}
}

func isWaiting(err error) bool {
	return err != nil && fmt.Sprintf("%T", err) == fmt.Sprintf("%T", workers.WaitFor(err, 0))
}

// An answer that came a minute before the slot is stored a minute after it.
func TestASnapshotHoldsWhatWasLearnedByItsSlot(t *testing.T) {
	t.Parallel()
	slot := time.Date(2026, 3, 3, 17, 0, 0, 0, time.UTC)
	about := func(day int, v float64) series.Reading {
		return series.Reading{Series: "test.a", ObservedAt: time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC), Value: v}
	}
	for _, c := range []struct {
		fact string
		// meanwhile sets the outcome of the source's run once the signal's run has been told to wait.
		meanwhile func(t *testing.T, b *backfillFixture, asked task.Task)
		want      float64
	}{
		{"the run waits for the source that is being asked", func(t *testing.T, b *backfillFixture, asked task.Task) {
			t.Helper()
			b.store(slot.Add(-time.Minute), []series.Reading{about(1, 10), about(2, 20)})
			if err := b.db.Succeed(t.Context(), asked.Fence); err != nil {
				t.Fatal(err)
			}
		}, 20},
		{"but not for one whose worker vanished", func(t *testing.T, b *backfillFixture, asked task.Task) {
			t.Helper()
			lost, err := b.db.Reclaim(t.Context(), -time.Second)
			if err != nil || len(lost) == 0 {
				t.Fatalf("reclaimed %v: %v", lost, err)
			}
			// The next attempt begins after the slot: its data belong to a later instant.
			if ok, err := b.db.Claim(t.Context(), task.Fence{RunID: asked.RunID, Attempt: 2}, "another"); err != nil || !ok {
				t.Fatalf("claim: %v, %v", ok, err)
			}
		}, 10},
		{"nor for one that failed", func(t *testing.T, b *backfillFixture, asked task.Task) {
			t.Helper()
			if _, err := b.db.Fail(t.Context(), asked.Fence, "no answer", 0, false, false); err != nil {
				t.Fatal(err)
			}
		}, 10},
	} {
		t.Run(c.fact, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, definition())
			b.job.Sources = map[string][]string{"test-signal": {"test"}}
			b.store(slot.Add(-24*time.Hour), []series.Reading{about(1, 10)})
			asked := claimed(t, b.db, task.Ingest, "test", slot.Add(-2*time.Minute))
			// A run of another source, and a run for a later slot, do not delay the run.
			claimed(t, b.db, task.Ingest, "elsewhere", slot.Add(-2*time.Minute))
			claimed(t, b.db, task.Ingest, "test", slot.Add(time.Minute))

			run := claimed(t, b.db, task.Signal, "test-signal", slot)
			if err := b.job.Run(t.Context(), run); !isWaiting(err) {
				t.Fatalf("while the source is being asked the run ends with %v, want to be told to wait", err)
			}
			if err := b.db.Postpone(t.Context(), run.Fence, "waiting", 0); err != nil {
				t.Fatal(err)
			}
			c.meanwhile(t, b, asked)
			run.Attempt++
			if ok, err := b.db.Claim(t.Context(), run.Fence, "test"); err != nil || !ok {
				t.Fatalf("claim: %v, %v", ok, err)
			}
			if err := b.job.Run(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			served := b.snapshot("test-signal", slot)
			if served.Value == nil || *served.Value != c.want {
				t.Errorf("the slot's value is %v, want %v", served.Value, c.want)
			}
			again, _, err := b.job.Compute(t.Context(), definition(), slot)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(served.Value, again.Value); d != "" {
				t.Errorf("computed again it is another (-served +again):\n%s", d)
			}
		})
	}
}

func TestAPauseIsNoLongerThanTheWorkersPatience(t *testing.T) {
	t.Parallel()
	db := newBench(t).db
	slot := time.Date(2026, 3, 3, 17, 0, 0, 0, time.UTC)
	for i, c := range []struct {
		fact     string
		patience func() time.Duration
		// least and most are the pauses that it may be.
		least, most time.Duration
	}{
		{"the job's own, where nothing bounds it", nil, 2 * time.Hour, 2 * time.Hour},
		{"nor does zero", func() time.Duration { return 0 }, 2 * time.Hour, 2 * time.Hour},
		{"a bound", func() time.Duration { return time.Minute }, time.Minute, time.Minute},
		{"a bound above the job's own", func() time.Duration { return 3 * time.Hour }, 2 * time.Hour, 2 * time.Hour},
	} {
		handlers := map[string]workers.Handler{}
		for job := range task.Policies {
			handlers[job] = func(context.Context, task.Task) error { return workers.WaitFor(errors.New("not yet"), 2*time.Hour) }
		}
		srv, err := workers.New(workers.Options{
			DB: db, RedisURL: "redis://127.0.0.1:1", Handlers: handlers, Name: "test", MaxWait: c.patience, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		at := slot.AddDate(0, 0, i)
		id, err := db.AddRun(t.Context(), task.Signal, "test", at, t.Name())
		if err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		_ = srv.Deliver(t.Context(), task.Task{Fence: task.Fence{RunID: id, Attempt: 1}, Job: task.Signal, Subject: "test", Slot: at})
		list, err := db.Runs(t.Context(), postgres.RunFilter{ID: id, Limit: 1})
		if err != nil || len(list) != 1 {
			t.Fatalf("the run is not to be seen: %v, %v", list, err)
		}
		if next := list[0].NextTryAt; next == nil || next.Before(before.Add(c.least)) || next.After(time.Now().Add(c.most)) {
			t.Errorf("%s: looked at again at %v, want %s to %s after %s", c.fact, next, c.least, c.most, before)
		}
	}
}

func TestARunThatWaitsHasNotFailed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	hangs := claimed(t, r.db, task.Ingest, "other", r.clock.Now())
	r.clock.AdvanceTo(r.clock.Now().Add(24 * time.Hour))
	if _, err := r.db.AddRun(t.Context(), task.Ingest, "test", r.clock.Now(), t.Name()); err != nil {
		t.Fatal(err)
	}
	signal := func(what string, as func(postgres.Run) bool) postgres.Run {
		t.Helper()
		deadline := time.After(time.Minute)
		for {
			list, err := r.db.Runs(t.Context(), postgres.RunFilter{Job: task.Signal, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 1 && as(list[0]) {
				return list[0]
			}
			select {
			case <-deadline:
				t.Fatalf("the signal run never %s: %+v", what, list)
			case <-time.After(10 * time.Millisecond):
			}
			if _, err := r.db.Heartbeat(t.Context(), []task.Fence{hangs.Fence}); err != nil {
				t.Fatal(err)
			}
		}
	}
	waiting := signal("waits", func(s postgres.Run) bool { return s.Error != nil && s.Status == "due" })
	if waiting.Failures != 0 || !strings.Contains(*waiting.Error, "other") || waiting.NextTryAt == nil {
		t.Errorf("the run that waits is %+v, want no failure, the source's name and an instant", waiting)
	}
	if err := r.db.Succeed(t.Context(), hangs.Fence); err != nil {
		t.Fatal(err)
	}
	done := signal("ends", func(s postgres.Run) bool { return s.Status == "succeeded" })
	if done.Failures != 0 || done.Losses != 0 || done.Error != nil {
		t.Errorf("it ended as %+v, want nothing held against it", done)
	}
	if got := r.served(); got != 11 {
		t.Errorf("served %v, want 11", got)
	}
}
