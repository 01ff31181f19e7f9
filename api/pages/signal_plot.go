package pages

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"math"
	"slices"
	"time"

	"tidemark/api/pages/plot"
	"tidemark/api/view"
	"tidemark/signals"
)

// signalPlots are the plots of a signal over one range.
type signalPlots struct {
	Value, Z template.HTML
	// Strip holds the numbers of the events, above the plot of the value. Events are their texts.
	Strip  template.HTML
	Events []eventMark
	// Reprinted is how many of the points differ from their first print. Forecasts describes the forecasts in view.
	Reprinted int
	Forecasts forecastsInView
	// figure is the plot of the value for a standalone image.
	figure plot.Figure
	// Query are the parameters of the shown history, each preceded by an ampersand.
	Query template.URL
	// Revised is how many of the points have changed since the day of the page.
	Revised int
	// from and to are the first and the last point.
	from, to time.Time
	// Points is the number of points in the range. Newest are the newest points, newest first.
	Points int
	Newest []view.HistoryPoint
	// LastValue and LastBaseline are the labels of the last known numbers, empty if none is known.
	LastValue, LastBaseline string
	// Interval, Baseline and Scored report whether any point has an interval, a baseline or a z-score.
	Interval, Baseline, Scored bool
	// IntervalSince is the first point with an interval if the plot begins much earlier, otherwise zero.
	IntervalSince time.Time
}

// newest is the number of points listed below the plots.
const newest = 24

// plotSignal plots a signal as known now, or as known at the end of a day.
func (p *Pages) plotSignal(ctx context.Context, body signalBody, asOf time.Time) (signalPlots, error) {
	s := body.Signal
	last, data := s.History.Last(), ""
	if at := body.Snapshot.ObservedAt; !asOf.IsZero() && at != nil {
		last = *at
	}
	from, to := beginning(body.Span.Name, last), time.Time{}
	if body.Span.Name == "" {
		from = body.Span.From
		if !body.Span.To.IsZero() {
			to = endOf(body.Span.To)
		}
	}
	v := viewed{open: to.IsZero()}
	var before time.Time
	if !from.IsZero() {
		before = from.Add(-forecastWeek)
	}
	v.around = s.History.Points(before)
	if !asOf.IsZero() {
		var err error
		v.asOf = endOf(asOf)
		if v.around, err = p.o.View.PointsAsOf(ctx, s, v.asOf, before); err != nil {
			return signalPlots{}, err
		}
		data += "&as_of=" + body.AsOf
	}
	if !from.IsZero() {
		data += "&from=" + from.Format(time.DateOnly)
	}
	if !to.IsZero() {
		data += "&to=" + to.Format(time.DateOnly)
	}
	index := func(at time.Time) int {
		i, _ := slices.BinarySearchFunc(v.around, at, func(p view.HistoryPoint, at time.Time) int { return p.ObservedAt.Compare(at) })
		return i
	}
	first, end := index(from), len(v.around)
	if !to.IsZero() {
		end = index(to.Add(time.Microsecond))
	}
	points := v.around[min(first, end):end]
	v.points = points
	var now []view.HistoryPoint
	if !asOf.IsZero() && len(points) > 0 {
		now = slices.DeleteFunc(s.History.Points(from), func(p view.HistoryPoint) bool { return p.ObservedAt.After(points[len(points)-1].ObservedAt) })
	}
	over, err := p.overlayOf(ctx, s, v, body.localizer)
	if err != nil {
		return signalPlots{}, err
	}
	out := body.plotHistory(body.Def, body.Snapshot, points, now, over, body.RangeTitle(body.Def, body.Titled))
	out.Query = template.URL(data) //nolint:gosec // it is made of dates
	return out, nil
}

// columns are points in columns. x contains Unix times in seconds.
type columns struct{ x, value, lo, hi, baseline, z []float64 }

