package pages

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tidemark/api/view"
)

// revisionsBody is the content of the page of a signal's revisions.
type revisionsBody struct {
	Signal *view.Signal
	// Rows are the instants at which the history changed, newest first.
	Rows  []view.Vintage
	Older string
	// Latest are the newest points that replaced an earlier value.
	Latest []view.HistoryPoint
}

// maxRevised is the maximum number of revised points on the page.
const maxRevised = 30

// revisions lists when a signal's history changed: what was added, revised and withdrawn.
func (p *Pages) revisions(ctx context.Context, r request, s *view.Signal) (*view.Document, error) {
	query := view.VintagesRequest{Limit: perPage}
	if cursor := r.text("cursor"); cursor != "" {
		if err := query.ReadCursor(cursor); err != nil {
			return nil, &view.Refusal{Code: view.CodeInvalidCursor, Detail: "The cursor is not one of this list."}
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
	body := revisionsBody{Signal: s, Rows: list.Data, Older: r.olderURL(next)}
	points := s.History.Points(time.Time{})
	for i := len(points) - 1; i >= 0 && len(body.Latest) < maxRevised; i-- {
		if points[i].Vintage > 1 {
			body.Latest = append(body.Latest, points[i])
		}
	}
	l := p.layout(r.site, r.path)
	l.Title = s.Snapshot.Name + ": revisions" + suffix
	l.Description = "When the history of the signal changed: values that were added, revised and withdrawn. " + s.Snapshot.Name + "."
	l.JSON = "/api/signals/" + s.Definition.ID + "/vintages"
	l.Disclaimer = s.Snapshot.Disclaimer
	l.Body = body
	return p.document("revisions", l, time.Time{}), nil
}
