package fed

import (
	"time"

	"tidemark/ingest"
)

// published tells when the statement of a day is taken to have come: at 14:00. Those of March 2020 came at other hours.
func published(day time.Time) time.Time {
	year, month, date := day.UTC().Date()
	return time.Date(year, month, date, 14, 0, 0, 0, ingest.NewYork()).UTC()
}
