package pages

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/picks"
	"tidemark/signals"
	"tidemark/signals/forecast"
)

// signalPage is the page of a signal, or one of the pages and images below it.
func (p *Pages) signalPage(ctx context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	id, part, _ := strings.Cut(r.rest, "/")
	s := r.signals.Signal(id)
	if s == nil {
		return nil, nil
	}
	switch "/" + part {
	case "/":
		if r.rest == id {
			return p.signal(ctx, r, s)
		}
	case "/brief":
		return p.brief(ctx, r, s)
	case "/revisions":
		return p.revisions(ctx, r, s)
	case "/forecasts":
		return p.forecasts(ctx, r, s)
	case plotName:
		return p.plotImage(ctx, r, s)
	case cardName:
		return p.signalCard(ctx, r, s)
	}
	return nil, nil
}

// signalBody is the content of a signal's page.
type signalBody struct {
	localizer

	// Def is the definition in the page's language.
	Def      signals.Definition
	Signal   *view.Signal
	Snapshot view.SignalSnapshot
	// AsOf is the day whose end the page shows, empty for the current state. Today is the last day that can be selected.
	AsOf, Today string
	// Span is the shown stretch of time. View are its parameters in an address, with the day of the page.
	Span span
	// Titled is Span as titles write it: without days before the first and after the last value.
	Titled span
	// Days is the stretch that a comparison takes over. It is zero if the visitor chose none.
	Days span
	// From and To are the days in the form.
	From, To string
	View     template.URL
	// Now are the parameters of the same stretch as known now.
	Now    template.URL
	Ranges []choice
	// Earlier, Later, Closer and Wider are the addresses of neighbouring views. An empty address means no such view.
	Earlier, Later, Closer, Wider string
	Plots                         signalPlots
	Backtest                      *backtestBody
	Citation                      string
	// Forecast reports whether a figure of the signal is forecast.
	Forecast bool
	// Embed is the HTML line that shows the plot on another site.
	Embed   string
	Finding signals.Finding
	// Then are the numbers of the snapshot that have changed since. It is empty on a page with the current state.
	Then []difference
	// Next is the release that is expected next, as the calendar has it. It is nil if it is unknown or late.
	Next *view.Release
}

// KnownMethod reports whether the backtest was made by the method that the page's words describe. An older program may have had another one.
func (b signalBody) KnownMethod() bool { return b.Snapshot.Backtest.Method == signals.BacktestMethod }

// Doubted lists the series whose old values the backtest may have read in a later state. It is empty if none is in doubt.
func (b signalBody) Doubted() string {
	switch t := b.Snapshot.Backtest; t.LookAheadReason {
	case signals.LookAheadUnwatched, signals.LookAheadRevised: // whose text ends with them
		_, list, _ := strings.Cut(t.LookAheadText, ": ")
		return strings.TrimSuffix(list, ".")
	}
	return ""
}

// ZoomQuery is the query that a chosen stretch is added to.
func (b signalBody) ZoomQuery() string {
	return b.ofDay(b.AsOf)
}

// asOfQuery is the query that selects a day. It is empty for the current state.
func asOfQuery(day string) string {
	if day == "" {
		return ""
	}
	return "?as_of=" + day
}

// ofDay is the query that selects a day, empty for the current state, and the language of the page.
func (l localizer) ofDay(day string) string {
	if day == "" {
		return l.InLang()
	}
	return asOfQuery(day) + string(l.AndLang())
}

// titleOfDay says in a title at the end of which day its data were known. day is empty for the current state.
func (l localizer) titleOfDay(title, day string) string {
	if day == "" {
		return title
	}
	return l.Say("title of day", title, l.Date(day))
}

// AndDays are the parameters of the days that the visitor chose, also by the name of a range. The page of a comparison knows only days. It is
// empty if the visitor chose none, or all.
func (b signalBody) AndDays() template.URL {
	days := b.Days
	if days.From.IsZero() && days.To.IsZero() {
		return ""
	}
	return template.URL("&" + days.query()) //nolint:gosec // made of dates
}

