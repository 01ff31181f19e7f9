package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/signals"
)

// The cache must return the same as the database. Values are revised, withdrawn and restored, rows with an old vintage are committed late,
// and instants come in any order.
func TestWhatIsKeptOfAnEarlierQuestionIsWhatTheDatabaseSays(t *testing.T) {
	t.Parallel()
	kept, url := open(t, postgres.RoleWorker)
	store(t, kept, load(t, kept, "2026-01-08T00:00:00Z", reading("seen", "2026-01-05T00:00:00Z", 1))) // a fetch to refer to
	ids := []series.ID{"b", "a", "none"}                                                              // nothing is ever known of "none"
	random := rand.New(rand.NewPCG(15, 1))
	day := instant(t, "2026-02-01T00:00:00Z")
	late := 0
	for step := range 60 {
		now := day.AddDate(0, 0, step)
		for range 1 + random.IntN(4) {
			vintage := now.Add(-time.Duration(random.IntN(12)) * time.Hour)
			if random.IntN(8) == 0 {
				vintage, late = vintage.AddDate(0, 0, -1-random.IntN(20)), late+1
			}
			value := fmt.Sprint(random.IntN(5), ", null")
			if random.IntN(4) == 0 {
				value = "null, 'withdrawn'"
			}
			at := day.AddDate(0, 0, random.IntN(15)-20).Format(time.RFC3339)
			if err := exec(t, url, "", fmt.Sprintf(`insert into observations (series, observed_at, vintage_at, value, marker, assumed, fetch_id)
				select '%s', '%s', '%s', %s, %t, (select min(id) from fetches) on conflict do nothing`,
				ids[random.IntN(2)], at, vintage.Format(time.RFC3339), value, random.IntN(3) == 0)); err != nil {
				t.Fatal(err)
			}
		}
		asOf := now
		if random.IntN(6) == 0 {
			asOf = now.AddDate(0, 0, -random.IntN(30))
		}
		if random.IntN(3) == 0 { // a later instant comes first
			if _, err := kept.ObservationsAsOf(t.Context(), ids, now.AddDate(0, 0, 2)); err != nil {
				t.Fatal(err)
			}
		}
		fresh, err := postgres.Open(t.Context(), url, postgres.RoleWorker)
		if err != nil {
			t.Fatal(err)
		}
		for name, ask := range map[string]func(*postgres.DB) (series.Set, error){
			"newest": func(db *postgres.DB) (series.Set, error) { return db.ObservationsAsOf(t.Context(), ids, asOf) },
			"first":  func(db *postgres.DB) (series.Set, error) { return db.FirstObservationsAsOf(t.Context(), ids, asOf) },
			"before": func(db *postgres.DB) (series.Set, error) {
				return db.InputsOf(t.Context(), signals.Definition{Inputs: ids, Reestimated: ids[:2]}, asOf)
			},
		} {
			// The second call on a fresh DB uses the statement for instants before the cached one.
			if _, err := fresh.ObservationsAsOf(t.Context(), ids, now.AddDate(1, 0, 0)); err != nil {
				t.Fatal(err)
			}
			want, err := ask(fresh)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ask(kept)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("step %d, %s as of %s (-the database, +kept):\n%s", step, name, asOf, d)
			}
		}
		want, err := fresh.RecordedFrom(t.Context(), ids, asOf)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := kept.RecordedFrom(t.Context(), ids, asOf); err != nil || !got.Equal(want) {
			t.Errorf("step %d: values were recorded from %s, want %s: %v", step, got, want, err)
		}
		newest, err := fresh.NewestVintage(t.Context(), ids, asOf)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := kept.NewestVintage(t.Context(), ids, asOf); err != nil || !got.Equal(newest) {
			t.Errorf("step %d: the newest vintage is of %s, want %s: %v", step, got, newest, err)
		}
		fresh.Close()
	}
	if late == 0 {
		t.Error("no row was committed late")
	}
}

// A cached series that is not the stored one is a fault: the question that finds it fails, the next one reads the series again.
func TestACachedSeriesThatIsNotTheStoredOneIsReported(t *testing.T) {
	t.Parallel()
	kept, url := open(t, postgres.RoleWorker)
	store(t, kept, load(t, kept, "2026-01-08T00:00:00Z", reading("a", "2026-01-05T00:00:00Z", 1)))
	if _, err := kept.ObservationsAsOf(t.Context(), []series.ID{"a"}, instant(t, "2026-01-09T00:00:00Z")); err != nil {
		t.Fatal(err)
	}
	// Only a superuser can do this: it switches triggers off.
	if err := exec(t, url, "", `set session_replication_role = replica; update observations set value = 7`); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for n := range 40 {
		at := instant(t, "2026-02-01T00:00:00Z").AddDate(0, 0, n)
		if err := exec(t, url, "", fmt.Sprintf(`insert into observations (series, observed_at, vintage_at, value, fetch_id)
			select 'a', '%[1]s', '%[1]s', 2, min(id) from fetches`, at.Format(time.RFC3339))); err != nil {
			t.Fatal(err)
		}
		set, err := kept.ObservationsAsOf(t.Context(), []series.ID{"a"}, at)
		if err != nil {
			if failed++; failed > 1 {
				t.Fatal(err)
			}
			continue
		}
		if want := []float64{1, 7}[failed]; set["a"][0].Value != want {
			t.Errorf("after %d additions the first value is %g, want %g", n+1, set["a"][0].Value, want)
		}
	}
	if failed != 1 {
		t.Errorf("%d of 40 questions failed, want the one that read everything again", failed)
	}
}

// Readers at once continue one memory, as of different instants, while observations come and some are revised on the next day.
func TestReadersAtOnceReadWhatTheDatabaseSays(t *testing.T) {
	t.Parallel()
	kept, url := open(t, postgres.RoleWorker)
	store(t, kept, load(t, kept, "2026-01-08T00:00:00Z", reading("seen", "2026-01-05T00:00:00Z", 1))) // a fetch to refer to
	now := instant(t, "2026-02-01T00:00:00Z")
	const days, together = 60, 3
	got := make([]series.Set, days)
	for first := 0; first < days; first += together {
		for day := first; day < first+together; day++ {
			at, before := now.AddDate(0, 0, day).Format(time.RFC3339), now.AddDate(0, 0, day-1).Format(time.RFC3339)
			if err := exec(t, url, "", fmt.Sprintf(`insert into observations (series, observed_at, vintage_at, value, fetch_id)
				select 'a', at, '%s', value, f.id
				from (values ('%s'::timestamptz, %d.5), ('%s', %d)) as v (at, value), (select min(id) as id from fetches) f
				where value >= %d`, at, before, day-1, at, day, first)); err != nil {
				t.Fatal(err)
			}
		}
		var group sync.WaitGroup
		for day := first; day < first+together; day++ {
			group.Go(func() {
				set, err := kept.ObservationsAsOf(t.Context(), []series.ID{"a"}, now.AddDate(0, 0, day))
				if err != nil {
					t.Error(err)
				}
				got[day] = set
			})
		}
		group.Wait()
	}
	for day, set := range got {
		if len(set["a"]) != day+1 {
			t.Fatalf("on day %d there are %d observations", day, len(set["a"]))
		}
		for i, p := range set["a"] {
			want := float64(i)
			if i < day && i%together < together-1 { // the last one of the readers before is not revised: the next readers begin with observations after it
				want += 0.5
			}
			if p.ObservedAt != series.InstantOf(now.AddDate(0, 0, i)) || p.Value != want {
				t.Fatalf("on day %d observation %d is %v, want %g", day, i, p, want)
			}
		}
	}
}
