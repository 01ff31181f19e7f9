package workers_test

import (
	"errors"
	"testing"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/signals/forecast"
)

// The hash covers figure and period. Whatever else a worker says of the print, the database works it out from those.
func TestAForecastOfAKnownPrintIsRefusedWhateverItSaysOfThePrint(t *testing.T) {
	t.Parallel()
	w := newForecastWorld(t)
	if err := w.forecast(); err != nil {
		t.Fatal(err)
	}
	crude := forecast.Named("eia-weekly-petroleum", "crude_stocks_change")
	honest := w.recorded()[0].Record()
	for what, c := range map[string]struct {
		period string
		lie    func(r *forecast.Record, of *forecast.Release)
	}{
		"a time that is far off": {"2025-05-02", func(_ *forecast.Record, of *forecast.Release) { of.ScheduledAt = of.ScheduledAt.AddDate(5, 0, 0) }},
		"another day and another time": {"2025-05-02", func(_ *forecast.Record, of *forecast.Release) {
			of.ObservedAt, of.ScheduledAt = of.ObservedAt.AddDate(5, 0, 0), of.ScheduledAt.AddDate(5, 0, 0)
		}},
		"another series": {"2025-05-02", func(_ *forecast.Record, of *forecast.Release) {
			of.Series, of.ScheduledAt = "eia.NOSUCH", of.ScheduledAt.AddDate(5, 0, 0)
		}},
		"a later time of an open print": {"2025-05-16", func(_ *forecast.Record, of *forecast.Release) { of.ScheduledAt = of.ScheduledAt.Add(time.Hour) }},
		"a signal that nobody knows":    {"2025-05-16", func(r *forecast.Record, _ *forecast.Release) { r.Signal = "made-up" }},
		"a week that ends on a Saturday": {"2025-05-16", func(r *forecast.Record, of *forecast.Release) {
			r.Period, of.ObservedAt, of.ScheduledAt = "2025-05-17", of.ObservedAt.AddDate(0, 0, 1), of.ScheduledAt.AddDate(0, 0, 1)
		}},
		"a period that is no date": {"2025-05-16", func(r *forecast.Record, _ *forecast.Release) { r.Period = "2025-05" }},
		"quantiles that descend": {"2025-05-16", func(r *forecast.Record, _ *forecast.Release) {
			r.Naive2 = append([]forecast.Decimal{"9.0"}, quantilesAbout(t, 0)[1:]...)
		}},
		"too many decimals": {"2025-05-16", func(r *forecast.Record, _ *forecast.Release) {
			r.Quantiles = append([]forecast.Decimal{"-5000.00"}, quantilesAbout(t, 0)[1:]...)
		}},
	} {
		r := honest
		r.Figure, r.Period, r.ModelVersion = crude.Figure, c.period, crude.Version
		r.Quantiles, r.Naive1, r.Naive2 = quantilesAbout(t, 0), quantilesAbout(t, 0), quantilesAbout(t, 0)
		of, _ := crude.ReleaseOf(c.period)
		c.lie(&r, &of)
		r.ID = r.Signal + "/" + r.Figure + "/" + r.Period
		if _, err := w.db.RecordForecast(t.Context(), task.Fence{}, r, of, forecast.LabelNoSkill, false); !errors.Is(err, postgres.ErrRefused) {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
	if list := w.recorded(); len(list) != 3 {
		t.Errorf("%d forecasts are recorded, want 3", len(list))
	}
}

// No hash covers whether a forecast rests on made-up figures, and it is never changed. The database holds the mark against the bodies.
func TestAForecastOfMadeUpFiguresIsNotRecordedAsRealData(t *testing.T) {
	t.Parallel()
	w := newForecastWorld(t)
	if err := w.forecast(); err != nil {
		t.Fatal(err)
	}
	for _, f := range w.recorded() {
		if f.Synthetic {
			t.Errorf("%s of real figures is marked as made up", f.ID)
		}
	}
	next := forecastFriday.AddDate(0, 0, 7)
	printed := next.AddDate(0, 0, 5).Add(15 * time.Hour)
	w.at(printed)
	w.synthetic = true
	w.store(printed, upToDay(w.weeks, next))
	w.at(printed.Add(7 * time.Hour))
	crude := forecast.Named("eia-weekly-petroleum", "crude_stocks_change")
	r := w.recorded()[0].Record()
	r.Figure, r.Period, r.ModelVersion = crude.Figure, "2025-05-16", crude.Version
	r.ID, r.IssuedAt = r.Signal+"/"+r.Figure+"/"+r.Period, printed.Add(7*time.Hour)
	r.Quantiles, r.Naive1, r.Naive2 = quantilesAbout(t, 0), quantilesAbout(t, 0), quantilesAbout(t, 0)
	of, _ := crude.ReleaseOf(r.Period)
	if _, err := w.db.RecordForecast(t.Context(), task.Fence{}, r, of, forecast.LabelNoSkill, false); !errors.Is(err, postgres.ErrRefused) {
		t.Errorf("a forecast of made-up figures that says nothing of it: %v, want a refusal", err)
	}
	if err := w.forecast(); err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, f := range w.recorded() {
		if f.Synthetic && f.Period == "2025-05-16" {
			made++
		}
	}
	if made != 3 {
		t.Errorf("%d forecasts say that their figures are made up, want 3", made)
	}
}

func TestAGradeWithoutItsPrintIsRefused(t *testing.T) {
	t.Parallel()
	w := newForecastWorld(t)
	if err := w.forecast(); err != nil {
		t.Fatal(err)
	}
	f := w.recorded()[0]
	refuse := func(what string, g forecast.Grade) {
		t.Helper()
		if _, err := w.db.RecordGrade(t.Context(), task.Fence{}, g); !errors.Is(err, postgres.ErrRefused) {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
	grade := func(at time.Time) forecast.Grade {
		t.Helper()
		g, err := forecast.NewGrade(f.Record(), "1.0", at, nil)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	void := func(at time.Time) forecast.Grade {
		return forecast.Grade{ID: f.ID, PublishedAt: at, Flags: []string{forecast.FlagVoid}}
	}
	refuse("an outcome that nobody published", grade(f.IssuedAt))
	refuse("given up at once", void(f.IssuedAt))
	printed := f.ObservedAt.AddDate(0, 0, 5).Add(15 * time.Hour)
	w.at(printed)
	w.store(printed, upToDay(w.weeks, f.ObservedAt))
	refuse("an outcome before its observation", grade(printed.Add(-time.Minute)))
	better := grade(printed)
	better.Score = "0.001"
	refuse("a better score", better)
	w.at(f.ScheduledAt.Add(30*24*time.Hour - time.Second))
	refuse("given up a second too early", void(f.ScheduledAt.Add(30*24*time.Hour-time.Second)))
	w.at(f.ScheduledAt.Add(30 * 24 * time.Hour))
	refuse("given up, and dated back", void(f.ScheduledAt))
	refuse("a print that came when the forecast was void", grade(f.ScheduledAt.Add(30*24*time.Hour)))
	if _, err := w.db.RecordGrade(t.Context(), task.Fence{}, grade(printed)); err != nil {
		t.Errorf("the grade of the print: %v", err)
	}
}
