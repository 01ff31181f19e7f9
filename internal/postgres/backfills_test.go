package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// backfilled stores and starts a backfill of n hourly slots, with the given sources.
func backfilled(t *testing.T, db *postgres.DB, n, parallelism int, sources ...string) int64 {
	t.Helper()
	begin := instant(t, "2026-01-01T00:00:00Z")
	b := postgres.Backfill{
		Signal: "sig", FromDay: begin, ToDay: begin.AddDate(0, 0, n/24), Zone: "UTC", Existing: "skip", Parallelism: parallelism, SeenAt: begin,
		Basis: []postgres.Fact{{What: "a", Is: "b"}},
	}
	slots := make([]postgres.BackfillSlot, n)
	for i := range slots {
		slots[i] = postgres.BackfillSlot{Slot: begin.Add(time.Duration(i) * time.Hour), Status: postgres.SlotPending}
	}
	var fetches []postgres.BackfillFetch
	for _, s := range sources {
		fetches = append(fetches, postgres.BackfillFetch{Source: s, Requests: 1, WindowFrom: &begin})
	}
	id, err := db.SavePlan(t.Context(), b, fetches, slots)
	if err != nil {
		t.Fatal(err)
	}
	if begun, err := db.ApplyBackfill(t.Context(), id, begin); err != nil || !begun {
		t.Fatalf("applied: %t, %v", begun, err)
	}
	return id
}

