package fed

import (
	"time"

	"tidemark/ingest"
)

// published is the assumed time of the statement of a day: 14:00. The statements of March 2020 came at other hours.
func published(day time.Time) time.Time {
	year, month, date := day.UTC().Date()
	return time.Date(year, month, date, 14, 0, 0, 0, ingest.NewYork()).UTC()
}
