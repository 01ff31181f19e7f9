package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/chain"
	"tidemark/internal/equity"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
)

// RecordStore keeps the record of picks: the chain, announcements, seals, gaps, corrections and methods.
//
// It reads announced_picks, announcements, corrections, first_picks, gaps, log_checkpoints, log_entries, log_heads, log_timestamps, methods,
// pick_seals, picks, runs, sealed_picks, world. It writes announcements, corrections, gaps, methods, runs.
type RecordStore struct{ *connections }

// ErrRefused means that the database rejects a change that would break the record. Examples are a pick for a day other than today, or for a
// day that is recorded as a gap. A retry does not help.
var ErrRefused = errors.New("the record refuses it")

// Pick is a link of the chain with its details that are not hashed.
type Pick struct {
	chain.Link
	CIK  equity.CIK
	Name string
	// Exchange is an ISO 10383 market code, Country an ISO 3166-1 and Currency an ISO 4217 code.
	Exchange, Sector, Region, Country, Currency string
	// Origin is "method" or "editor". Reason is one line on why it was chosen.
	Origin, Reason string
	// AppendedAt and AnnouncedAt are in the world's time, UTC. AnnouncedAt is nil before the announcement.
	AppendedAt  time.Time
	AnnouncedAt *time.Time
}

// NewPick is a pick to record. Its Date must be today in New York by the world's clock. That day must have neither a pick nor a gap.
type NewPick struct {
	Ticker, Price, Date                               string
	CIK                                               equity.CIK
	Name, Exchange, Sector, Region, Country, Currency string
	Origin, Reason                                    string
	// AnnounceAt is the instant of the announcement; the pick is secret before it. Zero means 18:00 New York of its date. It must be later
	// than the AnnounceAt of the previous pick.
	AnnounceAt time.Time
}

const appendPickSQL = `
	select seq, added from append_pick(@ticker, @price, @date, @cik, @name, @exchange, @sector, @region, @country, @currency, @origin,
		@reason, @announce_at)`

// appendPick adds the link of RecordPick.
func appendPick(ctx context.Context, tx pgx.Tx, n NewPick) (p Pick, added bool, err error) {
	var announceAt *time.Time
	if !n.AnnounceAt.IsZero() {
		announceAt = &n.AnnounceAt
	}
	var seq int64
	err = tx.QueryRow(ctx, appendPickSQL, pgx.NamedArgs{
		"ticker": n.Ticker, "price": n.Price, "date": n.Date, "cik": n.CIK, "name": n.Name, "exchange": n.Exchange,
		"sector": n.Sector, "region": n.Region, "country": n.Country, "currency": n.Currency, "origin": n.Origin, "reason": n.Reason,
		"announce_at": announceAt,
	}).Scan(&seq, &added)
	if err != nil {
		return Pick{}, false, err
	}
	rows, err := tx.Query(ctx, `select `+pickColumns+`, a.announced_at from picks p left join announcements a using (seq) where p.seq = @seq`,
		pgx.NamedArgs{"seq": seq}) // primary keys
	if err != nil {
		return Pick{}, false, err
	}
	p, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Pick])
	return p, added, err
}

// refused marks errors of the record's triggers as ErrRefused.
func refused(err error) error {
	switch code(err) {
	case "23001", "23514": // restrict_violation, check_violation
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

const announceSQL = `
	insert into announcements (seq)
	select p.seq from picks p
	where p.announce_at <= @at and p.seq > (select coalesce(max(seq), 0) from announcements) and not ` + heldBackSQL + `
	order by p.seq
	on conflict (seq) do nothing
	returning seq` // primary keys: picks are announced in order

const afterAnnouncementSQL = `
	insert into runs (job, subject, slot, trigger, queue, status, max_attempts, trace)
	select @job, t.subject, r.slot, 'data', @queue, 'due', @max_attempts, nullif(@trace, '')
	from runs r, unnest(@subjects::text[]) as t (subject)
	where r.id = @id
	order by t.subject
	on conflict (job, subject, slot) do nothing`

// AnnounceDue announces every pick whose announcement time is at or before at, and whose seal no longer waits for its witnesses (HeldBack).
// It makes the jobs that publish due, for the slot of the run
// in f. It returns the newly announced picks by seq. The database compares each announcement time with the world's clock again, so an at in
// the future is an error; a later retry helps. Listeners on ChannelRecord are notified at the commit.
func (db RecordStore) AnnounceDue(ctx context.Context, f task.Fence, at time.Time) ([]Pick, error) {
	var picks []Pick
	err := db.tx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, announceSQL, pgx.NamedArgs{"at": at, "wait": quorumWait})
		if err != nil {
			return err
		}
		seqs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return err
		}
		rows, err = tx.Query(ctx, `select `+pickColumns+`, p.announced_at from announced_picks p where seq = any(@seqs) order by seq`,
			pgx.NamedArgs{"seqs": seqs})
		if picks, err = collect[Pick](rows, err); err != nil {
			return err
		}
		if len(picks) > 0 {
			if err := witness(ctx, tx, &at); err != nil {
				return err
			}
			// In the same transaction: a later attempt of the run would find no new picks, and would not make these jobs due.
			if _, err := tx.Exec(ctx, afterAnnouncementSQL, dueArgs(ctx, task.Publish, pgx.NamedArgs{"id": f.RunID, "subjects": task.AfterAnnouncement})); err != nil {
				return fmt.Errorf("make due what follows: %w", err)
			}
		}
		return checkFence(ctx, tx, f, int64(len(picks)))
	})
	if err != nil {
		return nil, fmt.Errorf("announce what is due at %s: %w", at.UTC().Format(time.RFC3339), refused(err))
	}
	return picks, nil
}

