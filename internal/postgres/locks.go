package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
)

// The order of locks. A transaction that takes several takes them in this order, so that no two ever wait for each other:
//
//  1. schedules, by job and subject
//  2. quarantine, by id
//  3. what serialises a whole subject (pg_advisory_xact_lock): alerts, equities, portfolio, portfolio_events, record, forecasts, a signal; series,
//     by name
//  4. watermarks, by series; then rebuilding, whose rows belong to a step that is done again (an import holds the whole of it, and nothing else)
//  5. ledger_entries, by id; log_heads, of one log. A log that begins takes its lock (log_lock_begin) while it holds nothing, and waits for
//     those who found no log; Postgres moves them past it where they wait for each other.
//  6. kept_answers, top_ups
//  7. keys, by id; then payment_claims, by id; then payment_transfers, payment_quotes, usage and paid_requests, which belong to a key
//     that is held
//  8. x402_payments, by id
//  9. backfills, by id
//  10. runs, by job, subject and slot; last of them the run of the attempt that works (see hold); then
//     run_attempts, which belong to a run that is held
//  11. backfill_fetches, by source; then backfill_slots, by slot
//
// A statement that changes several rows sorts them itself: an update or a delete in a subquery with ORDER BY and FOR NO KEY UPDATE, an
// insert by the order of its rows. Whoever clears up or hands out (the scheduler's rounds, retention, what died) waits for nobody: it leaves
// out what is locked (SKIP LOCKED), and gets it the next time. The triggers that move balances and plans change keys that their callers
// hold. A claim that makes room for another key's (claim_transfer) is left out where it is locked, too.

// lockSeries makes the changes of some series one after the other, until tx ends: each compares with all that is stored of them. A series
// that was never loaded has no row to lock.
func lockSeries(ctx context.Context, tx pgx.Tx, ids []series.ID) error {
	if _, err := tx.Exec(ctx, lockSeriesSQL, pgx.NamedArgs{"series": inOrder(ids)}); err != nil {
		return fmt.Errorf("lock the series: %w", err)
	}
	return nil
}

// The rows of unnest come in the order of the array.
const lockSeriesSQL = `
	select pg_advisory_xact_lock(hashtextextended('series ' || t.series, 0)) from unnest(@series::text[]) as t (series)`

// tryLockSeries is lockSeries for one who does not wait: false where another holds one of them.
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

// lockKeys takes keys, before what belongs to them.
func lockKeys(ctx context.Context, tx pgx.Tx, keys ...int64) error {
	_, err := tx.Exec(ctx, `select claims_lock(@keys)`, pgx.NamedArgs{"keys": keys})
	return err
}
