package chaos

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/scheduler"
)

// past is the history that the world goes through while faults occur. One scheduler at a time steps its clock; if it is killed, another one
// continues.
type past struct {
	db *postgres.DB
	// begin is where the clock stood, end the wall clock's time when the processes began.
	begin, end time.Time
}

// lived waits until the clock follows the wall clock. It returns an error if ctx ends first. Postgres may be unavailable meanwhile.
func (p past) lived(ctx context.Context) error {
	for {
		if behind, err := p.db.ClockBehind(ctx); err == nil && !behind {
			return nil
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
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

func TestSlotsAreThoseOfTheSchedulesZone(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, time.November, 13, 22, 0, 0, 0, time.UTC) // Friday, 17:00 in New York
	c, err := scheduler.Parse(task.Schedule{Cron: "30 17 * * MON-FRI", Zone: "America/New_York", CatchUp: "all"})
	if err != nil {
		t.Fatal(err)
	}
	want := []time.Time{time.Date(2026, time.November, 13, 22, 30, 0, 0, time.UTC)}
	if got := slots(c, from, from.AddDate(0, 0, 3)); !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("slots at %v, want Friday's alone", got)
	}
}
