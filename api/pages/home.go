package pages

import (
	"context"
	"html/template"
	"math"
	"time"

	"tidemark/api/pages/plot"
	"tidemark/api/view"
	"tidemark/signals"
)

// homeBody is the content of the home page.
type homeBody struct {
	localizer

	Signals []signalCard
	// Lead is the most unusual signal with its plot, or nil if no signal has a z-score.
	Lead *leadSignal
	// Values is the number of values of all signals. Revised is how many of them replaced an earlier value.
	Values, Revised int
	// Published reports whether there are pages about picks. Verify, Docs and Dashboard report whether those pages exist.
	Published, Verify, Docs, Dashboard bool
	// Latest, Portfolio and Record are nil if they do not exist yet.
	Latest    *view.Pick
	Portfolio *view.Portfolio
	Record    *view.RecordState
	// Return plots the portfolio and its benchmark. It is nil before the inception.
	Return *portfolioBody
}

// leadSignal is the signal at the top of the home page.
type leadSignal struct {
	*view.Signal

	// Def is the definition in the page's language.
	Def     signals.Definition
	Finding string
	// Spread says how far the value is from its baseline, in units of its usual spread.
	Spread string
	Range  string
	Plots  signalPlots
}

// signalCard is a signal of the catalog.
type signalCard struct {
	*view.Signal

	// Def is the definition in the page's language.
	Def signals.Definition
	// Distance says how far the value is from its baseline. It is empty if that is unknown.
	Distance string
	Spark    template.HTML
}

// home is the home page: the most unusual finding, the evidence that numbers are kept, the catalog and the newest pick.
func (p *Pages) home(_ context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	body := homeBody{
		localizer: r.local(lang), Published: r.published != nil, Verify: p.has("/verify"), Docs: p.has("/docs"), Dashboard: p.o.Dashboard, Record: r.record,
	}
	if r.published != nil {
		doc, err := r.published.LatestPick(lang)
		if body.Latest, _, err = data[view.Pick](doc, err); err != nil {
			return nil, err
		}
		if body.Portfolio, _, err = data[view.Portfolio](r.published.Portfolio()); err != nil {
			return nil, err
		}
		if body.Return, err = body.smallReturn(r, body.Portfolio); err != nil {
			return nil, err
		}
	}
	for _, s := range offered(r.signals.Signals) {
		body.Signals = append(body.Signals, signalCard{s, body.Own(s.Definition), body.finding(s.Definition, s.Snapshot).Distance, template.HTML(plot.Spark(course(s.Definition, recent(s))))})
		for _, q := range s.History.Points(time.Time{}) {
			if body.Values++; q.Vintage > 1 {
				body.Revised++
			}
		}
	}
	l := p.layoutIn(body.localizer, r.site, "/")
	l.Title = view.Product
	l.Description = l.T("home.about")
	if s := furthestSignal(r.signals.Signals); s != nil {
		body.Lead = body.lead(s)
		l.Title = body.Lead.Finding + suffix
	}
	if body.Lead != nil || body.Return != nil {
		l.Scripts = []string{p.staticAddress("plot.js")}
	}
	l.JSON = "/api/signals"
	l.picture(p.o.PublicURL+cardName, "", r.local(lang).cardOfHome(r.site))
	l.Body = body
	p.inLanguages(&l, r)
	return p.document("home", l, time.Time{}), nil
}

// offered returns the signals that the operator has not deprecated. Links to the others keep working.
func offered(list []*view.Signal) (out []*view.Signal) {
	for _, s := range list {
		if s.Snapshot.Status != signals.StatusDeprecated {
			out = append(out, s)
		}
	}
	return out
}

// furthestSignal returns the live, fresh signal furthest from its baseline, in units of its usual spread. It returns nil if no such
// signal has a z-score.
func furthestSignal(list []*view.Signal) (found *view.Signal) {
	furthest := math.Inf(-1)
	for _, s := range list {
		x := s.Snapshot
		if x.ZScore == nil || x.Status != signals.StatusLive || x.Freshness.State != view.Fresh || findingOf(s.Definition, x).Distance == "" {
			continue
		}
		if z := math.Abs(*x.ZScore); z > furthest {
			found, furthest = s, z
		}
	}
	return found
}

// lead plots a signal over its usual range. It writes the z-score in words.
func (l localizer) lead(s *view.Signal) *leadSignal {
	name := defaultRange(s.Definition.Frequency)
	points := s.History.Points(beginning(name, s.History.Last()))
	out := &leadSignal{Signal: s, Def: l.Own(s.Definition), Finding: l.finding(s.Definition, s.Snapshot).String(), Range: l.T("range." + name)}
	out.Plots = l.plotHistory(out.Def, s.Snapshot, points, nil, overlay{}, out.Range)
	out.Plots.Z = ""
	if z := s.Snapshot.ZScore; z != nil {
		side := "home.spread above"
		if *z < 0 {
			side = "home.spread below"
		}
		out.Spread = l.Say(side, l.Num(new(math.Abs(*z)), 1))
	}
	if len(points) > 0 {
		out.Plots.Query = template.URL("&from=" + points[0].ObservedAt.Format(time.DateOnly)) //nolint:gosec // a date
	}
	return out
}
