package workers_test

import (
	"testing"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
)

// An installation computes the slot before its first day, too, and before its sources have answered. What a backfill computes of the time
// before must not be unknown again at that slot.
func TestWhatIsKnownStaysKnownAroundTheFirstLoad(t *testing.T) {
	t.Parallel()
	ran := 0
	def := edgy(&ran)
	b := newBench(t, def)
	day := func(n int) time.Time { return time.Date(2026, 3, n, 12, 0, 0, 0, time.UTC) }
	b.run(def.ID, day(9)) // nothing is there yet
	var published []series.Reading
	for n := 1; n <= 7; n++ {
		published = append(published, series.Reading{Series: "test.a", ObservedAt: day(n).Truncate(24 * time.Hour), Value: float64(n % 2)})
	}
	b.store(day(10), published)
	b.run(def.ID, day(10))
	b.run(def.ID, day(5)) // a backfill
	b.run(def.ID, day(8))
	known := map[time.Time]time.Time{}
	n := 0
	for p, err := range b.db.History(t.Context(), postgres.HistoryQuery{Signal: def.ID, AsOf: day(11), Versions: true}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if until, had := known[p.ObservedAt]; had && !until.Equal(p.KnownFrom) {
			t.Errorf("the point of %s was known until %s, and again from %s", p.ObservedAt.Format(time.DateOnly), until, p.KnownFrom)
		}
		known[p.ObservedAt] = p.KnownTo
	}
	if n < 7 {
		t.Errorf("%d versions are known, want those of 7 points", n)
	}
	asOf := 0
	for _, err := range b.db.History(t.Context(), postgres.HistoryQuery{Signal: def.ID, AsOf: day(9).Add(time.Hour)}) {
		if err != nil {
			t.Fatal(err)
		}
		asOf++
	}
	if asOf != 6 { // the seventh was published later
		t.Errorf("as of the time before the first load %d points were known, want 6", asOf)
	}
	changes, err := b.db.Changes(t.Context(), postgres.HistoryQuery{Signal: def.ID, AsOf: day(11), Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if c.Gone+c.Changed > 0 {
			t.Errorf("a change that no publisher made: %+v", c)
		}
	}
}
