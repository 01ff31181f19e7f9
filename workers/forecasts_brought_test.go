package workers_test

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/signals"
	"tidemark/workers"
)

// gradedWorld has forecast crude oil, gasoline and distillate of two weeks and graded those of the first. It returns the instants at which
// weeks were stored, and what its history says of forecasts.
func gradedWorld(t *testing.T) (w forecastWorld, stored map[time.Time]time.Time, brought []series.Step) {
	t.Helper()
	w = newForecastWorld(t)
	if err := w.forecast(); err != nil {
		t.Fatal(err)
	}
	next := forecastFriday.AddDate(0, 0, 7)
	printed := next.AddDate(0, 0, 5).Add(15 * time.Hour)
	w.at(printed)
	w.store(printed, upToDay(w.weeks, next))
	w.at(printed.Add(7 * time.Hour))
	if err := w.forecast(); err != nil {
		t.Fatal(err)
	}
	for s, err := range w.db.Steps(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Record != nil {
			brought = append(brought, s)
		}
	}
	if len(brought) != 9 {
		t.Fatalf("the history has %d forecasts and grades, want 6 and 3", len(brought))
	}
	return w, map[time.Time]time.Time{forecastFriday.AddDate(0, 0, 5).Add(15 * time.Hour): forecastFriday, printed: next}, brought
}

// emptyWorld is a database that has nothing, later than all that was recorded.
func emptyWorld(t *testing.T, w forecastWorld, now time.Time) forecastWorld {
	t.Helper()
	e := forecastWorld{backfillFixture: newBench(t), weeks: w.weeks, forecasts: w.forecasts}
	e.forecasts.DB = e.db
	if _, err := e.db.EnsureWorld(t.Context(), "sandbox", &now); err != nil {
		t.Fatal(err)
	}
	return e
}

func (w forecastWorld) bring(steps []series.Step) (int64, error) {
	return w.db.AddSteps(w.t.Context(), func(yield func(series.Step, error) bool) {
		for _, s := range steps {
			if !yield(s, nil) {
				return
			}
		}
	}, nil)
}

// The forecasts and grades of an archive are recorded again in an empty database: the same chain, dates, scores and record. They wait for the
// prints that they speak of, and bringing them again adds nothing.
func TestForecastsAndGradesTravelWithTheHistory(t *testing.T) {
	t.Parallel()
	w, stored, brought := gradedWorld(t)
	later := forecastFriday.AddDate(0, 2, 0)
	e := emptyWorld(t, w, later)
	for i := range 2 {
		if n, err := e.bring(brought); err != nil || n != int64(len(brought))*int64(1-i) {
			t.Fatalf("brought %d: %v", n, err)
		}
	}
	// Without the prints nothing can be graded, and what is dated later waits, too.
	if n, err := e.db.RestoreForecasts(t.Context(), later); !errors.Is(err, postgres.ErrRefused) || n < 3 {
		t.Fatalf("%d were recorded without a print: %v", n, err)
	}
	if err := e.forecast(); !errors.Is(err, postgres.ErrRefused) {
		t.Errorf("a forecast of its own before those that were brought: %v, want a refusal", err)
	}
	for _, at := range slices.SortedFunc(maps.Keys(stored), time.Time.Compare) {
		e.store(at, upToDay(e.weeks, stored[at]))
	}
	h := workers.History{DB: e.db, Signals: workers.Signals{DB: e.db, Definitions: map[string]signals.Definition{}}}
	for range 2 {
		if _, err := h.Rebuild(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	strip := func(list []postgres.Forecast) []postgres.Forecast {
		for i := range list {
			list[i].LogIndex = nil
			if g := list[i].Grade; g != nil {
				g.LogIndex = nil
			}
		}
		return list
	}
	if d := cmp.Diff(strip(w.recorded()), strip(e.recorded())); d != "" {
		t.Errorf("(-lived +restored):\n%s", d)
	}
	for _, figure := range []string{"crude_stocks_change", "gasoline_stocks_change", "distillate_stocks_change"} {
		for _, at := range []time.Time{forecastFriday, later} {
			was, err1 := w.db.ForecastScores(t.Context(), "eia-weekly-petroleum", figure, at)
			is, err2 := e.db.ForecastScores(t.Context(), "eia-weekly-petroleum", figure, at)
			if d := cmp.Diff(was, is); err1 != nil || err2 != nil || d != "" {
				t.Errorf("%s as of %s: %v, %v (-lived +restored):\n%s", figure, at, err1, err2, d)
			}
		}
	}
	if n, err := e.bring(brought); n != 0 || err != nil {
		t.Errorf("brought again, %d were added: %v", n, err)
	}
}

// The database refuses what was brought and does not fit: another quantile, a better score, a date after the print, a missing link.
func TestForgedForecastsOfAnArchiveAreRefused(t *testing.T) {
	t.Parallel()
	w, stored, brought := gradedWorld(t)
	later := forecastFriday.AddDate(0, 2, 0)
	graded := slices.IndexFunc(brought, func(s series.Step) bool { return bytes.Contains(s.Record, []byte(`"grade"`)) })
	for what, forge := range map[string]func(steps []series.Step) []series.Step{
		"another quantile": func(s []series.Step) []series.Step {
			s[0].Record = bytes.Replace(s[0].Record, []byte(`"naive1": "`), []byte(`"naive1": "-9`), 1)
			return s
		},
		"a label that is none": func(s []series.Step) []series.Step {
			s[0].Record = bytes.Replace(s[0].Record, []byte(`"label": "`), []byte(`"label": "x`), 1)
			return s
		},
		"a better score": func(s []series.Step) []series.Step {
			s[graded].Record = bytes.Replace(s[graded].Record, []byte(`"score": "`), []byte(`"score": "0`), 1)
			return s
		},
		"a missing link": func(s []series.Step) []series.Step { return s[1:] },
	} {
		e := emptyWorld(t, w, later)
		for _, at := range slices.SortedFunc(maps.Keys(stored), time.Time.Compare) {
			e.store(at, upToDay(e.weeks, stored[at]))
		}
		steps := slices.Clone(brought)
		for i := range steps {
			steps[i].Record = slices.Clone(steps[i].Record)
		}
		_, err := e.bring(forge(steps))
		if err == nil {
			_, err = e.db.RestoreForecasts(t.Context(), later)
		}
		if err == nil {
			t.Errorf("%s was recorded", what)
		}
	}
}
