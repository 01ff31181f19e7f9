package backfill_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
)

// compute computes and stores a day's slot, as its run does.
func (s *fixture) compute(days ...int) {
	s.t.Helper()
	for _, day := range days {
		snap, track, err := s.signal.Compute(s.t.Context(), s.def, time.Date(2026, 1, day, 12, 0, 0, 0, time.UTC))
		if err != nil {
			s.t.Fatal(err)
		}
		if err := s.db.SaveGrowing(s.t.Context(), task.Fence{}, snap, track); err != nil {
			s.t.Fatal(err)
		}
	}
}

// compared prints the outcome of each compared slot.
func (s *fixture) compared(from, to int) (lines []string) {
	s.t.Helper()
	list, err := s.planner().Compare(s.t.Context(), s.request(from, to))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, d := range list {
		lines = append(lines, d.Slot.Format("02 ")+d.Outcome)
	}
	return lines
}

func TestAVersionComparedWithItselfDiffersNowhere(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.compute(3, 4, 5) // nothing is loaded
	s.publish("2026-01-05T12:00:00Z", 1, 2, 3)
	s.compute(6, 7)
	s.publish("2026-01-20T00:00:00Z", 1, 2, 3, 4) // what comes later changes no slot
	// On the 3rd the first value was a day old. In an installation, the first slot and the first load have the same instant.
	want := []string{"03 loaded_later", "04 loaded_later", "05 loaded_later", "06 unchanged", "07 unchanged"}
	if d := cmp.Diff(want, s.compared(2, 8)); d != "" {
		t.Errorf("one version (-want +got):\n%s", d)
	}
	// A slot before the first value of a load stays as it was.
	s.compute(1)
	s.recode(10)
	if d := cmp.Diff([]string{"01 unchanged"}, s.compared(1, 2)); d != "" {
		t.Errorf("a slot before all values (-want +got):\n%s", d)
	}
	want = []string{"03 loaded_later", "04 loaded_later", "05 loaded_later", "06 differs", "07 differs"}
	if d := cmp.Diff(want, s.compared(2, 8)); d != "" {
		t.Errorf("another version (-want +got):\n%s", d)
	}
}

func TestASlotComputedAfterTheLoadIsComparedLikeEveryOther(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish("2026-01-20T00:00:00Z", 1, 2, 3)
	s.compute(4, 5) // a backfill's slots, before the first load's instant
	if d := cmp.Diff([]string{"04 unchanged", "05 unchanged"}, s.compared(1, 9)); d != "" {
		t.Errorf("one version (-want +got):\n%s", d)
	}
	s.recode(10)
	if d := cmp.Diff([]string{"04 differs", "05 differs"}, s.compared(1, 9)); d != "" {
		t.Errorf("another version (-want +got):\n%s", d)
	}
}

func TestABacktestWhoseTargetWasLoadedLaterIsNotAnotherVersion(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	const target = series.ID("test.b")
	s.def.Backtest = signals.Backtest{Inputs: []series.ID{target}, Cases: func(_ signals.Track, in series.Set) (list []signals.Case) {
		for i, p := range in[target] {
			list = append(list, signals.Case{
				Known: p.ObservedAt, Start: p.ObservedAt, End: series.InstantOf(p.ObservedAt.Time().Add(time.Hour)), Predicted: float64(i), Happened: p.Value, Naive: 1,
			})
		}
		return list
	}}
	s.publish("2026-01-05T00:00:00Z", 1, 2, 3)
	s.compute(5, 6)
	l := postgres.Load{
		FetchedAt: at(t, "2026-01-06T12:00:00Z"), Published: func(_ series.ID, observed time.Time) time.Time { return observed.Add(time.Hour) },
	}
	for i := range 6 {
		l.Readings = append(l.Readings, series.Reading{Series: target, ObservedAt: time.Date(2026, 1, 1+i, 10, 0, 0, 0, time.UTC), Value: float64(i)})
	}
	var err error
	l.FetchID, err = s.db.RecordFetch(t.Context(), series.Fetch{
		Source: "other", URL: "https://upstream.example/b", Status: 200, FetchedAt: l.FetchedAt, SHA256: strings.Repeat("b", 64),
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.StoreLoads(t.Context(), task.Fence{}, []postgres.Load{l}, nil); err != nil {
		t.Fatal(err)
	}
	s.compute(7, 8)
	if d := cmp.Diff([]string{"05 loaded_later", "06 loaded_later", "07 unchanged", "08 unchanged"}, s.compared(1, 9)); d != "" {
		t.Errorf("one version (-want +got):\n%s", d)
	}
	s.recode(10)
	if d := cmp.Diff([]string{"05 differs", "06 differs", "07 differs", "08 differs"}, s.compared(1, 9)); d != "" {
		t.Errorf("another version (-want +got):\n%s", d)
	}
}
