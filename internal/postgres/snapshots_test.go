package postgres_test

import (
	"testing"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// A snapshot is of an instant, and served from when it was stored: between the two nobody had it. The same numbers again were served before,
// other ones were not.
func TestASnapshotIsServedFromWhenItsNumbersWereStored(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	save := func(value float64, code string) time.Time {
		s := snapshot(noon(10))
		s.ObservedAt, s.Value, s.CodeVersion = new(day(9)), &value, code
		if err := db.SaveSnapshot(t.Context(), task.Fence{}, s, track(t, "9=1")); err != nil {
			t.Fatal(err)
		}
		got, err := db.SnapshotAsOf(t.Context(), "s", noon(10))
		if err != nil || got.ServedAt == nil || *got.Value != value || got.CodeVersion != code {
			t.Fatalf("%+v (%v)", got, err)
		}
		return *got.ServedAt
	}
	first := save(1, "a")
	if !first.After(noon(10)) {
		t.Errorf("stored at %v, and for %v", first, noon(10))
	}
	if again := save(1, "b"); !again.Equal(first) {
		t.Errorf("the same numbers were served from %v on, then from %v", first, again)
	}
	if other := save(2, "b"); !other.After(first) {
		t.Errorf("other numbers were served from %v on, as the ones before", other)
	}
}
