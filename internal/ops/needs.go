package ops

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"tidemark/internal/plain"
	"tidemark/internal/telemetry"
)

// Need is an external service that a process's role works with.
type Need struct {
	// Name is the kind of service: postgres, redis, archive. Setting names the setting with its address.
	Name, Setting string
	// Vital means that the role cannot do any of its work without the service.
	Vital bool
	// Ask checks that the service is reachable. It has a timeout, and is not called again before it has returned.
	Ask func(ctx context.Context) error
}

// Standing is the state of a need.
type Standing struct {
	Name    string `json:"name"`
	Setting string `json:"setting"`
	// Vital means that the process is not ready without the need.
	Vital bool `json:"vital"`
	OK    bool `json:"ok"`
	// Since is the time of the last change of OK.
	Since time.Time `json:"since"`
	// LastError is the newest error, which may be resolved, and LastErrorAt its time. Both are nil if there was no error.
	LastError   *string    `json:"last_error"`
	LastErrorAt *time.Time `json:"last_error_at"`
}

// Watch tracks the state of a process's needs. Use NewWatch to create one; it is safe for concurrent use.
type Watch struct {
	needs []Need
	now   func() time.Time
	log   *slog.Logger
	// metrics counts panics. It may be nil.
	metrics *telemetry.Metrics

	mu        sync.Mutex
	standings []Standing
}

const (
	// askEvery is the pause between two checks, and askTimeout limits one check. A busy connection pool answers later than a server.
	askEvery   = 2 * time.Second
	askTimeout = 5 * time.Second
)

var errNotAsked = errors.New("it was not asked yet")

// NewWatch returns a watch, and adds its needs to the metrics. It reports every need as not OK until Run has checked it. The metrics may be
// nil.
func NewWatch(needs []Need, now func() time.Time, log *slog.Logger, metrics *telemetry.Metrics) *Watch {
	w := &Watch{needs: needs, now: now, log: log, metrics: metrics, standings: make([]Standing, len(needs))}
	at, text := now().UTC(), errNotAsked.Error()
	for n, one := range needs {
		w.standings[n] = Standing{Name: one.Name, Setting: one.Setting, Vital: one.Vital, Since: at, LastError: &text, LastErrorAt: &at}
	}
	if len(needs) > 0 {
		metrics.Watch(func(context.Context) ([]telemetry.Reading, error) { return w.readings(), nil }, needOK)
	}
	return w
}

// Run checks each need in its own goroutine until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	var asking sync.WaitGroup
	for n := range w.needs {
		asking.Go(func() { w.ask(ctx, n) })
	}
	asking.Wait()
}

func (w *Watch) ask(ctx context.Context, n int) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		timed, stop := context.WithTimeout(ctx, askTimeout)
		err := w.metrics.Guard(timed, w.log, "needs", func() error { return w.needs[n].Ask(timed) })
		stop()
		if ctx.Err() != nil {
			return
		}
		w.note(ctx, n, err)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// note records the result of a check.
func (w *Watch) note(ctx context.Context, n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, at := &w.standings[n], w.now().UTC()
	first := s.LastError != nil && *s.LastError == errNotAsked.Error()
	changed := first || s.OK != (err == nil)
	if s.OK != (err == nil) {
		s.OK, s.Since = err == nil, at
	}
	switch {
	case err != nil:
		text := plain.Error(err)
		s.LastError, s.LastErrorAt = &text, &at
	case first:
		s.LastError, s.LastErrorAt = nil, nil
	}
	switch {
	case !changed || first && err == nil:
	case err != nil:
		w.log.WarnContext(ctx, "something that the process needs is away", "need", s.Name, "setting", s.Setting, "vital", s.Vital, "err", err)
	default:
		w.log.InfoContext(ctx, "something that the process needs is back", "need", s.Name, "setting", s.Setting)
	}
}

// Standings returns the states of all needs, in their order.
func (w *Watch) Standings() []Standing {
	if w == nil {
		return []Standing{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.standings)
}

// readings returns the states of all needs as metrics.
func (w *Watch) readings() (list []telemetry.Reading) {
	for _, s := range w.Standings() {
		list = append(list, telemetry.Reading{Of: needOK, Value: truth(s.OK), Labels: []string{s.Name, s.Setting}})
	}
	return list
}

// Health says whether a process does its work, and what is missing.
type Health struct {
	OK   bool   `json:"ok"`
	Role string `json:"role"`
	// Missing lists what the process waits for or cannot work without. Degraded lists what is unavailable while the process still does its
	// work.
	Missing  []string `json:"missing"`
	Degraded []string `json:"degraded"`
	// Needs are all services that the process works with.
	Needs []Standing `json:"needs"`
}

// health returns the process's health at this moment.
func (s *Server) health() Health {
	h := Health{Role: s.o.Role, Missing: []string{}, Degraded: []string{}, Needs: s.o.Needs.Standings()}
	add := func(list *[]string, name string) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for _, c := range s.o.Ready {
		if !c.OK() {
			add(&h.Missing, c.Name)
		}
	}
	for _, n := range h.Needs {
		switch {
		case n.OK:
		case n.Vital:
			add(&h.Missing, n.Name)
		default:
			add(&h.Degraded, n.Name)
		}
	}
	if s.o.Degraded != nil {
		for _, name := range s.o.Degraded() {
			if !slices.Contains(h.Missing, name) {
				add(&h.Degraded, name)
			}
		}
	}
	h.OK = len(h.Missing) == 0
	return h
}
