package workers_test

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/workers"
)

const no2Signal = "tropomi-no2-economic"

var (
	no2Places = []series.ID{
		"temis.NO2.yangtze", "temis.NO2.pearl", "temis.NO2.benelux_ruhr", "temis.NO2.po", "temis.NO2.delhi", "temis.NO2.tokyo", "temis.NO2.houston",
		"temis.NO2.new_york",
	}
	no2Begin, no2Last = time.Date(2018, 5, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
)

// no2Level is a made-up mean of a region in a month by a version of the product. Version 3 reads 40 % more than 2, and each month differs a
// little.
func no2Level(place int, month time.Time, version uint64) float64 {
	rng := rand.New(rand.NewPCG(uint64(place)*1e6+uint64(month.Unix()/86400), version))
	return math.Round(1e6*(50+10*float64(place))*(1+0.3*math.Cos(float64(month.Month())))*math.Exp(0.1*rng.NormFloat64())*(1+0.4*float64(version-2))) / 1e6
}

// no2Grids are all months from one to another in a version.
func no2Grids(from, to time.Time, version uint64) []series.Reading {
	var out []series.Reading
	for month := from; !month.After(to); month = month.AddDate(0, 1, 0) {
		for i, id := range no2Places {
			out = append(out, series.Reading{Series: id, ObservedAt: month, Value: no2Level(i, month, version)})
		}
		out = append(out, series.Reading{Series: "temis.NO2.version", ObservedAt: month, Value: float64(version)})
	}
	return out
}

// TEMIS publishes October in a new version of its product. Its level is another, so that it has no index until the months of earlier years are
// published in that version, too. The index that then appears is the first print, by the brief's formula on numbers of the new version alone.
func TestAForecastOverANewVersionOfTheProductIsGradedOnItsFirstIndex(t *testing.T) {
	t.Parallel()
	w := forecastWorld{backfillFixture: newBench(t)}
	w.forecasts = workers.Forecasts{DB: w.db, Log: slog.New(slog.DiscardHandler)}
	day := func(month time.Month, d int) time.Time { return time.Date(2026, month, d, 15, 0, 0, 0, time.UTC) }
	begin := day(10, 16)
	if _, err := w.db.EnsureWorld(t.Context(), "sandbox", &begin); err != nil {
		t.Fatal(err)
	}
	run := func(at time.Time) string {
		t.Helper()
		w.at(at.Add(time.Hour))
		if err := w.forecasts.Run(t.Context(), task.Task{Job: task.Forecast, Subject: no2Signal}); err != nil {
			t.Fatal(err)
		}
		list, err := w.db.Forecasts(t.Context(), no2Signal, at.AddDate(1, 0, 0), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, f := range list {
			if f.Grade == nil {
				text += f.Period + " waits "
			} else {
				text += fmt.Sprint(f.Period, " ", f.Grade.Outcome, " of ", f.Grade.PublishedAt.Format(time.DateOnly), " ", f.Grade.Flags, " ")
			}
		}
		return text
	}
	load := func(at, since time.Time, readings []series.Reading) {
		w.at(at)
		w.storeSince(at, since, readings)
	}

	load(begin, time.Time{}, no2Grids(no2Begin, no2Last, 2))
	if got := run(begin); got != "2026-10 waits " {
		t.Fatalf("at the beginning: %s", got)
	}
	october := no2Last.AddDate(0, 1, 0)
	load(day(11, 18), october, no2Grids(october, october, 3))
	if got := run(day(11, 18)); got != "2026-10 waits " {
		t.Fatalf("before the reference years are there: %s", got)
	}
	load(day(11, 25), time.Time{}, no2Grids(no2Begin, october, 3))
	mean := 0.0
	for i := range no2Places {
		anomaly, years := 0.0, 0.0
		for year := 2018; year < 2026; year++ {
			if year != 2020 {
				anomaly -= math.Log(no2Level(i, time.Date(year, 10, 1, 0, 0, 0, 0, time.UTC), 3))
				years++
			}
		}
		mean += (math.Log(no2Level(i, october, 3)) + anomaly/years) / float64(len(no2Places))
	}
	want := strconv.FormatFloat(100*math.Exp(mean), 'f', 2, 64)
	if got := run(day(11, 25)); got != "2026-11 waits 2026-10 "+want+" of 2026-11-25 [vintage_break] " {
		t.Errorf("once they are there: %s, want October's %s", got, want)
	}
	// A later revision of the reference years changes no grade, and the months go on.
	november := october.AddDate(0, 1, 0)
	load(day(12, 20), time.Time{}, no2Grids(no2Begin, november, 4))
	if got := run(day(12, 20)); len(got) < 60 || got[:14] != "2026-12 waits " || got[len(got)-len("2026-10 "+want+" of 2026-11-25 [vintage_break] "):] != "2026-10 "+want+" of 2026-11-25 [vintage_break] " {
		t.Errorf("a month later: %s", got)
	}
}
