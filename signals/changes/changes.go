// Package changes explains why a signal moved. It divides the difference of two snapshots into new observations, revisions of old ones,
// windows that advanced, and code changes. It contains no formula of any signal. It runs the signal's own computation over inputs that
// grow from those known at the first snapshot to those known at the second. Start at Explain.
package changes

import (
	"math"
	"slices"
	"time"

	"tidemark/internal/series"
	"tidemark/signals"
)

// Kind is the cause of one part of a difference.
type Kind string

// The kinds.
const (
	// NewObservation is the effect of observations that a release added.
	NewObservation Kind = "new_observation"
	// Revision is an old observation that got another value, or was withdrawn.
	Revision Kind = "revision"
	// Window is the effect of time alone: days that left the window of a mean, or a day on which the signal's result changes.
	Window Kind = "window"
	// BaselineWindow is that the newest observation, being of another day, is compared with other days.
	BaselineWindow Kind = "baseline_window"
	// Code is that another program computes, or that observations were stored late.
	Code Kind = "code"
)

// Numbers are the three that are explained. NaN: unknown.
type Numbers struct{ Value, Baseline, Z float64 }

// Snapshot holds the numbers served as of an instant.
type Snapshot struct {
	At time.Time
	Numbers
}

// Vintage is an observation that became known between the two snapshots.
type Vintage struct {
	series.Observation

	// Source supplied the observation, in the run Release. Observations of one run are one release. Observations without a run (0) are
	// one release if they became known at one instant.
	Source  string
	Release int64
}

// Part is one cause of the difference, and what it did to the three numbers.
type Part struct {
	Kind   Kind
	Source string
	// Series is empty where several are meant.
	Series series.ID
	// From and To are the first and last observation time of the part. Both are zero if the part has no observations.
	From, To time.Time
	// Release is the time at which the newest observation of the part became known. It is zero for a part without a release.
	Release time.Time
	// Count is how many observations are meant, Releases how many releases.
	Count, Releases int
	// Before and After are the observation's values if the part has exactly one observation. NaN: no value.
	Before, After float64

	Numbers
}

// Explanation divides the difference of two snapshots.
type Explanation struct {
	Total Numbers
	Parts []Part
}

const (
	// maxReleases is how many releases are told apart, the newest; all before are one part.
	maxReleases = 24
	// maxComputations bounds how often the signal is computed to tell revisions apart.
	maxComputations = 48
)

// Explain divides the difference between two snapshots of a signal. The set known has the signal's inputs at the first snapshot, as
// series.Set and series.Before define them. The observations in news became known after it, until the second.
//
// The order of the steps is fixed, and each part is the change of its step:
//
//  1. The first snapshot's inputs are computed again. The difference, together with the difference of step 4, is the part of the code.
//  2. Releases follow in the order in which they became known. Within each, the revisions come first, series by series, then all new
//     observations at once. A signal of three prices has no value for a day before it has the third price. If the newest observation
//     changes, the step has three parts. The signal is first computed with the mean so far in place of the new days (Window, only for a
//     signal that is the mean of its newest days). Then it is compared with the new day's baseline (BaselineWindow). Then it is computed
//     with the observed values.
//  3. The clock advances to the second snapshot's instant (Window and BaselineWindow).
//  4. The result is compared with the numbers served then.
//
// The differences along one path add up to the whole difference for every signal, apart from floating-point rounding of the sum. Another
// order would give other parts if observations interact. Readers learned of them in this order.
//
// A step that makes a number unknown changes it by nothing; the step that makes it known again gets all of its change. If one of the two
// snapshots lacks a number, its total and its parts are unknown. Parts that change nothing are left out.
//
// Explain is pure. It computes the signal about a hundred times at most; beyond that limit, revisions of older days are one part.
func Explain(d signals.Definition, from, to Snapshot, known series.Set, news []Vintage) Explanation {
	w := walk{d: d, in: inputs{set: known, reestimated: d.Reestimated}, at: from.At}
	w.now = w.compute(w.in, w.at).over(state{Numbers: from.Numbers})
	code := w.now.minus(from.Numbers)
	releases := group(news)
	if n := len(releases) - maxReleases; n > 0 {
		w.lump(releases[:n])
		releases = releases[n:]
	}
	for _, r := range releases {
		w.left = maxComputations / len(releases)
		w.release(r)
	}
	w.clock(to.At)
	end := state{Numbers: to.Numbers}.over(w.now)
	code = code.plus(end.minus(w.now.Numbers))
	w.parts = append(w.parts, Part{Kind: Code, Before: math.NaN(), After: math.NaN(), Numbers: code})
	out := Explanation{Total: to.minus(from.Numbers)}
	for _, p := range w.parts {
		if p.Numbers = p.masked(out.Total); p.moves() {
			out.Parts = append(out.Parts, p)
		}
	}
	return out
}

