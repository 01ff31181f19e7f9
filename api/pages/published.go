package pages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"time"

	"tidemark/api/view"
)

// The pages about picks show the responses of the Picks API: they read the same finished documents.

// data decodes the data of a response and, for a list, the cursor of its next page. It returns nil if there is no response.
func data[T any](doc *view.Document, err error) (out *T, next string, failed error) {
	if err != nil || doc == nil {
		return nil, "", err
	}
	var body struct {
		Data       *T              `json:"data"`
		Pagination view.Pagination `json:"pagination"`
	}
	if err := json.Unmarshal(doc.Identity.Body, &body); err != nil {
		return nil, "", fmt.Errorf("read an answer: %w", err)
	}
	if c := body.Pagination.NextCursor; c != nil {
		next = *c
	}
	return body.Data, next, nil
}

// list decodes a response that is a list.
func list[T any](doc *view.Document, _ string, err error) (rows []T, next string, failed error) {
	if errors.Is(err, view.ErrCursor) {
		return nil, "", refuse(view.CodeInvalidCursor, "refuse.cursor")
	}
	out, next, err := data[[]T](doc, err)
	if out != nil {
		rows = *out
	}
	return rows, next, err
}

// perPage is the number of rows of a long list on one page.
const perPage = 50

// olderURL returns the URL of the next page of a list, or an empty string at the end.
func (r request) olderURL(cursor string) string {
	if cursor == "" {
		return ""
	}
	return r.path + "?" + r.withQuery("cursor", cursor).Encode()
}

// with returns the URL of the first page of the list with another value of one parameter. An empty value removes the parameter.
func (r request) with(name, value string) string {
	query := r.withQuery(name, value)
	query.Del("cursor")
	if len(query) == 0 {
		return r.path
	}
	return r.path + "?" + query.Encode()
}

// withQuery returns the query with another value of one parameter. An empty value removes the parameter.
func (r request) withQuery(name, value string) url.Values {
	query := maps.Clone(r.query)
	if value == "" {
		query.Del(name)
	} else {
		query.Set(name, value)
	}
	return query
}

// picksBody is the content of the list of picks.
type picksBody struct {
	localizer

	Latest *view.Pick
	Picks  []view.Pick
	// Chain are older picks with the data of the chain only.
	Chain    []view.Pick
	Statuses []choice
	// Doubts are the closes in doubt among Picks.
	Doubts []view.PriceInDoubt
	Older  string
	Record *view.RecordState
}

// picksPage lists the announced picks, newest first.
func (p *Pages) picksPage(_ context.Context, r request) (*view.Document, error) {
	if r.published == nil {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	body := picksBody{localizer: r.local(lang), Record: r.record}
	older := len(r.published.LatestPicks(view.PublicPicks+1, lang).Picks) > view.PublicPicks
	limited := older && !r.whole(pricedPicks)
	status := ""
	if !limited { // which of the older picks were sold is not public
		if status, err = r.one("status", "", view.StatusOpen, view.StatusClosed); err != nil {
			return nil, err
		}
		for _, s := range []string{"", view.StatusOpen, view.StatusClosed} {
			name := "all"
			if s != "" {
				name = "filter." + s
			}
			body.Statuses = append(body.Statuses, choice{Name: body.T(name), Address: r.with("status", s), Chosen: s == status})
		}
	}
	if body.Latest, _, err = data[view.Pick](r.published.LatestPick(lang)); err != nil {
		return nil, err
	}
	cursor := r.text("cursor")
	var next string
	body.Picks, next, err = list[view.Pick](r.published.Picks(view.ListQuery{Lang: lang, Status: status, Limit: perPage, Cursor: cursor}))
	if err != nil {
		return nil, err
	}
	body.Older = r.olderURL(next)
	if limited {
		public := r.public(body.localizer)
		n := 0
		for n < len(body.Picks) && public[body.Picks[n].Seq] {
			n++
		}
		body.Picks, body.Chain = body.Picks[:n], body.Picks[n:]
	}
	var open []string
	for _, k := range body.Picks {
		if k.Status == view.StatusOpen {
			open = append(open, k.Ticker)
		}
	}
	body.Doubts = r.published.InDoubt(open...)
	l := p.layoutIn(r.local(lang), r.site, r.path)
	if err := p.annotate(&l, r, "note.picks", pricedPicks); err != nil {
		return nil, err
	}
	l.Title = body.T("picks") + suffix
	l.Description = body.T("picks.lead")
	l.Body = body
	p.inLanguages(&l, r)
	return p.document("picks", l, time.Time{}), nil
}
