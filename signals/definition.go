// Package signals defines signals in general (Definition), the shared statistics, and each signal in its own file; All lists them.
// Everything here is a pure function of observations as of an instant: no HTTP, no SQL, no clock. Start at Definition, then read
// crack_spread_321.go, which is one page of facts.
package signals

import (
	"math"
	"time"

	"tidemark/internal/locale"
	"tidemark/internal/series"
)

// Level is the share of cases that an interval is built to hold. Whether it does, its record says; see Interval.
const Level = 0.90

// BriefsMeasured is the last month of the measurements in the briefs.
const BriefsMeasured = "2026-07"

// Definition declares everything about one signal. Schedule, catalog entry, pages, API enumeration and metrics follow from it.
type Definition struct {
	ID     string
	Domain string
	Name   string
	Unit   string
	// Frequency of the observations: "daily", "weekly", "monthly".
	Frequency string
	// Description states in 50 to 5,000 characters what the signal measures and what it does not.
	Description string
	Keywords    []string
	// Place is the spatial coverage, for example "United States".
	Place string
	// License is the upstream's licence and attribution; LicenseURL a page that states it.
	License, LicenseURL string
	SourceURL           string
	Inputs              []series.ID
	// Revised are the inputs, of the signal or of its backtest, whose publisher changes old values or withdraws some. If the arrival of such a value was not observed, the earlier value that
	// readers had is unknown.
	Revised []series.ID
	// Reestimated are inputs whose value before the last change Compute also reads, under the name of series.Before.
	Reestimated []series.ID
	// Averaged is the input whose newest days are averaged to the value, in the same unit. It is empty if the value is not such a mean.
	Averaged series.ID
	// Cadence is when the signal is computed again although no new data came, so that intervals widen and staleness shows.
	Cadence series.Cadence
	// Staleness is the age of the newest observation beyond which the signal is decayed.
	Staleness time.Duration
	// BaselineMethod and IntervalMethod are stable machine names; Technique is the formula in words.
	BaselineMethod, IntervalMethod, Technique string
	// Interval is the quantity that the interval bounds.
	Interval Interval
	// BaselineCaption and IntervalCaption say the two methods to a reader, in a few words without a full stop.
	BaselineCaption, IntervalCaption string
	// SeasonStart is the month in which each season's values begin, without a line to the values of the season before. Zero means no
	// seasons.
	SeasonStart time.Month
	// Phrasing is how a sentence says the value.
	Phrasing Phrasing
	// Phrase is the name of the signal in a sentence, with its article if the language has one, by language code (ISO 639-1).
	Phrase map[string]string
	// Texts are the words of pages about the signal in languages other than English, by language code. They are empty for languages whose
	// own folder has these words.
	Texts map[string]locale.SignalTexts
	// Exposures are the companies that gain or lose when the signal is above its baseline.
	Exposures []Exposure
	// Margin reports whether the value is a difference that can cross zero: a percentage of it is not shown to readers.
	Margin bool
	// Compute returns the whole track from the data known as of at. It costs at most O(n log n) in the history, and is pure: the same
	// input gives the same bits.
	Compute func(in series.Set, at time.Time) Track
	// read, if it is set, returns what asKnown makes of Compute's track, without the estimates that no reader had. Without intervals, their
	// bounds are unknown.
	read func(in series.Set, at time.Time, intervals bool) Track
	// growth, if it is set, says how Compute's track goes on.
	growth *growth
	// Components returns the parts of the newest point that are shown with the value. It is nil if none exist.
	Components func(in series.Set, at time.Time) []Component
	// Cells returns the cells of an estimate, and the steps of its value, baseline and scale. If it is nil, all observations up to the
	// estimate's time count as its cells.
	Cells func(in series.Set, e Estimate) Working
	// Backtest declares the target against which the signal is tested.
	Backtest Backtest
	// Brief is the method in Markdown: the meaning of the signal, its computation, and its limits.
	Brief string
}

// Exposure states that companies with SIC codes from First to Last are expected to gain (Sign +1) or lose (Sign -1) when a signal is above
// its baseline. An expectation changes no score: see Shown.
type Exposure struct {
	Sign        int
	First, Last int
	// Reason is why it is expected, in one English sentence.
	Reason string
	// T is the t-statistic of a walk-forward test of the expectation: the rank correlation of the signal, times Sign, with the later returns of
	// these companies against all others. Zero means that no test was made.
	T float64
}

