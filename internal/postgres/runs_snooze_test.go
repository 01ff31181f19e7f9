package postgres_test

import (
	"errors"
	"testing"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

func TestARunGoesOnLaterUntilALaterOneTakesOver(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	ctx := t.Context()
	claim := func(slot string) task.Fence {
		t.Helper()
		id, err := db.AddRun(ctx, task.Ledger, task.SubjectLedger, instant(t, slot), "test")
		if err != nil {
			t.Fatal(err)
		}
		f := task.Fence{RunID: id, Attempt: 1}
		if ok, err := db.Claim(ctx, f, "worker"); err != nil || !ok {
			t.Fatalf("claim: %v, %v", ok, err)
		}
		return f
	}
	run := func(f task.Fence) postgres.Run {
		t.Helper()
		list, err := db.Runs(ctx, postgres.RunFilter{ID: f.RunID, Limit: 1})
		if err != nil || len(list) != 1 {
			t.Fatalf("run %d: %v", f.RunID, err)
		}
		return list[0]
	}
	first := claim("2026-03-02T23:00:00Z")
	if err := db.Snooze(ctx, first, time.Hour); err != nil {
		t.Fatal(err)
	}
	if r := run(first); r.Status != "due" || r.Attempt != 2 || r.Failures != 0 || r.Error != nil || r.NextTryAt == nil || time.Until(*r.NextTryAt) < 59*time.Minute {
		t.Errorf("after an hour it goes on: %+v", r)
	}
	if due, err := db.HandOut(ctx, 10); err != nil || len(due) != 0 {
		t.Errorf("due now: %v, %v", due, err)
	}
	if err := db.Snooze(ctx, first, 0); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("the attempt that has ended: %v", err)
	}
	// When it is due, a run for a later slot exists: that run continues the work.
	second := claim("2026-03-03T23:00:00Z")
	third := claim("2026-03-04T23:00:00Z")
	if err := db.Snooze(ctx, second, time.Hour); err != nil {
		t.Fatal(err)
	}
	if r := run(second); r.Status != "succeeded" || r.Attempt != 1 || r.FinishedAt == nil {
		t.Errorf("with a later run: %+v", r)
	}
	if err := db.Snooze(ctx, third, time.Hour); err != nil {
		t.Fatal(err)
	}
	if r := run(third); r.Status != "due" {
		t.Errorf("the latest: %+v", r)
	}
}
