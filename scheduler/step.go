package scheduler

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Stepper drives the clock of a sandbox while its history is made. It moves to the next slot as soon as all work for earlier slots is done.
// When it reaches the wall clock's time, it follows the wall clock. So months pass in a minute, in order, on machines of any speed.
type Stepper struct {
	Scheduler *Scheduler
	// Unfinished reports whether a run for a slot up to at has not ended yet.
	Unfinished func(ctx context.Context, at time.Time) (bool, error)
	// Working reports whether a worker that lives works on such a run. Nil: none does.
	Working func(ctx context.Context, at time.Time) (bool, error)
	// Ended signals that a run may have ended, so that Unfinished is called at once. Nil: it is called every 5 ms.
	Ended <-chan struct{}
	// Advance sets the world's clock, in the database and in the process.
	Advance func(ctx context.Context, to time.Time) error
	// Follow makes the world's clock follow the wall clock.
	Follow func(ctx context.Context) error
	Wall   func() time.Time
	Log    *slog.Logger
}

const (
	settlePoll = 5 * time.Millisecond
	// endedPoll is for runs that end in other processes, where Ended tells of those in this one.
	endedPoll = 50 * time.Millisecond
	// After this time without a worker at work the clock moves on from a slot whose runs have not ended: they are still retried, later than
	// they should be. While a worker works, however slowly, the clock waits, so that a busy machine makes the same past.
	settleTimeout = time.Minute
	// Backoff between two attempts of a failing step.
	firstPause, maxPause = 50 * time.Millisecond, 2 * time.Second
)

// Run returns nil when the clock follows the wall clock, or ctx has ended. It logs and retries transient failures; the clock stops
// meanwhile. It returns an error only for a schedule that cannot be parsed.
func (s *Stepper) Run(ctx context.Context) error {
	if err := s.Scheduler.init(); err != nil {
		return err
	}
	began, slots := s.Wall(), 0
	for {
		if !s.insist(ctx, "settle", s.settle) {
			return nil
		}
		next := s.next()
		if next.IsZero() || next.After(s.Wall()) {
			if s.insist(ctx, "follow the wall clock", func(ctx context.Context) error { return call(ctx, s.Follow) }) {
				s.Log.InfoContext(ctx, "the sandbox has reached the present", "slots", slots, "took", s.Wall().Sub(began).Round(time.Millisecond))
			}
			return nil
		}
		// A step is never left half done: the clocks in the database and in the process agree. Setting the clock again to the same time
		// changes nothing.
		if !s.insist(ctx, "advance the clock", func(ctx context.Context) error {
			return call(context.WithoutCancel(ctx), func(ctx context.Context) error { return s.Advance(ctx, next) })
		}) {
			return nil
		}
		slots++
		if !s.insist(ctx, "record what has come", s.Scheduler.Tick) {
			return nil
		}
	}
}

// insist repeats a part of a step until it succeeds, and reports whether it did: false when ctx has ended. Each part may be done twice.
func (s *Stepper) insist(ctx context.Context, what string, part func(context.Context) error) bool {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := s.Scheduler.Metrics.Guard(ctx, s.Log, "sandbox's clock", func() error { return part(ctx) })
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			return true
		}
		in := pause/2 + rand.N(pause/2)
		s.Log.WarnContext(ctx, "the sandbox's clock stands, trying again", "part", what, "err", err, "in", in)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(in):
		}
	}
}

// settle waits until nothing up to the clock's time is left to do.
func (s *Stepper) settle(ctx context.Context) error {
	deadline := s.Wall().Add(settleTimeout)
	every := settlePoll
	if s.Ended != nil {
		every = endedPoll
	}
	poll := time.NewTicker(every)
	defer poll.Stop()
	for {
		open, err := ask(ctx, func(ctx context.Context) (bool, error) { return s.Unfinished(ctx, s.Scheduler.Now()) })
		if err != nil {
			return err
		}
		if !open {
			return nil
		}
		if s.Wall().After(deadline) {
			working, err := s.working(ctx)
			if err != nil {
				return err
			}
			if working {
				deadline = s.Wall().Add(settleTimeout)
				continue
			}
			s.Log.WarnContext(ctx, "work of the sandbox's past does not end, going on without it", "at", s.Scheduler.Now())
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
		case <-s.Ended:
		}
	}
}

func (s *Stepper) working(ctx context.Context) (bool, error) {
	if s.Working == nil {
		return false, nil
	}
	return ask(ctx, func(ctx context.Context) (bool, error) { return s.Working(ctx, s.Scheduler.Now()) })
}

func (s *Stepper) next() time.Time {
	var next time.Time
	for _, c := range s.Scheduler.parsed {
		if t := c.Next(s.Scheduler.Now()); !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return next
}
