package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
)

// Retention is how long deletable data is kept. Zero means permanently. Append-only data is always kept: the worker's role has no right to
// delete it.
type Retention struct {
	// Runs is for ended runs, counted from their end. The newest run of each job and subject is always kept, and so are runs that a
	// backfill refers to.
	Runs time.Duration
	// Usage is for the request counts by key, day and endpoint. Payments stay in the ledger.
	Usage time.Duration
	// Quotes is for the amounts that were reserved for keys, counted from the end of the reservation. A transfer can be claimed for seven
	// days.
	Quotes time.Duration
	// Alerts is for resolved alerts.
	Alerts time.Duration
	// Pushes is for the outbox and the messages to webhooks: a client that was disconnected for longer cannot continue at its cursor.
	Pushes time.Duration
}

// forgetBatch limits the rows that one statement deletes, so that other sessions do not wait long.
const forgetBatch = 5000

// The subquery around clock_timestamp() makes it one instant, which an index can use; without it, it differs for each row. Locked rows are
// skipped: such a run may be starting again at this moment.
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

// The worker may delete a push, but not change one, and so cannot lock and skip it. Two clean-ups at once are tried again at worst.
const forgetPushesSQL = `
	delete from pushes p using (
		select id from pushes where created_at < (select clock_timestamp()) - @keep::interval order by id limit @batch
	) gone where p.id = gone.id` // index pushes_by_age

const forgetDeliveriesSQL = `
	delete from push_deliveries d using (
		select id from push_deliveries where created_at < (select clock_timestamp()) - @keep::interval limit @batch for update skip locked
	) gone where d.id = gone.id` // index push_deliveries_by_age

// ApplyRetention deletes expired data while the attempt in f is current. It returns the number of deleted rows.
func (db OperatorStore) ApplyRetention(ctx context.Context, f task.Fence, r Retention) (gone int64, err error) {
	for _, one := range []struct {
		sql  string
		keep time.Duration
	}{{forgetRunsSQL, r.Runs}, {forgetUsageSQL, r.Usage}, {forgetQuotesSQL, r.Quotes}, {forgetAlertsSQL, r.Alerts}, {forgetPushesSQL, r.Pushes}, {forgetDeliveriesSQL, r.Pushes}} {
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
