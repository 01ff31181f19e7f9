package workers_test

import (
	"math"
	"testing"
	"time"

	"tidemark/internal/postgres"
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

// The interval of re-estimated counts rests on the bodies that brought the counts before. They are listed with the others, also when nothing
// of them is in force; and so is a body that took an observation back.
func TestTheBodiesBehindAnIntervalAreThoseOfEarlierEstimates(t *testing.T) {
	t.Parallel()
	hormuz, _ := signals.ByID("hormuz-transit")
	b := newBench(t, hormuz)
	first := time.Date(2025, 1, 6, 0, 0, 0, 0, time.UTC)
	slot := first.AddDate(0, 0, 7*30+2)
	var anew []series.Reading
	for _, factor := range []float64{1, 0.9, 0.85} {
		anew = counted(first, 7*30, func(day int) float64 { return math.Round(factor * float64(70+day/7)) })
		b.store(slot, anew)
		slot = slot.AddDate(0, 0, 7)
	}
	list := func() []postgres.Body {
		t.Helper()
		list, err := b.db.BodiesAsOf(t.Context(), hormuz, slot)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	got := list()
	if len(got) != 3 {
		t.Fatalf("%d bodies, want all 3", len(got))
	}
	for i, body := range got {
		if inForce := i == 2; (body.Observations > 0) != inForce || body.Withdraws || (len(body.AssumedSeries) == 3) != (i == 0) {
			t.Errorf("body %d: %+v", i, body)
		}
	}
	in, err := b.db.InputsOf(t.Context(), hormuz, slot)
	if err != nil {
		t.Fatal(err)
	}
	_, w, _ := hormuz.Working(in, slot, series.InstantOf(first.AddDate(0, 0, 7*30-1)))
	cells, err := b.db.CellsKnown(t.Context(), w.Interval)
	if err != nil || len(cells) != len(w.Interval) || len(cells) < 2*7*20 {
		t.Fatalf("%d of %d cells of the interval are known: %v", len(cells), len(w.Interval), err)
	}
	for _, c := range cells {
		want := got[2].FetchID
		if _, before := series.Current(c.Series); before {
			want = got[1].FetchID
		}
		if c.FetchID != want {
			t.Fatalf("%s of %s came with body %d, want %d", c.Series, c.ObservedAt, c.FetchID, want)
		}
	}
	b.store(slot.Add(-time.Hour), anew[:len(anew)-3]) // without the last day
	if got = list(); len(got) != 4 || !got[3].Withdraws || got[3].Observations != 0 {
		t.Errorf("after a day was taken back: %+v", got[len(got)-1])
	}
}
