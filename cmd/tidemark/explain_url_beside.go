package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"slices"
	"time"

	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/signals"
)

// beside compares what the server says beside the numbers: the time of the value, when its bytes came, and whether the data are real.
func (o *outside) beside(all view.Inputs, snapshot view.SignalSnapshot) {
	about := snapshot.ObservedAt != nil && snapshot.ObservedAt.Equal(*o.stated.ObservedAt)
	if !o.stated.Newest { // it is older than the snapshot's newest one
		about = snapshot.ObservedAt != nil && snapshot.ObservedAt.After(*o.stated.ObservedAt)
	}
	if snapshot.ID != o.def.ID || !about || snapshot.AsOf == nil || !snapshot.AsOf.Equal(o.stated.AsOf) {
		o.say("list", differ, "observed_at", "the snapshot is of %s about %s as of %s, the evidence about %s as of %s", snapshot.ID, instant(snapshot.ObservedAt),
			instant(snapshot.AsOf), instant(o.stated.ObservedAt), instant(&o.stated.AsOf))
	}
	said := snapshot.Uncertainty
	if want := view.UncertaintyOf(o.def, &postgres.Uncertainty{Basis: said.Basis, Record: said.Record}); decimal(said.Level) != decimal(want.Level) ||
		said.LevelPct != want.LevelPct || said.Method != want.Method || said.Text != want.Text {
		o.say("record", differ, "uncertainty.text", "the server says %q at the level %s, its record makes %q at %s", said.Text, decimal(said.Level), want.Text, decimal(want.Level))
	}
	o.times(all, snapshot)
	o.real(all, snapshot)
	o.terms(all, snapshot)
	o.said(all, snapshot)
	o.freshness(snapshot)
	o.servedAt(snapshot)
}

// terms compares licence, source and description with the method's own.
func (o *outside) terms(all view.Inputs, snapshot view.SignalSnapshot) {
	for _, t := range []struct {
		name, want string
		said       []string
	}{
		{"license", o.def.License, []string{snapshot.License, o.stated.License, all.License}},
		{"source_url", o.def.SourceURL, []string{snapshot.SourceURL, o.stated.SourceURL, all.SourceURL}},
		{"name", o.def.Name, []string{snapshot.Name, o.stated.Name}},
		{"unit", o.def.Unit, []string{snapshot.Unit, o.stated.Unit}},
		{"formula", o.def.Technique, []string{o.stated.Formula}},
		{"baseline_method", o.def.BaselineMethod, []string{snapshot.BaselineMethod}},
		{"domain", o.def.Domain, []string{snapshot.Domain}},
		{"frequency", o.def.Frequency, []string{snapshot.Frequency}},
	} {
		for _, said := range t.said {
			if said != t.want {
				o.say("list", differ, t.name, "the server says %q, and the method has %q", said, t.want)
			}
		}
	}
}

// freshness computes the state of the snapshot as of its own instant.
func (o *outside) freshness(snapshot view.SignalSnapshot) {
	want := view.Freshness{State: view.Unknown, MaxAgeSeconds: int64(o.def.Staleness / time.Second)}
	if snapshot.ObservedAt != nil {
		want.State = view.Stale
		if o.def.Status(*snapshot.ObservedAt, o.stated.AsOf) == signals.StatusLive {
			want.State = view.Fresh
		}
	}
	if snapshot.Freshness != want {
		o.say("list", differ, "freshness", "the server says %s, at most %d s old; we find %s, at most %d s", snapshot.Freshness.State, snapshot.Freshness.MaxAgeSeconds,
			want.State, want.MaxAgeSeconds)
	}
}

// servedAt holds the time from which on the numbers could be served against the snapshot's instant. Numbers may be stored again later, and
// not before that.
func (o *outside) servedAt(snapshot view.SignalSnapshot) {
	stated, said := o.stated.ServedAt, snapshot.ServedAt
	switch {
	case (stated == nil) != (said == nil) || said != nil && !said.Equal(*stated):
		o.say("list", differ, "served_at", "the evidence says %s, the snapshot %s", instant(stated), instant(said))
	case said != nil && said.Before(o.stated.AsOf):
		o.say("list", differ, "served_at", "the server says %s, before the instant %s that the numbers are of", instant(said), instant(&o.stated.AsOf))
	}
}