// gapFactor times the usual distance of two points is the longest gap that a line bridges: a weekend with a holiday is four days.
const gapFactor = 4

// stretches is how many time intervals a plot distinguishes: the width of a small screen in pixels.
const stretches = 320

// columnsOf returns the columns of the visible points. It finds gaps before it omits points, because the remaining points are further apart
// than the source's points. most is how many time intervals they distinguish.
func columnsOf(d signals.Definition, points []view.HistoryPoint, most int) columns {
	var all columns
	per := d.Scale()
	for _, p := range interrupted(d, points) {
		all.x, all.value = append(all.x, float64(p.ObservedAt.Unix())), append(all.value, p.Value/per)
		all.lo, all.hi = append(all.lo, p.Lo/per), append(all.hi, p.Hi/per)
		all.baseline, all.z = append(all.baseline, p.Baseline/per), append(all.z, p.Z)
	}
	kept := plot.Reduce(all.x, all.value, most)
	pick := func(column []float64) []float64 {
		out := make([]float64, len(kept))
		for n, i := range kept {
			out[n] = column[i]
		}
		return out
	}
	return columns{x: pick(all.x), value: pick(all.value), lo: pick(all.lo), hi: pick(all.hi), baseline: pick(all.baseline), z: pick(all.z)}
}

// interrupted returns points with a point without values in the middle of each gap of the source and between seasons. It interrupts every
// line.
func interrupted(d signals.Definition, points []view.HistoryPoint) []view.HistoryPoint {
	none, longest := math.NaN(), gapFactor*view.Spacing(points)
	out := make([]view.HistoryPoint, 0, len(points))
	for i, p := range points {
		if i > 0 {
			before := points[i-1].ObservedAt
			since := p.ObservedAt.Sub(before)
			if (since.Seconds() > longest || !d.SameSeason(before, p.ObservedAt)) && !successiveFinals(d, before, p.ObservedAt) {
				out = append(out, view.HistoryPoint{ObservedAt: before.Add(since / 2), Value: none, Lo: none, Hi: none, Baseline: none, Z: none})
			}
		}
		out = append(out, p)
	}
	return out
}

// successiveFinals reports whether two neighbours are the finals of two successive crops. Long ago only the final yield of each year is known,
// and a line joins these. It depends on the two alone, so that a short range has the same lines as a long one.
func successiveFinals(d signals.Definition, a, b time.Time) bool {
	return d.PeriodOf(a) == signals.PeriodCrop && d.PeriodOf(b) == signals.PeriodCrop && a.AddDate(1, 0, 0).Equal(b)
}

