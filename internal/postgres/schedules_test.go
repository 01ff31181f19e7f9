package postgres_test

import (
	"testing"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// The scheduler's clock may be ahead of the database's clock, which the record uses. An announcement that began before its instant would
// find no pick to announce.
func TestASlotIsDueWhenItHasComeByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	if err := db.SaveSchedules(t.Context(), []task.Schedule{{Job: task.Announce, Subject: task.Daily, Cron: "0 18 * * *", Zone: "UTC", CatchUp: "all"}}); err != nil {
		t.Fatal(err)
	}
	now, err := db.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	early := now.Add(1200 * time.Millisecond)
	list, err := db.Schedules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slots := []task.Slot{{At: now, Trigger: task.TriggerCron}, {At: early, Trigger: task.TriggerCron}}
	if _, err := db.RecordSlots(t.Context(), list[0], slots); err != nil {
		t.Fatal(err)
	}
	for seen := 0; seen < 2; {
		due, err := db.HandOut(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.PutBack(t.Context(), due); err != nil {
			t.Fatal(err)
		}
		at, err := db.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(due) == 0 {
			t.Fatal("the slot that has come is not due")
		}
		if len(due) == 2 && at.Before(early) {
			t.Fatalf("the slot of %s is due at %s", early, at)
		}
		seen = len(due)
		if at.After(early.Add(time.Minute)) {
			t.Fatal("the slot is not due after it has come")
		}
	}
}
