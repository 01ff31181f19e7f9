package api

import (
	"errors"
	"net/http"
	"time"

	"tidemark/api/view"
	"tidemark/internal/postgres"
)

// changes explains why a signal moved from one snapshot to another.
func (s *Server) changes(w http.ResponseWriter, r *http.Request) error {
	sig, err := s.findPast(w, r)
	if err != nil {
		return err
	}
	p := s.parameters(r)
	req := view.ChangesRequest{From: p.instant("from", true), To: p.instant("to", true), FromDay: p.isDay("from"), ToDay: p.isDay("to")}
	lang, err := p.lang(r, w.Header())
	if err != nil {
		return err
	}
	req.Lang = lang
	if req.FromDay == req.ToDay && !req.From.IsZero() && !req.To.IsZero() && req.To.Before(req.From) {
		p.fault("to", "to is before from.")
	}
	for _, b := range []struct {
		name string
		at   time.Time
	}{{"from", req.From}, {"to", req.To}} {
		if p.isDay(b.name) {
			b.at = b.at.Truncate(24 * time.Hour) // a day has come when it begins
		}
		if b.at.After(p.now) {
			p.fault(b.name, "%s is in the future: here it is %s.", b.name, p.now.UTC().Format(time.RFC3339))
		}
	}
	if err := p.err(); err != nil {
		return err
	}
	doc, err := s.view.Changes(r.Context(), sig, req)
	switch {
	case errors.Is(err, postgres.ErrNotFound):
		return &problemError{code: view.CodeNotFound, detail: "No snapshot of this signal is that old, or none before it differs from it."}
	case errors.Is(err, view.ErrBackwards):
		return invalidMember("to", "The snapshot named by to is older than the one named by from.")
	case errors.Is(err, postgres.ErrTooMany):
		return invalidMember("from", "Too much became known between the two snapshots: ask for a shorter time.")
	case err != nil:
		return err
	}
	w.Header().Set("Content-Language", string(lang))
	return send(w, r, "application", "json", doc)
}

// isDay reports whether a time parameter is a day without a time.
func (p *parameters) isDay(name string) bool {
	_, err := time.Parse(time.DateOnly, p.values.Get(name))
	return err == nil
}
