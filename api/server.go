// Package api serves the finished answers of package view over HTTP. It contains the routes, status codes, header fields and content
// negotiation. Of signals and of the record it only reads. What it writes belongs to its clients: keys, charges, claims, alerts and webhooks,
// each through its store. Handlers return errors, and one adapter turns them into problem documents. Start at New, then
// read signals.go and route.go.
package api

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"tidemark/api/fastpath"
	"tidemark/api/view"
	"tidemark/internal/httpserve"
	"tidemark/internal/telemetry"
	"tidemark/picks"
)

// Pages serves the same views as HTML. Package pages implements it.
type Pages interface {
	// Page returns the page at an address for a visitor. It returns nil if the page does not exist. A *view.Refusal error is the client's
	// fault. A *view.Moved error contains the page's canonical address.
	Page(ctx context.Context, address *url.URL, v view.Visitor) (*view.Page, error)
	// FileParameters returns the parameters of a page that is a file for programs, and whether it is one.
	FileParameters(path string) (names []string, ok bool)
	// Problem returns the HTML of a problem in a language. named reports whether the address names the language. detail is the problem's
	// detail in that language. It is empty if it exists in English only.
	// next is the page to which its last sentence leads, or nil.
	Problem(p view.Problem, lang picks.Lang, named bool, detail string, next *view.NextPage) []byte
	// Dashboard returns the HTML of the page that manages a key.
	Dashboard(d view.Dashboard) []byte
}

// Discovery describes the service to programs. Package discovery implements it.
type Discovery interface {
	// Paths returns the paths of all documents.
	Paths() []string
	// Document returns the document at a path, or nil while it is not loaded.
	Document(path string) *view.Document
}

// Check is a condition of readiness.
type Check struct {
	// Name is public: "migrations", "roles".
	Name string
	// OK reports whether the condition holds. Each request for /readyz calls it. It must return immediately.
	OK func() bool
}

// Options configure a server.
type Options struct {
	View *view.View
	// Record may be nil. Then nothing about the record is served.
	Record *view.Record
	// Pages may be nil. Then no pages are served.
	Pages Pages
	// Discovery may be nil. Then no descriptions for programs are served.
	Discovery Discovery
	// Ready are the conditions of /readyz, in addition to the view's first load.
	Ready []Check
	// Accounts may be nil. Then there are no keys, and no endpoint that requires one.
	Accounts *Accounts
	// Publications may be nil. Then /info is not served, and Data has no publications.
	Publications *view.Publications
	// Data holds the data endpoints by their path below /api/v1, as in the tariff.
	Data map[string]Build
	// TransparencyLog may be nil. Then no log is served.
	TransparencyLog TransparencyLog
	// Pushes is the outbox. It may be nil. Then there is no stream of changes.
	Pushes PushStore
	// PrivateWebhooks lets keys name webhooks in private networks. It is for sandboxes.
	PrivateWebhooks bool
	// Free withholds from the stream and its feed what is sold, as the pages do: of a portfolio event they tell only that there is one.
	Free bool
	// Datasets may be nil. Then no daily data sets are served.
	Datasets Datasets
	// Raw may be nil. Then no archived bodies are served.
	Raw *RawOptions
	// Payments may be nil. Then nothing is sold by request.
	Payments *Payments
	// Now is the wall clock for connections. It may be nil. Then all requests go through net/http.
	Now func() time.Time
	// Agents may be nil. Then MCP is not served.
	Agents *AgentOptions
	// Claims may be nil. Then keys cannot be topped up by transfer. It requires Accounts.
	Claims *ClaimsOptions
	// Cards may be nil. Then balances cannot be topped up by card.
	Cards Cards
	// Connections bound how many connections are open at each address that the server listens on.
	Connections Connections
	// Timeouts bound how long a client can hold a connection.
	Timeouts Timeouts
	// Log receives a line for each internal error, and at debug level for each request.
	Log *slog.Logger
	// Metrics counts requests and charges. It may be nil.
	Metrics *telemetry.Metrics
	// Tracer starts a trace for each request that net/http serves. It may be nil.
	Tracer *telemetry.Tracer
}

// Timeouts bound how long a client can hold a connection. A zero value means the default.
type Timeouts struct {
	// Header bounds the sending of a request's header: 5 seconds. Request bounds a whole request and, separately, the receiving of its
	// response: 15 seconds. Idle bounds the pause between two requests: 60 seconds. Wait bounds how long a request waits for its turn: 5 seconds.
	Header, Request, Idle, Wait time.Duration
}

