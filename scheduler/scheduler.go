// Package scheduler decides when runs start. It turns schedules into rows of the run log, one per due slot, and hands due rows to the
// queue. It reconciles the two: if the queue or a dead worker lost a run, it hands the run out again under the next attempt. It never
// fetches or computes. Any number of schedulers can run at once: Postgres decides between them, and Redis can lose all its data at any
// moment. Start at Scheduler.Tick.
package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robfig/cron/v3"

	"tidemark/internal/task"
	"tidemark/internal/telemetry"
)

// Store is the scheduler's state in Postgres.
type Store interface {
	// SaveSchedules records the program's schedules; LastSlot and Paused of known ones stay.
	SaveSchedules(ctx context.Context, list []task.Schedule) error
	Schedules(ctx context.Context) ([]task.Schedule, error)
	// RecordSlots makes slots runs and the newest one LastSlot, in one step; false when another scheduler was first.
	RecordSlots(ctx context.Context, s task.Schedule, slots []task.Slot) (bool, error)
	// HandOut claims due runs for this caller to give to the queue. No other caller gets them meanwhile.
	HandOut(ctx context.Context, limit int) ([]task.Task, error)
	// PutBack makes runs due again that were handed out and that the queue did not take.
	PutBack(ctx context.Context, tasks []task.Task) error
	// UnstartedRuns lists runs handed out longer than age ago that no worker claimed: those of the timely queue, or all others. The highest
	// id comes first, and only ids below before are listed; zero lists all. Requeue makes such runs due again, with fresh under their next
	// attempt.
	UnstartedRuns(ctx context.Context, age time.Duration, timely bool, before int64, limit int) ([]task.Task, error)
	Requeue(ctx context.Context, tasks []task.Task, fresh bool) error
	// Reclaim takes running runs from workers that were silent for so long, and makes them due under the next attempt.
	Reclaim(ctx context.Context, silence time.Duration) ([]task.Task, error)
}

// Queue carries tasks to workers. It may lose and repeat them.
type Queue interface {
	// Enqueue adds a task. If the queue already has the task's id, it leaves that task unchanged and returns no error.
	Enqueue(ctx context.Context, t task.Task) error
	// States returns the queue's states of the first tasks: of as many as it can look up before ctx ends, and at least of one. After an
	// error, these are the tasks before the one whose lookup failed.
	States(ctx context.Context, tasks []task.Task) ([]State, error)
}

// State is the queue's state of a task.
type State string

// The states of a task in the queue.
const (
	StateAbsent  State = "absent"  // unknown: lost, or never there
	StateWaiting State = "waiting" // will be given to a worker, or a living one has it
	StateActive  State = "active"  // given to a worker, which gives no sign
	StateOver    State = "over"    // completed or archived: will never be given to a worker again
)

// Scheduler hands out work. Its fields are set before Run and not changed after.
type Scheduler struct {
	Store     Store
	Queue     Queue
	Schedules []task.Schedule
	// Now is the world's time.
	Now func() time.Time
	Log *slog.Logger
	// Tracer begins a trace for each slot that needs a run. It may be nil.
	Tracer *telemetry.Tracer
	// Metrics counts panics. It may be nil.
	Metrics *telemetry.Metrics
	// Wake makes due runs be handed out at once; it may be nil.
	Wake <-chan struct{}
	// HandedOut is called after each task that the queue took. It must return at once. It may be nil.
	HandedOut func()
	// Every is the pause between ticks. Zero means one second.
	Every time.Duration
	// LostAfter is how long a worker may give no sign before its runs are taken from it. Zero means 10 seconds.
	LostAfter time.Duration
	// Unstarted is after how long the queue is asked about a run that it took and no worker claimed. Zero means 10 seconds.
	Unstarted time.Duration

	once   sync.Once
	parsed map[string]cron.Schedule
	fault  error
	ready  atomic.Bool

	// tick is held during a tick. The fields below belong to its holder.
	tick        sync.Mutex
	saved       bool // the schedules are in the store
	unavailable bool // the queue took nothing when it was last asked to
	// Down to these ids, reconcile has looked at the unstarted runs of the timely queue and of all others. Zero means that it begins.
	timely, others int64
}

// Ready reports whether the schedules are saved and a tick succeeded.
func (s *Scheduler) Ready() bool { return s.ready.Load() }

const (
	// handOutLimit is how many runs a tick hands out at most.
	handOutLimit = 500
	// reconcileLimit is how many runs a tick reconciles at most, and reconcileTime for how long, of the timely queue and again of the others.
	// A wake may have to wait for twice the time.
	reconcileLimit, reconcileTime = 1000, 250 * time.Millisecond
	// callTimeout is the timeout of a call to the store or to the queue. A call that never returns must not stop a tick permanently.
	callTimeout = 30 * time.Second
)

