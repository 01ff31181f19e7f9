// Package api is HTTP in, JSON out: routes, status codes, header fields and negotiation over the finished answers of package view.
// It reads and never writes. Handlers return errors; one adapter turns them into problem documents. Start at New, then read
// signals.go and route.go.
package api

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/api/fastpath"
	"tidemark/api/view"
	"tidemark/internal/httpserve"
	"tidemark/internal/telemetry"
)

// Pages is the HTML door to the same views. Package pages has one.
type Pages interface {
	// Page returns the page at an address as a visitor sees it who may see the data of some endpoints (paths below /api/v1), or nil where
	// there is none. An error that is a *view.Refusal is the client's; one that is a *view.Moved names the page's one address.
	Page(ctx context.Context, address *url.URL, sees []string) (*view.Page, error)
	// Problem returns the HTML of a problem.
	Problem(p view.Problem) []byte
	// Dashboard returns the HTML of the page on which a key is managed.
	Dashboard(d view.Dashboard) []byte
}

// Discovery tells programs what there is. Package discovery has one.
type Discovery interface {
	// Paths are the addresses that it has.
	Paths() []string
	// Document returns what is at one of them, or nil while that is not loaded.
	Document(path string) *view.Document
}

// Check is something that must be so before the program is ready.
type Check struct {
	// Name is public: "migrations", "roles".
	Name string
	// OK is asked by each request for /readyz. It must answer at once.
	OK func() bool
}

// Options says what a server serves.
type Options struct {
	View *view.View
	// Record may be nil: then nothing is served about the record.
	Record *view.Record
	// Pages may be nil: then there are none.
	Pages Pages
	// Discovery may be nil: then programs are told nothing.
	Discovery Discovery
	// Ready are asked by /readyz, beside the view's first load.
	Ready []Check
	// Accounts may be nil: then there are no keys, and nothing that needs one.
	Accounts *Accounts
	// Publications may be nil: then there is no /info, and nobody answers for the Data.
	Publications *view.Publications
	// Data holds the data endpoints by their path below /api/v1, as in the table of prices.
	Data map[string]Build
	// TransparencyLog may be nil: then there is none.
	TransparencyLog TransparencyLog
	// Raw may be nil: then no archived bytes are shown.
	Raw *RawOptions
	// Payments may be nil: then nothing is sold by request.
	Payments *Payments
	// Now is the wall clock that connections live by. It may be nil: then all requests go through net/http.
	Now func() time.Time
	// Agents may be nil: then there is no MCP.
	Agents *AgentOptions
	// Claims may be nil: then keys are not topped up by transfers. They need Accounts.
	Claims *ClaimsOptions
	// Cards may be nil: then balances are not topped up by card.
	Cards Cards
	// Timeouts bound what a client can hold of a connection.
	Timeouts Timeouts
	// Log gets a line for each fault of ours, and for each request at debug level.
	Log *slog.Logger
	// Metrics counts requests and charges. It may be nil.
	Metrics *telemetry.Metrics
	// Tracer begins a trace for each request that net/http answers. It may be nil.
	Tracer *telemetry.Tracer
}

// Timeouts bound how long a client can hold a connection. A zero value means the default.
type Timeouts struct {
	// Header is for sending the fields of a request: 5 seconds. Request is for a whole request, and for accepting its answer: 15 seconds.
	// Idle is the pause between two requests: 60 seconds.
	Header, Request, Idle time.Duration
}

func (t Timeouts) orDefault() Timeouts {
	return Timeouts{
		Header: cmp.Or(t.Header, 5*time.Second), Request: cmp.Or(t.Request, 15*time.Second), Idle: cmp.Or(t.Idle, time.Minute),
	}
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	o       Options
	view    *view.View
	log     *slog.Logger
	public  http.Handler
	signals http.Handler
	// billing is nil where there are no accounts.
	billing *billing
	// origins may use the door for agents; local: only where they believe to talk to this machine.
	origins []string
	local   bool
	// sameOrigin judges where the forms of the dashboard come from, and what makes and ends keys.
	sameOrigin *http.CrossOriginProtection
	// claimService is nil where no transfers are taken.
	claimService *claimService
	// security are the fields of every answer.
	security http.Header
	// discovered are the paths of Discovery, routes everything that is served at the public address.
	discovered map[string]bool
	routes     []route
	// logs is nil where there is no transparency log.
	logs *logServer
	// raws is nil where no archived bytes are shown.
	raws *rawServer
}

// route is a method and a pattern of net/http.
type route struct{ method, pattern string }

