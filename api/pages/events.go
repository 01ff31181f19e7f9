package pages

import (
	"context"
	"html/template"
	"strconv"
	"time"

	"tidemark/api/view"
	"tidemark/picks"
)

// eventTabs lead between the pages about what happened.
func eventTabs(l localizer, path string) []choice {
	var query string
	if l.Lang != picks.English {
		query = "?lang=" + string(l.Lang)
	}
	tabs := []choice{
		{Name: l.T("events"), Address: "/events" + query},
		{Name: l.T("economy"), Address: "/economic-events" + query},
		{Name: l.T("digest"), Address: "/digest" + query},
	}
	for i, to := range []string{"/events", "/economic-events", "/digest"} {
		tabs[i].Chosen = to == path
	}
	return tabs
}

// eventsBody is what the feed of the portfolio shows.
type eventsBody struct {
	localizer

	Tabs       []choice
	Severities []choice
	Events     []view.Event
	Older      string
}

// events shows the feed of the portfolio, the newest first, from a severity on.
func (p *Pages) events(_ context.Context, r request) (*view.Document, error) {
	if r.published == nil {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	body := eventsBody{localizer: localizer{lang}}
	body.Tabs = eventTabs(body.localizer, r.path)
	if !r.whole(pricedEvents) {
		if body.Events, err = r.sampleEvent(lang, p.o.View.Now()); err != nil {
			return nil, err
		}
		return p.inLang("events", "events", "events.lead", lang, r, body, "note.events", pricedEvents)
	}
	severity, err := r.one("min_severity", "1", "1", "2", "3", "4", "5")
	if err != nil {
		return nil, err
	}
	for s := 1; s <= 5; s++ {
		value := strconv.Itoa(s)
		name := body.T("severity " + value)
		if s == 1 {
			name = body.T("all")
		}
		c := choice{Name: name, Address: r.with("min_severity", value), Chosen: value == severity}
		if s == 1 {
			c.Address = r.with("min_severity", "")
		}
		body.Severities = append(body.Severities, c)
	}
	least, _ := strconv.Atoi(severity) // it is one of five digits
	var next string
	body.Events, next, err = list[view.Event](r.published.Events(view.ListQuery{Lang: lang, MinSeverity: least, Limit: perPage, Cursor: r.text("cursor")}))
	if err != nil {
		return nil, err
	}
	body.Older = r.olderURL(next)
	return p.inLang("events", "events", "events.lead", lang, r, body, "note.events", pricedEvents)
}

// sampleAge is how old an event is at least that everybody sees.
const sampleAge = 7 * 24 * time.Hour

// sampleEvent is the newest event that is old enough for everybody to see, none where there is no such event.
func (r request) sampleEvent(lang picks.Lang, now time.Time) ([]view.Event, error) {
	all, _, err := list[view.Event](r.published.Events(view.ListQuery{Lang: lang, To: now.Add(-sampleAge).UTC().Format(time.DateOnly)}))
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[:1], nil
}

// economyBody is what the macro figures show.
type economyBody struct {
	localizer

	Tabs []choice
	// Newest is the first of Events with its analysis, nil where there is none.
	Newest   *view.EconomicEvent
	Analysis template.HTML
	Events   []view.EconomicEvent
	Older    string
}

// economy lists first prints of macro figures, the newest first.
func (p *Pages) economy(_ context.Context, r request) (*view.Document, error) {
	if r.published == nil {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	body := economyBody{localizer: localizer{lang}}
	body.Tabs = eventTabs(body.localizer, r.path)
	var next string
	body.Events, next, err = list[view.EconomicEvent](r.published.EconomicEvents(view.ListQuery{Lang: lang, Limit: perPage, Cursor: r.text("cursor")}))
	if err != nil {
		return nil, err
	}
	if len(body.Events) > 0 && r.text("cursor") == "" {
		body.Newest, body.Events = &body.Events[0], body.Events[1:]
		body.Analysis = markdown(body.Newest.Analysis)
	}
	body.Older = r.olderURL(next)
	return p.inLang("economy", "economy", "economy.lead", lang, r, body, "")
}

// digestBody is what the page of a week shows. Digest is nil before the first.
type digestBody struct {
	localizer

	Tabs   []choice
	Digest *view.Digest
	Text   template.HTML
	// Sample tells that only the parts of the week are shown that are free elsewhere.
	Sample bool
}

// digest shows the newest week.
func (p *Pages) digest(_ context.Context, r request) (*view.Document, error) {
	if r.published == nil {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	body := digestBody{localizer: localizer{lang}}
	body.Tabs = eventTabs(body.localizer, r.path)
	doc, err := r.published.LatestDigest(lang)
	if body.Digest, _, err = data[view.Digest](doc, err); err != nil {
		return nil, err
	}
	if body.Digest != nil {
		if body.Sample = !r.whole(pricedDigest); body.Sample {
			d := body.Digest
			body.Digest = &view.Digest{Week: d.Week, Period: d.Period, Title: d.Week, EconomicEvents: d.EconomicEvents, Signals: d.Signals}
		} else {
			body.Text = markdown(body.Digest.Body)
		}
	}
	return p.inLang("digest", "digest", "events.lead", lang, r, body, "note.digest", pricedDigest)
}

// inLang renders a page in a language, with its counterparts. limits is the word that says what everybody sees of a page about the data of
// endpoints.
func (p *Pages) inLang(name, title, lead string, lang picks.Lang, r request, body any, limits string, endpoints ...string) (*view.Document, error) {
	l := p.layoutIn(lang, r.site, r.path)
	if len(endpoints) > 0 {
		if err := p.annotate(&l, r, limits, endpoints...); err != nil {
			return nil, err
		}
	}
	l.Title = l.T(title) + suffix
	l.Description = l.T(lead)
	l.Body = body
	p.inLanguages(&l, r)
	return p.document(name, l, time.Time{}), nil
}
