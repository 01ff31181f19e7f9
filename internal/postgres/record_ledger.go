package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/chain"
	"tidemark/internal/task"
)

// OutsideRecordStore keeps what the two outside records of the chain hold: entries of the git ledger, and attestations on the chain.
//
// It reads announced_picks, attestations, attester_state, corrections, gaps, ledger_entries, ledger_state, world. It writes attestations,
// attester_state, ledger_entries, ledger_state.
type OutsideRecordStore struct{ *connections }

// LedgerEntry is an entry that the git ledger records in one commit: exactly one of Pick, Gap and Correction is set.
type LedgerEntry struct {
	ID int64
	// At is when it was announced or recorded. Truncated to seconds it is the date of its commit.
	At         time.Time
	Pick       *chain.Link
	Gap        *chain.Gap
	Correction *chain.Correction
	// Commit is the commit's id, empty before the commit. PushedAt is since when the remote is known to have it.
	Commit   string
	PushedAt *time.Time
}

// The states of the ledger.
const (
	LedgerLocal    = "local"    // no remote is set
	LedgerPushed   = "pushed"   // the remote has all commits
	LedgerPending  = "pending"  // the remote is unavailable
	LedgerRefused  = "refused"  // the remote rejects the push
	LedgerDiverged = "diverged" // the remote has another history
	LedgerConflict = "conflict" // the local ledger has another history
	LedgerDamaged  = "damaged"  // the local ledger cannot be read
)

// LedgerState is the state of the ledger at the last run of its job.
type LedgerState struct {
	// Repository is the URL for readers, empty if the ledger is only local.
	Repository, Branch string
	// Head is the newest local commit. Pushed is the newest commit that the remote is known to have.
	Head, Pushed string
	// Status is one of the states above; the states after LedgerPending are alarms. Note is one line for operators.
	Status, Note string
	CheckedAt    time.Time
}

// Alarm reports whether an operator must act.
func (s LedgerState) Alarm() bool {
	switch s.Status {
	case LedgerLocal, LedgerPushed, LedgerPending:
		return false
	}
	return true
}

const ledgerEntriesSQL = `
	select e.id, e.at, coalesce(e.commit_id, ''), e.pushed_at,
		p.seq, p.ticker, p.price, p.date, p.previous_hash, p.hash,
		g.date, g.reason,
		c.seq, c.what, c.evidence, c.date
	from ledger_entries e
	left join announced_picks p on p.seq = e.seq
	left join gaps g on g.date = e.gap
	left join corrections c on c.id = e.correction
	where `

// Two statements, because one statement would get a plan for all entries.
const (
	allEntriesSQL  = ledgerEntriesSQL + `true order by e.id`
	openEntriesSQL = ledgerEntriesSQL + `e.commit_id is null order by e.id` // index ledger_entries_open
)

// LedgerEntries returns all entries in the order of their commits. With open it returns only entries without a commit.
func (db OutsideRecordStore) LedgerEntries(ctx context.Context, open bool) ([]LedgerEntry, error) {
	sql := allEntriesSQL
	if open {
		sql = openEntriesSQL
	}
	rows, err := db.reads.Query(ctx, sql)
	if err != nil {
		return nil, fmt.Errorf("read the entries of the ledger: %w", asUnavailable(err))
	}
	list, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (e LedgerEntry, err error) {
		var (
			pickSeq, ofSeq                         *int64
			ticker, price, day, previous, hash     *string
			gapDate, reason, what, evidence, dated *string
		)
		err = r.Scan(&e.ID, &e.At, &e.Commit, &e.PushedAt, &pickSeq, &ticker, &price, &day, &previous, &hash, &gapDate, &reason,
			&ofSeq, &what, &evidence, &dated)
		switch {
		case err != nil:
		case pickSeq != nil:
			e.Pick = &chain.Link{Seq: *pickSeq, Ticker: *ticker, Price: *price, Date: *day, PreviousHash: *previous, Hash: *hash}
		case gapDate != nil:
			e.Gap = &chain.Gap{Date: *gapDate, Reason: *reason}
		default:
			e.Correction = &chain.Correction{Seq: *ofSeq, What: *what, Evidence: *evidence, Date: *dated}
		}
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the entries of the ledger: %w", asUnavailable(err))
	}
	return list, nil
}

