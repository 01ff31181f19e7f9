package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"tidemark/api/view"
	"tidemark/ingest"
	"tidemark/internal/series"
)

// arrival is a body and a time at which it came.
type arrival struct {
	sha256 string
	at     int64 // in microseconds
}

// asCame are the readings of a body as it came at a time.
func (o *outside) asCame(sha256 string, at time.Time) ingest.Batch {
	if as, other := o.came[arrival{sha256, at.UnixMicro()}]; other {
		return as
	}
	return ingest.Batch{Readings: o.parsed[sha256], Covers: o.covered[sha256], Vintages: o.vintages[sha256]}
}

// otherTimes reads bodies again that came several times, as of each time: of the same bytes a parser may count more as final later.
func (o *outside) otherTimes(ctx context.Context, all view.Inputs) error {
	for _, b := range all.Data {
		src, known := sourceByID(b.Source)
		if _, read := o.parsed[b.SHA256]; !read || !known || len(b.RetrievedAgain) == 0 {
			continue
		}
		status, bytes, err := o.reader.Raw(ctx, "/raw/"+b.SHA256, maxRawBody)
		if err != nil {
			return fmt.Errorf("read a body of %s: %w", o.reader.Base(), err)
		}
		if sum := sha256.Sum256(bytes); status != http.StatusOK || hex.EncodeToString(sum[:]) != b.SHA256 {
			o.say("body", missing, b.SHA256, "it was served once, and not again")
			continue
		}
		for _, at := range append([]time.Time{b.RetrievedAt}, b.RetrievedAgain...) {
			as, _, err := o.parse(src, view.EvidenceBody{
				SHA256: b.SHA256, Source: b.Source, URL: b.URL, ContentType: b.ContentType, RetrievedAt: at, Bytes: b.Bytes,
			}, bytes)
			if errors.Is(err, errTooMany) {
				return err
			}
			if err != nil {
				o.say("body", differ, b.SHA256, "our parser does not read it as it came at %s: %v", instant(&at), err)
				continue
			}
			o.came[arrival{b.SHA256, at.UnixMicro()}] = as
		}
	}
	return nil
}

// made is the history that the bytes make: all values of each series, and for each observation the body behind each of its values.
type made struct {
	values map[series.ID][]series.Observation
	from   map[observation][]string
	// read reports whether all bodies of a series were read.
	read func(id series.ID) bool
}

// ofCell returns the value that was in force as of an instant, or the one before it if that was superseded, and the body that brought it.
func (m made) ofCell(id series.ID, observedAt, asOf time.Time, superseded bool) (v series.Observation, body string, ok bool) {
	list := m.values[id]
	start, _ := slices.BinarySearchFunc(list, observedAt, func(o series.Observation, t time.Time) int { return o.ObservedAt.Compare(t) })
	place := -1
	for start+place+1 < len(list) && list[start+place+1].ObservedAt.Equal(observedAt) && !list[start+place+1].VintageAt.After(asOf) {
		place++
	}
	if superseded {
		place--
	}
	bodies := m.from[observation{id, observedAt.Unix()}]
	if place < 0 || place >= len(bodies) {
		return v, "", false
	}
	return list[start+place], bodies[place], true
}

// asOf has the values in force as of an instant, for the inputs of a method.
func (m made) asOf(inputs, reestimated []series.ID, asOf time.Time) series.Set {
	set := series.Set{}
	for _, id := range inputs {
		var last time.Time
		for _, v := range m.values[id] {
			if v.ObservedAt.Equal(last) {
				continue
			}
			last = v.ObservedAt
			now, _, known := m.ofCell(id, v.ObservedAt, asOf, false)
			if !known || now.Marker != "" {
				continue
			}
			p := now.Point()
			set[id] = append(set[id], p)
			if before, _, known := m.ofCell(id, v.ObservedAt, asOf, true); known && before.Marker == "" && slices.Contains(reestimated, id) {
				p.Value = before.Value
				set[series.Before(id)] = append(set[series.Before(id)], p)
			}
		}
	}
	return set
}

// known compares when each value became known, and with which body, with the history that the bytes make. It leaves out series of which some
// bodies were not read.
func (o *outside) known(all view.Inputs, snapshot view.SignalSnapshot, m made) {
	differed, compared := o.count("list", differ), map[view.EvidenceCell]bool{}
	for _, c := range o.allCells() {
		id := series.ID(c.Series)
		if !m.read(id) || compared[c] {
			continue
		}
		compared[c] = true
		name := fmt.Sprintf("%s of %s", c.Series, c.ObservedAt.UTC().Format(time.DateOnly))
		v, body, ok := m.ofCell(id, c.ObservedAt, o.stated.AsOf, c.Superseded)
		switch {
		case !ok || v.Marker != "":
			o.say("list", differ, name, "the server names it, and the listed bodies make no such value")
		case !v.VintageAt.Equal(c.PublishedAt) || v.Assumed != c.PublishedAtAssumed:
			o.say("list", differ, name, "the server says that it became known at %s (assumed: %t), the bodies make it %s (assumed: %t)", instant(&c.PublishedAt),
				c.PublishedAtAssumed, instant(&v.VintageAt), v.Assumed)
		case body != c.SHA256:
			o.say("list", differ, name, "the server says that the body %s brought it, and %s did", c.SHA256, body)
		}
	}
	o.taken(m)
	if !slices.ContainsFunc(o.def.Inputs, func(id series.ID) bool { return !m.read(id) }) {
		o.snapshotTimes(all, snapshot, m)
	}
	if len(compared) > 0 && o.count("list", differ) == differed {
		o.say("list", agrees, "published_at", "of %d observations: when each became known, whether that is assumed, and the body that brought it", len(compared))
	}
}

