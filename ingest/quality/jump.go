package quality

import (
	"fmt"
	"math"
	"time"

	"tidemark/internal/series"
)

// Thresholds for marking a change, and for stopping it. They are multiples of the robust standard deviation of the series' own changes, and
// of the largest visible change. There must be enough of these changes.
//
// Markets produce changes without precedent. In forty years of crude oil the widest change was the fall to -36.98 dollars on 2020-04-20. It
// was 60 standard deviations, and 5.5 times the largest change of the four years before. The unemployment rate of April 2020 rose by 7
// times the largest change since 1948, and natural gas fell by 206 standard deviations on 2021-02-18. All of these are true and must be
// stored. A stopped change is twice as far away, as a slipped decimal point mostly is.
const (
	oddScale, oddTimes = 10, 1.5
	badScale, badTimes = 40, 12
	minHistory         = 30
)

// checkJumps holds the newest changes, and the revisions of single values, against the changes that the series has made before.
// Where each release is a new estimate, the history of the changes is the answer's own.
func checkJumps(c *comparison) []series.Finding {
	history := c.known
	if c.Reestimates {
		history = nil
		if len(c.known) > 0 {
			last := c.known[len(c.known)-1].ObservedAt
			history = c.said[:sortedIndex(c.said, last.Add(time.Nanosecond))]
			history = history[max(0, len(history)-HistoryDepth):]
		}
	}
	h := habitOf(history)
	if h.n < minHistory || h.scale == 0 {
		return nil
	}
	var first *jump
	severity, n := series.SeverityWarn, 0
	for _, j := range c.jumps(h) {
		s := series.SeverityWarn
		switch {
		case j.size > badScale*h.scale && j.size > badTimes*h.largest && !h.steady:
			s = series.SeverityError
		case j.size <= oddScale*h.scale || j.size <= oddTimes*h.largest:
			continue
		}
		if n++; first == nil || s == series.SeverityError && severity == series.SeverityWarn {
			first, severity = &j, s
		}
	}
	if first == nil {
		return nil
	}
	seen := first.text(h)
	if n > 1 {
		seen += fmt.Sprintf(" (and %d further changes)", n-1)
	}
	return c.finding(Jump, severity, first.from.ObservedAt, first.to.ObservedAt, seen,
		"changes like those before, the largest of which was "+rounded(h.largest))
}

// jump is a change from one number to another: of neighbours, or of one time's value.
type jump struct {
	from, to series.Reading
	// size is the distance of the change from the usual one.
	size float64
}

func (j jump) text(h spread) string {
	sigmas := rounded(j.size / h.scale)
	if j.from.ObservedAt.Equal(j.to.ObservedAt) {
		return fmt.Sprintf("%s on %s, was %s: %s robust standard deviations of a usual change", number(j.to.Value),
			day(j.to.ObservedAt), number(j.from.Value), sigmas)
	}
	return fmt.Sprintf("%s on %s after %s on %s: %s robust standard deviations of a usual change", number(j.to.Value),
		day(j.to.ObservedAt), number(j.from.Value), day(j.from.ObservedAt), sigmas)
}

func (c *comparison) jumps(h spread) []jump {
	var list []jump
	for _, i := range c.added {
		to := c.said[i]
		from, ok := c.before(i)
		if !ok || to.Marker != "" {
			continue
		}
		list = append(list, jump{from, to, math.Abs(to.Value - from.Value - h.center)})
	}
	if c.Reestimates {
		return list
	}
	for _, p := range c.both {
		if p.numbers() && p.changed() {
			list = append(list, jump{p.was, p.is, math.Abs(p.is.Value - p.was.Value)})
		}
	}
	return list
}

// before returns the number before the i-th reading of the answer: from the answer or, if that begins later, from the known history.
func (c *comparison) before(i int) (series.Reading, bool) {
	at := c.said[i].ObservedAt
	var found series.Reading
	ok := false
	for j := i - 1; j >= 0 && !ok; j-- {
		found, ok = c.said[j], c.said[j].Marker == ""
	}
	for k := sortedIndex(c.known, at) - 1; k >= 0; k-- {
		if r := c.known[k]; r.Marker == "" {
			if !ok || r.ObservedAt.After(found.ObservedAt) {
				return r, true
			}
			break
		}
	}
	return found, ok
}
