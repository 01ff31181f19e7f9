package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
)

// ChannelClaims is notified when a claim is decided. The payload is Claim.ID.
const ChannelClaims = "claims"

// ErrTooManyClaims means that accounts.MaxClaims claims of the key are already waiting.
var ErrTooManyClaims = errors.New("too many claims of the key wait")

// ErrClaimsFull means that the limit of waiting claims of all keys is reached.
var ErrClaimsFull = errors.New("too many claims wait")

const claimColumns = `c.id, c.key_id, k.public_id, k.created_at as key_made, c.chain_id, c.tx_hash, c.signature, c.state, c.reason, c.created_at, c.asked_at,
	c.answered_at, c.expires_at`

// ClaimTransfer records that a key claims a transaction, and schedules a check of the chain unless the key already has the transfer. It
// returns the claim's number, and the instant that a decision must answer. It returns ErrEnded if the key was revoked. It returns
// ErrTooManyClaims if too many claims of the key wait, and ErrClaimsFull if too many claims of all keys wait.
func (db PaymentStore) ClaimTransfer(ctx context.Context, key int64, chainID uint64, txHash string, signature *string) (id int64, asked time.Time, err error) {
	var outcome string
	var claim *int64
	var at *time.Time
	err = db.pool.QueryRow(ctx, `select outcome, claim_id, asked_at from claim_transfer(@key, @chain, @tx, @signature, @most, @keep)`,
		pgx.NamedArgs{
			"key": key, "chain": int64(chainID), "tx": txHash, "signature": signature, "most": accounts.MaxClaims, "keep": accounts.ClaimTTL,
		}).Scan(&outcome, &claim, &at)
	switch {
	case err != nil:
		return 0, time.Time{}, fmt.Errorf("claim a transfer: %w", asUnavailable(err))
	case outcome == "unknown":
		return 0, time.Time{}, ErrEnded
	case outcome == "too_many":
		return 0, time.Time{}, ErrTooManyClaims
	case outcome == "full":
		return 0, time.Time{}, ErrClaimsFull
	}
	return *claim, *at, nil
}

// ClaimBy returns a key's claim of a transaction and its current grants. It returns ErrNotFound if the key has not claimed it.
func (db PaymentStore) ClaimBy(ctx context.Context, key int64, chainID uint64, txHash string) (accounts.Claim, []accounts.Transfer, error) {
	args := pgx.NamedArgs{"key": key, "chain": int64(chainID), "tx": txHash}
	rows, err := db.reads.Query(ctx, `
		select `+claimColumns+` from payment_claims c join keys k on k.id = c.key_id
		where c.chain_id = @chain and c.tx_hash = @tx and c.key_id = @key`, args) // unique key
	if err != nil {
		return accounts.Claim{}, nil, fmt.Errorf("read a claim: %w", asUnavailable(err))
	}
	c, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[accounts.Claim])
	if errors.Is(err, pgx.ErrNoRows) {
		return accounts.Claim{}, nil, fmt.Errorf("the claim: %w", ErrNotFound)
	}
	if err != nil {
		return accounts.Claim{}, nil, fmt.Errorf("read a claim: %w", asUnavailable(err))
	}
	list, err := transfersOf(ctx, db.pool, c.ID)
	if err != nil {
		return accounts.Claim{}, nil, asUnavailable(err)
	}
	return c, list, nil
}

const transferColumns = `id, claim_id, key_id, tx_hash, log_index, sender, amount, block_number, block_hash, block_time, confirmations, proven, quoted, gives,
	state, granted_at, balance, pro_until, extended, ended_at, reason`

func transfersOf(ctx context.Context, q querier, claim int64) ([]accounts.Transfer, error) {
	rows, err := q.Query(ctx, `
		select `+transferColumns+` from payment_transfers where claim_id = @claim and state <> 'revoked' order by log_index`, // index payment_transfers_of
		pgx.NamedArgs{"claim": claim})
	list, err := collect[accounts.Transfer](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read what a claim brought: %w", err)
	}
	return list, nil
}

// Quote is an amount that is reserved for a key: a transfer of this amount belongs to the key.
type Quote struct {
	Amount accounts.Micros
	// From and Until limit the block times of such a transfer.
	From, Until time.Time
}

// ErrNoQuote means that every amount is reserved.
var ErrNoQuote = errors.New("every amount is held")

// Quote returns the amount that is reserved for a key. If the key has no amount, Quote reserves a free one, which lasts accounts.QuoteTTL.
func (db PaymentStore) Quote(ctx context.Context, key int64) (Quote, error) {
	var amount *accounts.Micros
	var from, until *time.Time
	err := db.pool.QueryRow(ctx, `select amount, held_from, held_until from quote_amount(@key, @keep)`,
		pgx.NamedArgs{"key": key, "keep": accounts.QuoteTTL}).Scan(&amount, &from, &until)
	if err != nil {
		return Quote{}, fmt.Errorf("quote an amount: %w", asUnavailable(err))
	}
	if amount == nil {
		return Quote{}, ErrNoQuote
	}
	return Quote{Amount: *amount, From: *from, Until: *until}, nil
}
