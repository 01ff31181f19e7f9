package workers_test

import (
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
	"tidemark/signals/forecast"
	"tidemark/workers"
)

// petroleumWeeks are made-up stocks of crude oil, gasoline and distillate for weeks that end on a Friday.
func petroleumWeeks(first time.Time, n int) []series.Reading {
	rng := rand.New(rand.NewPCG(1, 2))
	var out []series.Reading
	for _, id := range []series.ID{"eia.WCESTUS1", "eia.WGTSTUS1", "eia.WDISTUS1", "eia.WPULEUS3"} {
		level := 400000.0
		if id == "eia.WPULEUS3" {
			level = 90
		}
		for i := range n {
			day := first.AddDate(0, 0, 7*i)
			level *= 1 + 0.004*math.Sin(float64(day.YearDay())/58) + 0.006*rng.NormFloat64()
			out = append(out, series.Reading{Series: id, ObservedAt: day, Value: math.Round(level*10) / 10})
		}
	}
	return out
}

func upToDay(all []series.Reading, last time.Time) []series.Reading {
	var out []series.Reading
	for _, r := range all {
		if !r.ObservedAt.After(last) {
			out = append(out, r)
		}
	}
	return out
}

// forecastWorld is a database in a world whose clock the test sets, with eight years of weeks up to a Friday.
type forecastWorld struct {
	*backfillFixture
	forecasts workers.Forecasts
	weeks     []series.Reading
}

var forecastFriday = time.Date(2025, 5, 2, 0, 0, 0, 0, time.UTC)

func newForecastWorld(t *testing.T) forecastWorld {
	t.Helper()
	w := forecastWorld{backfillFixture: newBench(t), weeks: petroleumWeeks(forecastFriday.AddDate(0, 0, -7*416), 430)}
	w.forecasts = workers.Forecasts{DB: w.db, Log: slog.New(slog.DiscardHandler)}
	at := forecastFriday.AddDate(0, 0, 5).Add(15 * time.Hour)
	if _, err := w.db.EnsureWorld(t.Context(), "sandbox", &at); err != nil {
		t.Fatal(err)
	}
	w.store(at, upToDay(w.weeks, forecastFriday))
	w.at(at.Add(7 * time.Hour))
	return w
}

func (w forecastWorld) at(clock time.Time) {
	w.t.Helper()
	if err := w.db.SetClock(w.t.Context(), &clock); err != nil {
		w.t.Fatal(err)
	}
}

func (w forecastWorld) forecast() error {
	return w.forecasts.Run(w.t.Context(), task.Task{Job: task.Forecast, Subject: "eia-weekly-petroleum"})
}

