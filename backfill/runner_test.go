package backfill_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/backfill"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
)

// recode makes the signal say its values times a factor from now on.
func (s *fixture) recode(factor float64) {
	compute := s.def.Compute
	s.def.Compute = func(in series.Set, at time.Time) signals.Track {
		track := compute(in, at)
		for i := range track {
			track[i].Value *= factor
		}
		return track
	}
	s.signal.Definitions = map[string]signals.Definition{"twice": s.def}
}

func result(t *testing.T, s postgres.BackfillSlot) (r backfill.Result) {
	t.Helper()
	if err := json.Unmarshal(s.Result, &r); err != nil {
		t.Fatalf("the result of %s: %v", s.Slot, err)
	}
	return r
}

func TestWhatWasServedIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish("2026-01-20T00:00:00Z", 1, 2, 3, 4, 5)
	first := s.plan(s.request(3, 5))
	s.apply(first.ID)
	s.work()
	served := s.dump(`select to_jsonb(s)::text from snapshots s order by at`)

	s.recode(10)
	r := s.request(2, 6)
	r.Existing = backfill.ExistingAll
	again := s.plan(r)
	if d := cmp.Diff([]string{"02 skipped - -", "03 pending 2 20", "04 pending 4 40", "05 pending 6 60", "06 pending - 80"}, lines(again.Slots)); d != "" {
		t.Errorf("planned (-want +got):\n%s", d)
	}
	s.apply(again.ID)
	s.work()
	want := []string{"02 skipped - -", "03 done differs 2 20", "04 done differs 4 40", "05 done differs 6 60", "06 done added - 80"}
	if d := cmp.Diff(want, s.slots(again.ID)); d != "" {
		t.Errorf("applied (-want +got):\n%s", d)
	}
	if d := cmp.Diff(served, s.dump(`select to_jsonb(s)::text from snapshots s where extract(day from at) between 3 and 5 order by at`)); d != "" {
		t.Errorf("snapshots that stood were changed (-before +after):\n%s", d)
	}
	beside, err := s.db.BackfillSlots(t.Context(), again.ID, "", true, 10)
	if err != nil || len(beside) != 3 {
		t.Fatalf("%d slots differ (%v), want 3", len(beside), err)
	}
	if res := result(t, beside[1]); *res.Value != 40 || !res.AsOf.Equal(beside[1].Slot) || !res.ObservedAt.Equal(at(t, "2026-01-02")) {
		t.Errorf("kept beside the fourth: %+v, want 40, of the second, as of the slot", res)
	}
}

func TestHindsightStandsBesideWhatWasServed(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish("2026-01-20T00:00:00Z", 1, 2, 3, 4, 5)
	first := s.plan(s.request(3, 5))
	s.apply(first.ID)
	s.work()
	s.publish("2026-02-01T00:00:00Z", 1, 2.5, 3, 4, 5) // the second is revised
	s.publish("2026-02-20T00:00:00Z", 1, 9, 3, 4, 5)   // and once more, too late for the question
	served := s.dump(`select to_jsonb(s)::text from snapshots s order by at`)

	r := s.request(2, 6)
	r.AsOf = at(t, "2026-02-10")
	plan := s.plan(r)
	shown := []string{"02 pending - -", "03 pending 2 2", "04 pending 4 5", "05 pending 6 6", "06 pending - 8"}
	if d := cmp.Diff(shown, lines(plan.Slots)); d != "" {
		t.Errorf("planned (-want +got):\n%s", d)
	}
	s.apply(plan.ID)
	s.work()
	want := []string{
		"02 done differs - -", // the slot has no snapshot, and nothing was known
		"03 done unchanged 2 2",
		"04 done differs 4 5", // the day's newest observation is the second, and is known otherwise now
		"05 done unchanged 6 6",
		"06 done differs - 8",
	}
	if d := cmp.Diff(want, s.slots(plan.ID)); d != "" {
		t.Errorf("applied (-want +got):\n%s", d)
	}
	if d := cmp.Diff(served, s.dump(`select to_jsonb(s)::text from snapshots s order by at`)); d != "" {
		t.Errorf("hindsight changed snapshots (-before +after):\n%s", d)
	}
	list, err := s.db.BackfillSlots(t.Context(), plan.ID, "", true, 10)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d slots differ (%v), want 3", len(list), err)
	}
	res := result(t, list[1])
	if *res.Value != 5 || !res.ObservedAt.Equal(at(t, "2026-01-02")) || !res.KnownAt.Equal(at(t, "2026-02-01")) || !res.AsOf.Equal(r.AsOf) {
		t.Errorf("the fourth with hindsight: %+v, want 5, of the second, known since 1 February", res)
	}
}

