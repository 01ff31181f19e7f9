package pages

import (
	"context"
	"slices"
	"time"

	"tidemark/api/pages/plot"
	"tidemark/api/view"
	"tidemark/internal/locale/languages"
	"tidemark/signals"
	"tidemark/signals/forecast"
)

// overlay is the content of a plot in addition to the values: events, the first prints of values that were revised, and forecasts.
type overlay struct {
	Events []eventMark
	// first are the points as they were first published, empty if none in view was revised.
	first []view.HistoryPoint
	fans  []fan
	// stretches is how many time intervals the lines distinguish, zero for the usual number.
	stretches int
}

// eventMark is an event with its number in the plot.
type eventMark struct {
	Number   int
	ID, Text string
	Day      time.Time
	Source   string
}

// fan is a forecast of the signal's own value, in the unit of the plot.
type fan struct {
	At time.Time
	// Period is the period of the figure.
	Period string
	// Median and the bounds of the central 50 % and 80 %.
	Median, Low50, High50, Low80, High80 float64
	// Graded reports whether the outcome is known, Held whether the central 80 % contained it.
	Graded, Held bool
	Outcome      float64
}

// overlayOf returns the overlay of a plot. If the database is unavailable, the overlay has events only, because a page must not depend on
// the rest.
func (p *Pages) overlayOf(ctx context.Context, s *view.Signal, v viewed, l localizer) (overlay, error) {
	var out overlay
	points := v.points
	if len(points) == 0 {
		return out, nil
	}
	from, to := points[0].ObservedAt, points[len(points)-1].ObservedAt
	for i, a := range signals.AnnotationsOf(s.Definition.ID, from, to) {
		out.Events = append(out.Events, eventMark{i + 1, a.ID, languages.Or(l.Lang).Annotations[a.ID], a.Day, a.Source})
	}
	var err error
	if v.asOf.IsZero() {
		if i := slices.IndexFunc(points, func(p view.HistoryPoint) bool { return p.Vintage > 1 }); i >= 0 {
			if out.first, err = p.o.View.FirstPrints(ctx, s, points[i].ObservedAt, to); err != nil && !view.Unavailable(err) {
				return out, err
			}
		}
	}
	if out.fans, err = p.fansOf(ctx, s, v, l.Own(s.Definition).Scale()); err != nil && !view.Unavailable(err) {
		return out, err
	}
	return out, nil
}

// discernible is how many forecasts a plot can show side by side.
const discernible = 160

// viewed is what a plot shows of a signal.
type viewed struct {
	// points are in view, and around are these with those of a week before and all after. Both are in ascending time.
	points, around []view.HistoryPoint
	// asOf is the instant of a view of the past, otherwise zero. open reports whether the view ends with the newest value.
	asOf time.Time
	open bool
}

// fansOf returns the forecasts of a signal's own figure that lie in view. They ascend in time. scale is the number of the signal's units in
// one unit of the plot.
func (p *Pages) fansOf(ctx context.Context, s *view.Signal, v viewed, scale float64) ([]fan, error) {
	targets := forecast.Of(s.Definition.ID)
	if len(targets) == 0 {
		return nil, nil
	}
	every := forecastWeek
	if targets[0].Monthly {
		every = 31 * 24 * time.Hour
	}
	if v.points[len(v.points)-1].ObservedAt.Sub(v.points[0].ObservedAt) > discernible*every {
		return nil, nil
	}
	list, err := p.o.View.FigureForecasts(ctx, s, targets[0].Figure)
	if err != nil {
		return nil, err
	}
	return v.fans(targets[0], list, scale), nil
}

// fans returns the forecasts in view from all forecasts of a figure, which are newest first.
func (v viewed) fans(t forecast.Target, list []view.Forecast, scale float64) (out []fan) {
	from, to := v.points[0].ObservedAt, v.points[len(v.points)-1].ObservedAt
	for _, f := range slices.Backward(list) {
		if !v.asOf.IsZero() && f.IssuedAt.After(v.asOf) {
			continue
		}
		graded := f.Grade != nil && f.Grade.Outcome != nil && f.Grade.Hits != nil && (v.asOf.IsZero() || !f.Grade.GradedAt.After(v.asOf))
		day := targetDay(f)
		at := day
		if graded {
			at = observationOf(v.around, day)
		}
		if !inView(at, from, to, v.open, graded) {
			continue
		}
		// A figure that is a change is added to the value before it.
		base := 0.0
		if t.Change {
			i := slices.IndexFunc(v.around, func(p view.HistoryPoint) bool { return p.ObservedAt.Equal(day.Add(-forecastWeek)) })
			if i < 0 {
				continue
			}
			base = v.around[i].Value
		}
		q := func(level float64) float64 { return (base + quantileAt(f, level)) / scale }
		one := fan{At: at, Period: f.Target.Period, Median: q(.5), Low50: q(.25), High50: q(.75), Low80: q(.1), High80: q(.9), Graded: graded}
		if graded {
			one.Held, one.Outcome = f.Grade.Hits.P80, (base+*f.Grade.Outcome)/scale
		}
		out = append(out, one)
	}
	return out
}

