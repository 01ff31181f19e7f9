package signals

import (
	"cmp"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"tidemark/internal/series"
)

// Arrivals says how the observations of a backtest became known. The zero value says that each one did at its vintage and never changed.
type Arrivals struct {
	// RecordedFrom is from when on every value that changes, or that may change, was recorded as it came. The zero time means that all
	// values were.
	RecordedFrom time.Time
	// Revised are the series with values that were not recorded as they came, and whose publisher changes old values. Unwatched are those
	// whose publisher was not watched long enough: see Watched. Unrevised are those whose publisher was, and changed none.
	Revised, Unwatched, Unrevised []series.ID
	// Vintages are all vintages of the inputs that have changed, each series by observation time and vintage.
	Vintages map[series.ID][]series.Observation
}

const (
	// minWatched is how many values must have been recorded as they came and read again unchanged before a publisher counts as one that leaves old
	// values as they are. If none of 60 changed, at most 5 % do, at 95 % (rule of three).
	minWatched = 60
	// watchedFor is how long after its arrival a value must have been read again. Publishers that revise do so within weeks.
	watchedFor = 30 * 24 * time.Hour
)

// Watched counts the values of an unchanged series that were recorded as they came, after recordedFrom. It counts only values that a load
// with something new left unchanged, 30 days later or more.
func Watched(first []series.Point, recordedFrom time.Time) (n int) {
	var newest series.Instant
	for i := range first {
		newest = max(newest, first[i].VintageAt)
	}
	for _, p := range first {
		if known := p.VintageAt.Time(); known.After(recordedFrom) && !known.Add(watchedFor).After(newest.Time()) {
			n++
		}
	}
	return n
}

// Arrivals says how the inputs of the backtest became known. first holds the first vintages, newest the vintages in force. recordedFrom
// returns the time from which on the values of some series were recorded as they came, zero if all were. changed are the signal's own inputs
// that changed. A publisher
// may change old values if the definition says so or if it has done so.
func (d Definition) Arrivals(first, newest series.Set, recordedFrom func(...series.ID) (time.Time, error)) (a Arrivals, changed []series.ID, err error) {
	for _, id := range d.BacktestInputs() {
		same := slices.EqualFunc(first[id], newest[id], func(a, b series.Point) bool {
			return a.ObservedAt == b.ObservedAt && a.VintageAt == b.VintageAt // a changed value has another vintage
		})
		if !same && slices.Contains(d.Inputs, id) {
			changed = append(changed, id)
		}
		from, err := recordedFrom(id)
		switch {
		case err != nil:
			return a, nil, err
		case from.IsZero():
		case !same || slices.Contains(d.Revised, id):
			a.Revised = append(a.Revised, id)
		case Watched(first[id], from) < minWatched:
			a.Unwatched = append(a.Unwatched, id)
		default:
			a.Unrevised = append(a.Unrevised, id)
		}
	}
	if doubted := slices.Concat(a.Revised, a.Unwatched); len(doubted) > 0 {
		a.RecordedFrom, err = recordedFrom(doubted...)
	}
	return a, changed, err
}

// arrived are the backtest's inputs without the points that became known only after a later one.
func (d Definition) arrived(in series.Set) series.Set {
	out := series.Set{}
	for _, id := range d.BacktestInputs() {
		out[id] = inOrder(in[id])
	}
	return out
}

// reread replaces the estimates of first that became known after RecordedFrom by the estimates that readers had: each from the values as known at
// its time. At a change of old values the newest estimate is made again, if it changed. Between two such changes one track serves,
// because an estimate does not depend on what came later. first is a track of first vintages.
func (d Definition) reread(first Track, in series.Set, at time.Time, a Arrivals) Track {
	rows, changes := a.sinceRecorded()
	if len(changes) == 0 {
		return first
	}
	n := slices.IndexFunc(first, func(e Estimate) bool { return e.KnownAt.Time().After(a.RecordedFrom) })
	if n < 0 {
		n = len(first)
	}
	read := slices.Clone(first[:n])
	states := map[series.ID][]series.Point{}
	from := series.InstantOf(a.RecordedFrom) + 1
	for i := range len(changes) + 1 {
		until := series.InstantOf(at) + 1
		if i < len(changes) {
			until = series.InstantOf(changes[i])
		}
		for len(rows) > 0 && series.InstantOf(rows[0].VintageAt) < until {
			states[rows[0].Series] = put(states[rows[0].Series], rows[0])
			rows = rows[1:]
		}
		known := series.Set{}
		for _, id := range d.Inputs {
			if _, changed := a.Vintages[id]; changed {
				known[id] = slices.Clone(states[id])
				continue
			}
			known[id] = slices.DeleteFunc(slices.Clone(in[id]), func(p series.Point) bool { return p.VintageAt >= until })
		}
		track := d.asRead(known, (until - 1).Time())
		start, found := slices.BinarySearchFunc(track, from, func(e Estimate, t series.Instant) int { return cmp.Compare(e.KnownAt, t) })
		if start > 0 && !found && i > 0 { // the newest estimate of the change itself
			if e := track[start-1]; len(read) == 0 || !read[len(read)-1].same(e) {
				e.KnownAt = from
				read = append(read, e)
			}
		}
		read = append(read, track[start:]...)
		from = until
	}
	return read
}