func TestAFailedSlotKeepsNoOtherAndIsTriedAlone(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish("2026-01-20T00:00:00Z", 1, 13, 3)
	r := s.request(2, 6)
	r.Preview = 0
	plan := s.plan(r)
	s.apply(plan.ID)
	s.work()
	// On the fourth the value 13 becomes known, and the computation fails for 13.
	want := []string{"02 skipped - -", "03 done added - 2", "04 failed - -", "05 failed - -", "06 failed - -"}
	if d := cmp.Diff(want, s.slots(plan.ID)); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	failed, err := s.db.BackfillSlots(t.Context(), plan.ID, postgres.SlotFailed, false, 10)
	if err != nil || !strings.HasPrefix(*failed[0].Reason, "panic: thirteen") {
		t.Errorf("the reason is %q (%v), want the panic", *failed[0].Reason, err)
	}
	done := s.dump(`select to_jsonb(s)::text from snapshots s order by at`)

	// A new plan leaves them alone unless it is asked for them.
	for existing, status := range map[string]string{"skip": "skipped", "failed": "pending"} {
		r := s.request(4, 4)
		r.Existing, r.Preview = existing, 0
		if got := s.plan(r).Slots[0]; got.Status != status {
			t.Errorf("a failed slot in a plan with --existing=%s is %s, want %s", existing, got.Status, status)
		}
	}

	compute := s.def.Compute
	s.def.Compute = func(in series.Set, at time.Time) signals.Track {
		points := append([]series.Point(nil), in["test.a"]...)
		for i := range points {
			if points[i].Value == 13 {
				points[i].Value = 12
			}
		}
		return compute(series.Set{"test.a": points}, at)
	}
	s.signal.Definitions = map[string]signals.Definition{"twice": s.def}
	slots, sources, err := s.db.RetryFailed(t.Context(), plan.ID)
	if err != nil || slots != 3 || sources != 0 {
		t.Fatalf("%d slots and %d sources are tried again (%v), want 3 and 0", slots, sources, err)
	}
	runs := s.work()
	want = []string{"02 skipped - -", "03 done added - 2", "04 done added - 24", "05 done added - 6", "06 done added - 6"}
	if d := cmp.Diff(want, s.slots(plan.ID)); d != "" {
		t.Errorf("tried again (-want +got):\n%s", d)
	}
	if len(runs) != 1 || !runs[0].Slot.Equal(at(t, "2026-01-04T12:00:00Z")) {
		t.Errorf("runs %+v, want one that begins with the first failed slot", runs)
	}
	if d := cmp.Diff(done, s.dump(`select to_jsonb(s)::text from snapshots s where extract(day from at) < 4 order by at`)); d != "" {
		t.Errorf("slots that were done were done again (-before +after):\n%s", d)
	}
	if slots, sources, err := s.db.RetryFailed(t.Context(), plan.ID); err != nil || slots+sources != 0 {
		t.Errorf("%d slots and %d sources have failed (%v), want none", slots, sources, err)
	}
}

func TestAnAttemptLostBeforeItsLastWordIsTakenUp(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish("2026-01-20T00:00:00Z", 1, 2, 3)
	plan := s.plan(s.request(3, 5))
	s.apply(plan.ID)
	due, err := s.db.HandOut(t.Context(), 10)
	if err != nil || len(due) != 1 || due[0].Job != task.Ingest {
		t.Fatalf("due %+v (%v), want the source first", due, err)
	}
	if _, err := s.db.Claim(t.Context(), due[0].Fence, "w"); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Succeed(t.Context(), due[0].Fence); err != nil {
		t.Fatal(err)
	}
	if due, err = s.db.HandOut(t.Context(), 10); err != nil || len(due) != 1 || due[0].Job != task.Backfill {
		t.Fatalf("due %+v (%v), want the slots", due, err)
	}
	if _, err := s.db.Claim(t.Context(), due[0].Fence, "w"); err != nil {
		t.Fatal(err)
	}
	// Killed between the snapshot of the first slot and the slot's row.
	first := task.Task{Fence: due[0].Fence, Job: task.Signal, Subject: "twice", Slot: at(t, "2026-01-03T12:00:00Z")}
	if err := s.signal.Run(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if lost, err := s.db.Reclaim(t.Context(), -time.Second); err != nil || len(lost) != 1 {
		t.Fatalf("reclaimed %v (%v)", lost, err)
	}
	if err := s.db.FinishSlots(t.Context(), due[0].Fence, plan.ID, []postgres.BackfillSlot{{Slot: first.Slot, Status: postgres.SlotFailed}}); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("the lost attempt records a slot: %v", err)
	}
	before := s.dump(`select to_jsonb(s)::text from snapshots s`)
	s.work()
	if d := cmp.Diff([]string{"03 done added - 2", "04 done added - 4", "05 done added - 6"}, s.slots(plan.ID)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(before, s.dump(`select to_jsonb(s)::text from snapshots s where extract(day from at) = 3`)); d != "" {
		t.Errorf("the snapshot of the lost attempt was made again (-before +after):\n%s", d)
	}
}
