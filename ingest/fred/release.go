package fred

import (
	"time"

	"tidemark/ingest"
)

// clockTime is the time of day, in New York, of a release.
type clockTime struct{ hour, minute int }

var (
	morning    = clockTime{8, 30}
	production = clockTime{9, 15}
)

// on is the release on a day, in UTC.
func (c clockTime) on(day time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day(), c.hour, c.minute, 0, 0, ingest.NewYork()).UTC()
}

// employmentPublished is the release time of the employment of a month: the third Friday after the week, from Sunday to Saturday, that
// has the twelfth of the month.
func employmentPublished(month time.Time) time.Time {
	twelfth := time.Date(month.Year(), month.Month(), 12, 0, 0, 0, 0, time.UTC)
	return morning.on(twelfth.AddDate(0, 0, int(time.Saturday-twelfth.Weekday())+20))
}

// cpiPublished assumes the 15th of the month after for the consumer prices, which mostly come on the 10th to the 15th: the conservative
// choice.
func cpiPublished(month time.Time) time.Time {
	return morning.on(time.Date(month.Year(), month.Month()+1, 15, 0, 0, 0, 0, time.UTC))
}

// gdpPublished takes the 30th of the month after a quarter for the day of the advance estimate, which comes on the 25th to the 30th.
func gdpPublished(quarter time.Time) time.Time {
	return morning.on(time.Date(quarter.Year(), quarter.Month()+3, 30, 0, 0, 0, 0, time.UTC))
}

// productionPublished takes the 18th of the month after for the day of industrial production, which comes on the 14th to the 18th.
func productionPublished(month time.Time) time.Time {
	return production.on(time.Date(month.Year(), month.Month()+1, 18, 0, 0, 0, 0, time.UTC))
}

// claimsPublished is the release time of the claims of a week: the Thursday after the Saturday that ends it.
func claimsPublished(weekEnding time.Time) time.Time { return morning.on(weekEnding.AddDate(0, 0, 5)) }
