package pages

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/api/pages/card"
	"tidemark/api/pages/plot"
	"tidemark/api/view"
	"tidemark/picks"
	"tidemark/signals"
)

// compareBody is the content of the page that compares two signals.
type compareBody struct {
	localizer

	Comparison *view.Comparison
	Signals    []*view.Signal
	// asked is what the visitor compares.
	asked view.ComparisonRequest
	// From, To and AsOf are the values of the form's fields. Today is the last day that can be selected.
	From, To, AsOf, Today string
	// Time has both z-scores over time, Scatter one against the other, and Lags the correlation by lag.
	Time, Scatter, Lags template.HTML
	// LastFirst and LastSecond are the labels of the last z-scores in Time.
	LastFirst, LastSecond string
	// LagPoints are the points of Lags as JSON, for the script.
	LagPoints template.JS
	// Newest are the newest pairs, newest first.
	Newest []view.ComparedPair
	// Since leads to the first day on which values of both signals were known. It is nil unless the page is about an earlier day.
	Since *dayLink
	// JSON is the URL of the same data.
	JSON string
}

// Lagged reports how many lags are compared.
func (compareBody) Lagged() string { return strconv.Itoa(2*signals.MaxLag + 1) }

// Said fills the gaps of a text.
func (compareBody) Said(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// Lagging writes a lag with its sign.
func (compareBody) Lagging(lag int) string {
	if lag < 0 {
		return "−" + strconv.Itoa(-lag)
	}
	return strconv.Itoa(lag)
}

// Page is the address of the page of a signal of the comparison, of the same days.
func (b compareBody) Page(id string) string {
	query := url.Values{}
	for name, value := range map[string]string{"from": b.From, "to": b.To, "as_of": b.AsOf, "lang": strings.TrimPrefix(b.InLang(), "?lang=")} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if len(query) == 0 {
		return "/signals/" + id
	}
	return "/signals/" + id + "?" + query.Encode()
}

// Range writes an interval, which must exist.
func (b compareBody) Range(a view.ComparisonAtLag) string {
	bound := func(v float64) string { return b.signedTo(&v, view.BoundDecimals(v)) }
	return b.Said(b.T("compare.to range"), bound(a.Interval.Lo), bound(a.Interval.Hi))
}

// compare shows two signals side by side. Without a choice it compares the first two that are not monthly.
func (p *Pages) compare(ctx context.Context, r request) (*view.Document, error) {
	if !comparable(r.site) {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	body, err := p.compared(ctx, r, r.local(lang))
	if err != nil {
		return nil, err
	}
	if body.Since, err = p.bothKnown(ctx, r, body); err != nil {
		return nil, err
	}
	body.draw()
	body.JSON = "/api/compare?" + body.query(string(lang))

	l := p.layoutIn(r.local(lang), r.site, r.path)
	l.Title = body.titleOfDay(body.finding(), body.AsOf) + suffix
	l.Description = body.Comparison.Text
	l.JSON = body.JSON
	l.pictureAt(func(lang picks.Lang) string { return p.o.PublicURL + body.cardPath(lang) }, p.cardOfComparison(body))
	l.Scripts = []string{p.staticAddress("plot.js")}
	l.Body = body
	p.inLanguages(&l, r)
	return p.document("compare", l, time.Time{}), nil
}

// comparable reports whether there are two signals.
func comparable(s site) bool { return s.signals != nil && len(s.signals.Signals) > 1 }

// compared returns what a request compares, without its figures, in the language of l.
func (p *Pages) compared(ctx context.Context, r request, l localizer) (body compareBody, err error) {
	query, err := r.comparison()
	if err != nil {
		return body, err
	}
	asOf, err := r.day("as_of", p.o.View.Now())
	if err != nil {
		return body, err
	}
	query.Lang = l.Lang
	body = compareBody{
		localizer: l, Signals: r.signals.Signals, From: dayOrNone(query.From), To: dayOrNone(query.To), AsOf: dayOrNone(asOf),
		Today: p.o.View.Now().UTC().Format(time.DateOnly),
	}
	if !asOf.IsZero() {
		query.AsOf = endOf(asOf)
	}
	if !query.To.IsZero() {
		query.To = endOf(query.To)
	}
	body.asked = query
	body.Comparison, err = p.o.View.Compare(ctx, query)
	return body, err
}

// query selects the comparison. lang is empty for the usual language.
func (b compareBody) query(lang string) string {
	query := url.Values{"first": {b.asked.First.Definition.ID}, "second": {b.asked.Second.Definition.ID}, "lag": {strconv.Itoa(b.Comparison.Result.Lag)}}
	for name, value := range map[string]string{"from": b.From, "to": b.To, "as_of": b.AsOf, "lang": lang} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query.Encode()
}

// pair names the two signals in a few words.
func (b compareBody) pair() string {
	short := func(s *view.Signal) string {
		d := b.Own(s.Definition)
		return cmp.Or(d.Phrasing.Short, d.Name)
	}
	return short(b.asked.First) + " · " + short(b.asked.Second)
}

// finding is the result in one line.
func (b compareBody) finding() string {
	at := b.Comparison.Result
	switch {
	case at.Correlation == nil:
		return b.pair()
	case at.Interval == nil:
		return b.Say("compare.found alone", b.pair(), b.Signed(at.Correlation))
	}
	return b.Say("compare.found", b.pair(), b.Signed(at.Correlation), b.Range(at))
}

// cardPath is the address of the picture in a language.
func (b compareBody) cardPath(lang picks.Lang) string {
	if lang == picks.English {
		lang = ""
	}
	return "/compare" + cardName + "?" + b.query(string(lang))
}

// compareCard returns the picture of a comparison.
func (p *Pages) compareCard(ctx context.Context, r request) (*view.Document, error) {
	if !comparable(r.site) {
		return nil, nil
	}
	l := r.picture()
	body, err := p.compared(ctx, r, l)
	if err != nil {
		return nil, err
	}
	if own := body.cardPath(l.Lang); r.path+"?"+r.query.Encode() != own {
		return nil, &view.Moved{To: own}
	}
	return p.pictures.of(p.cardOfComparison(body))
}

// cardOfComparison shows the correlation of two signals.
func (p *Pages) cardOfComparison(b compareBody) card.Card {
	c := card.Card{Kicker: b.T("compare"), Title: b.pair()}
	if at := b.Comparison.Result; at.Correlation != nil {
		c.Value, c.Unit = b.Signed(at.Correlation), b.T("compare.unit")
		if at.Interval != nil {
			c.Foot = b.T("compare.interval") + " " + b.Range(at)
		}
	}
	return p.marked(b.localizer, b.cardOfDay(c, b.AsOf))
}

// bothKnown returns the link of compareBody.Since.
func (p *Pages) bothKnown(ctx context.Context, r request, b compareBody) (*dayLink, error) {
	of := b.asked
	if of.AsOf.IsZero() || len(b.Comparison.Data) > 0 {
		return nil, nil
	}
	var since time.Time
	for _, s := range []*view.Signal{of.First, of.Second} {
		first, err := p.firstKnown(ctx, s)
		if err != nil || first.IsZero() {
			return nil, err
		}
		if first.After(since) {
			since = first
		}
	}
	if !since.After(of.AsOf) {
		return nil, nil
	}
	return &dayLink{b.Say("compare.since", b.Date(since)), r.with("as_of", since.Format(time.DateOnly))}, nil
}

// months is 1 for a monthly signal, otherwise 0.
func months(s *view.Signal) int {
	if s.Definition.Frequency == "monthly" {
		return 1
	}
	return 0
}

// comparison reads what is compared.
func (r request) comparison() (out view.ComparisonRequest, err error) {
	all := slices.Clone(r.signals.Signals)
	slices.SortStableFunc(all, func(a, b *view.Signal) int { // two that have weeks to compare come first
		return cmp.Compare(months(a), months(b))
	})
	named := func(name string, absent *view.Signal) (*view.Signal, error) {
		id := r.text(name)
		if id == "" {
			return absent, nil
		}
		if s := r.signals.Signal(id); s != nil {
			return s, nil
		}
		return nil, invalid("refuse.signal", name)
	}
	if out.First, err = named("first", all[0]); err != nil {
		return out, err
	}
	other := all[0]
	if out.First == other {
		other = all[1]
	}
	if out.Second, err = named("second", other); err != nil {
		return out, err
	}
	if out.First == out.Second {
		return out, invalid("refuse.same")
	}
	if text := r.text("lag"); text != "" {
		if out.Lag, err = strconv.Atoi(text); err != nil || out.Lag < -signals.MaxLag || out.Lag > signals.MaxLag {
			return out, invalid("refuse.lag", -signals.MaxLag, signals.MaxLag)
		}
	}
	if out.From, err = r.bound("from"); err != nil {
		return out, err
	}
	if out.To, err = r.bound("to"); err != nil {
		return out, err
	}
	if !out.From.IsZero() && !out.To.IsZero() && out.To.Before(out.From) {
		return out, invalid("refuse.order")
	}
	return out, nil
}

// lagPoint is a point of the plot by lag for the script. Name is its lag in words, and Range its interval.
type lagPoint struct {
	Name        string   `json:"name"`
	Lag         int      `json:"lag"`
	Correlation float64  `json:"correlation"`
	Lo          *float64 `json:"uncertainty_lo,omitempty"`
	Hi          *float64 `json:"uncertainty_hi,omitempty"`
	Range       string   `json:"range,omitempty"`
}

// draw draws the figures.
func (b *compareBody) draw() {
	data := b.Comparison.Data
	n := len(data)
	first, second := make([]float64, n), make([]float64, n)
	for i, p := range data {
		first[i], second[i] = p.First, p.Second
	}
	for i := n - 1; i >= 0 && len(b.Newest) < newest; i-- {
		b.Newest = append(b.Newest, data[i])
	}
	if n > 0 {
		x, one, two := comparedLines(b.Comparison)
		b.LastFirst, b.LastSecond = b.Z(first[n-1]), b.Z(second[n-1])
		b.Time = template.HTML(plot.Figure{
			ID: "plot-compare", Title: b.Comparison.First.Name + " · " + b.Comparison.Second.Name, Description: b.Comparison.Text, Height: 260,
			From: time.Unix(int64(x[0]), 0).UTC(), To: time.Unix(int64(x[len(x)-1]), 0).UTC(), Months: b.Comparison.Period == "month",
			Rules: []float64{0}, Words: b.figureWords(),
			Marks: []plot.Mark{reducedLine("second", b.LastSecond, x, two), reducedLine("", b.LastFirst, x, one)},
		}.SVG())
		b.Scatter = template.HTML(plot.Plane{
			ID: "plot-scatter", Title: b.T("compare.scatter"), Description: b.Comparison.Text, Height: 320, Points: true,
			X: first, Y: second, Words: b.figureWords(),
		}.SVG())
	}
	lags := plot.Plane{ID: "plot-lags", Title: b.T("compare.by lag"), Description: b.Said(b.T("compare.by lag note"), b.Lagged()), Height: 220, Words: b.figureWords()}
	var points []lagPoint
	for _, a := range b.Comparison.ByLag {
		if a.Correlation == nil {
			continue
		}
		point := lagPoint{Name: b.T("compare.lag") + " " + b.Lagging(a.Lag), Lag: a.Lag, Correlation: *a.Correlation}
		if a.Interval != nil {
			point.Lo, point.Hi, point.Range = &a.Interval.Lo, &a.Interval.Hi, b.Range(a)
		}
		points = append(points, point)
		lo, hi := *a.Correlation, *a.Correlation
		if a.Interval != nil {
			lo, hi = a.Interval.Lo, a.Interval.Hi
		}
		lags.X, lags.Y, lags.Lo, lags.Hi = append(lags.X, float64(a.Lag)), append(lags.Y, *a.Correlation), append(lags.Lo, lo), append(lags.Hi, hi)
		if a.Lag == b.Comparison.Result.Lag {
			lags.Chosen = len(lags.X)
		}
	}
	if len(lags.X) > 0 {
		b.Lags, b.LagPoints = template.HTML(lags.SVG()), embedJSON(points)
	}
}

// comparedLines returns the columns of the plot over time. In the middle of a gap of more than two periods it adds a point without values,
// which interrupts the lines.
func comparedLines(c *view.Comparison) (x, first, second []float64) {
	const day = 24 * 60 * 60
	longest := 2.0 * 7 * day
	if c.Period == "month" {
		longest = 2 * 31 * day
	}
	for _, p := range c.Data {
		at, err := time.Parse(time.DateOnly, p.Period)
		if err != nil {
			continue // the view writes valid dates only
		}
		now := float64(at.Unix())
		if n := len(x); n > 0 && now-x[n-1] > longest {
			x, first, second = append(x, (now+x[n-1])/2), append(first, math.NaN()), append(second, math.NaN())
		}
		x, first, second = append(x, now), append(first, p.First), append(second, p.Second)
	}
	return x, first, second
}

// reducedLine is a line of the points that are visible.
func reducedLine(class, label string, x, y []float64) plot.Line {
	line := plot.Line{Class: class, Label: label}
	for _, i := range plot.Reduce(x, y, stretches) {
		line.X, line.Y = append(line.X, x[i]), append(line.Y, y[i])
	}
	return line
}
