package quality

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/series"
)

// checkRows finds an answer that lacks too many values of a window that it claims to cover. Publishers withdraw a few observations, and
// more only by mistake.
func checkRows(c *comparison) []series.Finding {
	const few, share = 10, 50
	n := len(c.missing)
	if n <= max(few, c.have/share) && n <= c.have/2 {
		return nil
	}
	of := strconv.Itoa(c.have) + " known observations"
	if !c.Known.Complete { // older ones are not in sight
		of = "the newest " + of
	}
	return c.finding(RowCount, series.SeverityError, c.missing[0].ObservedAt, c.missing[n-1].ObservedAt,
		fmt.Sprintf("%d of %s are not there, the first that of %s", n, of, day(c.missing[0].ObservedAt)),
		"all that is known, but for a few that were withdrawn")
}

// factor is a change of unit that has a name.
type factor struct {
	by   float64
	name string
}

// factors are the likely ones; each may also divide.
var factors = []factor{
	{10, "a decimal point that slipped, perhaps"},
	{42, "gallons to a barrel, perhaps"},
	{100, "cents to a dollar, or percent, perhaps"},
	{1000, "thousands, perhaps"},
	{1e6, "millions, perhaps"},
	{1e9, "billions, perhaps"},
}

// named finds the named factor, or its inverse, within a tolerance.
func named(ratio, within float64) (factor, bool) {
	for _, f := range factors {
		if math.Abs(ratio/f.by-1) <= within || math.Abs(ratio*f.by-1) <= within {
			return f, true
		}
	}
	return factor{}, false
}

// checkUnit finds values that were multiplied by a factor. It compares the values of known dates or, if no date is in both, the level.
func checkUnit(c *comparison) []series.Finding {
	var ratios []float64
	for _, p := range c.both {
		if p.numbers() && p.was.Value != 0 {
			ratios = append(ratios, p.is.Value/p.was.Value)
		}
	}
	const least = 5
	if len(ratios) < least {
		return checkLevel(c)
	}
	middle := median(slices.Clone(ratios))
	alike := 0
	for _, r := range ratios {
		// Both sides are rounded, which shows where values are small.
		if math.Abs(r/middle-1) <= 0.02 {
			alike++
		}
	}
	const far, most = 3, 0.8
	constant := float64(alike) >= most*float64(len(ratios))
	from, to := c.both[0].is.ObservedAt, c.both[len(c.both)-1].is.ObservedAt
	seen := fmt.Sprintf("%d of %d known values are about %s times what they were", alike, len(ratios), rounded(middle))
	if f, ok := named(middle, 0.03); ok {
		seen += " (" + f.name + ")"
	}
	switch beyond := middle > far || middle < 1.0/far; {
	case math.Abs(middle-1) <= 0.02:
		return nil
	case beyond, constant && !c.Reestimates:
		return c.finding(Unit, series.SeverityError, from, to, seen, "the values that are known, in "+c.Info.Unit)
	case c.Reestimates && math.Abs(middle-1) > 0.1:
		return c.finding(Unit, series.SeverityWarn, from, to, seen, "values near those that are known; the publisher estimates the whole history anew at times")
	}
	return nil
}

// checkLevel finds new values at a level that differs from a steady level by a named factor.
func checkLevel(c *comparison) []series.Finding {
	const look, steady = 20, 1.5
	var before, now []float64
	for i := len(c.known) - 1; i >= 0 && len(before) < look; i-- {
		if c.known[i].Marker == "" {
			before = append(before, c.known[i].Value)
		}
	}
	if len(before) < look {
		return nil
	}
	var from, to time.Time
	for _, i := range c.added {
		r := c.said[i]
		if r.Marker != "" || r.ObservedAt.Before(c.known[len(c.known)-1].ObservedAt) {
			continue
		}
		if len(now) == 0 {
			from = r.ObservedAt
		}
		now, to = append(now, r.Value), r.ObservedAt
	}
	if len(now) == 0 {
		return nil
	}
	was, is := median(before), median(now)
	for _, v := range before {
		if r := v / was; math.IsNaN(r) || r > steady || r < 1/steady {
			return nil
		}
	}
	f, ok := named(is/was, 0.25)
	if !ok {
		return nil
	}
	return c.finding(Unit, series.SeverityError, from, to,
		fmt.Sprintf("%d new values about %s times the level before (%s)", len(now), rounded(is/was), f.name),
		fmt.Sprintf("values near %s, in %s", number(was), c.Info.Unit))
}

// checkRevision finds an answer that changes a large part of the known values, if the publisher does not normally do so. Changes by
// rounding alone do not count.
func checkRevision(c *comparison) []series.Finding {
	if c.Reestimates {
		return nil
	}
	changed := slices.DeleteFunc(slices.Clone(c.both), func(p pair) bool { return !p.changed() })
	rounding := c.rounding(changed)
	changed = slices.DeleteFunc(changed, func(p pair) bool { return p.numbers() && math.Abs(p.is.Value-p.was.Value) <= rounding })
	const few, some, many = 10, 50, 4 // 2 % are some, a quarter is many
	n, all := len(changed), len(c.both)
	s := series.SeverityWarn
	switch {
	case n > few && n > all/many:
		s = series.SeverityError
	case n <= few || n <= all/some:
		return nil
	}
	first, last := changed[0], changed[n-1]
	return c.finding(Revision, s, first.is.ObservedAt, last.is.ObservedAt,
		fmt.Sprintf("%d of %d known values differ, the first that of %s: %s, was %s", n, all, day(first.is.ObservedAt),
			shown(first.is), shown(first.was)),
		"a few revised values at a time")
}

// rounding is the max change of a value if a history only came with fewer decimals, or more.
func (c *comparison) rounding(changed []pair) float64 {
	if len(changed) == 0 {
		return 0
	}
	before, now := 0, 0
	for _, p := range c.both {
		before, now = max(before, decimals(p.was)), max(now, decimals(p.is))
	}
	if before == now {
		return 0
	}
	return 0.5000001 * math.Pow10(-min(before, now)) // a half is not exact in binary
}

func decimals(r series.Reading) int {
	_, fraction, _ := strings.Cut(number(r.Value), ".")
	return len(fraction)
}

func shown(r series.Reading) string {
	if r.Marker != "" {
		return fmt.Sprintf("%q", r.Marker)
	}
	return number(r.Value)
}
