package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// LogHealth holds the facts about a log that an operator needs.
type LogHealth struct {
	Log string
	// Stopped is why nothing is signed; Waits is why the sequencer's rounds fail since WaitsSince. Both are empty while all is well.
	Stopped, Waits string
	WaitsSince     *time.Time
	// Pending counts the leaves without a number, and OldestPending is since when the oldest waits.
	Pending       int64
	OldestPending *time.Time
	// Aside counts the leaves that were set aside and that no operator has handled yet; AsideKey is the key of the first one.
	Aside    int64
	AsideKey string
	// NeverEarly reports that picks may be seen early (PICKS_EARLY) and that no witness is asked, so that none ever is.
	NeverEarly bool
	// BodySigned is the longest time from a fetch to the signed size that holds its body, among the sizes of the last hour. BodyWitnessed
	// is the longest time to a size that the quorum cosigned. It grows while a body waits for it. Both are nil if there was no such size,
	// and for the log of the record.
	BodySigned, BodyWitnessed *time.Duration
}

// bodyDelaysSQL is how long the bodies of a log h waited. Another world than the live one has another clock: there the time from the record
// of the fetch counts. Earlier fetches than the log are left out. Sizes are read from the newest one down, because their times have no
// index.
const bodyDelaysSQL = `
	select max(c.signed_at - b.at) as signed,
		max(coalesce(w.at, clock_timestamp()) - b.at) filter (where h.witnesses <> '[]') as witnessed
	from (select size, signed_at from log_checkpoints where log = h.log order by size desc limit 400) c
	cross join lateral (select coalesce(max(size), 0) as size from log_checkpoints where log = h.log and size < c.size) before
	cross join lateral (
		select case when world.name = 'live' then f.fetched_at else f.recorded_at end as at
		from log_entries e
		join fetches f on f.id = case when e.key ^@ 'body:' then substr(e.key, 6)::bigint end
		cross join world
		where e.log = h.log and e.idx >= before.size and e.idx < c.size and f.recorded_at >= h.began_at) b
	left join lateral (
		select witnessed_at as at from log_checkpoints where log = h.log and size >= c.size and witnessed_at is not null order by size limit 1) w on true
	where h.log = 'sources' and c.signed_at > clock_timestamp() - interval '1 hour'` // primary keys, log_checkpoints_witnessed

// LogHealths returns how each log that was started stands, by name.
func (db LogStore) LogHealths(ctx context.Context) ([]LogHealth, error) {
	rows, err := db.reads.Query(ctx, `
		select h.log, coalesce(h.stopped, '') as stopped, coalesce(h.waits, '') as waits, h.waits_since, p.n as pending, p.at as oldest_pending,
			a.n as aside, coalesce(a.key, '') as aside_key, h.log = 'record' and h.picks_early and h.witnesses = '[]' as never_early,
			d.signed as body_signed, d.witnessed as body_witnessed
		from log_heads h,
			lateral (select count(*) as n, min(at) as at from log_pending where log = h.log) p,
			lateral (select count(*) as n, (array_agg(key order by id))[1] as key from log_aside where log = h.log and settled_at is null) a,
			lateral (`+bodyDelaysSQL+`) d
		order by h.log`)
	list, err := collect[LogHealth](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read how the logs stand: %w", asUnavailable(err))
	}
	return list, nil
}

// NoteLogWaits stores why a round of the sequencer failed, and keeps since when they do. The next good round removes it.
func (db LogStore) NoteLogWaits(ctx context.Context, log, why string) error {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			update log_heads set waits = @why, waits_since = coalesce(waits_since, clock_timestamp()) where log = @log and waits is distinct from @why`,
			pgx.NamedArgs{"log": log, "why": why})
		return err
	})
	if err != nil {
		return fmt.Errorf("note why the log %s waits: %w", log, err)
	}
	return nil
}

// LogAside is a leaf that was set aside: it is not in the log.
type LogAside struct {
	ID             int64
	Log, Key, Leaf string
	Why            string
	At             time.Time
}

// LogAsides returns the leaves that were set aside and that no operator has handled yet.
func (db LogStore) LogAsides(ctx context.Context) ([]LogAside, error) {
	rows, err := db.reads.Query(ctx, `select id, log, key, encode(leaf, 'escape') as leaf, why, at from log_aside where settled_at is null order by id`)
	list, err := collect[LogAside](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the leaves that were set aside: %w", asUnavailable(err))
	}
	return list, nil
}

// SettleLogAside notes that the operator has seen to a leaf that was set aside. It returns ErrNotFound if none is open under the id.
func (db LogStore) SettleLogAside(ctx context.Context, id int64) error {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `update log_aside set settled_at = clock_timestamp() where id = @id and settled_at is null`, pgx.NamedArgs{"id": id})
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("settle the leaf %d that was set aside: %w", id, err)
	}
	return nil
}
