// Package quality checks a publisher's response about a series against the known history, before the response is stored. It finds a
// change of unit, an older copy of a page or a slipped decimal point. Everything is pure: Check takes an answer with the history known
// before and returns findings, and the caller decides whether to store the answer. Start at Check.
package quality

import (
	"slices"
	"time"

	"tidemark/internal/series"
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
	// Known is the known history before the response. If it is not complete, the comparing checks ignore times before its first reading.
	Known series.Known
}

// Check returns the findings about an answer, errors first. An answer that equals the known history has no findings. The first answer
// about a series has no history to compare with: only its values and dates are checked.
func Check(a Answer) []series.Finding {
	c := compare(a)
	var list []series.Finding
	add := func(f ...series.Finding) { list = append(list, f...) }
	add(checkBounds(c)...)
	add(checkDuplicates(c)...)
	add(checkOlder(c)...)
	add(checkRows(c)...)
	unit := checkUnit(c)
	add(unit...)
	// What a change of unit does to each value needs no saying.
	if len(unit) == 0 || unit[0].Severity == series.SeverityWarn {
		add(checkRevision(c)...)
		add(checkJumps(c)...)
	}
	add(checkGaps(c)...)
	slices.SortStableFunc(list, func(a, b series.Finding) int { return rank(a) - rank(b) })
	return list
}

func rank(f series.Finding) int {
	if f.Severity == series.SeverityError {
		return 0
	}
	return 1
}

// Blocks reports whether one of the findings is an error.
func Blocks(list []series.Finding) bool {
	return slices.ContainsFunc(list, func(f series.Finding) bool { return f.Severity == series.SeverityError })
}
