package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"tidemark/api/view"
)

// record returns the current record, or the error of a program that has not loaded it yet.
func (s *Server) record() (*view.RecordState, error) {
	if st := s.o.Record.State(); st != nil {
		return st, nil
	}
	return nil, &problemError{code: view.CodeUnavailable, detail: "The record is being loaded.", retryAfter: "1"}
}

// verifyPicks serves the chain of picks. It serves the whole chain unless the request has a limit. JSON, Parquet and Arrow of the whole chain
// are finished documents; the rest is written for each request, and has the rate limit of history.
func (s *Server) verifyPicks(w http.ResponseWriter, r *http.Request) error {
	p := s.parameters(r)
	from, limit := p.seq("from_seq", 1), p.limit(0)
	format := p.one("format", view.FormatJSON, view.Formats()...)
	if err := p.err(); err != nil {
		return err
	}
	st, err := s.record()
	if err != nil {
		return err
	}
	if format, err = p.negotiated(w, r, format); err != nil {
		return err
	}
	if format == view.FormatJSON && from == 1 && limit == 0 {
		reply(w, r, st.Whole())
		return nil
	}
	if format != view.FormatJSON {
		w.Header().Set("Content-Disposition", `attachment; filename="picks.`+format+`"`)
	}
	if from == 1 && limit == 0 {
		file, err := st.File(format)
		if err != nil {
			return err
		}
		if file != nil {
			reply(w, r, file)
			return nil
		}
	}
	if err := s.limitHistory(w, r); err != nil { // it is written for this request
		return err
	}
	page := st.Page(from, limit, format)
	return s.stream(w, r, streamed{mediaType: page.MediaType, etag: page.ETag, columnar: page.Columnar(), write: page.Write})
}

// verifyPick serves one pick of the chain: the newest pick of a ticker, or the pick for a day.
func (s *Server) verifyPick(w http.ResponseWriter, r *http.Request) error {
	p := s.parameters(r)
	date := p.date("date")
	if err := p.err(); err != nil {
		return err
	}
	st, err := s.record()
	if err != nil {
		return err
	}
	ticker := strings.ToUpper(r.PathValue("ticker"))
	v, ok := st.Pick(ticker, date)
	if !ok {
		detail := "No announced pick has this ticker."
		if date != "" {
			detail = strings.TrimSpace("No pick of this ticker was announced for " + date + ". " + st.SealFault(date))
		}
		return &problemError{code: view.CodeUnknownTicker, detail: detail}
	}
	body, err := view.Encode(v)
	if err != nil {
		return err
	}
	return send(w, r, "application", "json", view.NewDocument(view.TypeJSON, view.CachePublic, body, time.Time{}))
}

// seq parses the number of a pick.
func (p *parameters) seq(name string, absent int64) int64 {
	text := p.text(name)
	if text == "" {
		return absent
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		p.fault(name, "%s is not a whole number from 1 on.", name)
	}
	return n
}

// date parses a day in the form YYYY-MM-DD. It is empty if the request has none.
func (p *parameters) date(name string) string {
	text := p.text(name)
	if _, err := time.Parse(time.DateOnly, text); err != nil && text != "" {
		p.fault(name, "%s is not a date such as 2026-03-04.", name)
	}
	return text
}
