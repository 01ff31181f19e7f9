// Package ops serves operators: the private listener with health, metrics and pages, the alerts, and the doctor's findings. It reads the
// state of the installation; everything that changes state is in actions.go. Start at New, then read State, the base of all the rest.
package ops

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tidemark/internal/httpserve"
	"tidemark/internal/telemetry"
)

// Readiness is a condition that must be true before a process is ready.
type Readiness struct {
	Name string
	// OK must return at once.
	OK func() bool
}

// Options configure a private listener. The zero values of all fields except Role, Log and Metrics work.
type Options struct {
	// Role is the role of the process: scheduler, worker, api or up.
	Role string
	// Ready must all be true before the process is ready.
	Ready []Readiness
	// Needs tracks the services that the process works with. Nil means that it needs none.
	Needs *Watch
	// Degraded returns the names of unavailable services while the process still does its work. It may be nil.
	Degraded func() []string
	Metrics  *telemetry.Metrics
	// StatusPages is the data of the pages. Nil means no pages.
	StatusPages *StatusPages
	// Hosts are names of this machine, in addition to its addresses, its own name, localhost, and names without a dot. Requests for other
	// hosts are refused. This stops DNS rebinding, where a page of another site reads from here through an operator's browser.
	Hosts []string
	// Monitor is served at MonitorPath. It may be nil.
	Monitor *Monitor
	Log     *slog.Logger
}

// Server is a process's private listener. It is safe for concurrent use.
type Server struct {
	o   Options
	mux *http.ServeMux
}

// New returns a server. Nothing runs until Serve.
func New(o Options) *Server {
	s := &Server{o: o, mux: http.NewServeMux()}
	s.mux.HandleFunc("GET /healthz", s.healthz)
	s.mux.HandleFunc("GET /readyz", s.readyz)
	s.mux.Handle("GET /metrics", o.Metrics.Handler(o.Log))
	s.mux.HandleFunc("GET "+ProfilesPath+"{name}", s.profile)
	if o.StatusPages != nil {
		s.pages(*o.StatusPages)
	}
	if o.Monitor != nil {
		s.mux.Handle(MonitorPath+"/", o.Monitor)
	}
	return s
}

// Handler returns the handler of all paths.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Frame-Options", "DENY")
		if !s.isOurs(r.Host) {
			http.Error(w, "This listener is not for the host of this request. OPS_HOSTS names further hosts.", http.StatusMisdirectedRequest)
			return
		}
		s.mux.ServeHTTP(w, r)
	})
}

// isOurs reports whether a request's Host names this machine.
func (s *Server) isOurs(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if _, err := netip.ParseAddr(host); err == nil || host == "" || !strings.Contains(host, ".") {
		return true // not a name in the public DNS
	}
	return slices.ContainsFunc(s.o.Hosts, func(own string) bool { return strings.EqualFold(own, host) })
}

// healthz answers 200 while the process serves, even if a need is unavailable.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	h := s.health()
	h.OK, h.Missing = true, []string{}
	answer(w, h)
}

// readyz answers 200 while the process does its work.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) { answer(w, s.health()) }

func answer(w http.ResponseWriter, h Health) {
	w.Header().Set("Content-Type", "application/json")
	if !h.OK {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(h) // a disconnected client is not a fault
}

const (
	headerTimeout = 5 * time.Second
	answerTimeout = 30 * time.Second
	stopTimeout   = time.Second
)

// Serve answers requests until ctx ends, and closes ln. It then returns nil.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, ReadTimeout: answerTimeout, WriteTimeout: answerTimeout,
		ErrorLog: slog.NewLogLogger(s.o.Log.Handler(), slog.LevelWarn),
	}
	return httpserve.Until(ctx, srv, ln, stopTimeout, nil)
}
