package api

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"tidemark/accounts"
	"tidemark/api/endpoint"
	"tidemark/api/view"
	"tidemark/picks"
)

// Data returns the build functions of the data endpoints that this installation has, by their path below /api/v1. They do not know keys or money: the caller decides
// who may see a response.
func Data(p *view.Publications) map[string]Build {
	d, builds := data{p}, map[string]Build{}
	for _, e := range endpoint.All() {
		switch {
		case e.Early && !p.PicksEarly():
		case e.List != nil:
			builds[e.Path] = d.list(e)
		default:
			builds[e.Path] = d.one(e)
		}
	}
	return builds
}

type data struct{ publications *view.Publications }

// state returns the current publications, or the error of a program that has not loaded them yet.
func (d data) state() (*view.PublicationsState, error) {
	if st := d.publications.State(); st != nil {
		return st, nil
	}
	return nil, &problemError{code: view.CodeUnavailable, detail: "The picks are being loaded.", retryAfter: "1"}
}

// list serves a page of a list in the requested format.
func (d data) list(e endpoint.Endpoint) Build {
	return func(r *http.Request, c Caller) (Answer, error) {
		st, err := d.state()
		if err != nil {
			return Answer{}, err
		}
		p := readParameters(r, time.Time{})
		q := p.list(e.Params)
		q.Free = c.Level == accounts.LevelFree
		header := http.Header{}
		if e.Params.Has(endpoint.Lang) {
			if q.Lang, err = p.lang(r, header); err != nil {
				return Answer{}, err
			}
		}
		if err := p.err(); err != nil {
			return Answer{}, err
		}
		if !p.values.Has("format") {
			header.Add("Vary", "Accept")
			if q.Format, err = negotiate(r.Header["Accept"]); err != nil {
				return Answer{}, err
			}
		}
		doc, cursor, err := e.List(st, q)
		if errors.Is(err, view.ErrCursor) {
			return Answer{}, invalidCursor
		}
		if err != nil {
			return Answer{}, err
		}
		if cursor != "" {
			header.Set("Link", next(r, p.values, cursor))
		}
		if q.Format != view.FormatJSON {
			header.Set("Content-Disposition", `attachment; filename="`+e.File+"."+q.Format+`"`)
		}
		return Answer{Document: doc, Header: header, Lang: q.Lang}, nil
	}
}

// one serves an endpoint with a single document, or a problem that says why it is missing.
func (d data) one(e endpoint.Endpoint) Build {
	return func(r *http.Request, _ Caller) (Answer, error) {
		st, err := d.state()
		if err != nil {
			return Answer{}, err
		}
		p, header := readParameters(r, time.Time{}), http.Header{}
		lang, err := p.lang(r, header)
		if err == nil {
			err = p.err()
		}
		if err != nil {
			return Answer{}, err
		}
		item, doc := endpoint.Item{Lang: lang, Ticker: r.PathValue("ticker")}, (*view.Document)(nil)
		if e.Live != nil {
			doc, err = e.Live(r.Context(), st, item)
		} else {
			doc, err = e.One(st, item)
		}
		if err == nil && doc == nil {
			err = &problemError{code: e.AbsentCode, detail: e.Absent}
		}
		return Answer{Document: doc, Header: header, Lang: lang}, err
	}
}

var invalidCursor = &problemError{
	code: view.CodeInvalidCursor, detail: "The cursor was not made by this listing in this order.",
	errors: []view.ParameterError{{Pointer: "/cursor", Detail: "The cursor does not belong to this listing in this order."}},
}

// list parses the parameters of a list.
func (p *parameters) list(has endpoint.Params) view.ListQuery {
	limit := defaultLimit
	if has.Has(endpoint.Whole) {
		limit = 0
	}
	q := view.ListQuery{
		Format: p.one("format", view.FormatJSON, view.Formats()...), Limit: p.limit(limit), Cursor: p.text("cursor"),
	}
	if has.Has(endpoint.Dates) {
		q.From, q.To = p.date("from"), p.date("to")
		if q.From != "" && q.To != "" && q.To < q.From {
			p.fault("to", "to is before from.")
		}
	}
	if has.Has(endpoint.Company) {
		q.Ticker, q.Sector, q.Region = p.text("ticker"), p.text("sector"), p.text("region")
	}
	if has.Has(endpoint.Status) {
		q.Status = p.one("status", "", view.StatusOpen, view.StatusClosed)
	}
	if has.Has(endpoint.Picked) {
		q.Picked = p.one("picked", "", "true", "false") == "true"
	}
	if has.Has(endpoint.Severity) {
		q.MinSeverity = p.severity()
	}
	if has.Has(endpoint.Feed) {
		q.Since, q.After = p.instant("since", false), p.text("after")
	}
	return q
}

// severity parses a number from 1 to 5.
func (p *parameters) severity() int {
	text := p.text("min_severity")
	if text == "" {
		return 0
	}
	if len(text) != 1 || text < "1" || text > "5" {
		p.fault("min_severity", "min_severity is not a whole number from 1 to 5.")
		return 0
	}
	return int(text[0] - '0')
}

// lang returns the language that the parameter names. Without the parameter it returns the available language that the client prefers, or
// English if it states none.
func (p *parameters) lang(r *http.Request, header http.Header) (picks.Lang, error) {
	text := p.text("lang")
	if text == "" {
		header.Add("Vary", "Accept-Language")
		return preferred(r.Header["Accept-Language"]), nil
	}
	lang, ok := picks.ParseLang(text)
	if !ok {
		detail := view.LangFault()
		return "", &problemError{code: view.CodeInvalidLang, detail: detail, errors: []view.ParameterError{{Pointer: "/lang", Detail: detail}}}
	}
	return lang, nil
}

// preferred returns the language with the highest weight in an Accept-Language header (RFC 9110, section 12.5.4). It matches the first
// subtag of each range.
func preferred(header []string) picks.Lang {
	best, most := picks.English, 0.0
	langs := picks.Langs()
	// English comes first, so it wins ties.
	slices.SortStableFunc(langs, func(a, b picks.Lang) int {
		switch picks.English {
		case a:
			return -1
		case b:
			return 1
		}
		return 0
	})
	for _, l := range langs {
		q := weight(header, func(name string) int {
			primary, _, _ := strings.Cut(name, "-")
			switch {
			case strings.EqualFold(primary, string(l)):
				return 2
			case name == "*":
				return 1
			}
			return 0
		})
		if q > most {
			best, most = l, q
		}
	}
	return best
}

// info serves the service's description of itself. It requires no key.
func (s *Server) info(w http.ResponseWriter, r *http.Request) error {
	if err := s.parameters(r).err(); err != nil {
		return err
	}
	st, err := data{s.o.Publications}.state()
	if err != nil {
		return err
	}
	log, err := s.describeLog(r.Context())
	if err != nil {
		return err
	}
	doc, err := st.Info(log)
	if err != nil {
		return err
	}
	return send(w, r, "application", "json", doc)
}
