package pages

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"slices"
	"time"

	"tidemark/api/view"
	"tidemark/picks"
	"tidemark/signals"
)

// revisionsBody is the content of the page of a signal's revisions.
type revisionsBody struct {
	localizer

	// Def is the definition in the page's language.
	Def    signals.Definition
	Signal *view.Signal
	// Rows are the instants at which the history changed, newest first.
	Rows  []view.Vintage
	Older string
	// Latest are the newest points that replaced a first print that was recorded as it came.
	Latest []revisedPoint
}

// revisedPoint is a point with the value that was first published for it, NaN if that is unknown.
type revisedPoint struct {
	view.HistoryPoint

	First float64
}

// Alike says why a revised value is shown as its first print is. It is empty for another value.
func (b revisionsBody) Alike(p revisedPoint) string {
	switch {
	case p.Value == p.First:
		return b.T("revisions.back")
	case p.Value == p.Value && b.Figure(b.Def, p.Value) == b.Figure(b.Def, p.First):
		return b.T("revisions.less")
	}
	return ""
}

// List and CSV are links to the same data.
func (b revisionsBody) List() template.HTML {
	return anchor("/api/signals/"+b.Def.ID+"/vintages", b.T("revisions.list"))
}

// CSV links the history.
func (b revisionsBody) CSV() template.HTML {
	return anchor("/api/signals/"+b.Def.ID+"/history?format=csv", "CSV")
}

// anchor is the element of a link.
func anchor(address, text string) template.HTML {
	return template.HTML(`<a href="` + template.HTMLEscapeString(address) + `">` + template.HTMLEscapeString(text) + `</a>`) //nolint:gosec // escaped
}

// maxRevised is the maximum number of revised points on the page.
const maxRevised = 30

// revisions lists when a signal's history changed: what was added, revised and withdrawn.
func (p *Pages) revisions(ctx context.Context, r request, s *view.Signal) (*view.Document, error) {
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	query := view.VintagesRequest{Limit: perPage}
	if cursor := r.text("cursor"); cursor != "" {
		if err := query.ReadCursor(cursor); err != nil {
			return nil, refuse(view.CodeInvalidCursor, "refuse.cursor")
		}
	}
	doc, next, err := p.o.View.Vintages(ctx, s, query)
	if err != nil {
		return nil, err
	}
	var list view.Vintages
	if err := json.Unmarshal(doc.Identity.Body, &list); err != nil {
		return nil, fmt.Errorf("read an answer: %w", err)
	}
	local := r.local(lang)
	body := revisionsBody{localizer: local, Def: local.Own(s.Definition), Signal: s, Rows: list.Data, Older: r.olderURL(next)}
	if body.Latest, err = p.revisedPoints(ctx, s); err != nil {
		return nil, err
	}
	l := p.layoutIn(local, r.site, r.path)
	l.Title = local.Say("revisions.page", body.Def.Name) + suffix
	l.Description = local.Say("revisions.about", body.Def.Name)
	l.JSON = "/api/signals/" + s.Definition.ID + "/vintages"
	if lang == picks.English {
		l.Disclaimer = s.Snapshot.Disclaimer
	}
	p.signalPicture(&l, s.Definition, s.Snapshot, "")
	l.Body = body
	p.inLanguages(&l, r)
	return p.document("revisions", l, time.Time{}), nil
}

// revisedPoints returns the newest points that replaced a first print that was recorded as it came, newest first. If the database is
// unavailable, these are the newest points that replaced any value, and their first prints are unknown.
func (p *Pages) revisedPoints(ctx context.Context, s *view.Signal) ([]revisedPoint, error) {
	var list []revisedPoint
	for _, q := range slices.Backward(s.History.Points(time.Time{})) {
		if q.Vintage > 1 {
			list = append(list, revisedPoint{q, math.NaN()})
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	firsts, err := p.o.View.FirstPrints(ctx, s, list[len(list)-1].ObservedAt, list[0].ObservedAt)
	switch {
	case view.Unavailable(err):
	case err != nil:
		return nil, err
	default:
		list = withFirst(list, firsts)
	}
	return list[:min(len(list), maxRevised)], nil
}

// withFirst returns the points that have a first print, with it.
func withFirst(list []revisedPoint, firsts []view.HistoryPoint) (out []revisedPoint) {
	values := make(map[int64]float64, len(firsts))
	for _, q := range firsts {
		values[q.ObservedAt.UnixMicro()] = q.Value
	}
	for _, q := range list {
		if first, recorded := values[q.ObservedAt.UnixMicro()]; recorded {
			out = append(out, revisedPoint{q.HistoryPoint, first})
		}
	}
	return out
}
