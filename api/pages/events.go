package pages

import (
	"context"
	"html/template"
	"regexp"
	"strconv"
	"time"

	"tidemark/api/view"
	"tidemark/internal/locale/languages"
	"tidemark/picks"
)

// eventTabs link the pages about events to each other.
func eventTabs(l localizer, path string) []choice {
	query := l.InLang()
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

// eventsBody is the content of the portfolio's feed.
type eventsBody struct {
	localizer

	Tabs       []choice
	Severities []choice
	Events     []view.Event
	Older      string
}

// events shows the portfolio's feed, newest first, from a minimum severity on or of the lowest severity alone.
func (p *Pages) events(_ context.Context, r request) (*view.Document, error) {
	if r.published == nil {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	body := eventsBody{localizer: r.local(lang)}
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
	most, err := r.one("max_severity", "", "1")
	if err != nil {
		return nil, err
	}
	if most != "" && severity != "1" {
		return nil, invalid("refuse.severities", "max_severity", "min_severity")
	}
	other := r
	other.query = r.withQuery("max_severity", "")
	lowest := r
	lowest.query = r.withQuery("min_severity", "")
	body.Severities = []choice{
		{Name: body.T("all"), Address: other.with("min_severity", ""), Chosen: severity == "1" && most == ""},
		{Name: body.Say("only", body.T("severity 1")), Address: lowest.with("max_severity", "1"), Chosen: most != ""},
	}
	for s := 2; s <= 5; s++ {
		value := strconv.Itoa(s)
		name := body.T("severity " + value)
		if s < 5 {
			name = body.Say("severity up", name)
		}
		body.Severities = append(body.Severities, choice{Name: name, Address: other.with("min_severity", value), Chosen: value == severity})
	}
	least, _ := strconv.Atoi(severity) // it is one of five digits
	highest, _ := strconv.Atoi(most)   // it is 1 or empty
	var next string
	body.Events, next, err = list[view.Event](r.published.Events(view.ListQuery{Lang: lang, MinSeverity: least, MaxSeverity: highest, Limit: perPage, Cursor: r.text("cursor")}))
	if err != nil {
		return nil, err
	}
	body.Older = r.olderURL(next)
	return p.inLang("events", "events", "events.lead", lang, r, body, "note.events", pricedEvents)
}

// itemOf8K matches the number of an item of Form 8-K.
var itemOf8K = regexp.MustCompile(`\b[1-9]\.[0-9]{2}\b`)

// EventText is the text of an event, which names the items of Form 8-K by their numbers, with the titles of the items. The title is in the
// text's language.
func (localizer) EventText(e view.Event) string {
	if e.Type != string(picks.FilingMade) {
		return minus(e.Body)
	}
	words := languages.Or(e.Lang).Words
	return itemOf8K.ReplaceAllStringFunc(e.Body, func(item string) string {
		if title := words["item "+item]; title != "" {
			return item + " (" + title + ")"
		}
		return item
	})
}

// sampleAge is the minimum age of a public event.
const sampleAge = 7 * 24 * time.Hour

// sampleEvent returns the newest public event, or none if no event is old enough.
func (r request) sampleEvent(lang picks.Lang, now time.Time) ([]view.Event, error) {
	all, _, err := list[view.Event](r.published.Events(view.ListQuery{Lang: lang, To: now.Add(-sampleAge).UTC().Format(time.DateOnly)}))
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[:1], nil
}

// economyBody is the content of the page about macro figures.
type economyBody struct {
	localizer

	Tabs []choice
	// Newest is the first of Events with its analysis, or nil if there are no events.
	Newest   *view.EconomicEvent
	Analysis template.HTML
	Events   []view.EconomicEvent
	Older    string
}

// economy lists the first prints of macro figures, newest first.
func (p *Pages) economy(_ context.Context, r request) (*view.Document, error) {
	if r.published == nil {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	body := economyBody{localizer: r.local(lang)}
	body.Tabs = eventTabs(body.localizer, r.path)
	var next string
	body.Events, next, err = list[view.EconomicEvent](r.published.EconomicEvents(view.ListQuery{Lang: lang, Limit: perPage, Cursor: r.text("cursor")}))
	if err != nil {
		return nil, err
	}
	if len(body.Events) > 0 && r.text("cursor") == "" {
		body.Newest, body.Events = &body.Events[0], body.Events[1:]
		if text := body.Newest.Analysis; text != nil {
			body.Analysis = markdown(minus(*text))
		}
	}
	body.Older = r.olderURL(next)
	return p.inLang("economy", "economy", "economy.lead", lang, r, body, "")
}

// digestBody is the content of the weekly digest. Digest is nil before the first.
type digestBody struct {
	localizer

	Tabs   []choice
	Digest *view.Digest
	Text   template.HTML
	// Sample reports that the page shows only the parts of the week that are free elsewhere.
	Sample bool
}

// Close is the instant of the close that all known returns of the week's picks are of. It is nil if they differ or none is known.
func (b digestBody) Close() *time.Time {
	var last *time.Time
	for i := range b.Digest.Picks {
		pick := &b.Digest.Picks[i]
		if pick.ReturnFromEntryPct == nil {
			continue
		}
		if pick.LastPriceAt == nil || last != nil && !last.Equal(*pick.LastPriceAt) {
			return nil
		}
		last = pick.LastPriceAt
	}
	return last
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
	body := digestBody{localizer: r.local(lang)}
	body.Tabs = eventTabs(body.localizer, r.path)
	doc, err := r.published.LatestDigest(lang)
	if body.Digest, _, err = data[view.Digest](doc, err); err != nil {
		return nil, err
	}
	if body.Digest != nil {
		if body.Sample = !r.whole(pricedDigest); body.Sample {
			d := body.Digest
			body.Digest = &view.Digest{Week: d.Week, Period: d.Period, Title: d.Title, EconomicEvents: d.EconomicEvents, Signals: d.Signals}
		} else {
			body.Text = markdown(minus(body.Digest.Body))
		}
	}
	return p.inLang("digest", "digest", "events.lead", lang, r, body, "note.digest", pricedDigest)
}

// inLang renders a page in one language, with links to the other languages. The text with the id in limits says which part of a page about
// endpoints is public.
func (p *Pages) inLang(name, title, lead string, lang picks.Lang, r request, body any, limits string, endpoints ...string) (*view.Document, error) {
	l := p.layoutIn(r.local(lang), r.site, r.path)
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
