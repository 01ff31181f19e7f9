package monitor

import (
	"maps"
	"slices"
	"time"

	"tidemark/chain/tlog"
)

// silence records a missing quorum or a silent log.
func (r *round) silence(held []copied, o *tlog.Opened) {
	newest := map[string]tlog.Cosigned{}
	add := func(lines []tlog.Cosigned) {
		for _, l := range lines {
			if l.At.After(newest[l.VKey].At) && !l.At.After(r.now.Add(maxAhead)) {
				newest[l.VKey] = l
			}
		}
	}
	if o != nil {
		add(o.Cosigned)
	}
	for _, w := range held {
		add(w.opened.Cosigned)
	}
	lines := slices.Collect(maps.Values(newest))
	slices.SortFunc(lines, func(a, b tlog.Cosigned) int { return b.At.Compare(a.At) })
	for i := range lines { // the newest lines that are a quorum are as old as their oldest
		if r.o.Policy.AsksWitnesses() && r.o.Policy.Met(lines[:i+1]) {
			r.quorum = lines[i].At
			break
		}
	}
	since := r.state.GrownAt
	what := "has not grown"
	if r.o.Policy.AsksWitnesses() {
		what = "has had no quorum"
		if since = r.quorum; since.IsZero() {
			since = r.Status().Quorum
		}
		if since.IsZero() {
			since = r.state.Began
		}
	}
	if age := r.now.Sub(since); age > r.o.Cadence {
		r.find(KindStopped, "", false, "The log %s %s since %s, for %s.", r.state.Origin, what, since.Format(time.RFC3339), age.Truncate(time.Second))
	}
}

// maxAhead is how far in the future a line of a witness may be.
const maxAhead = 5 * time.Minute
