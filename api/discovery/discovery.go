// Package discovery tells programs that know nothing of the service but its address what there is: descriptions for people's agents and
// crawlers (llms.txt, robots.txt, sitemap.xml), and the well-known addresses of RFC 8615 (api-catalog, security.txt, x402), beside the
// OpenAPI documents. Whatever they link to is there: pages are asked for before they are named. Start at New.
package discovery

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tidemark/accounts"
	"tidemark/api/openapi"
	"tidemark/api/view"
)

// Pages are the pages for people that may be named. Package pages has them.
type Pages interface {
	// Page returns the page at an address as a visitor sees it who may see the data of some endpoints, or nil where there is none.
	Page(ctx context.Context, address *url.URL, sees []string) (*view.Page, error)
}

// Options says what there is to tell of.
type Options struct {
	PublicURL string
	// Contact is a web or mail address (https:, mailto:) for reports about security.
	Contact string
	Tariff  accounts.Tariff
	View    *view.View
	// Publications and Pages may be nil: then there is nothing to say of them.
	Publications *view.Publications
	Pages        Pages
	// Sells tells that answers are sold by request.
	Sells bool
	// MCP tells that there is a server for agents at /api/mcp.
	MCP bool
	// Now is the wall clock.
	Now func() time.Time
}

// Discovery answers. It is safe for concurrent use.
type Discovery struct {
	o      Options
	fixed  map[string]*view.Document
	made   map[string]func(site) *view.Document
	latest atomic.Pointer[rendered]
}

// New makes what does not change while the program runs.
func New(o Options) (*Discovery, error) {
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	described, err := openapi.New(o.PublicURL, o.Tariff)
	if err != nil {
		return nil, err
	}
	d := &Discovery{o: o, fixed: map[string]*view.Document{
		"/openapi.json":             described.Service,
		"/openapi.yaml":             described.ServiceYAML,
		"/api/signals/openapi.json": described.Signals,
		"/robots.txt":               text(robots(o.PublicURL)),
	}}
	d.made = map[string]func(site) *view.Document{
		"/llms.txt":                 d.llms,
		"/llms-full.txt":            d.llmsFull,
		"/sitemap.xml":              d.sitemap,
		"/.well-known/api-catalog":  d.catalog,
		"/.well-known/security.txt": d.security,
	}
	if o.Sells {
		d.made["/.well-known/x402"] = d.x402
	}
	return d, nil
}

// Paths are the addresses that something is at.
func (d *Discovery) Paths() []string {
	var all []string
	for path := range d.fixed {
		all = append(all, path)
	}
	for path := range d.made {
		all = append(all, path)
	}
	slices.Sort(all)
	return all
}

// site is what the views hold at one moment, and the month, in which the date in security.txt stays the same.
type site struct {
	signals   *view.State
	published *view.PublicationsState
	month     time.Time
}

// rendered is what was made of one site.
type rendered struct {
	site      site
	documents map[string]*view.Document
}

// Document is what is at one of the paths, or nil while what it tells of is not loaded.
func (d *Discovery) Document(path string) *view.Document {
	if doc := d.fixed[path]; doc != nil {
		return doc
	}
	write := d.made[path]
	if write == nil {
		return nil
	}
	now := d.o.Now().UTC()
	s := site{signals: d.o.View.State(), month: time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)}
	if d.o.Publications != nil {
		s.published = d.o.Publications.State()
	}
	if s.signals == nil || d.o.Publications != nil && s.published == nil {
		return nil
	}
	before := d.latest.Load()
	if before == nil || before.site != s {
		before = &rendered{site: s}
	} else if doc := before.documents[path]; doc != nil {
		return doc
	}
	// Two requests may make the same at the same time, and one of them is kept: no harm, it is made again.
	next := &rendered{site: s, documents: map[string]*view.Document{path: write(s)}}
	maps.Copy(next.documents, before.documents)
	d.latest.Store(next)
	return next.documents[path]
}

const (
	typeText    = "text/plain; charset=utf-8"
	typeXML     = "application/xml"
	typeLinkset = `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"`
)

func text(body string) *view.Document {
	return view.NewDocument(typeText, view.CachePublic, []byte(body), time.Time{})
}

// link is something that a description names.
type link struct{ path, title, about string }

// guides are the pages for people that may be there, in the order in which they are named.
var guides = []link{
	{"/", "Home", "the catalog of signals and the latest announced pick"},
	{"/docs", "Documentation", "how to use the service, in prose with examples"},
	{"/picks", "Picks", "all announced picks with their returns"},
	{"/portfolio", "Portfolio", "the model portfolio against its benchmark"},
	{"/verify", "Verify", "recomputes the hash chain in the visitor's browser"},
	{"/events", "Events", "what happened around the companies of the portfolio"},
	{"/economic-events", "Economic events", "macro figures with analysis"},
	{"/digest", "Digest", "the week in one page"},
	{"/status", "Status", "freshness of every signal, state of the witnesses"},
	{"/changelog", "Changelog", "what changed, newest first"},
	{"/terms", "Terms", "terms of use, licences of the data"},
}

// there are the guides that the program has.
func (d *Discovery) there() []link {
	var found []link
	for _, g := range guides {
		if d.has(g.path) {
			found = append(found, g)
		}
	}
	return found
}

// has tells whether there is a page at a path.
func (d *Discovery) has(path string) bool {
	if d.o.Pages == nil {
		return false
	}
	doc, err := d.o.Pages.Page(context.Background(), &url.URL{Path: path}, nil)
	return err == nil && doc != nil
}
