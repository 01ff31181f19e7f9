package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"tidemark/api/view"
	"tidemark/internal/series"
	"tidemark/signals"
)

// inputs is the data that the cells make: the values of the bytes, and the server's values for bytes that it does not publish. Observations
// up to until that the bytes state and that the server does not name are in it, too: they would be cells if the server left some out. Those
// that the publisher took back are not.
func (o *outside) inputs(until time.Time) series.Set {
	values := map[observation]series.Point{}
	bodies := slices.SortedStableFunc(slices.Values(o.stated.Bodies), func(a, b view.EvidenceBody) int { return a.RetrievedAt.Compare(b.RetrievedAt) })
	for _, b := range bodies {
		if o.onlySuperseded(b.SHA256) {
			continue
		}
		for _, r := range o.parsed[b.SHA256] {
			if slices.Contains(o.def.Inputs, r.Series) && r.Marker == "" && !r.ObservedAt.After(until) {
				values[observation{r.Series, r.ObservedAt.Unix()}] = series.Point{
					ObservedAt: series.InstantOf(r.ObservedAt), VintageAt: series.InstantOf(b.RetrievedAt), Value: r.Value,
				}
			}
		}
	}
	var before []view.EvidenceCell
	for _, c := range o.allCells() {
		if c.Superseded {
			before = append(before, c)
		} else {
			values[observation{series.ID(c.Series), c.ObservedAt.Unix()}] = series.Point{
				ObservedAt: series.InstantOf(c.ObservedAt), VintageAt: series.InstantOf(c.PublishedAt), Value: o.digits(c),
			}
		}
	}
	maps.DeleteFunc(values, func(k observation, _ series.Point) bool { return o.withdrawn[k] })
	for _, c := range before { // known since it was replaced
		if p, ok := values[observation{series.ID(c.Series), c.ObservedAt.Unix()}]; ok {
			p.Value = o.digits(c)
			values[keyOf(c)] = p
		}
	}
	set := series.Set{}
	for k, p := range values {
		set[k.id] = append(set[k.id], p)
	}
	for _, points := range set {
		slices.SortFunc(points, func(a, b series.Point) int { return cmp.Compare(a.ObservedAt, b.ObservedAt) })
	}
	return set
}

// digits is the value of a cell with all the digits that its bytes have.
func (o *outside) digits(c view.EvidenceCell) float64 {
	for _, r := range o.parsed[c.SHA256] {
		if string(r.Series) == c.Series && r.ObservedAt.Equal(c.ObservedAt) && r.Marker == "" && nearly(r.Value, c.Value) {
			return r.Value
		}
	}
	return c.Value
}

// onlySuperseded reports whether a body is named for values alone that were replaced since.
func (o *outside) onlySuperseded(sha256 string) bool {
	named := false
	for _, c := range o.allCells() {
		if c.SHA256 == sha256 && !c.Superseded {
			return false
		}
		named = named || c.SHA256 == sha256
	}
	return named
}

// keyOf names the observation of a cell. An observation that was replaced is of series.Before.
func keyOf(c view.EvidenceCell) observation {
	id := series.ID(c.Series)
	if c.Superseded {
		id = series.Before(id)
	}
	return observation{id, c.ObservedAt.Unix()}
}