// AndAsOf is the parameter that keeps the day of the page. It is empty for the current state.
func (b signalBody) AndAsOf() template.URL {
	if b.AsOf == "" {
		return ""
	}
	return template.URL("&as_of=" + b.AsOf) //nolint:gosec // a date
}

// NoPoints says that the view has no value, and which days have.
func (b signalBody) NoPoints() string {
	text := b.T("signal.no points")
	first, last := b.shown()
	if first.IsZero() || last.Before(first) {
		return text
	}
	if b.Def.Frequency == "monthly" {
		l := b.language()
		return text + " " + b.Say("signal.all days month", l.WriteMonth(first.UTC()), l.WriteMonth(last.UTC()))
	}
	return text + " " + b.Say("signal.all days", b.Date(first), b.Date(last))
}

// difference is a number as known on a day and as known now.
type difference struct{ Name, Then, Now string }

// differences compares a snapshot of an earlier day with the current data: first with the current values of the same observation, then with
// the newest observation.
func (l localizer) differences(s *view.Signal, past view.SignalSnapshot) []difference {
	d, now := l.Own(s.Definition), s.Snapshot
	interval := func(x view.SignalSnapshot) string { return l.Bounds(d, x.Value, x.UncertaintyLo, x.UncertaintyHi) }
	var list []difference
	if at := past.ObservedAt; at != nil {
		same := math.NaN()
		for _, p := range s.History.Points(*at) {
			if p.ObservedAt.Equal(*at) {
				same = p.Value
			}
		}
		list = append(list, difference{l.Say(monthOr(d, "signal.value of"), l.Observed(d, *at)), l.Figure(d, past.Value), l.Figure(d, same)})
	}
	observed := func(x view.SignalSnapshot) string {
		if x.ObservedAt == nil {
			return l.T("unknown")
		}
		return l.Observed(d, *x.ObservedAt)
	}
	return append(list, difference{l.T("signal.newest"), observed(past), observed(now)}, difference{l.T("value"), l.Figure(d, past.Value), l.Figure(d, now.Value)},
		difference{l.T("signal.interval row"), interval(past), interval(now)}, difference{l.T("signal.baseline"), l.Baseline(d, past.Value, past.BaselineValue), l.Baseline(d, now.Value, now.BaselineValue)},
		difference{l.T("signal.z"), l.Score(past.Value, past.ZScore), l.Score(now.Value, now.ZScore)})
}

// choice is one of several versions of a page.
type choice struct {
	Name, Title, Address string
	Chosen               bool
}

// signalView returns the content of a signal's page for the range and the day of its address. asOf is zero for the current state.
func (p *Pages) signalView(ctx context.Context, r request, s *view.Signal) (body signalBody, asOf time.Time, err error) {
	if asOf, err = r.day("as_of", p.o.View.Now()); err != nil {
		return body, asOf, err
	}
	lang, err := r.lang()
	if err != nil {
		return body, asOf, err
	}
	body = signalBody{localizer: r.local(lang), Signal: s, Snapshot: s.Snapshot, Today: p.o.View.Now().UTC().Format(time.DateOnly)}
	body.Def = body.Own(s.Definition)
	if !asOf.IsZero() {
		past, err := p.snapshotAsOf(ctx, r, s, asOf)
		if err != nil {
			return body, asOf, err
		}
		body.Snapshot, body.AsOf = *past, asOf.Format(time.DateOnly)
		body.Then = body.differences(s, *past)
	}
	if body.Span, err = r.span(s.Definition.Frequency); err != nil {
		return body, asOf, err
	}
	path := "/signals/" + s.Definition.ID
	first, last := body.shown()
	body.Titled, body.Days = body.Span.within(first, last), body.Span
	if name := body.Span.Name; name != "" {
		body.Days = span{}
		if r.query.Has("range") {
			body.Days.From = beginning(name, last)
		}
	}
	for _, name := range rangesOf(s.Definition.Frequency) {
		if from := beginning(name, last); !from.IsZero() && from.Before(first) && name != body.Span.Name {
			continue // it would show the same as "all"
		}
		body.Ranges = append(body.Ranges, choice{body.T("range.short." + name), body.T("range." + name), body.address(path, span{Name: name}), name == body.Span.Name})
	}
	body.View, body.Now = template.URL(viewOf(body.Span, body.AsOf)), template.URL(body.Span.query())+body.AndLang() //nolint:gosec // made of dates and of names of ranges
	if body.Plots, err = p.plotSignal(ctx, body, asOf); err != nil {
		return body, asOf, err
	}
	body.neighbours(path)
	body.days()
	return body, asOf, nil
}

