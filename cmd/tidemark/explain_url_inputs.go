package main

import (
	"slices"
	"time"

	"tidemark/api/view"
	"tidemark/internal/series"
)

// members compares the list's members of each body with the evidence, with the bytes, and with the history made from the bytes. history is nil
// if not all bytes were read. Then only the evidence's bodies are compared.
func (o *outside) members(all view.Inputs, history map[series.ID][]series.Observation, from map[observation][]string) {
	differed := o.count("list", differ)
	var ours map[string]*brought
	if history != nil {
		ours = o.broughtBy(history, from, all)
	}
	for i, b := range all.Data {
		at := "inputs." + b.SHA256
		if i > 0 && b.RetrievedAt.Before(all.Data[i-1].RetrievedAt) {
			o.say("list", differ, at, "it came at %s, before the body that the list has before it", instant(&b.RetrievedAt))
		}
		if k := slices.IndexFunc(o.stated.Bodies, func(e view.EvidenceBody) bool { return e.SHA256 == b.SHA256 }); k >= 0 {
			if e := o.stated.Bodies[k]; e.Source != b.Source || e.URL != b.URL || e.ContentType != b.ContentType || e.Bytes != b.Bytes || e.RetrievedAt.Before(b.RetrievedAt) {
				o.say("list", differ, at, "the evidence says %d bytes of %s from %s (%s) at %s, the list %d of %s from %s (%s) at %s", e.Bytes, e.Source, e.URL, e.ContentType,
					instant(&e.RetrievedAt), b.Bytes, b.Source, b.URL, b.ContentType, instant(&b.RetrievedAt))
			}
		}
		o.usesOf(at, b)
		if history != nil {
			o.published(at, b, ours[b.SHA256])
		}
	}
	if len(all.Data) > 0 && o.count("list", differ) == differed && history != nil {
		o.say("list", agrees, "inputs", "each body's source, size, times, uses and number of observations")
	}
}

// usesOf compares what rests on a body with the evidence's cells. The list is of the snapshot's newest number.
func (o *outside) usesOf(at string, b view.InputBody) {
	if !slices.Contains(b.Uses, "history") {
		o.say("list", differ, at, "its uses %q lack the history, which every body is part of", b.Uses)
	}
	for _, w := range o.stated.Withdrawn {
		if w.SHA256 == b.SHA256 && !slices.Contains(b.Uses, "withdrawal") {
			o.say("list", differ, at, "its uses %q lack the withdrawal of %s", b.Uses, w.Series)
		}
	}
	if !o.stated.Newest {
		return
	}
	for _, use := range []struct {
		name  string
		cells []view.EvidenceCell
	}{{"value", o.stated.ValueCells}, {"baseline", o.stated.BaselineCells}, {"interval", o.stated.IntervalCells}, {"components", o.stated.ComponentCells}} {
		rests := slices.ContainsFunc(use.cells, func(c view.EvidenceCell) bool { return c.SHA256 == b.SHA256 })
		if said := slices.Contains(b.Uses, use.name); said != rests {
			o.say("list", differ, at, "its uses name the %s: %t; a cell of the %s rests on it: %t", use.name, said, use.name, rests)
		}
	}
}

// brought is a body's part of the history: the number of observations in force that came with it. It also has the times at which the newest
// observation in force, and the newest of all, became known.
type brought struct {
	count                              int
	any, anyUnseen, force, forceUnseen time.Time
}

// broughtBy goes through the history once. from names the body behind each value of an observation.
func (o *outside) broughtBy(history map[series.ID][]series.Observation, from map[observation][]string, all view.Inputs) map[string]*brought {
	out := map[string]*brought{}
	later := func(t *time.Time, at time.Time, counts bool) {
		if counts && at.After(*t) {
			*t = at
		}
	}
	for id, list := range history {
		loaded, nth := o.loaded(all, id), 0
		for i, v := range list {
			if nth++; i == 0 || !list[i-1].ObservedAt.Equal(v.ObservedAt) {
				nth = 0
			}
			bodies := from[observation{id, v.ObservedAt.Unix()}]
			if nth >= len(bodies) {
				continue
			}
			b := out[bodies[nth]]
			if b == nil {
				b = &brought{}
				out[bodies[nth]] = b
			}
			unseen := v.Marker == "" && (v.Assumed || v.VintageAt.Equal(loaded))
			newest := v.Marker == "" && (i+1 == len(list) || !list[i+1].ObservedAt.Equal(v.ObservedAt))
			if newest && slices.Contains(o.def.Inputs, id) {
				b.count++
			}
			later(&b.any, v.VintageAt, true)
			later(&b.anyUnseen, v.VintageAt, unseen)
			later(&b.force, v.VintageAt, newest)
			later(&b.forceUnseen, v.VintageAt, newest && unseen)
		}
	}
	return out
}

// published compares a body's number of observations, and when the newest of them became known.
func (o *outside) published(at string, b view.InputBody, ours *brought) {
	if ours == nil {
		o.say("list", differ, at, "the list has it, and it brought nothing that was not known before")
		return
	}
	published, assumed := ours.force, ours.force.Equal(ours.forceUnseen)
	if published.IsZero() {
		published, assumed = ours.any, ours.any.Equal(ours.anyUnseen)
	}
	if b.Observations != ours.count {
		o.say("list", differ, at, "the list says that %d observations in force came with it, we count %d", b.Observations, ours.count)
	}
	if !b.PublishedAt.Equal(published) || b.PublishedAtAssumed != assumed {
		o.say("list", differ, at, "the list says that its newest became known at %s (assumed: %t), we find %s (assumed: %t)", instant(&b.PublishedAt), b.PublishedAtAssumed,
			instant(&published), assumed)
	}
}
