package pages

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/internal/calendar"
	"tidemark/internal/locale/languages"
	"tidemark/picks"
)

// researchBody is the content of a company's page.
type researchBody struct {
	localizer

	Research view.Research
	Text     template.HTML
	// Numbers reports whether the page shows the figures next to the text and its facts. Return reports whether it shows the pick's return.
	Numbers, Return bool
	// Bought reports whether the newest close is the one at which a reader could have bought the pick, so that it has no return yet.
	Bought bool
	// AsAnnounced reports whether a company's page shows the text that was announced, not the newest.
	AsAnnounced bool
	// Link is the newest pick of the ticker in the record, or the pick of the page. It is nil if neither exists.
	Link *view.VerifiedPick
	// Announced is the pick of a pick page, as it was announced. It is nil on a company's page.
	Announced *view.Announced
	// Doubts has the company's newest close if it is in doubt and the page shows a return up to it.
	Doubts []view.PriceInDoubt
	// Dates are the days on which the company was picked, newest first.
	Dates []string
}

// research is the research about a company.
func (p *Pages) research(ctx context.Context, r request) (*view.Document, error) {
	if r.published == nil {
		return nil, nil
	}
	ticker, isCard := strings.CutSuffix(r.rest, cardName)
	if isCard {
		r.prefers = picks.English // the address alone decides
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	picked := r.published.Picked(ticker)
	if !picked && (isCard && !r.all || !r.whole(pricedResearch)) {
		// The same error for every company that was not picked, so that it does not reveal whether research exists.
		return nil, refuse(view.CodeUnknownTicker, "refuse.not picked")
	}
	doc, err := r.published.Research(ticker, lang)
	research, _, err := data[view.Research](doc, err)
	if err != nil {
		return nil, err
	}
	if research == nil {
		return nil, refuse(view.CodeUnknownTicker, "refuse.not written")
	}
	if isCard {
		// There is one image per company and language: redirect other tickers, letter cases and parameters to it.
		l := r.picture()
		if err := r.onlyAt("/research/"+research.Ticker+cardName, "", l.Lang); err != nil {
			return nil, err
		}
		return p.pictures.of(p.researchCard(r, l, *research))
	}
	r.path = "/research/" + research.Ticker // for any of its tickers, in any letter case
	r.seen.path = r.path
	shared := p.researchCard(r, r.local(lang), *research)
	body := researchBody{localizer: r.local(lang), Research: *research, Text: written(markdown(minus(research.FullResearch))), Numbers: r.whole(pricedResearch)}
	body.Dates = r.published.PickDatesOf(research.Ticker)
	body.Bought = r.justBought(research.Pick, body.localizer)
	body.Return = body.Numbers || research.Pick != nil && r.public(body.localizer)[research.Pick.Seq]
	if body.Return {
		body.Doubts = r.published.InDoubt(research.Ticker)
	} else {
		if research, err = r.announcedOnly(ctx, *research, lang); err != nil {
			return nil, err
		}
		body.Research, body.Text, body.AsAnnounced = *research, written(markdown(minus(research.FullResearch))), true
	}
	if r.record != nil {
		if link, ok := r.record.Pick(research.Ticker, ""); ok {
			body.Link = &link
		}
	}
	l := p.layoutIn(r.local(lang), r.site, r.path)
	if err := p.annotate(&l, r, "note.research", pricedResearch); err != nil {
		return nil, err
	}
	l.Title = research.Name + " (" + research.Ticker + ")" + suffix
	l.Description = firstSentence(research.SummaryWhy)
	l.picture(p.o.PublicURL+r.path+cardName, "", shared)
	l.Body = body
	p.inLanguages(&l, r)
	return p.document("research", l, research.ChangedAt()), nil
}

// announcedOnly returns the free part of a company whose newest pick has left the newest picks: the research as announced. The newest
// research states the newest close.
func (r request) announcedOnly(ctx context.Context, now view.Research, lang picks.Lang) (*view.Research, error) {
	then, err := r.published.PublicResearch(ctx, now.Ticker, lang)
	if then != nil || err != nil {
		return then, err
	}
	return &view.Research{ // nothing was announced but the pick
		Ticker: now.Ticker, Name: now.Name, Exchange: now.Exchange, Sector: now.Sector, Region: now.Region, Country: now.Country, Lang: now.Lang,
		Pick: now.Pick,
	}, nil
}

// justBought reports whether a pick is one of the newest and has no return yet.
func (r request) justBought(pick *view.ResearchPick, l localizer) bool {
	for _, k := range r.published.LatestPicks(view.PublicPicks, l.Lang).Picks {
		if pick != nil && k.Seq == pick.Seq {
			return boughtAtNewestClose(k.EntryDate, k.LastPriceAt)
		}
	}
	return false
}

// factPart matches the id of one of the amounts that a figure was computed from.
var factPart = regexp.MustCompile(`^(.+)_part_([0-9]+)$`)

// FactName returns the name of a fact for readers. It is the id in words if the language has no name for it.
func (l localizer) FactName(id string) string {
	if name, ok := l.language().Words["fact."+id]; ok {
		return name
	}
	if m := factPart.FindStringSubmatch(id); m != nil {
		return l.Say("fact.of.part", l.FactName(m[1]), m[2])
	}
	for _, kind := range []string{"tag", "basis", "before"} {
		if of, ok := strings.CutSuffix(id, "_"+kind); ok {
			return l.Say("fact.of."+kind, l.FactName(of))
		}
	}
	return l.Worded("fact", id)
}

// SourceOf returns the document that a fact comes from, nil for a calculated one.
func (b researchBody) SourceOf(f view.Fact) *view.SourceDocument {
	if f.Source == nil || *f.Source < 0 || *f.Source >= len(b.Research.Sources) {
		return nil
	}
	return &b.Research.Sources[*f.Source]
}

// pickPage shows a pick as it was announced: the text, the price and the position in the record. The later result is on the pages of the
// picks and of the company.
func (p *Pages) pickPage(ctx context.Context, r request) (*view.Document, error) {
	if r.published == nil {
		return nil, nil
	}
	date, isCard := strings.CutSuffix(r.rest, cardName)
	if isCard {
		r.prefers = picks.English // the address alone decides
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	day, err := time.Parse(time.DateOnly, date)
	if err != nil || day.Format(time.DateOnly) != date {
		return nil, nil //nolint:nilerr // not an address of a page
	}
	announced, err := r.published.AnnouncedOn(ctx, date, lang)
	if err != nil {
		return nil, err
	}
	if announced == nil {
		return nil, p.noPick(r, day)
	}
	if isCard {
		l := r.picture()
		if err := r.onlyAt(r.path, "", l.Lang); err != nil {
			return nil, err
		}
		return p.pictures.of(p.pickCard(l, announced.Pick))
	}
	body := researchBody{localizer: r.local(lang), Announced: announced}
	if announced.Research != nil {
		body.Research, body.Text = *announced.Research, written(markdown(minus(announced.Research.FullResearch)))
		body.Numbers = r.whole(pricedResearch)
	} else {
		k := announced.Pick
		body.Research = view.Research{Ticker: k.Ticker, Name: k.Name, Exchange: k.Exchange, Sector: k.Sector, Country: k.Country}
	}
	if r.record != nil {
		if link, ok := r.record.Pick(announced.Pick.Ticker, date); ok {
			body.Link = &link
		}
	}
	l := p.layoutIn(r.local(lang), r.site, r.path)
	if err := p.annotate(&l, r, "note.research", pricedResearch); err != nil {
		return nil, err
	}
	l.Title = fmt.Sprintf(l.T("pick of"), body.Date(date)) + ": " + body.Research.Name + " (" + announced.Pick.Ticker + ")" + suffix
	l.Description = l.T("picks.lead")
	modified := time.Time{}
	if announced.Pick.AnnouncedAt != nil {
		modified = *announced.Pick.AnnouncedAt
	}
	if announced.Research != nil {
		l.Description = firstSentence(announced.Research.SummaryWhy)
	}
	l.picture(p.o.PublicURL+r.path+cardName, "", p.pickCard(r.local(lang), announced.Pick))
	l.Body = body
	p.inLanguages(&l, r)
	return p.document("research", l, modified), nil
}

// noPick says why there is no pick of a day, and leads to the pick before it, or to the first one.
func (p *Pages) noPick(r request, day time.Time) *view.Refusal {
	date := day.Format(time.DateOnly)
	before, first := r.published.PickBefore(date)
	reason, closed := calendar.Closed(day)
	why := refuse(view.CodeNotFound, "refuse.no pick", day)
	switch {
	case before == "" && first != "":
		why = refuse(view.CodeNotFound, "refuse.pick before", day)
	case reason == "weekend":
		why = refuse(view.CodeNotFound, "refuse.pick weekend", day)
	case closed && day.Year() <= calendar.LastYear:
		holiday := phrase("holiday." + reason)
		if _, ok := languages.Or(picks.English).Words[string(holiday)]; !ok {
			holiday = "holiday.other"
		}
		why = refuse(view.CodeNotFound, "refuse.pick holiday", day, holiday)
	case !day.Before(calendar.DayOf(p.o.View.Now())):
		clock := time.Time{}.Add(cmp.Or(p.o.Announce, calendar.AnnouncementClock)).Format("15:04")
		why = refuse(view.CodeNotFound, "refuse.pick early", day, clock)
	}
	word, near := phrase("earlier pick"), before
	if near == "" {
		word, near = "first pick", first
	}
	at, err := time.Parse(time.DateOnly, near)
	if err != nil { // there is no pick yet
		return why
	}
	return leadTo("/picks/"+near, why, refuse(view.CodeNotFound, "refuse.pick near", word, at))
}

// RisksCompared says which reports are compared, and how.
func (b researchBody) RisksCompared(r view.RiskFactors) string {
	return fmt.Sprintf(b.T("risks.compared"), b.Date(r.Before.Filed), b.Date(r.Report.Filed))
}

// RiskQuarter says what a quarterly report says of risks.
func (b researchBody) RiskQuarter(q view.RiskQuarter) string {
	word := "risks.quarter." + q.Report.Section
	if q.Report.Section == view.RiskSectionRead && !q.Compared {
		word += " only"
	}
	return fmt.Sprintf(b.T(word), b.Date(q.Report.Filed))
}

// riskReport is a report in the list of the reports that were read.
type riskReport struct {
	localizer

	R view.RiskReport
}

// Of is a report with the words of the page's language.
func (b researchBody) Of(r view.RiskReport) riskReport { return riskReport{b.localizer, r} }
