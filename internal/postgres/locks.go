package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
)

// The order of locks. A transaction that takes several locks takes them in this order, so that no deadlock occurs:
//
//  1. schedules, by job and subject
//  2. quarantine, by id
//  3. locks of a whole subject (pg_advisory_xact_lock): alerts, equities, portfolio, portfolio_events, record, forecasts, methods, a signal;
//     series, by name
//  4. watermarks, by series; then rebuilding, whose rows belong to a step that is repeated (an import locks the whole table, and nothing
//     else)
//  5. ledger_entries, by id; log_heads, of one log; pick_seals, by seq. The start of a log takes its lock (log_lock_begin) while it holds no other, and
//     waits for transactions that found no log. Postgres lets it pass if they wait for each other.
//  6. kept_answers, top_ups
//  7. keys, by id; then payment_claims, by id; then payment_transfers, payment_quotes, usage and paid_requests, which belong to a locked
//     key
//  8. x402_payments, by id
//  9. backfills, by id; push_match; push_rules, by id; then push_deliveries, which belong to a locked rule
//  10. runs, by job, subject and slot; last the run of the current attempt (see checkFence); then run_attempts, which belong to a locked
//     run
//  11. backfill_fetches, by source; then backfill_slots, by slot
//  12. the lock of the loads (noteLoad), which is held for one insert and the commit
//  13. push_head, which deferred triggers take at the commit, so that no lock comes after it
//
// A statement that changes several rows sorts them itself. An update or a delete uses a subquery with ORDER BY and FOR NO KEY UPDATE; an
// insert sorts its rows. Clean-up and distribution (the scheduler's rounds, retention, recovery of lost runs) never wait. They skip locked
// rows (SKIP LOCKED) and process them the next time. The triggers that move balances and plans change keys that their callers have locked.
// To make room, claim_transfer may let a claim of another key expire; it skips locked claims.

// lockSeries serialises changes of several series until tx ends, because each compares with all stored data of them. A series that was
// never loaded has no row to lock, so these are advisory locks.
func lockSeries(ctx context.Context, tx pgx.Tx, ids []series.ID) error {
	if _, err := tx.Exec(ctx, lockSeriesSQL, pgx.NamedArgs{"series": inOrder(ids)}); err != nil {
		return fmt.Errorf("lock the series: %w", err)
	}
	return nil
}

// unnest returns rows in the order of the array.
const lockSeriesSQL = `
	select pg_advisory_xact_lock(hashtextextended('series ' || t.series, 0)) from unnest(@series::text[]) as t (series)`

// tryLockSeries is lockSeries without waiting. It reports false if another transaction holds one of the locks.
func tryLockSeries(ctx context.Context, tx pgx.Tx, ids []series.ID) (held bool, err error) {
	err = tx.QueryRow(ctx, `
		select coalesce(bool_and(pg_try_advisory_xact_lock(hashtextextended('series ' || t.series, 0))), true)
		from unnest(@series::text[]) as t (series)`, pgx.NamedArgs{"series": inOrder(ids)}).Scan(&held)
	if err != nil {
		return false, fmt.Errorf("lock the series: %w", err)
	}
	return held, nil
}

func inOrder(ids []series.ID) []series.ID {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// lockKeys locks keys. It must run before rows that belong to the keys are locked.
func lockKeys(ctx context.Context, tx pgx.Tx, keys ...int64) error {
	_, err := tx.Exec(ctx, `select claims_lock(@keys)`, pgx.NamedArgs{"keys": keys})
	return err
}
