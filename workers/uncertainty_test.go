package workers_test

import (
	"math"
	"testing"
	"time"

	"tidemark/internal/series"
	"tidemark/signals"
)

// counted are daily counts of ships, each of a day so many days after the first.
func counted(first time.Time, days int, count func(day int) float64) []series.Reading {
	var out []series.Reading
	for day := range days {
		for _, id := range []series.ID{"portwatch.chokepoint6.n_total", "portwatch.chokepoint6.n_tanker", "portwatch.chokepoint6.capacity_tanker"} {
			out = append(out, series.Reading{Series: id, ObservedAt: first.AddDate(0, 0, day), Value: count(day)})
		}
	}
	return out
}

// The basis of an interval is stored with the snapshot. It is assumed until there are enough re-estimates to compare the interval with;
// from then on it has their numbers. Earlier snapshots do not change.
func TestTheRecordOfAnIntervalGrowsWithWhatCameOfIt(t *testing.T) {
	t.Parallel()
	hormuz, _ := signals.ByID("hormuz-transit")
	b := newBench(t, hormuz)
	first := time.Date(2025, 1, 6, 0, 0, 0, 0, time.UTC) // a Monday
	const weeks = 30
	anew := func(factor float64) []series.Reading {
		return counted(first, 7*weeks, func(day int) float64 { return math.Round(factor * float64(70+day/7)) })
	}
	slot := first.AddDate(0, 0, 7*weeks+2)
	var slots []time.Time
	for _, factor := range []float64{1, 0.9, 0.85, 0.5} {
		b.store(slot, anew(factor))
		slots = append(slots, slot.Add(time.Hour))
		b.run(hormuz.ID, slot.Add(time.Hour))
		slot = slot.AddDate(0, 0, 7)
	}
	for i, want := range []struct {
		basis       string
		cases, hits int
	}{
		{signals.BasisAssumed, 0, 0}, // nothing was re-estimated
		{signals.BasisAssumed, 0, 0}, // there is one to learn from, and nothing that was held against it
		{signals.BasisMeasured, weeks, weeks},
		{signals.BasisMeasured, 2 * weeks, weeks}, // the last fell by more than any before
	} {
		u := b.snapshot(hormuz.ID, slots[i]).Uncertainty
		if u == nil || u.Basis != want.basis || (u.Record != nil) != (want.basis == signals.BasisMeasured) {
			t.Fatalf("after %d answers: %+v", i+1, u)
		}
		if r := u.Record; r != nil && (r.Cases != want.cases || r.Hits > want.hits || r.Hits < want.hits-3) {
			t.Errorf("after %d answers: %d of %d, want about %d of %d", i+1, r.Hits, r.Cases, want.hits, want.cases)
		}
	}
	// The interval of the newest value is longer below, where all re-estimates went.
	s := b.snapshot(hormuz.ID, slots[2])
	if down, up := *s.Value-*s.Lo, *s.Hi-*s.Value; !(down > 0) || up != 0 {
		t.Errorf("%v to %v around %v", *s.Lo, *s.Hi, *s.Value)
	}
	// Computed again with all that came later, the past says the same.
	for _, at := range slots {
		was := b.snapshot(hormuz.ID, at)
		b.run(hormuz.ID, at)
		if again := b.snapshot(hormuz.ID, at); *again.Lo != *was.Lo || *again.Hi != *was.Hi || again.Uncertainty.Basis != was.Uncertainty.Basis {
			t.Errorf("%v: %v to %v became %v to %v", at, *was.Lo, *was.Hi, *again.Lo, *again.Hi)
		}
	}
}
