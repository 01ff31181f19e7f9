package signals

import (
	"slices"
	"sort"
	"sync"
	"time"

	"tidemark/internal/series"
)

// Growing is a track in two parts, which follow one another. Both are immutable. Tracks that continue one another share the memory of Settled.
type Growing struct {
	// Settled are estimates that stay as they are while only later observations are added to the inputs.
	Settled Track
	// Rest are the other estimates.
	Rest Track
}

// Whole is a track without a settled part.
func Whole(t Track) Growing { return Growing{Rest: t} }

// Len is the number of estimates.
func (g Growing) Len() int { return len(g.Settled) + len(g.Rest) }

// At is the i-th estimate.
func (g Growing) At(i int) *Estimate {
	if i < len(g.Settled) {
		return &g.Settled[i]
	}
	return &g.Rest[i-len(g.Settled)]
}

// Track is a copy of both parts as one track.
func (g Growing) Track() Track { return slices.Concat(g.Settled, g.Rest) }

// Shared is the number of first estimates that two tracks have in the same memory.
func (g Growing) Shared(o Growing) int {
	if !continues(g.Settled, o.Settled) && !continues(o.Settled, g.Settled) {
		return 0
	}
	return min(len(g.Settled), len(o.Settled))
}

// continues reports whether a list begins with all of another one, in the same memory.
func continues[T any](before, after []T) bool {
	return len(before) > 0 && len(after) >= len(before) && &before[0] == &after[0]
}

// growth says how a track continues when later observations are added to its inputs.
type growth struct {
	// open is how many of the newest estimates may change without new observations, or with the next one.
	open int
	// tail returns the estimates after settled, with the bits of Compute. The inputs continue those that settled was computed from, and
	// settled is not empty. It reports false if another estimate may have changed.
	tail func(settled Track, in series.Set, at time.Time) (Track, bool)
}

// Tracks computes tracks, and keeps the last one of each signal. If the inputs continue those of the kept track in the same memory, it only
// computes the estimates that are not settled. Now and then it computes the whole nevertheless, so that nothing wrong would stay. The zero value is empty. Nil keeps nothing. It is safe for concurrent use.
type Tracks struct {
	mu   sync.Mutex
	last map[string]computed
}

// computed is a track with its inputs. Who takes it from Tracks owns the memory after settled.
type computed struct {
	in      series.Set
	at      time.Time
	settled Track
	// continued is how often this memory was continued.
	continued int
}

// wholeEvery is how often a track is continued before it is computed whole again.
const wholeEvery = 31

// Compute returns the estimates of the definition's Compute, bit for bit. The inputs must not be changed later.
func (t *Tracks) Compute(d Definition, in series.Set, at time.Time) Growing {
	if t == nil || d.growth == nil {
		return Whole(d.Compute(in, at))
	}
	last, some := t.take(d.ID)
	if some && len(last.settled) > 0 && last.continued < wholeEvery && continued(d, last.in, in) {
		if rest, ok := d.growth.tail(last.settled, in, at); ok {
			n := max(0, len(rest)-d.growth.open)
			last.settled = append(last.settled, rest[:n]...)
			t.put(d.ID, computed{in, at, last.settled, last.continued + 1})
			return Growing{slices.Clip(last.settled), slices.Clone(rest[n:])}
		}
	}
	track := d.Compute(in, at)
	if some && at.Before(last.at) { // an old instant again
		t.put(d.ID, last)
		return Whole(track)
	}
	n := max(0, len(track)-d.growth.open)
	settled := append(make(Track, 0, n+n/16+16), track[:n]...)
	t.put(d.ID, computed{in, at, settled, 0})
	return Growing{slices.Clip(settled), slices.Clone(track[n:])}
}

// Forget drops the track of a signal, so that the next one is computed whole. A caller that could not store a track forgets it.
func (t *Tracks) Forget(signal string) {
	if t != nil {
		t.take(signal)
	}
}

func (t *Tracks) take(signal string) (computed, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.last[signal]
	delete(t.last, signal)
	return last, ok
}

func (t *Tracks) put(signal string, c computed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.last = map[string]computed{}
	}
	t.last[signal] = c
}

// continued reports whether inputs only have more observations than before, each after all others of its series.
func continued(d Definition, before, after series.Set) bool {
	for _, id := range d.Inputs {
		if !continues(before[id], after[id]) {
			return false
		}
	}
	for _, id := range d.Reestimated {
		was, is := before[series.Before(id)], after[series.Before(id)]
		if len(was) != len(is) || len(is) > 0 && &was[0] != &is[0] {
			return false
		}
	}
	return true
}

// since returns the points at or after t, without copying.
func since(points []series.Point, t series.Instant) []series.Point {
	return points[sort.Search(len(points), func(i int) bool { return points[i].ObservedAt >= t }):]
}

// after returns the estimates that are later than all of settled.
func after(settled, track Track) Track {
	last := settled[len(settled)-1].ObservedAt
	return track[sort.Search(len(track), func(i int) bool { return track[i].ObservedAt > last }):]
}
