package stats

import (
	"math"
	"strconv"
	"testing"
	"time"

	"tidemark/internal/series"
	"tidemark/signals"
)

func date(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

// upTo returns the points of a set up to a day.
func upTo(set series.Set, day time.Time) series.Set {
	out := series.Set{}
	for id, points := range set {
		for _, p := range points {
			if !p.ObservedAt.Time().After(day) {
				out[id] = append(out[id], p)
			}
		}
	}
	return out
}

func definition(tb testing.TB, id string) signals.Definition {
	tb.Helper()
	d, ok := signals.ByID(id)
	if !ok {
		tb.Fatalf("no signal %s", id)
	}
	return d
}

// printed compares a number with figures as printed, to their last digit. Empty figures are not compared.
func printed(t *testing.T, what string, got float64, figures string) {
	t.Helper()
	if figures == "" {
		return
	}
	decimals := 0
	for i := range figures {
		if figures[i] == '.' {
			decimals = len(figures) - i - 1
		}
	}
	if s := strconv.FormatFloat(got, 'f', decimals, 64); s != figures {
		t.Errorf("%s is %s, want %s", what, s, figures)
	}
}

// The figures of this test were worked out by a script that shares nothing with this program, on the same recorded workbooks.
func TestRecordedDataGiveTheFiguresOfAnIndependentScript(t *testing.T) {
	t.Parallel()
	type row struct {
		day, component                     string // component: empty for the signal itself
		value, baseline, scale, percent, z string
		n                                  int
	}
	for _, c := range []struct {
		id   string
		read func(testing.TB) series.Set
		rows []row
	}{
		{"crack-spread-321", spotPrices, []row{
			{day: "2019-06-14", value: "20.652", baseline: "17.6723", scale: "3.5719", percent: "16.861", z: "0.8342", n: 110},
			{day: "2020-04-20", value: "65.624", baseline: "19.1694", scale: "2.9145", percent: "242.336", z: "15.9394", n: 109},
			{day: "2022-05-11", value: "72.846", baseline: "17.9351", scale: "4.9495", percent: "306.165", z: "11.0942", n: 110},
			{day: "2025-12-08", value: "24.344", baseline: "22.8222", scale: "8.5030", percent: "6.668", z: "0.1790", n: 105},
			{day: "2025-12-08", component: "previous_252_days", value: "24.344", baseline: "23.0492", scale: "3.9241", z: "0.3300"},
			{day: "2025-12-08", component: "wti_cushing", value: "59.04"},
			{day: "2025-12-08", component: "gasoline_ny_harbor", value: "1.804"},
			{day: "2025-12-08", component: "ulsd_ny_harbor", value: "2.348"},
		}},
		{"eia-weekly-petroleum", weeklyPetroleum, []row{
			{day: "2025-05-16", value: "443158", baseline: "469467.6", scale: "39400.513", percent: "-5.604", z: "-0.6677", n: 5},
			{day: "2025-05-16", component: "week_change", value: "1328", baseline: "-3537.4", scale: "5787.887", z: "0.8406"},
			{day: "2025-05-16", component: "seasonal_surprise", value: "4865.4", scale: "5787.887", z: "0.8406"},
			{day: "2025-05-16", component: "gasoline_stocks", value: "225522", baseline: "230647.6", scale: "15589.760", percent: "-2.222", z: "-0.3288"},
			{day: "2025-05-16", component: "distillate_stocks", value: "104132", baseline: "123721.4", scale: "22461.144", percent: "-15.833", z: "-0.8721"},
			{day: "2025-05-16", component: "refinery_utilisation", value: "90.7", baseline: "86.18", scale: "9.671", percent: "5.245", z: "0.4674"},
			{day: "2026-05-08", value: "452876", baseline: "454067.8", scale: "22693.802", percent: "-0.262", z: "-0.0525", n: 5},
		}},
		{"lng-arbitrage", func(tb testing.TB) series.Set { return pinkSheet(tb, "2026-03-03") }, []row{
			{day: "2026-02-01", value: "2.7804", baseline: "4.7440", scale: "3.5302", z: "-0.5562", n: 60},
			{day: "2026-02-01", component: "asia_proxy_japan_import", value: "2.0127"},
			{day: "2026-02-01", component: "henry_hub", value: "3.6147"},
			{day: "2026-02-01", component: "japan_lng", value: "11.4696"},
			{day: "2025-11-01", value: "1.7605", baseline: "4.7440", scale: "3.5302", z: "-0.8451", n: 60},
			{day: "2020-05-01", value: "-4.7402", n: 60},
		}},
		{"hormuz-transit", portWatch, []row{
			{day: "2025-06-28", value: "83.4286", baseline: "102.8349", scale: "10.3300", percent: "-18.871", z: "-1.8786", n: 186},
			{day: "2026-02-27", value: "105.7143", baseline: "85.5806", scale: "17.7096", percent: "23.526", z: "1.1369", n: 186},
			{day: "2026-03-15", value: "2.0000", baseline: "84.8326", scale: "20.2862", percent: "-97.642", z: "-4.0832", n: 186},
			{day: "2026-06-28", value: "32.5714", baseline: "102.8349", scale: "10.3300", percent: "-68.326", z: "-6.8019", n: 186},
			{day: "2026-06-28", component: "tankers", value: "14.2857", baseline: "62.2465", scale: "6.3651", percent: "-77.050", z: "-7.5350"},
		}},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			set, d := c.read(t), definition(t, c.id)
			for _, want := range c.rows {
				day := date(want.day)
				known, at := upTo(set, day), day.AddDate(0, 0, 5)
				var value, baseline, scale, percent, z float64
				if want.component == "" {
					track := d.Compute(known, at)
					e := track[len(track)-1]
					if !e.ObservedAt.Time().Equal(day) || e.N != want.n {
						t.Errorf("%s: the newest estimate is of %v from %d values, want %d", want.day, e.ObservedAt, e.N, want.n)
					}
					value, baseline, scale, percent, z = e.Value, e.Baseline, e.Scale, e.DeltaPct(), e.Z()
				} else {
					value = math.NaN()
					for _, part := range d.Components(known, at) {
						if part.Name == want.component {
							value, baseline, scale, percent, z = part.Value, part.Baseline, part.Scale, part.DeltaPct(), part.Z()
						}
					}
				}
				what := want.day + " " + want.component
				printed(t, what+" value", value, want.value)
				printed(t, what+" baseline", baseline, want.baseline)
				printed(t, what+" scale", scale, want.scale)
				printed(t, what+" difference", percent, want.percent)
				printed(t, what+" z-score", z, want.z)
			}
		})
	}
}

func TestTheRecordedCrackSpreadHasItsKnownExtremes(t *testing.T) {
	t.Parallel()
	track := definition(t, "crack-spread-321").Compute(spotPrices(t), date("2025-12-11"))
	if got := len(track); got != 4887 {
		t.Errorf("%d common days, want 4,887", got)
	}
	low, high := track[0], track[0]
	for _, e := range track {
		if e.Value < low.Value {
			low = e
		}
		if e.Value > high.Value {
			high = e
		}
	}
	for _, c := range []struct {
		e          signals.Estimate
		day, value string
	}{{track[0], "2006-06-14", ""}, {low, "2008-09-22", "-1.622"}, {high, "2022-05-13", "75.890"}, {track[len(track)-1], "2025-12-08", "24.344"}} {
		if got := c.e.ObservedAt.Time().Format(time.DateOnly); got != c.day {
			t.Errorf("%s stands on %s, want %s", c.value, got, c.day)
		}
		printed(t, c.day, c.e.Value, c.value)
	}
}
