package api

import (
	"net/http"
	"time"

	"tidemark/api/view"
)

// maxBodies is the maximum number of bodies of one source in a response.
const maxBodies = 200

// proveVintage lists the bytes of a source that contained the newest value for a day at an instant, with the location of the log's proof
// for each.
func (s *Server) proveVintage(w http.ResponseWriter, r *http.Request) error {
	if err := s.limitHistory(w, r); err != nil {
		return err
	}
	p := s.parameters(r)
	source, date, asOf := p.text("source"), p.date("date"), p.asOf()
	if source == "" && !p.values.Has("source") {
		p.fault("source", "source is missing: the name of a source, as the provenance of a signal has it.")
	}
	if date == "" && !p.values.Has("date") {
		p.fault("date", "date is missing: the day that the bytes speak of (2026-03-04).")
	}
	if err := p.err(); err != nil {
		return err
	}
	if asOf.IsZero() {
		asOf = p.now.UTC().Truncate(time.Microsecond)
	}
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return err
	}
	bodies, err := s.logs.store.KnownBodies(r.Context(), source, day, asOf, maxBodies)
	if err != nil {
		return err
	}
	if len(bodies) == 0 {
		return &problemError{code: view.CodeNotFound, detail: "No bytes of this source about this day were known then."}
	}
	body, err := view.Encode(s.view.NewProvenVintages(source, date, asOf, bodies))
	if err != nil {
		return err
	}
	return send(w, r, "application", "json", view.NewDocument(view.TypeJSON, view.CachePublic, body, time.Time{}))
}
