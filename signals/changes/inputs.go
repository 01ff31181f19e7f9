package changes

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"tidemark/internal/series"
)

// inputs are the inputs of a signal's computation. They are not changed once made.
type inputs struct {
	set         series.Set
	reestimated []series.ID
}

// with is the inputs once some vintages are known.
func (in inputs) with(news []Vintage) inputs {
	if len(news) == 0 {
		return in
	}
	out := inputs{set: maps.Clone(in.set), reestimated: in.reestimated}
	if out.set == nil {
		out.set = series.Set{}
	}
	news = slices.SortedFunc(slices.Values(news), func(a, b Vintage) int {
		return cmp.Or(cmp.Compare(a.Series, b.Series), a.ObservedAt.Compare(b.ObservedAt))
	})
	for len(news) > 0 {
		id, n := news[0].Series, 1
		for n < len(news) && news[n].Series == id {
			n++
		}
		points, replaced := merge(in.set[id], news[:n])
		put(out.set, id, points)
		if slices.Contains(in.reestimated, id) {
			before, _ := merge(in.set[series.Before(id)], replaced)
			put(out.set, series.Before(id), before)
		}
		news = news[n:]
	}
	return out
}

// put leaves a series without points out, as a set does.
func put(set series.Set, id series.ID, points []series.Point) {
	if len(points) == 0 {
		delete(set, id)
		return
	}
	set[id] = points
}

// merge returns the points after some vintages of the same series are known: one per observation, in order. A vintage without a
// number removes its point. A vintage that is older than the known one changes nothing. replaced are the previously known values, as of
// the new vintages.
func merge(points []series.Point, news []Vintage) (merged []series.Point, replaced []Vintage) {
	merged = make([]series.Point, 0, len(points)+len(news))
	for _, v := range news {
		news := v.Point()
		i, found := slices.BinarySearchFunc(points, news.ObservedAt, func(p series.Point, t series.Instant) int { return cmp.Compare(p.ObservedAt, t) })
		merged, points = append(merged, points[:i]...), points[i:]
		if found && news.VintageAt < points[0].VintageAt {
			continue
		}
		if found {
			before := v
			before.Value = points[0].Value
			replaced, points = append(replaced, before), points[1:]
		}
		if v.Marker == "" {
			merged = append(merged, news)
		}
	}
	return append(merged, points...), replaced
}

// value is the known value of a vintage's observation; NaN if unknown.
func (in inputs) value(v Vintage) float64 {
	if p, ok := series.At(in.set[v.Series], series.InstantOf(v.ObservedAt)); ok && p.ObservedAt == series.InstantOf(v.ObservedAt) {
		return p.Value
	}
	return math.NaN()
}

// split separates the vintages of known observations from the vintages of new ones. Vintages that change nothing are in neither. The
// revised ones are sorted by series, the signal's first input last, and by day: the most important ones are at the end.
func (in inputs) split(news []Vintage, order []series.ID) (revised, added []Vintage) {
	for _, v := range news {
		switch before := in.value(v); {
		case !math.IsNaN(before):
			if v.Marker != "" || v.Value != before {
				revised = append(revised, v)
			}
		case v.Marker == "":
			added = append(added, v)
		}
	}
	rank := func(v Vintage) int { return slices.Index(order, v.Series) }
	slices.SortStableFunc(revised, func(a, b Vintage) int { return cmp.Compare(rank(b), rank(a)) })
	return revised, added
}

// release holds the vintages of one run of a source: one per observation, by day.
type release struct {
	last time.Time
	news []Vintage
}

// group puts vintages together that belong to one release, in the order in which the releases were complete.
func group(news []Vintage) []release {
	type key struct {
		source string
		run    int64
		at     time.Time
	}
	type cell struct {
		id series.ID
		at int64
	}
	groups := map[key]map[cell]Vintage{}
	for _, v := range news {
		k := key{source: v.Source, run: v.Release}
		if v.Release == 0 {
			k.at = v.VintageAt.UTC()
		}
		if groups[k] == nil {
			groups[k] = map[cell]Vintage{}
		}
		c := cell{v.Series, v.ObservedAt.UnixMicro()}
		if before, ok := groups[k][c]; !ok || !v.VintageAt.Before(before.VintageAt) {
			groups[k][c] = v
		}
	}
	var out []release
	for _, cells := range groups {
		var r release
		for _, v := range cells {
			r.news = append(r.news, v)
			if v.VintageAt.After(r.last) {
				r.last = v.VintageAt
			}
		}
		slices.SortFunc(r.news, func(a, b Vintage) int {
			return cmp.Or(a.ObservedAt.Compare(b.ObservedAt), cmp.Compare(a.Series, b.Series))
		})
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b release) int {
		return cmp.Or(a.last.Compare(b.last), cmp.Compare(a.news[0].Source, b.news[0].Source), cmp.Compare(a.news[0].Release, b.news[0].Release))
	})
	return out
}