// New returns a server. Nothing runs until Serve, or until its handlers are mounted elsewhere.
func New(o Options) *Server {
	o.Timeouts = o.Timeouts.orDefault()
	s := &Server{o: o, view: o.View, log: o.Log, security: http.Header{"X-Content-Type-Options": {"nosniff"}}}
	if strings.HasPrefix(o.View.PublicURL(), "https:") {
		s.security["Strict-Transport-Security"] = []string{"max-age=31536000"}
	}

	public := http.NewServeMux()
	s.handleGet(public, "/api/signals", s.catalog)
	s.handleGet(public, "/api/signals/{$}", s.catalog)
	s.handleGet(public, "/api/signals/{id}", s.signal)
	s.handleGet(public, "/api/signals/{id}/brief", s.brief)
	s.handleGet(public, "/api/signals/{id}/history", s.history)
	s.handleGet(public, "/api/signals/{id}/vintages", s.vintages)
	s.handleGet(public, "/api/signals/{id}/changes", s.changes)
	s.handleGet(public, "/api/signals/{id}/forecasts", s.forecasts)
	s.handleGet(public, "/api/signals/{id}/forecasts/{period}", s.forecastsOf)
	s.handleGet(public, "/api/signals/{id}/scorecard", s.scorecard)
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
		s.handle(public, http.MethodPost, "/webhooks/stripe", s.webhook)
		if o.Pages != nil {
			s.dashboard(public)
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
		s.logs = &logServer{store: o.TransparencyLog}
		s.handleGet(public, logPrefix, s.serveLog)
		s.handleGet(public, "/api/vintages/prove", s.proveVintage)
	}
	if o.Raw != nil {
		s.raws = newRawServer(*o.Raw)
		s.handleGet(public, "/raw/{sha256}", s.serveRaw)
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
	s.handleGet(only, "/{id}", s.signal)
	s.handleGet(only, "/{id}/brief", s.brief)
	s.handleGet(only, "/{id}/history", s.history)
	s.handleGet(only, "/{id}/vintages", s.vintages)
	s.handleGet(only, "/{id}/changes", s.changes)
	s.handleGet(only, "/{id}/forecasts", s.forecasts)
	s.handleGet(only, "/{id}/forecasts/{period}", s.forecastsOf)
	s.handleGet(only, "/{id}/scorecard", s.scorecard)
	s.handleGet(only, "/", s.notFound)
	if o.Discovery != nil {
		s.handleGet(only, "/openapi.json", s.serveOpenAPI)
	}
	s.routes = s.routes[:served]
	s.signals = s.middleware(only, func(string) bool { return true })
	return s
}

// Handler serves everything: the APIs, the pages, health.
func (s *Server) Handler() http.Handler { return s.public }

// SignalsHandler serves the Signals API alone, at the root.
func (s *Server) SignalsHandler() http.Handler { return s.signals }

// Run keeps what the server remembers of keys current and hears of verdicts on claims until ctx ends, and returns nil then. While it
// does not run, nothing is remembered.
func (s *Server) Run(ctx context.Context) error {
	if s.billing == nil {
		<-ctx.Done()
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.billing.keys.run(ctx) })
	if s.claimService != nil {
		g.Go(func() error { return s.claimService.run(ctx) })
	}
	return g.Wait()
}

// Serve answers requests for Handler until ctx ends, and closes ln. It returns nil when ctx ended, after the requests in flight
// were answered or three seconds have passed.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	return s.serve(ctx, ln, s.public, "/api/signals")
}

// ServeSignals is Serve for SignalsHandler.
func (s *Server) ServeSignals(ctx context.Context, ln net.Listener) error {
	return s.serve(ctx, ln, s.signals, "")
}

const (
	// maxHeaderBytes is the most that the fields of a request may have.
	maxHeaderBytes = 16 << 10
	stopTimeout    = 3 * time.Second
)

// serve serves h on ln, and what is finished below base, the address of the signals, without net/http.
func (s *Server) serve(ctx context.Context, ln net.Listener, h http.Handler, base string) error {
	var after func(context.Context)
	if s.o.Now != nil && !s.log.Enabled(ctx, slog.LevelDebug) { // the debug log has a line for each request
		fast := fastpath.New(ln, fastpath.Options{
			Answer: (&fastAnswers{s: s, base: base}).answer, First: s.o.Timeouts.Header, Idle: s.o.Timeouts.Idle, Write: s.o.Timeouts.Request, Now: s.o.Now,
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
