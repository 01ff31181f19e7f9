package postgres_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

func reading(id, observed string, value float64) series.Reading {
	at, err := time.Parse(time.RFC3339, observed)
	if err != nil {
		panic(err)
	}
	return series.Reading{Series: series.ID(id), ObservedAt: at, Value: value}
}

// load records a fetch at an instant and returns its load: complete for its series, published two days after observation.
func load(t *testing.T, db *postgres.DB, fetched string, readings ...series.Reading) postgres.Load {
	t.Helper()
	at := instant(t, fetched)
	id, err := db.RecordFetch(t.Context(), series.Fetch{
		Source: "s", URL: "https://upstream.example/x", Status: 200, FetchedAt: at, SHA256: fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, readings))), Bytes: 1,
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := postgres.Load{
		FetchID: id, FetchedAt: at, Readings: readings,
		Published: func(_ series.ID, observed time.Time) time.Time { return observed.Add(48 * time.Hour) },
	}
	seen := map[series.ID]bool{}
	for _, r := range readings {
		if !seen[r.Series] {
			seen[r.Series] = true
			l.Covers = append(l.Covers, series.Coverage{Series: r.Series})
		}
	}
	return l
}

func store(t *testing.T, db *postgres.DB, loads ...postgres.Load) int64 {
	t.Helper()
	n, err := db.StoreLoads(t.Context(), task.Fence{}, loads, nil)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// vintages prints the stored vintages of a series: "observed vintage value" with a mark for assumed ones.
func vintages(t *testing.T, db *postgres.DB, id series.ID) []string {
	t.Helper()
	list, err := db.Observations(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, o := range list {
		value := fmt.Sprint(o.Value)
		if o.Marker != "" {
			value = o.Marker
		}
		if o.Assumed {
			value += " assumed"
		}
		out = append(out, o.ObservedAt.UTC().Format("01-02")+" "+o.VintageAt.UTC().Format("01-02T15")+" "+value)
	}
	return out
}

// An answer as of an instant stays what it was, so a later rule for the delay of a publisher does not move what was assumed by an earlier one.
func TestALaterRuleMovesNoAssumedTime(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	known := reading("a", "2026-01-05T00:00:00Z", 1)
	store(t, db, load(t, db, "2026-01-20T00:00:00Z", known))
	later := load(t, db, "2026-01-21T00:00:00Z", known, reading("a", "2026-01-06T00:00:00Z", 2))
	later.Published = func(_ series.ID, observed time.Time) time.Time { return observed.Add(96 * time.Hour) }
	if n := store(t, db, later); n != 1 {
		t.Errorf("%d rows were added, want the new value alone", n)
	}
	want := []string{"01-05 01-07T00 1 assumed", "01-06 01-21T00 2"}
	if d := cmp.Diff(want, vintages(t, db, "a")); d != "" {
		t.Errorf("under another rule (-want +got):\n%s", d)
	}
}

func TestVintages(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	one, two, three := reading("a", "2026-01-05T00:00:00Z", 1), reading("a", "2026-01-06T00:00:00Z", 2), reading("a", "2026-01-07T00:00:00Z", 3)
	changed := two
	changed.Value = 2.5

	if n := store(t, db, load(t, db, "2026-01-08T00:00:00Z", one, two)); n != 2 {
		t.Fatalf("the first load added %d rows, want 2", n)
	}
	first := []string{
		"01-05 01-07T00 1 assumed", // its publication was not observed: two days after the observation
		"01-06 01-08T00 2",         // published at the very instant of the fetch: observed
	}
	if d := cmp.Diff(first, vintages(t, db, "a")); d != "" {
		t.Fatalf("after the first load (-want +got):\n%s", d)
	}
	if n := store(t, db, load(t, db, "2026-01-09T00:00:00Z", one, two)); n != 0 {
		t.Errorf("the same again added %d rows", n)
	}
	if n := store(t, db, load(t, db, "2026-01-10T00:00:00Z", one, changed, three)); n != 2 {
		t.Errorf("a changed and a new value added %d rows, want 2", n)
	}
	want := []string{first[0], first[1], "01-06 01-10T00 2.5", "01-07 01-10T00 3"}
	if d := cmp.Diff(want, vintages(t, db, "a")); d != "" {
		t.Errorf("after a revision (-want +got):\n%s", d)
	}
	if n := store(t, db, load(t, db, "2026-01-12T00:00:00Z", one, three)); n != 1 {
		t.Errorf("a withdrawal added %d rows, want 1", n)
	}
	if n := store(t, db, load(t, db, "2026-01-13T00:00:00Z", one, three)); n != 0 {
		t.Errorf("the same withdrawal again added %d rows", n)
	}
	if n := store(t, db, load(t, db, "2026-01-14T00:00:00Z", one, two, three)); n != 1 {
		t.Errorf("a value that came back added %d rows, want 1", n)
	}
	want = []string{
		first[0], first[1], "01-06 01-10T00 2.5", "01-06 01-12T00 withdrawn", "01-06 01-14T00 2", "01-07 01-10T00 3",
	}
	if d := cmp.Diff(want, vintages(t, db, "a")); d != "" {
		t.Errorf("after all (-want +got):\n%s", d)
	}

	for _, c := range []struct{ name, asOf, want string }{
		{"before anything was known", "2026-01-06T23:00:00Z", ""},
		{"before the revision the old value", "2026-01-09T23:59:59Z", "01-05=1 01-06=2"},
		{"from the revision on the new one", "2026-01-10T00:00:00Z", "01-05=1 01-06=2.5 01-07=3"},
		{"a withdrawn value is absent", "2026-01-13T00:00:00Z", "01-05=1 01-07=3"},
		{"and is back when it came back", "2026-02-01T00:00:00Z", "01-05=1 01-06=2 01-07=3"},
	} {
		set, err := db.ObservationsAsOf(t.Context(), []series.ID{"a", "b"}, instant(t, c.asOf))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range set["a"] {
			got = append(got, fmt.Sprintf("%s=%v", p.ObservedAt.Time().UTC().Format("01-02"), p.Value))
		}
		if g := strings.Join(got, " "); g != c.want {
			t.Errorf("%s: %q, want %q", c.name, g, c.want)
		}
	}
}

func TestAnOldAnswerSaysNothingNew(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	late, early := reading("a", "2026-01-05T00:00:00Z", 2), reading("a", "2026-01-05T00:00:00Z", 1)
	store(t, db, load(t, db, "2026-01-10T00:00:00Z", late))
	if n := store(t, db, load(t, db, "2026-01-09T00:00:00Z", early)); n != 0 {
		t.Errorf("an answer of yesterday, stored today, added %d rows", n)
	}
}

// A publisher's copy with fewer decimals is no revision of what is known, nor is the return to all of them. What differs by more is one.
func TestOtherDigitsOfAValueAreNoRevision(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	answer := func(fetched string, values ...float64) postgres.Load {
		var list []series.Reading
		for i, v := range values {
			list = append(list, reading("a", fmt.Sprintf("2026-01-%02dT00:00:00Z", 5+i), v))
		}
		l := load(t, db, fetched, list...)
		l.Rounding = func(series.ID) float64 { return 0.006 }
		return l
	}
	store(t, db, answer("2026-01-10T00:00:00Z", 12.3456789, 3.14159))
	for _, c := range []struct {
		fetched string
		values  []float64
		added   int64
	}{
		{"2026-01-11T00:00:00Z", []float64{12.35, 3.14}, 0},
		{"2026-01-12T00:00:00Z", []float64{12.3456789, 3.14159}, 0},
		{"2026-01-13T00:00:00Z", []float64{12.35, 3.15}, 1},
		{"2026-01-14T00:00:00Z", []float64{12.3456789}, 1}, // the other one is gone
	} {
		if n := store(t, db, answer(c.fetched, c.values...)); n != c.added {
			t.Errorf("%s added %d rows, want %d", c.fetched, n, c.added)
		}
	}
	want := []string{"01-05 01-07T00 12.3456789 assumed", "01-06 01-08T00 3.14159 assumed", "01-06 01-13T00 3.15", "01-06 01-14T00 withdrawn"}
	if d := cmp.Diff(want, vintages(t, db, "a")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestAWithheldValueIsItsMarker(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	withheld := reading("a", "2026-01-05T00:00:00Z", 0)
	withheld.Marker = "W"
	store(t, db, load(t, db, "2026-01-10T00:00:00Z", withheld))
	if n := store(t, db, load(t, db, "2026-01-11T00:00:00Z", reading("a", "2026-01-05T00:00:00Z", 0))); n != 1 {
		t.Errorf("a zero in the place of a withheld value added %d rows, want 1", n)
	}
	want := []string{"01-05 01-07T00 W assumed", "01-05 01-11T00 0"}
	if d := cmp.Diff(want, vintages(t, db, "a")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestAShrunkPageIsRefused(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	var all []series.Reading
	for i := range 200 {
		all = append(all, series.Reading{Series: "a", ObservedAt: instant(t, "2025-01-01T00:00:00Z").AddDate(0, 0, i), Value: float64(i)})
	}
	store(t, db, load(t, db, "2026-01-01T00:00:00Z", all...))
	_, err := db.StoreLoads(t.Context(), task.Fence{}, []postgres.Load{load(t, db, "2026-01-02T00:00:00Z", all[:180]...)}, nil)
	if !errors.Is(err, postgres.ErrShrunk) || !strings.Contains(err.Error(), "a: 20 of 200") {
		t.Errorf("a page without 20 of 200 known values: %v", err)
	}
	if n := len(vintages(t, db, "a")); n != 200 {
		t.Errorf("%d rows after the refusal, want 200", n)
	}
	if n := store(t, db, load(t, db, "2026-01-03T00:00:00Z", append(all[:100:100], all[105:]...)...)); n != 5 {
		t.Errorf("five withdrawals added %d rows", n)
	}
}

func TestLoadsMakeSignalsDueOnce(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	l := load(t, db, "2026-01-10T00:00:00Z", reading("a", "2026-01-05T00:00:00Z", 1))
	for range 2 {
		if _, err := db.StoreLoads(t.Context(), task.Fence{}, []postgres.Load{l}, []string{"sig"}); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := db.Runs(t.Context(), postgres.RunFilter{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 1 || runs[0].Subject != "sig" || runs[0].Status != "due" || !runs[0].Slot.Equal(l.FetchedAt) || runs[0].Attempt != 1 {
		t.Errorf("runs %+v, want one of sig, due for the time of the fetch", runs)
	}
}

func TestASupersededAttemptStoresNothing(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	id, err := db.AddRun(t.Context(), task.Ingest, "s", instant(t, "2026-01-10T00:00:00Z"), "test")
	if err != nil {
		t.Fatal(err)
	}
	f := task.Fence{RunID: id, Attempt: 1}
	if ok, err := db.Claim(t.Context(), f, "w1"); err != nil || !ok {
		t.Fatalf("claim: %v %v", ok, err)
	}
	if ok, _ := db.Claim(t.Context(), f, "w2"); ok {
		t.Fatal("one attempt was claimed twice")
	}
	if lost, err := db.Reclaim(t.Context(), time.Hour); err != nil || len(lost) != 0 {
		t.Fatalf("a live run was reclaimed: %v %v", lost, err)
	}
	lost, err := db.Reclaim(t.Context(), -time.Second)
	if err != nil || len(lost) != 1 || lost[0].Attempt != 2 {
		t.Fatalf("reclaimed %v (%v), want attempt 2 of one run", lost, err)
	}
	l := load(t, db, "2026-01-10T00:00:00Z", reading("a", "2026-01-05T00:00:00Z", 1))
	if _, err := db.StoreLoads(t.Context(), f, []postgres.Load{l}, []string{"sig"}); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("the old attempt stored: %v", err)
	}
	if got := vintages(t, db, "a"); len(got) != 0 {
		t.Errorf("rows of the old attempt: %v", got)
	}
	for name, end := range map[string]func() error{
		"succeed": func() error { return db.Succeed(t.Context(), f) },
		"fail":    func() error { _, err := db.Fail(t.Context(), f, "x", 0, false, false); return err },
		"release": func() error { return db.Release(t.Context(), f) },
		"snapshot": func() error {
			return db.SaveSnapshot(t.Context(), f, postgres.Snapshot{Signal: "x", At: l.FetchedAt, Status: "live"}, nil)
		},
	} {
		if err := end(); !errors.Is(err, postgres.ErrFenced) {
			t.Errorf("%s by the old attempt: %v", name, err)
		}
	}
	if ok, err := db.Claim(t.Context(), lost[0].Fence, "w2"); err != nil || !ok {
		t.Fatalf("the next attempt is not to be had: %v %v", ok, err)
	}
	gone, err := db.Heartbeat(t.Context(), []task.Fence{f, lost[0].Fence})
	if err != nil || len(gone) != 1 || gone[0] != f {
		t.Errorf("the heartbeat names %v (%v) as superseded, want the first attempt", gone, err)
	}
	if _, err := db.StoreLoads(t.Context(), lost[0].Fence, []postgres.Load{l}, nil); err != nil {
		t.Errorf("the next attempt cannot store: %v", err)
	}
}

func TestLaterPagesOfAFirstAnswerAreOldNews(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	one, two := load(t, db, "2026-01-10T00:00:00Z", reading("a", "2026-01-05T00:00:00Z", 1)), load(t, db, "2026-01-10T00:00:01Z", reading("a", "2026-01-06T00:00:00Z", 2))
	one.Covers, two.Covers = nil, nil
	store(t, db, one, two)
	want := []string{"01-05 01-07T00 1 assumed", "01-06 01-08T00 2 assumed"}
	if d := cmp.Diff(want, vintages(t, db, "a")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Some publishers state earlier vintages. They are not added to a series that was loaded before: responses to clients must not change
// later.
func TestVintagesThatThePublisherNamesAreOfTheFirstLoad(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	one, two := reading("a", "2026-01-05T00:00:00Z", 1), reading("a", "2026-01-06T00:00:00Z", 2)
	said := func(r series.Reading, known string, value float64) series.Observation {
		return series.Observation{Series: r.Series, ObservedAt: r.ObservedAt, VintageAt: instant(t, known), Value: value}
	}
	l := load(t, db, "2026-01-20T00:00:00Z", one, two)
	taken := reading("a", "2026-01-04T00:00:00Z", 0)
	gone := said(taken, "2026-01-09T00:00:00Z", 0)
	gone.Marker = series.MarkerWithdrawn
	l.Vintages = []series.Observation{
		said(taken, "2026-01-06T00:00:00Z", 9), gone,
		said(one, "2026-01-08T00:00:00Z", 1.5), said(one, "2026-01-12T00:00:00Z", 1), said(two, "2026-01-13T00:00:00Z", 2),
	}
	storing := db.Storing(task.Fence{})
	storing.Add(t.Context(), l)
	storing.EndChain(t.Context(), true)
	if n, err := storing.Commit(t.Context(), nil); err != nil || n != 5 {
		t.Fatalf("added %d rows, want 5 (%v)", n, err)
	}
	want := []string{"01-04 01-06T00 9", "01-04 01-09T00 withdrawn", "01-05 01-08T00 1.5", "01-05 01-12T00 1", "01-06 01-13T00 2"}
	if d := cmp.Diff(want, vintages(t, db, "a")); d != "" {
		t.Errorf("after the first load (-want +got):\n%s", d)
	}
	three := reading("a", "2026-01-07T00:00:00Z", 3)
	l = load(t, db, "2026-01-21T00:00:00Z", one, two, three)
	l.Vintages = []series.Observation{said(one, "2026-01-07T00:00:00Z", 7), said(three, "2026-01-15T00:00:00Z", 3)}
	if n := store(t, db, l); n != 1 {
		t.Errorf("a later load added %d rows, want 1", n)
	}
	want = append(want, "01-07 01-21T00 3")
	if d := cmp.Diff(want, vintages(t, db, "a")); d != "" {
		t.Errorf("after a later load (-want +got):\n%s", d)
	}
}