// sinceRecorded returns all vintages in the order in which they came, and the instants after RecordedFrom at which one came that is not
// the newest observation of its series, ascending.
func (a Arrivals) sinceRecorded() (rows []series.Observation, changes []time.Time) {
	for _, list := range a.Vintages {
		rows = append(rows, list...)
	}
	slices.SortFunc(rows, func(x, y series.Observation) int {
		return cmp.Or(x.VintageAt.Compare(y.VintageAt), cmp.Compare(x.Series, y.Series), x.ObservedAt.Compare(y.ObservedAt))
	})
	newest := map[series.ID]time.Time{}
	for _, o := range rows {
		if had, ok := newest[o.Series]; ok && !o.ObservedAt.After(had) {
			if n := len(changes); o.VintageAt.After(a.RecordedFrom) && (n == 0 || !changes[n-1].Equal(o.VintageAt)) {
				changes = append(changes, o.VintageAt)
			}
			continue
		}
		newest[o.Series] = o.ObservedAt
	}
	return rows, changes
}

// put adds a vintage to the points of its series, in place of the one before.
func put(points []series.Point, o series.Observation) []series.Point {
	p := o.Point()
	i, found := slices.BinarySearchFunc(points, p.ObservedAt, func(p series.Point, t series.Instant) int { return cmp.Compare(p.ObservedAt, t) })
	switch {
	case o.Marker != "" && found:
		return slices.Delete(points, i, i+1)
	case o.Marker != "":
		return points
	case found:
		points[i] = p
		return points
	}
	return slices.Insert(points, i, p)
}

// lookAheadCuts is how many instants LooksAhead tries.
const lookAheadCuts = 6

// CheckedBacktest is RunBacktest with the search for a look-ahead: see LooksAhead.
func (d Definition) CheckedBacktest(in series.Set, at time.Time, a Arrivals) BacktestResult {
	r := d.RunBacktest(in, at, a)
	if d.LooksAhead(in, at) {
		r.LookAhead, r.Doubted = LookAheadFound, nil
	}
	return r
}

// LooksAhead reports whether an estimate or a case changes with data that became known only after it. It draws some instants of the
// signal's past, and changes all values that became known later or leaves them out. Then it compares the numbers of all estimates known by
// then, and the forecasts and naive forecasts of all cases. Each day draws other instants. in and at are the arguments of
// RunBacktest.
func (d Definition) LooksAhead(in series.Set, at time.Time) bool {
	arrived := d.arrived(in)
	read := slices.Clone(d.asRead(arrived, at))
	if len(read) == 0 {
		return false
	}
	cases := d.Backtest.Cases(read, arrived)
	h := fnv.New64a()
	h.Write([]byte(d.ID))
	rng := rand.New(rand.NewPCG(h.Sum64(), uint64(at.Unix()))) //nolint:gosec // which instants are tried is no secret
	for i := range lookAheadCuts {
		cut := read[(len(read)*i+rng.IntN(len(read)))/lookAheadCuts].KnownAt
		bent, then := series.Set{}, series.Set{}
		for id, points := range arrived {
			bent[id], then[id] = bend(points, cut)
		}
		again := slices.Clone(d.asRead(bent, at))
		if !sameTrack(read, again, cut) || !sameForecasts(cases, d.Backtest.Cases(again, bent), cut) {
			return true
		}
		if i%2 == 0 {
			continue // leaving out finds less, and costs as much
		}
		if !sameTrack(read, d.asRead(then, cut.Time()), cut) {
			return true
		}
	}
	return false
}

// bend returns the points with other values after an instant, and the points known at it. No two points in a row change by the same
// factor. All changes are small: a value keeps its sign, and the version of a product its whole number.
func bend(points []series.Point, cut series.Instant) (bent, then []series.Point) {
	bent = slices.Clone(points)
	for i := range bent {
		p := &bent[i]
		if p.VintageAt <= cut {
			then = append(then, *p)
			continue
		}
		p.Value *= [...]float64{1.04, 1.1, 1.07}[i%3]
	}
	return bent, then
}

func sameTrack(a, b Track, until series.Instant) bool {
	later := func(e Estimate) bool { return e.KnownAt > until }
	return slices.EqualFunc(upTo(a, later), upTo(b, later), Estimate.same)
}

func sameForecasts(a, b []Case, until series.Instant) bool {
	later := func(c Case) bool { return c.Known > until }
	equal := func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }
	return slices.EqualFunc(upTo(a, later), upTo(b, later), func(x, y Case) bool {
		return x.Known == y.Known && x.Start == y.Start && equal(x.Predicted, y.Predicted) && equal(x.Naive, y.Naive)
	})
}

// upTo returns the elements before the first later one.
func upTo[T any](list []T, later func(T) bool) []T {
	if i := slices.IndexFunc(list, later); i >= 0 {
		return list[:i]
	}
	return list
}
