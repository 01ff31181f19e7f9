package workers_test

import (
	"testing"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// The alert about a run that failed for an answer that was held back ends with the decision, and not with the next run.
func TestAFailureIsResolvedOnceEveryAnswerThatWasHeldIsDecided(t *testing.T) {
	t.Parallel()
	src := pageSource()
	d := newClaimService(t, src)
	failed := func() bool {
		t.Helper()
		list, err := d.db.JobStatus(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range list {
			if j.Job == task.Ingest && j.Failed != nil {
				return true
			}
		}
		return false
	}
	decide := func(n int) postgres.Decision {
		return postgres.Decision{At: d.clock.Now().Add(time.Duration(n) * time.Minute), By: "t", Reason: "r"}
	}
	d.publish("/a.csv", prices(40, 70)...)
	d.publish("/b.csv", prices(40, 2)...)
	if _, err := d.run(); err != nil || failed() {
		t.Fatalf("the first answers: %v", err)
	}
	d.publish("/a.csv", append(prices(40, 70_000), "2026-03-02,70000")...)
	d.publish("/b.csv", prices(40, 2_000)...)
	if _, err := d.run(); err == nil || !failed() {
		t.Fatalf("answers that are held: %v", err)
	}
	held := d.quarantine()
	if len(held) != 2 {
		t.Fatalf("%d answers are held, want 2", len(held))
	}
	if _, err := d.ingest.Accept(t.Context(), held[0].ID, decide(1)); err != nil {
		t.Fatal(err)
	}
	if !failed() {
		t.Error("one of two answers is still held, and the failure is resolved")
	}
	if err := d.db.RejectQuarantined(t.Context(), held[1].ID, decide(2)); err != nil {
		t.Fatal(err)
	}
	if failed() {
		t.Error("both answers are decided, and the run still counts as failed")
	}
}

// What failed for another reason as well stays a failure.
func TestAFailureWithAnotherCauseOutlastsTheDecision(t *testing.T) {
	t.Parallel()
	src := pageSource()
	d := newClaimService(t, src)
	d.publish("/a.csv", prices(40, 70)...)
	_, _ = d.run() // b fails
	d.publish("/a.csv", append(prices(40, 70_000), "2026-03-02,70000")...)
	if _, err := d.run(); err == nil {
		t.Fatal("a is held and b is missing, and the run succeeded")
	}
	for _, q := range d.quarantine() {
		if err := d.db.RejectQuarantined(t.Context(), q.ID, postgres.Decision{At: d.clock.Now(), By: "t", Reason: "r"}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := d.db.JobStatus(t.Context())
	if err != nil || len(list) != 1 || list[0].Failed == nil {
		t.Errorf("%+v (%v), want a failure", list, err)
	}
}
