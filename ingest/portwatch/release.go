package portwatch

import (
	"time"

	"tidemark/ingest"
)

// releaseOn is when the release of a Tuesday is taken for out: at 9:35 in New York. It is announced for 9:00, and was seen by
// 13:36 UTC on two Tuesdays in April, when New York is four hours behind.
func releaseOn(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 9, 35, 0, 0, ingest.NewYork()).UTC()
}

// published is the time at which the figures of a day are assumed to be known. It is the Tuesday after the Sunday that ends its week, two
// to nine days later.
func published(observedAt time.Time) time.Time {
	year, month, day := observedAt.UTC().Date()
	toSunday := (7 - int(observedAt.UTC().Weekday())) % 7
	return releaseOn(year, month, day+toSunday+2)
}

// lastRelease returns the newest release at or before an instant.
func lastRelease(t time.Time) time.Time {
	year, month, day := t.In(ingest.NewYork()).Date()
	back := (int(t.In(ingest.NewYork()).Weekday()-time.Tuesday) + 7) % 7
	if at := releaseOn(year, month, day-back); !at.After(t) {
		return at
	}
	return releaseOn(year, month, day-back-7)
}

// lastDay is the last day that a release holds: the Sunday before it.
func lastDay(release time.Time) time.Time {
	year, month, day := release.In(ingest.NewYork()).Date()
	return time.Date(year, month, day-2, 0, 0, 0, 0, time.UTC)
}