// plotHistory plots points in ascending time: the value with its interval and baseline, and the z-score. If the points are as of an earlier
// day, now contains the same points as known now. span is the name of the range. d is a definition from Own.
func (l localizer) plotHistory(d signals.Definition, s view.SignalSnapshot, points, now []view.HistoryPoint, over overlay, span string) signalPlots {
	out := signalPlots{Points: len(points), Events: over.Events, Forecasts: over.described(l, d)}
	for _, p := range slices.Backward(points) {
		if len(out.Newest) == newest {
			break
		}
		out.Newest = append(out.Newest, p)
	}
	for _, p := range points {
		out.Interval = out.Interval || p.Lo == p.Lo
		out.Baseline = out.Baseline || p.Baseline == p.Baseline
		out.Scored = out.Scored || p.Z == p.Z
	}
	if len(points) == 0 {
		out.Value = template.HTML(plot.Figure{Words: l.figureWords()}.SVG())
		return out
	}
	from, to := points[0].ObservedAt, points[len(points)-1].ObservedAt
	out.from, out.to = from, to
	if i := slices.IndexFunc(points, func(p view.HistoryPoint) bool { return p.Lo == p.Lo }); i > 0 && points[i].ObservedAt.Sub(from) > to.Sub(from)/10 {
		out.IntervalSince = points[i].ObservedAt
	}
	most := cmp.Or(over.stretches, stretches)
	c := columnsOf(d, points, most)
	out.LastValue = l.lastKnown(d, points, func(p view.HistoryPoint) float64 { return p.Value })
	out.LastBaseline = l.lastKnown(d, points, func(p view.HistoryPoint) float64 { return p.Baseline })
	behind, front, end := over.marks(d, points)
	marks := append(behind, plot.Band{X: c.x, Lo: c.lo, Hi: c.hi}, plot.Line{Class: "second", X: c.x, Y: c.baseline, Label: out.LastBaseline})
	if len(over.first) > 0 {
		since := slices.IndexFunc(points, func(p view.HistoryPoint) bool { return !p.ObservedAt.Before(over.first[0].ObservedAt) })
		out.Reprinted = revised(over.first, points[max(since, 0):])
	}
	if out.Reprinted > 0 {
		g := columnsOf(d, over.first, most)
		marks = append(marks, plot.Line{Class: "ghost", X: g.x, Y: g.value})
	}
	if out.Revised = revised(points, now); out.Revised > 0 {
		g := columnsOf(d, now, most)
		marks = append(marks, plot.Line{Class: "ghost", X: g.x, Y: g.value})
	}
	marks = append(append(marks, plot.Line{X: c.x, Y: c.value, Label: out.LastValue}), front...)
	if !end.After(from) { // one point stands at the end of the figure, beside its label
		from = end.Add(-time.Second)
	}
	value := plot.Figure{
		ID: "plot-value", Title: fmt.Sprintf("%s, %s", cmp.Or(d.Name, s.Name), span), Height: 300, From: from, To: end, Months: d.Frequency == "monthly",
		Description: l.describe(d, points), Words: l.figureWords(),
		Marks: marks,
	}
	score := plot.Figure{
		ID: "plot-z", Title: l.Say("plot.z of", cmp.Or(d.Name, s.Name), span), Height: 140, From: from, To: end, Months: d.Frequency == "monthly", Ticks: 3,
		Description: l.T("plot.z text"), Words: l.figureWords(),
		Include: []float64{-2, 2}, Rules: []float64{0},
		Marks: []plot.Mark{plot.Area{X: c.x, Y: c.z}, plot.Line{Class: "thin", X: c.x, Y: c.z}},
	}
	if out.Scored {
		plot.Align(&value, &score)
		out.Z = template.HTML(score.SVG())
	}
	out.Value, out.Strip = template.HTML(value.SVG()), template.HTML(over.strip(l, &value).SVG())
	value.Marks = slices.DeleteFunc(marks, func(m plot.Mark) bool { _, moments := m.(plot.Moments); return moments }) // their texts are not in the image
	out.figure = value
	return out
}

// lastKnown writes the newest known number of points. It is empty if none is known.
func (l localizer) lastKnown(d signals.Definition, points []view.HistoryPoint, of func(view.HistoryPoint) float64) string {
	for _, p := range slices.Backward(points) {
		if v := of(p); v == v {
			return l.Figure(d, v)
		}
	}
	return ""
}

// revised counts the points that have changed or were withdrawn.
func revised(points, now []view.HistoryPoint) (n int) {
	values := make(map[int64]float64, len(now))
	for _, p := range now {
		values[p.ObservedAt.UnixMicro()] = p.Value
	}
	for _, p := range points {
		if v, ok := values[p.ObservedAt.UnixMicro()]; len(now) > 0 && (!ok || v != p.Value && (v == v || p.Value == p.Value)) {
			n++
		}
	}
	return n
}