// taken compares when each observation was taken back, by which sign and with which body.
func (o *outside) taken(m made) {
	named := map[observation]bool{}
	for _, w := range o.stated.Withdrawn {
		id := series.ID(w.Series)
		named[observation{id, w.ObservedAt.Unix()}] = true
		if !m.read(id) {
			continue
		}
		v, body, ok := m.ofCell(id, w.ObservedAt, o.stated.AsOf, false)
		if !ok || v.Marker != w.Marker || !v.VintageAt.Equal(w.WithdrawnAt) || body != w.SHA256 {
			o.say("withdrawn", differ, fmt.Sprintf("%s of %s", w.Series, w.ObservedAt.UTC().Format(time.DateOnly)),
				"the server says that it was taken back at %s with the sign %q of the body %s, the bodies make it %s, %q, %s", instant(&w.WithdrawnAt), w.Marker, w.SHA256,
				instant(&v.VintageAt), v.Marker, body)
		}
	}
	for _, id := range o.def.Inputs {
		if !m.read(id) {
			continue
		}
		for i, v := range m.values[id] {
			if i > 0 && m.values[id][i-1].ObservedAt.Equal(v.ObservedAt) || v.ObservedAt.After(o.stated.AsOf) {
				continue // once for each observation
			}
			now, _, known := m.ofCell(id, v.ObservedAt, o.stated.AsOf, false)
			if known && now.Marker != "" && m.wasNumber(now) && !named[observation{id, v.ObservedAt.Unix()}] {
				o.say("withdrawn", differ, fmt.Sprintf("%s of %s", id, v.ObservedAt.Format(time.DateOnly)), "it was taken back at %s, and the server does not say so", instant(&now.VintageAt))
			}
		}
	}
}

// wasNumber reports whether an observation was a number before it was taken back.
func (m made) wasNumber(now series.Observation) bool {
	return slices.ContainsFunc(m.values[now.Series], func(v series.Observation) bool {
		return v.ObservedAt.Equal(now.ObservedAt) && v.VintageAt.Before(now.VintageAt) && v.Marker == ""
	})
}

// snapshotTimes compares the snapshot's own times, and the days that its JSON-LD covers.
func (o *outside) snapshotTimes(all view.Inputs, snapshot view.SignalSnapshot, m made) {
	track := o.def.Compute(m.asOf(o.def.Inputs, o.def.Reestimated, o.stated.AsOf), o.stated.AsOf)
	o.made = make(map[int64]time.Time, len(track))
	for _, e := range track {
		o.made[e.ObservedAt.Time().UnixMicro()] = e.KnownAt.Time()
	}
	if len(track) == 0 || snapshot.PublishedAt == nil || snapshot.IngestedAt == nil {
		return // which the numbers and the times say
	}
	newest := track[len(track)-1]
	var loaded time.Time // when the last of the inputs was loaded for the first time
	for _, id := range o.def.Inputs {
		if at := o.loaded(all, id); at.After(loaded) {
			loaded = at
		}
	}
	known := newest.KnownAt.Time()
	ingested := known
	assumed := !known.After(loaded)
	if assumed {
		ingested = loaded
	}
	if !snapshot.PublishedAt.Equal(known) || snapshot.PublishedAtAssumed != assumed {
		o.say("list", differ, "published_at", "the snapshot says that its newest input became known at %s (assumed: %t), the bodies make it %s (assumed: %t)",
			instant(snapshot.PublishedAt), snapshot.PublishedAtAssumed, instant(&known), assumed)
	}
	if !snapshot.IngestedAt.Equal(ingested) {
		o.say("list", differ, "ingested_at", "the snapshot says %s, the bodies make it %s", instant(snapshot.IngestedAt), instant(&ingested))
	}
	covers := newest.ObservedAt.Time().Format(time.DateOnly)
	if first := track[0].ObservedAt; first < newest.ObservedAt {
		covers = first.Time().Format(time.DateOnly) + "/" + covers
	}
	if said := snapshot.JSONLD.TemporalCoverage; said != covers {
		o.say("list", differ, "json_ld.temporalCoverage", "the server says %q, the bodies make it %q", said, covers)
	}
}