// due returns the runs that would be handed out. They stay due.
func due(t *testing.T, db *postgres.DB) []task.Task {
	t.Helper()
	list, err := db.HandOut(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.PutBack(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	return list
}

func claim(t *testing.T, db *postgres.DB, list ...task.Task) {
	t.Helper()
	for _, r := range list {
		if ok, err := db.Claim(t.Context(), r.Fence, "w"); err != nil || !ok {
			t.Fatalf("claim run %d: %t, %v", r.RunID, ok, err)
		}
	}
}

// finish records slots of a run as done, and the run as over.
func finish(t *testing.T, db *postgres.DB, id int64, r task.Task, n int) {
	t.Helper()
	slots, err := db.BackfillWork(t.Context(), id, r.RunID, n)
	if err != nil {
		t.Fatal(err)
	}
	var list []postgres.BackfillSlot
	for _, s := range slots {
		list = append(list, postgres.BackfillSlot{Slot: s, Status: postgres.SlotDone, Outcome: new(postgres.OutcomeAdded)})
	}
	if err := db.FinishSlots(t.Context(), r.Fence, id, list); err != nil {
		t.Fatal(err)
	}
	if err := db.Succeed(t.Context(), r.Fence); err != nil {
		t.Fatal(err)
	}
}

func counts(t *testing.T, db *postgres.DB, id int64) postgres.BackfillCounts {
	t.Helper()
	c, err := db.BackfillCounts(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSlotsBecomeRunsAFewAtATime(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	id := backfilled(t, db, 10_000, 3)
	if err := exec(t, url, "", `insert into runs (job, subject, slot, trigger, queue, status, max_attempts)
		values ('signal', 'other', now(), 'cron', 'critical', 'due', 8)`); err != nil {
		t.Fatal(err)
	}
	first := due(t, db)
	if len(first) != 4 || first[0].Subject != "other" {
		t.Fatalf("due %+v, want the scheduled run and then three of the backfill", first)
	}
	for range 3 {
		if got := len(due(t, db)); got != 4 {
			t.Fatalf("%d runs after another look, want the same 4", got)
		}
	}
	claim(t, db, first...)
	if got := len(due(t, db)); got != 0 {
		t.Errorf("%d further runs while three are under way, want none", got)
	}
	// A run ends after ten slots; the next run takes the following slots.
	finish(t, db, id, first[1], 10)
	next := due(t, db)
	if len(next) != 1 || !next[0].Slot.Equal(instant(t, "2026-01-01T10:00:00Z")) {
		t.Fatalf("due %+v, want one run from the eleventh slot on", next)
	}
	c := counts(t, db, id)
	if c.Slots != 10_000 || c.Done != 10 || c.Pending != 9990 || c.Running != 2 || c.Waiting != 1 || c.Lately != 10 || c.Seconds <= 0 {
		t.Errorf("%+v", c)
	}
}

func TestTenSchedulersHandOutASlotOnce(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	id := backfilled(t, db, 1000, 4)
	var all sync.WaitGroup
	for range 10 {
		other := as(t, url, postgres.RoleWorker)
		all.Go(func() {
			for range 5 {
				if err := other.FeedBackfills(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	runs := due(t, db)
	if len(runs) != 4 {
		t.Fatalf("%d runs, want 4", len(runs))
	}
	seen := map[int64]int{}
	for _, r := range runs {
		slots, err := db.BackfillWork(t.Context(), id, r.RunID, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range slots {
			seen[s.Unix()]++
		}
	}
	if len(seen) != 4*64 {
		t.Errorf("%d slots are handed out, want 4 times 64, none of them twice", len(seen))
	}
}

func TestABackfillIsPausedResumedAndCancelled(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	id := backfilled(t, db, 200, 1)
	run := due(t, db)[0]
	claim(t, db, run)
	if err := db.PauseBackfill(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if slots, err := db.BackfillWork(t.Context(), id, run.RunID, 10); err != nil || len(slots) != 0 {
		t.Errorf("a paused backfill has %d slots to do (%v)", len(slots), err)
	}
	if err := db.Succeed(t.Context(), run.Fence); err != nil {
		t.Fatal(err)
	}
	if got := due(t, db); len(got) != 0 {
		t.Errorf("a paused backfill hands out %+v", got)
	}
	if err := db.PauseBackfill(t.Context(), id); !errors.Is(err, postgres.ErrState) || err.Error() != fmt.Sprintf("pause backfill %d: it is paused: that does not fit its state", id) {
		t.Errorf("paused twice: %v", err)
	}
	if err := db.ResumeBackfill(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	again := due(t, db)
	if len(again) != 1 || again[0].RunID != run.RunID || again[0].Attempt != 2 {
		t.Fatalf("resumed: %+v, want the same run's next attempt", again)
	}
	claim(t, db, again[0])
	finish(t, db, id, again[0], 64)
	if err := db.CancelBackfill(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if c := counts(t, db, id); c.Done != 64 || c.Cancelled != 136 || c.Pending != 0 {
		t.Errorf("cancelled: %+v, want 64 done and the rest cancelled", c)
	}
	if got := due(t, db); len(got) != 0 {
		t.Errorf("a cancelled backfill hands out %+v", got)
	}
	for name, change := range map[string]error{
		"resume": db.ResumeBackfill(t.Context(), id), "cancel": db.CancelBackfill(t.Context(), id),
		"retry": func() error { _, _, err := db.RetryFailed(t.Context(), id); return err }(),
	} {
		if !errors.Is(change, postgres.ErrState) {
			t.Errorf("%s of a cancelled backfill: %v", name, change)
		}
	}
	if err := db.PauseBackfill(t.Context(), 99); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("a backfill that is none: %v", err)
	}
}

// A change that took a second connection inside its transaction would wait for itself.
func TestARefusedChangeOfABackfillNeedsOneConnection(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	separator := "?"
	if strings.Contains(url, "?") {
		separator = "&"
	}
	db := as(t, url+separator+"pool_max_conns=1", postgres.RoleWorker)
	id := backfilled(t, db, 24, 1)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if err := db.ResumeBackfill(ctx, id); !errors.Is(err, postgres.ErrState) {
		t.Errorf("a backfill that runs is resumed: %v", err)
	}
	if err := db.CancelBackfill(ctx, 99); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("a backfill that is none: %v", err)
	}
}

func TestASourceThatFailsPausesTheBackfill(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	for _, goOn := range []struct {
		name  string
		how   func(id int64) error
		asked int
	}{
		{"resumed without it", func(id int64) error { return db.ResumeBackfill(t.Context(), id) }, 0},
		{"asked again", func(id int64) error {
			slots, sources, err := db.RetryFailed(t.Context(), id)
			if slots != 0 || sources != 1 {
				t.Errorf("%d slots and %d sources are tried again, want one source", slots, sources)
			}
			return err
		}, 1},
	} {
		id := backfilled(t, db, 10, 1, "bad", "good")
		runs := due(t, db)
		if len(runs) != 2 || runs[0].Job != task.Ingest || runs[0].Queue != task.Low || runs[0].Params.Window == nil {
			t.Fatalf("due %+v, want the two sources, in the low queue and with their window", runs)
		}
		claim(t, db, runs...)
		if got := due(t, db); len(got) != 0 {
			t.Fatalf("slots are handed out before the sources are done: %+v", got)
		}
		for _, r := range runs {
			if r.Subject == "good" {
				if err := db.Succeed(t.Context(), r.Fence); err != nil {
					t.Fatal(err)
				}
			} else if over, err := db.Fail(t.Context(), r.Fence, "no such page", 0, true, false); err != nil || !over {
				t.Fatalf("failed: %t, %v", over, err)
			}
		}
		if got := due(t, db); len(got) != 0 {
			t.Errorf("slots are handed out although a source has failed: %+v", got)
		}
		b, err := db.Backfill(t.Context(), id)
		want := "a source could not be asked (resume goes on without it, retry-failed asks again): bad: no such page"
		if err != nil || b.Status != postgres.BackfillPaused || b.Note == nil || *b.Note != want {
			t.Errorf("it is %+v (%v), want paused with the reason", b, err)
		}
		if err := goOn.how(id); err != nil {
			t.Fatal(err)
		}
		asked := 0
		for range 2 {
			for _, r := range due(t, db) {
				claim(t, db, r)
				if r.Job == task.Ingest {
					asked++
					if err := db.Succeed(t.Context(), r.Fence); err != nil {
						t.Fatal(err)
					}
					continue
				}
				finish(t, db, id, r, 64)
			}
		}
		if c := counts(t, db, id); c.Done != 10 || asked != goOn.asked {
			t.Errorf("%s: %d slots done and %d sources asked, want 10 and %d", goOn.name, c.Done, asked, goOn.asked)
		}
	}
}

func TestSlotsOfARunThatFailsHaveFailed(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	id := backfilled(t, db, 100, 1)
	run := due(t, db)[0]
	claim(t, db, run)
	if _, err := db.Fail(t.Context(), run.Fence, "the disk is full", 0, true, false); err != nil {
		t.Fatal(err)
	}
	rest := due(t, db)
	if len(rest) != 1 {
		t.Fatalf("due %+v, want the other slots", rest)
	}
	claim(t, db, rest[0])
	finish(t, db, id, rest[0], 64)
	due(t, db)
	failed, err := db.BackfillSlots(t.Context(), id, postgres.SlotFailed, false, 1000)
	if err != nil || len(failed) != 64 || *failed[0].Reason != "the disk is full" {
		t.Fatalf("%d slots have failed (%v), want the 64 of the run, with its error", len(failed), err)
	}
	b, err := db.Backfill(t.Context(), id)
	if err != nil || b.FinishedAt == nil {
		t.Errorf("%+v (%v), want it finished", b, err)
	}
	if slots, _, err := db.RetryFailed(t.Context(), id); err != nil || slots != 64 {
		t.Fatalf("%d slots are tried again (%v), want 64", slots, err)
	}
	again := due(t, db)
	if len(again) != 1 || again[0].Attempt != 2 {
		t.Fatalf("due %+v, want the failed run's next attempt", again)
	}
	claim(t, db, again[0])
	finish(t, db, id, again[0], 64)
	if c := counts(t, db, id); c.Done != 100 || c.Failed != 0 {
		t.Errorf("%+v, want all done", c)
	}
}

func TestTimeDoesNotWaitForABackfill(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	backfilled(t, db, 10, 1)
	if len(due(t, db)) != 1 {
		t.Fatal("no run is due")
	}
	if open, err := db.Unfinished(t.Context(), instant(t, "2030-01-01T00:00:00Z")); err != nil || open {
		t.Errorf("unfinished: %t (%v): a sandbox would wait for a backfill", open, err)
	}
}

// The terms of the token are checked once an hour by the wall clock, which may be before the end of a sandbox's past.
func TestTimeDoesNotWaitForTheNextCheckOfAPayment(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	at := time.Now().Add(time.Minute)
	if err := db.CheckX402Terms(t.Context()); err != nil {
		t.Fatal(err)
	}
	if open, err := db.Unfinished(t.Context(), at); err != nil || !open {
		t.Errorf("unfinished: %t (%v): a check that is due now was not waited for", open, err)
	}
	run := due(t, db)[0]
	claim(t, db, run)
	if err := db.SaveX402Terms(t.Context(), run.Fence, postgres.X402Terms{ChainID: 1, Asset: "0x" + strings.Repeat("a", 40), Name: "USDC", Version: "2", OK: true}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := db.Succeed(t.Context(), run.Fence); err != nil {
		t.Fatal(err)
	}
	if open, err := db.Unfinished(t.Context(), at); err != nil || open {
		t.Errorf("unfinished: %t (%v): a sandbox would wait for a check in an hour", open, err)
	}
}

func TestAManualRunForgetsTheWindowOfABackfill(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	backfilled(t, db, 10, 1, "s")
	run := due(t, db)[0]
	claim(t, db, run)
	if err := db.Succeed(t.Context(), run.Fence); err != nil {
		t.Fatal(err)
	}
	if _, err := db.AddRun(t.Context(), task.Ingest, "s", run.Slot, "again"); err != nil {
		t.Fatal(err)
	}
	for _, r := range due(t, db) {
		if r.Job == task.Ingest && r.Params != (task.Params{}) {
			t.Errorf("a manual run asks for %+v, want everything", r.Params)
		}
	}
	// The instant is taken: the fetch of the next backfill takes the next instant.
	backfilled(t, db, 10, 1, "s")
	var slots []time.Time
	runs, err := db.Runs(t.Context(), postgres.RunFilter{Job: task.Ingest, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		slots = append(slots, r.Slot.UTC())
	}
	begin := instant(t, "2026-01-01T00:00:00Z")
	if d := cmp.Diff([]time.Time{begin.Add(time.Microsecond), begin}, slots); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
