package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

func TestKnownBefore(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	withheld := reading("a", "2026-01-04T00:00:00Z", 0)
	withheld.Marker = "W"
	one, two, three := reading("a", "2026-01-01T00:00:00Z", 1), reading("a", "2026-01-02T00:00:00Z", 2), reading("a", "2026-01-03T00:00:00Z", 3)
	other := reading("b", "2026-01-03T00:00:00Z", 9)
	store(t, db, load(t, db, "2026-01-10T00:00:00Z", one, two, three, withheld), load(t, db, "2026-01-10T00:00:00Z", other))
	for i := range 5 { // vintages do not use up the limit
		three.Value = float64(30 + i)
		store(t, db, load(t, db, fmt.Sprintf("2026-01-1%dT00:00:00Z", i+1), one, two, three, withheld))
	}
	store(t, db, load(t, db, "2026-01-20T00:00:00Z", one, three, withheld)) // two is withdrawn
	for _, c := range []struct {
		name, until string
		limit       int
		want        []series.Reading
		complete    bool
	}{
		{"all of it", "", 100, []series.Reading{one, three, withheld}, true},
		{"the newest", "", 2, []series.Reading{three, withheld}, false},
		{"a withdrawn one counts, and is not shown", "", 3, []series.Reading{three, withheld}, false},
		{"up to an instant", "2026-01-03T00:00:00Z", 100, []series.Reading{one, three}, true},
		{"before all", "2025-01-03T00:00:00Z", 100, nil, true},
	} {
		var until time.Time
		if c.until != "" {
			until = instant(t, c.until)
		}
		got, err := db.KnownBefore(t.Context(), []series.ID{"a", "b", "unknown"}, until, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got["a"].Readings); d != "" || got["a"].Complete != c.complete {
			t.Errorf("%s: complete %v, want %v (-want +got):\n%s", c.name, got["a"].Complete, c.complete, d)
		}
		if !got["a"].ConfirmedAt.Equal(instant(t, "2026-01-20T00:00:00Z")) || !got["b"].ConfirmedAt.Equal(instant(t, "2026-01-10T00:00:00Z")) {
			t.Errorf("%s: confirmed at %v and %v", c.name, got["a"].ConfirmedAt, got["b"].ConfirmedAt)
		}
		if u := got["unknown"]; u.Readings != nil || !u.Complete || !u.ConfirmedAt.IsZero() {
			t.Errorf("%s: something is known of a series that was never loaded: %+v", c.name, u)
		}
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	store(t, db, load(t, db, "2026-01-10T00:00:00Z", reading("a", "2026-01-01T00:00:00Z", 1)), load(t, db, "2026-01-10T00:00:00Z", reading("b", "2026-01-05T00:00:00Z", 1)))
	for _, c := range []struct {
		ids    []series.ID
		loaded bool
		newest string
	}{
		{[]series.ID{"a"}, true, "2026-01-01T00:00:00Z"},
		{[]series.ID{"a", "b"}, true, "2026-01-05T00:00:00Z"},
		{[]series.ID{"a", "b", "c"}, false, "2026-01-05T00:00:00Z"},
		{[]series.ID{"c"}, false, "0001-01-01T00:00:00Z"},
	} {
		loaded, newest, err := db.Progress(t.Context(), c.ids)
		if err != nil || loaded != c.loaded || !newest.Equal(instant(t, c.newest)) {
			t.Errorf("%v: loaded %v, newest %v (%v), want %v and %s", c.ids, loaded, newest, err, c.loaded, c.newest)
		}
	}
}

func TestUnchanged(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	one, two := reading("a", "2026-01-01T00:00:00Z", 1), reading("a", "2026-01-02T00:00:00Z", 2)
	store(t, db, load(t, db, "2026-01-10T00:00:00Z", one))
	store(t, db, load(t, db, "2026-01-11T00:00:00Z", one, two))
	again := load(t, db, "2026-01-12T00:00:00Z", one, two)
	earlier := load(t, db, "2026-01-12T00:00:00Z", one) // the bytes of the 10th
	old := load(t, db, "2026-01-09T00:00:00Z", one, two)
	first := load(t, db, "2026-01-12T00:00:00Z", reading("b", "2026-01-01T00:00:00Z", 1))
	got, err := db.Unchanged(t.Context(), []postgres.Load{again, earlier, old, first})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[int64]bool{again.FetchID: true}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// The same bytes may say more from a day on: a parser counts a row as final then. On another day they are compared, and on the same day they are not.
func TestTheSameBytesOfAnotherDayAreCompared(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	forecast, final := reading("a", "2025-11-01T00:00:00Z", 210), reading("a", "2025-12-01T00:00:00Z", 210)
	day := func(at time.Time) string { return at.UTC().Format(time.DateOnly) }
	for _, c := range []struct {
		at    string
		says  []series.Reading
		epoch func(time.Time) string
		added int64
	}{
		{"2026-03-13T17:10:00Z", []series.Reading{forecast}, day, 1},
		{"2026-03-13T21:10:00Z", []series.Reading{forecast, final}, day, 0},
		{"2026-03-14T17:10:00Z", []series.Reading{forecast, final}, nil, 0},
		{"2026-03-16T17:10:00Z", []series.Reading{forecast, final}, day, 1},
		{"2026-03-17T17:10:00Z", []series.Reading{forecast, final}, day, 0},
	} {
		l := load(t, db, c.at, forecast) // its bytes
		l.Readings, l.Epoch = c.says, c.epoch
		if n := store(t, db, l); n != c.added {
			t.Errorf("at %s it adds %d, want %d", c.at, n, c.added)
		}
	}
}

// held puts a load into quarantine.
func held(t *testing.T, db *postgres.DB, digest string, l postgres.Load) int64 {
	t.Helper()
	id, err := db.Quarantine(t.Context(), task.Fence{}, postgres.Quarantined{
		Source: "s", Digest: digest, CreatedAt: l.FetchedAt,
		Findings: []series.Finding{{Check: "unit", Severity: "error", Series: "a", From: l.FetchedAt, Observed: "x", Expected: "y"}},
	}, []int64{l.FetchID})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

const (
	digestA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	digestB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func quarantined(t *testing.T, db *postgres.DB, id int64) postgres.Quarantined {
	t.Helper()
	list, err := db.Quarantined(t.Context(), postgres.QuarantineFilter{ID: id, Limit: 10})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d rows of quarantine %d (%v)", len(list), id, err)
	}
	return list[0]
}

func TestWhatIsInQuarantineIsNotStored(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	good := reading("a", "2026-01-01T00:00:00Z", 1)
	store(t, db, load(t, db, "2026-01-10T00:00:00Z", good))
	before := vintages(t, db, "a")
	bad := load(t, db, "2026-01-11T00:00:00Z", reading("a", "2026-01-01T00:00:00Z", 1000))
	id := held(t, db, digestA, bad)

	again := load(t, db, "2026-01-12T00:00:00Z", bad.Readings...)
	if same := held(t, db, digestA, again); same != id {
		t.Errorf("the same body again is quarantine %d, want %d", same, id)
	}
	held(t, db, digestA, again) // an attempt that was killed and run again
	want := postgres.Quarantined{
		ID: id, Source: "s", Digest: digestA, CreatedAt: bad.FetchedAt, Decision: "pending", Fetches: 2, LastSeenAt: again.FetchedAt,
		Findings: []series.Finding{{Check: "unit", Severity: "error", Series: "a", From: bad.FetchedAt, Observed: "x", Expected: "y"}},
	}
	if d := cmp.Diff(want, quarantined(t, db, id), cmpopts.EquateApproxTime(0)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	standing, err := db.OpenQuarantine(t.Context(), "s", []string{digestA, digestB})
	if err != nil || len(standing) != 1 || standing[digestA].ID != id {
		t.Errorf("standing are %v (%v)", standing, err)
	}
	for _, l := range []postgres.Load{bad, again} {
		if n := store(t, db, l); n != 0 {
			t.Errorf("%d rows of an answer in quarantine were stored", n)
		}
	}
	if err := db.RejectQuarantined(t.Context(), id, postgres.Decision{At: instant(t, "2026-01-13T00:00:00Z"), By: "me", Reason: "wrong unit"}); err != nil {
		t.Fatal(err)
	}
	if n := store(t, db, bad, again); n != 0 {
		t.Errorf("%d rows of a rejected answer were stored", n)
	}
	if d := cmp.Diff(before, vintages(t, db, "a")); d != "" {
		t.Errorf("(-before +after):\n%s", d)
	}
	for _, role := range []string{"", postgres.RoleWorker, postgres.RoleAPI} {
		for _, sql := range []string{
			`delete from quarantine`, `truncate quarantine cascade`, `update quarantine set findings = '[]'`, `update quarantine set decision = 'pending'`,
			`delete from quarantine_decisions`, `update quarantine_decisions set reason = ''`, `delete from quarantined_fetches`,
			`update quarantine set decided_by = 'somebody else'`,
		} {
			if err := exec(t, url, role, sql); err == nil {
				t.Errorf("as %q: %s was done", role, sql)
			}
		}
	}
}

func TestAnAttemptThatWasKilledLeavesNoWayIn(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	run, err := db.AddRun(t.Context(), task.Ingest, "s", instant(t, "2026-01-10T00:00:00Z"), "test")
	if err != nil {
		t.Fatal(err)
	}
	f := task.Fence{RunID: run, Attempt: 1}
	if ok, err := db.Claim(t.Context(), f, "w"); err != nil || !ok {
		t.Fatal(ok, err)
	}
	// Each attempt received the body; the first one was killed before it could record that.
	bad := load(t, db, "2026-01-10T00:00:00Z", reading("a", "2026-01-01T00:00:00Z", 1000))
	var ids []int64
	for i := range 2 {
		id, err := db.RecordFetch(t.Context(), series.Fetch{
			Source: "s", URL: "https://upstream.example/y", Status: 200, FetchedAt: bad.FetchedAt.Add(time.Duration(i) * time.Minute), SHA256: digestB, Bytes: 1,
		}, run)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if _, err := db.Quarantine(t.Context(), f, postgres.Quarantined{Source: "s", Digest: digestB, CreatedAt: bad.FetchedAt}, ids[1:]); err != nil {
		t.Fatal(err)
	}
	bad.FetchID = ids[0]
	if n := store(t, db, bad); n != 0 {
		t.Errorf("%d rows of the first attempt's fetch were stored", n)
	}
	if _, err := db.Quarantine(t.Context(), task.Fence{RunID: run, Attempt: 2}, postgres.Quarantined{Source: "s", Digest: digestA}, ids); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("another attempt's answer: %v", err)
	}
	if list, err := db.Quarantined(t.Context(), postgres.QuarantineFilter{Limit: 10}); err != nil || len(list) != 1 {
		t.Errorf("the quarantine has %+v (%v), want one row", list, err)
	}
}

func TestWhatIsAcceptedIsKnownFromTheDecisionOn(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	store(t, db, load(t, db, "2026-01-10T00:00:00Z", reading("a", "2026-01-01T00:00:00Z", 1)))
	bad := load(t, db, "2026-01-11T00:00:00Z", reading("a", "2026-01-01T00:00:00Z", 1000), reading("a", "2026-01-02T00:00:00Z", 2000))
	id := held(t, db, digestA, bad)
	d := postgres.Decision{At: instant(t, "2026-01-13T00:00:00Z"), By: "me", Reason: "the publisher says so"}
	if err := db.RejectQuarantined(t.Context(), id, postgres.Decision{At: instant(t, "2026-01-12T00:00:00Z"), By: "you", Reason: "a mistake"}); err != nil {
		t.Fatal(err)
	}
	n, err := db.AcceptQuarantined(t.Context(), id, d, []postgres.Load{bad}, []string{"sig"})
	if err != nil || n != 2 {
		t.Fatalf("%d rows were added (%v), want 2", n, err)
	}
	want := []string{"01-01 01-03T00 1 assumed", "01-01 01-13T00 1000", "01-02 01-13T00 2000"}
	if d := cmp.Diff(want, vintages(t, db, "a")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	runs, err := db.Runs(t.Context(), postgres.RunFilter{Limit: 10})
	if err != nil || len(runs) != 1 || runs[0].Subject != "sig" || !runs[0].Slot.Equal(d.At) {
		t.Errorf("runs %+v (%v), want one of sig for the time of the decision", runs, err)
	}
	decisions, err := db.Decisions(t.Context(), id)
	if err != nil || len(decisions) != 2 || decisions[0].By != "you" || decisions[1].Reason != d.Reason || !decisions[1].At.Equal(d.At) {
		t.Errorf("decisions %+v (%v), want both", decisions, err)
	}
	for name, decide := range map[string]func() error{
		"accept": func() error {
			_, err := db.AcceptQuarantined(t.Context(), id, d, []postgres.Load{bad}, nil)
			return err
		},
		"reject": func() error { return db.RejectQuarantined(t.Context(), id, d) },
	} {
		if err := decide(); !errors.Is(err, postgres.ErrDecided) {
			t.Errorf("%s once more: %v, want it to be refused", name, err)
		}
	}
	if err := db.RejectQuarantined(t.Context(), 99, d); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("one that does not exist: %v", err)
	}

	// The same bytes add nothing new, and the archive read into an empty table gives the same rows.
	if n := store(t, db, load(t, db, "2026-01-14T00:00:00Z", bad.Readings...)); n != 0 {
		t.Errorf("the accepted body again added %d rows", n)
	}
	if standing, err := db.OpenQuarantine(t.Context(), "s", []string{digestA}); err != nil || len(standing) != 0 {
		t.Errorf("an accepted body stands in the way: %v (%v)", standing, err)
	}
	var order []int64
	for f, err := range db.Fetches(t.Context(), "s") {
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, f.ID)
	}
	if !slices.IsSorted(order) || len(order) != 3 {
		t.Errorf("the ledger is in the order %v", order)
	}
}

func TestAnArchiveThatHoldsAnAcceptedAnswerIsReadAsItBecameKnown(t *testing.T) {
	t.Parallel()
	loads := func(t *testing.T, db *postgres.DB) (first, bad, other postgres.Load) {
		t.Helper()
		first = load(t, db, "2026-01-10T00:00:00Z", reading("a", "2026-01-01T00:00:00Z", 1), reading("a", "2026-01-02T00:00:00Z", 1))
		bad = load(t, db, "2026-01-11T00:00:00Z", reading("a", "2026-01-01T00:00:00Z", 1000))
		other = load(t, db, "2026-01-12T00:00:00Z", reading("a", "2026-01-02T00:00:00Z", 2))
		bad.Covers, other.Covers = nil, nil // pages of single days
		return first, bad, other
	}
	accept := func(t *testing.T, db *postgres.DB, bad postgres.Load, store bool) {
		t.Helper()
		id := held(t, db, digestA, bad)
		l := []postgres.Load{bad}
		if !store {
			l[0].Readings = nil
		}
		if _, err := db.AcceptQuarantined(t.Context(), id, postgres.Decision{At: instant(t, "2026-01-13T00:00:00Z"), By: "me", Reason: "true"}, l, nil); err != nil {
			t.Fatal(err)
		}
	}
	was, _ := open(t, postgres.RoleWorker)
	first, bad, other := loads(t, was)
	store(t, was, first)
	store(t, was, other)
	accept(t, was, bad, true)

	now, _ := open(t, postgres.RoleWorker)
	first, bad, other = loads(t, now)
	accept(t, now, bad, false)
	byID := map[int64]postgres.Load{first.FetchID: first, bad.FetchID: bad, other.FetchID: other}
	for f, err := range now.Fetches(t.Context(), "s") {
		if err != nil {
			t.Fatal(err)
		}
		store(t, now, byID[f.ID])
	}
	if d := cmp.Diff(vintages(t, was, "a"), vintages(t, now, "a")); d != "" {
		t.Errorf("(-was +now):\n%s", d)
	}
}

func TestAnOutdatedAnswerIsNotAccepted(t *testing.T) {
	t.Parallel()
	d := postgres.Decision{By: "me", Reason: "true"}
	for _, c := range []struct {
		name     string
		since    []series.Reading // stored since
		covers   bool             // whether the pages claim to be complete
		outdated bool
	}{
		{"nothing came since", nil, true, false},
		{"a newer page came since", []series.Reading{reading("a", "2026-01-01T00:00:00Z", 1), reading("a", "2026-01-03T00:00:00Z", 3)}, true, true},
		{"a page of another day came since", []series.Reading{reading("a", "2026-01-03T00:00:00Z", 3)}, false, false},
		{"a newer page of the same day came since", []series.Reading{reading("a", "2026-01-01T00:00:00Z", 5)}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db, _ := open(t, postgres.RoleWorker)
			store(t, db, load(t, db, "2026-01-10T00:00:00Z", reading("a", "2026-01-01T00:00:00Z", 1)))
			bad := load(t, db, "2026-01-11T00:00:00Z", reading("a", "2026-01-01T00:00:00Z", 1000))
			id := held(t, db, digestA, bad)
			if c.since != nil {
				l := load(t, db, "2026-01-12T00:00:00Z", c.since...)
				if !c.covers {
					l.Covers = nil
				}
				store(t, db, l)
			}
			if !c.covers {
				bad.Covers = nil
			}
			before := vintages(t, db, "a")
			d := d
			d.At = instant(t, "2026-01-13T00:00:00Z")
			_, err := db.AcceptQuarantined(t.Context(), id, d, []postgres.Load{bad}, nil)
			if errors.Is(err, postgres.ErrOutdated) != c.outdated || !c.outdated && err != nil {
				t.Fatalf("%v, want it outdated: %v", err, c.outdated)
			}
			if !c.outdated {
				return
			}
			if diff := cmp.Diff(before, vintages(t, db, "a")); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
			if q := quarantined(t, db, id); q.Decision != postgres.QuarantinePending {
				t.Errorf("it is %s after the refusal, want it pending", q.Decision)
			}
		})
	}
}

func TestAShrunkPageNamesItsFetchAndCanBeAccepted(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	var all []series.Reading
	for i := range 200 {
		all = append(all, series.Reading{Series: "a", ObservedAt: instant(t, "2025-01-01T00:00:00Z").AddDate(0, 0, i), Value: float64(i)})
	}
	store(t, db, load(t, db, "2026-01-01T00:00:00Z", all...))
	short := load(t, db, "2026-01-02T00:00:00Z", all[:150]...)
	_, err := db.StoreLoads(t.Context(), task.Fence{}, []postgres.Load{short}, nil)
	shrunk, ok := errors.AsType[*postgres.ShrunkError](err)
	if !ok {
		t.Fatal(err)
	}
	if d := cmp.Diff(postgres.ShrunkError{FetchID: short.FetchID, Series: "a", Missing: 50, Known: 200}, *shrunk); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	id := held(t, db, digestA, short)
	d := postgres.Decision{At: instant(t, "2026-01-03T00:00:00Z"), By: "me", Reason: "they took the newest quarter back"}
	if n, err := db.AcceptQuarantined(t.Context(), id, d, []postgres.Load{short}, nil); err != nil || n != 50 {
		t.Errorf("%d withdrawals (%v), want 50", n, err)
	}
}

func TestFindingsStayWithTheirRun(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	slot := instant(t, "2026-01-10T00:00:00Z")
	id, err := db.AddRun(t.Context(), task.Ingest, "s", slot, "test")
	if err != nil {
		t.Fatal(err)
	}
	f := task.Fence{RunID: id, Attempt: 1}
	if ok, err := db.Claim(t.Context(), f, "w"); err != nil || !ok {
		t.Fatal(ok, err)
	}
	one := series.Finding{Check: "jump", Severity: "warn", Series: "a", From: slot, To: slot, Observed: "x", Expected: "y"}
	two := series.Finding{Check: "gaps", Severity: "warn", Series: "a", Observed: "x", Expected: "y"}
	for _, list := range [][]series.Finding{{one}, {two, one}, nil} { // two attempts find the same
		if err := db.AddFindings(t.Context(), f, list); err != nil {
			t.Fatal(err)
		}
	}
	got, err := db.Findings(t.Context(), id)
	if d := cmp.Diff([]series.Finding{one, two}, got, cmpopts.EquateApproxTime(0)); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if err := db.AddFindings(t.Context(), task.Fence{RunID: id, Attempt: 2}, nil); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("findings of another attempt: %v", err)
	}
	if err := db.Succeed(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if _, err := db.AddRun(t.Context(), task.Ingest, "s", slot, "once more"); err != nil {
		t.Fatal(err)
	}
	if got, err := db.Findings(t.Context(), id); err != nil || len(got) != 0 {
		t.Errorf("a run that is begun again has the findings %v (%v)", got, err)
	}
}
