package pages

import (
	"context"
	"maps"
	"slices"
	"time"

	"tidemark/api/view"
	"tidemark/internal/locale/languages"
)

// docsBody is the content of the documentation.
type docsBody struct {
	PublicURL string
	// Info is nil without a Picks API.
	Info     *view.Info
	Prices   []price
	Signals  []*view.Signal
	Problems []view.ProblemKind
	// Record, Described and Agents report whether the record, the descriptions for programs and the MCP server exist.
	Record, Described, Agents bool
	// Languages are the names of the languages of the texts.
	Languages string
}

// price is the price of one endpoint in US dollars.
type price struct{ Path, USD string }

// docs explains how programs use the service.
func (p *Pages) docs(_ context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	body := docsBody{PublicURL: p.o.PublicURL, Signals: r.signals.Signals, Problems: view.ProblemKinds(), Record: r.record != nil, Described: p.o.Described, Agents: p.o.Agents, Languages: languages.Named("and")}
	if r.published != nil {
		var err error
		if body.Info, _, err = data[view.Info](r.published.Info(nil)); err != nil {
			return nil, err
		}
		for _, path := range slices.Sorted(maps.Keys(body.Info.Prices)) {
			body.Prices = append(body.Prices, price{path, body.Info.Prices[path]})
		}
	}
	l := p.layout(r.site, r.path)
	l.Title = "Documentation" + suffix
	l.Description = "How programs use Tidemark: signals without a key, picks with one or paid by request, formats, errors and limits."
	l.Body = body
	return p.document("docs", l, time.Time{}), nil
}

// statusBody is the content of the status page.
type statusBody struct {
	Signals  []*view.Signal
	Record   *view.RecordState
	Degraded bool
	Version  string
}

// status shows the current state of the service.
func (p *Pages) status(_ context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	body := statusBody{Signals: r.signals.Signals, Record: r.record, Degraded: r.degraded}
	if r.published != nil {
		info, _, err := data[view.Info](r.published.Info(nil))
		if err != nil {
			return nil, err
		}
		body.Version = info.Version
	}
	l := p.layout(r.site, r.path)
	l.Title = "Status" + suffix
	l.Description = "How fresh every signal is, and how the record stands with its witnesses."
	l.Body = body
	return p.document("status", l, time.Time{}), nil
}

// terms shows the terms of use and the licences of the data.
func (p *Pages) terms(_ context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	l := p.layout(r.site, r.path)
	l.Title = "Terms" + suffix
	l.Description = "What may be done with the service and its data, what it is not, and what is kept of its visitors."
	l.Body = struct {
		Signals   []*view.Signal
		Published bool
	}{r.signals.Signals, r.published != nil}
	return p.document("terms", l, time.Time{}), nil
}
