package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
	"tidemark/internal/telemetry"
)

// RunStore keeps the runs with their attempts and outcomes, and the schedules that make them due.
//
// It reads run_attempts, runs, schedule_changes, schedules, world. It writes run_attempts, runs, schedule_changes, schedules. It uses
// BackfillStore.
type RunStore struct{ *connections }

// Run is a row of the run log.
type Run struct {
	ID          int64
	Job         string
	Subject     string
	Slot        time.Time
	Trigger     string
	Queue       string
	Status      string
	Attempt     int
	Failures    int
	Losses      int
	Worker      *string
	CreatedAt   time.Time
	NextTryAt   *time.Time
	QueuedAt    *time.Time
	StartedAt   *time.Time
	HeartbeatAt *time.Time
	FinishedAt  *time.Time
	RowsAdded   *int64
	Error       *string
	Reason      *string
}

// maxLosses limits how often a run is retried after its worker was lost: a task that kills its worker must end.
const maxLosses = 25

// A locked row is being handed out by another scheduler or claimed by a worker, and is skipped. So two schedulers that run at the same time
// share the runs, and neither waits for the other. From here on the run's status is queued. If the queue does not receive it, because its
// scheduler died or lost its connection, UnstartedRuns finds it and it becomes due again.
const handOutSQL = `
	with mine as (
		select id from runs
		where status = 'due' and (next_try_at is null or next_try_at <= clock_timestamp())
		order by trigger = 'backfill', queue <> 'timely', slot, id
		limit @limit
		for no key update skip locked
	), handed as (
		update runs r set status = 'queued', queued_at = clock_timestamp()
		from mine
		where r.id = mine.id
		returning r.*
	)
	select id as run_id, attempt, failures, job, subject, slot, queue, params, trace
	from handed
	order by trigger = 'backfill', queue <> 'timely', slot, id` // index runs_open

// HandOut marks due runs as queued and returns them. Runs of the timely queue come first, runs of backfills last, and otherwise the oldest
// slot comes first. The caller sends them to the queue, and calls PutBack for runs that the queue did not accept. No other caller receives
// them in the meantime. HandOut also turns pending slots of backfills into runs, as many at a time as each backfill allows.
func (db RunStore) HandOut(ctx context.Context, limit int) ([]task.Task, error) {
	fault := BackfillStore(db).FeedBackfills(ctx)
	due, err := db.tasks(ctx, "hand out runs", handOutSQL, pgx.NamedArgs{"limit": limit})
	if err == nil && len(due) == 0 {
		err = fault // an error of a backfill does not block other work
	}
	return due, err
}

// The runs are listed before they are sorted, because few of all runs are queued: in the order of the primary key, the database might read
// all of them.
const unstartedSQL = `
	with unstarted as materialized (
		select id as run_id, attempt, failures, job, subject, slot, queue, params, trace
		from runs
		where status = 'queued' and queued_at < clock_timestamp() - @age::interval and (queue = 'timely') = @timely::boolean
			and (@before::bigint = 0 or id < @before)
	)
	select * from unstarted order by run_id desc limit @limit` // index runs_open

// UnstartedRuns lists the runs that were handed to the queue longer than age ago and that no worker has claimed: the runs of the timely
// queue, or all others. The highest id comes first. If before is not zero, only lower ids are listed.
func (db RunStore) UnstartedRuns(ctx context.Context, age time.Duration, timely bool, before int64, limit int) ([]task.Task, error) {
	return db.tasks(ctx, "list unstarted runs", unstartedSQL, pgx.NamedArgs{"age": age, "timely": timely, "before": before, "limit": limit})
}

