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
	"strings"
	"time"

	"tidemark/api/pages/plot"
	"tidemark/api/view"
	"tidemark/signals/forecast"
)

// forecastsBody is the content of the page of a signal's forecasts.
type forecastsBody struct {
	Signal  *view.Signal
	Figures []figureForecasts
	Older   string
	// Feed is the address of the feed of the forecasts; empty if none exists.
	Feed string
}

// figureForecasts are the forecasts of one figure.
type figureForecasts struct {
	view.Scorecard

	Unit figureUnit
	// Score is the mean score of the live record.
	Score string
	// Open is the forecast whose print has not come yet, or nil.
	Open *forecastRow
	Plot template.HTML
	// Rows are the forecasts of the page, newest first.
	Rows []forecastRow
}

// forecastRow is a forecast with its numbers as the page shows them.
type forecastRow struct {
	view.Forecast

	Median, Low50, High50, Low80, High80, Low90, High90, Outcome, Score string
	// Held reports whether the central 80 % contained the outcome.
	Held bool
}

// forecasts shows a signal's forecasts of figures before their publication, and their outcomes.
func (p *Pages) forecasts(ctx context.Context, r request, s *view.Signal) (*view.Document, error) {
	if len(forecast.Of(s.Definition.ID)) == 0 {
		return nil, nil
	}
	query := view.ForecastsRequest{Limit: perPage}
	cursor := r.text("cursor")
	if cursor != "" {
		if err := query.ReadCursor(cursor); err != nil {
			return nil, &view.Refusal{Code: view.CodeInvalidCursor, Detail: "The cursor is not one of this list."}
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
	body := forecastsBody{Signal: s, Older: r.olderURL(next)}
	for _, c := range cards.Data {
		f := figureForecasts{Scorecard: c}
		f.Unit = unitOf(forecast.Named(s.Definition.ID, c.Figure))
		f.Score = f.Unit.score(c.All.CRPS)
		var own []view.Forecast
		for _, one := range list.Data {
			if one.Target.Figure != c.Figure {
				continue
			}
			own = append(own, one)
			row := newForecastRow(one, f.Unit)
			if one.Grade == nil && f.Open == nil && cursor == "" {
				f.Open = &row
			}
			f.Rows = append(f.Rows, row)
		}
		f.Plot = plotForecasts(c, own, f.Unit.per)
		body.Figures = append(body.Figures, f)
	}
	l := p.layout(r.site, r.path)
	l.Title = s.Snapshot.Name + ": forecasts" + suffix
	l.Description = "Figures that are not published yet, forecast as distributions, and graded once they are. " + s.Snapshot.Name + "."
	l.JSON = "/api/signals/" + s.Definition.ID + "/forecasts"
	l.Disclaimer = s.Snapshot.Disclaimer
	if p.o.Pushed {
		body.Feed = forecastsFeed
		l.follow(feed{"Forecasts and their grades", body.Feed})
	}
	l.Body = body
	return p.document("forecasts", l, time.Time{}), nil
}

// figureUnit is how a page writes a forecast figure: as the page of its signal does.
type figureUnit struct {
	// Words follow the number. per is how many of the figure's units one of the page's is.
	Words, prefix string
	decimals      int
	per           float64
}

// unitOf returns the unit of a figure on a page. Without a unit of its own, a figure has one decimal less than recorded.
func unitOf(t forecast.Target) figureUnit {
	switch t.Unit {
	case "ships/day":
		return figureUnit{Words: "ships a day", per: 1}
	case "thousand barrels":
		return figureUnit{Words: "million barrels", decimals: 1, per: 1000}
	case "bu/acre":
		return figureUnit{Words: "bushels an acre", decimals: t.Decimals, per: 1}
	case "USD/bbl":
		return figureUnit{Words: "a barrel", prefix: "$", decimals: 2, per: 1}
	case "USD/MMBtu":
		return figureUnit{Words: "per MMBtu", prefix: "$", decimals: 2, per: 1}
	}
	return figureUnit{Words: t.Unit, decimals: max(t.Decimals-1, 0), per: 1}
}

// write writes a value of the figure without the words.
func (u figureUnit) write(v float64) string {
	text := fixed(v/u.per, u.decimals)
	if number, negative := strings.CutPrefix(text, "−"); negative {
		return "−" + u.prefix + number
	}
	return u.prefix + text
}

// score writes a score, which has the unit of the figure.
func (u figureUnit) score(v *float64) string { return number(scaled(v, 1/u.per)) }

func newForecastRow(f view.Forecast, unit figureUnit) forecastRow {
	at := func(p float64) string {
		for _, q := range f.Quantiles {
			if q.P == p {
				return unit.write(q.Value)
			}
		}
		return unknown
	}
	row := forecastRow{
		Forecast: f, Median: at(0.5), Low50: at(0.25), High50: at(0.75), Low80: at(0.1), High80: at(0.9), Low90: at(0.05), High90: at(0.95),
	}
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

// plotForecasts plots, in the units of the page, the central 80 % of a figure's forecasts, newest first, with the published figures.
func plotForecasts(c view.Scorecard, list []view.Forecast, per float64) template.HTML {
	if len(list) == 0 {
		return ""
	}
	var band plot.Band
	median, outcome := plot.Line{Class: "second"}, plot.Line{}
	for _, f := range slices.Backward(list) {
		x := float64(f.Target.ReleaseAt.Unix())
		band.X, median.X, outcome.X = append(band.X, x), append(median.X, x), append(outcome.X, x)
		band.Lo, band.Hi = append(band.Lo, quantileAt(f, 0.1)/per), append(band.Hi, quantileAt(f, 0.9)/per)
		median.Y = append(median.Y, quantileAt(f, 0.5)/per)
		y := math.NaN()
		if f.Grade != nil && f.Grade.Outcome != nil {
			y = *f.Grade.Outcome / per
		}
		outcome.Y = append(outcome.Y, y)
	}
	figure := plot.Figure{
		ID: "forecasts-" + c.Figure, Height: 260, Title: c.Name,
		Description: "The central 80% of each forecast with its median, and the figure once it was published, by the time of the release.",
		From:        list[len(list)-1].Target.ReleaseAt.AddDate(0, 0, -3), To: list[0].Target.ReleaseAt.AddDate(0, 0, 3),
		Marks: []plot.Mark{band, median, outcome},
	}
	return template.HTML(figure.SVG()) //nolint:gosec // made here, with its texts escaped
}

func quantileAt(f view.Forecast, p float64) float64 {
	for _, q := range f.Quantiles {
		if q.P == p {
			return q.Value
		}
	}
	return math.NaN()
}
