// Package quality holds what an upstream says about a series against what is known of it, before any of that is stored: a change of
// unit, an older copy of a page or a slipped decimal point is found here. Everything is pure: Check takes an answer with the
// history as known before and returns findings, and whoever stores it decides what becomes of the answer. Start at Check.
package quality

import (
	"slices"
	"time"

	"tidemark/internal/series"
)

// Severity says what a finding does to the answer that it is about.
type Severity string

// The severities.
const (
	// Warn: the answer is stored, and marked.
	Warn Severity = "warn"
	// Error: the answer is not stored before a person has looked at it.
	Error Severity = "error"
)

// The checks.
const (
	Bounds     = "bounds"     // a value outside of what the series declares
	Duplicates = "duplicates" // two observations of one period
	Freshness  = "freshness"  // older than what is known, or late
	RowCount   = "row_count"  // too much of what is known is not there
	Unit       = "unit"       // all values changed by one factor
	Revision   = "revision"   // too many known values changed at once
	Jump       = "jump"       // a change beyond all that the series has done
	Gaps       = "gaps"       // expected dates are missing
)

// Finding is something that a check found.
type Finding struct {
	Check    string
	Severity Severity
	Series   series.ID
	// From and To bound the observation times it is about.
	From, To time.Time
	// Seen and Expected are for people: numbers with their units, dates, counts.
	Seen, Expected string
}

// Known is what was known of a series before an answer.
type Known struct {
	// Readings are the newest ones, ascending: of each time the newest vintage, without those that were withdrawn. They end with the
	// newest of all, unless the answer was asked for a window that ends earlier.
	Readings []series.Reading
	// Complete tells that nothing older is known. The checks that compare do not look at what is older than the first reading.
	Complete bool
}

// Answer is what an upstream said about one series.
type Answer struct {
	Info series.Info
	// Readings in any order.
	Readings []series.Reading
	// Covers are the windows of which the answer claims to have everything.
	Covers []series.Window
	// Asked is the window that was asked for; zero is the whole history.
	Asked series.Window
	// Newest is the time of the newest reading of the series in all that was asked together with this answer. Zero: not all of
	// that has come, or an end was set to what was asked, so that nothing follows from it.
	Newest time.Time
	// Reestimates tells that the publisher may estimate the whole history anew with any release.
	Reestimates bool
	Known       Known
}

// Check returns what is to be said against an answer, errors first. An answer that says what is known already has no findings.
// The first answer about a series has no history to be held against: only its values and dates are checked.
func Check(a Answer) []Finding {
	c := compare(a)
	var list []Finding
	add := func(f ...Finding) { list = append(list, f...) }
	add(checkBounds(c)...)
	add(checkDuplicates(c)...)
	add(checkOlder(c)...)
	add(checkRows(c)...)
	unit := checkUnit(c)
	add(unit...)
	// What a change of unit does to each value needs no saying.
	if len(unit) == 0 || unit[0].Severity == Warn {
		add(checkRevision(c)...)
		add(checkJumps(c)...)
	}
	add(checkGaps(c)...)
	slices.SortStableFunc(list, func(a, b Finding) int { return rank(a) - rank(b) })
	return list
}

func rank(f Finding) int {
	if f.Severity == Error {
		return 0
	}
	return 1
}

// Blocks tells whether one of the findings is an error.
func Blocks(list []Finding) bool {
	return slices.ContainsFunc(list, func(f Finding) bool { return f.Severity == Error })
}
