package signals

import (
	"math"
	"slices"
	"testing"
	"time"

	"tidemark/internal/series"
)

// fridays yields weekly points from a Friday on.
func fridays(first string, n int, value func(i int) float64) []series.Point {
	out := make([]series.Point, n)
	for i := range out {
		day := date(first).AddDate(0, 0, 7*i)
		out[i] = series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(day.AddDate(0, 0, 5)), Value: value(i)}
	}
	return out
}

func TestPetroleumStandsAgainstTheSameWeeks(t *testing.T) {
	t.Parallel()
	// The published weeks around 16 May of six years, in thousand barrels.
	set := series.Set{crudeStocks: {
		point("2020-05-08", 531_476), point("2020-05-15", 526_494),
		point("2021-05-07", 484_691), point("2021-05-14", 486_011),
		point("2022-05-06", 424_214), point("2022-05-13", 420_820),
		point("2023-05-12", 467_624), point("2023-05-19", 455_168),
		point("2024-05-10", 457_020), point("2024-05-17", 458_845),
		point("2025-05-09", 441_830), point("2025-05-16", 443_158),
	}}
	track := computePetroleum(set, date("2025-05-22"))
	last := track[len(track)-1]
	if last.Value != 443_158 || last.N != 5 || !last.KnownAt.Time().Equal(date("2025-05-18")) {
		t.Errorf("the newest week is %+v", last)
	}
	wantNear(t, "baseline", last.Baseline, 469_467.6)
	if z := last.Z(); math.Abs(z+0.6677) > 5e-5 {
		t.Errorf("z-score %v, want -0.6677", z)
	}
	if !math.IsNaN(last.Lo) || !math.IsNaN(last.Hi) {
		t.Errorf("one surprise makes the interval %v to %v, want none", last.Lo, last.Hi)
	}
	parts := map[string]Component{}
	for _, c := range petroleumComponents(set, date("2025-05-22")) {
		parts[c.Name] = c
	}
	if got := len(parts); got != 4 {
		t.Errorf("%d components of crude oil alone, want 4", got)
	}
	surprise, change := parts["seasonal_surprise"], parts["week_change"]
	wantNear(t, "change", change.Value, 1_328)
	wantNear(t, "mean change", change.Baseline, -3_537.4)
	wantNear(t, "surprise", surprise.Value, 4_865.4)
	if math.Abs(surprise.Scale-5_787.887) > 5e-4 || math.Abs(surprise.Z()-0.8406) > 5e-5 || !near(change.Z(), surprise.Z(), 0) {
		t.Errorf("spread %v, z-scores %v and %v, want 5787.887 and 0.8406", surprise.Scale, surprise.Z(), change.Z())
	}
	if !math.IsNaN(surprise.DeltaPct()) {
		t.Errorf("a surprise is %v percent of nothing", surprise.DeltaPct())
	}
	if low, high := parts["five_year_low"].Value, parts["five_year_high"].Value; low != 420_820 || high != 526_494 {
		t.Errorf("five-year range %v to %v, want 420820 to 526494", low, high)
	}
}

func TestPetroleumIntervalIsTheQuantilesOfTheSurprises(t *testing.T) {
	t.Parallel()
	// Stocks stand still for six years. Then each week brings another change from -20 to 83, in disorder: more often up than down.
	const quiet, loud = 6 * 53, 104
	level := 0.0
	changesOf := make([]float64, quiet+loud)
	for j := range loud {
		changesOf[quiet+j] = float64((j*37)%loud) - 20
	}
	points := fridays("2010-01-01", quiet+loud, func(i int) float64 {
		level += changesOf[i]
		return 400_000 + level
	})
	track := computePetroleum(series.Set{crudeStocks: points}, date("2030-01-01"))
	last, value := track[len(track)-1], points[len(points)-1].Value

	var surprises []float64
	for i := range points {
		surprise := weekOf(points[:i+1]).surprise()
		if points[i].ObservedAt.Time().After(earlier(points[len(points)-1].ObservedAt.Time(), 5)) && !math.IsNaN(surprise) {
			surprises = append(surprises, surprise)
		}
	}
	slices.Sort(surprises)
	wantNear(t, "lower bound", last.Lo, value+surprises[int(math.Ceil(0.05*float64(len(surprises))))-1])
	wantNear(t, "upper bound", last.Hi, value+surprises[int(math.Ceil(0.95*float64(len(surprises))))-1])
	if below, above := value-last.Lo, last.Hi-value; !(above > 2*below && below >= 0) {
		t.Errorf("surprises that lean upwards make the interval -%v, +%v, want a longer upper side", below, above)
	}
	for _, e := range track[:3*52] {
		if !math.IsNaN(e.Lo) || !math.IsNaN(e.Hi) {
			t.Fatalf("%v has an interval before three years are known", e.ObservedAt)
		}
	}
}

func TestPetroleumShowsEachPartAtItsOwnNewestWeek(t *testing.T) {
	t.Parallel()
	level := func(base float64) func(int) float64 {
		return func(i int) float64 { return base + float64(i%52) }
	}
	set := series.Set{
		crudeStocks:      fridays("2015-01-02", 500, level(400_000)),
		gasolineStocks:   fridays("2015-01-02", 498, level(220_000)), // two weeks behind
		distillateStocks: fridays("2015-01-02", 500, level(120_000)),
	}
	at := map[string]time.Time{}
	for _, c := range petroleumComponents(set, date("2030-01-01")) {
		at[c.Name] = c.ObservedAt.Time()
		if c.Name == "gasoline_stocks" && (c.Value != 220_000+497%52 || math.IsNaN(c.Z())) {
			t.Errorf("gasoline stocks are %+v", c)
		}
	}
	if _, there := at["refinery_utilisation"]; there {
		t.Error("utilisation is shown although nothing is known of it")
	}
	crude, gasoline := date("2015-01-02").AddDate(0, 0, 7*499), date("2015-01-02").AddDate(0, 0, 7*497)
	if !at["distillate_stocks"].Equal(crude) || !at["gasoline_stocks"].Equal(gasoline) {
		t.Errorf("distillate at %v, gasoline at %v, want %v and %v", at["distillate_stocks"], at["gasoline_stocks"], crude, gasoline)
	}
}
