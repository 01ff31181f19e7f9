package stats

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"tidemark/signals"
)

var updateTable = flag.Bool("update", false, "write docs/signals.md anew")

// claimedBefore is the former claim about each interval, from before it had a record.
var claimedBefore = map[string]string{
	"iowa-corn-yield":      "90 %; a final had an interval of no width",
	"tropomi-no2-economic": "90 %, which nothing could show",
	"crack-spread-321":     "93, 91 and 92 % after 2, 5 and 9 days, days without a newer price counted as held",
	"eia-weekly-petroleum": "90 % of the surprises; the figure itself was not held to it",
	"lng-arbitrage":        "90 %, which nothing could show",
	"hormuz-transit":       "symmetric; held 46 of 52 weeks (88.5 %) from April to July 2026",
}

// TestTheTableOfIntervals makes docs/signals.md from recorded data and compares. With -update it writes the page:
//
//	go test ./test/stats -run TestTheTableOfIntervals -update
func TestTheTableOfIntervals(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# What the intervals bound\n\nMeasured on recorded data by `go test ./test/stats -run TestTheTableOfIntervals -update`, and held by the same test. A snapshot has\n" +
		"the record of its own installation in `uncertainty.record`. An interval whose truth is never seen is assumed: no probability is claimed for it.\n" +
		"The bounds are those of a binomial share at 95 %, as if no case had to do with another.\n\n" +
		"| signal | bounds | what that is | basis | held | two years to the end | said before |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, d := range signals.All() {
		basis, held, recent := signals.BasisAssumed, "-", "-"
		for _, c := range intervals {
			if c.id != d.ID {
				continue
			}
			found, r := d.MeasureInterval(c.read(t), nil, date(c.at))
			basis, held, recent = found, share(r.Coverage), share(r.Last2Years)
		}
		if d.Interval.Bounds == signals.BoundsRevised {
			basis = "measured from 20 re-estimated weeks on that a learned interval was held against; assumed before, as in the recorded data"
		}
		_, _ = fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s | %s |\n", d.ID, d.Interval.Bounds, d.Interval.Truth, basis, held, recent, claimedBefore[d.ID])
	}
	const page = "../../docs/signals.md"
	if *updateTable {
		if err := os.WriteFile(page, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("docs/signals.md is not what recorded data say; write it with -update. It should be:\n%s", b.String())
	}
}

// share writes a coverage with its bounds.
func share(c signals.Coverage) string {
	if c.Cases == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d: %.1f %% (%.1f to %.1f)", c.Hits, c.Cases, 100*c.Share, 100*c.Lo, 100*c.Hi)
}
