package eia

import (
	"time"

	"tidemark/ingest"
)

// releaseTime is the time of day, in New York, of a weekly release on Wednesdays.
type releaseTime struct{ hour, minute int }

var (
	// spotRelease is when a week's spot prices are taken for known. Measured on 120 updates as a nightly mirror saw them: new
	// rows come once a week, in the night after Wednesday; workbooks carry a save time of Wednesday about 10:40. The evening
	// is the side of that interval that cannot claim too much.
	spotRelease = releaseTime{18, 0}
	// stocksRelease is the announced hour of the weekly petroleum status report.
	stocksRelease = releaseTime{10, 30}
)

// on returns the release on a date of New York, in UTC.
func (r releaseTime) on(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, r.hour, r.minute, 0, 0, ingest.NewYork()).UTC()
}

// last returns the newest release at or before an instant, in UTC.
func (r releaseTime) last(t time.Time) time.Time {
	year, month, day := t.In(ingest.NewYork()).Date()
	back := (int(t.In(ingest.NewYork()).Weekday()-time.Wednesday) + 7) % 7
	if at := r.on(year, month, day-back); !at.After(t) {
		return at
	}
	return r.on(year, month, day-back-7)
}

// spotPublished is the release time of a spot price about a day: the Wednesday two days after the first Monday at or after it. Of a
// week's values, Monday's is two days old by then and Tuesday's eight.
func spotPublished(observedAt time.Time) time.Time {
	year, month, day := observedAt.UTC().Date()
	toMonday := (int(time.Monday-observedAt.UTC().Weekday()) + 7) % 7
	return spotRelease.on(year, month, day+toMonday+2)
}

// weeklyPublished is the release time of the figures of a week: the first Wednesday after its last day, five days after a Friday.
// Releases that a holiday moves to Thursday count as Wednesday's.
func weeklyPublished(observedAt time.Time) time.Time {
	year, month, day := observedAt.UTC().Date()
	toWednesday := (int(time.Wednesday-observedAt.UTC().Weekday())+6)%7 + 1
	return stocksRelease.on(year, month, day+toWednesday)
}
