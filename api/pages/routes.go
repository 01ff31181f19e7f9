package pages

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/api/view"
	"tidemark/internal/locale/languages"
	"tidemark/internal/nearest"
	"tidemark/picks"
)

// site is the current data of the views. Data that are not loaded or not configured are nil.
type site struct {
	signals   *view.State
	record    *view.RecordState
	published *view.PublicationsState
	// degraded reports whether the database is unavailable.
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

// request is the input of a page.
type request struct {
	site

	// path is the address without its query. rest is the part after the route's prefix.
	path, rest string
	// query contains the parameters that are present and not empty, each once.
	query url.Values
	// prefers is the visitor's language. sees are the endpoints whose non-free data the visitor may see. all means that all visitors see
	// everything.
	prefers picks.Lang
	sees    []string
	all     bool
	seen    *seen
}

// seen records which data a page read and showed during rendering.
type seen struct {
	path    string
	read    url.Values
	paid    []string
	differs bool
	// negotiated reports that the language that the visitor prefers was read.
	negotiated bool
}

// whole reports whether the page may show the non-free data of an endpoint. A page calls it only if it has such data, because the call also
// records that the visitor pays for them.
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

// page renders a page, or returns nil if the page does not exist. The visitor sees the text of a *view.Refusal error.
type page func(ctx context.Context, r request) (*view.Document, error)

// table returns the existing pages, by their whole paths and by prefixes that end in a slash.
func (p *Pages) table() (whole, below map[string]page) {
	whole = map[string]page{
		"/": p.home, cardName: p.homeCard, "/docs": p.docs, "/status": p.status, "/terms": p.terms, "/changelog": p.changelog, "/changelog.json": p.changelogJSON,
		"/method": p.methodPage, "/calendar": p.calendarPage, calendarName: p.calendarFile,
		"/compare": p.compare, "/compare" + cardName: p.compareCard,
	}
	below = map[string]page{"/signals/": p.signalPage, "/problems/": p.problem, view.FramePrefix: p.embed, "/evidence/": p.evidence}
	if p.o.Publications != nil {
		whole["/picks"], whole["/portfolio"] = p.picksPage, p.portfolio
		whole["/events"], whole["/economic-events"], whole["/digest"] = p.events, p.economy, p.digest
		whole[picksFeed], below["/research/"] = p.feed, p.research
		below["/picks/"] = p.pickPage
	}
	if p.o.Record != nil {
		whole["/verify"] = p.verify
	}
	for path, title := range titles {
		if whole[path] != nil {
			whole[path+cardName] = p.titleCard(path, title)
		}
	}
	return whole, below
}

// has reports whether a page exists at an address.
func (p *Pages) has(address string) bool {
	path, _, _ := strings.Cut(address, "?")
	return p.whole[path] != nil
}

// route finds the page for a path.
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

// parents are the paths that people get by shortening the address of a page, with the pages that list what is below them.
var parents = map[string]string{"/signals": "/", "/research": "/picks"}

// canonicalPath returns the path of the page that a path means. It drops slashes at the end, and knows the parents of pages. It returns other
// paths unchanged, so the result is a path of this site whenever it differs.
func (p *Pages) canonicalPath(path string) string {
	short := strings.TrimRight(path, "/")
	if to := parents[short]; p.has(to) {
		return to
	}
	if id, ok := strings.CutPrefix(short, "/evidence/"); ok && p.o.View.State() != nil && p.o.View.State().Signal(id) != nil {
		return short + "/" + latest
	}
	if found, _ := p.route(short); found != nil {
		return short
	}
	return path
}

// canonicalLang returns the code of the language that a tag such as "EN" or "pt-BR" means. It returns any other text unchanged.
func canonicalLang(tag string) string {
	code, _, _ := strings.Cut(strings.ReplaceAll(tag, "_", "-"), "-")
	if lang, ok := picks.ParseLang(strings.ToLower(code)); ok {
		return string(lang)
	}
	return tag
}

// rendered caches the pages of one state. Each page is rendered on its first request.
type rendered struct {
	site  site
	pages sync.Map // renderedKey to *view.Page
	count atomic.Int32
}

// renderedKey identifies a rendered page: its path with its query, and the visitor's properties that change it. lang is empty if the page does
// not depend on the visitor's language.
type renderedKey struct {
	address string
	lang    picks.Lang
	sees    string
}

// find returns a cached page for a visitor, or nil.
func (r *rendered) find(address string, lang picks.Lang, sees string) *view.Page {
	for _, key := range []renderedKey{{address, lang, sees}, {address, "", sees}, {address, lang, ""}, {address, "", ""}} {
		if kept, ok := r.pages.Load(key); ok {
			if page := kept.(*view.Page); key.sees == sees || !page.Differs { //nolint:forcetypeassert // the map holds nothing else
				return page
			}
		}
	}
	return nil
}

// parameters are the query parameters that pages read. Other parameters, as in links from other sites, do not change the page.
var parameters = []string{"as_of", "code", "cursor", "first", "from", "lag", "lang", "max_severity", "min_severity", "range", "second", "shown", "status", "to"}

// fileParameters are the parameters of the addresses for programs.
var fileParameters = map[string][]string{calendarName: {"lang"}, picksFeed: {}, "/changelog.json": {}}

// FileParameters returns the parameters of an address for programs, and whether the address is one. Any other parameter of it is a mistake.
// Links from other sites do not lead to it.
func (p *Pages) FileParameters(path string) (names []string, ok bool) {
	names, ok = fileParameters[path]
	return names, ok && p.whole[path] != nil
}

// maxRendered bounds the cached pages of a state. Beyond that, pages are rendered for each request.
const maxRendered = 512

// Page returns the page at an address for a visitor, or nil if it does not exist. Before the first load only pages without data exist. A *view.Refusal error is the visitor's fault. A
// *view.Moved error contains the canonical address. Any other error is internal.
func (p *Pages) Page(ctx context.Context, address *url.URL, v view.Visitor) (*view.Page, error) {
	if doc, ok := p.static[address.Path]; ok {
		return &view.Page{Document: doc, Subject: address.Path}, nil
	}
	canonical := p.canonicalPath(address.Path)
	show, rest := p.route(canonical)
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
		return nil, invalid("refuse.query")
	}
	code := given.Get("lang")
	lang := canonicalLang(code)
	if lang != code {
		given.Set("lang", lang)
	}
	if canonical != address.Path || lang != code {
		return nil, &view.Moved{To: (&url.URL{Path: canonical, RawQuery: given.Encode()}).String()}
	}
	// Otherwise a mistyped as_of would show today's numbers without a warning.
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if near := nearest.Of(name, parameters...); near != "" && !slices.Contains(parameters, name) {
			return nil, invalid("refuse.parameter", name, near)
		}
	}
	query := url.Values{}
	for _, name := range parameters {
		if v := given.Get(name); v != "" {
			query.Set(name, v)
		}
	}
	if !p.o.Free {
		v.Sees = nil
	}
	if languages.Find(v.Lang) == nil {
		v.Lang = picks.English
	}
	key := renderedKey{address.Path + "?" + query.Encode(), v.Lang, strings.Join(v.Sees, "\n")}
	if kept := r.find(key.address, key.lang, key.sees); kept != nil {
		return kept, nil
	}
	look := &seen{path: address.Path, read: url.Values{}}
	asked := request{site: s, path: address.Path, rest: rest, query: query, prefers: v.Lang, sees: v.Sees, all: !p.o.Free, seen: look}
	doc, err := show(ctx, asked)
	if doc == nil || err != nil {
		return nil, err
	}
	if err := asked.unread(p.o.View.Now()); err != nil {
		return nil, err
	}
	page := &view.Page{Document: doc, Paid: look.paid, Subject: look.path + "?" + look.read.Encode(), Differs: look.differs, Negotiated: look.negotiated}
	if !page.Negotiated {
		key.lang = ""
	}
	if r.count.Add(1) <= maxRendered {
		r.pages.Store(key, page)
	}
	return page, nil
}

