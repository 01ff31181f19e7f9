package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tidemark/api/view"
	"tidemark/internal/locale"
)

// maxParts is the maximum number of parts in one answer. Each appears twice, with some 500 bytes, and its text a third time.
const maxParts = 80

// explainChange says why a signal moved from one snapshot to another.
func explainChange(d *Server, ctx context.Context, v values) (string, any, error) {
	s, _, err := d.named(v)
	if err != nil {
		return "", nil, err
	}
	r := view.ChangesRequest{Lang: locale.Lang(v.texts["language"])}
	if r.From, r.FromDay, err = instant(v, "from"); err != nil {
		return "", nil, err
	}
	if r.To, r.ToDay, err = instant(v, "to"); err != nil {
		return "", nil, err
	}
	doc, err := d.o.View.Changes(ctx, s, r)
	switch {
	case view.IsNotFound(err):
		return "", nil, userErrorf("No snapshot of %s is that old, or none before it differs from it. Take later days.", s.Definition.ID)
	case errors.Is(err, view.ErrBackwards):
		return "", nil, userErrorf("The snapshot named by to is older than the one named by from.")
	case view.IsTooMany(err):
		return "", nil, userErrorf("Too much became known between the two snapshots: ask for a shorter time.")
	case err != nil:
		return "", nil, retried(err)
	}
	body := doc.Identity.Body
	var got view.Changes
	if err := json.Unmarshal(body, &got); err != nil {
		return "", nil, fmt.Errorf("read why %s moved: %w", s.Definition.ID, err)
	}
	if len(got.Data.Parts) > maxParts {
		return "", nil, userErrorf("The difference has %d parts, and %d are the most here. Ask for a shorter time, or read %s/api/signals/%s/changes.", len(got.Data.Parts), maxParts,
			d.base, s.Definition.ID)
	}
	var l lines
	for _, end := range []view.ChangeEnd{got.Data.From, got.Data.To} {
		if end.OtherDay != nil {
			l.add("%s", end.OtherDay.Text)
		}
	}
	l.add("%s: %s", s.Snapshot.Name, got.Data.Text)
	for _, p := range got.Data.Parts {
		l.add("- %s", p.Text)
	}
	l.add("\n%s", got.Disclaimer)
	return l.String(), json.RawMessage(body), nil
}

// forecastOf returns the forecasts of a signal's figures for a period, or the newest.
func forecastOf(d *Server, ctx context.Context, v values) (string, any, error) {
	s, _, err := d.named(v)
	if err != nil {
		return "", nil, err
	}
	answer, err := d.o.View.AgentForecasts(ctx, s, v.texts["period"])
	switch {
	case err != nil:
		return "", nil, retried(err)
	case len(answer.Data) == 0 && v.texts["period"] != "":
		return "", nil, userErrorf("No figure of %s was forecast for %s. Leave period out for the newest.", s.Definition.ID, quoted(v.texts["period"]))
	}
	var l lines
	if len(answer.Data) == 0 {
		l.add("No figure of %s was forecast yet.", s.Definition.ID)
	}
	for _, f := range answer.Data {
		l.forecast(f)
	}
	l.add("What they were worth so far: %s\n\n%s", answer.ScorecardURL, answer.Disclaimer)
	return l.String(), answer, nil
}

// forecast adds a forecast and its grade as a sentence each.
func (l *lines) forecast(f view.Forecast) {
	at := map[float64]float64{}
	for _, q := range f.Quantiles {
		at[q.P] = q.Value
	}
	l.add("%s, %s: median %g %s, central 80 percent of its quantiles %g to %g, label %s, recorded %s, release %s at the earliest.", f.Target.Name,
		f.Target.Period, at[0.5], f.Target.Unit, at[0.1], at[0.9], f.Label, f.IssuedAt.UTC().Format("2006-01-02 15:04"),
		f.Target.ReleaseAt.UTC().Format("2006-01-02 15:04"))
	switch g := f.Grade; {
	case g == nil:
	case g.Outcome == nil:
		l.add("  No print came in time: it does not count.")
	default:
		l.add("  Printed %g; CRPS %g, of the naive forecasts %g and %g.", *g.Outcome, *g.CRPS, g.CRPSNaive[0], g.CRPSNaive[1])
	}
}