func (db RunStore) tasks(ctx context.Context, what, sql string, args pgx.NamedArgs) ([]task.Task, error) {
	rows, err := db.pool.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	list, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (t task.Task, err error) {
		var params *task.Params
		var trace *string
		err = r.Scan(&t.RunID, &t.Attempt, &t.Failures, &t.Job, &t.Subject, &t.Slot, &t.Queue, &params, &trace)
		if params != nil {
			t.Params = *params
		}
		if trace != nil {
			t.Trace = *trace
		}
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return list, nil
}

// PutBack makes runs due again that were handed out but not accepted by the queue. A run that a worker has claimed in the meantime stays.
// So does a run that another session has locked; UnstartedRuns finds it later.
func (db RunStore) PutBack(ctx context.Context, tasks []task.Task) error {
	ids, attempts := split(tasks)
	_, err := db.pool.Exec(ctx, `
		with mine as (
			select r.id
			from runs r join unnest(@ids::bigint[], @attempts::int[]) as t (id, attempt) on r.id = t.id and r.attempt = t.attempt
			where r.status = 'queued'
			for no key update of r skip locked
		)
		update runs r set status = 'due', queued_at = null
		from mine
		where r.id = mine.id`,
		pgx.NamedArgs{"ids": ids, "attempts": attempts})
	if err != nil {
		return fmt.Errorf("put runs back: %w", err)
	}
	return nil
}

func split(tasks []task.Task) (ids []int64, attempts []int) {
	for _, t := range tasks {
		ids = append(ids, t.RunID)
		attempts = append(attempts, t.Attempt)
	}
	return ids, attempts
}

// Requeue makes runs due again that the queue lost. If fresh is set, they get a new attempt, because a dead entry in the queue still uses
// the id of the old one. A run that a worker has claimed in the meantime stays, and so does a run that another session has locked.
func (db RunStore) Requeue(ctx context.Context, tasks []task.Task, fresh bool) error {
	ids, attempts := split(tasks)
	_, err := db.pool.Exec(ctx, `
		with mine as (
			select r.id
			from runs r join unnest(@ids::bigint[], @attempts::int[]) as t (id, attempt) on r.id = t.id and r.attempt = t.attempt
			where r.status = 'queued'
			for no key update of r skip locked
		)
		update runs r set status = 'due', next_try_at = null, queued_at = null, attempt = attempt + @bump::int
		from mine
		where r.id = mine.id`,
		pgx.NamedArgs{"ids": ids, "attempts": attempts, "bump": b2i(fresh)})
	if err != nil {
		return fmt.Errorf("requeue runs: %w", err)
	}
	return nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A locked row belongs to an attempt that is committing, so its worker is alive.
const reclaimSQL = `
	with lost as (
		select id from runs
		where status = 'running' and heartbeat_at < clock_timestamp() - @silence::interval
		for no key update skip locked
	)
	update runs r
	set status = case when r.losses + 1 >= @max_losses then 'failed' else 'due' end,
		finished_at = case when r.losses + 1 >= @max_losses then clock_timestamp() end,
		error = format('attempt %s was lost with its worker %s, which gave no sign since %s; a scheduler took it back', r.attempt, r.worker,
			to_char(r.heartbeat_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
		attempt = case when r.losses + 1 >= @max_losses then r.attempt else r.attempt + 1 end, losses = r.losses + 1, worker = null, queued_at = null, next_try_at = null
	from lost
	where r.id = lost.id
	returning r.id as run_id, r.attempt, r.failures, r.job, r.subject, r.slot, r.queue, r.params, r.trace` // index runs_open

// Reclaim takes over running runs whose worker sent no heartbeat for the time silence, and makes them due under the next attempt. It
// returns these runs.
func (db RunStore) Reclaim(ctx context.Context, silence time.Duration) ([]task.Task, error) {
	return db.tasks(ctx, "reclaim lost runs", reclaimSQL, pgx.NamedArgs{"silence": silence, "max_losses": maxLosses})
}

// Claim assigns an attempt to a worker. It returns false if the attempt must not run, because it is already running, over or superseded.
func (db RunStore) Claim(ctx context.Context, f task.Fence, worker string) (bool, error) {
	tag, err := db.pool.Exec(ctx, `
		update runs
		set status = 'running', worker = @worker, started_at = clock_timestamp(), heartbeat_at = clock_timestamp(), finished_at = null
		where id = @id and attempt = @attempt and status in ('due', 'queued')`,
		pgx.NamedArgs{"id": f.RunID, "attempt": f.Attempt, "worker": worker})
	if err != nil {
		return false, fmt.Errorf("claim run %d: %w", f.RunID, err)
	}
	return tag.RowsAffected() == 1, nil
}

const beatSQL = `
	update runs r set heartbeat_at = clock_timestamp()
	from (
		select r.id
		from runs r join unnest(@ids::bigint[], @attempts::int[]) as t (id, attempt) on r.id = t.id and r.attempt = t.attempt
		where r.status = 'running'
		for no key update of r skip locked
	) alive
	where r.id = alive.id`

const supersededSQL = `
	select t.id, t.attempt
	from unnest(@ids::bigint[], @attempts::int[]) as t (id, attempt)
	left join runs r on r.id = t.id and r.attempt = t.attempt and r.status = 'running'
	where r.id is null`

// Heartbeat records that a worker still runs these attempts, and returns the attempts that were superseded or are over. It does not retry:
// the next heartbeat follows soon.
func (db RunStore) Heartbeat(ctx context.Context, running []task.Fence) ([]task.Fence, error) {
	ids, attempts := make([]int64, len(running)), make([]int, len(running))
	for i, f := range running {
		ids[i], attempts[i] = f.RunID, f.Attempt
	}
	args := pgx.NamedArgs{"ids": ids, "attempts": attempts}
	if _, err := db.beats.Exec(ctx, beatSQL, args); err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	rows, err := db.beats.Query(ctx, supersededSQL, args)
	if err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	gone, err := pgx.CollectRows(rows, pgx.RowToStructByPos[task.Fence])
	if err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	return gone, nil
}

// Succeed ends a run. It returns ErrFenced if the attempt was superseded.
func (db RunStore) Succeed(ctx context.Context, f task.Fence) error {
	return db.finish(ctx, f, `
		update runs set status = 'succeeded', finished_at = clock_timestamp(), error = null, rows_added = coalesce(rows_added, 0)
		where id = @id and attempt = @attempt and status = 'running'`, pgx.NamedArgs{})
}

// Skip ends a run that has nothing to do, with the reason. It returns ErrFenced if the attempt was superseded.
func (db RunStore) Skip(ctx context.Context, f task.Fence, reason string) error {
	return db.finish(ctx, f, `
		update runs set status = 'skipped', finished_at = clock_timestamp(), error = null, reason = @reason
		where id = @id and attempt = @attempt and status = 'running'`, pgx.NamedArgs{"reason": reason})
}

// EnsureDue makes runs of a job due for a slot because other work requires them. Runs that exist for the slot stay as they are. Nothing is
// recorded unless the attempt in f is current.
func (db RunStore) EnsureDue(ctx context.Context, f task.Fence, job string, subjects []string, slot time.Time) error {
	if _, ok := task.Policies[job]; !ok {
		return fmt.Errorf("unknown job %q", job)
	}
	err := db.tx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			insert into runs (job, subject, slot, trigger, queue, status, max_attempts, trace)
			select @job, t.subject, @slot, 'data', @queue, 'due', @max_attempts, nullif(@trace, '')
			from unnest(@subjects::text[]) as t (subject)
			order by t.subject
			on conflict (job, subject, slot) do nothing`,
			dueArgs(ctx, job, pgx.NamedArgs{"subjects": subjects, "slot": slot}))
		if err != nil {
			return err
		}
		return checkFence(ctx, tx, f, 0)
	})
	if err != nil {
		return fmt.Errorf("make %s due: %w", job, err)
	}
	return nil
}

// dueArgs adds the properties of a job's runs to the arguments of a statement that makes runs due.
func dueArgs(ctx context.Context, job string, args pgx.NamedArgs) pgx.NamedArgs {
	p := task.Policies[job]
	args["job"], args["queue"], args["max_attempts"], args["trace"] = job, p.Queue, p.MaxAttempts, telemetry.TraceParent(ctx)
	return args
}

// Fail records an error of an attempt. If final is set, or the run has used up its attempts, the run has failed. Otherwise it is due again
// after retryIn, under the next attempt. lasting means that the error is not expected to be transient. Fail reports whether the run is
// over.
func (db RunStore) Fail(ctx context.Context, f task.Fence, message string, retryIn time.Duration, final, lasting bool) (over bool, err error) {
	const sql = `
		update runs
		set failures = failures + 1, lasting = @lasting, error = @error, worker = null, queued_at = null,
			attempt = case when @final or failures + 1 >= max_attempts then attempt else attempt + 1 end,
			status = case when @final or failures + 1 >= max_attempts then 'failed' else 'due' end,
			finished_at = case when @final or failures + 1 >= max_attempts then clock_timestamp() end,
			next_try_at = clock_timestamp() + @retry_in::interval
		where id = @id and attempt = @attempt and status = 'running'
		returning status = 'failed'`
	args := pgx.NamedArgs{"id": f.RunID, "attempt": f.Attempt, "error": message, "retry_in": retryIn, "final": final, "lasting": lasting}
	// It may run twice: after the first time the attempt is over, and the second finds no row.
	err = db.pool.again(ctx, always, func() error { return db.pool.Pool.QueryRow(ctx, sql, args).Scan(&over) })
	if errors.Is(err, pgx.ErrNoRows) {
		return false, ErrFenced
	}
	if err != nil {
		return false, fmt.Errorf("record the failure of run %d: %w", f.RunID, err)
	}
	return over, nil
}

// Release returns an attempt that a stopping worker could not finish. The run is due at once, under the next attempt. This counts neither
// as a failure nor as a loss.
func (db RunStore) Release(ctx context.Context, f task.Fence) error {
	return db.finish(ctx, f, `
		update runs set status = 'due', attempt = attempt + 1, worker = null, queued_at = null, next_try_at = null
		where id = @id and attempt = @attempt and status = 'running'`, pgx.NamedArgs{})
}

// Snooze ends an attempt that has done everything possible for now. The run is due again after in, under the next attempt, and its counts
// of failures and losses are reset. If an open run of the job and subject has a later slot, that run continues the work, and this run has
// succeeded.
func (db RunStore) Snooze(ctx context.Context, f task.Fence, in time.Duration) error {
	return db.finish(ctx, f, `
		update runs r
		set (status, attempt, finished_at) = (
				select case when later then 'succeeded' else 'due' end, case when later then r.attempt else r.attempt + 1 end,
					case when later then clock_timestamp() end
				from (select exists (
					select from runs l where l.job = r.job and l.subject = r.subject and l.slot > r.slot
						and l.status in ('due', 'queued', 'running')) as later) s),
			failures = 0, losses = 0, error = null, worker = null, queued_at = null, next_try_at = clock_timestamp() + @in::interval
		where id = @id and attempt = @attempt and status = 'running'`, pgx.NamedArgs{"in": in})
}

// Postpone ends an attempt that must wait, and records the reason. The run is due again after a pause, under the next attempt. This counts
// neither as a failure nor as a loss.
func (db RunStore) Postpone(ctx context.Context, f task.Fence, why string, pause time.Duration) error {
	return db.finish(ctx, f, `
		update runs
		set status = 'due', attempt = attempt + 1, worker = null, queued_at = null, error = @why,
			next_try_at = clock_timestamp() + @pause::interval
		where id = @id and attempt = @attempt and status = 'running'`, pgx.NamedArgs{"why": why, "pause": pause})
}

// finish ends an attempt. It may run twice: the second time the attempt does not run any more, and nothing changes. So if an earlier try
// may have taken effect, an ended attempt does not cause ErrFenced.
func (db RunStore) finish(ctx context.Context, f task.Fence, sql string, args pgx.NamedArgs) error {
	args["id"], args["attempt"] = f.RunID, f.Attempt
	open := false
	err := db.pool.again(ctx, always, func() error {
		tag, err := db.pool.Pool.Exec(ctx, sql, args)
		if err == nil && tag.RowsAffected() == 0 && !open {
			return ErrFenced
		}
		open = open || err != nil && !undone(err)
		return err
	})
	if err != nil && !errors.Is(err, ErrFenced) {
		return fmt.Errorf("end run %d: %w", f.RunID, err)
	}
	return err
}

// checkFence makes tx conditional on an attempt: it locks the run's row until the commit, adds to its count of rows, and returns ErrFenced
// if another attempt has taken over. A zero fence means that no run does the work.
func checkFence(ctx context.Context, tx pgx.Tx, f task.Fence, rows int64) error {
	if f == (task.Fence{}) {
		return nil
	}
	tag, err := tx.Exec(ctx, `
		update runs set rows_added = coalesce(rows_added, 0) + @rows, heartbeat_at = clock_timestamp()
		where id = @id and attempt = @attempt and status = 'running'`,
		pgx.NamedArgs{"id": f.RunID, "attempt": f.Attempt, "rows": rows})
	if err != nil {
		return fmt.Errorf("hold run %d: %w", f.RunID, err)
	}
	if tag.RowsAffected() == 0 {
		return ErrFenced
	}
	return nil
}

// Unfinished reports whether a run for a slot up to at has not ended. Runs of backfills do not count. Neither does a payment's run that waits
// for a later instant: payments are checked by the wall clock, the terms of the token once an hour.
func (db RunStore) Unfinished(ctx context.Context, at time.Time) (bool, error) {
	var open bool
	err := db.reads.QueryRow(ctx, `
		select exists (
			select from runs where status in ('due', 'queued', 'running') and slot <= @at and trigger <> 'backfill'
				and not (queue = 'payments' and status = 'due' and coalesce(next_try_at > clock_timestamp(), false)))`,
		pgx.NamedArgs{"at": at}).Scan(&open)
	if err != nil {
		return false, fmt.Errorf("look for unfinished runs: %w", err)
	}
	return open, nil
}

// Working reports whether a worker that was alive a moment ago works on a run that Unfinished counts.
func (db RunStore) Working(ctx context.Context, at time.Time) (bool, error) {
	var some bool
	err := db.reads.QueryRow(ctx, `
		select exists (
			select from runs where status = 'running' and slot <= @at and trigger <> 'backfill' and heartbeat_at > clock_timestamp() - interval '10 seconds')`,
		pgx.NamedArgs{"at": at}).Scan(&some) // index runs_open
	if err != nil {
		return false, fmt.Errorf("look for runs at work: %w", err)
	}
	return some, nil
}

const ingestingSQL = `
	select r.subject, clock_timestamp() - r.started_at
	from runs r
	where r.job = @ingest and r.subject = any(@sources) and r.status = 'running' and r.slot <= @at
		and r.started_at < coalesce((select created_at from runs where id = @id), clock_timestamp())
	order by r.started_at
	limit 1` // index runs_open

// Ingesting returns the source that has been fetching for the longest time, out of several that may still store data stamped at or before
// at. It also returns for how long. If no source is fetching, the result is empty. The caller is the run in f, whose instant has come.
// Attempts that started after this run was recorded are ignored, because they stamp their responses later. So do attempts that have not
// started or were reclaimed.
func (db RunStore) Ingesting(ctx context.Context, f task.Fence, sources []string, at time.Time) (source string, since time.Duration, err error) {
	err = db.reads.QueryRow(ctx, ingestingSQL, pgx.NamedArgs{"ingest": task.Ingest, "sources": sources, "at": at, "id": f.RunID}).Scan(&source, &since)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", 0, fmt.Errorf("look for sources that are being asked: %w", err)
	}
	return source, since, nil
}

// OfSchedule reports whether a schedule alone made a run due, and not an operator, new data or a backfill. It is false for an unknown run.
func (db RunStore) OfSchedule(ctx context.Context, f task.Fence) (bool, error) {
	var scheduled bool
	err := db.reads.QueryRow(ctx, `select exists (select from runs where id = @id and trigger in (@cron, @catchup) and reason is null)`,
		pgx.NamedArgs{"id": f.RunID, "cron": task.TriggerCron, "catchup": task.TriggerCatchUp}).Scan(&scheduled) // primary key
	if err != nil {
		return false, fmt.Errorf("look up why a run is due: %w", err)
	}
	return scheduled, nil
}

// AddRun records a run that an operator requests, with the reason, and returns its id. If the run of that job, subject and slot is over, it
// starts again. If it is not over, AddRun returns ErrUnderWay.
func (db RunStore) AddRun(ctx context.Context, job, subject string, slot time.Time, reason string) (int64, error) {
	p, ok := task.Policies[job]
	if !ok {
		return 0, fmt.Errorf("unknown job %q", job)
	}
	var id int64
	err := db.pool.QueryRow(ctx, `
		insert into runs as r (job, subject, slot, trigger, queue, status, max_attempts, reason)
		values (@job, @subject, @slot, 'manual', @queue, 'due', @max_attempts, @reason)
		on conflict (job, subject, slot) do update
		set status = 'due', attempt = r.attempt + 1, failures = 0, losses = 0, next_try_at = null, error = null, reason = @reason,
			params = null, trace = null
		where r.status in ('succeeded', 'failed', 'skipped')
		returning id`,
		pgx.NamedArgs{
			"job": job, "subject": subject, "slot": slot, "queue": p.Queue, "max_attempts": p.MaxAttempts, "reason": reason,
		}).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("run %s of %s for %s: %w", job, subject, slot.Format(time.RFC3339), ErrUnderWay)
	}
	if err != nil {
		return 0, fmt.Errorf("add a run of %s %s: %w", job, subject, err)
	}
	return id, nil
}

// RunFilter selects rows of the run log. Empty fields select all.
type RunFilter struct {
	Job, Subject, Status string
	ID                   int64
	// Since selects slots from this time on.
	Since time.Time
	Limit int
}

// RunStatuses are the states of a run, in their usual order.
var RunStatuses = []string{"due", "queued", "running", "succeeded", "failed", "skipped"}

// Runs returns the run log, newest slot first.
func (db RunStore) Runs(ctx context.Context, f RunFilter) ([]Run, error) {
	rows, err := db.reads.Query(ctx, `
		select id, job, subject, slot, trigger, queue, status, attempt, failures, losses, worker, created_at, next_try_at,
			queued_at, started_at, heartbeat_at, finished_at, rows_added, error, reason
		from runs
		where (@job = '' or job = @job) and (@subject = '' or subject = @subject) and (@status = '' or status = @status)
			and (@id = 0 or id = @id) and slot >= @since
		order by slot desc, id desc
		limit @limit`,
		pgx.NamedArgs{"job": f.Job, "subject": f.Subject, "status": f.Status, "id": f.ID, "since": f.Since, "limit": f.Limit})
	list, err := collect[Run](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the run log: %w", err)
	}
	return list, nil
}
