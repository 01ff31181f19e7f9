package fed

import (
	"sync"
	"time"
)

// zoneName is the zone of the Committee's clock.
const zoneName = "America/New_York"

// newYork is that zone. On a machine without a zone database its winter offset stands in: summer's instants then come out one hour
// late, so that nothing is taken for known before it was.
var newYork = sync.OnceValue(func() *time.Location {
	zone, err := time.LoadLocation(zoneName)
	if err != nil {
		return time.FixedZone("EST", -5*60*60)
	}
	return zone
})

// published tells when the statement of a day is taken to have come: at 14:00. Those of March 2020 came at other hours.
func published(day time.Time) time.Time {
	year, month, date := day.UTC().Date()
	return time.Date(year, month, date, 14, 0, 0, 0, newYork()).UTC()
}
