package pages

import (
	"context"
	"slices"
	"strings"
	"time"

	"tidemark/api/view"
)

// latest means the day of the newest snapshot, in a path.
const latest = "latest"

// maxEvidenceCells is how many cells of a baseline the page shows, and maxEvidenceBodies how many bodies. The JSON has all.
const maxEvidenceCells, maxEvidenceBodies = 24, 12

// evidenceBody is the content of the evidence page of a number.
type evidenceBody struct {
	Signal *view.Signal
	*view.Evidence

	// Baseline are the first cells of the baseline. Shown are the bodies of the cells that are shown, as far as there is room.
	Baseline []view.EvidenceCell
	Shown    []view.EvidenceBody
	// Query selects the same snapshot in the API. Site is the base URL of the program.
	Query, Site string
}

// Link returns where a body is: its row on the page, or its bytes if the page does not list it.
func (e evidenceBody) Link(sha256 string) string {
	if slices.ContainsFunc(e.Shown, func(b view.EvidenceBody) bool { return b.SHA256 == sha256 }) {
		return "#body-" + sha256
	}
	return "/raw/" + sha256
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
	baseline := e.BaselineCells
	body := evidenceBody{
		Signal: s, Evidence: e, Baseline: baseline[:min(len(baseline), maxEvidenceCells)], Shown: e.Bodies[:min(len(e.Bodies), maxEvidenceBodies)],
		Query: "as_of=" + e.AsOf.Format(time.RFC3339Nano), Site: p.o.PublicURL,
	}
	l := p.layout(r.site, r.path)
	l.Title = s.Snapshot.Name + ": evidence" + suffix
	l.Description = "The formula with its numbers, the observations behind them, and the archived bytes they came in, hashed by your browser. " + s.Snapshot.Name + "."
	l.JSON = "/api/signals/" + s.Definition.ID + "/evidence"
	l.Disclaimer = s.Snapshot.Disclaimer
	l.Scripts = []string{p.staticAddress("evidence.js")}
	l.Body = body
	return p.document("evidence", l, time.Time{}), nil
}