// LedgerOpen returns the number of committed picks and the number of entries without a commit.
func (db OutsideRecordStore) LedgerOpen(ctx context.Context) (picks, open int64, err error) {
	err = db.reads.QueryRow(ctx, `
		select (select coalesce(max(seq), 0) from ledger_entries where commit_id is not null),
			(select count(*) from ledger_entries where commit_id is null)`).Scan(&picks, &open) // indexes of seq, ledger_entries_open
	if err != nil {
		return 0, 0, fmt.Errorf("count the entries of the ledger: %w", err)
	}
	return picks, open, nil
}

// lockLedgerSQL locks all entries that SaveLedger may change with one statement, because two statements could meet two statements of
// another machine, in the other order. It returns the first entry that has another commit already.
const lockLedgerSQL = `
	with mine as (
		select id, commit_id from ledger_entries where id = any(@ids) or @pushed and pushed_at is null order by id for no key update
	)
	select min(e.id) filter (where e.commit_id <> c.commit_id), coalesce(array_agg(e.id), '{}')
	from mine e left join unnest(@ids::bigint[], @commits::text[]) as c (id, commit_id) using (id)` // index ledger_entries_unpushed

// SaveLedger records the commits of entries and the state of the ledger. Entries that already have a commit stay. With LedgerPushed, all
// committed entries count as pushed. It returns ErrRefused if an entry already has a different commit: the ledger was written twice.
func (db OutsideRecordStore) SaveLedger(ctx context.Context, f task.Fence, entries []LedgerEntry, s LedgerState) error {
	ids, commits := make([]int64, len(entries)), make([]string, len(entries))
	for i, e := range entries {
		ids[i], commits[i] = e.ID, e.Commit
	}
	err := db.tx(ctx, func(tx pgx.Tx) error {
		var differ *int64
		var held []int64
		err := tx.QueryRow(ctx, lockLedgerSQL, pgx.NamedArgs{"ids": ids, "commits": commits, "pushed": s.Status == LedgerPushed}).Scan(&differ, &held)
		if err != nil {
			return err
		}
		if differ != nil {
			return fmt.Errorf("%w: entry %d has another commit already", ErrRefused, *differ)
		}
		tag, err := tx.Exec(ctx, `
			update ledger_entries e set commit_id = c.commit_id
			from unnest(@ids::bigint[], @commits::text[]) as c (id, commit_id)
			where e.id = c.id and e.commit_id is null`, pgx.NamedArgs{"ids": ids, "commits": commits})
		if err != nil {
			return err
		}
		if s.Status == LedgerPushed { // an entry that was added meanwhile is pushed by the run that commits it
			if _, err := tx.Exec(ctx, `
				update ledger_entries set pushed_at = world_now()
				where id = any(@held) and pushed_at is null and commit_id is not null`, pgx.NamedArgs{"held": held}); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `
			insert into ledger_state (repository, branch, head, pushed, status, note, checked_at)
			values (@repository, @branch, @head, @pushed, @status, @note, world_now())
			on conflict (one) do update
			set repository = excluded.repository, branch = excluded.branch, head = excluded.head, pushed = excluded.pushed,
				status = excluded.status, note = excluded.note, checked_at = excluded.checked_at`,
			pgx.NamedArgs{
				"repository": s.Repository, "branch": s.Branch, "head": s.Head, "pushed": s.Pushed, "status": s.Status, "note": s.Note,
			})
		if err != nil {
			return err
		}
		return checkFence(ctx, tx, f, tag.RowsAffected())
	})
	if err != nil {
		return fmt.Errorf("store how the ledger stands: %w", refused(err))
	}
	return nil
}

// LedgerState returns the state of the ledger at the last run of its job. It returns ErrNotFound if the job never ran.
func (db OutsideRecordStore) LedgerState(ctx context.Context) (LedgerState, error) {
	rows, err := db.reads.Query(ctx, `select repository, branch, head, pushed, status, note, checked_at from ledger_state`)
	if err != nil {
		return LedgerState{}, fmt.Errorf("read how the ledger stands: %w", asUnavailable(err))
	}
	s, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[LedgerState])
	if errors.Is(err, pgx.ErrNoRows) {
		return LedgerState{}, fmt.Errorf("how the ledger stands: %w", ErrNotFound)
	}
	if err != nil {
		return LedgerState{}, fmt.Errorf("read how the ledger stands: %w", asUnavailable(err))
	}
	return s, nil
}