// state is the signal's result at one step.
type state struct {
	Numbers

	newest signals.Estimate
}

// over returns s with its unknown numbers taken from the state before.
func (s state) over(before state) state {
	s.Value, s.Baseline, s.Z = or(s.Value, before.Value), or(s.Baseline, before.Baseline), or(s.Z, before.Z)
	return s
}

func or(x, other float64) float64 {
	if math.IsNaN(x) {
		return other
	}
	return x
}

// minus is the difference. Two unknown numbers differ by nothing that is known.
func (n Numbers) minus(o Numbers) Numbers {
	return Numbers{n.Value - o.Value, n.Baseline - o.Baseline, n.Z - o.Z}
}

func (n Numbers) plus(o Numbers) Numbers {
	return Numbers{n.Value + o.Value, n.Baseline + o.Baseline, n.Z + o.Z}
}

// same reports whether two states have the same numbers, unknown ones too.
func (n Numbers) same(o Numbers) bool {
	equal := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
	return equal(n.Value, o.Value) && equal(n.Baseline, o.Baseline) && equal(n.Z, o.Z)
}

// moves reports whether any of the numbers is known and not zero.
func (n Numbers) moves() bool {
	moves := func(x float64) bool { return x != 0 && !math.IsNaN(x) }
	return moves(n.Value) || moves(n.Baseline) || moves(n.Z)
}

// masked is n, unknown wherever the total is.
func (n Numbers) masked(total Numbers) Numbers {
	mask := func(x, total float64) float64 {
		if math.IsNaN(total) {
			return math.NaN()
		}
		return x
	}
	return Numbers{mask(n.Value, total.Value), mask(n.Baseline, total.Baseline), mask(n.Z, total.Z)}
}

// walk goes from one snapshot to the other.
type walk struct {
	d  signals.Definition
	in inputs
	at time.Time
	// now is the signal's result for in at that instant.
	now state
	// left is how many computations may still tell the revisions of a release apart.
	left  int
	parts []Part
}

func (w *walk) compute(in inputs, at time.Time) state {
	track := w.d.Compute(in.set, at)
	if len(track) == 0 {
		unknown := math.NaN()
		return state{Numbers: Numbers{unknown, unknown, unknown}}
	}
	e := track[len(track)-1]
	return state{Numbers{e.Value, e.Baseline, e.Z()}, e}
}

// add appends a part: the change of one step.
func (w *walk) add(p Part, before, after Numbers) {
	p.Numbers = after.minus(before)
	if p.Count != 1 {
		p.Before, p.After = math.NaN(), math.NaN()
	}
	w.parts = append(w.parts, p)
}

// release takes one release in: its revisions, then what is new.
func (w *walk) release(r release) {
	w.at = r.last
	revised, added := w.in.split(r.news, w.d.Inputs)
	if len(revised) > 0 {
		in := w.in.with(revised)
		w.divide(revised, w.in, w.now, w.compute(in, w.at).over(w.now))
		w.in = in
	}
	if len(added) > 0 {
		in := w.in.with(added)
		w.step(meant(NewObservation, added), w.compute(in, w.at).over(w.now), added)
		w.in = in
	}
}

// lump takes many releases in as one part.
func (w *walk) lump(list []release) {
	var all []Vintage
	for _, r := range list {
		all = append(all, r.news...)
		w.in, w.at = w.in.with(r.news), r.last
	}
	p := meant(NewObservation, all)
	p.Releases = len(list)
	w.step(p, w.compute(w.in, w.at).over(w.now), nil)
}

