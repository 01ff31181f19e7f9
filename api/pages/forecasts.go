package pages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"time"

	"tidemark/api/pages/plot"
	"tidemark/api/view"
	"tidemark/picks"
	"tidemark/signals"
	"tidemark/signals/forecast"
)

// forecastsBody is the content of the page of a signal's forecasts.
type forecastsBody struct {
	localizer

	// Name is the signal's name, and Eighty the share of a forecast's central interval.
	Name, Eighty string
	Signal       *view.Signal
	Figures      []figureForecasts
	Older        string
	// Feed is the address of the feed of the forecasts; empty if none exists.
	Feed string
}

// figureForecasts are the forecasts of one figure.
type figureForecasts struct {
	view.Scorecard

	// Name is the figure's name in the page's language.
	Name string
	Unit forecastUnit
	// Said is the judgement of the page on the skill: skill, provisional or naive.
	Said string
	// Score is the mean score of the live record.
	Score string
	// Open is the forecast whose print has not come yet, or nil.
	Open *forecastRow
	Plot template.HTML
	// Points are the points of the plot as JSON, for the script.
	Points template.JS
	// Rows are the forecasts of the page, newest first.
	Rows []forecastRow
}

// forecastPoint is a forecast in a plot, in the units of the signal. Published is nil until the figure is published.
type forecastPoint struct {
	ReleaseAt string   `json:"observed_at"`
	Period    string   `json:"name"`
	Published *float64 `json:"published"`
	// Instead is written while the figure is not published.
	Instead string   `json:"instead,omitempty"`
	Median  *float64 `json:"median"`
	Low     *float64 `json:"uncertainty_lo"`
	High    *float64 `json:"uncertainty_hi"`
}

// forecastRow is a forecast with its numbers as the page shows them.
type forecastRow struct {
	view.Forecast

	Median, Low50, High50, Low80, High80, Low90, High90, Outcome, Score string
	// InUnit is the central 80 % with the unit.
	InUnit string
	// Held reports whether the central 80 % contained the outcome.
	Held bool
}

// forecasts shows a signal's forecasts of figures before their publication, and their outcomes.
func (p *Pages) forecasts(ctx context.Context, r request, s *view.Signal) (*view.Document, error) {
	if len(forecast.Of(s.Definition.ID)) == 0 {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	local := r.local(lang)
	query := view.ForecastsRequest{Limit: perPage}
	cursor := r.text("cursor")
	if cursor != "" {
		if err := query.ReadCursor(cursor); err != nil {
			return nil, refuse(view.CodeInvalidCursor, "refuse.cursor")
		}
	}
	card, err := p.o.View.Scorecard(ctx, s)
	if err != nil {
		return nil, err
	}
	doc, next, err := p.o.View.Forecasts(ctx, s, query)
	if err != nil {
		return nil, err
	}
	var list view.Forecasts
	var cards view.Scorecards
	if err := errors.Join(json.Unmarshal(doc.Identity.Body, &list), json.Unmarshal(card.Identity.Body, &cards)); err != nil {
		return nil, fmt.Errorf("read an answer: %w", err)
	}
	body := forecastsBody{localizer: local, Name: local.Own(s.Definition).Name, Eighty: local.Level(80), Signal: s, Older: r.olderURL(next)}
	for _, c := range cards.Data {
		f := figureForecasts{Scorecard: c, Name: local.figureName(s.Definition.ID, c.Figure, c.Name), Unit: local.unitOf(s.Definition, c.Figure, list.Data), Said: "naive"}
		if c.Label == "skill" || c.Label == "provisional" {
			f.Said = c.Label
		}
		f.Score = f.Unit.priced(c.All.CRPS)
		var own []view.Forecast
		for _, one := range list.Data {
			if one.Target.Figure != c.Figure {
				continue
			}
			own = append(own, one)
			row := newForecastRow(one, f.Unit)
			if one.Grade == nil && f.Open == nil && cursor == "" && (s.Snapshot.ObservedAt == nil || targetDay(one).After(*s.Snapshot.ObservedAt)) {
				f.Open = &row
			}
			f.Rows = append(f.Rows, row)
		}
		f.Plot, f.Points = f.plot(own), embedJSON(local.forecastPoints(own))
		body.Figures = append(body.Figures, f)
	}
	l := p.layoutIn(local, r.site, r.path)
	l.Title = local.Say("forecasts.page", body.Name) + suffix
	l.Description = local.Say("forecasts.about", body.Name)
	l.JSON = "/api/signals/" + s.Definition.ID + "/forecasts"
	if lang == picks.English {
		l.Disclaimer = s.Snapshot.Disclaimer
	}
	if p.o.Pushed {
		body.Feed = forecastsFeed
		l.follow(feed{local.T("forecasts.feed title"), body.Feed})
	}
	p.signalPicture(&l, s.Definition, s.Snapshot, "")
	l.Scripts = []string{p.staticAddress("plot.js")}
	l.Body = body
	p.inLanguages(&l, r)
	return p.document("forecasts", l, time.Time{}), nil
}

// forecastUnit is how a page writes the forecast figures of a signal: as the page of the signal writes its value.
type forecastUnit struct {
	localizer

	Def signals.Definition
}

// forecastUnit returns the unit of a signal's forecast figures that suits the given ones.
func (l localizer) forecastUnit(d signals.Definition, figures ...any) forecastUnit {
	return forecastUnit{l, l.Sized(l.Own(d), figures...)}
}

// unitOf returns the unit of one figure among forecasts. It suits their medians.
func (l localizer) unitOf(d signals.Definition, figure string, list []view.Forecast) forecastUnit {
	var medians []any
	for _, one := range list {
		if one.Target.Figure == figure {
			medians = append(medians, quantileAt(one, 0.5))
		}
	}
	return l.forecastUnit(d, medians...)
}

// write writes a value of the figure without the words.
func (u forecastUnit) write(v float64) string { return u.Figure(u.Def, v) }

// between writes two bounds with the words in the same place as for a single number.
func (u forecastUnit) between(lo, hi float64) string {
	bounds := u.Between(u.write(lo), u.write(hi))
	if before := u.UnitBefore(u.Def); before != "" {
		return before + " " + bounds
	}
	return bounds + " " + u.UnitAfter(u.Def, hi)
}

// score writes a score, which has the unit of the figure, with one decimal more: it is small compared with the figure.
func (u forecastUnit) score(v *float64) string {
	return u.Num(scaled(v, 1/u.Def.Scale()), u.Def.Phrasing.Decimals+1)
}

// priced writes a score with the sign of currency of the figure, if it has one.
func (u forecastUnit) priced(v *float64) string {
	if v == nil {
		return u.score(v)
	}
	return u.Def.Prefix() + u.score(v)
}

// figureName returns the name of a signal's forecast figure, whose English name is given.
func (l localizer) figureName(signal, figure, english string) string {
	d, _ := signals.ByID(signal)
	if t, ok := l.texts(d); ok && t.Figures[figure] != "" {
		return t.Figures[figure]
	}
	return english
}

// Level writes the share that an interval is built to hold.
func (l localizer) Level(percent int) string {
	return l.Num(new(float64(percent)), 0) + l.PercentSign()
}

// Gain writes a share as a percentage with its sign.
func (l localizer) Gain(share *float64) string { return l.Change(nil, scaled(share, 100)) }

func newForecastRow(f view.Forecast, unit forecastUnit) forecastRow {
	at := func(p float64) string {
		for _, q := range f.Quantiles {
			if q.P == p {
				return unit.write(q.Value)
			}
		}
		return unit.T("unknown")
	}
	row := forecastRow{
		Forecast: f, Median: at(0.5), Low50: at(0.25), High50: at(0.75), Low80: at(0.1), High80: at(0.9), Low90: at(0.05), High90: at(0.95),
	}
	row.InUnit = unbroken(unit.between(quantileAt(f, 0.1), quantileAt(f, 0.9)))
	if g := f.Grade; g != nil && g.Outcome != nil && g.Hits != nil {
		row.Outcome, row.Score, row.Held = unit.write(*g.Outcome), unit.score(g.CRPS), g.Hits.P80
	}
	return row
}

// fixed formats a number with a fixed number of decimals and thousands separators.
func fixed(v float64, decimals int) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	end := len(text)
	if decimals > 0 {
		end -= decimals + 1
	}
	for i := end - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	if v < 0 && text != strconv.FormatFloat(0, 'f', decimals, 64) {
		return "−" + text
	}
	return text
}

