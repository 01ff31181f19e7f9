package signals

import (
	"math"
	"testing"
	"time"

	"tidemark/internal/series"
)

// legs is a set of the three prices with the same days.
func legs(days []time.Time, crude, gasoline, diesel func(i int) float64) series.Set {
	set := series.Set{}
	for i, day := range days {
		known := day.AddDate(0, 0, 2)
		set[wtiCushing] = append(set[wtiCushing], series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(known), Value: crude(i)})
		set[gasolineHarbor] = append(set[gasolineHarbor], series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(known), Value: gasoline(i)})
		set[ulsdHarbor] = append(set[ulsdHarbor], series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(known), Value: diesel(i)})
	}
	return set
}

func always(x float64) func(int) float64 { return func(int) float64 { return x } }

func weekdaysFrom(first string, n int) []time.Time {
	var days []time.Time
	for day := date(first); len(days) < n; day = day.AddDate(0, 0, 1) {
		if weekday(day) {
			days = append(days, day)
		}
	}
	return days
}

func TestCrackSpreadOfPublishedExamples(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                    string
		crude, gasoline, diesel float64
		want                    float64
	}{
		{"the worked example of Penn State's course EME 801", 84.54, 2.57, 2.79, 26.48},
		{"an ordinary day, 2019-06-14", 52.47, 1.701, 1.821, 20.652},
		{"crude below zero, 2020-04-20", -36.98, 0.573, 0.9, 65.624},
		{"the summer of 2022, 2022-05-11", 105.5, 3.7, 5.339, 72.846},
	} {
		if got := crack321(c.crude, c.gasoline, c.diesel); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestCrackSpreadHasADayOnlyWhenAllThreeLegsHaveIt(t *testing.T) {
	t.Parallel()
	set := series.Set{
		wtiCushing:     {point("2024-01-02", 70), point("2024-01-03", 71), point("2024-01-05", 72), point("2024-01-08", 73)},
		gasolineHarbor: {point("2024-01-03", 2), point("2024-01-04", 2.1), point("2024-01-05", 2.2), point("2024-01-08", 2.3)},
		ulsdHarbor:     {point("2024-01-02", 2.5), point("2024-01-03", 2.6), point("2024-01-08", 2.7), point("2024-01-09", 2.8)},
	}
	set[ulsdHarbor][2].VintageAt = series.InstantOf(date("2024-01-20")) // the last leg of the 8th came late
	track := computeCrackSpread(set, date("2024-01-25"))
	if len(track) != 2 {
		t.Fatalf("%d days, want the 3rd and the 8th", len(track))
	}
	for i, want := range []struct{ day, known string }{{"2024-01-03", "2024-01-05"}, {"2024-01-08", "2024-01-20"}} {
		if !track[i].ObservedAt.Time().Equal(date(want.day)) || !track[i].KnownAt.Time().Equal(date(want.known)) {
			t.Errorf("day %v known at %v, want %v known at %v", track[i].ObservedAt, track[i].KnownAt, want.day, want.known)
		}
	}
	delete(set, gasolineHarbor)
	if track := computeCrackSpread(set, date("2024-01-25")); len(track) != 0 {
		t.Errorf("%d days without any gasoline price, want none", len(track))
	}
	if parts := crackComponents(set, date("2024-01-25")); parts != nil {
		t.Errorf("components %v without any gasoline price, want none", parts)
	}
}

func TestCrackIntervalIsARandomWalkOverTheBusinessDaysSinceThePrice(t *testing.T) {
	t.Parallel()
	// Crude moves up and down by one dollar a day, so the 60 changes are 30 times +1 and 30 times -1.
	days := weekdaysFrom("2024-01-01", 80)
	set := legs(days, func(i int) float64 { return 70 + float64(i%2) }, always(2), always(2.5))
	step := math.Sqrt(60.0 / 59)
	newest := days[len(days)-1] // Friday 2024-04-19
	for _, c := range []struct {
		name string
		at   time.Time
		days float64
	}{
		{"read on the Monday after", date("2024-04-22").Add(17 * time.Hour), 1},
		{"read on the Wednesday after", date("2024-04-24"), 3},
		{"read a week later", date("2024-04-26"), 5},
		{"read long after it went stale", date("2024-06-14"), 40},
		{"read on the Sunday after", date("2024-04-21"), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			track := computeCrackSpread(set, c.at)
			last := track[len(track)-1]
			if !last.ObservedAt.Time().Equal(newest) {
				t.Fatalf("newest day %v, want %v", last.ObservedAt, newest)
			}
			half := 1.645 * step * math.Sqrt(c.days)
			wantNear(t, "lower bound", last.Lo, last.Value-half)
			wantNear(t, "upper bound", last.Hi, last.Value+half)
			// A day in the middle was read when it became known, two calendar days later: two business days after Tuesday.
			tuesday := track[len(track)-4]
			half = 1.645 * step * math.Sqrt(2)
			wantNear(t, "lower bound of an older day", tuesday.Lo, tuesday.Value-half)
			wantNear(t, "upper bound of an older day", tuesday.Hi, tuesday.Value+half)
		})
	}
}

