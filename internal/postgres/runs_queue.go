package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
)

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

// stillQueuedSQL selects, as mine, the runs of @ids that are still queued under @attempts and that no other session has locked.
const stillQueuedSQL = `
	with mine as (
		select r.id
		from runs r join unnest(@ids::bigint[], @attempts::int[]) as t (id, attempt) on r.id = t.id and r.attempt = t.attempt
		where r.status = 'queued'
		for no key update of r skip locked
	)`

// PutBack makes runs due again that were handed out but not accepted by the queue. A run that a worker has claimed in the meantime stays.
// So does a run that another session has locked; UnstartedRuns finds it later.
func (db RunStore) PutBack(ctx context.Context, tasks []task.Task) error {
	ids, attempts := split(tasks)
	_, err := db.pool.Exec(ctx, stillQueuedSQL+`
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
	_, err := db.pool.Exec(ctx, stillQueuedSQL+`
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
