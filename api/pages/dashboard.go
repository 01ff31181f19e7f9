package pages

import (
	"fmt"
	"html/template"
	"time"

	"tidemark/api/pages/plot"
	"tidemark/api/view"
)

// Dashboard renders the page that manages a key, or the page where its holder signs in.
func (p *Pages) Dashboard(d view.Dashboard) []byte {
	l := p.layout(p.site(), "/dashboard")
	l.Title = "Your key" + suffix
	l.Description = "Balance or plan, usage, and the key itself."
	l.Canonical, l.Hidden = "", true
	l.Body = struct {
		view.Dashboard

		Plot template.HTML
		// PaidPages reports whether signed-in visitors see more on the pages.
		PaidPages bool
	}{d, template.HTML(usagePlot(d)), p.o.Free && p.o.Publications != nil}
	return p.render("dashboard", l)
}

// usagePlot plots the requests of each UTC day.
func usagePlot(d view.Dashboard) string {
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
		ID: "plot-usage", Title: "Requests by day (UTC)", Height: 180, From: d.From.Add(-day / 2), To: d.To.Add(day / 2), Ticks: 3, Rules: []float64{0},
		Description: fmt.Sprintf("%d requests were answered from %s to %s. The table below has them by day and endpoint.", total,
			d.From.Format(time.DateOnly), d.To.Format(time.DateOnly)),
		Include: []float64{0, 1}, Marks: []plot.Mark{plot.Bars{X: x, Y: y, Width: 0.7 * day.Seconds()}},
	}.SVG()
}