func (t Timeouts) orDefault() Timeouts {
	return Timeouts{
		Header: cmp.Or(t.Header, 5*time.Second), Request: cmp.Or(t.Request, 15*time.Second), Idle: cmp.Or(t.Idle, time.Minute),
		Wait: cmp.Or(t.Wait, view.QueueWait),
	}
}

// Server serves requests. It is safe for concurrent use.
type Server struct {
	o       Options
	view    *view.View
	log     *slog.Logger
	public  http.Handler
	signals http.Handler
	// billing is nil without Accounts.
	billing *billing
	// origins are the origins that may use the handler for agents. local is true if they must also address this machine as the host.
	origins []string
	local   bool
	// sameOrigin checks the origin of the dashboard's forms, and of requests that create or end keys.
	sameOrigin *http.CrossOriginProtection
	// claimService is nil if transfers are not accepted.
	claimService *claimService
	// security are the header fields of every response.
	security http.Header
	// discovered are the paths of Discovery. routes are all routes at the public address.
	discovered map[string]bool
	routes     []route
	// logs is nil without a transparency log.
	logs *logServer
	// pushes is nil without an outbox.
	pushes *pushHub
	// raws is nil if no archived bodies are served.
	raws *rawServer
	// files is the queue for files with typed columns, listings the queue for other long responses that are written for each request.
	files, listings *view.Queue
	// unavailableWarnings limits the lines about a database that is away. unavailableRequests counts the requests that met it since the last line.
	unavailableWarnings rate.Sometimes
	unavailableRequests atomic.Int64
}

// route is a method and a pattern of net/http.
type route struct{ method, pattern string }

// New returns a server. Nothing runs until Serve is called, or until its handlers are mounted elsewhere.
func New(o Options) *Server {
	o.Timeouts = o.Timeouts.orDefault()
	s := &Server{o: o, view: o.View, log: o.Log, security: http.Header{"X-Content-Type-Options": {"nosniff"}}, unavailableWarnings: rate.Sometimes{Interval: unavailableInterval}}
	queue := func(l view.QueueLimits) *view.Queue {
		l.Wait = o.Timeouts.Wait
		return view.NewQueue(l)
	}
	s.files, s.listings = queue(fileLimits), queue(listingLimits)
	if strings.HasPrefix(o.View.PublicURL(), "https:") {
		s.security["Strict-Transport-Security"] = []string{"max-age=31536000"}
	}

	public := http.NewServeMux()
	s.handleGet(public, "/api/signals", s.catalog)
	s.handleGet(public, "/api/signals/{$}", s.catalog)
	s.handleSignal(public, "/api/signals")
	s.handleGet(public, "/api/calendar", s.calendar)
	s.handleGet(public, "/api/compare", s.compare)
	if o.Publications != nil {
		s.handleGet(public, "/api/v1/info", s.info)
	}
	if o.Accounts != nil {
		s.billing = newBilling(*o.Accounts, o.Log)
		for path, build := range o.Data {
			s.handleKeyed(public, path, build)
		}
		s.sameOrigin = s.newSameOrigin()
		s.handle(public, http.MethodPost, registerPath, s.fromHere(s.register))
		s.handle(public, http.MethodPost, rotatePath, s.fromHere(s.rotate))
		s.handle(public, http.MethodDelete, revokePath, s.fromHere(s.revoke))
		s.handleGet(public, "/api/v1/account", s.account)
		s.handleGet(public, "/api/v1/account/usage", s.usage)
		if o.Claims != nil {
			s.claimService = newClaimService(*o.Claims, o.Accounts.DB, o.Log)
		}
		s.claims(public)
		if o.Pushes != nil {
			s.alerts(public)
		}
		s.handle(public, http.MethodPost, "/webhooks/stripe", s.webhook)
		if o.Pages != nil {
			s.dashboard(public)
			if o.Pushes != nil {
				s.alertForms(public)
			}
		}
	}
	if o.Payments != nil {
		s.x402(public)
	}
	if o.Record != nil {
		s.handleGet(public, "/api/v1/verify/picks", s.verifyPicks)
		s.handleGet(public, "/api/v1/verify/pick/{ticker}", s.verifyPick)
	}
	if o.TransparencyLog != nil {
		s.logs = &logServer{store: o.TransparencyLog, guard: func(ctx context.Context, f func() error) error { return o.Metrics.Guard(ctx, o.Log, "log heads", f) }}
		s.handleGet(public, logPrefix, s.serveLog)
		s.handleGet(public, "/api/vintages/prove", s.proveVintage)
		s.handleGet(public, "/api/methods", s.methods)
	}
	if o.Pushes != nil {
		s.pushes = newPushHub(o)
		s.handleGet(public, streamPath, s.pushStream)
		s.handleGet(public, feedPath, s.changesFeed)
	}
	if o.Datasets != nil {
		s.handleGet(public, datasetPrefix, s.serveDataset)
	}
	if o.Raw != nil {
		s.raws = newRawServer(*o.Raw)
		s.handleGet(public, "/raw/{sha256}", s.serveRaw)
		s.handleGet(public, "/raw/{sha256}/place", s.serveRawPlace)
	}
	if o.Discovery != nil {
		s.discover(public)
	}
	if o.Agents != nil {
		s.origins, s.local = originsOf(o.Agents.Origins, o.View.PublicURL())
		s.agents(public)
	}
	s.handleGet(public, "/healthz", s.healthz)
	s.handleGet(public, "/readyz", s.readyz)
	s.handleGet(public, "/", s.page)
	s.public = s.middleware(public, s.machineReadable)
	served := len(s.routes)

	only := http.NewServeMux()
	s.handleGet(only, "/{$}", s.catalog)
	s.handleSignal(only, "")
	s.handleGet(only, "/", s.notFound)
	if o.Discovery != nil {
		s.handleGet(only, "/openapi.json", s.serveOpenAPI)
	}
	s.routes = s.routes[:served]
	s.signals = s.middleware(only, func(string) bool { return true })
	return s
}

