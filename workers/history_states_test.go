package workers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/postgres"
	"tidemark/signals"
	"tidemark/workers"
)

// An operator's word is in no answer: the history carries it, and it is in force before anything is computed again.
func TestADeprecationTravelsWithTheHistory(t *testing.T) {
	t.Parallel()
	ran := 0
	def := edgy(&ran)
	b := newBench(t, def)
	day := func(n int) time.Time { return time.Date(2026, 3, n, 12, 0, 0, 0, time.UTC) }
	b.run(def.ID, day(1))
	for n, state := range map[int]string{2: signals.StatusDeprecated, 4: signals.StatusDecayed} {
		if err := b.db.AddState(t.Context(), postgres.State{Signal: def.ID, At: day(n).Add(-time.Minute), State: state, Cause: "as ann says", By: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	for n := 2; n <= 5; n++ {
		b.run(def.ID, day(n))
	}
	first, second := newInstallation(t), newInstallation(t)
	first.db = b.db
	dir := first.export()
	for range 2 { // the second import adds nothing
		if _, err := second.take(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
	sigs := workers.Signals{Definitions: map[string]signals.Definition{def.ID: def}, CodeVersion: "test"}
	if _, err := second.history(sigs).Rebuild(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	told := func(db *postgres.DB) (lines []string) {
		states, err := db.States(t.Context(), def.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range states {
			lines = append(lines, fmt.Sprint("state ", s.At.UTC(), s.State, s.Cause, s.By))
		}
		for n := 1; n <= 5; n++ {
			s, err := db.SnapshotAsOf(t.Context(), def.ID, day(n))
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprint("snapshot ", n, s.Status, s.Cause))
		}
		return lines
	}
	if d := cmp.Diff(told(b.db), told(second.db)); d != "" {
		t.Errorf("(-lived +rebuilt):\n%s", d)
	}
}
