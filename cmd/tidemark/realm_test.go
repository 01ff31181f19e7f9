package main

import (
	"context"
	"testing"
	"time"

	"tidemark/ingest/world"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/workers"
	"tidemark/workers/task"
)

// The clock of a sandbox is stepped by another process: a task runs at the time that made it due, however late this process would have
// looked by itself, and on the wall clock once that is reached.
func TestATaskOfASandboxRunsNoEarlierThanItsSlot(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), pgtest.New(t), postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	begin := time.Date(2026, time.March, 2, 14, 25, 0, 0, time.UTC)
	if _, err := db.EnsureWorld(t.Context(), "sandbox", &begin); err != nil {
		t.Fatal(err)
	}
	r := &realm{name: "sandbox", stepped: world.NewStepped(begin), past: true}
	var at time.Time
	handlers := r.punctual(db, map[string]workers.Handler{task.Equities: func(context.Context, task.Task) error {
		at = r.stepped.Now()
		return nil
	}})
	slot := begin.Add(2 * time.Hour)
	if err := db.SetClock(t.Context(), &slot); err != nil {
		t.Fatal(err)
	}
	if err := handlers[task.Equities](t.Context(), task.Task{Slot: slot}); err != nil || !at.Equal(slot) {
		t.Errorf("a task due at %s runs at %s: %v", slot, at, err)
	}
	if err := db.SetClock(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := handlers[task.Equities](t.Context(), task.Task{}); err != nil || time.Since(at).Abs() > time.Minute {
		t.Errorf("a task of the present runs at %s: %v", at, err)
	}
}
