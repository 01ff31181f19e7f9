package view

import (
	"context"
	"slices"
	"time"

	"tidemark/signals"
	"tidemark/signals/forecast"
)

// Calendar lists the publications that are expected next, the earliest first.
type Calendar struct {
	Data []Release `json:"data"`
	// ICSURL is the same for calendar programs.
	ICSURL      string `json:"ics_url"`
	Environment string `json:"environment"`
	Disclaimer  string `json:"disclaimer"`
}

// Release is a publication that is expected.
type Release struct {
	// Signal is the id of the signal that the figure is behind.
	Signal string `json:"signal"`
	// Source is the publisher's address.
	Source string `json:"source_url"`
	// Figure is the figure with a forecast, null if the next value of the signal is meant.
	Figure *string `json:"figure"`
	Name   string  `json:"name"`
	// Period is the period of the figure, null if unknown.
	Period *string `json:"period"`
	// ExpectedAt is when it is expected. If Exact is set, it is the earliest time of the publisher's schedule. Otherwise it is a day, estimated
	// from earlier releases. A time that is past means that the publication is late: nothing of it is known yet.
	ExpectedAt time.Time `json:"expected_at"`
	Exact      bool      `json:"exact"`
	// Forecast is the id of the recorded forecast, with the bounds of its central 80%. They are null without a forecast.
	Forecast *string  `json:"forecast_id"`
	Unit     string   `json:"unit"`
	Low      *float64 `json:"low_80"`
	High     *float64 `json:"high_80"`
	// KnownAt is when this entry became known.
	KnownAt time.Time `json:"known_at"`
	// MachineURL is where the forecast or the signal is.
	MachineURL string `json:"machine_url"`
}

// maxOpenForecasts is how many of a signal's newest forecasts are searched for forecasts without a print.
const maxOpenForecasts = 50

// nextValue estimates when the next value of the signal becomes known. It returns zero if that cannot be estimated.
func (s *Signal) nextValue() time.Time {
	last := s.History.Last()
	if last.IsZero() {
		return last
	}
	return expectedNext(s.Definition, s.History.Points(last.AddDate(-5, 0, 0)))
}

// Calendar returns the publications that are expected next: the figures with a forecast that have no print yet, and for other signals the
// estimated day of the next value. The error is postgres.ErrUnavailable if the database is unavailable.
func (v *View) Calendar(ctx context.Context, st *State) (*Calendar, error) {
	out := &Calendar{Data: []Release{}, ICSURL: v.o.PublicURL + "/calendar.ics", Environment: v.o.environment(), Disclaimer: st.Disclaimer}
	for _, s := range st.Signals {
		own, err := v.NextReleases(ctx, s)
		if err != nil {
			return nil, err
		}
		out.Data = append(out.Data, own...)
	}
	sortReleases(out.Data)
	return out, nil
}

func sortReleases(list []Release) {
	slices.SortStableFunc(list, func(a, b Release) int { return a.ExpectedAt.Compare(b.ExpectedAt) })
}

// NextReleases returns the publications of a signal that are expected next, the earliest first: the figures with a forecast that have no print
// yet, for a figure without such a forecast its next release by the publisher's schedule, and for a signal without scheduled figures the
// estimated day of the next value. The signal's page, the calendar and its file take the day from here. The error is postgres.ErrUnavailable
// if the database is unavailable.
func (v *View) NextReleases(ctx context.Context, s *Signal) ([]Release, error) {
	own, err := v.openForecasts(ctx, s)
	if err != nil {
		return nil, err
	}
	if s.Snapshot.AsOf == nil {
		return own, nil
	}
	targets := forecast.Of(s.Definition.ID)
	for _, t := range targets {
		if slices.ContainsFunc(own, func(r Release) bool { return *r.Figure == t.Figure }) {
			continue
		}
		next, err := v.scheduled(ctx, t)
		if err != nil {
			return nil, err
		}
		own = append(own, Release{
			Signal: s.Definition.ID, Source: s.Definition.SourceURL, Figure: &t.Figure, Name: t.Name, Period: &next.Period, ExpectedAt: next.ScheduledAt, Exact: true,
			Unit: t.Unit, KnownAt: *s.Snapshot.AsOf, MachineURL: v.o.machineURL(s.Definition.ID),
		})
	}
	if next := s.nextValue(); len(targets) == 0 && next.After(v.o.Now()) {
		own = append(own, Release{
			Signal: s.Definition.ID, Source: s.Definition.SourceURL, Name: s.Snapshot.Name, Unit: s.Snapshot.Unit, ExpectedAt: next.UTC().Truncate(24 * time.Hour),
			KnownAt: *s.Snapshot.AsOf, MachineURL: v.o.machineURL(s.Definition.ID),
		})
	}
	sortReleases(own)
	return own, nil
}

