package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
)

// deliver delivers the next task to one of the workers. The queue may lose or repeat it.
func (r *run) deliver(ctx context.Context) error {
	d := r.queue.take(r.order)
	now := r.clock.now()
	if !d.again && r.faults.chance(r.rates.lost) {
		leftover := r.faults.chance(.3)
		r.queue.lose(d.id, leftover)
		r.trace.fault(now, "queue loses %s (its id is left: %t)", d.id, leftover)
		r.result.Faults++
		return r.lookAtRuns(ctx)
	}
	if r.faults.chance(r.rates.repeated) {
		r.trace.fault(now, "queue repeats %s", d.id)
		r.queue.repeat(d)
		r.result.Faults++
	}
	if err := r.clock.advance(ctx, r.order.between(2*time.Millisecond, 400*time.Millisecond)); err != nil {
		return err
	}
	var t task.Task
	if err := json.Unmarshal(d.payload, &t); err != nil {
		return fmt.Errorf("read a payload: %w", err)
	}
	r.result.Deliveries++
	i := r.order.IntN(len(r.workers))
	m, at := r.fault(t)
	w := start(ctx, m, at, r, func(ctx context.Context) error {
		_ = r.workers[i].Deliver(ctx, t) // the run log has the outcome
		return nil
	})
	over, _ := w.wait()
	if w.hit != "" {
		r.result.Faults++
		r.trace.fault(r.clock.now(), "worker-%d %s statement %d %s of %s", i+1, m, at, w.hit, d.id)
	}
	switch {
	case !over:
		r.frozen = append(r.frozen, freeze{work: w, task: t, wake: r.clock.now().Add(r.faults.between(time.Second, 5*time.Minute))})
		return r.lookAtRuns(ctx)
	case w.dead:
		r.terminate()
	default:
		r.queue.done(d.id)
		r.learn(t, w.statements)
	}
	return r.outcome(ctx, t)
}

// fault draws the fault of an attempt, and at which of its statements it occurs.
func (r *run) fault(t task.Task) (workFault, int) {
	m := none
	switch p := r.faults.Float64(); {
	case p < r.rates.killed:
		m = one(r.faults, []workFault{killedBefore, killedAfter})
	case p < r.rates.killed+r.rates.cut:
		m = cut
	case p < r.rates.killed+r.rates.cut+r.rates.frozen && len(r.frozen) < 2:
		m = frozen
	}
	if m == none {
		return none, 0
	}
	return m, 1 + r.faults.IntN(max(r.statements[kindOf(t)], 6))
}

func kindOf(t task.Task) string { return t.Job + " " + t.Subject }

func (r *run) learn(t task.Task, statements int) {
	if k := kindOf(t); r.statements[k] == 0 {
		r.statements[k] = statements
	} else {
		r.statements[k] = (3*r.statements[k] + statements + 3) / 4
	}
}

// resume lets a frozen worker continue. Another worker may have its run by now.
func (r *run) resume(ctx context.Context, f freeze) error {
	if err := r.clock.advance(ctx, time.Millisecond); err != nil {
		return err
	}
	r.trace.fault(r.clock.now(), "the worker of %s goes on", f.task.ID())
	_ = f.work.wake()
	return r.outcome(ctx, f.task)
}

// outcome adds the state of a task's run to the trace.
func (r *run) outcome(ctx context.Context, t task.Task) error {
	var status string
	var attempt, failures, losses int
	var rows int64
	err := r.own.QueryRow(ctx, `
		select status, attempt, failures, losses, coalesce(rows_added, 0) from runs where id = $1`, t.RunID).
		Scan(&status, &attempt, &failures, &losses, &rows)
	if errors.Is(err, pgx.ErrNoRows) {
		status, err = "forgotten", nil
	}
	if err != nil {
		return fmt.Errorf("look at the run log: %w", err)
	}
	r.trace.say(r.clock.now(), "%s is %s: attempt %d, failures %d, losses %d, rows %d", t.ID(), status, attempt, failures, losses, rows)
	return r.lookAtRuns(ctx)
}

// end implements sessions. If the server is unavailable, the simulation's own next statement fails.
func (r *run) end(pid uint32) {
	_, _ = r.own.Exec(context.Background(), `select simulation.end_sessions(array[$1::int])`, int64(pid))
}

// terminate implements sessions. No other work runs at this time, so sessions in the middle of a transaction belong to a dead or frozen
// process.
func (r *run) terminate() {
	_, _ = r.own.Exec(context.Background(), `
		select simulation.end_sessions(array(
			select pid from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null and backend_type = 'client backend'))`)
}