// forecastWeek is the time that a weekly figure covers.
const forecastWeek = 7 * 24 * time.Hour

// observationOf returns the day of the newest known value in the week up to a day. A figure about a Monday without prices is that of the
// last day with prices. Without such a value it returns the day itself.
func observationOf(points []view.HistoryPoint, day time.Time) time.Time {
	for _, p := range slices.Backward(points) {
		if p.Value == p.Value && !p.ObservedAt.After(day) && p.ObservedAt.After(day.Add(-forecastWeek)) {
			return p.ObservedAt
		}
	}
	return day
}

// inView reports whether a view from one day to another shows the forecast of a day. open reports whether the view ends with the newest
// value, graded whether the forecast has its grade. A figure that the view shows is published, though its forecast is graded only with the
// next run: such a forecast is neither open nor graded.
func inView(day, from, to time.Time, open, graded bool) bool {
	if day.After(to) {
		return open && !graded
	}
	return graded && !day.Before(from)
}

// targetDay returns the day that a forecast figure is about, as its signal dates it: the day or the first of the month that its period
// names. A final yield is dated the first day after its crop year.
func targetDay(f view.Forecast) time.Time {
	for _, layout := range []string{time.DateOnly, "2006-01"} {
		if at, err := time.Parse(layout, f.Target.Period); err == nil {
			return at
		}
	}
	return time.Date(f.Target.ReleaseAt.Year(), time.January, 1, 0, 0, 0, 0, time.UTC)
}

// marks returns the overlay as marks of a plot, those behind the values and those in front, and the last instant that the plot shows.
func (o overlay) marks(d signals.Definition, points []view.HistoryPoint) (behind, front []plot.Mark, to time.Time) {
	last := points[len(points)-1]
	to = last.ObservedAt
	var moments plot.Moments
	for _, e := range o.Events {
		moments = append(moments, e.Day)
	}
	if len(moments) > 0 {
		behind = append(behind, moments)
	}
	graded := map[bool]*plot.Ranges{true: {Class: "held"}, false: {Class: "missed"}}
	for _, f := range o.fans {
		if f.Graded {
			r := graded[f.Held]
			r.X, r.Lo, r.Hi = append(r.X, float64(f.At.Unix())), append(r.Lo, f.Low80), append(r.Hi, f.High80)
			continue
		}
		x, y := []float64{float64(last.ObservedAt.Unix()), float64(f.At.Unix())}, last.Value/d.Scale()
		if !f.At.After(last.ObservedAt) || y != y {
			continue
		}
		behind = append(behind, plot.Band{Class: "fan", X: x, Lo: []float64{y, f.Low80}, Hi: []float64{y, f.High80}},
			plot.Band{Class: "fan", X: x, Lo: []float64{y, f.Low50}, Hi: []float64{y, f.High50}},
			plot.Line{Class: "fan", X: x, Y: []float64{y, f.Median}})
		to = f.At
	}
	for _, held := range []bool{true, false} {
		if len(graded[held].X) > 0 {
			front = append(front, *graded[held])
		}
	}
	return behind, front, to
}

// strip returns the numbers of the events above a plot.
func (o overlay) strip(l localizer, f *plot.Figure) plot.Strip {
	letters, gutter := plot.Align(f)
	out := plot.Strip{
		Label: l.T("signal.event strip"), One: l.T("signal.event one"), Several: l.T("signal.event several"), Letters: letters, Gutter: gutter, From: f.From, To: f.To,
	}
	for _, e := range o.Events {
		out.Events = append(out.Events, plot.Event{At: e.Day, Number: e.Number, Target: "event-" + e.ID})
	}
	return out
}

// forecastsInView describes the forecasts of a plot in words. Next is the day of the forecast that is not published yet, zero if none exists,
// Period its period, and Interval its central 80 % with the unit.
type forecastsInView struct {
	Next             time.Time
	Period, Interval string

	Graded, Held int
}

// Missed is how many of the graded forecasts did not hold.
func (f forecastsInView) Missed() int { return f.Graded - f.Held }

func (o overlay) described(l localizer, d signals.Definition) (out forecastsInView) {
	for _, f := range o.fans {
		switch {
		case !f.Graded:
			out.Next, out.Period, out.Interval = f.At, f.Period, forecastUnit{l, d}.between(f.Low80*d.Scale(), f.High80*d.Scale())
		case f.Held:
			out.Held++
			out.Graded++
		default:
			out.Graded++
		}
	}
	return out
}
