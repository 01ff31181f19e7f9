package view

import (
	"testing"
	"time"

	"tidemark/signals"
	"tidemark/signals/forecast"
)

// A publisher of daily values that publishes once a week is not expected on the day after its newest value.
func TestTheNextBatchOfAWeekIsExpectedAWeekAfterTheLast(t *testing.T) {
	t.Parallel()
	for weekday := range 7 {
		// Nine weeks of working days. Those up to two days before a release come with it, within a minute.
		release := time.Date(2026, time.September, 20+weekday, 15, 0, 0, 0, time.UTC)
		var points []HistoryPoint
		for day := release.AddDate(0, 0, -8).Truncate(24 * time.Hour); len(points) < 45; day = day.AddDate(0, 0, 1) {
			if d := day.Weekday(); d == time.Saturday || d == time.Sunday {
				continue
			}
			for release.Before(day.AddDate(0, 0, 2)) {
				release = release.AddDate(0, 0, 7)
			}
			points = append(points, HistoryPoint{ObservedAt: day, PublishedAt: release.Add(time.Duration(len(points)%5) * 10 * time.Second), Vintage: 1})
		}
		want := release.AddDate(0, 0, 7)
		if got := expectedNext(signals.Definition{}, points); got.Sub(want).Abs() > time.Minute {
			t.Errorf("published each %s, the next after %s is expected on %s, want %s", release.Weekday(), release, got, want)
		}
	}
}

func TestAValueThatComesAloneIsExpectedByItsDayAndDelay(t *testing.T) {
	t.Parallel()
	var points []HistoryPoint
	for i := range 12 {
		day := time.Date(2026, time.January, 2+7*i, 0, 0, 0, 0, time.UTC)
		points = append(points, HistoryPoint{ObservedAt: day, PublishedAt: day.Add(5 * 24 * time.Hour), Vintage: 1})
	}
	points[11].PublishedAt = points[11].PublishedAt.Add(48 * time.Hour) // after a holiday
	if got, want := expectedNext(signals.Definition{}, points), points[11].ObservedAt.AddDate(0, 0, 12); !got.Equal(want) {
		t.Errorf("expected on %s, want %s", got, want)
	}
}

// The publishers name the days: EIA's prices on Wednesdays, PortWatch on Tuesdays, the Pink Sheet on the second day of a month.
func TestTheScheduleNamesTheNextReleaseOnEachDay(t *testing.T) {
	t.Parallel()
	at := func(day, hour int) time.Time { return time.Date(2026, time.November, day, hour, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		signal string
		after  time.Time
		period string
		due    time.Time
	}{
		{"crack-spread-321", at(24, 12), "2026-11-23", at(25, 15).Add(30 * time.Minute)},
		{"crack-spread-321", at(25, 16), "2026-11-30", time.Date(2026, time.December, 2, 15, 30, 0, 0, time.UTC)},
		{"crack-spread-321", at(26, 12), "2026-11-30", time.Date(2026, time.December, 2, 15, 30, 0, 0, time.UTC)},
		{"crack-spread-321", at(29, 12), "2026-11-30", time.Date(2026, time.December, 2, 15, 30, 0, 0, time.UTC)},
		{"eia-weekly-petroleum", at(26, 12), "2026-11-27", time.Date(2026, time.December, 2, 15, 30, 0, 0, time.UTC)},
		{"hormuz-transit", at(25, 12), "2026-11-29", time.Date(2026, time.December, 1, 13, 35, 0, 0, time.UTC)},
		{"lng-arbitrage", at(26, 12), "2026-11", time.Date(2026, time.December, 2, 0, 0, 0, 0, time.UTC)},
		{"tropomi-no2-economic", at(26, 12), "2026-11", time.Date(2026, time.December, 15, 0, 0, 0, 0, time.UTC)},
		{"iowa-corn-yield", at(26, 12), "2026-final", time.Date(2027, time.January, 8, 17, 0, 0, 0, time.UTC)},
		{"iowa-corn-yield", time.Date(2027, time.January, 20, 0, 0, 0, 0, time.UTC), "2027-08", time.Date(2027, time.August, 8, 16, 0, 0, 0, time.UTC)},
	} {
		if list := forecast.Of(c.signal)[0].Due(c.after); len(list) == 0 || list[0].Period != c.period || !list[0].ScheduledAt.Equal(c.due) {
			t.Errorf("%s after %s: %+v, want %s on %s", c.signal, c.after, list, c.period, c.due)
		}
	}
}
