package signals_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tidemark/internal/series"
	"tidemark/signals"
)

// At some instants of the recorded part the publisher states many old values again, withdraws some and adds one that was missing.
func TestFromTheFirstRecordedValueOnACaseHasTheNumbersThatReadersHad(t *testing.T) {
	t.Parallel()
	perDefinition(t, func(t *testing.T, d signals.Definition) {
		first := madeUp(d, 2*history, 14)
		rng := rand.New(rand.NewPCG(14, 14))
		from := end.AddDate(-4, 0, 0)
		vintages := map[series.ID][]series.Observation{}
		for _, id := range d.Inputs {
			for i, p := range first[id] {
				vintages[id] = append(vintages[id], series.Observation{Series: id, ObservedAt: p.ObservedAt.Time(), Value: p.Value, VintageAt: p.VintageAt.Time()})
				for k := range 5 {
					change := from.AddDate(0, 9*k+2, 3*k).Add(time.Hour)
					if !change.After(p.VintageAt.Time()) || i%2 == 0 && rng.IntN(3) > 0 {
						continue
					}
					o := series.Observation{Series: id, ObservedAt: p.ObservedAt.Time(), Value: p.Value * (1 - 0.03*float64(k)), VintageAt: change}
					if rng.IntN(50) == 0 {
						o.Value, o.Marker = 0, series.MarkerWithdrawn
					}
					vintages[id] = append(vintages[id], o)
				}
			}
		}
		asOf := func(at time.Time) series.Set {
			set := series.Set{}
			for id, list := range vintages {
				for i, o := range list {
					last := i+1 == len(list) || !list[i+1].ObservedAt.Equal(o.ObservedAt) || list[i+1].VintageAt.After(at)
					if last && !o.VintageAt.After(at) && o.Marker == "" {
						set[id] = append(set[id], series.Point{ObservedAt: series.InstantOf(o.ObservedAt), VintageAt: series.InstantOf(o.VintageAt), Value: o.Value})
					}
				}
			}
			return set
		}
		var read signals.Track
		cases := d.Backtest.Cases
		d.Backtest.Cases = func(track signals.Track, in series.Set) []signals.Case {
			read = slices.Clone(track)
			return cases(track, in)
		}
		r := d.RunBacktest(first, end, signals.Arrivals{RecordedFrom: from, Vintages: vintages})
		if r.LookAheadSafe() != (r.Assumed.N == 0) || !r.RecordedFrom.Equal(from) {
			t.Errorf("%s, recorded from %s", r.LookAhead, r.RecordedFrom)
		}
		seen := 0
		for i, e := range read {
			if !e.KnownAt.Time().After(from) || i%(len(read)/100+1) != 0 && i+1 < len(read) && e.KnownAt.Time().Hour() != 1 {
				continue
			}
			seen++
			track := d.Compute(asOf(e.KnownAt.Time()), e.KnownAt.Time())
			had := track[len(track)-1]
			if !had.ObservedAt.Time().Equal(e.ObservedAt.Time()) || !sameNumber(had.Value, e.Value) || !sameNumber(had.Z(), e.Z()) {
				t.Fatalf("known %s: %v of %s with z %v, and readers had %v of %s with z %v",
					e.KnownAt, e.Value, e.ObservedAt, e.Z(), had.Value, had.ObservedAt, had.Z())
			}
		}
		if seen < 5 {
			t.Errorf("%d estimates were compared", seen)
		}
	})
}

func sameNumber(a, b float64) bool { return a == b || a != a && b != b }
