// Package quality checks a publisher's response about a series against the known history, before the response is stored. It finds a
// change of unit, an older copy of a page or a slipped decimal point. Everything is pure: Check takes an answer with the history known
// before and returns findings, and the caller decides whether to store the answer. Start at Check.
package quality

import (
	"slices"
	"time"

	"tidemark/internal/series"
)

// Severity is the consequence of a finding for its answer.
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
	Bounds     = "bounds"     // a value outside the declared range of the series
	Duplicates = "duplicates" // two observations of one period
	Freshness  = "freshness"  // older than what is known, or late
	RowCount   = "row_count"  // too many of the known values are missing
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
	// Observed and Expected are for people: numbers with their units, dates, counts.
	Observed, Expected string
}

// Known is the known history of a series before an answer.
type Known struct {
	// Readings are the newest ones, ascending: for each time the newest vintage, without withdrawn readings. They end with the newest
	// known reading, unless the request was for a window that ends earlier.
	Readings []series.Reading
	// Complete reports whether nothing older is known. The comparing checks ignore times before the first reading.
	Complete bool
}

// Answer is a publisher's response about one series.
type Answer struct {
	Info series.Info
	// Readings in any order.
	Readings []series.Reading
	// Covers are the windows that the response claims to cover completely.
	Covers []series.Window
	// Asked is the window that was asked for; zero is the whole history.
	Asked series.Window
	// Newest is the time of the newest reading of the series in all responses to this run's requests. It is zero if not all responses
	// have arrived, or if the request had an end, so that nothing follows from it.
	Newest time.Time
	// Reestimates reports whether the publisher may estimate the whole history again with any release.
	Reestimates bool
	Known       Known
}

// Check returns the findings about an answer, errors first. An answer that equals the known history has no findings. The first answer
// about a series has no history to compare with: only its values and dates are checked.
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

// Blocks reports whether one of the findings is an error.
func Blocks(list []Finding) bool {
	return slices.ContainsFunc(list, func(f Finding) bool { return f.Severity == Error })
}