func (w forecastWorld) recorded() []postgres.Forecast {
	w.t.Helper()
	list, err := w.db.Forecasts(w.t.Context(), "eia-weekly-petroleum", forecastFriday.AddDate(1, 0, 0), 0, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

func TestAForecastIsRecordedBeforeItsPrintAndGradedOnceAfterIt(t *testing.T) {
	t.Parallel()
	w := newForecastWorld(t)
	for range 2 {
		if err := w.forecast(); err != nil {
			t.Fatal(err)
		}
	}
	list := w.recorded()
	if len(list) != 3 {
		t.Fatalf("%d forecasts are recorded, want those of crude oil, gasoline and distillate, once", len(list))
	}
	next := forecastFriday.AddDate(0, 0, 7)
	previous := forecast.NoRecord
	for _, f := range slices.Backward(list) {
		if f.Period != next.Format(time.DateOnly) || f.Grade != nil || !f.IssuedAt.Before(f.ScheduledAt) || f.Label == "" {
			t.Errorf("the forecast is %+v", f)
		}
		if f.PreviousHash != previous || f.Record().Hash() != f.Hash {
			t.Errorf("%s: its hash is %s after %s, its line's %s", f.ID, f.Hash, f.PreviousHash, f.Record().Hash())
		}
		previous = f.Hash
	}

	w.at(next.AddDate(0, 0, 5).Add(15 * time.Hour))
	w.store(next.AddDate(0, 0, 5).Add(15*time.Hour), upToDay(w.weeks, next))
	w.at(next.AddDate(0, 0, 5).Add(22 * time.Hour))
	for range 2 {
		if err := w.forecast(); err != nil {
			t.Fatal(err)
		}
	}
	list = w.recorded()
	if len(list) != 6 {
		t.Fatalf("%d forecasts are recorded after the print, want 6", len(list))
	}
	for _, f := range list[3:] {
		g := f.Grade
		if g == nil || g.Outcome == "" {
			t.Fatalf("%s was printed and is not graded", f.ID)
		}
		outcome, _ := strconv.ParseFloat(g.Outcome, 64)
		if want := pinballs(f.Quantiles, outcome); math.Abs(forecast.Decimal(g.Score).Float()-want) > 1e-9 {
			t.Errorf("%s: score %s, want %v", f.ID, g.Score, want)
		}
	}
}

// pinballs is the score as a reader computes it from the public text alone.
func pinballs(quantiles string, y float64) float64 {
	p := []float64{.01, .025, .05, .1, .15, .2, .25, .3, .35, .4, .45, .5, .55, .6, .65, .7, .75, .8, .85, .9, .95, .975, .99}
	v := []float64{.0175, .02, .0375, .05, .05, .05, .05, .05, .05, .05, .05, .05, .05, .05, .05, .05, .05, .05, .05, .05, .0375, .02, .0175}
	var sum float64
	for i, text := range strings.Split(quantiles, ";") {
		q, _ := strconv.ParseFloat(text, 64)
		sum += 2 * v[i] * math.Max(p[i]*(y-q), (p[i]-1)*(y-q))
	}
	return sum
}

func TestAForecastAfterItsPrintIsRefused(t *testing.T) {
	t.Parallel()
	w := newForecastWorld(t)
	if err := w.forecast(); err != nil {
		t.Fatal(err)
	}
	f := w.recorded()[0]
	late := f.Record()
	release := f.Release()
	week := func(n int) {
		late.Period = f.ObservedAt.AddDate(0, 0, 7*n).Format(time.DateOnly)
		late.ID = late.Signal + "/" + late.Figure + "/" + late.Period
		release.Period, release.ObservedAt, release.ScheduledAt = late.Period, f.ObservedAt.AddDate(0, 0, 7*n), f.ScheduledAt.AddDate(0, 0, 7*n)
	}
	refuse := func(what string) {
		t.Helper()
		if _, err := w.db.RecordForecast(t.Context(), task.Fence{}, late, release, "no_skill", false); !errors.Is(err, postgres.ErrRefused) {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
	week(-1) // known, and due
	refuse("a forecast of a week that is known")
	week(1)
	late.IssuedAt = late.IssuedAt.Add(-2 * time.Hour)
	refuse("a forecast that is dated back")
	late.IssuedAt = f.IssuedAt.Add(time.Hour)
	refuse("a forecast that is dated ahead")
	w.at(release.ScheduledAt)
	late.IssuedAt = release.ScheduledAt
	refuse("a forecast at the time of its print")
	pool, err := pgxpool.New(t.Context(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, change := range []string{`update forecasts set quantiles = naive1`, `delete from forecasts`, `truncate forecasts cascade`} {
		if _, err := pool.Exec(t.Context(), change); err == nil {
			t.Errorf("%s was done", change)
		}
	}
}

func TestTwoWorkersRecordAForecastOnce(t *testing.T) {
	t.Parallel()
	w := newForecastWorld(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := w.forecast(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list := w.recorded(); len(list) != 3 {
		t.Errorf("%d forecasts are recorded, want 3", len(list))
	}
}

func TestAPrintThatDoesNotComeIsVoid(t *testing.T) {
	t.Parallel()
	w := newForecastWorld(t)
	if err := w.forecast(); err != nil {
		t.Fatal(err)
	}
	w.at(forecastFriday.AddDate(0, 0, 60))
	if err := w.forecast(); err != nil {
		t.Fatal(err)
	}
	for _, f := range w.recorded() {
		if f.Grade == nil || f.Grade.Outcome != "" || len(f.Grade.Flags) != 1 || f.Grade.Flags[0] != forecast.FlagVoid {
			t.Errorf("%s has the grade %+v, want void", f.ID, f.Grade)
		}
		if _, counts := f.Graded(); counts {
			t.Errorf("%s counts", f.ID)
		}
	}
}

// A print counts until the forecast is void, and not from then on. That does not depend on when the job runs.
func TestAPrintAfterTheTimeGivenIsVoidThoughTheJobWasDown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		after time.Duration
		void  bool
	}{
		{"the last second", 30*24*time.Hour - time.Second, false},
		{"the first moment too late", 30 * 24 * time.Hour, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			w := newForecastWorld(t)
			if err := w.forecast(); err != nil {
				t.Fatal(err)
			}
			f := w.recorded()[0]
			printed := f.ScheduledAt.Add(c.after)
			w.at(printed)
			w.store(printed, upToDay(w.weeks, f.ObservedAt))
			w.at(f.ScheduledAt.AddDate(0, 0, 45)) // the job was down until then
			if err := w.forecast(); err != nil {
				t.Fatal(err)
			}
			list := w.recorded()
			for _, f := range list[len(list)-3:] {
				if f.Grade == nil || (f.Grade.Outcome == "") != c.void {
					t.Errorf("%s has the grade %+v, want it void: %t", f.ID, f.Grade, c.void)
				}
			}
		})
	}
}

// The calendar names what is to come. A figure that was published is not, also before it is graded. One that is late still is. The release
// after it has its day by the schedule before a forecast is recorded.
func TestTheCalendarNamesNoReleaseThatWasPublished(t *testing.T) {
	t.Parallel()
	w := newForecastWorld(t)
	if err := w.forecast(); err != nil {
		t.Fatal(err)
	}
	def, _ := signals.ByID("eia-weekly-petroleum")
	var now time.Time
	v, err := view.New(view.Options{
		Store: w.db, Definitions: []signals.Definition{def}, PublicURL: "https://tidemark.example", World: view.WorldLive, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	want := func(clock time.Time, want ...string) {
		t.Helper()
		now = clock
		w.at(clock)
		signal := &view.Signal{Definition: def, Snapshot: view.SignalSnapshot{AsOf: &clock}, History: &view.History{}}
		list, err := v.Calendar(t.Context(), &view.State{Signals: []*view.Signal{signal}})
		if err != nil {
			t.Fatal(err)
		}
		if next, err := v.NextReleases(t.Context(), signal); err != nil || !reflect.DeepEqual(next, append([]view.Release(nil), list.Data...)) {
			t.Errorf("%s: the signal's own page has %v, %v, and the calendar %v", clock, next, err, list.Data)
		}
		got := []string{}
		for _, r := range list.Data {
			got = append(got, *r.Figure+" "+*r.Period)
			if friday, _ := time.Parse(time.DateOnly, *r.Period); !r.Exact || r.ExpectedAt.Format(time.DateTime) != friday.AddDate(0, 0, 5).Format(time.DateOnly)+" 14:30:00" {
				t.Errorf("%s: %s of %s is expected on %s, want the Wednesday after", clock, *r.Figure, *r.Period, r.ExpectedAt)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the calendar has %v, want %v", clock, got, want)
		}
	}
	week := []string{"crude_stocks_change 2025-05-09", "distillate_stocks_change 2025-05-09", "gasoline_stocks_change 2025-05-09"}
	due := w.recorded()[0].ScheduledAt
	want(due.Add(-time.Hour), week...)
	want(due.Add(48*time.Hour), week...) // a holiday: it is late
	printed := due.Add(49 * time.Hour)
	w.at(printed)
	w.store(printed, upToDay(w.weeks, forecastFriday.AddDate(0, 0, 7)))
	after := []string{"crude_stocks_change 2025-05-16", "distillate_stocks_change 2025-05-16", "gasoline_stocks_change 2025-05-16"}
	want(printed.Add(time.Minute), after...)
	if err := w.forecast(); err != nil {
		t.Fatal(err)
	}
	want(printed.Add(2*time.Minute), after...)
}
