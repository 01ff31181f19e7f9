package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/internal/series"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/signals"
)

// day is the n-th of January 2026 at midnight. noon is the instant that a track of that day is computed for.
func day(n int) time.Time  { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
func noon(n int) time.Time { return day(n).Add(12 * time.Hour) }

// say stores the track of a signal at an instant. The points are "day=value", "_" for an unknown value.
func say(t *testing.T, db *postgres.DB, at time.Time, points string) {
	t.Helper()
	snap := snapshot(at)
	tr := track(t, points)
	if len(tr) > 0 {
		snap.ObservedAt = new(tr[len(tr)-1].ObservedAt.Time())
	}
	if err := db.SaveSnapshot(t.Context(), task.Fence{}, snap, tr); err != nil {
		t.Fatal(err)
	}
}

func snapshot(at time.Time) postgres.Snapshot {
	return postgres.Snapshot{Signal: "s", At: at, Status: signals.StatusLive, Cause: "new", CodeVersion: "test"}
}

func track(t *testing.T, points string) signals.Track {
	t.Helper()
	var out signals.Track
	for p := range strings.FieldsSeq(points) {
		d, text, _ := strings.Cut(p, "=")
		n, err := strconv.Atoi(d)
		if err != nil {
			t.Fatal(err)
		}
		v, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", "NaN"), 64)
		if err != nil {
			t.Fatal(err)
		}
		known := day(n).Add(time.Hour) // another value comes from another vintage of an input
		if !math.IsNaN(v) {
			known = known.Add(time.Duration(1000*v) * time.Millisecond)
		}
		out = append(out, signals.Estimate{
			ObservedAt: series.InstantOf(day(n)), KnownAt: series.InstantOf(known), Value: v, Lo: v - 1, Hi: v + 1, Baseline: 10, Scale: 2, N: 5,
		})
	}
	return out
}

// history prints the history as known at an instant: "day=value", with "#n" if the value is not the point's first.
func history(t *testing.T, db *postgres.DB, q postgres.HistoryQuery) string {
	t.Helper()
	q.Signal = "s"
	var out []string
	for p := range points(t, db.History(t.Context(), q)) {
		value := "_"
		if !math.IsNaN(p.Value) {
			value = fmt.Sprint(p.Value)
		}
		text := fmt.Sprintf("%d=%s", p.ObservedAt.Day(), value)
		if p.Vintage > 1 {
			text += fmt.Sprintf("#%d", p.Vintage)
		}
		if q.Versions {
			to := ""
			if !p.KnownTo.IsZero() {
				to = strconv.Itoa(p.KnownTo.Day())
			}
			text += fmt.Sprintf("[%d,%s)", p.KnownFrom.Day(), to)
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func points(t *testing.T, seq iter.Seq2[postgres.Point, error]) iter.Seq[postgres.Point] {
	return func(yield func(postgres.Point) bool) {
		for p, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			if !yield(p) {
				return
			}
		}
	}
}

// rows returns the number of stored versions.
func rows(t *testing.T, url string) int {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	var n int
	if err := c.QueryRow(t.Context(), `select count(*) from estimates`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestHistoryKeepsWhatWasSaid(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	say(t, db, noon(10), "1=1 2=2 3=_")
	if n := rows(t, url); n != 3 {
		t.Errorf("the first track took %d rows, want 3", n)
	}
	say(t, db, noon(10), "1=1 2=2 3=_")
	say(t, db, noon(11), "1=1 2=2 3=_")
	if n := rows(t, url); n != 3 {
		t.Errorf("the same again, for the same and for the next day, left %d rows, want 3", n)
	}
	say(t, db, noon(12), "1=1 2=2.5 3=3 4=-0") // a revision, a value that became known, a new point
	say(t, db, noon(13), "1=1 3=3 4=0")        // a point was withdrawn
	say(t, db, noon(14), "1=1 2=2.5 3=3 4=0")  // and came back
	if n := rows(t, url); n != 3+3+1+1 {
		t.Errorf("%d rows, want one for each difference, 8", n)
	}
	for _, c := range []struct {
		name string
		q    postgres.HistoryQuery
		want string
	}{
		{"before anything was said", postgres.HistoryQuery{AsOf: day(10)}, ""},
		{"from the first computation on", postgres.HistoryQuery{AsOf: noon(10)}, "1=1 2=2 3=_"},
		{"until just before the next", postgres.HistoryQuery{AsOf: noon(12).Add(-time.Microsecond)}, "1=1 2=2 3=_"},
		{"after the revision", postgres.HistoryQuery{AsOf: noon(12)}, "1=1 2=2.5#2 3=3#2 4=0"},
		{"without the point that went", postgres.HistoryQuery{AsOf: noon(13)}, "1=1 3=3#2 4=0"},
		{"with the point that came back", postgres.HistoryQuery{AsOf: noon(20)}, "1=1 2=2.5#3 3=3#2 4=0"},
		{"newest first", postgres.HistoryQuery{AsOf: noon(20), Desc: true}, "4=0 3=3#2 2=2.5#3 1=1"},
		{"a range, both ends included", postgres.HistoryQuery{AsOf: noon(20), From: day(2), To: day(3)}, "2=2.5#3 3=3#2"},
		{"a page", postgres.HistoryQuery{AsOf: noon(20), Limit: 2}, "1=1 2=2.5#3"},
		{
			"the next page",
			postgres.HistoryQuery{AsOf: noon(20), Limit: 2, After: &postgres.HistoryKey{ObservedAt: day(2)}},
			"3=3#2 4=0",
		},
		{
			"the next page, newest first",
			postgres.HistoryQuery{AsOf: noon(20), Desc: true, After: &postgres.HistoryKey{ObservedAt: day(3)}},
			"2=2.5#3 1=1",
		},
		{
			"every version",
			postgres.HistoryQuery{AsOf: noon(20), Versions: true},
			"1=1[10,) 2=2[10,12) 2=2.5#2[12,13) 2=2.5#3[14,) 3=_[10,12) 3=3#2[12,) 4=0[12,)",
		},
		{
			"every version that was known then",
			postgres.HistoryQuery{AsOf: noon(12), Versions: true, From: day(2), To: day(3)},
			"2=2[10,12) 2=2.5#2[12,) 3=_[10,12) 3=3#2[12,)",
		},
		{
			"every version, the second page, newest first",
			postgres.HistoryQuery{
				AsOf: noon(20), Versions: true, Desc: true, Limit: 2, After: &postgres.HistoryKey{ObservedAt: day(2), KnownFrom: noon(14)},
			},
			"2=2.5#2[12,13) 2=2[10,12)",
		},
	} {
		if got := history(t, db, c.q); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	changes, err := db.Changes(t.Context(), postgres.HistoryQuery{Signal: "s", AsOf: noon(20)})
	if err != nil {
		t.Fatal(err)
	}
	want := []postgres.Change{
		{KnownAt: noon(10), Added: 3}, {KnownAt: noon(12), Added: 1, Changed: 2}, {KnownAt: noon(13), Gone: 1}, {KnownAt: noon(14), Changed: 1},
	}
	if d := cmp.Diff(want, changes); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
	page, err := db.Changes(t.Context(), postgres.HistoryQuery{
		Signal: "s", AsOf: noon(20), Desc: true, Limit: 1, From: noon(12), To: noon(13), After: &postgres.HistoryKey{KnownFrom: noon(13)},
	})
	if err != nil || len(page) != 1 || !page[0].KnownAt.Equal(noon(12)) {
		t.Errorf("a page of changes: %v (%v), want that of the 12th", page, err)
	}
}

// TestABackfillBeforeTheFirstDayRevisesNothing covers an installation whose first instants came before its first data: nothing was known at
// them. A backfill then stores the history that would have been known before.
func TestABackfillBeforeTheFirstDayRevisesNothing(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	say(t, db, noon(10), "")
	say(t, db, noon(11), "1=1 2=2 3=3")
	say(t, db, noon(12), "1=1 2=2.5 3=3 4=4") // a revision by the publisher
	say(t, db, noon(13), "1=1 2=2.5 4=4")     // a withdrawal by the publisher
	revised := func() (n, gone int) {
		t.Helper()
		changes, err := db.Changes(t.Context(), postgres.HistoryQuery{Signal: "s", AsOf: noon(30)})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			n, gone = n+c.Changed, gone+c.Gone
		}
		return n, gone
	}
	const served = "1=1 2=2.5#2 4=4"
	for round, backfilled := range []string{"", "1=1 2=2", "1=1"} {
		if backfilled != "" {
			say(t, db, noon(10-round), backfilled)
		}
		if n, gone := revised(); n != 1 || gone != 1 {
			t.Errorf("after %d backfills %d points are revised and %d withdrawn, want one of each", round, n, gone)
		}
		if got := history(t, db, postgres.HistoryQuery{AsOf: noon(30)}); got != served {
			t.Errorf("after %d backfills the history is %q, want %q", round, got, served)
		}
		if got := history(t, db, postgres.HistoryQuery{AsOf: noon(10)}); got != "" {
			t.Errorf("after %d backfills the first instant says %q, want nothing as it was", round, got)
		}
	}
	// Another program with other numbers is not a publisher's change either.
	snap := snapshot(noon(14))
	snap.CodeVersion = "other"
	tr := track(t, "1=1 2=2.5 4=4")
	tr[0].Value = 7
	snap.ObservedAt = new(day(4))
	if err := db.SaveSnapshot(t.Context(), task.Fence{}, snap, tr[:2]); err != nil {
		t.Fatal(err)
	}
	if n, gone := revised(); n != 1 || gone != 1 {
		t.Errorf("after another program computed %d points are revised and %d withdrawn, want one of each", n, gone)
	}
}

func TestAnInstantThatComesOutOtherwiseIsSuperseded(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	say(t, db, noon(10), "1=1 2=2")
	say(t, db, noon(11), "1=1 2=2 3=3")
	say(t, db, noon(11), "1=1 2=7 3=4") // a second source stored data at the same instant
	say(t, db, noon(11), "1=1 2=2 3=5") // and a third
	if got, want := history(t, db, postgres.HistoryQuery{AsOf: noon(11)}), "1=1 2=2 3=5"; got != want {
		t.Errorf("as of the instant: %q, want %q", got, want)
	}
	if got, want := history(t, db, postgres.HistoryQuery{AsOf: noon(11), Versions: true}), "1=1[10,) 2=2[10,) 3=5[11,)"; got != want {
		t.Errorf("every version: %q, want %q", got, want)
	}
	if n := rows(t, url); n != 7 {
		t.Errorf("%d rows, want 7: nothing that was stored is taken away", n)
	}
}

// checkServed fails unless a process reads the history as of its start.
func checkServed(t *testing.T, db *postgres.DB, at time.Time) {
	t.Helper()
	served, err := db.Serve(t.Context(), "s", at, 0)
	if err != nil {
		t.Fatal(err)
	}
	list := slices.DeleteFunc(served.Changed, func(p postgres.Point) bool { return p.Gone })
	want := slices.Collect(points(t, db.History(t.Context(), postgres.HistoryQuery{Signal: "s", AsOf: at})))
	if d := cmp.Diff(want, list, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("as of %s (-the history, +what is served):\n%s", at, d)
	}
}

// TestTwoWorkersOnOneSignal computes all instants at once, from several connections.
func TestTwoWorkersOnOneSignal(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	const slots = 12
	var wg sync.WaitGroup
	errs := make([]error, slots)
	for i := range slots {
		tr := track(t, fmt.Sprintf("1=%d 2=%d %d=1", i, i/3, 3+i%4))
		wg.Go(func() { errs[i] = db.SaveSnapshot(t.Context(), task.Fence{}, snapshot(noon(10+i)), tr) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i := range slots {
		got := history(t, db, postgres.HistoryQuery{AsOf: noon(10 + i)})
		var plain []string
		for f := range strings.FieldsSeq(got) {
			value, _, _ := strings.Cut(f, "#")
			plain = append(plain, value)
		}
		if want := fmt.Sprintf("1=%d 2=%d %d=1", i, i/3, 3+i%4); strings.Join(plain, " ") != want {
			t.Errorf("as of slot %d: %q, want %q", i, plain, want)
		}
	}
}

func TestASupersededAttemptAddsNoHistory(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{"whole": "", "differences": "1=1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, url := open(t, postgres.RoleWorker)
			if before != "" {
				say(t, db, noon(9), before)
			}
			stored, stated := rows(t, url), states(t, db)
			id, err := db.AddRun(t.Context(), task.Signal, "s", noon(10), "test")
			if err != nil {
				t.Fatal(err)
			}
			old := task.Fence{RunID: id, Attempt: 1}
			if _, err := db.Claim(t.Context(), old, "w1"); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Reclaim(t.Context(), -time.Second); err != nil {
				t.Fatal(err)
			}
			decayed := snapshot(noon(10))
			decayed.Status = signals.StatusDecayed
			if err := db.SaveSnapshot(t.Context(), old, decayed, track(t, "1=3")); !errors.Is(err, postgres.ErrFenced) {
				t.Errorf("the old attempt saved: %v", err)
			}
			if n := rows(t, url); n != stored {
				t.Errorf("the old attempt left %d versions", n-stored)
			}
			if n := states(t, db); n != stated {
				t.Errorf("the old attempt left %d states", n-stated)
			}
			next := task.Fence{RunID: id, Attempt: 2}
			if _, err := db.Claim(t.Context(), next, "w2"); err != nil {
				t.Fatal(err)
			}
			if before != "" { // a worker that knows the track stores the difference
				say(t, db, noon(9).Add(time.Hour), before)
			}
			if err := db.SaveSnapshot(t.Context(), next, snapshot(noon(10)), track(t, "1=1 2=2")); err != nil {
				t.Fatal(err)
			}
			want := int64(3 - stored)
			if runs, err := db.Runs(t.Context(), postgres.RunFilter{ID: id, Limit: 1}); err != nil || *runs[0].RowsAdded != want {
				t.Errorf("the run counts %v (%v), want %d: the snapshot and its versions", runs, err, want)
			}
		})
	}
}

func states(t *testing.T, db *postgres.DB) int {
	t.Helper()
	list, err := db.States(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
