package stats

import (
	"math"
	"testing"

	"tidemark/internal/series"
	"tidemark/picks"
)

// The expectation of a week's crude oil stocks is that of the same weeks of earlier years. On the whole recorded history it must be nearer than
// the median of the twelve weeks before, which was the expectation once.
func TestTheExpectationOfCrudeStocksHasTheSeasonInIt(t *testing.T) {
	t.Parallel()
	var observations []series.Observation
	for id, points := range weeklyPetroleum(t) {
		for _, p := range points {
			if id == "eia.WCESTUS1" {
				observations = append(observations, series.Observation{Series: id, ObservedAt: p.ObservedAt.Time(), VintageAt: p.ObservedAt.Time().Add(lag), Value: p.Value})
			}
		}
	}
	for _, def := range picks.Indicators() {
		if def.ID != "crude-stocks" {
			continue
		}
		prints := picks.FirstPrints(def, observations)
		seasonal := picks.Surprises(def, prints)
		def.Seasonal = false
		plain := picks.Surprises(def, prints)
		off, before, n := 0.0, 0.0, 0
		for i, e := range seasonal {
			if e.SeasonYears == 5 && !math.IsNaN(e.Surprise) && !math.IsNaN(plain[i].Surprise) {
				off, before, n = off+math.Abs(e.Surprise), before+math.Abs(plain[i].Surprise), n+1
			}
		}
		t.Logf("mean distance of %d weeks: %.3f million barrels, %.3f by the twelve weeks before", n, off/float64(n), before/float64(n))
		if n < 1500 || !(off < 0.97*before) {
			t.Errorf("%d weeks: %.3f with seasons, %.3f without", n, off/float64(n), before/float64(n))
		}
	}
}
