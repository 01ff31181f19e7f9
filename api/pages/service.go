package pages

import (
	"context"
	"time"

	"tidemark/api/view"
)

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
