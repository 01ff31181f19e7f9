package pages

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"tidemark/api/pages/plot"
	"tidemark/api/view"
	"tidemark/internal/locale/languages"
	"tidemark/picks"
)

// dashboardPage is the body of dashboard.html.
type dashboardPage struct {
	localizer
	view.Dashboard

	Plot template.HTML
	// Said is the outcome of the visitor's form.
	Said string
	// PaidPages reports whether signed-in visitors see more on the pages.
	PaidPages bool
	// Severities are the severities of events.
	Severities []int
}

// Dashboard renders the page that manages a key, or the page where its holder signs in.
func (p *Pages) Dashboard(d view.Dashboard) []byte {
	local := localizer{Lang: d.Language, Named: d.Named}
	if languages.Find(d.Language) == nil {
		local.Lang = picks.English
	}
	l := p.layoutIn(local, p.site(), dashboardPath)
	l.Title = l.T("key.title") + suffix
	l.Description = l.T("key.about")
	for _, lang := range picks.Langs() {
		address := dashboardPath + "?lang=" + string(lang)
		l.Languages = append(l.Languages, languageLink{lang, languages.Or(lang).Name, p.o.PublicURL + address, address, lang == local.Lang})
	}
	l.Canonical, l.Hidden = "", true
	l.Body = dashboardPage{
		localizer: local, Dashboard: d, Plot: template.HTML(usagePlot(local, d)), Said: local.said(d.Notice),
		PaidPages: p.o.Free && p.o.Publications != nil, Severities: []int{1, 2, 3, 4, 5},
	}
	return p.render("dashboard", l)
}

const dashboardPath = "/dashboard"

// said returns the text of a notice. Without a notice, the text is empty.
func (l localizer) said(n view.Notice) string {
	if n.Word == "" {
		return ""
	}
	return fmt.Sprintf(l.T("key."+n.Word), n.Args...)
}

// Typed returns what the visitor wrote into a field of a refused form.
func (d dashboardPage) Typed(field string) string { return d.Entered.Get(field) }

// Fault returns what is wrong with a field of a refused form.
func (d dashboardPage) Fault(field string) string {
	if !d.Bad || d.Field != field {
		return ""
	}
	return d.Said
}

// Marks returns the attributes that mark a field at fault and lead to its text. hint is the id of a text that describes the field anyway.
func (d dashboardPage) Marks(field, hint string) template.HTMLAttr {
	described := hint
	marks := ""
	if d.Fault(field) != "" {
		described, marks = strings.TrimSpace("fault "+hint), ` aria-invalid="true" autofocus`
	}
	if described != "" {
		marks += ` aria-describedby="` + described + `"`
	}
	return template.HTMLAttr(marks)
}

// Rule describes a rule of alerts in one line.
func (l localizer) Rule(r view.AlertRule) string {
	parts := []string{l.T("key.on " + r.On)}
	if r.Signal != "" {
		parts = append(parts, l.SignalName(r.Signal))
	}
	if r.Ticker != "" {
		parts = append(parts, r.Ticker)
	}
	for _, threshold := range []struct {
		word string
		at   *float64
	}{{"above", r.Above}, {"below", r.Below}, {"rearm", r.Rearm}} {
		if threshold.at != nil {
			text := strings.ReplaceAll(strconv.FormatFloat(*threshold.at, 'f', -1, 64), ".", l.language().Decimal)
			parts = append(parts, fmt.Sprintf(l.T("key.rule "+threshold.word), minus(text)))
		}
	}
	if r.MinSeverity != nil {
		parts = append(parts, fmt.Sprintf(l.T("key.rule severity"), *r.MinSeverity))
	}
	if r.Kind != "" {
		parts = append(parts, l.T("key.rule kind "+r.Kind))
	}
	if r.To != "" {
		parts = append(parts, r.To) // the API's own word, as in the messages
	}
	return strings.Join(parts, " · ")
}

// usagePlot plots the requests of each UTC day.
func usagePlot(l localizer, d view.Dashboard) string {
	if d.KeyID == "" || d.From.IsZero() {
		return ""
	}
	const day = 24 * time.Hour
	byDay, total := map[string]float64{}, int64(0)
	for _, u := range d.Usage {
		byDay[u.Date] += float64(u.Requests)
		total += u.Requests
	}
	var x, y []float64
	for at := d.From; !at.After(d.To); at = at.Add(day) {
		x, y = append(x, float64(at.Unix())), append(y, byDay[at.Format(time.DateOnly)])
	}
	return plot.Figure{
		ID: "plot-usage", Title: l.T("key.usage plot"), Height: 180, From: d.From.Add(-day / 2), To: d.To.Add(day / 2), Ticks: 3, Whole: true, Rules: []float64{0},
		Description: fmt.Sprintf(l.T("key.usage text"), total, l.Date(d.From), l.Date(d.To)),
		Words:       l.figureWords(), Include: []float64{0, 1}, Marks: []plot.Mark{plot.Bars{X: x, Y: y, Width: 0.7 * day.Seconds()}},
	}.SVG()
}
