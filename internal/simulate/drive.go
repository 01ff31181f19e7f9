package simulate

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/robfig/cron/v3"

	"tidemark/ingest/world/synth"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/scheduler"
	"tidemark/workers"
)

// The wait timeout of the schedulers, the same as the default.
const waitTimeout = 10 * time.Second

// run is one simulated world. Everything in it runs in the goroutine of live, or in the goroutine of a piece of work that live waits for.
type run struct {
	Options
	dir    string
	clock  *clock
	trace  *trace
	result Result

	// own is the simulation's own session, which has no faults. db and api belong to the program.
	own     *pgx.Conn
	db, api *postgres.DB
	program Program

	upstreams  *upstreams
	queue      *queue
	schedulers []*scheduler.Scheduler
	workers    []*workers.Server
	crons      map[string]cron.Schedule
	customers  *clients
	checks     *checks

	order, faults random
	spent         spent
	rates         rates
	// statements estimates how many statements a piece of work of a kind has, from earlier work.
	statements map[string]int
	frozen     []freeze
	agenda     []scheduledEvent
	// nextSlot is the next slot of any schedule. nextRun is the next time when a run of the log needs a scheduler. lastTick is the last
	// tick of a scheduler.
	nextSlot, nextRun, lastTick time.Time
}

// rates are the probabilities of faults per attempt, tick or delivery.
type rates struct {
	killed, cut, frozen, tick, lost, repeated float64
}

// freeze is an attempt of a frozen worker, and the time when it resumes.
type freeze struct {
	work *work
	task task.Task
	wake time.Time
}

func newRun(ctx context.Context, o Options, url, dir string) (r *run, err error) {
	r = &run{
		Options: o, dir: dir, clock: newClock(o.From), trace: newTrace(o.Trace), queue: newQueue(),
		order: newDice(o.Seed, "order"), faults: newDice(o.Seed, "faults"), statements: map[string]int{},
	}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if r.own, err = pgx.Connect(ctx, url); err != nil {
		return r, fmt.Errorf("connect to the simulation's server: %w", err)
	}
	r.clock.set = func(ctx context.Context, at time.Time) error {
		_, err := r.own.Exec(context.WithoutCancel(ctx), `select setval('simulation.clock', $1)`, at.UnixMicro())
		return err //nolint:wrapcheck // the clock does
	}
	if err := r.clock.advance(ctx, 0); err != nil {
		return r, err
	}
	if r.db, err = postgres.Open(ctx, url+"&pool_max_conns=10", postgres.RoleWorker, postgres.WithTracer(tracer{&r.spent})); err != nil {
		return r, err
	}
	if r.api, err = postgres.Open(ctx, url+"&pool_max_conns=4", postgres.RoleAPI, postgres.WithTracer(tracer{&r.spent})); err != nil {
		return r, err
	}
	if _, err := r.db.EnsureWorld(ctx, "sandbox", nil); err != nil {
		return r, err
	}
	if err := r.makeRemote(ctx); err != nil {
		return r, err
	}
	r.upstreams = newUpstreams(synth.World{Seed: o.Seed, Companies: o.Companies}, r.clock, r.trace, 0)
	r.program, err = o.Build(ctx, Parts{
		DatabaseURL: url, DB: r.db, Transport: r.upstreams, Now: r.clock.of("worker"), Wait: r.upstreams.wait, Dir: dir, Archive: r.archiveDir(),
		Remote: r.remote(), Seed: o.Seed,
	})
	if err != nil {
		return r, err
	}
	if err := r.wire(); err != nil {
		return r, err
	}
	r.customers = newCustomers(r)
	r.checks = newChecks(r)
	return r, r.db.SaveSchedules(ctx, r.program.Schedules)
}

// parse reads the cron expressions of the schedules.
func (r *run) parse() error {
	r.crons = map[string]cron.Schedule{}
	for _, s := range r.program.Schedules {
		c, err := scheduler.Parse(s)
		if err != nil {
			return err
		}
		r.crons[s.Job+" "+s.Subject] = c
	}
	return nil
}

