package workers_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
)

// An observation published years before the first read has the publisher's usual delay as its time of publication, marked as assumed. Its
// time of ingestion is the time at which the bytes came.
func TestNothingIsIngestedBeforeItsBytesCame(t *testing.T) {
	t.Parallel()
	petroleum, _ := signals.ByID("eia-weekly-petroleum")
	b := newBench(t, petroleum)
	came := time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)
	weeks := func(last time.Time) []series.Reading {
		var out []series.Reading
		for week := time.Date(2019, 1, 4, 0, 0, 0, 0, time.UTC); !week.After(last); week = week.AddDate(0, 0, 7) {
			for _, id := range petroleum.Inputs {
				out = append(out, series.Reading{Series: id, ObservedAt: week, Value: 100})
			}
		}
		return out
	}
	b.store(came, weeks(time.Date(2026, 2, 20, 0, 0, 0, 0, time.UTC)))
	b.run(petroleum.ID, came.Add(time.Hour))
	v := newView(t, b, petroleum)
	type times struct {
		Observed time.Time `json:"observed_at"`
		Ingested time.Time `json:"ingested_at"`
		At       time.Time `json:"published_at"`
		Assumed  bool      `json:"published_at_assumed"`
	}
	read := func(at time.Time) (out times) {
		t.Helper()
		if err := json.Unmarshal([]byte(body(t, v, petroleum.ID, at)), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	old := read(came.Add(time.Hour))
	if !old.Ingested.Equal(came) || !old.Assumed || !old.At.Equal(old.Observed.Add(60*time.Hour)) {
		t.Errorf("the week that was there before: %+v, want ingested at %v", old, came)
	}
	// The next week is seen to arrive.
	next := came.AddDate(0, 0, 7)
	b.store(next, weeks(time.Date(2026, 2, 27, 0, 0, 0, 0, time.UTC)))
	b.run(petroleum.ID, next.Add(time.Hour))
	if now := read(next.Add(time.Hour)); !now.Ingested.Equal(next) || now.Assumed || !now.At.Equal(next) {
		t.Errorf("the week that was seen to arrive: %+v, want %v", now, next)
	}
	// A slot before the first bytes is computed later: it says what was published by then, and when that was read here.
	b.run(petroleum.ID, came.AddDate(0, -1, 0))
	if past := read(came.AddDate(0, -1, 0)); !past.Assumed || past.Ingested.Before(came) {
		t.Errorf("a slot of the past: %+v", past)
	}
}

// A new installation's schedules begin with the slot before it. Whether its sources store their data before or after the run of that slot,
// its snapshot says that nothing was known here. An operator or a backfill may ask for the slot.
func TestAScheduledSlotBeforeTheFirstBytesHasNoNumbers(t *testing.T) {
	t.Parallel()
	petroleum, _ := signals.ByID("eia-weekly-petroleum")
	b := newBench(t, petroleum)
	came := time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)
	before := came.Add(-12 * time.Hour)
	var readings []series.Reading
	for week := time.Date(2019, 1, 4, 0, 0, 0, 0, time.UTC); week.Before(came.AddDate(0, 0, -5)); week = week.AddDate(0, 0, 7) {
		for _, id := range petroleum.Inputs {
			readings = append(readings, series.Reading{Series: id, ObservedAt: week, Value: 100})
		}
	}
	schedules := []task.Schedule{{Job: task.Signal, Subject: petroleum.ID, Cron: "0 21 * * *", CatchUp: string(series.CatchUpLatest)}}
	if err := b.db.SaveSchedules(t.Context(), schedules); err != nil {
		t.Fatal(err)
	}
	run := func(slot time.Time) {
		t.Helper()
		list, err := b.db.Runs(t.Context(), postgres.RunFilter{Job: task.Signal, Since: slot, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			if r.Slot.Equal(slot) {
				hand := task.Task{Fence: task.Fence{RunID: r.ID, Attempt: r.Attempt}, Job: task.Signal, Subject: petroleum.ID, Slot: slot}
				if _, err := b.db.Claim(t.Context(), hand.Fence, "w"); err != nil {
					t.Fatal(err)
				}
				if err := b.job.Run(t.Context(), hand); err != nil {
					t.Fatal(err)
				}
				return
			}
		}
		t.Fatalf("no run for %s among %+v", slot, list)
	}
	schedule := func(slot time.Time, trigger string) {
		t.Helper()
		saved, err := b.db.Schedules(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := b.db.RecordSlots(t.Context(), saved[0], []task.Slot{{At: slot, Trigger: trigger}}); err != nil || !ok {
			t.Fatal(ok, err)
		}
		run(slot)
	}
	first := before.Add(-24 * time.Hour)
	schedule(first, task.TriggerCatchUp)
	nothing := b.snapshot(petroleum.ID, first)
	b.store(came, readings)
	for _, c := range []struct {
		name, trigger string
		slot          time.Time
		want          bool
	}{
		{"the slot before the installation", task.TriggerCatchUp, before, false},
		{"a slot just before the bytes", task.TriggerCron, came.Add(-time.Minute), false},
		{"a slot after the bytes", task.TriggerCatchUp, came.Add(time.Minute), true},
	} {
		schedule(c.slot, c.trigger)
		s := b.snapshot(petroleum.ID, c.slot)
		if !s.At.Equal(c.slot) || (s.ObservedAt != nil) != c.want || (s.Value != nil) != c.want {
			t.Errorf("%s: %+v", c.name, s)
		}
		if !c.want {
			s.RunID, s.At, s.LoadsSeen, s.ServedAt = nothing.RunID, nothing.At, nothing.LoadsSeen, nothing.ServedAt
			if d := cmp.Diff(nothing, s); d != "" {
				t.Errorf("%s: differs from a slot that ran before the data came:\n%s", c.name, d)
			}
		}
	}
	manual := came.Add(-2 * time.Hour)
	if _, err := b.db.AddRun(t.Context(), task.Signal, petroleum.ID, manual, "asked for"); err != nil {
		t.Fatal(err)
	}
	run(manual)
	if s := b.snapshot(petroleum.ID, manual); s.ObservedAt == nil {
		t.Errorf("the slot that an operator asked for: %+v", s)
	}
}
