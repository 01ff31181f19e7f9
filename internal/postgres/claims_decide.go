package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
	"tidemark/internal/task"
)

// ClaimsOf returns every claim of a transaction, oldest first, and the grants that were not revoked.
func (db PaymentStore) ClaimsOf(ctx context.Context, chainID uint64, txHash string) ([]accounts.Claim, []accounts.Transfer, error) {
	args := pgx.NamedArgs{"chain": int64(chainID), "tx": txHash}
	rows, err := db.reads.Query(ctx, `
		select `+claimColumns+` from payment_claims c join keys k on k.id = c.key_id
		where c.chain_id = @chain and c.tx_hash = @tx
		order by c.id`, args) // unique key
	claims, err := collect[accounts.Claim](rows, err)
	if err != nil {
		return nil, nil, fmt.Errorf("read the claims of %s: %w", txHash, err)
	}
	rows, err = db.reads.Query(ctx, `
		select `+transferColumns+` from payment_transfers
		where chain_id = @chain and tx_hash = @tx and state <> 'revoked'
		order by log_index`, args) // index payment_transfers_once
	granted, err := collect[accounts.Transfer](rows, err)
	if err != nil {
		return nil, nil, fmt.Errorf("read the grants of %s: %w", txHash, err)
	}
	return claims, granted, nil
}

// quoteGracePeriod is how far the chain's clock may be behind the database's clock.
const quoteGracePeriod = time.Minute

// Holders returns the key that held each amount at an instant. Amounts without a holder are absent.
func (db PaymentStore) Holders(ctx context.Context, amounts []accounts.Micros, at time.Time) (map[accounts.Micros]int64, error) {
	rows, err := db.reads.Query(ctx, `
		select distinct on (amount) amount, key_id from payment_quotes
		where amount = any(@amounts) and held && tstzrange(@at, @at::timestamptz + @grace, '[]')
		order by amount, lower(held)`,
		pgx.NamedArgs{"amounts": amounts, "at": at, "grace": quoteGracePeriod})
	list, err := collect[struct {
		Amount accounts.Micros
		KeyID  int64
	}](rows, err)
	if err != nil {
		return nil, fmt.Errorf("look who holds amounts: %w", err)
	}
	out := map[accounts.Micros]int64{}
	for _, h := range list {
		out[h.Amount] = h.KeyID
	}
	return out, nil
}

// DecideClaims applies a decision in one transaction, with its credits, Pro periods and reversals. If a claim has changed since it was
// read, it changes nothing and returns ErrMoved.
func (db PaymentStore) DecideClaims(ctx context.Context, f task.Fence, d accounts.ClaimsDecision) error {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockClaims(ctx, tx, d); err != nil {
			return err
		}
		rows := int64(0)
		for _, e := range d.Ends {
			tag, err := tx.Exec(ctx, `
				update payment_transfers set state = @state, reason = nullif(@reason, '') 
				where id = @id and (state = 'provisional' or state = 'confirmed' and @reason = 'sender_proved')`,
				pgx.NamedArgs{"id": e.ID, "state": e.State, "reason": string(e.Reason)})
			if err != nil {
				return err
			}
			if tag.RowsAffected() == 0 {
				return ErrMoved
			}
			rows++
		}
		for _, g := range d.Grants {
			_, err := tx.Exec(ctx, `
				insert into payment_transfers (claim_id, key_id, chain_id, tx_hash, log_index, sender, amount, block_number, block_hash, block_time,
					confirmations, proven, gives, state, granted_at)
				values (@claim, @key, @chain, @tx, @log, @sender, @amount, @number, @hash, @time, @confirmations, @proven, @gives, @state, billing_now())`,
				pgx.NamedArgs{
					"claim": g.ClaimID, "key": g.KeyID, "chain": int64(d.ChainID), "tx": d.TxHash, "log": g.LogIndex, "sender": g.Sender,
					"amount": int64(g.Amount), "number": g.BlockNumber, "hash": g.BlockHash, "time": g.BlockTime, "confirmations": g.Confirmations,
					"proven": g.Proven, "gives": g.Gives, "state": g.State,
				})
			if code(err) == "23505" {
				return ErrMoved
			}
			if err != nil {
				return err
			}
			rows++
		}
		for _, v := range d.Verdicts {
			_, err := tx.Exec(ctx, `
				update payment_claims
				set state = @state, reason = nullif(@reason, ''), answered_at = @answered, looked_at = billing_now(),
					expires_at = coalesce(@until, expires_at)
				where id = @id`,
				pgx.NamedArgs{"id": v.Of.ID, "state": v.State, "reason": string(v.Reason), "answered": v.Of.AskedAt, "until": orNull(v.Until)})
			if err != nil {
				return err
			}
		}
		return checkFence(ctx, tx, f, rows)
	})
	if err != nil {
		return fmt.Errorf("decide the claims of %s: %w", d.TxHash, err)
	}
	return nil
}

// lockClaims locks the rows of a decision: keys before claims, as claim_transfer does.
func lockClaims(ctx context.Context, tx pgx.Tx, d accounts.ClaimsDecision) error {
	var keys, ids []int64
	seen := map[int64]accounts.Claim{}
	for _, v := range d.Verdicts {
		keys, ids = append(keys, v.Of.KeyID), append(ids, v.Of.ID)
		seen[v.Of.ID] = v.Of
	}
	if err := lockKeys(ctx, tx, keys...); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, `
		select id, state, signature from payment_claims where id = any(@ids) order by id for no key update`, pgx.NamedArgs{"ids": ids})
	list, err := collect[struct {
		ID        int64
		State     string
		Signature *string
	}](rows, err)
	if err != nil {
		return err
	}
	for _, c := range list {
		was := seen[c.ID]
		if c.State != was.State || (c.Signature == nil) != (was.Signature == nil) || c.Signature != nil && *c.Signature != *was.Signature {
			return ErrMoved
		}
	}
	return nil
}

// ClaimFilter selects claims. Empty fields select all.
type ClaimFilter struct {
	// Key is a key's public id.
	Key    string
	TxHash string
	State  string
	Limit  int
}

// Claims lists claims, newest first.
func (db PaymentStore) Claims(ctx context.Context, f ClaimFilter) ([]accounts.Claim, error) {
	rows, err := db.reads.Query(ctx, `
		select `+claimColumns+` from payment_claims c join keys k on k.id = c.key_id
		where (@key = '' or k.public_id = @key) and (@tx = '' or c.tx_hash = @tx) and (@state = '' or c.state = @state)
		order by c.id desc
		limit @limit`, pgx.NamedArgs{"key": f.Key, "tx": f.TxHash, "state": f.State, "limit": f.Limit})
	list, err := collect[accounts.Claim](rows, err)
	if err != nil {
		return nil, fmt.Errorf("list the claims: %w", err)
	}
	return list, nil
}

// TransfersOf lists all grants of a claim, including revoked ones, oldest first.
func (db PaymentStore) TransfersOf(ctx context.Context, claim int64) ([]accounts.Transfer, error) {
	rows, err := db.reads.Query(ctx, `select `+transferColumns+` from payment_transfers where claim_id = @claim order by id`,
		pgx.NamedArgs{"claim": claim}) // index payment_transfers_of
	list, err := collect[accounts.Transfer](rows, err)
	if err != nil {
		return nil, fmt.Errorf("list what claim %d brought: %w", claim, err)
	}
	return list, nil
}
