package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
)

// ChannelClaims tells of claims that have a verdict. Payload: Claim.ID.
const ChannelClaims = "claims"

// The states of a claim, as the migration explains them.
const (
	ClaimPending     = "pending"
	ClaimProvisional = "provisional"
	ClaimConfirmed   = "confirmed"
	ClaimRejected    = "rejected"
	ClaimExpired     = "expired"
	ClaimRevoked     = "revoked"
)

// ErrTooManyClaims: accounts.MaxClaims of the key's claims wait already.
var ErrTooManyClaims = errors.New("too many claims of the key wait")

// ErrClaimsFull: so many claims of all keys wait that none more is taken.
var ErrClaimsFull = errors.New("too many claims wait")

// Claim is a key's word that a transaction was for it.
type Claim struct {
	ID       int64
	KeyID    int64
	PublicID string
	// KeyMade is when the key was made.
	KeyMade time.Time
	ChainID int64
	// TxHash is in lower case.
	TxHash string
	// Signature is the sender's, nil where none was given.
	Signature *string
	State     string
	// Reason is nil before the first verdict, and where something is granted.
	Reason    *accounts.Reason
	CreatedAt time.Time
	// AskedAt is when it was asked for last; AnsweredAt is the AskedAt that the verdict answers, nil before the first one.
	AskedAt    time.Time
	AnsweredAt *time.Time
	ExpiresAt  time.Time
}

// Granted tells that the claim has brought something, and has it still.
func (c Claim) Granted() bool { return c.State == ClaimProvisional || c.State == ClaimConfirmed }

const claimColumns = `c.id, c.key_id, k.public_id, k.created_at as key_made, c.chain_id, c.tx_hash, c.signature, c.state, c.reason, c.created_at, c.asked_at,
	c.answered_at, c.expires_at`

// ClaimTransfer writes down that a key claims a transaction and has the chain asked, unless it is the key's already. It returns the
// claim's number, and the instant that a verdict must answer. ErrEnded where the key was revoked, ErrTooManyClaims where too many of the key wait,
// ErrClaimsFull where too many of all keys do.
func (db *DB) ClaimTransfer(ctx context.Context, key int64, chainID uint64, txHash string, signature *string) (id int64, asked time.Time, err error) {
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

// ClaimBy returns a key's claim of a transaction, and what is granted for it now; ErrNotFound where it has made none.
func (db *DB) ClaimBy(ctx context.Context, key int64, chainID uint64, txHash string) (Claim, []Transfer, error) {
	args := pgx.NamedArgs{"key": key, "chain": int64(chainID), "tx": txHash}
	rows, err := db.reads.Query(ctx, `
		select `+claimColumns+` from payment_claims c join keys k on k.id = c.key_id
		where c.chain_id = @chain and c.tx_hash = @tx and c.key_id = @key`, args) // unique key
	if err != nil {
		return Claim{}, nil, fmt.Errorf("read a claim: %w", asUnavailable(err))
	}
	c, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Claim])
	if errors.Is(err, pgx.ErrNoRows) {
		return Claim{}, nil, fmt.Errorf("the claim: %w", ErrNotFound)
	}
	if err != nil {
		return Claim{}, nil, fmt.Errorf("read a claim: %w", asUnavailable(err))
	}
	list, err := transfersOf(ctx, db.pool, c.ID)
	if err != nil {
		return Claim{}, nil, asUnavailable(err)
	}
	return c, list, nil
}

// Transfer is a transfer that was granted to a key.
type Transfer struct {
	ID       int64
	ClaimID  int64
	KeyID    int64
	TxHash   string
	LogIndex int32
	// Sender and BlockHash are in lower case.
	Sender      string
	Amount      accounts.Micros
	BlockNumber int64
	BlockHash   string
	BlockTime   time.Time
	// Confirmations counts the blocks there were from its own to the newest when it was granted.
	Confirmations int64
	// Proven tells that the sender has signed for the key.
	Proven bool
	// Quoted tells that the amount was one that the key held. The database says so.
	Quoted bool
	// Gives is GivesBalance or GivesPro.
	Gives string
	// State is ClaimProvisional, ClaimConfirmed or ClaimRevoked.
	State     string
	GrantedAt time.Time
	// What it brought: the balance after it, or the end of the Pro plan and whether that was running already.
	Balance  *accounts.Micros
	ProUntil *time.Time
	Extended bool
	// EndedAt is when it was confirmed or taken back, Reason why the latter.
	EndedAt *time.Time
	Reason  *accounts.Reason
}

// What a transfer is granted as.
const (
	GivesBalance = "balance"
	GivesPro     = "pro"
)

const transferColumns = `id, claim_id, key_id, tx_hash, log_index, sender, amount, block_number, block_hash, block_time, confirmations, proven, quoted, gives,
	state, granted_at, balance, pro_until, extended, ended_at, reason`

func transfersOf(ctx context.Context, q querier, claim int64) ([]Transfer, error) {
	rows, err := q.Query(ctx, `
		select `+transferColumns+` from payment_transfers where claim_id = @claim and state <> 'revoked' order by log_index`, // index payment_transfers_of
		pgx.NamedArgs{"claim": claim})
	list, err := collect[Transfer](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read what a claim brought: %w", err)
	}
	return list, nil
}

// Quote is an amount that a key holds: a transfer of it is the key's.
type Quote struct {
	Amount accounts.Micros
	// From and Until bound the blocks in which such a transfer may be.
	From, Until time.Time
}

// ErrNoQuote: every amount is held by a key.
var ErrNoQuote = errors.New("every amount is held")

// Quote returns the amount that a key holds, after taking one for accounts.QuoteKept where it holds none.
func (db *DB) Quote(ctx context.Context, key int64) (Quote, error) {
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
