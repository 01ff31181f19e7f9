package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/ingest/archive"
	"tidemark/ingest/eia"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// quarantine puts a history page of crude oil with a price into quarantine, as a run would, and returns its number.
func (l *ledger) quarantine(price float64) int64 {
	l.t.Helper()
	ctx := l.t.Context()
	page := eia.Page{Series: "eia.RWTC", Released: l.clockAt.AddDate(0, 0, -1), Next: l.clockAt.AddDate(0, 0, 6)}
	for day := l.clockAt.Truncate(24*time.Hour).AddDate(0, 0, -30); day.Before(l.clockAt.AddDate(0, 0, -2)); day = day.AddDate(0, 0, 1) {
		if day.Weekday() != time.Saturday && day.Weekday() != time.Sunday {
			page.Readings = append(page.Readings, series.Reading{Series: "eia.RWTC", ObservedAt: day, Value: price})
		}
	}
	body, err := page.HTML()
	if err != nil {
		l.t.Fatal(err)
	}
	store, err := archive.Open(ctx, l.folder)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	digest, err := store.Put(ctx, body)
	if err != nil {
		l.t.Fatal(err)
	}
	address, err := page.URL()
	if err != nil {
		l.t.Fatal(err)
	}
	fetch, err := l.db.RecordFetch(ctx, series.Fetch{
		Source: "eia-petroleum-spot", URL: address, Status: 200, FetchedAt: l.clockAt.Add(-time.Hour), SHA256: digest, Bytes: int64(len(body)),
		Header: map[string]string{"Content-Type": "text/html"},
	}, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	id, err := l.db.Quarantine(ctx, task.Fence{}, postgres.Quarantined{
		Source: "eia-petroleum-spot", Digest: digest, CreatedAt: l.clockAt.Add(-time.Hour),
		Findings: []series.Finding{{
			Check: "unit", Severity: "error", Series: "eia.RWTC", From: page.Readings[0].ObservedAt, To: page.Readings[len(page.Readings)-1].ObservedAt,
			Observed: "20 of 20 known values are about 42 times what they were", Expected: "the values that are known",
		}},
	}, []int64{fetch})
	if err != nil {
		l.t.Fatal(err)
	}
	return id
}

func TestTheQuarantineIsDecidedOnTheCommandLine(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	one, two := l.quarantine(90), l.quarantine(99)
	want := func(say []string, args ...string) {
		t.Helper()
		code, out, complaint := l.run(append([]string{"quarantine"}, args...)...)
		if code != 0 {
			t.Errorf("%v: exit %d: %s", args, code, complaint)
		}
		for _, s := range say {
			if !strings.Contains(out, s) {
				t.Errorf("%v lacks %q:\n%s", args, s, out)
			}
		}
	}
	refused := func(code int, say string, args ...string) {
		t.Helper()
		got, out, complaint := l.run(append([]string{"quarantine"}, args...)...)
		if got != code || !strings.Contains(complaint, say) {
			t.Errorf("%v: exit %d, %q, want %d and %q\n%s", args, got, complaint, code, say, out)
		}
	}
	number := func(id int64) string { return fmt.Sprint(id) }

	want([]string{"eia-petroleum-spot", "pending", "unit eia.RWTC"})
	want([]string{"pending", "LeafHandler.ashx", "body archived as", "42 times", "2026-02-02"}, "show", number(one))
	refused(1, "unknown quarantine 99", "show", "99")
	refused(2, "--reason", "accept", number(one))
	refused(2, "--reason: it is empty", "reject", number(one), "--reason= ")

	want([]string{"rejected"}, "reject", number(one), "--reason=another unit", "--by=ops@example.com")
	refused(1, "decided already", "reject", number(one), "--reason=once more")
	want([]string{"rejected", "2026-03-04T12:00:00Z by ops@example.com: another unit"}, "show", number(one))

	want([]string{"eia.RWTC: to accept it adds 365 rows: 0 new, 21 revised, 344 withdrawn"}, "accept", number(two), "--reason=to see it", "--dry-run")
	want([]string{"365 rows added, known from 2026-03-04T12:00:00Z", "eia.RWTC: adds 365 rows: 0 new, 21 revised, 344 withdrawn"}, "accept", number(two), "--reason=the publisher says so")
	refused(1, "decided already", "accept", number(two), "--reason=once more")
	refused(1, "decided already", "accept", number(two), "--reason=once more", "--dry-run")
	want([]string{"accepted", "rejected"}, "list", "--all")
	if code, out, _ := l.run("quarantine", "list"); code != 0 || strings.Contains(out, "eia") {
		t.Errorf("what was decided is still pending: exit %d\n%s", code, out)
	}
	known, err := l.db.KnownBefore(t.Context(), []series.ID{"eia.RWTC"}, time.Time{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r := known["eia.RWTC"].Readings; len(r) != 1 || r[0].Value != 99 {
		t.Errorf("known are %+v, want the accepted 99", r)
	}
	runs, err := l.db.Runs(t.Context(), postgres.RunFilter{Job: task.Signal, Subject: "crack-spread-321", Status: "due", Limit: 10})
	if err != nil || len(runs) != 1 || !runs[0].Slot.Equal(l.clockAt) {
		t.Errorf("runs of the signal %+v (%v), want one for the time of the decision", runs, err)
	}
}

func TestARunShowsWhatTheChecksSaid(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	id, err := l.db.AddRun(t.Context(), task.Ingest, "eia-petroleum-spot", l.clockAt, "test")
	if err != nil {
		t.Fatal(err)
	}
	f := task.Fence{RunID: id, Attempt: 1}
	if ok, err := l.db.Claim(t.Context(), f, "w"); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if err := l.db.AddFindings(t.Context(), f, []series.Finding{{
		Check: "jump", Severity: "warn", Series: "eia.RWTC", From: l.clockAt, To: l.clockAt, Observed: "-36.98", Expected: "changes like those before",
	}}); err != nil {
		t.Fatal(err)
	}
	code, out, complaint := l.run("runs", fmt.Sprint(id))
	if code != 0 || !strings.Contains(out, "CHECK") || !strings.Contains(out, "-36.98") {
		t.Errorf("exit %d: %s\n%s", code, complaint, out)
	}
}
