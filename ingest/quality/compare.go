package quality

import (
	"slices"
	"time"

	"tidemark/internal/series"
)

// comparison is an answer with the known history.
type comparison struct {
	Answer
	// said and known ascend.
	said, known []series.Reading
	// added are readings of times that were not known, each with its place in said.
	added []int
	// both are the readings of times that were known, within sight.
	both []pair
	// beyond are readings older than the first that is in sight: whether they are known cannot be told.
	beyond []series.Reading
	// missing are known readings within what the answer claims to have whole, and does not have; have counts all known ones there.
	missing []series.Reading
	have    int
}

// pair is one time's reading before and now.
type pair struct {
	was, is series.Reading
	info    series.Info
}

// changed reports whether the reading differs now.
func (p pair) changed() bool {
	return p.was.Marker != p.is.Marker || p.is.Marker == "" && !p.info.Same(p.was.Value, p.is.Value)
}

// numbers reports whether both are numbers.
func (p pair) numbers() bool { return p.was.Marker == "" && p.is.Marker == "" }

func compare(a Answer) *comparison {
	c := &comparison{Answer: a, said: ascending(a.Readings), known: a.Known.Readings}
	first := 0
	if !a.Known.Complete && len(c.known) > 0 {
		first = sortedIndex(c.said, c.known[0].ObservedAt)
	}
	c.beyond = c.said[:first]
	k := 0
	for i := first; i < len(c.said); i++ {
		at := c.said[i].ObservedAt
		for ; k < len(c.known) && c.known[k].ObservedAt.Before(at); k++ {
			c.miss(c.known[k])
		}
		if k < len(c.known) && c.known[k].ObservedAt.Equal(at) {
			c.both = append(c.both, pair{c.known[k], c.said[i], a.Info})
			if c.whole(at) {
				c.have++
			}
			k++
			continue
		}
		c.added = append(c.added, i)
	}
	for ; k < len(c.known); k++ {
		c.miss(c.known[k])
	}
	return c
}

// miss notes a known reading that the answer does not have.
func (c *comparison) miss(r series.Reading) {
	if c.whole(r.ObservedAt) {
		c.have++
		c.missing = append(c.missing, r)
	}
}

// whole reports whether the answer should have an observation that is known. If each release is a new estimate of the whole history, an
// answer with a part of it would mix two of them.
func (c *comparison) whole(at time.Time) bool {
	if c.Reestimates && c.Asked.Contains(at) {
		return true
	}
	return slices.ContainsFunc(c.Covers, func(w series.Window) bool { return w.Contains(at) })
}

// ascending returns readings in the order of their times.
func ascending(list []series.Reading) []series.Reading {
	order := func(a, b series.Reading) int { return a.ObservedAt.Compare(b.ObservedAt) }
	if slices.IsSortedFunc(list, order) {
		return list
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, order)
	return list
}

// sortedIndex is the index of the first of ascending readings at or after t.
func sortedIndex(list []series.Reading, t time.Time) int {
	i, _ := slices.BinarySearchFunc(list, t, func(r series.Reading, t time.Time) int { return r.ObservedAt.Compare(t) })
	return i
}

// finding is one about a range of times.
func (c *comparison) finding(check string, s series.Severity, from, to time.Time, seen, expected string) []series.Finding {
	return []series.Finding{{Check: check, Severity: s, Series: c.Info.ID, From: from.UTC(), To: to.UTC(), Observed: seen, Expected: expected}}
}