func (p *Pages) signal(ctx context.Context, r request, s *view.Signal) (*view.Document, error) {
	if err := r.onlySpan(s.Definition.Frequency); err != nil {
		return nil, err
	}
	body, asOf, err := p.signalView(ctx, r, s)
	if err != nil {
		return nil, err
	}
	body.Forecast = len(forecast.Of(s.Definition.ID)) > 0
	if asOf.IsZero() {
		next, err := p.o.View.NextReleases(ctx, s)
		if err != nil && !view.Unavailable(err) { // a page must not depend on it
			return nil, err
		}
		if len(next) > 0 && next[0].ExpectedAt.After(p.o.View.Now()) {
			body.Next = &next[0]
		}
	}
	body.Embed = p.embedLine(body)
	body.Backtest = body.newBacktestBody(body.Snapshot)
	body.Citation = body.citation(body.Def.Name, body.Snapshot, body.AsOf)

	l := p.layoutIn(body.localizer, r.site, r.path)
	body.Finding = body.finding(s.Definition, body.Snapshot)
	l.Title = body.titleOfDay(cmp.Or(body.Finding.String(), body.Def.Name), body.AsOf) + suffix
	l.Description = body.Lead(s.Definition)
	l.JSON = "/api/signals/" + s.Definition.ID + asOfQuery(body.AsOf)
	l.JSONLD = embedJSON(s.Snapshot.JSONLD)
	if body.Lang == picks.English {
		l.Disclaimer = s.Snapshot.Disclaimer
	}
	p.signalPicture(&l, s.Definition, body.Snapshot, body.AsOf)
	l.Scripts = []string{p.staticAddress("plot.js")}
	l.Body = body
	p.inLanguages(&l, r)
	var modified time.Time
	if s.Snapshot.IngestedAt != nil && asOf.IsZero() {
		modified = *s.Snapshot.IngestedAt
	}
	return p.document("signal", l, modified), nil
}

// snapshotAsOf returns the snapshot of a signal as of the end of a day. It rejects a day before the first value.
func (p *Pages) snapshotAsOf(ctx context.Context, r request, s *view.Signal, day time.Time) (*view.SignalSnapshot, error) {
	past, err := p.o.View.SnapshotAsOf(ctx, s, endOf(day))
	if err != nil || past != nil && past.Value != nil {
		return past, err
	}
	first, err := p.firstKnown(ctx, s)
	if err != nil {
		return nil, err
	}
	if past == nil || first.IsZero() || first.After(day) {
		return nil, nothingKnown(r, day, first)
	}
	return past, nil // the value became unknown later
}

// nothingKnown rejects a day before the first value, and leads to the same page of the day of the first value. first is zero if no value is known.
func nothingKnown(r request, day, first time.Time) error {
	refusal := refuse(view.CodeNotFound, "refuse.nothing known", day)
	if first.IsZero() {
		return refusal
	}
	later := refuse(view.CodeNotFound, "refuse.first known", first)
	path := ""
	if first.After(day) {
		query := r.withQuery("as_of", first.Format(time.DateOnly))
		query.Del("lang") // the link adds it
		path = r.path + "?" + query.Encode()
	}
	return leadTo(path, refusal, later)
}

// firstKnown returns the day on which the first value of a signal became known, or zero.
func (p *Pages) firstKnown(ctx context.Context, s *view.Signal) (time.Time, error) {
	doc, _, err := p.o.View.Vintages(ctx, s, view.VintagesRequest{Asc: true, Limit: 1})
	if err != nil {
		return time.Time{}, err
	}
	var first view.Vintages
	if err := json.Unmarshal(doc.Identity.Body, &first); err != nil {
		return time.Time{}, fmt.Errorf("read an answer: %w", err)
	}
	if len(first.Data) == 0 {
		return time.Time{}, nil
	}
	return first.Data[0].KnownAt.UTC().Truncate(24 * time.Hour), nil
}

