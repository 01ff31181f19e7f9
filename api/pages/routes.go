package pages

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/api/view"
	"tidemark/internal/nearest"
)

// site is what the views hold at one moment. What is not loaded, or not there at all, is nil.
type site struct {
	signals   *view.State
	record    *view.RecordState
	published *view.PublicationsState
	// degraded tells that the database cannot be heard.
	degraded bool
}

func (p *Pages) site() site {
	s := site{signals: p.o.View.State(), degraded: p.o.View.Degraded()}
	if p.o.Record != nil {
		s.record, s.degraded = p.o.Record.State(), s.degraded || p.o.Record.Degraded()
	}
	if p.o.Publications != nil {
		s.published, s.degraded = p.o.Publications.State(), s.degraded || p.o.Publications.Degraded()
	}
	return s
}

// request is what a page is made of.
type request struct {
	site

	// path is the address without its query; rest what follows the route's name.
	path, rest string
	// query holds the parameters that are there and not empty, each once.
	query url.Values
	// sees are the endpoints whose data the visitor may see beyond what is free; all tells that everybody sees everything.
	sees []string
	all  bool
	seen *seen
}

// seen is what a page read and showed while it was made.
type seen struct {
	path    string
	read    url.Values
	paid    []string
	differs bool
}

// whole reports whether the page may show the data of an endpoint beyond what is free. A page asks only where it has such data.
func (r request) whole(endpoint string) bool {
	if r.all {
		return true
	}
	r.seen.differs = true
	if !slices.Contains(r.sees, endpoint) {
		return false
	}
	if !slices.Contains(r.seen.paid, endpoint) {
		r.seen.paid = append(r.seen.paid, endpoint)
	}
	return true
}

// page renders, or returns nil where there is nothing at the address. An error that is a *view.Refusal is told to the visitor.
type page func(ctx context.Context, r request) (*view.Document, error)

// table lists the pages that are there: by their whole paths, and by prefixes that end in a slash.
func (p *Pages) table() (whole, below map[string]page) {
	whole = map[string]page{
		"/": p.home, cardName: p.homeCard, "/docs": p.docs, "/status": p.status, "/terms": p.terms, "/changelog": p.changelog, "/changelog.json": p.changelogJSON,
		"/method": p.methodPage,
	}
	below = map[string]page{"/signals/": p.signalPage, "/problems/": p.problem, "/embed/": p.embed, "/evidence/": p.evidence}
	if p.o.Publications != nil {
		whole["/picks"], whole["/portfolio"] = p.picksPage, p.portfolio
		whole["/events"], whole["/economic-events"], whole["/digest"] = p.events, p.economy, p.digest
		whole["/picks.atom"], below["/research/"] = p.feed, p.research
		below["/picks/"] = p.pickPage
	}
	if p.o.Record != nil {
		whole["/verify"] = p.verify
	}
	return whole, below
}

// has tells whether there is a page at an address.
func (p *Pages) has(address string) bool {
	path, _, _ := strings.Cut(address, "?")
	return p.whole[path] != nil
}

// route finds the page at a path.
func (p *Pages) route(path string) (found page, rest string) {
	if found := p.whole[path]; found != nil {
		return found, ""
	}
	for prefix, found := range p.below {
		if rest, ok := strings.CutPrefix(path, prefix); ok && rest != "" {
			return found, rest
		}
	}
	return nil, ""
}

// rendered keeps the pages of one state: each is rendered when it is first asked for.
type rendered struct {
	site  site
	pages sync.Map // path, query and what the visitor sees, to *view.Page
	count atomic.Int32
}

// parameters are those of an address that pages read. What else there is, as links from elsewhere have it, makes no other page.
var parameters = []string{"as_of", "cursor", "lang", "min_severity", "range", "status"}

// maxRendered bounds how many pages of a state are kept. What is asked more variedly than that is rendered anew.
const maxRendered = 512

