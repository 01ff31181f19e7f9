package quality

import (
	"fmt"
	"strconv"
	"time"

	"tidemark/internal/series"
)

// checkBounds checks new and changed values against the bounds that the series declares. Stored values were accepted before, so they are
// not held again. For values before the known range this is unknown, and they are only marked.
func checkBounds(c *comparison) []series.Finding {
	var fresh []series.Reading
	for _, i := range c.added {
		fresh = append(fresh, c.said[i])
	}
	for _, p := range c.both {
		if p.changed() {
			fresh = append(fresh, p.is)
		}
	}
	return append(c.outside(fresh, series.SeverityError), c.outside(c.beyond, series.SeverityWarn)...)
}

func (c *comparison) outside(list []series.Reading, s series.Severity) []series.Finding {
	var out []series.Reading
	for _, r := range list {
		if r.Marker == "" && (c.Info.Min != nil && r.Value < *c.Info.Min || c.Info.Max != nil && r.Value > *c.Info.Max) {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil
	}
	out = ascending(out)
	seen := fmt.Sprintf("%s on %s", number(out[0].Value), day(out[0].ObservedAt))
	if n := len(out); n > 1 {
		seen += fmt.Sprintf(" and %d further values outside of the bounds", n-1)
	}
	return c.finding(Bounds, s, out[0].ObservedAt, out[len(out)-1].ObservedAt, seen, "values "+c.bounds())
}

func (c *comparison) bounds() string {
	switch lo, hi := c.Info.Min, c.Info.Max; {
	case lo == nil:
		return fmt.Sprintf("of at most %s (%s)", number(*hi), c.Info.Unit)
	case hi == nil:
		return fmt.Sprintf("of at least %s (%s)", number(*lo), c.Info.Unit)
	default:
		return fmt.Sprintf("from %s to %s (%s)", number(*lo), number(*hi), c.Info.Unit)
	}
}

// number writes a value with all its digits, and not as a power of ten.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// rounded writes a number that was computed.
func rounded(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
