package temis

import "time"

// zoneName is the zone that the schedule is stated in.
const zoneName = "Europe/Amsterdam"

// late is the number of months before the last complete one that may still be missing.
const late = 2

// published is the time at which a month's grid is assumed to be known. Its real time is not recorded: it takes some weeks, and clients
// request the month before last. This assumes noon UTC of the 25th of the following month.
func published(observedAt time.Time) time.Time {
	year, month, _ := observedAt.UTC().Date()
	return time.Date(year, month+1, 25, 12, 0, 0, 0, time.UTC)
}

// lastMonth is the last month that was over at an instant.
func lastMonth(at time.Time) time.Time {
	year, month, _ := at.UTC().Date()
	return time.Date(year, month-1, 1, 0, 0, 0, 0, time.UTC)
}
