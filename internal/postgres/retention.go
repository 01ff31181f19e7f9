package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
)

// Retention says for how long is kept what may be forgotten. Zero means for ever. What is append-only is always kept: the worker's role
// could not delete it.
type Retention struct {
	// Runs is for runs that are over, counted from their end. The newest of each job and subject stays whatever its age.
	Runs time.Duration
	// Usage is for the counts of requests by key, day and endpoint; what was paid stays in the ledger.
	Usage time.Duration
	// Quotes is for which key held which amount, counted from the end of its hold. A transfer can be claimed for seven days.
	Quotes time.Duration
	// Alerts is for alerts that are over.
	Alerts time.Duration
}

// forgetBatch bounds how many rows one statement deletes, so that nobody waits long behind it.
const forgetBatch = 5000

// An index is asked for one instant only: clock_timestamp() by itself is another for each row. A row that somebody works on stays: it may
// be a run that is begun again at this moment.
const forgetRunsSQL = `
	delete from runs r using (
		select id from runs o
		where o.status in ('succeeded', 'failed', 'skipped') and o.finished_at < (select clock_timestamp()) - @keep::interval
			and o.created_at < (select clock_timestamp()) - @keep::interval
			and exists (select from runs n where n.job = o.job and n.subject = o.subject and n.slot > o.slot)
			and not exists (select from backfill_slots s where s.run_id = o.id) and not exists (select from backfill_fetches f where f.run_id = o.id)
		limit @batch
		for update skip locked
	) gone where r.id = gone.id` // index runs_recent

const forgetUsageSQL = `
	delete from usage u using (
		select key_id, day, endpoint from usage where day < ((billing_now() - @keep::interval) at time zone 'UTC')::date limit @batch
		for update skip locked
	) gone where (u.key_id, u.day, u.endpoint) = (gone.key_id, gone.day, gone.endpoint)`

const forgetQuotesSQL = `
	delete from payment_quotes q using (
		select id from payment_quotes where upper(held) < billing_now() - @keep::interval limit @batch for update skip locked
	) gone where q.id = gone.id`

const forgetAlertsSQL = `
	delete from alerts a using (
		select id from alerts where resolved_at < clock_timestamp() - @keep::interval limit @batch for update skip locked
	) gone where a.id = gone.id`

// ApplyRetention deletes what is older than it is kept, while the attempt that f names is the current one. It returns how many rows went.
func (db *DB) ApplyRetention(ctx context.Context, f task.Fence, r Retention) (gone int64, err error) {
	for _, one := range []struct {
		sql  string
		keep time.Duration
	}{{forgetRunsSQL, r.Runs}, {forgetUsageSQL, r.Usage}, {forgetQuotesSQL, r.Quotes}, {forgetAlertsSQL, r.Alerts}} {
		for rows := int64(forgetBatch); one.keep > 0 && rows == forgetBatch; {
			err := db.tx(ctx, func(tx pgx.Tx) error {
				tag, err := tx.Exec(ctx, one.sql, pgx.NamedArgs{"keep": one.keep, "batch": forgetBatch})
				if err != nil {
					return err
				}
				rows = tag.RowsAffected()
				return checkFence(ctx, tx, f, 0)
			})
			if err != nil {
				return gone, fmt.Errorf("forget what is old: %w", err)
			}
			gone += rows
		}
	}
	return gone, nil
}
