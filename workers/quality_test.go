package workers_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/backfill"
	"tidemark/ingest/inspection"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// prices are n lines of a table, a working day each, up to 2026-02-27 and around a level.
func prices(n int, level float64) []string {
	var rows []string
	at := time.Date(2026, 2, 27, 0, 0, 0, 0, time.UTC)
	for ; len(rows) < n; at = at.AddDate(0, 0, -1) {
		if d := at.Weekday(); d != time.Saturday && d != time.Sunday {
			rows = append(rows, fmt.Sprintf("%s,%.2f", at.Format(time.DateOnly), level*(1+0.01*float64(len(rows)*7%5-2))))
		}
	}
	for i, j := 0, len(rows)-1; i < j; i, j = i+1, j-1 {
		rows[i], rows[j] = rows[j], rows[i]
	}
	return rows
}

func (r *fixture) quarantine() []postgres.Quarantined {
	r.t.Helper()
	list, err := r.db.Quarantined(r.t.Context(), postgres.QuarantineFilter{Limit: 100})
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func (r *fixture) decision() postgres.Decision {
	return postgres.Decision{At: r.clock.Now(), By: "an operator", Reason: "looked at it"}
}

func (r *fixture) findings(run postgres.Run) []string {
	r.t.Helper()
	list, err := r.db.Findings(r.t.Context(), run.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	return marks(list)
}

func marks(list []series.Finding) []string {
	var out []string
	for _, f := range list {
		out = append(out, fmt.Sprintf("%s %s %s", f.Severity, f.Check, f.Series))
	}
	return out
}

// heldRig is a rig whose upstream has published everything in thousandths, with a new day, and whose first answer of that kind is in
// quarantine.
func heldRig(t *testing.T) (r *fixture, before []series.Observation) {
	t.Helper()
	r = newRig(t)
	r.publish(prices(40, 70)...)
	if run := r.fetch(); run.Status != "succeeded" || *run.RowsAdded != 40 {
		t.Fatalf("a good fetch: %s, %v", run.Status, run.Error)
	}
	before = r.observations()
	r.publish(append(prices(40, 70_000), "2026-03-02,70000")...)
	run := r.fetch()
	if run.Status != "failed" || run.Failures != 1 {
		t.Fatalf("the run is %s after %d failures, want it to have failed at once and for good", run.Status, run.Failures)
	}
	for _, want := range []string{"quarantine 1", "`tidemark quarantine show 1`", "test.a", "1000 times", upstream} {
		if !strings.Contains(*run.Error, want) {
			t.Errorf("the run log says %q, want it to say %q", *run.Error, want)
		}
	}
	if d := cmp.Diff([]string{"error unit test.a"}, r.findings(run)); d != "" {
		t.Errorf("findings of the run (-want +got):\n%s", d)
	}
	if d := cmp.Diff(before, r.observations()); d != "" {
		t.Errorf("observations changed (-before +after):\n%s", d)
	}
	return r, before
}

func TestAChangeOfUnitIsHeldUntilSomebodyDecides(t *testing.T) {
	t.Parallel()
	r, before := heldRig(t)
	last := r.served()
	if run := r.fetch(); run.Status != "failed" || !strings.Contains(*run.Error, "quarantine 1") {
		t.Errorf("the same body again: %s, %v", run.Status, *run.Error)
	}
	list := r.quarantine()
	if len(list) != 1 || list[0].Fetches != 2 || list[0].Decision != "pending" {
		t.Fatalf("the quarantine has %+v, want one row of two fetches", list)
	}
	if n, err := backfill.Reparse(t.Context(), r.db, r.ingest.Engine.Archive, source(), r.clock.Now()); err != nil || n.Added != 0 {
		t.Errorf("reading the archive again added %d rows (%v)", n.Added, err)
	}
	if v := r.served(); v != last {
		t.Errorf("%v is served, want the last good %v", v, last)
	}
	if d := cmp.Diff(before, r.observations()); d != "" {
		t.Errorf("observations changed (-before +after):\n%s", d)
	}

	r.clock.AdvanceTo(r.clock.Now().Add(time.Hour))
	decided := r.decision()
	added, err := r.ingest.Accept(t.Context(), 1, decided)
	if err != nil || added != 41 {
		t.Fatalf("accepting added %d rows (%v), want 41", added, err)
	}
	for _, o := range r.observations()[:2] {
		if o.Value > 1000 && (!o.VintageAt.Equal(decided.At) || o.Assumed) {
			t.Errorf("%+v, want it known from the decision on", o)
		}
	}
	runs, err := r.db.Runs(t.Context(), postgres.RunFilter{Job: task.Signal, Limit: 1})
	if err != nil || len(runs) != 1 || !runs[0].Slot.Equal(decided.At) {
		t.Fatalf("runs of the signal: %+v (%v), want one for the decision", runs, err)
	}
	if run := r.await(runs[0].ID); run.Status != "succeeded" {
		t.Errorf("the signal's run is %s: %v", run.Status, run.Error)
	}
	if v := r.served(); v != 70_000 {
		t.Errorf("%v is served, want the accepted 70000", v)
	}
	if run := r.fetch(); run.Status != "succeeded" || *run.RowsAdded != 0 {
		t.Errorf("the accepted body again: %s, %d rows, %v", run.Status, *run.RowsAdded, run.Error)
	}
	after := r.observations()
	if n, err := backfill.Reparse(t.Context(), r.db, r.ingest.Engine.Archive, source(), r.clock.Now()); err != nil || n.Added != 0 {
		t.Errorf("reading the archive again added %d rows (%v)", n.Added, err)
	}
	if d := cmp.Diff(after, r.observations()); d != "" {
		t.Errorf("observations changed (-before +after):\n%s", d)
	}
}

// The checks look at the newest thousand observations. What to accept does is said of all of them, to the row.
func TestWhatIsHeldSaysWhatToAcceptItDoes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	all := prices(1500, 70)
	r.publish(all...)
	if run := r.fetch(); run.Status != "succeeded" {
		t.Fatalf("a good fetch: %s, %v", run.Status, *run.Error)
	}
	left := append([]string{}, all[1400:]...)
	left[0] = left[0][:11] + "71.99"
	r.publish(append(left, "2026-03-02,70", "2026-03-03,70")...)
	run := r.fetch()
	if run.Status != "failed" || !strings.Contains(*run.Error, "900 of the newest 1000 known observations are not there") {
		t.Fatalf("a history that is gone: %s, %s", run.Status, *run.Error)
	}
	q := r.quarantine()[0]
	said := q.Findings[len(q.Findings)-1]
	if said.Check != inspection.Accept || said.Observed != "to accept it adds 1403 rows: 2 new, 1 revised, 1400 withdrawn" || said.Series != "test.a" {
		t.Errorf("it is said: %+v", said)
	}
	if said.From.Format(time.DateOnly) != all[0][:10] || said.To.Format(time.DateOnly) != "2026-03-03" {
		t.Errorf("of %s to %s", said.From, said.To)
	}
	before := len(r.observations())
	r.clock.AdvanceTo(r.clock.Now().Add(time.Hour))
	effect, err := r.ingest.Effect(t.Context(), q.ID, r.clock.Now())
	if err != nil || len(effect) != 1 || effect[0].Rows() != 1403 {
		t.Errorf("now it would do %+v (%v)", effect, err)
	}
	if n := len(r.observations()); n != before {
		t.Errorf("to say so added %d rows", n-before)
	}
	if added, err := r.ingest.Accept(t.Context(), q.ID, r.decision()); err != nil || added != 1403 {
		t.Errorf("to accept it added %d rows (%v)", added, err)
	}
	if _, err := r.ingest.Effect(t.Context(), q.ID, r.clock.Now()); !errors.Is(err, postgres.ErrDecided) {
		t.Errorf("what was accepted: %v", err)
	}
}

func TestWhatWasRejectedStaysOutQuietly(t *testing.T) {
	t.Parallel()
	r, before := heldRig(t)
	last := r.served()
	if err := r.db.RejectQuarantined(t.Context(), 1, r.decision()); err != nil {
		t.Fatal(err)
	}
	run := r.fetch()
	if run.Status != "succeeded" || *run.RowsAdded != 0 {
		t.Errorf("the rejected body again: %s, %v", run.Status, run.Error)
	}
	if d := cmp.Diff([]string{"warn rejected "}, r.findings(run)); d != "" {
		t.Errorf("findings of the run (-want +got):\n%s", d)
	}
	if n, err := backfill.Reparse(t.Context(), r.db, r.ingest.Engine.Archive, source(), r.clock.Now()); err != nil || n.Added != 0 {
		t.Errorf("reading the archive again added %d rows (%v)", n.Added, err)
	}
	if d := cmp.Diff(before, r.observations()); d != "" {
		t.Errorf("observations changed (-before +after):\n%s", d)
	}
	if v := r.served(); v != last {
		t.Errorf("%v is served, want the last good %v", v, last)
	}

	r.publish(append(prices(40, 70), "2026-03-02,71")...) // the publisher repairs it
	if run := r.fetch(); run.Status != "succeeded" || *run.RowsAdded != 1 {
		t.Errorf("the repaired page: %s, %v rows, %v", run.Status, *run.RowsAdded, run.Error)
	}
	if v := r.served(); v != 71 {
		t.Errorf("%v is served, want the new 71", v)
	}
	if _, err := r.ingest.Accept(t.Context(), 1, r.decision()); !errors.Is(err, postgres.ErrOutdated) {
		t.Errorf("accepting it now: %v, want it to be too late", err)
	}
}

func TestWhatIsOnlyOddIsStoredAndMarked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.publish(prices(60, 70)...)
	r.fetch()
	r.publish(append(prices(60, 70), "2026-03-02,69.5", "2026-03-03,40", "2026-03-04,69")...)
	run := r.fetch()
	if run.Status != "succeeded" || *run.RowsAdded != 3 {
		t.Fatalf("%s, %v rows, %v", run.Status, run.RowsAdded, run.Error)
	}
	if d := cmp.Diff([]string{"warn jump test.a"}, r.findings(run)); d != "" {
		t.Errorf("findings of the run (-want +got):\n%s", d)
	}
	if list := r.quarantine(); len(list) != 0 {
		t.Errorf("the quarantine has %+v", list)
	}
}
