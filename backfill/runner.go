package backfill

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/signals"
)

const (
	// shortTurn is the Turn of a Runner that states none: a scheduled run never waits longer for a worker.
	shortTurn = 2 * time.Second
	// group is how many slots are recorded in one commit.
	group = 16
)

// Runner does the slots of backfills. All fields but Turn are required.
type Runner struct {
	DB          *postgres.DB
	Definitions map[string]signals.Definition
	// Compute makes the snapshot of a signal for an instant from the data known then.
	Compute func(ctx context.Context, def signals.Definition, at time.Time) (postgres.Snapshot, error)
	// Signal is the scheduled run of a signal: it computes and saves. A slot without a snapshot gets its own from here, so that a
	// backfill is the same work with an older instant.
	Signal func(ctx context.Context, t task.Task) error
	// TimeSlice is the time that one run spends on slots before it makes room for others, by the process's own timer. Zero: two seconds.
	TimeSlice time.Duration
}

// Slots does the slots assigned to a run of backfill id, until they are done, the backfill is paused or cancelled, or the run's time
// slice is over. The remaining slots are handed out again. If a slot's computation or snapshot is refused, the slot has failed, with its
// reason, and the others continue. Any other error ends the attempt, which is tried again and continues after the completed slots.
func (r Runner) Slots(ctx context.Context, t task.Task, id int64) error {
	b, err := r.DB.Backfill(ctx, id)
	if err != nil {
		return err
	}
	def, ok := r.Definitions[b.Signal]
	if !ok {
		return fmt.Errorf("backfill %d: unknown signal %q", id, b.Signal)
	}
	w := work{Runner: r, task: t, backfill: b, def: def}
	over := time.NewTimer(cmp.Or(r.TimeSlice, shortTurn))
	defer over.Stop()
	for {
		slots, err := r.DB.BackfillWork(ctx, id, t.RunID, group)
		if err != nil || len(slots) == 0 {
			return err
		}
		left, err := w.do(ctx, slots, over.C)
		if err != nil || left {
			return err
		}
	}
}

// work is a run in the middle of a backfill.
type work struct {
	Runner
	task     task.Task
	backfill postgres.Backfill
	def      signals.Definition
	known    *previous
	// begun reports whether data was known at an earlier slot: at later slots it is known, too.
	begun bool
}

// do does some slots and records them, even if it must stop in the middle. It reports whether its time slice is over.
func (w *work) do(ctx context.Context, slots []time.Time, over <-chan time.Time) (left bool, err error) {
	var done []postgres.BackfillSlot
	for _, at := range slots {
		s, serr := w.slot(ctx, at)
		if serr != nil {
			err = serr
			break
		}
		done = append(done, s)
		select {
		case <-over:
			left = true
		default:
			continue
		}
		break
	}
	if errors.Is(err, postgres.ErrFenced) {
		return false, err
	}
	return left, errors.Join(err, w.DB.FinishSlots(context.WithoutCancel(ctx), w.task.Fence, w.backfill.ID, done))
}

// slot does one slot. An error means that another attempt can succeed.
func (w *work) slot(ctx context.Context, at time.Time) (postgres.BackfillSlot, error) {
	s, err := w.guarded(ctx, at)
	fault := panicked{}
	if err != nil && ctx.Err() == nil && (errors.As(err, &fault) || postgres.Rejected(err)) {
		reason := err.Error()
		return postgres.BackfillSlot{Slot: at, Status: postgres.SlotFailed, Reason: &reason}, nil
	}
	return s, err
}

// panicked is a computation that broke. It would break again.
type panicked struct{ error }

// guarded keeps what one slot's numbers do to a computation from the other slots.
func (w *work) guarded(ctx context.Context, at time.Time) (s postgres.BackfillSlot, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked{fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	if w.backfill.AsOf != nil {
		return w.withPrevious(ctx, at)
	}
	return w.inTime(ctx, at)
}

// nothingKnown is why a slot is passed over: its snapshot would say nothing, of a time before there was anything to say.
const nothingKnown = "nothing was known by then"

// inTime computes a slot from the data known at it. A slot without a snapshot gets the result as its snapshot, unless it is empty. An
// existing snapshot is kept, and a different result is recorded separately.
func (w *work) inTime(ctx context.Context, at time.Time) (postgres.BackfillSlot, error) {
	stands, has, err := standing(ctx, w.DB, w.def.ID, at)
	if err != nil {
		return postgres.BackfillSlot{}, err
	}
	if !has {
		if !w.begun {
			snap, err := w.Compute(ctx, w.def, at)
			if err != nil {
				return postgres.BackfillSlot{}, err
			}
			if snap.ObservedAt == nil {
				return postgres.BackfillSlot{Slot: at, Status: postgres.SlotSkipped, Reason: new(nothingKnown)}, nil
			}
			w.begun = true
		}
		err := w.Signal(ctx, task.Task{Fence: w.task.Fence, Job: task.Signal, Subject: w.def.ID, Slot: at, Queue: w.task.Queue})
		if err != nil {
			return postgres.BackfillSlot{}, err
		}
		if stands, has, err = standing(ctx, w.DB, w.def.ID, at); err != nil {
			return postgres.BackfillSlot{}, err
		}
		if !has {
			return postgres.BackfillSlot{}, fmt.Errorf("the run of %s for %s left no snapshot", w.def.ID, at.Format(time.RFC3339))
		}
	}
	// An earlier attempt may have been killed between the snapshot and this slot's row.
	if stands.RunID != nil && *stands.RunID == w.task.RunID {
		return finished(at, postgres.OutcomeAdded, stands.Value, nil)
	}
	computed, err := w.Compute(ctx, w.def, at)
	if err != nil {
		return postgres.BackfillSlot{}, err
	}
	if same, err := alike(stands, computed); err != nil || same {
		return finishedOr(err, at, postgres.OutcomeUnchanged, computed.Value, nil)
	}
	return finished(at, postgres.OutcomeDiffers, computed.Value, resultOf(computed))
}

// withPrevious computes a slot from the data known at the backfill's own instant. It never changes a snapshot.
func (w *work) withPrevious(ctx context.Context, at time.Time) (postgres.BackfillSlot, error) {
	stands, has, err := standing(ctx, w.DB, w.def.ID, at)
	if err != nil {
		return postgres.BackfillSlot{}, err
	}
	if w.known == nil {
		if w.known, err = readPrevious(ctx, w.DB, w.def, *w.backfill.AsOf); err != nil {
			return postgres.BackfillSlot{}, err
		}
	}
	if !has {
		// What would have been newest then.
		if stands, err = w.Compute(ctx, w.def, at); err != nil {
			return postgres.BackfillSlot{}, err
		}
	}
	res := w.known.about(stands)
	if has && numbersAlike(resultOf(stands), &res) {
		return finished(at, postgres.OutcomeUnchanged, res.Value, nil)
	}
	return finished(at, postgres.OutcomeDiffers, res.Value, &res)
}

func finished(at time.Time, outcome string, value *float64, res *Result) (postgres.BackfillSlot, error) {
	s := postgres.BackfillSlot{Slot: at, Status: postgres.SlotDone, Outcome: &outcome, NewValue: value}
	if res == nil {
		return s, nil
	}
	var err error
	s.Result, err = json.Marshal(res)
	return s, err
}

func finishedOr(err error, at time.Time, outcome string, value *float64, res *Result) (postgres.BackfillSlot, error) {
	if err != nil {
		return postgres.BackfillSlot{}, err
	}
	return finished(at, outcome, value, res)
}
