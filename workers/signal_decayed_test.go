package workers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
	"tidemark/signals/forecast"
)

// quantilesAbout are 23 recorded quantiles around a number.
func quantilesAbout(t *testing.T, middle float64) []forecast.Decimal {
	t.Helper()
	var out []forecast.Decimal
	for i := range forecast.Levels {
		d, err := forecast.NewDecimal(middle+float64(100*(i-11)), 1)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

// live records a forecast of a figure of stocks in some weeks after the first Friday, far off, and grades it after its print. It returns the
// time of the last grade.
func (w forecastWorld) live(figure string, id series.ID, from, to int) time.Time {
	w.t.Helper()
	const miss = 9000
	target := forecast.Named("eia-weekly-petroleum", figure)
	var graded time.Time
	level := 400000.0
	for n := from; n < to; n++ {
		friday := forecastFriday.AddDate(0, 0, 7*(n+1))
		issued := friday.AddDate(0, 0, -1).Add(22 * time.Hour)
		printed := friday.AddDate(0, 0, 5).Add(16 * time.Hour)
		change := float64(1000 * (n%7 - 3))
		level += change
		w.at(issued)
		naive := quantilesAbout(w.t, 0)
		r := forecast.Record{
			Signal: target.Signal, Figure: figure, Period: friday.Format(time.DateOnly), IssuedAt: issued,
			Quantiles: quantilesAbout(w.t, change+miss), Naive1: naive, Naive2: naive, ModelVersion: target.Version, InputsHash: forecast.NoRecord,
		}
		release, _ := target.ReleaseOf(r.Period)
		r.ID = target.ID(release)
		if _, err := w.db.RecordForecast(w.t.Context(), task.Fence{}, r, release, forecast.LabelNoSkill, false); err != nil {
			w.t.Fatal(err)
		}
		w.at(printed)
		w.storeSince(printed, friday, []series.Reading{{Series: id, ObservedAt: friday, Value: level}})
		g, err := forecast.NewGrade(r, forecast.Decimal(fmt.Sprintf("%.1f", change)), printed, nil)
		if err != nil {
			w.t.Fatal(err)
		}
		graded = printed.Add(time.Hour)
		w.at(graded)
		if _, err := w.db.RecordGrade(w.t.Context(), task.Fence{}, g); err != nil {
			w.t.Fatal(err)
		}
	}
	return graded
}

func TestASignalDecaysByTheGradedForecastsOfItsOwnFigure(t *testing.T) {
	t.Parallel()
	// 104 grades at each of six checks, one every fourth grade.
	const enough = 124
	def, _ := signals.ByID("eia-weekly-petroleum")
	def.Backtest = signals.Backtest{} // decides nothing, and takes long
	status := func(w forecastWorld, slot time.Time, want string) {
		t.Helper()
		w.at(slot)
		w.run(def.ID, slot)
		s := w.snapshot(def.ID, slot)
		if s.Status != want || strings.Contains(s.Cause, "104 graded forecasts of crude_stocks_change") != (want == signals.StatusDecayed) {
			t.Errorf("at %s the signal is %s because of %q, want %s", slot, s.Status, s.Cause, want)
		}
	}
	nextDay := func(at time.Time) time.Time { return at.Truncate(24 * time.Hour).Add(25 * time.Hour) }
	t.Run("its own figure", func(t *testing.T) {
		t.Parallel()
		w := newForecastWorld(t)
		w.job.Definitions[def.ID] = def
		status(w, nextDay(w.live("crude_stocks_change", "eia.WCESTUS1", 0, enough-1)), signals.StatusLive) // five checks
		last := w.live("crude_stocks_change", "eia.WCESTUS1", enough-1, enough)
		status(w, last.Add(2*time.Hour), signals.StatusLive) // the grade counts from midnight on
		status(w, nextDay(last), signals.StatusDecayed)
	})
	t.Run("another figure", func(t *testing.T) {
		t.Parallel()
		w := newForecastWorld(t)
		w.job.Definitions[def.ID] = def
		last := w.live("gasoline_stocks_change", "eia.WGTSTUS1", 0, enough)
		newest := forecastFriday.AddDate(0, 0, 7*enough)
		w.storeSince(last, newest, []series.Reading{{Series: "eia.WCESTUS1", ObservedAt: newest, Value: 400000}})
		status(w, nextDay(last), signals.StatusLive)
	})
}
