package workers_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/workers"
)

func TestADataSetHasWhatWasAnnouncedByItsSlot(t *testing.T) {
	t.Parallel()
	m := newMarket(t, "2026-02-24")
	job := workers.Publications{Picks: m.picks, Log: m.picks.Log}
	if err := job.Run(t.Context(), m.begin(task.Publish, task.Dataset, calendar.At(on(t, "2026-02-24"), 0).UTC())); err == nil {
		t.Error("a set without a row is published")
	}
	for _, day := range []string{"2026-02-25", "2026-02-26", "2026-02-27"} {
		m.live(day)
	}
	made, err := m.api.AnnouncedPicks(t.Context())
	if err != nil || len(made) != 3 {
		t.Fatalf("%d picks are announced (%v)", len(made), err)
	}
	// Between the close and the announcement of the third pick.
	slot := calendar.At(on(t, "2026-02-27"), 17*time.Hour+45*time.Minute).UTC()
	if err := job.Run(t.Context(), m.begin(task.Publish, task.Dataset, slot)); err != nil {
		t.Fatal(err)
	}
	set, err := m.api.DatasetOf(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var chain postgres.DatasetTable
	for _, table := range set.Tables {
		b, err := m.api.DatasetFile(t.Context(), table.SHA256)
		if err != nil || int64(len(b)) != table.Bytes || !bytes.HasPrefix(b, []byte("PAR1")) {
			t.Errorf("the file of %s has %d bytes, want %d (%v)", table.Name, len(b), table.Bytes, err)
		}
		if table.Name == "chain" {
			chain = table
		}
	}
	world, err := m.db.World(t.Context())
	if err != nil || chain.Synthetic != (world.Name == "sandbox") {
		t.Errorf("in the world %s the chain is synthetic: %t (%v)", world.Name, chain.Synthetic, err)
	}
	if set.Day != "2026-02-27" || !set.AsOf.Equal(slot) || chain.Rows != 2 {
		t.Errorf("the set of %s as of %s has %d links, want the 2 that were announced by %s", set.Day, set.AsOf, chain.Rows, slot)
	}
	// An attempt soon after, as in a sandbox that lives through months, makes no other set.
	next := m.begin(task.Publish, task.Dataset, slot.AddDate(0, 0, 1))
	if err := job.Run(t.Context(), next); err == nil || errors.Is(err, postgres.ErrFenced) {
		t.Errorf("a second set within seconds: %v, want that it is skipped", err)
	}
	if again, err := m.api.DatasetOf(t.Context(), ""); err != nil || again.Day != set.Day {
		t.Errorf("the newest set is that of %s (%v)", again.Day, err)
	}
	// The set of the present is made all the same: visitors read it until the next day.
	present := time.Now().UTC()
	if err := job.Run(t.Context(), m.begin(task.Publish, task.Dataset, present)); err != nil {
		t.Error(err)
	}
	if again, err := m.api.DatasetOf(t.Context(), ""); err != nil || again.Day != present.Format(time.DateOnly) {
		t.Errorf("the newest set is that of %s, want that of the present (%v)", again.Day, err)
	}
}
