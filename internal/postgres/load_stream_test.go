package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// remains prints all rows that loads leave behind, except the ids of fetches.
func remains(t *testing.T, url string) []string {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	var all []string
	for _, sql := range []string{
		`select format('%s %s %s %s %s %s', o.series, o.observed_at, o.vintage_at, coalesce(o.value::text, o.marker), o.assumed, f.fetched_at)
			from observations o join fetches f on f.id = o.fetch_id order by o.series, o.observed_at, o.vintage_at`,
		`select format('%s first %s, confirmed %s by %s', w.series, w.first_loaded_at, w.confirmed_at, f.fetched_at)
			from watermarks w join fetches f on f.id = w.fetch_id order by 1`,
		`select format('%s %s %s %s', job, subject, slot, status) from runs order by 1`,
	} {
		r, err := c.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		list, err := pgx.CollectRows(r, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	return all
}

// paged returns a load of one page of a series: n days from the first on, which it covers.
func paged(t *testing.T, db *postgres.DB, id, fetched string, first, n int) postgres.Load {
	t.Helper()
	var list []series.Reading
	begin := instant(t, "2026-01-01T00:00:00Z")
	for i := range n {
		list = append(list, series.Reading{Series: series.ID(id), ObservedAt: begin.AddDate(0, 0, first+i), Value: float64(first + i)})
	}
	l := load(t, db, fetched, list...)
	l.Covers = []series.Coverage{{Series: series.ID(id), Window: series.Window{From: list[0].ObservedAt, To: list[n-1].ObservedAt}}}
	return l
}

// chained makes chains of loads, the same on any database.
type chained func(t *testing.T, db *postgres.DB) [][]postgres.Load

func twoSeries(t *testing.T, db *postgres.DB) [][]postgres.Load {
	t.Helper()
	withheld := paged(t, db, "b", "2026-02-01T00:00:03Z", 0, 3)
	withheld.Readings[1].Value, withheld.Readings[1].Marker = 0, "W"
	return [][]postgres.Load{
		{
			paged(t, db, "a", "2026-02-01T00:00:00Z", 0, 20), paged(t, db, "a", "2026-02-01T00:00:01Z", 20, 10),
			paged(t, db, "a", "2026-02-01T00:00:02Z", 30, 5), // the newest are published after the fetch
		},
		{withheld},
	}
}

// streamed stores chains through a LoadStream. Chains in broken are incomplete.
func streamed(t *testing.T, db *postgres.DB, f task.Fence, chains [][]postgres.Load, broken ...int) (int64, error) {
	t.Helper()
	s := db.Storing(f)
	defer s.Discard(t.Context())
	for i, c := range chains {
		complete := true
		for _, b := range broken {
			complete = complete && b != i
		}
		for _, l := range c {
			s.Add(t.Context(), l)
		}
		s.EndChain(t.Context(), complete)
	}
	return s.Commit(t.Context(), []string{"sig"})
}

func TestRowsSentAheadAreThoseOfALoadAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		before chained // already stored
		chains chained
		broken []int
	}{
		{"a first load", nil, twoSeries, nil},
		{"a chain that broke", nil, twoSeries, []int{0}},
		{"the last chain broke", nil, twoSeries, []int{1}},
		{"all chains broke", nil, twoSeries, []int{0, 1}},
		{"the same again", twoSeries, twoSeries, nil},
		{"one series is known already", func(t *testing.T, db *postgres.DB) [][]postgres.Load {
			t.Helper()
			return [][]postgres.Load{{paged(t, db, "b", "2026-01-20T00:00:00Z", 0, 2)}}
		}, twoSeries, nil},
		{"a page that says again what an earlier one said", nil, func(t *testing.T, db *postgres.DB) [][]postgres.Load {
			t.Helper()
			again := paged(t, db, "a", "2026-02-01T00:00:01Z", 3, 10)
			again.Readings[2].Value = 99
			return [][]postgres.Load{{paged(t, db, "a", "2026-02-01T00:00:00Z", 0, 5), again}}
		}, nil},
		{"a page that takes back what an earlier one said", nil, func(t *testing.T, db *postgres.DB) [][]postgres.Load {
			t.Helper()
			whole := paged(t, db, "a", "2026-02-01T00:00:01Z", 1, 30)
			whole.Covers = []series.Coverage{{Series: "a"}}
			return [][]postgres.Load{{paged(t, db, "a", "2026-02-01T00:00:00Z", 0, 20)}, {whole}}
		}, nil},
		{"a series that is only covered", nil, func(t *testing.T, db *postgres.DB) [][]postgres.Load {
			t.Helper()
			l := paged(t, db, "a", "2026-02-01T00:00:00Z", 0, 5)
			l.Covers = append(l.Covers, series.Coverage{Series: "c"})
			return [][]postgres.Load{{l}}
		}, nil},
		{"nothing at all", nil, func(*testing.T, *postgres.DB) [][]postgres.Load { return nil }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ahead, aheadURL := open(t, postgres.RoleWorker)
			once, onceURL := open(t, postgres.RoleWorker)
			for _, db := range []*postgres.DB{ahead, once} {
				if c.before != nil {
					for _, chain := range c.before(t, db) {
						store(t, db, chain...)
					}
				}
			}
			got, err := streamed(t, ahead, task.Fence{}, c.chains(t, ahead), c.broken...)
			if err != nil {
				t.Fatal(err)
			}
			var loads []postgres.Load
			for i, chain := range c.chains(t, once) {
				if len(c.broken) == 0 || c.broken[0] != i && (len(c.broken) < 2 || c.broken[1] != i) {
					loads = append(loads, chain...)
				}
			}
			want := int64(0)
			if len(loads) > 0 {
				if want, err = once.StoreLoads(t.Context(), task.Fence{}, loads, []string{"sig"}); err != nil {
					t.Fatal(err)
				}
			}
			if got != want {
				t.Errorf("%d rows were added, want %d", got, want)
			}
			if d := cmp.Diff(remains(t, onceURL), remains(t, aheadURL)); d != "" {
				t.Errorf("(-at once +sent ahead):\n%s", d)
			}
		})
	}
}

