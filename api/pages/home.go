package pages

import (
	"context"
	"html/template"
	"time"

	"tidemark/api/pages/plot"
	"tidemark/api/view"
	"tidemark/picks"
)

// homeBody is what the first page shows.
type homeBody struct {
	localizer

	Signals []signalCard
	// Published tells that there are pages about picks; Verify and Docs that there are those.
	Published, Verify, Docs bool
	// Latest, Portfolio and Record are nil where there is nothing yet.
	Latest    *view.Pick
	Portfolio *view.Portfolio
	Record    *view.RecordState
}

// signalCard is a signal of the catalog.
type signalCard struct {
	*view.Signal

	// Distance says how far the value is from its baseline, empty where that is unknown.
	Distance string
	Spark    template.HTML
}

// home is the first page: what this is, the catalog, the newest pick, the state of the record.
func (p *Pages) home(_ context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	body := homeBody{localizer: localizer{picks.English}, Published: r.published != nil, Verify: p.has("/verify"), Docs: p.has("/docs"), Record: r.record}
	if r.published != nil {
		var err error
		doc, err := r.published.LatestPick(picks.English)
		if body.Latest, _, err = data[view.Pick](doc, err); err != nil {
			return nil, err
		}
		if body.Portfolio, _, err = data[view.Portfolio](r.published.Portfolio()); err != nil {
			return nil, err
		}
	}
	for _, s := range r.signals.Signals {
		body.Signals = append(body.Signals, signalCard{s, findingOf(s.Definition, s.Snapshot).Distance, template.HTML(plot.Spark(priceSeries(s)))})
	}
	l := p.layout(r.site, "/")
	l.Title = view.Product
	l.Description = "Market signals from free public sources, each with its interval, its baseline and the data it rests on."
	l.JSON = "/api/signals"
	l.Image = p.o.PublicURL + cardName
	l.Body = body
	return p.document("home", l, time.Time{}), nil
}