// minShown is the smallest t-statistic of an expectation that counts as shown.
const minShown = 2

// Shown reports whether a test supports the expectation. Only then may the signal change a score, or a text say that it helps or hurts.
func (e Exposure) Shown() bool { return e.T >= minShown }

// Track is a signal's history as known at one instant, in ascending ObservedAt.
type Track []Estimate

// Estimate is a signal at one observation time. A number that is unknown is NaN (never an infinity); the doors turn it into null.
type Estimate struct {
	ObservedAt series.Instant
	// KnownAt is when the newest of the inputs became known.
	KnownAt series.Instant
	Value   float64
	Lo, Hi  float64
	// Baseline is the reference value, Scale the spread that z is measured in, N how many values made them.
	Baseline, Scale float64
	N               int
}

// Z is (value - baseline) / scale, NaN where the scale is unknown or zero, or so small that the quotient overflows.
func (e Estimate) Z() float64 { return zScore(e.Value, e.Baseline, e.Scale) }

// DeltaPct is the percent difference from the baseline, NaN where the baseline is unknown, zero or negative, or so small that the
// quotient overflows.
func (e Estimate) DeltaPct() float64 { return deltaPct(e.Value, e.Baseline) }

// same reports whether two estimates have the same numbers, including unknown ones.
func (e Estimate) same(o Estimate) bool {
	equal := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
	return e.ObservedAt == o.ObservedAt && e.N == o.N && equal(e.Value, o.Value) && equal(e.Lo, o.Lo) && equal(e.Hi, o.Hi) &&
		equal(e.Baseline, o.Baseline) && equal(e.Scale, o.Scale)
}

// Component is a part of a signal, or another way to look at it.
type Component struct {
	// Name is a stable machine name, Label what a person reads.
	Name, Label, Unit string
	ObservedAt        series.Instant
	Value             float64
	Baseline, Scale   float64
}

// Z is as Estimate's.
func (c Component) Z() float64 { return zScore(c.Value, c.Baseline, c.Scale) }

// DeltaPct is as Estimate's.
func (c Component) DeltaPct() float64 { return deltaPct(c.Value, c.Baseline) }

// SameSeason reports whether two instants lie in one season. Without seasons any two do.
func (d Definition) SameSeason(a, b time.Time) bool {
	if d.SeasonStart == 0 {
		return true
	}
	year := func(t time.Time) int { return t.UTC().AddDate(0, 1-int(d.SeasonStart), 0).Year() }
	return year(a) == year(b)
}

// Period is what the time of an observation of a signal means.
type Period int

// The periods.
const (
	PeriodDay Period = iota
	PeriodMonth
	// PeriodCrop is the crop of the year before.
	PeriodCrop
)

// PeriodOf returns what the time of an observation means. If the signal has a season, the first of January means the crop of the year before.
// Of a monthly signal, the first of a month means the month.
func (d Definition) PeriodOf(at time.Time) Period {
	at = at.UTC()
	switch {
	case d.SeasonStart != 0 && at.YearDay() == 1:
		return PeriodCrop
	case d.Frequency == "monthly" && at.Day() == 1:
		return PeriodMonth
	}
	return PeriodDay
}

// The states of a signal.
const (
	StatusLive       = "live"
	StatusDecayed    = "decayed"
	StatusDeprecated = "deprecated"
)

// Status returns the status at an instant of a signal whose newest observation is about observedAt. A signal without any observation is
// decayed.
func (d Definition) Status(observedAt, at time.Time) string {
	if observedAt.IsZero() || at.Sub(observedAt) > d.Staleness {
		return StatusDecayed
	}
	return StatusLive
}

// zScore and deltaPct answer NaN where a scale or a baseline hardly above zero would divide into an infinity.
func zScore(value, baseline, scale float64) float64 {
	if !(scale > 0) {
		return math.NaN()
	}
	return known((value - baseline) / scale)
}

func deltaPct(value, baseline float64) float64 {
	if !(baseline > 0) {
		return math.NaN()
	}
	return known(100 * (value/baseline - 1))
}
