package api

import (
	"net/http"

	"tidemark/api/view"
)

// healthz responds with 200 while the process runs.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) error {
	return s.sendHealth(w, r, nil)
}

// readyz responds with 200 once there is data to serve. It stays 200 while Postgres is unavailable: otherwise a load balancer would remove
// a server that still serves from memory.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) error {
	return s.sendHealth(w, r, s.missing())
}

// Ready reports whether there is data to serve.
func (s *Server) Ready() bool { return len(s.missing()) == 0 }

// Degraded names the dependencies that are unavailable while the server still serves from memory.
func (s *Server) Degraded() []string {
	if s.degraded() {
		return degradedFields
	}
	return nil
}

// missing names what must load before the program is ready.
func (s *Server) missing() (missing []string) {
	if s.view.State() == nil {
		missing = append(missing, "snapshots")
	}
	if s.o.Record != nil && s.o.Record.State() == nil {
		missing = append(missing, "record")
	}
	if s.o.Publications != nil && s.o.Publications.State() == nil {
		missing = append(missing, "publications")
	}
	for _, c := range s.o.Ready {
		if !c.OK() {
			missing = append(missing, c.Name)
		}
	}
	return missing
}

func (s *Server) sendHealth(w http.ResponseWriter, r *http.Request, missing []string) error {
	h := view.Health{OK: len(missing) == 0, Missing: append([]string{}, missing...), Degraded: append([]string{}, s.Degraded()...)}
	status := http.StatusOK
	if !h.OK {
		status = http.StatusServiceUnavailable
	}
	body, err := view.Encode(h)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", view.CacheNever)
	write(w, r, status, view.TypeJSON, body)
	return nil
}