// scheduled returns the next release of a figure by its schedule. A print that came early is not to come.
func (v *View) scheduled(ctx context.Context, t forecast.Target) (next forecast.Release, err error) {
	for _, next = range t.Due(v.o.Now()) {
		printed, err := v.printed(ctx, t, next)
		if err != nil || !printed {
			return next, err
		}
	}
	return next, nil
}

// printed reports whether a release was published.
func (v *View) printed(ctx context.Context, t forecast.Target, r forecast.Release) (printed bool, err error) {
	err = v.acquireQuery(ctx, func(ctx context.Context) error {
		printed, err = v.o.Store.FigurePrinted(ctx, t, r)
		return err
	})
	return printed, err
}

// openForecasts returns the figures of a signal that have a forecast and were not published yet. A known figure is not to come, also before its
// forecast is graded.
func (v *View) openForecasts(ctx context.Context, s *Signal) (out []Release, err error) {
	id := s.Definition.ID
	if len(forecast.Of(id)) == 0 {
		return nil, nil
	}
	list, err := v.forecasts(ctx, s, 0, maxOpenForecasts)
	if err != nil {
		return nil, err
	}
	for _, recorded := range list {
		if recorded.Grade != nil {
			continue
		}
		printed, err := v.printed(ctx, forecast.Named(recorded.Signal, recorded.Figure), recorded.Release())
		if err != nil {
			return nil, err
		}
		if printed {
			continue
		}
		f := v.newForecast(recorded)
		out = append(out, Release{
			Signal: id, Source: s.Definition.SourceURL, Figure: &f.Target.Figure, Name: f.Target.Name, Period: &f.Target.Period, ExpectedAt: f.Target.ReleaseAt, Exact: true,
			Forecast: &f.ID, Unit: f.Target.Unit, Low: quantileOf(f, 0.1), High: quantileOf(f, 0.9), KnownAt: f.IssuedAt,
			MachineURL: v.o.machineURL(id) + "/forecasts/" + f.Target.Period,
		})
	}
	return out, nil
}

func quantileOf(f Forecast, p float64) *float64 {
	for _, q := range f.Quantiles {
		if q.P == p {
			return &q.Value
		}
	}
	return nil
}

// released is how many of the newest points are used to estimate the next release, and batches how many of the newest arrivals.
const released, batches = 120, 12

// batchSpan is how long after the first value of a batch its last one arrives at most.
const batchSpan = 12 * time.Hour

// expectedNext estimates when the next value becomes known. Where each value comes alone, it adds the median distance of observations and the
// median publication delay to the newest observation. Where several come at once, it adds the median distance of arrivals to the newest
// arrival. It returns zero if the signal is seasonal or has too few points.
func expectedNext(d signals.Definition, points []HistoryPoint) time.Time {
	points = points[max(len(points)-released, 0):]
	var lags []float64
	var arrivals []time.Time
	for _, p := range points {
		if p.Vintage <= 1 {
			lags, arrivals = append(lags, p.PublishedAt.Sub(p.ObservedAt).Seconds()), append(arrivals, p.PublishedAt)
		}
	}
	if d.SeasonStart != 0 || len(lags) < 4 {
		return time.Time{}
	}
	slices.SortFunc(arrivals, time.Time.Compare)
	var came []time.Time
	var sizes []float64
	for _, at := range arrivals {
		if n := len(came); n > 0 && at.Sub(came[n-1]) <= batchSpan {
			sizes[n-1]++
		} else {
			came, sizes = append(came, at), append(sizes, 1)
		}
	}
	newest := max(len(came)-batches, 0)
	if came, sizes = came[newest:], sizes[newest:]; len(came) > 2 && middle(sizes) > 1 {
		distances := make([]float64, len(came)-1)
		for i := range distances {
			distances[i] = came[i+1].Sub(came[i]).Seconds()
		}
		return came[len(came)-1].Add(time.Duration(middle(distances) * float64(time.Second)))
	}
	return points[len(points)-1].ObservedAt.Add(time.Duration((Spacing(points) + middle(lags)) * float64(time.Second)))
}

// middle sorts numbers and returns the median, of an even number of them the upper one.
func middle(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// Spacing returns the median distance of neighbours in seconds.
func Spacing(points []HistoryPoint) float64 {
	if len(points) < 2 {
		return 0
	}
	d := make([]float64, len(points)-1)
	for i := range d {
		d[i] = points[i+1].ObservedAt.Sub(points[i].ObservedAt).Seconds()
	}
	return middle(d)
}