const witnessSQL = `
	insert into runs as r (job, subject, slot, trigger, queue, status, max_attempts, trace)
	select t.job, t.subject, coalesce(@at, date_trunc('second', world_now())), 'data', t.queue, 'due', t.max_attempts, nullif(@trace, '')
	from unnest(@jobs::text[], @subjects::text[], @queues::text[], @max_attempts::int[]) as t (job, subject, queue, max_attempts)
	where not exists (select from world where name = 'sandbox' and clock_at is not null)
	order by t.job, t.subject
	on conflict (job, subject, slot) do update
	set status = 'due', attempt = r.attempt + 1, next_try_at = null, error = null, trace = excluded.trace
	where r.status not in ('due', 'queued')`

// witness makes the jobs due that publish the record to its witnesses, for an instant, or for now if at is nil. While a sandbox replays its
// past, it makes no job due and the jobs run on schedule: many picks at once are less work than each pick alone.
func witness(ctx context.Context, tx pgx.Tx, at *time.Time) error {
	ledger, attest := task.Policies[task.Ledger], task.Policies[task.Attest]
	_, err := tx.Exec(ctx, witnessSQL, pgx.NamedArgs{
		"at": at, "jobs": []string{task.Ledger, task.Attest}, "subjects": []string{task.SubjectLedger, task.SubjectAttest},
		"queues": []string{ledger.Queue, attest.Queue}, "max_attempts": []int{ledger.MaxAttempts, attest.MaxAttempts},
		"trace": telemetry.TraceParent(ctx),
	})
	if err != nil {
		return fmt.Errorf("make the witnesses due: %w", err)
	}
	return nil
}

const pickColumns = `p.seq, p.ticker, p.price, p.date, p.previous_hash, p.hash, p.cik, p.name, p.exchange, p.sector, p.region, p.country,
	p.currency, p.origin, p.reason, p.appended_at`

// AnnouncedPicks returns the announced picks by seq. The API's role can see no other picks.
func (db RecordStore) AnnouncedPicks(ctx context.Context) ([]Pick, error) {
	return db.AnnouncedAfter(ctx, 0)
}

// AnnouncedAfter is AnnouncedPicks without the picks up to seq. Callers can cache those: picks are announced in order and never change.
func (db RecordStore) AnnouncedAfter(ctx context.Context, seq int64) ([]Pick, error) {
	rows, err := db.reads.Query(ctx, `select `+pickColumns+`, p.announced_at from announced_picks p where seq > @seq order by seq`,
		pgx.NamedArgs{"seq": seq}) // primary key
	list, err := collect[Pick](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the announced picks: %w", asUnavailable(err))
	}
	return list, nil
}

// NewestAnnounced returns the newest announced picks with a number smaller than below, by seq. limit bounds their number.
func (db RecordStore) NewestAnnounced(ctx context.Context, below int64, limit int) ([]Pick, error) {
	rows, err := db.reads.Query(ctx, `
		select `+pickColumns+`, p.announced_at from announced_picks p where seq < @below order by seq desc limit @limit`,
		pgx.NamedArgs{"below": below, "limit": limit}) // primary key
	list, err := collect[Pick](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the newest picks: %w", asUnavailable(err))
	}
	slices.Reverse(list)
	return list, nil
}

// FirstAnnounced returns when the first pick of each company was announced. Companies without a pick are absent.
func (db RecordStore) FirstAnnounced(ctx context.Context, ids []equity.CIK) (map[equity.CIK]time.Time, error) {
	rows, err := db.reads.Query(ctx, `
		select cik, announced_at from first_picks where cik = any(@ciks)`,
		pgx.NamedArgs{"ciks": numbers(ids)}) // index picks_of
	if err != nil {
		return nil, fmt.Errorf("read when companies were announced: %w", err)
	}
	all := map[equity.CIK]time.Time{}
	var cik equity.CIK
	var at time.Time
	if _, err := pgx.ForEachRow(rows, []any{&cik, &at}, func() error { all[cik] = at; return nil }); err != nil {
		return nil, fmt.Errorf("read when companies were announced: %w", err)
	}
	return all, nil
}

const recordedSQL = `
	select ` + pickColumns + `, a.announced_at from picks p left join announcements a using (seq) order by seq desc limit @limit` // primary keys

// RecordedPicks returns all picks by seq, including a pick that is not announced yet. The API's role has no right to read them.
func (db RecordStore) RecordedPicks(ctx context.Context) ([]Pick, error) {
	return db.recorded(ctx, nil)
}

// NewestRecorded is RecordedPicks limited to the newest picks, at most limit.
func (db RecordStore) NewestRecorded(ctx context.Context, limit int) ([]Pick, error) {
	return db.recorded(ctx, &limit)
}

func (db RecordStore) recorded(ctx context.Context, limit *int) ([]Pick, error) {
	rows, err := db.reads.Query(ctx, recordedSQL, pgx.NamedArgs{"limit": limit})
	list, err := collect[Pick](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the recorded picks: %w", err)
	}
	slices.Reverse(list)
	return list, nil
}
