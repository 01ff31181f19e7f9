package pages

import (
	"html/template"
	"strings"
	"sync"
	"time"

	"tidemark/api/view"
)

// rendered keeps the pages of one state: each is rendered when it is first asked for.
type rendered struct {
	state *view.State
	pages sync.Map // path to *view.Document
}

// Page returns the page at a path, or nil where there is none. Before the first load st is nil, and only what needs no data is
// there.
func (p *Pages) Page(st *view.State, address string) *view.Document {
	if doc, ok := p.static[address]; ok {
		return doc
	}
	r := p.done.Load()
	if r == nil || r.state != st {
		r = &rendered{state: st}
		p.done.Store(r)
	}
	if doc, ok := r.pages.Load(address); ok {
		return doc.(*view.Document)
	}
	doc := p.route(st, address)
	if doc != nil {
		r.pages.Store(address, doc)
	}
	return doc
}

// route finds the page at a path. The paths that have one are as many as the signals and problems, so keeping them is bounded.
func (p *Pages) route(st *view.State, address string) *view.Document {
	if code, ok := strings.CutPrefix(address, "/problems/"); ok {
		return p.problem(st, address, code)
	}
	if st == nil {
		return nil
	}
	if address == "/" {
		return p.home(st, address)
	}
	id, ok := strings.CutPrefix(address, "/signals/")
	if !ok {
		return nil
	}
	id, isBrief := strings.CutSuffix(id, "/brief")
	s := st.Signal(id)
	switch {
	case s == nil:
		return nil
	case isBrief:
		return p.brief(st, address, s)
	}
	return p.signal(st, address, s)
}

// suffix ends the title of every page but the first.
const suffix = " · Tidemark"

func (p *Pages) home(st *view.State, address string) *view.Document {
	l := p.layout(st, address)
	l.Title = view.Product
	l.Description = "Market signals from free public sources, each with its interval, its baseline and the data it rests on."
	l.JSON = "/api/signals"
	l.Body = st.Signals
	return p.document("home", l, time.Time{})
}

func (p *Pages) signal(st *view.State, address string, s *view.Signal) *view.Document {
	l := p.layout(st, address)
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

func (p *Pages) brief(st *view.State, address string, s *view.Signal) *view.Document {
	l := p.layout(st, address)
	l.Title = s.Snapshot.Name + ": brief" + suffix
	l.Description = "What the signal says, how it is made and where it fails: " + s.Snapshot.Name + "."
	l.Disclaimer = "" // the brief's own text ends with it
	l.Body = struct {
		Signal *view.Signal
		HTML   template.HTML
	}{s, markdown(s.Markdown)}
	return p.document("brief", l, time.Time{})
}

// problem is the page that the type of a problem leads to. Hyphens are taken for underscores.
func (p *Pages) problem(st *view.State, address, code string) *view.Document {
	kind, ok := view.ProblemKindOf(strings.ReplaceAll(code, "-", "_"))
	if !ok {
		return nil
	}
	l := p.layout(st, address)
	l.Canonical = p.publicURL + "/problems/" + kind.Code
	l.Title = kind.Title + suffix
	l.Description = kind.Meaning
	l.Body = kind
	return p.document("problem", l, time.Time{})
}

// Problem returns the HTML of a problem that happened.
func (p *Pages) Problem(st *view.State, problem view.Problem) []byte {
	l := p.layout(st, problem.Instance)
	l.Canonical = "" // no address stands for an error
	l.Title = problem.Title + suffix
	l.Description = problem.Detail
	l.Body = problem
	return p.render("error", l)
}

// firstSentence is short enough for a search result.
func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	return s
}
