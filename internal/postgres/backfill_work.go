package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
)

// chunk is the number of slots that a run of a backfill receives.
const chunk = 64

const openBackfillsSQL = `
	select id, parallelism from backfills where status = 'running' and finished_at is null order by id` // index backfills_open

// FeedBackfills turns pending slots of running backfills into runs, as many at a time as each backfill allows. It waits until the runs of a
// backfill's sources have ended. Slots of a run that ended before it computed them become pending again. If that run failed permanently,
// they are marked as failed. Backfills without pending slots are marked as finished. Several schedulers can call FeedBackfills at the same
// time.
//
// All state is in the rows. If a process is killed, the next call continues its work.
func (db BackfillStore) FeedBackfills(ctx context.Context) error {
	var some bool
	if err := db.pool.QueryRow(ctx, `select exists (`+openBackfillsSQL+`)`).Scan(&some); err != nil {
		return fmt.Errorf("look for backfills: %w", err)
	}
	if !some {
		return nil
	}
	err := db.tx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, openBackfillsSQL+` for no key update skip locked`)
		if err != nil {
			return err
		}
		open, err := pgx.CollectRows(rows, pgx.RowToStructByPos[backlog])
		if err != nil {
			return err
		}
		for _, h := range open {
			if err := h.feed(ctx, tx); err != nil {
				return fmt.Errorf("backfill %d: %w", h.ID, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("hand out the slots of backfills: %w", err)
	}
	return nil
}

// backlog is a running backfill that may have pending slots. The caller holds a lock on its row.
type backlog struct {
	ID          int64
	Parallelism int
}

const sourcesSQL = `
	select count(*) filter (where r.status in ('due', 'queued', 'running')),
		string_agg(format('%s: %s', f.source, coalesce(r.error, r.reason, r.status)), '; ')
			filter (where r.status in ('failed', 'skipped') and not f.waived)
	from backfill_fetches f left join runs r on r.id = f.run_id
	where f.backfill_id = @id`

// lockEndedSQL locks the ended runs that takeBackSQL reads and giveSlotsSQL may make due again, before a slot is locked.
const lockEndedSQL = `
	select r.id
	from runs r
	where r.job = @job and r.subject = @subject and r.status in ('succeeded', 'failed', 'skipped') and exists (
		select from backfill_slots s where s.backfill_id = @id and s.status = 'pending' and (s.slot = r.slot or s.run_id = r.id))
	order by r.slot
	for no key update` // index of runs' key

const takeBackSQL = `
	with left_over as (
		select s.slot
		from backfill_slots s join runs r on r.id = s.run_id
		where s.backfill_id = @id and s.status = 'pending' and r.status in ('succeeded', 'failed', 'skipped')
		order by s.slot
		for no key update of s
	)
	update backfill_slots s
	set status = case when r.status = 'failed' then 'failed' else 'pending' end,
		reason = case when r.status = 'failed' then coalesce(r.error, 'its run has failed') end,
		finished_at = case when r.status = 'failed' then clock_timestamp() end,
		run_id = case when r.status = 'failed' then s.run_id end
	from left_over l, runs r
	where s.backfill_id = @id and s.slot = l.slot and s.status = 'pending' and r.id = s.run_id
		and r.status in ('succeeded', 'failed', 'skipped')`

const leftSQL = `
	select count(*), min(slot) filter (where run_id is null),
		(select count(*) from runs where job = @job and subject = @subject and status in ('due', 'queued', 'running'))
	from backfill_slots
	where backfill_id = @id and status = 'pending'` // index backfill_slots_pending

const giveSlotsSQL = `
	with run as (
		insert into runs as r (job, subject, slot, trigger, queue, status, max_attempts)
		values (@job, @subject, @slot, 'backfill', @queue, 'due', @max_attempts)
		on conflict (job, subject, slot) do update
		set status = 'due', attempt = r.attempt + 1, failures = 0, losses = 0, next_try_at = null, error = null, finished_at = null, trace = null
		where r.status in ('succeeded', 'failed', 'skipped')
		returning id
	)
	update backfill_slots s set run_id = run.id
	from run, (
		select slot from backfill_slots
		where backfill_id = @id and status = 'pending' and run_id is null
		order by slot
		limit @chunk
		for no key update
	) next
	where s.backfill_id = @id and s.slot = next.slot` // index backfill_slots_pending

func (h backlog) feed(ctx context.Context, tx pgx.Tx) error {
	p := task.Policies[task.Backfill]
	args := pgx.NamedArgs{
		"id": h.ID, "job": task.Backfill, "subject": strconv.FormatInt(h.ID, 10), "queue": p.Queue, "max_attempts": p.MaxAttempts,
		"chunk": chunk,
	}
	var asking int64
	var failed *string
	if err := tx.QueryRow(ctx, sourcesSQL, args).Scan(&asking, &failed); err != nil || asking > 0 {
		return err
	}
	if failed != nil {
		args["note"] = "a source could not be asked (resume goes on without it, retry-failed asks again): " + *failed
		_, err := tx.Exec(ctx, `update backfills set status = 'paused', note = @note where id = @id`, args)
		return err
	}
	if _, err := tx.Exec(ctx, lockEndedSQL, args); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, takeBackSQL, args); err != nil {
		return err
	}
	for {
		var pending int64
		var first *time.Time
		var under int
		if err := tx.QueryRow(ctx, leftSQL, args).Scan(&pending, &first, &under); err != nil {
			return err
		}
		if pending == 0 {
			_, err := tx.Exec(ctx, `update backfills set finished_at = clock_timestamp() where id = @id`, args)
			return err
		}
		if first == nil || under >= h.Parallelism {
			break
		}
		args["slot"] = *first
		tag, err := tx.Exec(ctx, giveSlotsSQL, args)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			break // a failed slot is being retried while the run that it started still runs: wait for that run
		}
	}
	_, err := tx.Exec(ctx, `update backfills set working_since = clock_timestamp() where id = @id and working_since is null`, args)
	return err
}

