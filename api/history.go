package api

import (
	"net/http"
	"net/url"

	"tidemark/api/view"
)

// history serves a signal's history, as of now or as of an instant. It serves the whole history unless the request has a limit.
func (s *Server) history(w http.ResponseWriter, r *http.Request) error {
	sig, err := s.find(r)
	if err != nil {
		return err
	}
	if err := s.limitHistory(w, r); err != nil {
		return err
	}
	p := s.parameters(r)
	req := view.ListingRequest{
		Format:   p.one("format", view.FormatJSON, view.FormatJSON, view.FormatCSV, view.FormatNDJSON),
		AsOf:     p.asOf(),
		Desc:     p.one("order", "asc", "asc", "desc") == "desc",
		Versions: p.one("vintages", "", "all") != "",
		Limit:    p.limit(0),
	}
	req.From, req.To = p.within()
	p.one("frequency", "", sig.Definition.Frequency)
	if err := p.cursor(&req); err != nil {
		return err
	}
	if !p.values.Has("format") {
		w.Header().Set("Vary", "Accept")
		if req.Format, err = negotiate(r.Header["Accept"]); err != nil {
			return err
		}
	}
	l, err := s.view.History(r.Context(), sig, req)
	if err != nil {
		return err
	}
	h := w.Header()
	if l.Next != "" {
		h.Set("Link", next(r, p.values, l.Next))
	}
	if req.Format != view.FormatJSON {
		h.Set("Content-Disposition", `attachment; filename="`+sig.Definition.ID+"."+req.Format+`"`)
	}
	return stream(w, r, streamed{l.MediaType, l.ETag, l.Modified, l.Write})
}

// vintages serves a page of the instants at which a signal's history changed.
func (s *Server) vintages(w http.ResponseWriter, r *http.Request) error {
	sig, err := s.find(r)
	if err != nil {
		return err
	}
	if err := s.limitHistory(w, r); err != nil {
		return err
	}
	p := s.parameters(r)
	req := view.VintagesRequest{Asc: p.one("order", "desc", "asc", "desc") == "asc", Limit: p.limit(defaultLimit)}
	req.From, req.To = p.within()
	if err := p.cursor(&req); err != nil {
		return err
	}
	doc, cursor, err := s.view.Vintages(r.Context(), sig, req)
	if err != nil {
		return err
	}
	if cursor != "" {
		w.Header().Set("Link", next(r, p.values, cursor))
	}
	return send(w, r, "application", "json", doc)
}

// cursor parses the cursor into a request. Call it after all other parameters: it returns the problem with all faults of the query.
func (p *parameters) cursor(into interface{ ReadCursor(cursor string) error }) error {
	text := p.text("cursor")
	if err := p.err(); err != nil || text == "" {
		return err
	}
	if err := into.ReadCursor(text); err != nil {
		return invalidCursor
	}
	return nil
}

// next returns the Link to the next page: the same request with another cursor.
func next(r *http.Request, values url.Values, cursor string) string {
	values.Set("cursor", cursor)
	return "<" + r.URL.EscapedPath() + "?" + values.Encode() + `>; rel="next"`
}

// negotiate selects the format with the highest weight in an Accept header. The first one wins ties.
func negotiate(accept []string) (string, error) {
	if len(accept) == 0 {
		return view.FormatJSON, nil
	}
	best, weight := "", 0.0
	for _, f := range []struct{ name, major, minor string }{
		{view.FormatJSON, "application", "json"}, {view.FormatCSV, "text", "csv"}, {view.FormatNDJSON, "application", "x-ndjson"},
	} {
		if q := acceptance(accept, f.major, f.minor); q > weight {
			best, weight = f.name, q
		}
	}
	if best == "" {
		return "", &problemError{
			code:   view.CodeNotAcceptable,
			detail: "This is served as application/json, text/csv and application/x-ndjson; the parameter format picks one.",
		}
	}
	return best, nil
}
