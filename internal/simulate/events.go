package simulate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"tidemark/backfill"
	"tidemark/chain"
	"tidemark/internal/calendar"
)

// scheduledEvent is an event in the world at an instant.
type scheduledEvent struct {
	at time.Time
	do func(ctx context.Context) error
}

// plan draws a day's events, in their order.
func (r *run) plan(day time.Time) {
	perhaps := func(p float64, do func(context.Context) error) {
		at := day.Add(r.faults.between(0, 24*time.Hour)) // drawn in any case, so that one event more or less does not move the others
		if r.faults.chance(p) {
			r.agenda = append(r.agenda, scheduledEvent{at: at, do: do})
		}
	}
	perhaps(.20, r.flush)
	perhaps(.50, r.outage)
	perhaps(.25, r.outage)
	perhaps(.25, r.stepClocks)
	perhaps(.05, r.pauseAll)
	perhaps(.10, r.loseRemote)
	perhaps(.04, r.correct)
	perhaps(.04, r.backfill)
	perhaps(.15, r.customers.register)
	for range 4 {
		perhaps(.8, r.customers.ask)
	}
	r.sortAgenda()
}

func (r *run) sortAgenda() {
	slices.SortStableFunc(r.agenda, func(a, b scheduledEvent) int { return a.at.Compare(b.at) })
}

// flush empties the queue, like FLUSHALL or a restart of a Redis without durability.
func (r *run) flush(context.Context) error {
	r.result.Faults++
	r.trace.fault(r.clock.now(), "queue flushed: %d tasks lost", r.queue.flush())
	return nil
}

// remote returns the repository that the git ledger is pushed to.
func (r *run) remote() string { return filepath.Join(r.dir, "remote.git") }

// archiveDir is the folder of the archive.
func (r *run) archiveDir() string { return filepath.Join(r.dir, "archive") }

func (r *run) makeRemote(ctx context.Context) error {
	if out, err := exec.CommandContext(ctx, "git", "init", "--quiet", "--bare", r.remote()).CombinedOutput(); err != nil {
		return fmt.Errorf("make a git repository: %w: %s", err, out)
	}
	return nil
}

// loseRemote makes the remote repository of the git ledger unavailable for some hours.
func (r *run) loseRemote(context.Context) error {
	away := r.remote() + ".away"
	if err := os.Rename(r.remote(), away); err != nil {
		return nil //nolint:nilerr // it is away already
	}
	r.result.Faults++
	back := r.clock.now().Add(r.faults.between(time.Minute, 20*time.Hour))
	r.trace.fault(r.clock.now(), "the git remote is away until %s", back.Format(time.RFC3339))
	r.agenda = append(r.agenda, scheduledEvent{at: back, do: func(context.Context) error {
		return os.Rename(away, r.remote())
	}})
	r.sortAgenda()
	return nil
}

func (r *run) outage(context.Context) error {
	r.result.Faults++
	r.upstreams.storms()
	return nil
}

// stepClocks sets the clocks of the machines again. Each is right, or off by up to 1.5 seconds in either direction. A clock that was ahead
// is set back.
func (r *run) stepClocks(ctx context.Context) error {
	r.result.Faults++
	for _, machine := range []string{database, "worker", "scheduler-1", "scheduler-2"} {
		off := time.Duration(0)
		if r.faults.chance(.6) {
			off = r.faults.between(-1500*time.Millisecond, 1500*time.Millisecond)
		}
		r.clock.step(machine, off)
		r.trace.fault(r.clock.now(), "clock of %s is off by %s", machine, off)
	}
	if err := r.clock.advance(ctx, 0); err != nil {
		return err
	}
	return r.lookAtRuns(ctx)
}

// pauseAll lets hours pass in which no process of ours runs.
func (r *run) pauseAll(ctx context.Context) error {
	r.result.Faults++
	d := r.faults.between(10*time.Minute, 9*time.Hour)
	r.trace.fault(r.clock.now(), "everything stands still for %s", d)
	if err := r.clock.advance(ctx, d); err != nil {
		return err
	}
	return r.lookAtRuns(ctx)
}

// correct acts as an operator who declares an announced pick wrong.
func (r *run) correct(ctx context.Context) error {
	announced, err := r.db.AnnouncedPicks(ctx)
	if err != nil || len(announced) == 0 {
		return err
	}
	now, err := r.db.Now(ctx)
	if err != nil {
		return err
	}
	c := chain.Correction{
		Seq: one(r.faults, announced).Seq, What: "the price was misprinted", Evidence: "https://exchange.example/" + now.Format(time.RFC3339),
		Date: calendar.DayOf(now).Format(time.DateOnly),
	}
	if err := r.db.Correct(ctx, c, "simulation"); err != nil {
		return err
	}
	r.trace.say(r.clock.now(), "operator corrects pick %d", c.Seq)
	return r.lookAtRuns(ctx)
}

// backfill acts as an operator who recomputes some days of a signal, or computes missing days.
func (r *run) backfill(ctx context.Context) error {
	now, err := r.db.Now(ctx)
	if err != nil {
		return err
	}
	day := now.Truncate(24 * time.Hour)
	var ids []string
	for id := range r.program.Signals.Definitions {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	q := backfill.Request{Signal: one(r.faults, ids), From: day.AddDate(0, 0, -4-r.faults.IntN(40)), Parallelism: 2}
	q.To = q.From.AddDate(0, 0, 3)
	if r.faults.chance(.5) {
		q.Existing = backfill.ExistingAll
	}
	planner := r.program.Planner(now)
	plan, err := planner.Plan(ctx, q)
	if refused := (backfill.RequestError{}); errors.As(err, &refused) {
		r.trace.say(r.clock.now(), "operator's backfill of %s is refused", q.Signal)
		return nil
	}
	if err != nil {
		return err
	}
	if err := planner.Store(ctx, &plan); err != nil {
		return err
	}
	if err := planner.Apply(ctx, plan.ID); err != nil {
		return fmt.Errorf("apply backfill %d: %w", plan.ID, err)
	}
	r.trace.say(r.clock.now(), "operator backfills %s from %s: backfill %d", q.Signal, q.From.Format(time.DateOnly), plan.ID)
	return r.dispatchSoon(ctx)
}

// dispatchSoon makes a scheduler check at once: it turns the slots of a backfill into runs.
func (r *run) dispatchSoon(ctx context.Context) error {
	if err := r.lookAtRuns(ctx); err != nil {
		return err
	}
	r.nextRun = later(r.clock.now(), r.lastTick.Add(time.Millisecond))
	return nil
}