// findingOf returns the finding of a snapshot, or the zero value if no value is known.
func findingOf(d signals.Definition, s view.SignalSnapshot) signals.Finding {
	if s.Value == nil || s.ObservedAt == nil {
		return signals.Finding{}
	}
	baseline := math.NaN()
	if s.BaselineValue != nil {
		baseline = *s.BaselineValue
	}
	return d.Finding(*s.Value, baseline, *s.ObservedAt)
}

// citation returns the text that cites a signal, by its name in the language, in its shown state. Its instant has the form of as_of. asOf is the
// day of the page, empty for the current state.
func (l localizer) citation(name string, s view.SignalSnapshot, asOf string) string {
	at, year, kind := l.T("cite.none"), "", l.T("cite.data set")
	if s.AsOf != nil {
		at = l.Say("cite.as of", s.AsOf.Format(time.RFC3339))
		year = fmt.Sprintf(" (%d)", s.AsOf.Year())
	}
	if s.Synthetic {
		kind = l.T("cite.synthetic")
	}
	return fmt.Sprintf("Tidemark%s. %s [%s %s], %s. %s", year, name, kind, s.ID, at, s.PageURL+asOfQuery(asOf))
}

// briefStretches is how many time intervals the plot of a brief distinguishes: the text beside it is long.
const briefStretches = 160

// briefBody is the content of the page with a signal's method.
type briefBody struct {
	localizer

	Def      signals.Definition
	Signal   *view.Signal
	Snapshot view.SignalSnapshot
	// AsOf is the day whose end the figures show, empty for the current state.
	AsOf  string
	Plots signalPlots
	HTML  template.HTML
	// English reports that HTML is in English, and the page is not.
	English bool
	// Measured is the month up to which the text's measurements were made.
	Measured string
}

// Back is the address of the signal's page, of the same day.
func (b briefBody) Back() string { return "/signals/" + b.Def.ID + b.ofDay(b.AsOf) }

// brief is the page with the method of a signal and its newest value, as known now or at the end of a day.
func (p *Pages) brief(ctx context.Context, r request, s *view.Signal) (*view.Document, error) {
	asOf, err := r.day("as_of", p.o.View.Now())
	if err != nil {
		return nil, err
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	body := briefBody{localizer: r.local(lang), Signal: s, Snapshot: s.Snapshot, AsOf: dayOrNone(asOf)}
	body.Def = body.Own(s.Definition)
	text, translated := body.Brief(s.Definition)
	body.HTML, body.English, body.Measured = markdown(formulaLine.ReplaceAllStringFunc(text, operators.Replace)), !translated, signals.BriefsMeasured
	points := s.History.Points(beginning("5y", s.History.Last()))
	if !asOf.IsZero() {
		past, err := p.snapshotAsOf(ctx, r, s, asOf)
		if err != nil {
			return nil, err
		}
		var end time.Time
		if past.ObservedAt != nil {
			end = *past.ObservedAt
		}
		body.Snapshot = *past
		if points, err = p.o.View.PointsAsOf(ctx, s, endOf(asOf), beginning("5y", end)); err != nil {
			return nil, err
		}
	}
	body.Plots = body.plotHistory(body.Def, body.Snapshot, points, nil, overlay{stretches: briefStretches}, body.T("range.5y"))
	if len(points) > 0 {
		query := "&from=" + points[0].ObservedAt.Format(time.DateOnly)
		if body.AsOf != "" {
			query += "&as_of=" + body.AsOf
		}
		body.Plots.Query = template.URL(query) //nolint:gosec // it is made of dates
	}
	l := p.layoutIn(body.localizer, r.site, r.path)
	l.Title = body.titleOfDay(body.Say("brief.page", body.Def.Name), body.AsOf) + suffix
	l.Description = body.Say("brief.about", body.Def.Name)
	l.Scripts = []string{p.staticAddress("plot.js")}
	p.signalPicture(&l, s.Definition, body.Snapshot, body.AsOf)
	l.Body = body
	p.inLanguages(&l, r)
	return p.document("brief", l, time.Time{}), nil
}
