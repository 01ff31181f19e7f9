package workers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/chain"
	"tidemark/chain/gitledger"
	"tidemark/internal/plain"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// batch is the number of entries or picks that wait for a witness while a sandbox makes its history. Handled singly, they would take most
// of its time.
const batch = 10

// Ledger is the job that commits the record's new entries to the git ledger, and pushes it.
type Ledger struct {
	DB *postgres.DB
	// Open opens the ledger. It is asked for each run, so that a git that is missing is told there.
	Open func(ctx context.Context) (*gitledger.Ledger, error)
	// Remote reports whether the ledger has a remote.
	Remote bool
	// Repository is where readers find the ledger, empty for nowhere.
	Repository, Branch string
}

// Run brings the ledger, and its remote, up to date with the record. An unavailable remote is tried again later. A remote that has another
// history or refuses us is an alarm.
func (l Ledger) Run(ctx context.Context, t task.Task) error {
	if t.Subject != task.SubjectLedger {
		return Permanent(fmt.Errorf("unknown ledger %q", t.Subject))
	}
	past, err := l.DB.ClockBehind(ctx)
	if err != nil {
		return err
	}
	if past {
		if _, open, err := l.DB.LedgerOpen(ctx); err != nil || open < batch {
			return err
		}
	}
	ledger, err := l.Open(ctx)
	if err != nil {
		return l.conclude(ctx, t, nil, postgres.LedgerState{}, err)
	}
	entries, err := l.commit(ctx, ledger)
	state := postgres.LedgerState{Status: postgres.LedgerLocal}
	if err == nil && l.Remote {
		state.Status = postgres.LedgerPushed
		_, err = ledger.Push(ctx)
	}
	if status, serr := ledger.Status(ctx); serr == nil {
		state.Head, state.Pushed = status.Head, status.Pushed
	}
	return l.conclude(ctx, t, entries, state, err)
}

// commit gives the ledger what it lacks, and returns the entries with their commits.
func (l Ledger) commit(ctx context.Context, ledger *gitledger.Ledger) ([]postgres.LedgerEntry, error) {
	recorded, open, err := l.DB.LedgerOpen(ctx)
	if err != nil {
		return nil, err
	}
	status, err := ledger.Status(ctx)
	if err != nil {
		return nil, err
	}
	if status.Chain.Length < recorded && l.Remote {
		// This folder was begun after the record, or another worker has written: the remote knows.
		if _, err := ledger.Push(ctx); err != nil && !errors.Is(err, gitledger.ErrPending) {
			return nil, err
		}
		if status, err = ledger.Status(ctx); err != nil {
			return nil, err
		}
	}
	behind := status.Chain.Length < recorded
	if open == 0 && !behind {
		return nil, nil
	}
	entries, err := l.DB.LedgerEntries(ctx, !behind)
	if err != nil {
		return nil, err
	}
	commits, err := ledger.Append(ctx, asEntries(entries)...)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		if have := entries[i].Commit; have != "" && have != commits[i].ID {
			return nil, fmt.Errorf("%w: entry %d was commit %s and would be %s now (were LEDGER_AUTHOR_NAME, LEDGER_AUTHOR_EMAIL or LEDGER_SIGNING_KEY changed?)",
				gitledger.ErrConflict, entries[i].ID, have, commits[i].ID)
		}
		entries[i].Commit = commits[i].ID
	}
	return entries, nil
}

// KnownEntries returns a function for the entries of the record, with the commits of the committed ones, in the form of
// gitledger.Options.Known.
func KnownEntries(db *postgres.DB) func(context.Context) ([]gitledger.Known, error) {
	return func(ctx context.Context) ([]gitledger.Known, error) {
		list, err := db.LedgerEntries(ctx, false)
		if err != nil {
			return nil, err
		}
		known := make([]gitledger.Known, len(list))
		for i, e := range asEntries(list) {
			known[i] = gitledger.Known{Entry: e, Commit: list[i].Commit}
		}
		return known, nil
	}
}

func asEntries(list []postgres.LedgerEntry) []gitledger.Entry {
	entries := make([]gitledger.Entry, len(list))
	for i, e := range list {
		entries[i] = gitledger.Entry{At: e.At, Pick: e.Pick, Gap: e.Gap, Correction: e.Correction}
	}
	return entries
}

// conclude stores the commits and how the ledger stands, and says what becomes of the run.
func (l Ledger) conclude(ctx context.Context, t task.Task, entries []postgres.LedgerEntry, s postgres.LedgerState, err error) error {
	broken := (*chain.Error)(nil)
	switch {
	case err == nil:
	case errors.Is(err, gitledger.ErrPending):
		s.Status = postgres.LedgerPending
	case errors.Is(err, gitledger.ErrRefused):
		s.Status = postgres.LedgerRefused
	case errors.Is(err, gitledger.ErrDiverged):
		s.Status = postgres.LedgerDiverged
	case errors.Is(err, gitledger.ErrConflict), errors.As(err, &broken):
		s.Status = postgres.LedgerConflict
	case errors.Is(err, gitledger.ErrDamaged):
		s.Status = postgres.LedgerDamaged
	default:
		return err // of the machine, or of the database: tried again
	}
	s.Repository, s.Branch = l.Repository, l.Branch
	if err != nil {
		s.Note = plain.Error(err)
	}
	if serr := l.DB.SaveLedger(ctx, t.Fence, entries, s); serr != nil {
		return serr
	}
	switch {
	case s.Status == postgres.LedgerPending:
		return RetryIn(timeout(t), s.Note)
	case s.Alarm():
		return Permanent(err)
	}
	return nil
}

// timeout is the time to wait for an unavailable server: longer with each attempt, ten minutes at most.
func timeout(t task.Task) time.Duration {
	return min(15*time.Second<<min(max(t.Attempt, 1)-1, 6), 10*time.Minute)
}
