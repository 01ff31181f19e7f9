package view

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tidemark/chain"
	"tidemark/chain/tlog"
	"tidemark/internal/postgres"
)

// heldLog is the part of the record's log that the operator's witnesses hold. The zero value means a server without a log, or without
// witnesses.
type heldLog struct {
	policy *tlog.Policy
	// opened is nil if no checkpoint could be read by the log's key, or if the leaves differ from the signed leaves. picks and notes are what is
	// below it.
	opened *tlog.Opened
	picks  tlog.LoggedPicks
	notes  tlog.LoggedNotes
	// misfit says how the stored leaves differ from the signed leaves; empty if they are equal.
	misfit string
}

// log returns the input of the verdict's rules: nil without a log or without a policy.
func (h heldLog) log() *chain.Log {
	if h.policy == nil {
		return nil
	}
	return tlog.LogOf(h.policy, h.opened, h.picks, h.policy.AsksWitnesses())
}

// readHeldLog reads the newest checkpoint that the operator's quorum cosigned, or else the newest one, with the leaves below it. If full is
// set, it reads all leaves, otherwise only the new ones.
func (r *Record) readHeldLog(ctx context.Context, full bool) (h heldLog, err error) {
	heads, err := r.o.Store.LogHeads(ctx)
	if err != nil {
		return h, err
	}
	i := slices.IndexFunc(heads, func(head postgres.LogHead) bool { return head.Log == postgres.LogRecord && head.Policy != "" })
	if i < 0 {
		return h, nil
	}
	if h.policy, err = tlog.ParsePolicy([]byte(heads[i].Policy)); err != nil {
		return h, fmt.Errorf("the policy of the log that is stored: %w", err)
	}
	key, err := tlog.NewVerifier(heads[i].VKey)
	if err != nil {
		return h, fmt.Errorf("the key of the log that is stored: %w", err)
	}
	for _, witnessed := range []bool{true, false} {
		c, err := r.o.Store.NewestLogCheckpoint(ctx, postgres.LogRecord, witnessed)
		if errors.Is(err, postgres.ErrNotFound) {
			continue
		}
		if err != nil {
			return h, err
		}
		// While a key changes, the newest witnessed size may be signed by the old one alone: then nothing counts.
		if h.opened, err = tlog.Open(c.Note, key, h.policy.Cosigners()...); err == nil {
			break
		}
		h.opened = nil
	}
	if h.opened == nil {
		return h, nil
	}
	if full || h.opened.Size < r.leaves.tree.Size {
		r.leaves = readLeaves{}
	}
	if err := r.leaves.upTo(ctx, r.o.Store, h.opened.Size); err != nil {
		r.leaves = readLeaves{}
		return h, err
	}
	if r.leaves.tree.Size != h.opened.Size || r.leaves.tree.Root() != h.opened.Root {
		h.misfit = fmt.Sprintf("the %d stored leaves of the log are not those that were signed", h.opened.Size)
		r.o.Log.ErrorContext(ctx, "the stored log does not hold", "why", h.misfit)
		h.opened, r.leaves = nil, readLeaves{}
		return h, nil
	}
	h.notes = r.leaves.notes
	h.picks = tlog.LoggedPicks{Hashes: slices.Clip(r.leaves.picks.Hashes), Fault: r.leaves.picks.Fault}
	return h, nil
}

// readLeaves are the first leaves of the log: their tree, and the picks, the days without a pick and the corrections among them. A cosignature covers the root of the tree, so leaves
// that a superuser changed are found.
type readLeaves struct {
	tree  tlog.Edge
	picks tlog.LoggedPicks
	notes tlog.LoggedNotes
}

// leavesAtOnce is how many leaves are read at once.
const leavesAtOnce = 4096

// upTo reads on to a size, or to the end of the stored leaves.
func (l *readLeaves) upTo(ctx context.Context, store RecordStore, size int64) error {
	for l.tree.Size < size {
		list, err := store.LogLeaves(ctx, postgres.LogRecord, l.tree.Size, min(l.tree.Size+leavesAtOnce, size))
		if err != nil || len(list) == 0 {
			return err
		}
		for _, text := range list {
			l.tree.Add(tlog.LeafHash(text))
			l.picks.Add(text)
			if leaf, err := tlog.ParseLeaf(text); err == nil { // kinds of later versions
				l.notes.Add(leaf)
			}
		}
	}
	return nil
}