// plot plots, in the units of the page, the central 80 % of forecasts, newest first, with the published figures.
func (f figureForecasts) plot(list []view.Forecast) template.HTML {
	if len(list) == 0 {
		return ""
	}
	var band plot.Band
	median, outcome := plot.Line{Class: "second"}, plot.Line{}
	per := f.Unit.Def.Scale()
	for _, one := range slices.Backward(list) {
		x := float64(one.Target.ReleaseAt.Unix())
		band.X, median.X, outcome.X = append(band.X, x), append(median.X, x), append(outcome.X, x)
		band.Lo, band.Hi = append(band.Lo, quantileAt(one, 0.1)/per), append(band.Hi, quantileAt(one, 0.9)/per)
		median.Y = append(median.Y, quantileAt(one, 0.5)/per)
		y := math.NaN()
		if one.Grade != nil && one.Grade.Outcome != nil {
			y = *one.Grade.Outcome / per
		}
		outcome.Y = append(outcome.Y, y)
	}
	figure := plot.Figure{
		ID: "forecasts-" + f.Figure, Height: 260, Title: f.Name, Description: f.Unit.Say("forecasts.plot"), Words: f.Unit.figureWords(),
		From: list[len(list)-1].Target.ReleaseAt.AddDate(0, 0, -3), To: list[0].Target.ReleaseAt.AddDate(0, 0, 3),
		Marks: []plot.Mark{band, median, outcome},
	}
	return template.HTML(figure.SVG()) //nolint:gosec // made here, with its texts escaped
}

// forecastPoints returns the points of the plot of forecasts, which are newest first.
func (l localizer) forecastPoints(list []view.Forecast) []forecastPoint {
	var out []forecastPoint
	for _, one := range slices.Backward(list) {
		point := forecastPoint{
			ReleaseAt: one.Target.ReleaseAt.UTC().Format(time.RFC3339), Period: l.Period(one.Target.Period),
			Median: finite(quantileAt(one, 0.5)), Low: finite(quantileAt(one, 0.1)), High: finite(quantileAt(one, 0.9)),
		}
		switch {
		case one.Grade == nil:
			point.Instead = l.T("forecasts.not yet")
		case one.Grade.Outcome == nil:
			point.Instead = l.T("forecasts.did not come")
		default:
			point.Published = one.Grade.Outcome
		}
		out = append(out, point)
	}
	return out
}

func quantileAt(f view.Forecast, p float64) float64 {
	for _, q := range f.Quantiles {
		if q.P == p {
			return q.Value
		}
	}
	return math.NaN()
}
