package view

import (
	"fmt"
	"strconv"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"tidemark/internal/postgres"
	"tidemark/signals"
)

// Uncertainty says what the interval bounds and on what it rests.
type Uncertainty struct {
	// Level is the share of cases that the interval is built to hold. It is null where basis is assumed: no probability is claimed then.
	Level *float64 `json:"level"`
	// LevelPct is the level that measured intervals are built for, in percent. It is also set where this interval is assumed, which claims no
	// level. Read level instead.
	LevelPct float64 `json:"level_pct"`
	// Bounds is next_first_print (the publisher's next first print of the figure), revised_value (the publisher's next estimate of the same
	// figure) or true_value (a quantity that is never published).
	Bounds string `json:"bounds"`
	// Basis is measured or assumed. Measured means that the bounded value was observed later in at least 20 cases; record counts how often
	// the interval contained it.
	Basis string `json:"basis"`
	// Method names how the interval is made.
	Method string `json:"method"`
	// Text says all this in a sentence or two.
	Text string `json:"text"`
	// Record is how often such intervals contained the value, which became known later. Each interval used only earlier data. Null if basis
	// is assumed.
	Record *postgres.IntervalRecord `json:"record"`
}

// Measured reports whether the interval has a record.
func (u Uncertainty) Measured() bool { return u.Basis == signals.BasisMeasured }

// Name returns the name of the interval on a plot.
func (u Uncertainty) Name() string {
	if u.Measured() {
		return strconv.FormatFloat(u.LevelPct, 'f', -1, 64) + "% interval"
	}
	return "Interval, assumed"
}

// UncertaintyOf returns the description of a snapshot's interval. stored is nil for the interval of a signal without a snapshot.
func UncertaintyOf(d signals.Definition, stored *postgres.Uncertainty) Uncertainty {
	i := postgres.IntervalOf(d, stored)
	u := Uncertainty{LevelPct: 100 * signals.Level, Bounds: i.Bounds, Basis: i.Basis, Method: d.IntervalMethod}
	u.Text = "Bounds " + d.Interval.Truth + ". "
	if !u.Measured() {
		u.Text += "Assumed: "
		if d.Interval.Trials == nil {
			u.Text += "that value is never observed, so no probability is claimed."
		} else {
			u.Text += "too few outcomes are known to measure it by, so no probability is claimed."
		}
		return u
	}
	r := stored.Record.Rounded()
	u.Level, u.Record = new(signals.Level), r
	u.Text += fmt.Sprintf("Built to hold %.0f%%. Measured: it held %s.", u.LevelPct, coverageText(r.All()))
	if r.Last2Years.Cases > 0 {
		u.Text += fmt.Sprintf(" In the last two years: %s.", coverageText(r.Last2Years))
	}
	if r.Stage != "" {
		u.Text += fmt.Sprintf(" Counted at one stage only: %s.", stageName(r.Stage))
	}
	return u
}

// stageName returns the name of a stage in a sentence. Months have a capital letter.
func stageName(stage string) string {
	if month, err := time.Parse("January", stage); err == nil { // which ignores the case
		return month.Month().String()
	}
	return stage
}

// IntervalCoverage is how often an interval held.
type IntervalCoverage = postgres.Coverage

// coverageText writes a coverage with its bounds.
func coverageText(c IntervalCoverage) string {
	out := message.NewPrinter(language.English).Sprintf("%d of %d", c.Hits, c.Cases)
	if c.Share != nil && c.CI95 != nil {
		out += fmt.Sprintf(" (%.1f%%; 95%% confidence interval %.1f%% to %.1f%%)", 100**c.Share, 100*c.CI95[0], 100*c.CI95[1])
	}
	return out
}