func TestASupersededAttemptSendsNothingAhead(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	id, err := db.AddRun(t.Context(), task.Ingest, "s", instant(t, "2026-01-10T00:00:00Z"), "test")
	if err != nil {
		t.Fatal(err)
	}
	f := task.Fence{RunID: id, Attempt: 1}
	if ok, err := db.Claim(t.Context(), f, "w"); err != nil || !ok {
		t.Fatalf("claim: %v %v", ok, err)
	}
	s := db.Storing(f)
	for _, l := range twoSeries(t, db)[0] {
		s.Add(t.Context(), l)
	}
	s.EndChain(t.Context(), true)
	if lost, err := db.Reclaim(t.Context(), -time.Second); err != nil || len(lost) != 1 {
		t.Fatalf("reclaimed %v (%v)", lost, err)
	}
	if _, err := s.Commit(t.Context(), []string{"sig"}); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("the old attempt stored: %v", err)
	}
	if got := remains(t, url); len(got) != 1 { // the run itself
		t.Errorf("rows of the old attempt: %v", got)
	}
}

// A worker that stops while its rows are copied early must not block another worker from storing them.
func TestAStalledAttemptHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	other := as(t, url, postgres.RoleWorker)
	stalled := db.Storing(task.Fence{})
	for _, l := range twoSeries(t, db)[0] {
		stalled.Add(t.Context(), l)
	}
	began := time.Now()
	added, err := streamed(t, other, task.Fence{}, twoSeries(t, other))
	if err != nil || added != 38 {
		t.Fatalf("%d rows were added (%v), want 38", added, err)
	}
	t.Logf("the other one was done after %s", time.Since(began).Round(100*time.Millisecond))
	if time.Since(began) > 20*time.Second {
		t.Errorf("it waited %s", time.Since(began))
	}
	want := remains(t, url)
	// It wakes up and continues.
	stalled.EndChain(t.Context(), true)
	if added, err := stalled.Commit(t.Context(), nil); err != nil || added != 0 {
		t.Errorf("the stalled one added %d rows (%v), want none", added, err)
	}
	if d := cmp.Diff(want, remains(t, url)); d != "" {
		t.Errorf("the stalled one changed rows (-before +after):\n%s", d)
	}
}

