package scheduler

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"tidemark/internal/task"
)

const (
	// onTime is how late a slot may be recorded without counting as missed.
	onTime = 2 * time.Minute
	// maxSlots bounds the slots of one schedule recorded in one step. What is left follows in the next.
	maxSlots = 500
	// maxSkipped bounds how many missed slots are recorded as skipped; older ones leave no row.
	maxSkipped = 100
)

// Parse reads the schedule's cron expression in its time zone.
func Parse(s task.Schedule) (cron.Schedule, error) {
	zone := s.Zone
	if zone == "" {
		zone = "UTC"
	}
	c, err := cron.ParseStandard("CRON_TZ=" + zone + " " + s.Cron)
	if err != nil {
		return nil, fmt.Errorf("schedule of %s %s: %q in zone %q: %w", s.Job, s.Subject, s.Cron, zone, err)
	}
	switch s.CatchUp {
	case "skip", "latest", "all":
		return c, nil
	}
	return nil, fmt.Errorf("schedule of %s %s: catch-up policy %q is not skip, latest or all", s.Job, s.Subject, s.CatchUp)
}

// Slots lists the slots of a schedule that have come since its last recorded one, up to now, oldest first, and says of each
// whether it is run. A schedule seen for the first time starts with its newest slot, so that a new set-up does not wait a week
// for its first data.
func Slots(s task.Schedule, c cron.Schedule, now time.Time) []task.Slot {
	var times []time.Time
	if s.LastSlot == nil {
		if t, ok := previous(c, now); ok {
			times = append(times, t)
		}
	} else {
		for t := c.Next(*s.LastSlot); !t.IsZero() && !t.After(now); t = c.Next(t) {
			times = append(times, t)
			if s.CatchUp == "all" && !s.Paused {
				if len(times) == maxSlots {
					break
				}
			} else if len(times) > maxSkipped {
				times = times[1:]
			}
		}
	}
	slots := make([]task.Slot, len(times))
	for i, t := range times {
		slots[i] = task.Slot{At: t.UTC(), Trigger: task.TriggerCron}
		missed := now.Sub(t) > onTime
		if missed {
			slots[i].Trigger = task.TriggerCatchUp
		}
		switch newest := i == len(times)-1; {
		case s.Paused:
			slots[i].Skip = "the schedule is paused"
		case s.CatchUp == "skip" && missed:
			slots[i].Skip = "missed, and its policy is to skip missed slots"
		case s.CatchUp == "latest" && !newest:
			slots[i].Skip = "missed, and its policy is to run only the latest missed slot"
		}
	}
	return slots
}

// previous returns the newest slot at or before t; false if the schedule has no slot in the last four years.
func previous(c cron.Schedule, t time.Time) (time.Time, bool) {
	for _, back := range []time.Duration{time.Hour, 24 * time.Hour, 8 * 24 * time.Hour, 62 * 24 * time.Hour, 4 * 366 * 24 * time.Hour} {
		var last time.Time
		for s := c.Next(t.Add(-back)); !s.IsZero() && !s.After(t); s = c.Next(s) {
			last = s
		}
		if !last.IsZero() {
			return last, true
		}
	}
	return time.Time{}, false
}