// BackfillWork returns the next slots that a run of a backfill must compute, oldest first. The list is empty if all are done, or if the
// backfill is paused or cancelled.
func (db BackfillStore) BackfillWork(ctx context.Context, id, run int64, limit int) ([]time.Time, error) {
	rows, err := db.reads.Query(ctx, `
		select s.slot
		from backfill_slots s join backfills b on b.id = s.backfill_id
		where b.id = @id and b.status = 'running' and s.status = 'pending' and s.run_id = @run
		order by s.slot
		limit @limit`, pgx.NamedArgs{"id": id, "run": run, "limit": limit}) // index backfill_slots_pending
	if err != nil {
		return nil, fmt.Errorf("read the work of backfill %d: %w", id, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil {
		return nil, fmt.Errorf("read the work of backfill %d: %w", id, err)
	}
	return list, nil
}

const finishSlotsSQL = `
	with mine as (
		select slot from backfill_slots
		where backfill_id = @id and status = 'pending' and slot = any(@slots)
		order by slot
		for no key update
	)
	update backfill_slots s
	set status = t.status, outcome = nullif(t.outcome, ''), reason = nullif(t.reason, ''),
		new_value = case when t.status = 'done' then t.value else s.new_value end, result = t.result::jsonb,
		finished_at = clock_timestamp()
	from unnest(@slots::timestamptz[], @statuses::text[], @outcomes::text[], @reasons::text[], @values::float8[], @results::text[])
		as t (slot, status, outcome, reason, value, result)
	join mine m using (slot)
	where s.backfill_id = @id and s.slot = m.slot`

// FinishSlots records the outcome of slots while the attempt in f is current. It reads Slot, Status (done or failed), Outcome, Reason,
// NewValue and Result of each.
func (db BackfillStore) FinishSlots(ctx context.Context, f task.Fence, id int64, list []BackfillSlot) error {
	if len(list) == 0 {
		return nil
	}
	n := len(list)
	slots, values, results := make([]time.Time, n), make([]*float64, n), make([]*string, n)
	statuses, outcomes, reasons := make([]string, n), make([]string, n), make([]string, n)
	for i, s := range list {
		slots[i], statuses[i], values[i] = s.Slot, s.Status, s.NewValue
		if s.Outcome != nil {
			outcomes[i] = *s.Outcome
		}
		if s.Reason != nil {
			// The message of a panic can hold any bytes, but the type text cannot.
			reasons[i] = strings.ReplaceAll(strings.ToValidUTF8(*s.Reason, "\uFFFD"), "\x00", "")
		}
		if s.Result != nil {
			text := string(s.Result)
			results[i] = &text
		}
	}
	err := db.tx(ctx, func(tx pgx.Tx) error {
		// Lock the run before its slots. A superseded attempt then locks no slots, and no other attempt waits for it.
		if err := checkFence(ctx, tx, f, 0); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, finishSlotsSQL, pgx.NamedArgs{
			"id": id, "slots": slots, "statuses": statuses, "outcomes": outcomes, "reasons": reasons, "values": values, "results": results,
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("record the slots of backfill %d: %w", id, err)
	}
	return nil
}

// BackfillCounts is the progress of a backfill, counted on request.
type BackfillCounts struct {
	Slots, Pending, Skipped, Done, Failed, Cancelled int64
	// Added, Unchanged and Differs divide Done.
	Added, Unchanged, Differs int64
	// Asking counts the sources that are being fetched. Waiting counts runs that have not started, Running those in progress.
	Asking, Waiting, Running int64
	// Lately counts the slots that were done or failed in the last Seconds, at most a minute.
	Lately  int64
	Seconds float64
}

const countsSQL = `
	select count(*) as slots,
		count(*) filter (where s.status = 'pending') as pending, count(*) filter (where s.status = 'skipped') as skipped,
		count(*) filter (where s.status = 'done') as done, count(*) filter (where s.status = 'failed') as failed,
		count(*) filter (where s.status = 'cancelled') as cancelled,
		count(*) filter (where s.outcome = 'added') as added, count(*) filter (where s.outcome = 'unchanged') as unchanged,
		count(*) filter (where s.outcome = 'differs') as differs,
		(select count(*) from backfill_fetches f join runs r on r.id = f.run_id
			where f.backfill_id = @id and r.status in ('due', 'queued', 'running')) as asking,
		(select count(*) from runs where job = @job and subject = @subject and status in ('due', 'queued')) as waiting,
		(select count(*) from runs where job = @job and subject = @subject and status = 'running') as running,
		count(*) filter (where s.status in ('done', 'failed') and s.finished_at >= since.at) as lately,
		coalesce(extract(epoch from clock_timestamp() - min(since.at)), 0)::float8 as seconds
	from backfill_slots s, (
		select greatest(working_since, clock_timestamp() - interval '1 minute') as at from backfills where id = @id and working_since is not null
		union all
		select null from backfills where id = @id and working_since is null
	) since
	where s.backfill_id = @id`

// BackfillCounts counts the slots of a backfill.
func (db BackfillStore) BackfillCounts(ctx context.Context, id int64) (BackfillCounts, error) {
	rows, err := db.reads.Query(ctx, countsSQL, pgx.NamedArgs{"id": id, "job": task.Backfill, "subject": strconv.FormatInt(id, 10)})
	if err != nil {
		return BackfillCounts{}, fmt.Errorf("count the slots of backfill %d: %w", id, err)
	}
	c, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[BackfillCounts])
	if err != nil {
		return BackfillCounts{}, fmt.Errorf("count the slots of backfill %d: %w", id, err)
	}
	return c, nil
}

// Rejected reports whether the server refused the data: a value is out of range, or violates a constraint. Sending the same data again is
// useless.
func Rejected(err error) bool {
	c := code(err)
	return strings.HasPrefix(c, "22") || strings.HasPrefix(c, "23")
}