// Run ticks until ctx ends. A wake only hands out due runs: each run that becomes due wakes it, and all else may wait for the next tick.
// Run returns an error at once if a schedule cannot be parsed. It logs errors of Postgres or the queue and tries again at the next tick.
func (s *Scheduler) Run(ctx context.Context) error {
	if err := s.init(); err != nil {
		return err
	}
	every := time.NewTicker(orElse(s.Every, time.Second))
	defer every.Stop()
	for woken := false; ; {
		part := s.Tick
		if woken {
			part = s.handOut
		}
		err := s.guarded(ctx, part)
		if err == nil && !woken {
			s.ready.Store(true)
		}
		if err != nil && ctx.Err() == nil {
			s.Log.ErrorContext(ctx, "the scheduler could not do all its work, trying again", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
			woken = false
		case <-s.Wake:
			woken = true
		}
	}
}

func orElse(d, zero time.Duration) time.Duration {
	if d == 0 {
		return zero
	}
	return d
}

func (s *Scheduler) init() error {
	s.once.Do(func() {
		s.parsed = map[string]cron.Schedule{}
		var errs []error
		for _, e := range s.Schedules {
			c, err := Parse(e)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			if _, ok := task.Policies[e.Job]; !ok {
				errs = append(errs, fmt.Errorf("schedule of %s %s: unknown job %q", e.Job, e.Subject, e.Job))
			}
			s.parsed[key(e)] = c
		}
		s.fault = errors.Join(errs...)
	})
	return s.fault
}

func key(e task.Schedule) string { return e.Job + "\x00" + e.Subject }

// Tick does all due work. It saves the schedules if that is still to do, and records slots that have come. It takes runs from silent
// workers, hands out due runs, and then asks the queue about runs that no worker started. Each step is tried regardless of the outcome of
// the others. If two callers tick at once, the second waits for the first.
func (s *Scheduler) Tick(ctx context.Context) error {
	if err := s.init(); err != nil {
		return err
	}
	s.tick.Lock()
	defer s.tick.Unlock()
	if err := s.save(ctx); err != nil {
		return err // slots of a schedule that is not there would be missed
	}
	return errors.Join(s.record(ctx), s.reclaim(ctx), s.dispatch(ctx), s.reconcile(ctx))
}

// handOut is the step of Tick that hands out due runs.
func (s *Scheduler) handOut(ctx context.Context) error {
	s.tick.Lock()
	defer s.tick.Unlock()
	if err := s.save(ctx); err != nil {
		return err
	}
	return s.dispatch(ctx)
}

// guarded is Tick or handOut, with a panic as an error: the next tick tries again.
func (s *Scheduler) guarded(ctx context.Context, part func(context.Context) error) error {
	return s.Metrics.Guard(ctx, s.Log, "scheduler", func() error { return part(ctx) })
}

// call makes one call of the store or the queue.
func call(ctx context.Context, f func(context.Context) error) error {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	return f(ctx)
}

// ask is call for functions that return a value.
func ask[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	return f(ctx)
}

func (s *Scheduler) save(ctx context.Context) error {
	if s.saved {
		return nil
	}
	err := call(ctx, func(ctx context.Context) error { return s.Store.SaveSchedules(ctx, s.Schedules) })
	s.saved = err == nil
	return err
}

func (s *Scheduler) record(ctx context.Context) error {
	list, err := ask(ctx, s.Store.Schedules)
	if err != nil {
		return err
	}
	now := s.Now()
	var errs []error
	for _, e := range list {
		c, ok := s.parsed[key(e)]
		if !ok {
			continue // a schedule that this version of the program does not have
		}
		slots := Slots(e, c, now)
		if len(slots) == 0 {
			continue
		}
		spans := s.trace(ctx, e, slots)
		done, err := ask(ctx, func(ctx context.Context) (bool, error) { return s.Store.RecordSlots(ctx, e, slots) })
		if err != nil {
			errs = append(errs, err)
			if errors.Is(err, context.DeadlineExceeded) {
				break // the next would wait as long
			}
			continue
		}
		if done {
			for _, span := range spans {
				span.End(nil)
			}
			newest := slots[len(slots)-1]
			s.Log.DebugContext(ctx, "slots have come", "job", e.Job, "subject", e.Subject, "at", newest.At, "slots", len(slots),
				"trigger", newest.Trigger)
		}
	}
	return errors.Join(errs...)
}

// trace begins traces for the slots that need a run. The caller ends their spans once the slots are recorded. A slot recorded by another
// scheduler is traced by that scheduler.
func (s *Scheduler) trace(ctx context.Context, e task.Schedule, slots []task.Slot) []*telemetry.Span {
	if s.Tracer == nil {
		return nil
	}
	var spans []*telemetry.Span
	for i := range slots {
		if slots[i].Skip != "" {
			continue
		}
		at, span := s.Tracer.Begin(ctx, "slot "+e.Job, slog.String("job", e.Job), slog.String("subject", e.Subject),
			slog.Time("at", slots[i].At), slog.String("trigger", slots[i].Trigger), slog.String("cron", e.Cron), slog.String("zone", e.Zone))
		slots[i].Trace = telemetry.TraceParent(at)
		spans = append(spans, span)
	}
	return spans
}

func (s *Scheduler) reclaim(ctx context.Context) error {
	lost, err := ask(ctx, func(ctx context.Context) ([]task.Task, error) {
		return s.Store.Reclaim(ctx, orElse(s.LostAfter, 10*time.Second))
	})
	for _, t := range lost {
		s.Log.WarnContext(ctx, "a worker vanished, its run begins again", "job", t.Job, "subject", t.Subject, "at", t.Slot,
			"attempt", t.Attempt)
	}
	return err
}

// reconcile finds runs that were handed out and that the queue will not give to any worker: it lost them, or was never given them by a
// scheduler that died. It looks at all unstarted runs in rounds, each over as many ticks as it takes. A round goes from the highest id
// down, so runs that are added meanwhile do not lengthen it. The timely queue has its own rounds, which no other queue delays.
func (s *Scheduler) reconcile(ctx context.Context) error {
	return errors.Join(s.reconcileNext(ctx, true, &s.timely), s.reconcileNext(ctx, false, &s.others))
}

// reconcileNext continues a round below the id before, and moves before.
func (s *Scheduler) reconcileNext(ctx context.Context, timely bool, before *int64) error {
	list, err := ask(ctx, func(ctx context.Context) ([]task.Task, error) {
		return s.Store.UnstartedRuns(ctx, orElse(s.Unstarted, 10*time.Second), timely, *before, reconcileLimit)
	})
	if err != nil {
		return err
	}
	limited, stop := context.WithTimeout(ctx, reconcileTime)
	states, err := s.Queue.States(limited, list)
	stop()
	looked := len(states)
	if err != nil {
		looked++ // if the queue cannot read this task, the round continues all the same
	}
	if *before = 0; looked < len(list) || looked == reconcileLimit {
		*before = list[looked-1].RunID
	}
	var lost, dead []task.Task
	var found []State // of dead
	for i, state := range states {
		switch state {
		case StateWaiting: // workers are busy
		case StateAbsent:
			lost = append(lost, list[i])
		case StateActive, StateOver:
			dead, found = append(dead, list[i]), append(found, state)
		}
	}
	errs := []error{err}
	if len(lost) > 0 {
		s.Log.WarnContext(ctx, "the queue lost tasks, enqueuing them again", "tasks", len(lost), "first", lost[0].ID())
		errs = append(errs, call(ctx, func(ctx context.Context) error { return s.Store.Requeue(ctx, lost, false) }))
	}
	if len(dead) > 0 {
		s.Log.WarnContext(ctx, "the queue holds the ids of tasks that it will not run, taking their next attempt", "tasks", len(dead),
			"first", dead[0].ID()+" ("+string(found[0])+")")
		errs = append(errs, call(ctx, func(ctx context.Context) error { return s.Store.Requeue(ctx, dead, true) }))
	}
	return errors.Join(errs...)
}

// dispatch hands out due runs. It marks a run before the queue has it. If this process dies in between, reconcile finds the run and hands
// it out again under the same id, which the queue accepts once.
func (s *Scheduler) dispatch(ctx context.Context) error {
	limit := handOutLimit
	if s.unavailable {
		limit = 1 // to see whether the queue is back
	}
	due, err := ask(ctx, func(ctx context.Context) ([]task.Task, error) { return s.Store.HandOut(ctx, limit) })
	if err != nil || len(due) == 0 {
		return err
	}
	for i, t := range due {
		err = call(ctx, func(ctx context.Context) error { return s.enqueue(ctx, t) })
		if s.unavailable = err != nil; !s.unavailable {
			continue
		}
		// The remaining tasks would fail in the same way. The last task may have arrived all the same; the queue then already has its id.
		rest := due[i:]
		return errors.Join(err, call(context.WithoutCancel(ctx), func(ctx context.Context) error { return s.Store.PutBack(ctx, rest) }))
	}
	return nil
}

// enqueue hands a task to the queue, and its place in the trace with it.
func (s *Scheduler) enqueue(ctx context.Context, t task.Task) error {
	ctx, span := s.Tracer.Inject(ctx, t.Trace, "enqueue "+t.Job, slog.String("task", t.ID()), slog.Int64("run", t.RunID),
		slog.String("queue", t.Queue))
	if span != nil {
		t.Trace = telemetry.TraceParent(ctx)
	}
	err := s.Queue.Enqueue(ctx, t)
	if err == nil && s.HandedOut != nil {
		s.HandedOut()
	}
	span.End(err)
	return err
}
