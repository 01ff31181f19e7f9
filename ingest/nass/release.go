package nass

import (
	"time"

	"tidemark/ingest"
)

// reportDay is taken for the day of every Crop Production report and of the annual summary, at noon. Most came between the 8th and
// the 12th, until 2012 at 8:30 in the morning: this is the side that does not claim too much.
const reportDay = 12

// forecastPublished is the release time of the forecast of a month.
func forecastPublished(observedAt time.Time) time.Time {
	year, month, _ := observedAt.UTC().Date()
	return time.Date(year, month, reportDay, 12, 0, 0, 0, ingest.NewYork()).UTC()
}

// finalPublished is the release time of the final yield of a crop year: the annual summary of the next January.
func finalPublished(observedAt time.Time) time.Time {
	return time.Date(observedAt.UTC().Year()+1, time.January, reportDay, 12, 0, 0, 0, ingest.NewYork()).UTC()
}

// conditionPublished is the release time of the ratings of a week: the Monday after its end at 16:00, or Tuesday if that is a holiday.
func conditionPublished(weekEnding time.Time) time.Time {
	year, month, day := weekEnding.UTC().Date()
	monday := time.Date(year, month, day+1+(int(time.Monday-weekEnding.UTC().Weekday())+6)%7, 0, 0, 0, 0, time.UTC)
	if isHoliday(monday) {
		monday = monday.AddDate(0, 0, 1)
	}
	return time.Date(monday.Year(), monday.Month(), monday.Day(), 16, 0, 0, 0, ingest.NewYork()).UTC()
}

// isHoliday reports whether a Monday is a federal holiday, or the substitute for one on a Sunday. January to March have no ratings.
func isHoliday(monday time.Time) bool {
	year, month, day := monday.Date()
	nth := (day-1)/7 + 1
	switch month {
	case time.May:
		return day > 31-7
	case time.June:
		return year >= 2021 && (day == 19 || day == 20)
	case time.July:
		return day == 4 || day == 5
	case time.September:
		return nth == 1
	case time.October:
		return nth == 2
	case time.November:
		return day == 11 || day == 12
	}
	return false
}