// unread rejects a day or a range that the page did not read: the page would show something else than its address says.
func (r request) unread(now time.Time) error {
	if text := r.query.Get("as_of"); text != "" && !r.seen.read.Has("as_of") {
		day, err := r.day("as_of", now)
		if err != nil || day.IsZero() {
			return err
		}
		return r.without("as_of", refuse(view.CodeInvalidParameter, "refuse.only now", day), "refuse.show now")
	}
	if r.query.Get("range") != "" && !r.seen.read.Has("range") {
		return r.without("range", refuse(view.CodeInvalidParameter, "refuse.no parameter", "range"), "refuse.show without")
	}
	return nil
}

// without adds to a refusal a link to the page without a parameter. link is the text of the link.
func (r request) without(name string, of *view.Refusal, link string) *view.Refusal {
	next := refuse(of.Code, link)
	r.query = r.withQuery("lang", "") // the link adds it
	return &view.Refusal{
		Code: of.Code, Detail: of.Detail + " " + next.Detail, In: func(lang picks.Lang) string { return of.In(lang) + " " + next.In(lang) },
		Next: &view.NextPage{Path: r.with(name, ""), In: next.In},
	}
}

// suffix ends the title of every page except the home page.
const suffix = " · Tidemark"

// problemBody is the content of the page that explains a kind of problem.
type problemBody struct {
	localizer
	view.ProblemKind
}

