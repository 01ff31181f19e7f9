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
