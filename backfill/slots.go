package backfill

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"tidemark/internal/series"
)

// maxSlots bounds one plan. Longer ranges are several plans.
const maxSlots = 100_000

// slots lists the instants at which a cadence is due on the days from one to another, both included, in its own zone, up to now. Only the
// dates of the days count.
func slots(c series.Cadence, from, to, now time.Time) ([]time.Time, error) {
	zone, err := zoneOf(c)
	if err != nil {
		return nil, err
	}
	due, err := cron.ParseStandard("CRON_TZ=" + zone.String() + " " + c.Cron)
	if err != nil {
		return nil, fmt.Errorf("read the schedule %q: %w", c.Cron, err)
	}
	begin, end := days(from, to, zone)
	var list []time.Time
	for t := due.Next(begin.Add(-time.Nanosecond)); !t.IsZero() && t.Before(end) && !t.After(now); t = due.Next(t) {
		if len(list) == maxSlots {
			return nil, requestError("--from, --to: more than %d slots, make several plans of them", maxSlots)
		}
		list = append(list, t.UTC())
	}
	return list, nil
}

func zoneOf(c series.Cadence) (*time.Location, error) {
	zone, err := time.LoadLocation(c.Zone) // "" is UTC
	if err != nil {
		return nil, fmt.Errorf("read the schedule's zone: %w", err)
	}
	return zone, nil
}

// days returns the beginning of the first day and the end of the last one, which is the beginning of the next.
func days(from, to time.Time, zone *time.Location) (begin, end time.Time) {
	y, m, d := from.Date()
	begin = time.Date(y, m, d, 0, 0, 0, 0, zone)
	y, m, d = to.Date()
	return begin, time.Date(y, m, d+1, 0, 0, 0, 0, zone)
}
