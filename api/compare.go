package api

import (
	"net/http"
	"strconv"
	"time"

	"tidemark/api/view"
	"tidemark/internal/nearest"
	"tidemark/signals"
)

// compare serves two signals as z-scores, with their correlation.
func (s *Server) compare(w http.ResponseWriter, r *http.Request) error {
	st, err := s.state()
	if err != nil {
		return err
	}
	if err := s.limitHistory(w, r); err != nil {
		return err
	}
	p := s.parameters(r)
	req := view.ComparisonRequest{First: p.signal(st, "first"), Second: p.signal(st, "second"), Lag: p.lag(), AsOf: p.asOf()}
	req.From, req.To = p.within()
	if req.Lang, err = p.lang(r, w.Header()); err != nil {
		return err
	}
	if req.First != nil && req.First == req.Second {
		p.fault("second", "first and second are the same signal.")
	}
	if err := p.err(); err != nil {
		return err
	}
	out, err := s.view.Compare(r.Context(), req)
	if err != nil {
		return err
	}
	body, err := view.Encode(out)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Language", string(req.Lang))
	return send(w, r, "application", "json", view.NewDocument(view.TypeJSON, view.CachePublic, body, time.Time{}))
}

// signal parses a parameter that is the id of a signal. It is required.
func (p *parameters) signal(st *view.State, name string) *view.Signal {
	id := p.text(name)
	if id == "" {
		if len(p.values[name]) == 0 {
			p.fault(name, "%s is missing: it is the id of a signal.", name)
		}
		return nil
	}
	found := st.Signal(id)
	if found == nil {
		known := make([]string, len(st.Signals))
		for i, s := range st.Signals {
			known[i] = s.Definition.ID
		}
		p.fault(name, "%s is not the id of a signal%s.", name, nearest.SuggestOr(id, known...))
	}
	return found
}

// lag parses the lag of a comparison.
func (p *parameters) lag() int {
	text := p.text("lag")
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < -signals.MaxLag || n > signals.MaxLag {
		p.fault("lag", "lag is not a whole number from %d to %d.", -signals.MaxLag, signals.MaxLag)
	}
	return n
}
