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
func eventTabs(l local, path string) []choice {
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
	local

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
	body := eventsBody{local: local{lang}}
	body.Tabs = eventTabs(body.local, r.path)
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
	body.Older = r.older(next)
	return p.inLang("events", "events", "events.lead", lang, r, body), nil
}

// economyBody is what the macro figures show.
type economyBody struct {
	local

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
	body := economyBody{local: local{lang}}
	body.Tabs = eventTabs(body.local, r.path)
	var next string
	body.Events, next, err = list[view.EconomicEvent](r.published.EconomicEvents(view.ListQuery{Lang: lang, Limit: perPage, Cursor: r.text("cursor")}))
	if err != nil {
		return nil, err
	}
	if len(body.Events) > 0 && r.text("cursor") == "" {
		body.Newest, body.Events = &body.Events[0], body.Events[1:]
		body.Analysis = markdown(body.Newest.Analysis)
	}
	body.Older = r.older(next)
	return p.inLang("economy", "economy", "economy.lead", lang, r, body), nil
}

// digestBody is what the page of a week shows. Digest is nil before the first.
type digestBody struct {
	local

	Tabs   []choice
	Digest *view.Digest
	Text   template.HTML
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
	body := digestBody{local: local{lang}}
	body.Tabs = eventTabs(body.local, r.path)
	doc, err := r.published.LatestDigest(lang)
	if body.Digest, _, err = data[view.Digest](doc, err); err != nil {
		return nil, err
	}
	if body.Digest != nil {
		body.Text = markdown(body.Digest.Body)
	}
	return p.inLang("digest", "digest", "events.lead", lang, r, body), nil
}

// inLang renders a page in a language, with its counterparts.
func (p *Pages) inLang(name, title, lead string, lang picks.Lang, r request, body any) *view.Document {
	l := p.layoutIn(lang, r.site, r.path)
	l.Title = l.T(title) + suffix
	l.Description = l.T(lead)
	l.Body = body
	p.inLanguages(&l, r)
	return p.document(name, l, time.Time{})
}
