package temis

import "time"

// zoneName is the zone that the schedule is stated in.
const zoneName = "Europe/Amsterdam"

// late is how many months before the last one that is over may still be missing.
const late = 2

// published tells when a month's grid is taken for known. Nobody has recorded when they appear, only that it takes some weeks and
// that clients ask for the month before last: this assumes noon UTC of the 25th of the following month.
func published(observedAt time.Time) time.Time {
	year, month, _ := observedAt.UTC().Date()
	return time.Date(year, month+1, 25, 12, 0, 0, 0, time.UTC)
}

// lastMonth is the last month that was over at an instant.
func lastMonth(at time.Time) time.Time {
	year, month, _ := at.UTC().Date()
	return time.Date(year, month-1, 1, 0, 0, 0, 0, time.UTC)
}
