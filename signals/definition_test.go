package signals

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/series"
)

func TestQuotientsThatOverflowAreUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                   string
		value, baseline, scale float64
		wantZ, wantDelta       float64
		unknownZ, unknownPct   bool
	}{
		{name: "ordinary numbers", value: 12, baseline: 10, scale: 4, wantZ: 0.5, wantDelta: 20},
		{name: "a scale hardly above zero", value: 12, baseline: 10, scale: 5e-324, unknownZ: true, wantDelta: 20},
		{name: "a baseline hardly above zero", value: 12, baseline: 5e-324, scale: 4, wantZ: 3, unknownPct: true},
		{name: "a difference beyond all numbers", value: math.MaxFloat64, baseline: -math.MaxFloat64, scale: 4, unknownZ: true, unknownPct: true},
		{name: "no scale", value: 12, baseline: 10, scale: 0, unknownZ: true, wantDelta: 20},
		{name: "an unknown scale", value: 12, baseline: 10, scale: math.NaN(), unknownZ: true, wantDelta: 20},
		{name: "an unknown value", value: math.NaN(), baseline: 10, scale: 4, unknownZ: true, unknownPct: true},
		{name: "a negative baseline", value: 12, baseline: -10, scale: 4, wantZ: 5.5, unknownPct: true},
	} {
		for _, got := range []interface {
			Z() float64
			DeltaPct() float64
		}{
			Estimate{Value: c.value, Baseline: c.baseline, Scale: c.scale},
			Component{Value: c.value, Baseline: c.baseline, Scale: c.scale},
		} {
			if z := got.Z(); math.IsNaN(z) != c.unknownZ || !c.unknownZ && !near(z, c.wantZ, 0) {
				t.Errorf("%s: z-score %v", c.name, z)
			}
			if pct := got.DeltaPct(); math.IsNaN(pct) != c.unknownPct || !c.unknownPct && !near(pct, c.wantDelta, 0) {
				t.Errorf("%s: difference %v", c.name, pct)
			}
		}
	}
}

func TestReadersHaveTheNewestEstimateOfAnInstantAndNoneBeforeItsPast(t *testing.T) {
	t.Parallel()
	var track Track
	for i, known := range []string{"2024-01-03", "2024-01-10", "2024-01-10", "2024-01-05", "2024-01-12"} {
		track = append(track, Estimate{ObservedAt: series.InstantOf(date("2024-01-01").AddDate(0, 0, i)), KnownAt: series.InstantOf(date(known))})
	}
	var got [][2]string
	for _, e := range asKnown(track) {
		got = append(got, [2]string{e.ObservedAt.Time().Format(time.DateOnly), e.KnownAt.Time().Format(time.DateOnly)})
	}
	// The estimate of the 4th depends on the values of the 2nd and 3rd, which came on the 10th.
	want := [][2]string{{"2024-01-01", "2024-01-03"}, {"2024-01-04", "2024-01-10"}, {"2024-01-05", "2024-01-12"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("estimates as read (-want +got):\n%s", diff)
	}
	if !track[3].KnownAt.Time().Equal(date("2024-01-05")) {
		t.Error("the track itself was changed")
	}
}

func TestWhatReadersHadIsTheSameWithoutTheEstimatesThatNoneHad(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(24, 7))
	lates := map[string]func() int{
		"each day":               func() int { return 20 },
		"days at once":           func() int { return 24 * rng.IntN(9) },
		"an old one after a new": func() int { return 24 * rng.IntN(60) },
	}
	for _, d := range All() {
		if d.read == nil {
			continue
		}
		for name, late := range lates {
			in := series.Set{}
			for _, id := range d.Inputs {
				for day := date("2014-01-01"); day.Before(date("2026-01-01")); day = day.AddDate(0, 0, 1) {
					if rng.IntN(20) > 0 {
						in[id] = append(in[id], series.Point{
							ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(day.Add(time.Duration(late()) * time.Hour)), Value: 20 + math.Round(60*rng.Float64()),
						})
					}
				}
			}
			at := date("2026-01-05")
			whole := asKnown(d.Compute(in, at))
			if diff := cmp.Diff(whole, d.read(in, at, true), equalNaNs); diff != "" {
				t.Errorf("%s, %s (-of all +read):\n%s", d.ID, name, diff)
			}
			for i := range whole {
				whole[i].Lo, whole[i].Hi = math.NaN(), math.NaN()
			}
			if diff := cmp.Diff(whole, d.read(in, at, false), equalNaNs); diff != "" {
				t.Errorf("%s, %s, without intervals (-of all +read):\n%s", d.ID, name, diff)
			}
		}
		if read := d.read(series.Set{}, date("2026-01-05"), true); len(read) > 0 {
			t.Errorf("%s: %d estimates of nothing", d.ID, len(read))
		}
	}
}