// times compares the stated times with the times of the bodies: bytes that came later cannot have brought a value before.
func (o *outside) times(all view.Inputs, snapshot view.SignalSnapshot) {
	came := map[string]time.Time{}
	for _, b := range o.stated.Bodies {
		came[b.SHA256] = b.RetrievedAt
	}
	for _, b := range all.Data { // of bytes that came several times it has the first
		if at, named := came[b.SHA256]; named && b.RetrievedAt.Before(at) {
			came[b.SHA256] = b.RetrievedAt
		}
	}
	wrong := 0
	for _, c := range o.allCells() {
		at, named := came[c.SHA256]
		switch {
		case !named:
		case c.PublishedAtAssumed && !c.PublishedAt.After(at), !c.PublishedAtAssumed && !c.PublishedAt.Before(at), o.statesVintage(c):
		default:
			wrong++
			o.say("list", differ, fmt.Sprintf("%s of %s", c.Series, c.ObservedAt.Format(time.DateOnly)), "published_at is %s (assumed: %t), and its bytes came at %s",
				instant(&c.PublishedAt), c.PublishedAtAssumed, instant(&at))
		}
	}
	var newest time.Time
	for _, c := range o.stated.ValueCells {
		if at := came[c.SHA256]; at.After(newest) {
			newest = at
		}
	}
	switch {
	case snapshot.IngestedAt == nil || snapshot.IngestedAt.Before(newest):
		o.say("list", differ, "ingested_at", "the server says %s, and bytes of the value came at %s", instant(snapshot.IngestedAt), instant(&newest))
	case snapshot.PublishedAt == nil || snapshot.PublishedAt.After(*snapshot.IngestedAt):
		o.say("list", differ, "published_at", "the server says %s, after the bytes of %s", instant(snapshot.PublishedAt), instant(snapshot.IngestedAt))
	case !snapshot.PublishedAtAssumed && !snapshot.PublishedAt.Equal(*snapshot.IngestedAt):
		o.say("list", differ, "published_at_assumed", "the server says that it saw the publication of %s, and its bytes came at %s", instant(snapshot.PublishedAt), instant(snapshot.IngestedAt))
	case wrong == 0:
		o.say("list", agrees, "times", "no value was known before its bytes came; the newest came at %s", instant(&newest))
	}
}

// statesVintage reports whether the body of a cell itself states when the value became known.
func (o *outside) statesVintage(c view.EvidenceCell) bool {
	for _, v := range o.vintages[c.SHA256] {
		if string(v.Series) == c.Series && v.ObservedAt.Equal(c.ObservedAt) && v.VintageAt.Equal(c.PublishedAt) {
			return true
		}
	}
	return false
}

// real compares whether the data are made up with the bytes, which say so where their form has room for it.
func (o *outside) real(all view.Inputs, snapshot view.SignalSnapshot) {
	said := snapshot.Synthetic
	if o.stated.Synthetic != said || all.Synthetic != said {
		o.say("list", differ, "synthetic", "the snapshot says %t, the evidence %t, the list of the bodies %t", said, o.stated.Synthetic, all.Synthetic)
	}
	switch {
	case o.drawn > 0 && !said:
		o.say("list", differ, "synthetic", "the server says that the data are real, and %d bodies say that a sandbox drew them", o.drawn)
	case o.drawn > 0:
		o.say("list", agrees, "synthetic", "the data are made up: %d bodies say so", o.drawn)
	}
}

// sandboxNote is in the bodies that a sandbox makes, where the form of the publisher has room for it.
const sandboxNote = "drawn by a sandbox"

// drawnBySandbox reports whether a body says that a sandbox made it. It looks into a zip archive, too.
func drawnBySandbox(body []byte) bool {
	note := []byte(sandboxNote)
	if bytes.Contains(body, note) {
		return true
	}
	within := func(r io.Reader) bool {
		text, _ := io.ReadAll(io.LimitReader(r, maxRawBody)) // what is damaged ends early
		return bytes.Contains(text, note)
	}
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(archive.File, func(f *zip.File) bool {
		r, err := f.Open()
		if err != nil {
			return false
		}
		defer func() { _ = r.Close() }() // it was read
		return within(r)
	})
}

// steps compares the formulas with the numbers put in, and whether the numbers follow from the cells. Whether the formulas count is not the
// server's to say: they are not compared only where its numbers are not ours, and that is found already.
func (o *outside) steps(ours []signals.Step) {
	if o.count("number", differ) > 0 {
		return
	}
	if !o.stated.Recomputed {
		o.say("number", differ, "recomputed", "the server says that its numbers do not follow from the cells, and we compute the same")
	}
	for i := range max(len(ours), len(o.stated.Steps)) {
		switch {
		case i >= len(ours):
			o.say("number", differ, "steps."+o.stated.Steps[i].Name, "the server shows a formula, and the numbers have none")
		case i >= len(o.stated.Steps):
			o.say("number", differ, "steps."+ours[i].Name, "the server leaves out %s", ours[i].Formula)
		default:
			said, want := o.stated.Steps[i], ours[i]
			if said.Name != want.Name || said.Formula != want.Formula || said.Note != want.Note || said.Result == nil || !nearly(*said.Result, want.Result) {
				o.say("number", differ, "steps."+want.Name, "the server says %s = %s, we put in %s = %s", said.Formula, decimal(said.Result), want.Formula, decimal(&want.Result))
			}
		}
	}
}
