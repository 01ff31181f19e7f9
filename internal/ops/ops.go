// Package ops is what operators look at: the private listener with health, metrics and pages, the alerts, and the doctor's findings. It
// reads how everything stands; what changes anything is in acts.go. Start at New, then State, on which all the rest is built.
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

// Check is something that must be so before a process is ready.
type Check struct {
	Name string
	// OK must answer at once.
	OK func() bool
}

// Options say what a private listener serves. The zero values of all fields but Role, Log and Metrics work.
type Options struct {
	// Role is what the process is: scheduler, worker, api or up.
	Role string
	// Ready must all be so before the process is ready.
	Ready []Check
	// Needs is how everything stands that the process works with. Nil: it needs nothing.
	Needs *Watch
	// Degraded names what is away at the moment while the process still does its work. Nil: nothing is said.
	Degraded func() []string
	Metrics  *telemetry.Metrics
	// Board is what the pages show; nil: there are none.
	Board *Board
	// Hosts are names of this machine, beside its addresses, its own name, localhost, and names without a dot. Requests for other hosts
	// are refused: a page whose name was bound anew to this machine must not read here through an operator's browser.
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
	if o.Board != nil {
		s.pages(*o.Board)
	}
	if o.Monitor != nil {
		s.mux.Handle(MonitorPath+"/", o.Monitor)
	}
	return s
}

// Handler serves everything.
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
		return true // no name in the public's DNS
	}
	return slices.ContainsFunc(s.o.Hosts, func(own string) bool { return strings.EqualFold(own, host) })
}

// healthz answers 200 while the process serves, whatever it lacks.
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
	_ = json.NewEncoder(w).Encode(h) // a client that went away is no fault
}

const (
	headerTimeout = 5 * time.Second
	answerTimeout = 30 * time.Second
	stopTimeout   = time.Second
)

// Serve answers requests until ctx ends, and closes ln. It returns nil then.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, ReadTimeout: answerTimeout, WriteTimeout: answerTimeout,
		ErrorLog: slog.NewLogLogger(s.o.Log.Handler(), slog.LevelWarn),
	}
	return httpserve.Until(ctx, srv, ln, stopTimeout, nil)
}
