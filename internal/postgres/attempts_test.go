package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// Every attempt is a row: an attempt that a frozen worker received and did not start, an attempt that was lost with its worker, and failed
// attempts.
func TestEveryAttemptOfARunIsARowAndWhatIsOverHasNoNextTry(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	ctx := t.Context()
	id, err := db.AddRun(ctx, task.Ingest, "a", instant(t, "2026-03-02T23:00:00Z"), "test")
	if err != nil {
		t.Fatal(err)
	}
	f := task.Fence{RunID: id, Attempt: 1}
	step := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	claim := func(worker string) {
		t.Helper()
		if ok, err := db.Claim(ctx, f, worker); err != nil || !ok {
			t.Fatalf("claim attempt %d: %v, %v", f.Attempt, ok, err)
		}
	}
	handed, err := db.HandOut(ctx, 10)
	if err != nil || len(handed) != 1 {
		t.Fatalf("handed out %v: %v", handed, err)
	}
	step("take the next attempt", db.Requeue(ctx, handed, true)) // the worker that received it is frozen
	f.Attempt++
	claim("frozen")
	_, err = db.Reclaim(ctx, -time.Hour) // its heartbeats are older than an hour from now
	step("take it from its worker", err)
	f.Attempt++
	claim("w")
	_, err = db.Fail(ctx, f, "the page is broken", time.Hour, false, false)
	step("fail", err)
	f.Attempt++
	claim("w")
	over, err := db.Fail(ctx, f, "the page is gone", time.Hour, true, true)
	step("fail for good", err)
	check := func(status string, attempts ...string) {
		t.Helper()
		list, err := db.Runs(ctx, postgres.RunFilter{ID: id, Limit: 1})
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		tried, err := db.Attempts(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if r := list[0]; r.Status != status || r.Attempt != len(tried) || r.NextTryAt != nil {
			t.Errorf("the run is %s, attempt %d with %d listed, next try %v; want %s", r.Status, r.Attempt, len(tried), r.NextTryAt, status)
		}
		var got []string
		for _, a := range tried {
			worker, why := "-", "-"
			if a.Worker != nil {
				worker = *a.Worker
			}
			if a.Error != nil {
				why, _, _ = strings.Cut(*a.Error, " at 2")
				why, _, _ = strings.Cut(why, " since 2")
			}
			got = append(got, fmt.Sprintf("%d %s by %s: %s", a.Attempt, a.Outcome, worker, why))
			if (a.StartedAt == nil) != (a.Outcome == "not begun") || a.FinishedAt == nil {
				t.Errorf("attempt %d began %v and ended %v", a.Attempt, a.StartedAt, a.FinishedAt)
			}
		}
		if want := strings.Join(attempts, "\n"); strings.Join(got, "\n") != want {
			t.Errorf("the attempts are\n%s\nwant\n%s", strings.Join(got, "\n"), want)
		}
	}
	ended := []string{
		"1 not begun by -: handed to the queue", "2 lost by frozen: attempt 2 was lost with its worker frozen, which gave no sign",
		"3 failed by w: the page is broken", "4 failed by w: the page is gone",
	}
	if !over {
		t.Error("it is not over")
	}
	check("failed", ended...)
	// An operator runs it again.
	if _, err := db.AddRun(ctx, task.Ingest, "a", instant(t, "2026-03-02T23:00:00Z"), "again"); err != nil {
		t.Fatal(err)
	}
	f.Attempt++
	claim("w")
	step("postpone", db.Postpone(ctx, f, "waiting for another", time.Hour))
	f.Attempt++
	claim("w")
	step("succeed", db.Succeed(ctx, f))
	check("succeeded", append(ended, "5 waited by w: waiting for another", "6 succeeded by w: -")...)
}

func TestALogThatArrivesLateDoesNotReplaceALongerOne(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	id, err := db.AddRun(t.Context(), task.Ingest, "a", instant(t, "2026-03-02T23:00:00Z"), "test")
	if err != nil {
		t.Fatal(err)
	}
	f := task.Fence{RunID: id, Attempt: 1}
	if ok, err := db.Claim(t.Context(), f, "worker"); err != nil || !ok {
		t.Fatalf("claim: %v, %v", ok, err)
	}
	for _, step := range []struct{ lines, want int }{{2, 2}, {1, 2}, {3, 3}} {
		if err := db.KeepLog(t.Context(), f, make([]postgres.LogLine, step.lines)); err != nil {
			t.Fatal(err)
		}
		list, err := db.Attempts(t.Context(), id)
		if err != nil || len(list) != 1 || len(list[0].Log) != step.want {
			t.Errorf("after %d lines: %+v, %v, want %d lines", step.lines, list, err, step.want)
		}
	}
}
