package world

import (
	"sync"
	"time"
)

// Clock returns the time of a world, in UTC and to the microsecond, the precision of Postgres. All clocks here are safe for concurrent
// use.
type Clock interface{ Now() time.Time }

// Wall is the clock of the live world.
type Wall struct{}

// Now returns the time of the machine.
func (Wall) Now() time.Time {
	return precise(time.Now()) //nolint:forbidigo // this is the wall clock
}

// Fixed is a clock that always shows one instant: the clock of a replay.
type Fixed time.Time

// Now returns the instant.
func (f Fixed) Now() time.Time { return precise(time.Time(f)) }

// Stepped is the clock of a sandbox: it stops until it is advanced, never goes back, and can join the wall clock permanently.
type Stepped struct {
	mu        sync.Mutex
	at        time.Time
	following bool
}

// NewStepped returns a clock stopped at t.
func NewStepped(t time.Time) *Stepped { return &Stepped{at: precise(t)} }

// Now returns where the clock stands, or the wall clock's time once it follows that. Where the wall clock is behind, the clock
// stands until it has caught up.
func (s *Stepped) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.following {
		s.at = later(s.at, Wall{}.Now())
	}
	return s.at
}

// AdvanceTo moves the clock on to t. A time that is not ahead of it changes nothing.
func (s *Stepped) AdvanceTo(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = later(s.at, precise(t))
}

// Follow makes the clock the wall clock from now on.
func (s *Stepped) Follow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.following = true
}

// Following reports whether the clock now follows the wall clock.
func (s *Stepped) Following() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.following
}

// precise drops what Postgres would, and the monotonic reading.
func precise(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
