package temis

import (
	"net/http"
	"sync"
	"time"

	"tidemark/ingest/world/synth"
)

// Sandbox answers for the grids from May 2018 on, in their own layout and with synthetic figures as of the world's clock. A month exists
// from its release on, some weeks after its end, and is a 404 before. All cells outside the regions are undefined. A grid never changes;
// it is drawn on the first request and kept. The handlers are safe for concurrent use.
func Sandbox(mux *http.ServeMux, w synth.World) {
	s := &sandbox{now: w.Now, air: draw(w), grids: map[time.Time][]byte{}}
	mux.HandleFunc(host+"/tropomi/no2/", s.grid)
}

type sandbox struct {
	now func() time.Time
	air *no2Field

	mu    sync.Mutex
	grids map[time.Time][]byte
}

func (s *sandbox) grid(w http.ResponseWriter, r *http.Request) {
	month, ok := monthOf(r.URL.Path)
	if !ok || month.Before(firstMonth) || s.air.released(month).After(s.now()) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`<?xml version="1.0" encoding="UTF-8"?>` + "\n<Error><Code>NoSuchKey</Code></Error>\n"))
		return
	}
	body, err := s.body(month)
	if err != nil { // no figure that is drawn can fail
		http.Error(w, "Internal error: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-gzip")
	w.Header().Set("Last-Modified", s.air.released(month).Format(http.TimeFormat))
	_, _ = w.Write(body) // an error means that the client has gone
}

func (s *sandbox) body(month time.Time) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if body, drawn := s.grids[month]; drawn {
		return body, nil
	}
	body, err := s.air.grid(month).Gzip()
	if err == nil {
		s.grids[month] = body
	}
	return body, err
}
