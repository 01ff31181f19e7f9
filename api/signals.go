package api

import (
	"errors"
	"net/http"
	"time"

	"tidemark/api/view"
	"tidemark/internal/nearest"
	"tidemark/internal/postgres"
)

// state returns the current state, or the error of a program that has not loaded it yet.
func (s *Server) state() (*view.State, error) {
	if st := s.view.State(); st != nil {
		return st, nil
	}
	return nil, &problemError{code: view.CodeUnavailable, detail: "The signals are being loaded.", retryAfter: "1"}
}

func (s *Server) catalog(w http.ResponseWriter, r *http.Request) error {
	st, err := s.state()
	if err != nil {
		return err
	}
	if err := s.parameters(r).err(); err != nil {
		return err
	}
	return send(w, r, "application", "json", st.Catalog)
}

func (s *Server) signal(w http.ResponseWriter, r *http.Request) error {
	sig, err := s.find(r)
	if err != nil {
		return err
	}
	if r.URL.RawQuery == "" {
		return send(w, r, "application", "json", sig.JSON)
	}
	p := s.parameters(r)
	at := p.asOf()
	if err := p.err(); err != nil {
		return err
	}
	if at.IsZero() {
		return send(w, r, "application", "json", sig.JSON)
	}
	if err := s.limitHistory(w, r); err != nil {
		return err
	}
	doc, err := s.view.AsOf(r.Context(), sig, at)
	if errors.Is(err, postgres.ErrNotFound) {
		return &problemError{code: view.CodeNotFound, detail: "Nothing was known of this signal at " + at.Format(time.RFC3339Nano) + "."}
	}
	if err != nil {
		return err
	}
	return send(w, r, "application", "json", doc)
}

func (s *Server) brief(w http.ResponseWriter, r *http.Request) error {
	sig, err := s.find(r)
	if err != nil {
		return err
	}
	if err := s.parameters(r).err(); err != nil {
		return err
	}
	return send(w, r, "text", "markdown", sig.Brief)
}

// find returns the signal that the path names.
func (s *Server) find(r *http.Request) (*view.Signal, error) {
	st, err := s.state()
	if err != nil {
		return nil, err
	}
	if sig := st.Signal(r.PathValue("id")); sig != nil {
		return sig, nil
	}
	known := make([]string, len(st.Signals))
	for i, sig := range st.Signals {
		known[i] = sig.Definition.ID
	}
	detail := "No signal has this id."
	if near := nearest.Of(r.PathValue("id"), known...); near != "" {
		detail += " Did you mean " + near + "?"
	}
	return nil, &problemError{code: view.CodeUnknownSignal, detail: detail, known: known}
}

// findPast is find for a request that reads history from the database. It applies the rate limit of such requests.
func (s *Server) findPast(w http.ResponseWriter, r *http.Request) (*view.Signal, error) {
	sig, err := s.find(r)
	if err != nil {
		return nil, err
	}
	return sig, s.limitHistory(w, r)
}

func (s *Server) notFound(http.ResponseWriter, *http.Request) error {
	return &problemError{code: view.CodeNotFound, detail: view.NothingServed}
}

// calendar lists the publications that are expected next.
func (s *Server) calendar(w http.ResponseWriter, r *http.Request) error {
	st, err := s.state()
	if err != nil {
		return err
	}
	if err := s.parameters(r).err(); err != nil {
		return err
	}
	if err := s.limitHistory(w, r); err != nil {
		return err
	}
	list, err := s.view.Calendar(r.Context(), st)
	if err != nil {
		return err
	}
	body, err := view.Encode(list)
	if err != nil {
		return err
	}
	return send(w, r, "application", "json", view.NewDocument(view.TypeJSON, view.CachePublic, body, time.Time{}))
}
