package pages

import (
	"context"
	"encoding/json"
	"fmt"
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

// overlayOf returns the overlay of points in ascending time. open reports whether the view ends with the newest value. If the database is
// unavailable, the overlay has events only, because a page must not depend on the rest.
func (p *Pages) overlayOf(ctx context.Context, s *view.Signal, points []view.HistoryPoint, asOf time.Time, open bool, l localizer) (overlay, error) {
	var out overlay
	if len(points) == 0 {
		return out, nil
	}
	from, to := points[0].ObservedAt, points[len(points)-1].ObservedAt
	for i, a := range signals.AnnotationsOf(s.Definition.ID, from, to) {
		out.Events = append(out.Events, eventMark{i + 1, a.ID, languages.Or(l.Lang).Annotations[a.ID], a.Day, a.Source})
	}
	var err error
	if asOf.IsZero() {
		if i := slices.IndexFunc(points, func(p view.HistoryPoint) bool { return p.Vintage > 1 }); i >= 0 {
			if out.first, err = p.o.View.FirstPrints(ctx, s, points[i].ObservedAt, to); err != nil && !view.Unavailable(err) {
				return out, err
			}
		}
	}
	if out.fans, err = p.fansOf(ctx, s, points, asOf, open, l.Own(s.Definition).Scale()); err != nil && !view.Unavailable(err) {
		return out, err
	}
	return out, nil
}

// discernible is how many forecasts a plot can show side by side.
const discernible = 160

// fansOf returns the newest forecasts of a signal's own figure that lie in view, as known as of an instant. They ascend in time. scale is
// the number of the signal's units in one unit of the plot.
func (p *Pages) fansOf(ctx context.Context, s *view.Signal, points []view.HistoryPoint, asOf time.Time, open bool, scale float64) ([]fan, error) {
	targets := forecast.Of(s.Definition.ID)
	if len(targets) == 0 {
		return nil, nil
	}
	doc, _, err := p.o.View.Forecasts(ctx, s, view.ForecastsRequest{Limit: perPage})
	if err != nil {
		return nil, err
	}
	var list view.Forecasts
	if err := json.Unmarshal(doc.Identity.Body, &list); err != nil {
		return nil, fmt.Errorf("read an answer: %w", err)
	}
	from, to := points[0].ObservedAt, points[len(points)-1].ObservedAt
	every := 7 * 24 * time.Hour
	if targets[0].Monthly {
		every = 31 * 24 * time.Hour
	}
	if to.Sub(from) > discernible*every {
		return nil, nil
	}
	var out []fan
	for _, f := range slices.Backward(list.Data) {
		if f.Target.Figure != targets[0].Figure || !asOf.IsZero() && f.IssuedAt.After(asOf) {
			continue
		}
		graded := f.Grade != nil && f.Grade.Outcome != nil && f.Grade.Hits != nil && (asOf.IsZero() || !f.Grade.GradedAt.After(asOf))
		at := targetDay(f)
		if !inView(at, from, to, open, graded) {
			continue
		}
		// A figure that is a change is added to the value before it.
		base := 0.0
		if targets[0].Change {
			i := slices.IndexFunc(points, func(p view.HistoryPoint) bool { return p.ObservedAt.Equal(at.AddDate(0, 0, -7)) })
			if i < 0 {
				continue
			}
			base = points[i].Value
		}
		q := func(level float64) float64 { return (base + quantileAt(f, level)) / scale }
		one := fan{At: at, Period: f.Target.Period, Median: q(.5), Low50: q(.25), High50: q(.75), Low80: q(.1), High80: q(.9), Graded: graded}
		if graded {
			one.Held, one.Outcome = f.Grade.Hits.P80, (base+*f.Grade.Outcome)/scale
		}
		out = append(out, one)
	}
	return out, nil
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

// targetDay returns the day that a forecast figure is about: the day or the first of the month that its period names, else its release.
func targetDay(f view.Forecast) time.Time {
	for _, layout := range []string{time.DateOnly, "2006-01"} {
		if at, err := time.Parse(layout, f.Target.Period); err == nil {
			return at
		}
	}
	return f.Target.ReleaseAt
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
