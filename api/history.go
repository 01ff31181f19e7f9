package api

import (
	"net/http"
	"net/url"
	"strings"

	"tidemark/api/view"
)

// history serves a signal's history, as of now or as of an instant. It serves the whole history unless the request has a limit.
func (s *Server) history(w http.ResponseWriter, r *http.Request) error {
	sig, err := s.findPast(w, r)
	if err != nil {
		return err
	}
	p := s.parameters(r)
	req := view.ListingRequest{
		Format:   p.one("format", view.FormatJSON, view.Formats()...),
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
	if req.Format, err = p.negotiated(w, r, req.Format); err != nil {
		return err
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
	return s.stream(w, r, streamed{mediaType: l.MediaType, etag: l.ETag, modified: l.Modified, columnar: l.Columnar(), write: l.Write})
}

// vintages serves a page of the instants at which a signal's history changed.
func (s *Server) vintages(w http.ResponseWriter, r *http.Request) error {
	sig, err := s.findPast(w, r)
	if err != nil {
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

// negotiated returns the format of a list: the format that the parameter names, or else the format that the client prefers.
func (p *parameters) negotiated(w http.ResponseWriter, r *http.Request, named string) (string, error) {
	if p.values.Has("format") {
		return named, nil
	}
	w.Header().Set("Vary", "Accept")
	return negotiate(r.Header["Accept"])
}

// negotiate selects the format with the highest weight in an Accept header. The first one wins ties.
func negotiate(accept []string) (string, error) {
	if len(accept) == 0 {
		return view.FormatJSON, nil
	}
	best, weight := "", 0.0
	var types []string
	for _, format := range view.Formats() {
		types = append(types, view.FormatType(format))
		major, minor, _ := strings.Cut(view.FormatType(format), "/")
		if q := acceptance(accept, major, minor); q > weight {
			best, weight = format, q
		}
	}
	if best == "" {
		return "", &problemError{
			code:   view.CodeNotAcceptable,
			detail: "This is served as " + strings.Join(types, ", ") + "; the parameter format picks one.",
		}
	}
	return best, nil
}
