package bls

import (
	"time"

	"tidemark/ingest"
)

// at is an instant of a day in New York, in UTC.
func at(day time.Time, hour, minute int) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day(), hour, minute, 0, 0, ingest.NewYork()).UTC()
}

// after is a day of the n-th month after a month.
func after(month time.Time, n, day int) time.Time {
	return time.Date(month.Year(), month.Month()+time.Month(n), day, 0, 0, 0, 0, time.UTC)
}

// pricesPublished assumes the 15th of the month after for the consumer prices, which mostly come on the 10th to the 15th: the
// conservative choice.
func pricesPublished(month time.Time) time.Time { return at(after(month, 1, 15), 8, 30) }

// producerPublished assumes the 17th for the producer prices, which come on the 11th to the 17th.
func producerPublished(month time.Time) time.Time { return at(after(month, 1, 17), 8, 30) }

// employmentPublished is the release time of the employment of a month: the third Friday after the week, from Sunday to Saturday, that
// has the twelfth of the month.
func employmentPublished(month time.Time) time.Time {
	twelfth := time.Date(month.Year(), month.Month(), 12, 0, 0, 0, 0, time.UTC)
	return at(twelfth.AddDate(0, 0, int(time.Saturday-twelfth.Weekday())+20), 8, 30)
}

// openingsPublished takes the 10th of the second month after for the day of the job openings, which come on the 1st to the 10th.
func openingsPublished(month time.Time) time.Time { return at(after(month, 2, 10), 10, 0) }