// handleSignal routes the answers about one signal below base.
func (s *Server) handleSignal(mux *http.ServeMux, base string) {
	for path, handler := range map[string]handler{
		"": s.signal, "/brief": s.brief, "/history": s.history, "/vintages": s.vintages, "/changes": s.changes, "/evidence": s.evidence,
		"/inputs": s.inputs, "/forecasts": s.forecasts, "/forecasts/{period}": s.forecastsOf, "/scorecard": s.scorecard,
	} {
		s.handleGet(mux, base+"/{id}"+path, handler)
	}
}

// Handler returns the handler of everything: the APIs, the pages and the health endpoints.
func (s *Server) Handler() http.Handler { return s.public }

// Run keeps the key cache current, receives the outcomes of claims, and sends changes to subscribers. It returns nil when ctx ends. Without
// Run, nothing is cached.
func (s *Server) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { <-ctx.Done(); return nil })
	if s.billing != nil {
		g.Go(func() error { return s.billing.keys.run(ctx) })
	}
	if s.pushes != nil {
		g.Go(func() error { return s.pushes.run(ctx) })
	}
	if s.claimService != nil {
		g.Go(func() error { return s.claimService.run(ctx) })
	}
	return g.Wait()
}

// Serve serves Handler on ln until ctx ends, and closes ln. When ctx ends, it waits up to three seconds for the requests in flight and
// returns nil.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	return s.serve(ctx, ln, s.public, "/api/signals")
}

// ServeSignals is Serve for the Signals API alone, at the root.
func (s *Server) ServeSignals(ctx context.Context, ln net.Listener) error {
	return s.serve(ctx, ln, s.signals, "")
}

const (
	// maxHeaderBytes is the maximum size of a request's header.
	maxHeaderBytes = 16 << 10
	stopTimeout    = 3 * time.Second
)

// serve serves h on ln. Requests below base, the path of the signals, are served without net/http if their response is prepared.
func (s *Server) serve(ctx context.Context, ln net.Listener, h http.Handler, base string) error {
	if s.o.Connections != (Connections{}) {
		ln = newBoundListener(ln, s.o.Connections, s.trustedProxies(), s.log)
	}
	var after func(context.Context)
	if s.o.Now != nil && !s.log.Enabled(ctx, slog.LevelDebug) { // the debug log has a line for each request
		fast := fastpath.New(ln, fastpath.Options{
			Answer: (&fastAnswers{s: s, base: base}).answer, Now: s.o.Now,
			HeaderTimeout: s.o.Timeouts.Header, IdleTimeout: s.o.Timeouts.Idle, WriteTimeout: s.o.Timeouts.Request,
			Panicked: func(p any) { s.o.Metrics.Panicked(ctx, s.log, "fast path", p) },
		})
		ln, after = fast, fast.Wait
	}
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: s.o.Timeouts.Header,
		ReadTimeout:       s.o.Timeouts.Request,
		WriteTimeout:      s.o.Timeouts.Request,
		IdleTimeout:       s.o.Timeouts.Idle,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	return httpserve.Until(ctx, srv, ln, stopTimeout, after)
}
