package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals/forecast"
)

// Forecasts is the job that grades a signal's forecasts with printed figures, and records forecasts of the next prints.
type Forecasts struct {
	DB  *postgres.DB
	Log *slog.Logger
}

// Run does so for the signal that the subject names. A figure that fails does not keep the others back.
func (f Forecasts) Run(ctx context.Context, t task.Task) error {
	targets := forecast.Of(t.Subject)
	if len(targets) == 0 {
		return Permanent(fmt.Errorf("no figure of %q is forecast", t.Subject))
	}
	now, err := f.DB.Now(ctx)
	if err != nil {
		return err
	}
	// A forecast is dated to the second, and knows nothing that came later.
	now = now.Truncate(time.Second)
	recorded, err := f.DB.Forecasts(ctx, t.Subject, now, 0, 0)
	if err != nil {
		return err
	}
	var failed []error
	for _, target := range targets {
		own := slices.DeleteFunc(slices.Clone(recorded), func(r postgres.Forecast) bool { return r.Figure != target.Figure })
		failed = append(failed, f.figure(ctx, t.Fence, target, own, now))
	}
	return errors.Join(failed...)
}

// figure grades what was printed of one figure and records the forecast of its next print. Recorded are its forecasts, the newest first.
func (f Forecasts) figure(ctx context.Context, fence task.Fence, target forecast.Target, recorded []postgres.Forecast, now time.Time) error {
	in, err := f.inputs(ctx, target, now)
	if err != nil {
		return err
	}
	var live []forecast.Graded
	for _, r := range slices.Backward(recorded) {
		if r.Grade == nil {
			if r.Grade, err = f.grade(ctx, fence, target, r, in, now); err != nil {
				return err
			}
		}
		if g, ok := r.Graded(); ok {
			live = append(live, g)
		}
	}
	release, ok := target.Next(in, now)
	if !ok || slices.ContainsFunc(recorded, func(r postgres.Forecast) bool { return r.Period == release.Period }) {
		return nil
	}
	record, again, err := target.Forecast(in, release, now)
	if errors.Is(err, forecast.ErrTooFew) {
		f.Log.InfoContext(ctx, "no forecast yet", "figure", target.Figure, "reason", err)
		return nil
	}
	if err != nil {
		return err
	}
	inputs, err := f.DB.InputsAsOf(ctx, target.Inputs, now)
	if err != nil {
		return err
	}
	if err := adopt(ctx, f.DB, forecastsMethod()); err != nil {
		return err
	}
	synthetic := slices.ContainsFunc(inputs, func(i postgres.Input) bool { return i.Synthetic })
	_, err = f.DB.RecordForecast(ctx, fence, record, release, forecast.Label(live, again, target.GradesNeeded), synthetic)
	return err
}

// inputs returns the vintages that a target reads, as known at an instant.
func (f Forecasts) inputs(ctx context.Context, target forecast.Target, at time.Time) (series.Set, error) {
	if !target.AllVintages {
		return f.DB.FirstObservationsAsOf(ctx, target.Inputs, at)
	}
	all, err := f.DB.VintagesAsOf(ctx, target.Inputs, at)
	if err != nil {
		return nil, err
	}
	out := series.Set{}
	for id, list := range all {
		for _, o := range list {
			p := o.Point()
			if o.Marker != "" {
				p.Value = math.NaN()
			}
			out[id] = append(out[id], p)
		}
	}
	return out, nil
}

// grade scores a forecast by its first print, or gives it up if none came in time. It returns nil while neither is the case. A print that came
// too late does not count, whenever the job runs. in holds the data known now.
func (f Forecasts) grade(ctx context.Context, fence task.Fence, target forecast.Target, r postgres.Forecast, in series.Set, now time.Time) (*postgres.ForecastGrade, error) {
	outcome, at, printed := target.Outcome(in, r.Release())
	voidAt := target.VoidAt(r.Release())
	g := forecast.Grade{ID: r.ID, PublishedAt: now, Flags: []string{forecast.FlagVoid}}
	switch {
	case printed && at.Before(voidAt):
		flags, err := f.flags(ctx, target, r, at)
		if err != nil {
			return nil, err
		}
		if g, err = forecast.NewGrade(r.Record(), outcome, at.Truncate(time.Second), flags); err != nil {
			return nil, Permanent(err)
		}
	case now.Before(voidAt):
		return nil, nil
	}
	if _, err := f.DB.RecordGrade(ctx, fence, g); err != nil {
		return nil, err
	}
	return &postgres.ForecastGrade{
		Outcome: string(g.Outcome), PublishedAt: g.PublishedAt, Score: string(g.Score), Score1: string(g.Score1), Score2: string(g.Score2), Flags: g.Flags,
	}, nil
}

// flags returns the flags of a print that became known at an instant: whether its release also changed earlier values.
func (f Forecasts) flags(ctx context.Context, target forecast.Target, r postgres.Forecast, at time.Time) ([]string, error) {
	before, err := f.DB.ObservationsAsOf(ctx, target.Inputs, at.Add(-time.Microsecond))
	if err != nil {
		return nil, err
	}
	after, err := f.DB.ObservationsAsOf(ctx, target.Inputs, at)
	if err != nil {
		return nil, err
	}
	if target.Breaks(before, after, r.Release()) {
		return []string{forecast.FlagVintageBreak}, nil
	}
	return nil, nil
}
