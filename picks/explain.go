package picks

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/equity"
)

// Explain returns the whole computation of a score as text for a person who wants to check it. It has every metric with its value, its
// result in the comparison, and the filings or closes used. Equal scores give equal texts.
func (s Score) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (CIK %s, %s) %s: score %+.6f, rank %d\n", s.Ticker, s.CIK, s.Name, s.Sector, s.Total, s.Rank)
	fmt.Fprintf(&b, "close %s, market value %s USD, enterprise value %s USD, read as of %s\n", s.Price, amount(s.MarketValue),
		amount(s.EnterpriseValue), s.Book.AsOf().Format(time.DateOnly))
	for _, group := range scoreGroups {
		fmt.Fprintf(&b, "%s %+.6f\n", group, s.Groups[group])
		for _, m := range s.Metrics {
			if m.Group == group {
				m.explain(&b)
			}
		}
	}
	fmt.Fprintf(&b, "own signals %+.6f\n", s.Tilt.Total)
	for _, p := range s.Tilt.Parts {
		fmt.Fprintf(&b, "  %s z %+.2f: %+.6f (%s)\n", p.Exposure.Signal, p.Z, p.Effect, p.Exposure.Reason)
	}
	return b.String()
}

func (m Metric) explain(b *strings.Builder) {
	switch {
	case !m.Applies:
		fmt.Fprintf(b, "  %s says nothing about this sector\n", m.ID)
		return
	case !math.IsNaN(m.Worst):
		fmt.Fprintf(b, "  %s unknown since the debt is: counted as the lowest of those compared, z %+.4f\n", m.ID, m.Worst)
		return
	case !m.Known():
		fmt.Fprintf(b, "  %s unknown\n", m.ID)
		return
	}
	among := "the universe"
	if m.BySector {
		among = "its sector"
	}
	fmt.Fprintf(b, "  %s %.6f, compared as %.6f, z %+.4f among %d of %s\n", m.ID, m.Value, m.Clipped, m.Z, m.Peers, among)
	if !m.From.IsZero() {
		fmt.Fprintf(b, "    closes from %s to %s\n", m.From.Format(time.DateOnly), m.To.Format(time.DateOnly))
	}
	for _, line := range cited(m.Facts) {
		fmt.Fprintf(b, "    %s\n", line)
	}
}

// cited writes each fact once, in the order of the formula.
func cited(facts []equity.Fact) []string {
	var lines []string
	for _, f := range facts {
		period := f.End.Format(time.DateOnly)
		if !f.Start.IsZero() {
			period = f.Start.Format(time.DateOnly) + ".." + period
		}
		line := fmt.Sprintf("%s:%s %s = %s %s, %s %s filed %s", f.Taxonomy, f.Tag, period, strconv.FormatFloat(f.Value, 'f', -1, 64), f.Unit,
			f.Form, f.Accession, f.Filed.Format(time.DateOnly))
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func amount(f Figure) string {
	if !f.Known() {
		return "unknown"
	}
	return strconv.FormatFloat(f.Value, 'f', 0, 64)
}
