package pages

import (
	"context"
	"html/template"
	"time"

	"tidemark/api/view"
)

// statusBody is the content of the status page.
type statusBody struct {
	localizer

	Signals  []*view.Signal
	Record   *view.RecordState
	Degraded bool
	Version  string
}

// Probes links what programs ask for the state.
func (statusBody) Probes() template.HTML {
	return anchor("/healthz", "healthz") + ", " + anchor("/readyz", "readyz")
}

// status shows the current state of the service.
func (p *Pages) status(_ context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	body := statusBody{localizer: r.local(lang), Signals: r.signals.Signals, Record: r.record, Degraded: r.degraded}
	if r.published != nil {
		info, _, err := data[view.Info](r.published.Info(nil))
		if err != nil {
			return nil, err
		}
		body.Version = info.Version
	}
	l := p.layoutIn(body.localizer, r.site, r.path)
	l.Title = body.T("status") + suffix
	l.Description = body.T("status.about")
	l.Body = body
	p.inLanguages(&l, r)
	return p.document("status", l, time.Time{}), nil
}

// terms shows the terms of use and the licenses of the data.
func (p *Pages) terms(_ context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	local := r.local(lang)
	l := p.layoutIn(local, r.site, r.path)
	l.Title = local.T("terms") + suffix
	l.Description = local.T("terms.about")
	l.Body = struct {
		localizer

		Signals   []*view.Signal
		Published bool
	}{local, r.signals.Signals, r.published != nil}
	p.inLanguages(&l, r)
	return p.document("terms", l, time.Time{}), nil
}
