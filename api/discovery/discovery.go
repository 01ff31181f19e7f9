// Package discovery describes the service to programs that know only its address. It serves descriptions for agents and crawlers (llms.txt,
// robots.txt, sitemap.xml) and the well-known addresses of RFC 8615 (api-catalog, security.txt, x402), in addition to the OpenAPI
// documents. Every linked page exists: discovery asks for a page before it names it. Start at New.
package discovery

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/accounts"
	"tidemark/api/openapi"
	"tidemark/api/view"
)

// Pages are the HTML pages. Package pages implements it.
type Pages interface {
	// Page returns the page at an address for a visitor who may see the data of some endpoints, or nil if the page does not exist.
	Page(ctx context.Context, address *url.URL, v view.Visitor) (*view.Page, error)
}

// Options configure what the documents describe.
type Options struct {
	PublicURL string
	// Contact is a web or mail address (https:, mailto:) for security reports.
	Contact string
	Tariff  accounts.Tariff
	View    *view.View
	// Publications and Pages may be nil. Then the documents omit them.
	Publications *view.Publications
	Pages        Pages
	// Sells reports whether responses are sold by request.
	Sells bool
	// MCP reports whether a server for agents exists at /api/mcp.
	MCP bool
	// Datasets reports whether the daily data sets are served at /data/.
	Datasets bool
	// Now is the wall clock.
	Now func() time.Time
}

// Discovery serves the documents. It is safe for concurrent use.
type Discovery struct {
	o      Options
	fixed  map[string]func() *view.Document
	made   map[string]func(site) *view.Document
	latest atomic.Pointer[rendered]
}

// New returns the documents.
func New(o Options) *Discovery {
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	described := openapi.New(o.PublicURL, o.Tariff)
	d := &Discovery{o: o, fixed: map[string]func() *view.Document{
		"/openapi.json":             described.Service,
		"/openapi.yaml":             described.ServiceYAML,
		"/api/signals/openapi.json": described.Signals,
		"/robots.txt":               sync.OnceValue(func() *view.Document { return text(robots(o.PublicURL)) }),
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
	return d
}

// Paths returns the paths of all documents.
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

// site is the current data of the views, and the month. The date in security.txt changes with the month.
type site struct {
	signals   *view.State
	published *view.PublicationsState
	month     time.Time
}

// rendered caches the documents built from one site.
type rendered struct {
	site      site
	documents map[string]*view.Document
}

// Document returns the document at a path, or nil while its data are not loaded.
func (d *Discovery) Document(path string) *view.Document {
	if fixed := d.fixed[path]; fixed != nil {
		return fixed()
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
	// Two requests may build the same document at the same time. Only one is cached, which does no harm.
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

// link is an entry of a description.
type link struct{ path, title, about string }

// guides are the HTML pages that may exist, in the order in which they are named.
var guides = []link{
	{"/", "Home", "the catalog of signals and the latest announced pick"},
	{"/docs", "Documentation", "how to use the service, in prose with examples"},
	{"/picks", "Picks", "all announced picks with their returns"},
	{"/portfolio", "Portfolio", "the model portfolio against its benchmark"},
	{"/verify", "Verify", "recomputes the hash chain in the visitor's browser"},
	{"/events", "Events", "what happened around the companies of the portfolio"},
	{"/economic-events", "Economic events", "macro figures with analysis"},
	{"/digest", "Digest", "the week in one page"},
	{"/calendar", "Calendar", "when the next figures are published; also /calendar.ics"},
	{"/compare", "Compare", "two signals as z-scores, their correlation at a lag and its interval"},
	{"/status", "Status", "freshness of every signal, state of the outside records"},
	{"/method", "Method", "how picks, signals and forecasts are made, and how the chain is built"},
	{"/changelog", "Changelog", "what changed, newest first"},
	{"/terms", "Terms", "terms of use, licenses of the data"},
}

// there returns the guides that exist.
func (d *Discovery) there() []link {
	var found []link
	for _, g := range guides {
		if d.has(g.path) {
			found = append(found, g)
		}
	}
	return found
}

// has reports whether a page exists at a path.
func (d *Discovery) has(path string) bool {
	if d.o.Pages == nil {
		return false
	}
	doc, err := d.o.Pages.Page(context.Background(), &url.URL{Path: path}, view.Visitor{})
	return err == nil && doc != nil
}
