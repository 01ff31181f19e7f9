package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
)

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
