package api

import (
	"errors"
	"net/http"

	"tidemark/api/view"
	"tidemark/internal/postgres"
)

// forecasts serves a page of a signal's forecasts of figures before their publication, newest first.
func (s *Server) forecasts(w http.ResponseWriter, r *http.Request) error {
	sig, err := s.findPast(w, r)
	if err != nil {
		return err
	}
	p := s.parameters(r)
	req := view.ForecastsRequest{Limit: p.limit(defaultLimit), Format: p.one("format", view.FormatJSON, view.Formats()...)}
	if err := p.cursor(&req); err != nil {
		return err
	}
	if req.Format, err = p.negotiated(w, r, req.Format); err != nil {
		return err
	}
	doc, cursor, err := s.view.Forecasts(r.Context(), sig, req)
	if err != nil {
		return err
	}
	if cursor != "" {
		w.Header().Set("Link", next(r, p.values, cursor))
	}
	if req.Format != view.FormatJSON {
		w.Header().Set("Content-Disposition", `attachment; filename="`+sig.Definition.ID+`-forecasts.`+req.Format+`"`)
	}
	reply(w, r, doc)
	return nil
}

// forecastsOf serves the forecasts of one period.
func (s *Server) forecastsOf(w http.ResponseWriter, r *http.Request) error {
	sig, err := s.findPast(w, r)
	if err != nil {
		return err
	}
	if err := s.parameters(r).err(); err != nil {
		return err
	}
	doc, err := s.view.ForecastsOf(r.Context(), sig, r.PathValue("period"))
	if errors.Is(err, postgres.ErrNotFound) {
		return &problemError{code: view.CodeNotFound, detail: "No figure of this signal was forecast for this period."}
	}
	if err != nil {
		return err
	}
	return send(w, r, "application", "json", doc)
}

// scorecard serves the accuracy of the forecasts of a signal's figures.
func (s *Server) scorecard(w http.ResponseWriter, r *http.Request) error {
	sig, err := s.findPast(w, r)
	if err != nil {
		return err
	}
	if err := s.parameters(r).err(); err != nil {
		return err
	}
	doc, err := s.view.Scorecard(r.Context(), sig)
	if errors.Is(err, postgres.ErrNotFound) {
		return &problemError{code: view.CodeNotFound, detail: "No figure of this signal is forecast."}
	}
	if err != nil {
		return err
	}
	return send(w, r, "application", "json", doc)
}