// clock lets the time pass until an instant.
func (w *walk) clock(at time.Time) {
	w.at = at
	w.step(Part{Kind: Window}, w.compute(w.in, at).over(w.now), nil)
}

// step moves to the next state, and divides what that changed where the newest observation is another one.
func (w *walk) step(p Part, next state, added []Vintage) {
	now := w.now
	defer func() { w.now = next }()
	if next.newest.ObservedAt == now.newest.ObservedAt || now.newest.ObservedAt.IsZero() || next.newest.ObservedAt.IsZero() {
		w.add(p, now.Numbers, next.Numbers)
		return
	}
	rolled := now
	if kept, ok := w.carried(added); ok && kept.newest.ObservedAt == next.newest.ObservedAt {
		rolled = w.against(kept.Value, now.newest, now)
		w.add(Part{Kind: Window}, now.Numbers, rolled.Numbers)
	}
	compared := w.against(rolled.Value, next.newest, rolled)
	compared.Baseline = next.Baseline
	w.add(Part{Kind: BaselineWindow}, rolled.Numbers, compared.Numbers)
	w.add(p, compared.Numbers, next.Numbers)
}

// against holds a value against the baseline of an estimate.
func (w *walk) against(value float64, e signals.Estimate, before state) state {
	e.Value = value
	return state{Numbers{value, before.Baseline, e.Z()}, e}.over(before)
}

// carried computes the signal with the mean so far in place of each new day. It returns false if the signal is not such a mean.
func (w *walk) carried(added []Vintage) (state, bool) {
	known := w.in.set[w.d.Averaged]
	if w.d.Averaged == "" || len(known) == 0 || math.IsNaN(w.now.newest.Value) {
		return state{}, false
	}
	var usual []Vintage
	for _, v := range added {
		if v.Series == w.d.Averaged && series.InstantOf(v.ObservedAt) > known[len(known)-1].ObservedAt && v.Marker == "" {
			v.Value = w.now.newest.Value
			usual = append(usual, v)
		}
	}
	if len(usual) == 0 {
		return state{}, false
	}
	return w.compute(w.in.with(usual), w.at).over(w.now), true
}

// divide finds what each of some revisions did, which lead from one state to another in their order, and moves there. Halves that change nothing are
// passed over, and the newest days are told apart first: where the number of computations runs out, those before are one part.
func (w *walk) divide(revised []Vintage, in inputs, from, to state) {
	w.now = to
	found := len(w.parts)
	w.halve(revised, in, from, to)
	slices.Reverse(w.parts[found:])
}

func (w *walk) halve(revised []Vintage, in inputs, from, to state) {
	if from.same(to.Numbers) {
		return
	}
	if len(revised) == 1 || w.left == 0 {
		p := meant(Revision, revised)
		if p.Count == 1 {
			p.Before = in.value(revised[0])
		}
		w.add(p, from.Numbers, to.Numbers)
		return
	}
	w.left--
	half := len(revised) / 2
	first := in.with(revised[:half])
	middle := w.compute(first, w.at).over(from)
	w.halve(revised[half:], first, middle, to)
	w.halve(revised[:half], in, from, middle)
}

// meant is a part about some vintages.
func meant(kind Kind, list []Vintage) Part {
	p := Part{
		Kind: kind, Source: list[0].Source, Series: list[0].Series, From: list[0].ObservedAt, To: list[0].ObservedAt, Count: len(list), Releases: 1,
		Before: math.NaN(), After: math.NaN(),
	}
	if len(list) == 1 && list[0].Marker == "" {
		p.After = list[0].Value
	}
	for _, v := range list {
		if v.Series != p.Series {
			p.Series = ""
		}
		if v.Source != p.Source {
			p.Source = ""
		}
		if v.ObservedAt.Before(p.From) {
			p.From = v.ObservedAt
		}
		if v.ObservedAt.After(p.To) {
			p.To = v.ObservedAt
		}
		if v.VintageAt.After(p.Release) {
			p.Release = v.VintageAt
		}
	}
	return p
}
