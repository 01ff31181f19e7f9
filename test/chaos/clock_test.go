package chaos

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"tidemark/internal/calendar"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/scheduler"
)

// halts are the clock times in New York at which the world's clock stands for a while: each after some slots of the schedule, in the order
// in which a day's work depends on itself: prices, signals, the pick, its announcement, the witnesses.
var halts = []time.Duration{
	9*time.Hour + 50*time.Minute, 14*time.Hour + 25*time.Minute, 16*time.Hour + 21*time.Minute, 17*time.Hour + 26*time.Minute,
	17*time.Hour + 31*time.Minute, 18*time.Hour + time.Minute, 21*time.Hour + 6*time.Minute,
}

// haltsBetween lists the instants after from and up to until at which the clock stands.
func haltsBetween(from, until time.Time) []time.Time {
	var list []time.Time
	for day := calendar.DayOf(from); !day.After(calendar.DayOf(until)); day = day.AddDate(0, 0, 1) {
		for i, clock := range halts {
			at := calendar.At(day, clock)
			if at.After(from) && !at.After(until) && (i == 0 || calendar.IsTradingDay(day)) {
				list = append(list, at)
			}
		}
	}
	return list
}

// driver moves the world's clock from halt to halt until it has reached the wall clock's time.
type driver struct {
	db *postgres.DB
	// begin is where the clock stood; end is the wall clock's time when the faults began; window is how long they last.
	begin, end time.Time
	began      time.Time
	window     time.Duration
	// impatient is how often the clock went on before everything was done.
	impatient, halted int
}

// The clock waits for the work of a halt to end, but not longer than that: during the faults, and after them. What is lost with Redis may
// take two minutes.
const patience, lastPatience = time.Minute, 3 * time.Minute

// run returns when the clock follows the wall clock, or with what has kept it from that.
func (d *driver) run(ctx context.Context) error {
	for _, halt := range haltsBetween(d.begin, d.end) {
		// No faster than that the last day comes when the faults are over.
		share := float64(halt.Sub(d.begin)) / float64(d.end.Sub(d.begin))
		if err := sleep(ctx, time.Until(d.began.Add(time.Duration(share*float64(d.window))))); err != nil {
			return err
		}
		if err := d.persist(ctx, func() error { return d.db.SetClock(ctx, &halt) }); err != nil {
			return err
		}
		d.halted++
		wait := patience
		if time.Since(d.began) > d.window {
			wait = lastPatience
		}
		if done, err := d.settle(ctx, halt, wait); err != nil {
			return err
		} else if !done {
			d.impatient++
		}
	}
	return d.persist(ctx, func() error { return d.db.SetClock(ctx, nil) })
}

// persist tries again while Postgres is away.
func (d *driver) persist(ctx context.Context, do func() error) error {
	var err error
	for range 600 {
		if err = do(); err == nil {
			return nil
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("the world's clock cannot be set: %w", err)
}

// settle waits until the slots up to an instant are recorded and done. Not to know, because Postgres is away, is not to be done.
func (d *driver) settle(ctx context.Context, at time.Time, wait time.Duration) (bool, error) {
	for deadline := time.Now().Add(wait); time.Now().Before(deadline); {
		missing, err := unrecorded(ctx, d.db, at)
		if err == nil && missing == "" {
			if open, err := d.db.Unfinished(ctx, at); err == nil && !open {
				return true, nil
			}
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return false, err
		}
	}
	return false, nil
}

// unrecorded names a schedule whose newest slot up to an instant is not recorded.
func unrecorded(ctx context.Context, db *postgres.DB, at time.Time) (string, error) {
	list, err := db.Schedules(ctx)
	if err != nil {
		return "", err
	}
	for _, s := range list {
		c, err := scheduler.Parse(s)
		if err != nil {
			return "", err
		}
		if s.LastSlot == nil {
			return s.Job + " " + s.Subject, nil
		}
		if next := c.Next(*s.LastSlot); !next.After(at) {
			return s.Job + " " + s.Subject, nil
		}
	}
	if len(list) == 0 {
		return "all of them", nil
	}
	return "", nil
}

// slots lists the logical times of a schedule after one instant and up to another.
func slots(c cron.Schedule, after, until time.Time) []time.Time {
	var list []time.Time
	for t := c.Next(after); !t.IsZero() && !t.After(until); t = c.Next(t) {
		list = append(list, t.UTC())
	}
	return list
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func TestTheClockHaltsAfterThePickOfEachTradingDay(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, time.November, 13, 22, 0, 0, 0, time.UTC) // Friday, 17:00 in New York
	got := haltsBetween(from, from.AddDate(0, 0, 3))
	at := func(day, hour, minute int) time.Time {
		return time.Date(2026, time.November, day, hour, minute, 0, 0, time.UTC)
	}
	want := []time.Time{
		at(13, 22, 26), at(13, 22, 31), at(13, 23, 1), at(14, 2, 6), // the rest of Friday
		at(14, 14, 50), at(15, 14, 50), // the weekend
		at(16, 14, 50), at(16, 19, 25), at(16, 21, 21), // Monday, until the same time
	}
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("halts at %v, want %v", got, want)
	}
	c, err := scheduler.Parse(task.Schedule{Cron: "30 17 * * MON-FRI", Zone: "America/New_York", CatchUp: "all"})
	if err != nil {
		t.Fatal(err)
	}
	if got := slots(c, from, from.AddDate(0, 0, 3)); !slices.EqualFunc(got, []time.Time{at(13, 22, 30)}, time.Time.Equal) {
		t.Errorf("slots at %v, want Friday's alone", got)
	}
}
