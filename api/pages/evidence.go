package pages

import (
	"context"
	"strings"
	"time"

	"tidemark/api/view"
)

// latest means the day of the newest snapshot, in a path.
const latest = "latest"

// evidenceBody is the content of the evidence page of a number.
type evidenceBody struct {
	Signal *view.Signal
	view.Evidence
	// Bodies are the archived bodies behind the cells, without duplicates, in the order of the cells.
	Bodies []view.EvidenceCell
}

// evidence traces a signal's number on a day to the bytes behind it.
func (p *Pages) evidence(ctx context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	id, name, _ := strings.Cut(r.rest, "/")
	s := r.signals.Signal(id)
	if s == nil {
		return nil, nil
	}
	var day time.Time
	if name != latest {
		var err error
		if day, err = time.Parse(time.DateOnly, name); err != nil {
			return nil, nil //nolint:nilerr // not an address of a page
		}
	}
	e, err := p.o.View.Evidence(ctx, s, day)
	if e == nil || err != nil {
		return nil, err
	}
	body := evidenceBody{Signal: s, Evidence: *e}
	seen := map[string]bool{}
	for _, c := range e.Cells {
		if !seen[c.SHA256] {
			seen[c.SHA256] = true
			body.Bodies = append(body.Bodies, c)
		}
	}
	l := p.layout(r.site, r.path)
	l.Title = s.Snapshot.Name + ": evidence" + suffix
	l.Description = "The observations behind the number, and the archived bytes they came in, hashed by your browser. " + s.Snapshot.Name + "."
	l.JSON = "/api/signals/" + s.Definition.ID
	l.Disclaimer = s.Snapshot.Disclaimer
	l.Scripts = []string{p.staticAddress("evidence.js")}
	l.Body = body
	return p.document("evidence", l, time.Time{}), nil
}