// problem is the page at the type URL of a problem. It treats hyphens as underscores.
func (p *Pages) problem(_ context.Context, r request) (*view.Document, error) {
	kind, ok := view.ProblemKindOf(strings.ReplaceAll(r.rest, "-", "_"))
	if !ok {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	r.path = "/problems/" + kind.Code
	l := p.layoutIn(r.local(lang), r.site, r.path)
	kind = l.problemKind(kind)
	l.Title = kind.Title + suffix
	l.Description = kind.Meaning
	l.Body = problemBody{l.localizer, kind}
	p.inLanguages(&l, r)
	return p.document("problem", l, time.Time{}), nil
}

// problemKind returns a kind of problem with its texts in the language. The page of an error has most titles, too.
func (l localizer) problemKind(kind view.ProblemKind) view.ProblemKind {
	if l.Lang == picks.English {
		return kind
	}
	id := "problem." + kind.Code
	if title := l.language().Words["error."+kind.Code]; title != "" {
		kind.Title = title
	} else {
		kind.Title = l.T(id + ".title")
	}
	kind.Meaning = l.T(id + ".meaning")
	kind.Remedy = strings.ReplaceAll(l.T(id+".remedy"), "%s", languages.Listed(l.T("or"))) // one names the languages
	return kind
}

// ProblemMeaning returns what a code of a problem means.
func (l localizer) ProblemMeaning(code string) string {
	kind, _ := view.ProblemKindOf(code)
	return l.problemKind(kind).Meaning
}

// errorBody is the content of a page that says what went wrong.
type errorBody struct {
	localizer
	view.Problem

	// Detail says in the page's language what is wrong with this request. It is empty where that is known in English only, as Problem.Detail.
	Detail string
	// Remedy says what the visitor can do.
	Remedy string
	Up     string
	// Next is the link to the nearest page. It is empty if none is known.
	Next dayLink
}

// Problem returns the HTML of a problem in a language. named reports whether the address names the language. detail is the problem's detail
// in that language. It is empty if it exists in English only. next is the page to which the last sentence of the detail leads, or nil.
func (p *Pages) Problem(problem view.Problem, lang picks.Lang, named bool, detail string, next *view.NextPage) []byte {
	local := localizer{Lang: lang, Named: named}
	code := "error." + problem.Code
	if _, ok := local.language().Words[code]; !ok {
		code = "error.other"
	}
	body := errorBody{localizer: local, Problem: problem, Detail: detail, Remedy: local.T(code + ".remedy"), Up: p.above(problem.Instance)}
	if lang == picks.English {
		body.Detail = problem.Detail
	} else {
		body.Title = local.T(code)
	}
	if problem.Detail == view.NothingServed {
		body.Detail = local.T("error.nothing served")
	}
	if next != nil {
		query := local.InLang()
		if strings.Contains(next.Path, "?") {
			query = string(local.AndLang())
		}
		body.Next = dayLink{next.In(lang), next.Path + query}
		body.Detail = strings.TrimSpace(strings.TrimSuffix(body.Detail, body.Next.Text))
	}
	l := p.layoutIn(local, p.site(), problem.Instance)
	if strings.HasPrefix(problem.Instance, view.FramePrefix) {
		return p.problemInFrame(l, body)
	}
	l.Canonical = "" // an error has no address
	l.Hidden = true
	l.Title = body.Title + suffix
	l.Description = cmp.Or(body.Detail, body.Remedy)
	l.Body = body
	return p.render("error", l)
}

// above returns the nearest existing page for an address without a page: the current page of the same signal, the list of picks, or the
// home page.
func (p *Pages) above(address string) string {
	path, _, _ := strings.Cut(address, "?")
	switch {
	case (strings.HasPrefix(path, "/signals/") || strings.HasPrefix(path, view.FramePrefix)) && p.o.View.State() != nil:
		if id := strings.Split(path, "/")[2]; p.o.View.State().Signal(id) != nil {
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

// Paths lists the paths of all pages, sorted. A path that ends in a slash means all paths below it.
func (p *Pages) Paths() []string {
	paths := slices.Collect(maps.Keys(p.whole))
	paths = slices.AppendSeq(paths, maps.Keys(p.below))
	paths = slices.AppendSeq(paths, maps.Keys(p.static))
	slices.Sort(paths)
	return paths
}