// wire makes two schedulers and three workers of the program.
func (r *run) wire() error {
	if err := r.parse(); err != nil {
		return err
	}
	for i := range 2 {
		name := fmt.Sprintf("scheduler-%d", i+1)
		r.schedulers = append(r.schedulers, &scheduler.Scheduler{
			Store: r.db, Queue: r.queue, Schedules: r.program.Schedules, Now: r.clock.of(name), Log: r.Log.With("role", name),
			LostAfter: waitTimeout, Unstarted: waitTimeout,
		})
	}
	for i := range 3 {
		name := fmt.Sprintf("worker-%d", i+1)
		w, err := workers.New(workers.Options{
			DB: r.db, RedisURL: "redis://127.0.0.1:1", Handlers: r.program.Handlers, Name: name, Log: r.Log.With("role", name),
		})
		if err != nil {
			return err
		}
		r.workers = append(r.workers, w)
	}
	return nil
}

func (r *run) close() {
	for _, f := range r.frozen {
		f.work.cancel(errKilled)
		_ = f.work.wake()
	}
	if r.program.Close != nil {
		_ = r.program.Close()
	}
	for _, db := range []*postgres.DB{r.db, r.api} {
		if db != nil {
			db.Close()
		}
	}
	if r.own != nil {
		_ = r.own.Close(context.Background())
	}
}

// live runs the days. The first day has no faults: every source is read for the first time.
func (r *run) live(ctx context.Context) error {
	for day := r.From; day.Before(r.To); day = day.AddDate(0, 0, 1) {
		if err := r.startOfDay(ctx, day); err != nil {
			return err
		}
		next := day.AddDate(0, 0, 1)
		for r.clock.now().Before(next) {
			if ctx.Err() != nil {
				return ctx.Err() //nolint:wrapcheck // it is the caller's own
			}
			if err := r.step(ctx, next); err != nil {
				return fmt.Errorf("seed %d, %s: %w", r.Seed, r.clock.now().Format(time.RFC3339), err)
			}
		}
		if err := r.endOfDay(ctx, day, !next.Before(r.To)); err != nil {
			return err
		}
	}
	return nil
}

// startOfDay draws the faults of a day.
func (r *run) startOfDay(ctx context.Context, day time.Time) error {
	r.queue.forget()
	if day.Equal(r.From) {
		return nil
	}
	if r.Record > 0 && day.Equal(r.From.AddDate(0, 0, 1)) {
		if err := MakeUpRecord(ctx, r.own, r.Record, day); err != nil {
			return err
		}
	}
	if r.FaultFree {
		return r.tidy(ctx, day)
	}
	r.rates = rates{killed: .03, cut: .01, frozen: .01, tick: .01, lost: .02, repeated: .05}
	r.upstreams.rate = .01
	r.plan(day)
	return r.tidy(ctx, day)
}

// tidy does the work of autovacuum at fixed times. It removes dead rows each week. Analyzing every table takes ten times as long, so it
// runs after the histories were loaded and then each month.
func (r *run) tidy(ctx context.Context, day time.Time) error {
	var todo []string
	if day.Weekday() == time.Sunday {
		todo = append(todo, "vacuum")
	}
	if day.Equal(r.From.AddDate(0, 0, 1)) || r.Record > 0 && day.Equal(r.From.AddDate(0, 0, 3)) || day.Day() == 1 {
		todo = append(todo, "analyze")
	}
	for _, sql := range todo {
		if _, err := r.own.Exec(ctx, sql); err != nil {
			return fmt.Errorf("tidy the simulation's database: %w", err)
		}
	}
	return nil
}

// endOfDay checks the invariants of the day.
func (r *run) endOfDay(ctx context.Context, day time.Time, last bool) error {
	r.result.Days++
	if r.Costs != nil {
		c, err := r.cost(ctx)
		if err != nil {
			return err
		}
		r.Costs(day, c)
	}
	if r.FaultFree && !last {
		if r.Day != nil {
			r.Day(day)
		}
		return nil
	}
	broken, err := r.checks.all(ctx, day, last)
	if err != nil {
		return fmt.Errorf("check the invariants of %s: %w", day.Format(time.DateOnly), err)
	}
	if broken != nil {
		return &Failure{
			Seed: r.Seed, Day: day, Invariant: broken.name, Observed: broken.seen, Faults: r.trace.faults, Command: r.Command,
		}
	}
	if r.Day != nil {
		r.Day(day)
	}
	return nil
}

