package simulate

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// clock is the time of a simulated world. The true time never goes back. The machines that read it may be off, like machines whose clocks
// NTP corrects from time to time. It is safe for concurrent use.
type clock struct {
	// set tells the database its time.
	set func(ctx context.Context, at time.Time) error

	mu   sync.Mutex
	true time.Time
	off  map[string]time.Duration
	told time.Time
}

// database is the machine whose clock the database reads.
const database = "database"

func newClock(at time.Time) *clock {
	return &clock{true: at.UTC().Truncate(time.Microsecond), off: map[string]time.Duration{}}
}

// now returns the true time, in UTC.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.true
}

// of returns the clock of a machine.
func (c *clock) of(machine string) func() time.Time {
	return func() time.Time {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.true.Add(c.off[machine])
	}
}

// step sets the offset of a machine's clock from now on.
func (c *clock) step(machine string, off time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off[machine] = off.Truncate(time.Microsecond)
}

// advance moves the time forward, and sets the database's time.
func (c *clock) advance(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.true = c.true.Add(max(d, 0).Truncate(time.Microsecond))
	at := c.true.Add(c.off[database])
	same := at.Equal(c.told)
	c.told = at
	c.mu.Unlock()
	if same {
		return nil
	}
	if err := c.set(ctx, at); err != nil {
		return fmt.Errorf("set the simulation's clock: %w", err)
	}
	return nil
}

// advanceTo advances the clock to an instant. An instant in the past changes nothing.
func (c *clock) advanceTo(ctx context.Context, to time.Time) error {
	return c.advance(ctx, to.Sub(c.now()))
}
