package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/accounts"
	"tidemark/chain/base"
	"tidemark/internal/postgres"
)

type claimsCommand struct {
	List claimsList `cmd:"" default:"withargs" help:"Print the claims, newest first."`
	Show claimsShow `cmd:"" help:"Print every claim of a transaction, and all that was granted for it and taken back."`
}

type claimsList struct {
	format

	Key   string `help:"Only claims of this key (key_...)."`
	State string `enum:",pending,provisional,confirmed,rejected,expired,revoked" default:"" help:"Only these (pending, provisional, confirmed, rejected, expired, revoked)."`
	Limit limit  `default:"50" help:"How many, newest first."`
}

// Run prints the claims.
func (c claimsList) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Claims(ctx, postgres.ClaimFilter{Key: c.Key, State: c.State, Limit: int(c.Limit)})
	if err != nil {
		return err
	}
	t := newTable("id", "made", "state", "reason", "key", "network", "transaction", "signed")
	for _, x := range list {
		t.add(x.ID, x.CreatedAt, x.State, x.Reason, x.PublicID, fmt.Sprintf("eip155:%d", x.ChainID), x.TxHash, x.Signature != nil)
	}
	return c.list(p.stdout, t)
}

type claimsShow struct {
	format

	Tx string `arg:"" help:"The transaction's hash."`
}

// Run prints the outcome of a transaction.
func (c claimsShow) Run(ctx context.Context, p *program) error {
	tx, err := base.ParseTxHash(c.Tx)
	if err != nil {
		return usageError{err}
	}
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Claims(ctx, postgres.ClaimFilter{TxHash: tx, Limit: 1000})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("no key has claimed this transaction")
	}
	if c.JSON {
		all := make([]object, len(list))
		for i, x := range list {
			granted, err := db.TransfersOf(ctx, x.ID)
			if err != nil {
				return err
			}
			all[i] = claimJSON(x, granted)
		}
		return writeJSON(p.stdout, all)
	}
	for _, x := range list {
		_, _ = fmt.Fprintf(p.stdout, "claim %d of %s on eip155:%d: %s %s\n  made %s, asked for %s, the chain is looked at until %s\n", x.ID, x.PublicID,
			x.ChainID, x.State, deref(x.Reason), x.CreatedAt.UTC().Format(time.RFC3339), x.AskedAt.UTC().Format(time.RFC3339),
			x.ExpiresAt.UTC().Format(time.RFC3339))
		granted, err := db.TransfersOf(ctx, x.ID)
		if err != nil {
			return err
		}
		for _, g := range granted {
			_, _ = fmt.Fprintf(p.stdout, "  transfer %d (log %d) of %s from %s in block %d: %s, as %s, granted at %s", g.ID, g.LogIndex, accounts.Micros(g.Amount).Shortest(),
				g.Sender, g.BlockNumber, g.State, g.Gives, g.GrantedAt.UTC().Format(time.RFC3339))
			if g.EndedAt != nil {
				_, _ = fmt.Fprintf(p.stdout, ", ended at %s, reason %s", g.EndedAt.UTC().Format(time.RFC3339), deref(g.Reason))
			}
			_, _ = fmt.Fprintln(p.stdout)
		}
	}
	return nil
}