// step does the next due thing, or lets time pass until something is due, until end at most.
func (r *run) step(ctx context.Context, end time.Time) error {
	now := r.clock.now()
	for i, f := range r.frozen {
		if !f.wake.After(now) {
			r.frozen = append(r.frozen[:i:i], r.frozen[i+1:]...)
			return r.resume(ctx, f)
		}
	}
	if len(r.agenda) > 0 && !r.agenda[0].at.After(now) {
		a := r.agenda[0]
		r.agenda = r.agenda[1:]
		return a.do(ctx)
	}
	if !r.tickAt().After(now) {
		return r.tick(ctx)
	}
	if len(r.queue.waiting) > 0 {
		return r.deliver(ctx)
	}
	next := end
	for _, at := range []time.Time{r.tickAt(), r.firstAppointment(), r.firstResume()} {
		if !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return r.clock.advanceTo(ctx, next)
}

func (r *run) firstAppointment() (at time.Time) {
	if len(r.agenda) > 0 {
		at = r.agenda[0].at
	}
	return at
}

func (r *run) firstResume() (at time.Time) {
	for _, f := range r.frozen {
		if at.IsZero() || f.wake.Before(at) {
			at = f.wake
		}
	}
	return at
}

// tickAt returns when a scheduler has work: a slot has come, or a run of the log is due, unstarted or silent. A scheduler whose clock is
// behind does not see a new slot yet, and checks again a second later.
func (r *run) tickAt() time.Time {
	slot := later(r.nextSlot, r.lastTick.Add(time.Second))
	if r.nextRun.IsZero() || slot.Before(r.nextRun) {
		return slot
	}
	return r.nextRun
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// tick lets one of the schedulers do a round. Sometimes it is killed in the middle.
func (r *run) tick(ctx context.Context) error {
	if err := r.clock.advance(ctx, r.order.between(time.Millisecond, 20*time.Millisecond)); err != nil {
		return err
	}
	i := r.order.IntN(len(r.schedulers))
	m, at := none, 0
	if r.faults.chance(r.rates.tick) {
		m, at = one(r.faults, []workFault{killedBefore, killedAfter, cut}), 1+r.faults.IntN(8)
	}
	w := start(ctx, m, at, r, func(ctx context.Context) error { return r.schedulers[i].Tick(ctx) })
	_, err := w.wait()
	if w.hit != "" {
		r.result.Faults++
		r.trace.fault(r.clock.now(), "scheduler-%d %s statement %d %s", i+1, m, at, w.hit)
		r.terminate()
		err = nil
	}
	if err != nil {
		return fmt.Errorf("scheduler-%d: %w", i+1, err)
	}
	r.lastTick = r.clock.now()
	return r.look(ctx)
}

// look reads when the schedulers will have work.
func (r *run) look(ctx context.Context) error {
	list, err := r.db.Schedules(ctx)
	if err != nil {
		return err
	}
	r.nextSlot = r.clock.now().AddDate(1, 0, 0)
	for _, s := range list {
		next := r.From
		if s.LastSlot != nil {
			next = r.crons[s.Job+" "+s.Subject].Next(*s.LastSlot)
		}
		if !next.IsZero() && next.Before(r.nextSlot) {
			r.nextSlot = next
		}
	}
	return r.lookAtRuns(ctx)
}

const openRunsSQL = `
	select min(case status
		when 'due' then coalesce(next_try_at, '-infinity')
		when 'queued' then queued_at + @patience::interval
		else heartbeat_at + @patience::interval
	end)
	from runs where status in ('due', 'queued', 'running')`

// lookAtRuns reads when a run will be due or given up. The time is by the database's clock and is converted to the true time. If that
// moment has passed, a scheduler checks again in a second.
func (r *run) lookAtRuns(ctx context.Context) error {
	var at *string
	err := r.own.QueryRow(ctx, `select extract(epoch from t)::text from (`+openRunsSQL+`) as o (t)`, pgx.NamedArgs{"patience": waitTimeout}).Scan(&at)
	if err != nil {
		return fmt.Errorf("look at the run log: %w", err)
	}
	r.nextRun = time.Time{}
	if at == nil {
		return nil
	}
	now := r.clock.now()
	r.nextRun = now
	var seconds float64
	if _, err := fmt.Sscanf(*at, "%g", &seconds); err == nil && seconds > 0 {
		r.nextRun = time.UnixMilli(int64(seconds*1000) + 2).UTC().Add(now.Sub(r.clock.of(database)()))
	}
	if r.nextRun.Before(r.lastTick.Add(time.Millisecond)) {
		r.nextRun = r.lastTick.Add(time.Millisecond)
	}
	return nil
}
