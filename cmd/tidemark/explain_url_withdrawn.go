package main

import (
	"fmt"
	"slices"
	"time"

	"tidemark/api/view"
	"tidemark/ingest"
	"tidemark/internal/series"
)

// observation names an observation of a series by its time in seconds.
type observation struct {
	id series.ID
	at int64
}

// withdrawal holds a stated withdrawal against the bytes. The body that the server names must hold the time of the observation without a number,
// and no body that came later may state one. Then the observation is left out of the computation, also where older bytes state it.
func (o *outside) withdrawal(w view.EvidenceWithdrawal) {
	id, name := series.ID(w.Series), fmt.Sprintf("%s of %s", w.Series, w.ObservedAt.UTC().Format(time.DateOnly))
	gone := observation{id, w.ObservedAt.Unix()}
	readings, read := o.parsed[w.SHA256]
	i := slices.IndexFunc(o.stated.Bodies, func(b view.EvidenceBody) bool { return b.SHA256 == w.SHA256 })
	switch {
	case i < 0:
		o.say("withdrawn", differ, name, "the body %s is not among those that the server names", w.SHA256)
		return
	case o.withheld[w.SHA256]:
		o.withdrawn[gone] = true
		o.say("withdrawn", hidden, name, "taken back, as the server says: the bytes are kept back")
		return
	case !read:
		o.say("withdrawn", missing, name, "its body was not read")
		return
	}
	stated := func(list []ingest.Reading) int {
		return slices.IndexFunc(list, func(r ingest.Reading) bool { return r.Series == id && r.ObservedAt.Equal(w.ObservedAt) })
	}
	covers := slices.ContainsFunc(o.covered[w.SHA256], func(c ingest.Coverage) bool { return c.Series == id && c.Window.Contains(w.ObservedAt) })
	at := stated(readings)
	switch {
	case at >= 0 && readings[at].Marker == "":
		o.say("withdrawn", differ, name, "the server says that it was taken back, and the bytes state %v", readings[at].Value)
		return
	case at < 0 && !covers:
		o.say("withdrawn", differ, name, "the server says that it was taken back, and the bytes do not reach to it")
		return
	}
	since := o.stated.Bodies[i].RetrievedAt
	for _, b := range o.stated.Bodies {
		if later := stated(o.parsed[b.SHA256]); b.RetrievedAt.After(since) && later >= 0 && o.parsed[b.SHA256][later].Marker == "" {
			o.say("withdrawn", differ, name, "the server says that it was taken back, and later bytes state %v", o.parsed[b.SHA256][later].Value)
			return
		}
	}
	o.withdrawn[gone] = true
	what := "the bytes leave it out"
	if at >= 0 {
		what = fmt.Sprintf("the bytes state %q", readings[at].Marker)
	}
	o.say("withdrawn", agrees, name, "taken back: since %s %s", since.UTC().Format(time.RFC3339), what)
}
