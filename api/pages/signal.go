package pages

import (
	"context"
	"html/template"
	"strings"
	"time"

	"tidemark/api/view"
)

// home is the first page: the catalog.
func (p *Pages) home(_ context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	l := p.layout(r.site, "/")
	l.Title = view.Product
	l.Description = "Market signals from free public sources, each with its interval, its baseline and the data it rests on."
	l.JSON = "/api/signals"
	l.Body = r.signals.Signals
	return p.document("home", l, time.Time{}), nil
}

// signalPage is the page of a signal, or its brief.
func (p *Pages) signalPage(_ context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	id, isBrief := strings.CutSuffix(r.rest, "/brief")
	s := r.signals.Signal(id)
	switch {
	case s == nil:
		return nil, nil
	case isBrief:
		return p.brief(r, s), nil
	}
	return p.signal(r, s), nil
}

func (p *Pages) signal(r request, s *view.Signal) *view.Document {
	l := p.layout(r.site, r.path)
	l.Title = s.Snapshot.Name + suffix
	l.Description = firstSentence(s.Definition.Description)
	l.JSON = "/api/signals/" + s.Definition.ID
	l.JSONLD = embedJSON(s.Snapshot.JSONLD)
	l.Disclaimer = s.Snapshot.Disclaimer
	l.Body = s
	var modified time.Time
	if s.Snapshot.IngestedAt != nil {
		modified = *s.Snapshot.IngestedAt
	}
	return p.document("signal", l, modified)
}

func (p *Pages) brief(r request, s *view.Signal) *view.Document {
	l := p.layout(r.site, r.path)
	l.Title = s.Snapshot.Name + ": brief" + suffix
	l.Description = "What the signal says, how it is made and where it fails: " + s.Snapshot.Name + "."
	l.Disclaimer = "" // the brief's own text ends with it
	l.Body = struct {
		Signal *view.Signal
		HTML   template.HTML
	}{s, markdown(s.Markdown)}
	return p.document("brief", l, time.Time{})
}