// numbers computes the numbers again and compares them, and which cells they rest on.
func (o *outside) numbers() {
	until := *o.stated.ObservedAt
	if !o.stated.Newest { // the bytes state later ones, too: an interval may depend on whether its value was the newest
		until = o.stated.AsOf
	}
	e, working, ok := o.def.Working(o.inputs(until), o.stated.AsOf, series.InstantOf(*o.stated.ObservedAt))
	if !ok {
		o.say("number", differ, "value", "our program makes no estimate about %s of the cells", o.stated.ObservedAt.Format(time.DateOnly))
		return
	}
	o.knownAt = e.KnownAt.Time()
	stated := o.stated.Numbers
	n := float64(stated.N)
	o.number("value", stated.Value, e.Value)
	o.number("uncertainty_lo", stated.UncertaintyLo, e.Lo)
	o.number("uncertainty_hi", stated.UncertaintyHi, e.Hi)
	o.number("baseline_value", stated.BaselineValue, e.Baseline)
	o.number("scale", stated.Scale, e.Scale)
	o.number("z_score", stated.ZScore, e.Z())
	o.number("delta_vs_baseline_pct", stated.DeltaVsBaselinePct, e.DeltaPct())
	o.number("n", &n, float64(e.N))
	o.steps(working.Steps)
	o.sameCells("value", o.stated.ValueCells, working.Value)
	o.sameCells("baseline", o.stated.BaselineCells, working.Baseline)
	o.sameCells("interval", o.stated.IntervalCells, working.Interval)
	if !o.stated.Newest { // the components are of the snapshot's newest data
		o.sameCells("component", o.stated.ComponentCells, nil)
		return
	}
	// A component has its own newest time, which may be later than the value's.
	all := o.inputs(o.stated.AsOf)
	if _, working, ok = o.def.Working(all, o.stated.AsOf, series.InstantOf(*o.stated.ObservedAt)); ok {
		o.sameCells("component", o.stated.ComponentCells, working.Components)
	}
	if o.def.Components != nil {
		o.components = o.def.Components(all, o.stated.AsOf)
	}
}

// number compares a stated number with ours. A number that is not stated is NaN.
func (o *outside) number(name string, stated *float64, ours float64) {
	said := math.NaN()
	if stated != nil {
		said = *stated
	}
	status := agrees
	if !nearly(said, ours) {
		status = differ
	}
	o.say("number", status, name, "the server says %s, we compute %s", decimal(stated), decimal(&ours))
}

// sameComponents compares the components of the snapshot with ours.
func (o *outside) sameComponents(stated []view.Component) {
	left := slices.Clone(o.components)
	for _, c := range stated {
		i := slices.IndexFunc(left, func(ours signals.Component) bool { return ours.Name == c.Name })
		name := "components." + c.Name
		if i < 0 {
			o.say("number", differ, name, "the server shows it, and the cells make none")
			continue
		}
		ours := left[i]
		observed := ours.ObservedAt.Time()
		left = slices.Delete(left, i, i+1)
		if c.ObservedAt == nil || !c.ObservedAt.Equal(observed) || c.Unit != ours.Unit || c.Label != ours.Label {
			o.say("number", differ, name, "the server says that it is %q in %s about %s, we find %q in %s about %s", c.Label, c.Unit, instant(c.ObservedAt), ours.Label,
				ours.Unit, instant(&observed))
		}
		o.number(name+".value", c.Value, ours.Value)
		for _, n := range []struct {
			name   string
			stated *float64
			ours   float64
		}{
			{".baseline_value", c.BaselineValue, ours.Baseline},
			{".delta_vs_baseline_pct", c.DeltaVsBaselinePct, ours.DeltaPct()},
			{".z_score", c.ZScore, ours.Z()},
		} {
			if n.stated != nil || !math.IsNaN(n.ours) {
				o.number(name+n.name, n.stated, n.ours)
			}
		}
	}
	for _, c := range left {
		o.say("number", differ, "components."+c.Name, "the cells make %v, and the server leaves it out", c.Value)
	}
}

// sameCells compares which cells a number rests on.
func (o *outside) sameCells(of string, stated []view.EvidenceCell, ours []signals.Cell) {
	named := map[observation]bool{}
	for _, c := range stated {
		k := keyOf(c)
		if named[k] {
			o.say(of, differ, c.Series, "the server names the observation of %s twice", c.ObservedAt.Format(time.DateOnly))
		}
		named[k] = true
	}
	for _, c := range ours {
		at := c.ObservedAt.Time()
		k := observation{c.Series, at.Unix()}
		if !named[k] {
			o.say(of, differ, fmt.Sprintf("%s of %s", c.Series, at.Format(time.DateOnly)), "the bytes state %v, and the server leaves it out", c.Value)
		}
		delete(named, k)
	}
	for k := range named {
		o.say(of, differ, fmt.Sprintf("%s of %s", k.id, time.Unix(k.at, 0).UTC().Format(time.DateOnly)), "the server names it, and the number does not rest on it")
	}
}