func TestALongAnswerIsKnownAgainByItsPages(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	// page records a fetch of a page within a run. A word identifies the bytes of the page.
	page := func(run int64, fetched string, n int, bytes string) postgres.Load {
		l := paged(t, db, "a", fetched, 10*n, 10)
		f := series.Fetch{
			Source: "s", URL: fmt.Sprintf("https://upstream.example/%d", n), Status: 200, FetchedAt: l.FetchedAt,
			SHA256: fmt.Sprintf("%064x", bytes),
		}
		var err error
		if l.FetchID, err = db.RecordFetch(t.Context(), f, run); err != nil {
			t.Fatal(err)
		}
		return l
	}
	store(t, db, page(1, "2026-02-01T00:00:00Z", 0, "a"), page(1, "2026-02-01T00:00:01Z", 1, "b"), page(1, "2026-02-01T00:00:02Z", 2, "c"))
	before := remains(t, url)

	// A comparison would find a value that differs, but equal bytes are not compared.
	same := []postgres.Load{page(2, "2026-02-02T00:00:00Z", 0, "a"), page(2, "2026-02-02T00:00:01Z", 1, "b"), page(2, "2026-02-02T00:00:02Z", 2, "c")}
	same[0].Readings[0].Value = 99
	if n := store(t, db, same...); n != 0 {
		t.Errorf("the same bytes added %d rows", n)
	}
	after := remains(t, url)
	if d := cmp.Diff(before[:30], after[:30]); d != "" {
		t.Errorf("(-before +after):\n%s", d)
	}
	if want := "a first 2026-02-01 00:00:00+00, confirmed 2026-02-02 00:00:02+00 by 2026-02-02 00:00:02+00"; after[30] != want {
		t.Errorf("%s, want %s", after[30], want)
	}
	// Another first page with the same last page is another response.
	other := []postgres.Load{page(3, "2026-02-03T00:00:00Z", 0, "x"), page(3, "2026-02-03T00:00:01Z", 1, "b"), page(3, "2026-02-03T00:00:02Z", 2, "c")}
	other[0].Readings[0].Value = 99
	if n := store(t, db, other...); n != 1 {
		t.Errorf("another first page added %d rows, want 1", n)
	}
	// The newest page of a run's attempts counts: the stored page.
	page(4, "2026-02-04T00:00:00Z", 0, "y")
	store(t, db, page(4, "2026-02-04T00:01:00Z", 0, "z"), page(4, "2026-02-04T00:01:01Z", 1, "b"), page(4, "2026-02-04T00:01:02Z", 2, "c"))
	lost := []postgres.Load{page(5, "2026-02-05T00:00:00Z", 0, "y"), page(5, "2026-02-05T00:00:01Z", 1, "b"), page(5, "2026-02-05T00:00:02Z", 2, "c")}
	lost[0].Readings[3].Value = 98
	if n := store(t, db, lost...); n != 1 {
		t.Errorf("a page of an attempt that was lost added %d rows, want 1", n)
	}
}

func TestAnObservationNamesAFetch(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	l := load(t, db, "2026-01-10T00:00:00Z", reading("a", "2026-01-05T00:00:00Z", 1))
	l.FetchID += 7
	if _, err := db.StoreLoads(t.Context(), task.Fence{}, []postgres.Load{l}, nil); err == nil {
		t.Error("an observation of a fetch that is not in the ledger was stored")
	}
	if err := exec(t, url, "", `insert into observations (series, observed_at, vintage_at, value, fetch_id) values ('a', now(), now(), 1, 12345)`); err == nil {
		t.Error("the database took an observation without a fetch")
	}
	if got := remains(t, url); len(got) != 0 {
		t.Errorf("rows: %v", got)
	}
}
