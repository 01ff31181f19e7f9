package main

import (
	"context"
	"testing"
	"time"

	"tidemark/ingest/world"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/workers"
)

// Another process steps the clock of a sandbox. A task runs at the time that made it due, even if this process would read the clock later.
// It runs on the wall clock once the sandbox has reached it.
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
	r := &worldRuntime{name: "sandbox", stepped: world.NewStepped(begin), catchingUp: true}
	var at time.Time
	handlers := r.afterSlot(db, map[string]workers.Handler{task.Equities: func(context.Context, task.Task) error {
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
	if r.maxWait() == 0 {
		t.Error("a run waits in the past as long as it would in the present")
	}
	if err := handlers[task.Equities](t.Context(), task.Task{}); err != nil || time.Since(at).Abs() > time.Minute {
		t.Errorf("a task of the present runs at %s: %v", at, err)
	}
	if p := r.maxWait(); p != 0 {
		t.Errorf("a run of the present waits for %s at most", p)
	}
}

// An API shows a sandbox that simulates its past at the time of that past, and changes to the wall clock with it.
func TestAnAPIOfASandboxGoesByItsClock(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	worker, err := postgres.Open(t.Context(), url, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(worker.Close)
	db, err := postgres.Open(t.Context(), url, postgres.RoleAPI)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	begin := time.Date(2026, time.March, 2, 14, 25, 0, 0, time.UTC)
	w, err := worker.EnsureWorld(t.Context(), "sandbox", &begin)
	if err != nil {
		t.Fatal(err)
	}
	r := (&program{now: time.Now}).readOnlyWorld(w)
	if !r.now().Equal(begin) {
		t.Errorf("the API begins at %s, the sandbox at %s", r.now(), begin)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.followClock(t.Context(), db) }()
	later := begin.Add(2 * time.Hour)
	if err := worker.SetClock(t.Context(), &later); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !r.now().Equal(later); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the API is at %s, the sandbox at %s", r.now(), later)
		}
	}
	if err := worker.SetClock(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil || time.Since(r.now()).Abs() > time.Minute {
			t.Errorf("in the present the API is at %s: %v", r.now(), err)
		}
	case <-time.After(time.Minute):
		t.Errorf("the API does not notice that the sandbox has reached the present, it is at %s", r.now())
	}
}
