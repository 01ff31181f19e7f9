package worldbank

import (
	"net/http"
	"time"

	"tidemark/ingest"
)

// releaseOf is when the workbook that ends with a month is taken for published: on the 3rd of the month after it at 15:00 in New
// York. Seen were the 2nd, the 3rd and the 4th; no hour is announced.
func releaseOf(year int, month time.Month) time.Time {
	return time.Date(year, month+1, 3, 15, 0, 0, 0, ingest.NewYork()).UTC()
}

// published is the time at which the price of a month is assumed to have become known.
func published(observedAt time.Time) time.Time {
	year, month, _ := observedAt.UTC().Date()
	return releaseOf(year, month)
}

// lastRelease returns the newest release at or before an instant.
func lastRelease(t time.Time) time.Time {
	year, month, _ := t.In(ingest.NewYork()).Date()
	if at := releaseOf(year, month-1); !at.After(t) {
		return at
	}
	return releaseOf(year, month-2)
}

// answeredAt is the time of the publisher's response: its Date header, or else the time of the fetch. The two are the same except in a
// replay, whose clock stops at one instant and may be long after the recording. The age of a workbook is then its age at the time of the
// response. Zero: unknown.
func answeredAt(r ingest.Response) time.Time {
	if at, err := http.ParseTime(r.Header.Get("Date")); err == nil {
		return at
	}
	return r.FetchedAt
}