func TestCrackIntervalNeedsSixtyChanges(t *testing.T) {
	t.Parallel()
	days := weekdaysFrom("2024-01-01", 62)
	track := computeCrackSpread(legs(days, func(i int) float64 { return float64(i % 3) }, always(2), always(2.5)), date("2024-04-01"))
	for i, e := range track {
		if known := !math.IsNaN(e.Lo) && !math.IsNaN(e.Hi); known != (i >= 60) {
			t.Errorf("day %d has the interval %v to %v", i, e.Lo, e.Hi)
		}
	}
}

func TestALateCorrectionDoesNotWidenTheHistory(t *testing.T) {
	t.Parallel()
	days := weekdaysFrom("2023-01-02", 100)
	set := legs(days, func(i int) float64 { return 70 + float64(i%2) }, always(2), always(2.5))
	set[wtiCushing][80].VintageAt = series.InstantOf(days[80].AddDate(1, 0, 0))
	e := computeCrackSpread(set, date("2024-12-31"))[80]
	half := 1.645 * math.Sqrt(60.0/59) * math.Sqrt(10) // fourteen days hold ten weekdays
	wantNear(t, "upper bound", e.Hi, e.Value+half)
	if !e.KnownAt.Time().Equal(days[80].AddDate(1, 0, 0)) {
		t.Errorf("known at %v, want the correction's time", e.KnownAt)
	}
}

func TestCrackComponentsShowTheLegsAndTheSpreadsOwnYear(t *testing.T) {
	t.Parallel()
	// Seven years. Gasoline costs as many tenths of a dollar as the year has units: 2.0 in 2018, 2.1 in 2019 and so on.
	days := weekdaysFrom("2018-01-01", 7*261)
	set := legs(days, func(i int) float64 { return 70 + float64(i%2) }, func(i int) float64 {
		return 2 + 0.1*float64(days[i].Year()-2018)
	}, always(2.5))
	parts := map[string]Component{}
	for _, c := range crackComponents(set, date("2025-02-01")) {
		parts[c.Name] = c
	}
	newest := days[len(days)-1] // Monday 2024-12-30
	for name, unit := range map[string]string{
		"wti_cushing": "USD/bbl", "gasoline_ny_harbor": "USD/gal", "ulsd_ny_harbor": "USD/gal", "previous_252_days": "USD/bbl",
	} {
		if c, ok := parts[name]; !ok || c.Unit != unit || !c.ObservedAt.Time().Equal(newest) || c.Label == "" {
			t.Errorf("component %s: %+v", name, c)
		}
	}
	if c := parts["ulsd_ny_harbor"]; c.Value != 2.5 || c.Baseline != 2.5 || c.Scale != 0 || !math.IsNaN(c.Z()) {
		t.Errorf("a constant price stands at %+v with z %v, want its baseline and no z-score", c, c.Z())
	}
	// The window of 30 December reaches from the 15th to 14 January: half of it lies in the following year, which is a tenth dearer.
	if c := parts["gasoline_ny_harbor"]; math.Abs(c.Value-2.6) > 1e-9 || c.Baseline < 2.3 || c.Baseline > 2.4 {
		t.Errorf("gasoline stands at %v against %v, want 2.6 against 2.3 to 2.4", c.Value, c.Baseline)
	}
	year := parts["previous_252_days"]
	track := computeCrackSpread(set, date("2025-02-01"))
	var sum float64
	for _, e := range track[len(track)-253 : len(track)-1] {
		sum += e.Value
	}
	wantNear(t, "mean of the 252 values before", year.Baseline, sum/252)
	wantNear(t, "newest value", year.Value, track[len(track)-1].Value)

	short := crackComponents(legs(days[:252], always(70), always(2), always(2.5)), date("2025-02-01"))
	if c := short[len(short)-1]; c.Name != "previous_252_days" || !math.IsNaN(c.Baseline) || !math.IsNaN(c.Scale) {
		t.Errorf("251 values before make the reference %+v, want none", c)
	}
}