// describe describes a plot in words.
func (l localizer) describe(d signals.Definition, points []view.HistoryPoint) string {
	compare := func(a, b view.HistoryPoint) int { return cmp.Compare(a.Value, b.Value) }
	known := slices.DeleteFunc(slices.Clone(points), func(p view.HistoryPoint) bool { return p.Value != p.Value })
	if len(known) == 0 {
		return l.T("plot.no value")
	}
	lowest, highest, last := slices.MinFunc(known, compare), slices.MaxFunc(known, compare), known[len(known)-1]
	id := "plot.described"
	if len(known) == 1 {
		id = "plot.described one"
	}
	return l.Say(monthOr(d, id), l.Measure(d), l.Count(len(known)), l.Figure(d, lowest.Value), l.Observed(d, lowest.ObservedAt),
		l.Figure(d, highest.Value), l.Observed(d, highest.ObservedAt), l.Figure(d, last.Value), l.Observed(d, last.ObservedAt))
}

// backtestBody is a backtest with its plot.
type backtestBody struct {
	// Plot and Skill are empty if there is no case, and no error of forecasts.
	Plot, Skill template.HTML
	// Points and SkillPoints are their rows, for the script.
	Points, SkillPoints template.JS
}

// estimatePoint is a row of a plot of estimates for the script. Name is its label, Instead its value in words, and Range its interval.
type estimatePoint struct {
	Name    string   `json:"name"`
	Row     int      `json:"row"`
	Value   float64  `json:"value"`
	Instead string   `json:"instead"`
	Lo      *float64 `json:"uncertainty_lo,omitempty"`
	Range   string   `json:"range,omitempty"`
}

// estimatePoints returns the known rows of a plot of estimates.
func (l localizer) estimatePoints(rows []plot.Estimate) template.JS {
	var list []estimatePoint
	for i, r := range rows {
		if r.Value != r.Value {
			continue
		}
		point := estimatePoint{Name: r.Label, Row: i, Value: r.Value, Instead: l.Z(r.Value)}
		if r.Lo == r.Lo && r.Hi == r.Hi {
			point.Lo, point.Range = &r.Lo, l.Between(l.Z(r.Lo), l.Z(r.Hi))
		}
		list = append(list, point)
	}
	return embedJSON(list)
}

// newBacktestBody plots the measured skill of a signal. It returns nil if no skill was measured.
func (l localizer) newBacktestBody(s view.SignalSnapshot) *backtestBody {
	b := s.Backtest
	if b == nil {
		return nil
	}
	unknown := math.NaN()
	row := func(label string, value *float64, bounds *[2]float64, class string) plot.Estimate {
		e := plot.Estimate{Label: label, Value: unknown, Lo: unknown, Hi: unknown, Class: class}
		if value != nil {
			e.Value = *value
		}
		if bounds != nil {
			e.Lo, e.Hi = bounds[0], bounds[1]
		}
		return e
	}
	out := &backtestBody{}
	if b.N > 0 {
		rows := []plot.Estimate{
			row(l.Say("backtest.all", l.Count(b.N)), b.RankIC, b.RankICBounds, ""),
			row(l.Say("backtest.out", l.Count(b.OutOfSample.N)), b.OutOfSample.RankIC, b.OutOfSample.RankICBounds, ""),
			row(l.T("backtest.naive"), b.NaiveRankIC, nil, "second"),
		}
		out.Points = l.estimatePoints(rows)
		out.Plot = template.HTML(plot.Estimates{
			ID: "plot-backtest", Title: l.T("backtest.plot"), Description: l.T("backtest.plot text"), Words: l.figureWords(), Rows: rows,
		}.SVG())
	}
	var rows []plot.Estimate
	for _, k := range b.Skill {
		rows = append(rows, row(sentence(l.Worded("backtest.stage", k.Stage)), k.Skill, nil, ""))
	}
	if len(rows) > 0 {
		out.SkillPoints = l.estimatePoints(rows)
		out.Skill = template.HTML(plot.Estimates{
			ID: "plot-skill", Title: l.T("backtest.skill plot"), Words: l.figureWords(),
			Description: l.T("backtest.skill text"), Rows: rows,
		}.SVG())
	}
	return out
}
