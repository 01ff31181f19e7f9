package api

import (
	"errors"
	"net/http"
	"time"

	"tidemark/api/view"
	"tidemark/internal/postgres"
)

// evidence leads from the numbers of a snapshot to the cells and the bytes that they rest on.
func (s *Server) evidence(w http.ResponseWriter, r *http.Request) error {
	sig, err := s.findPast(w, r)
	if err != nil {
		return err
	}
	p := s.parameters(r)
	req := view.EvidenceRequest{AsOf: p.asOf()}
	if text := p.text("date"); text != "" {
		if req.Day, err = time.Parse(time.DateOnly, text); err != nil {
			p.fault("date", "date is not a date such as 2026-03-04.")
		}
	}
	if req.Lang, err = p.lang(r, w.Header()); err != nil {
		return err
	}
	if err := p.err(); err != nil {
		return err
	}
	doc, err := s.view.EvidenceDocument(r.Context(), sig, req)
	if none := (*view.NoSuchDayError)(nil); errors.As(err, &none) {
		return &problemError{code: view.CodeNotFound, detail: none.Error()}
	}
	if errors.Is(err, postgres.ErrNotFound) {
		return noSnapshot
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Language", string(req.Lang))
	return send(w, r, "application", "json", doc)
}

// inputs lists every archived body that a snapshot rests on.
func (s *Server) inputs(w http.ResponseWriter, r *http.Request) error {
	sig, err := s.findPast(w, r)
	if err != nil {
		return err
	}
	p := s.parameters(r)
	at := p.asOf()
	if err := p.err(); err != nil {
		return err
	}
	doc, err := s.view.Inputs(r.Context(), sig, at)
	if errors.Is(err, postgres.ErrNotFound) {
		return noSnapshot
	}
	if err != nil {
		return err
	}
	return send(w, r, "application", "json", doc)
}

var noSnapshot = &problemError{code: view.CodeNotFound, detail: "No snapshot of this signal is that old."}