// Page returns the page at an address, or nil where there is none. sees are the endpoints, by their paths below /api/v1, whose data the
// visitor may see beyond what is free. Before the first load only what needs no data is there. An error that is a *view.Refusal is the
// visitor's, a *view.Moved names the one address of what was asked for; any other error is ours.
func (p *Pages) Page(ctx context.Context, address *url.URL, sees []string) (*view.Page, error) {
	if doc, ok := p.static[address.Path]; ok {
		return &view.Page{Document: doc, Subject: address.Path}, nil
	}
	show, rest := p.route(address.Path)
	if show == nil {
		return nil, nil
	}
	s := p.site()
	r := p.done.Load()
	if r == nil || r.site != s {
		r = &rendered{site: s}
		p.done.Store(r)
	}
	given, err := url.ParseQuery(address.RawQuery)
	if err != nil {
		return nil, &view.Refusal{Code: view.CodeInvalidParameter, Detail: "The query is not well formed."}
	}
	// A mistyped as_of would show today's numbers without a word.
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if near := nearest.Of(name, parameters...); near != "" && !slices.Contains(parameters, name) {
			return nil, &view.Refusal{Code: view.CodeInvalidParameter, Detail: fmt.Sprintf("%s is not a parameter of this page. Did you mean %s?", name, near)}
		}
	}
	query := url.Values{}
	for _, name := range parameters {
		if v := given.Get(name); v != "" {
			query.Set(name, v)
		}
	}
	if !p.o.Free {
		sees = nil
	}
	public := address.Path + "?" + query.Encode()
	name := public + "\n" + strings.Join(sees, "\n")
	if kept, ok := r.pages.Load(name); ok {
		return kept.(*view.Page), nil
	}
	if kept, ok := r.pages.Load(public + "\n"); ok && !kept.(*view.Page).Differs {
		return kept.(*view.Page), nil
	}
	look := &seen{path: address.Path, read: url.Values{}}
	doc, err := show(ctx, request{site: s, path: address.Path, rest: rest, query: query, sees: sees, all: !p.o.Free, seen: look})
	if doc == nil || err != nil {
		return nil, err
	}
	page := &view.Page{Document: doc, Paid: look.paid, Subject: look.path + "?" + look.read.Encode(), Differs: look.differs}
	if r.count.Add(1) <= maxRendered {
		r.pages.Store(name, page)
	}
	return page, nil
}

// suffix ends the title of every page but the first.
const suffix = " · Tidemark"

// problem is the page that the type of a problem leads to. Hyphens are taken for underscores.
func (p *Pages) problem(_ context.Context, r request) (*view.Document, error) {
	kind, ok := view.ProblemKindOf(strings.ReplaceAll(r.rest, "-", "_"))
	if !ok {
		return nil, nil
	}
	l := p.layout(r.site, "/problems/"+kind.Code)
	l.Title = kind.Title + suffix
	l.Description = kind.Meaning
	l.Body = kind
	return p.document("problem", l, time.Time{}), nil
}

// Problem returns the HTML of a problem that happened.
func (p *Pages) Problem(problem view.Problem) []byte {
	l := p.layout(p.site(), problem.Instance)
	l.Canonical = "" // no address stands for an error
	l.Hidden = true
	l.Title = problem.Title + suffix
	l.Description = problem.Detail
	l.Body = struct {
		view.Problem

		Up string
	}{problem, p.above(problem.Instance)}
	return p.render("error", l)
}

// above is the page that leads on from an address at which there is nothing: that of the same signal as it is now, the list of the picks, or
// the first page.
func (p *Pages) above(address string) string {
	path, _, _ := strings.Cut(address, "?")
	switch {
	case strings.HasPrefix(path, "/signals/") && p.o.View.State() != nil:
		if id, _, _ := strings.Cut(strings.TrimPrefix(path, "/signals/"), "/"); p.o.View.State().Signal(id) != nil {
			return "/signals/" + id
		}
	case (strings.HasPrefix(path, "/picks/") || strings.HasPrefix(path, "/research/")) && p.has("/picks"):
		return "/picks"
	}
	return "/"
}

// firstSentence is short enough for a search result.
func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	return s
}

// Paths lists where pages are, in order; a path that ends in a slash stands for all below it.
func (p *Pages) Paths() []string {
	paths := slices.Collect(maps.Keys(p.whole))
	paths = slices.AppendSeq(paths, maps.Keys(p.below))
	paths = slices.AppendSeq(paths, maps.Keys(p.static))
	slices.Sort(paths)
	return paths
}
