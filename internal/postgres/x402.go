package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// The states of a payment by request.
const (
	X402Reserved = "reserved" // nobody was asked to settle it
	X402Settling = "settling" // the facilitator is asked, or was when its asker died
	X402Unknown  = "unknown"  // the facilitator's answer is not known, or waits for the chain
	X402Settled  = "settled"  // the payer paid
	X402Failed   = "failed"   // the payer did not pay; the same authorization may be tried again while it is good
)

// What a caller may do with a payment that was presented.
const (
	// X402Reserve: go on, as its holder.
	X402Reserve = "reserved"
	// X402Redeliver: it is settled and was never delivered for this very request: deliver, as its holder, without charging.
	X402Redeliver = "redeliver"
	// X402Unclear: it may have been taken, for this very request: wait for what the chain says, as its holder.
	X402Unclear = "unclear"
	// X402Busy: another request holds it.
	X402Busy = "busy"
	// X402Used: it was used, or is used up for something else.
	X402Used = "used"
)

// X402Authorization is a payment that is presented for a resource. Addresses, nonce and digest are in lower case.
type X402Authorization struct {
	ChainID                    uint64
	Asset, Payer, Nonce, PayTo string
	// Micro is the amount in micro-dollars.
	Micro       int64
	ValidBefore time.Time
	// Digest names what was signed with the signature, Resource the path and query of what is bought.
	Digest, Resource string
	// Version is that of the protocol.
	Version int
	// Answer is the SHA-256 of the answer that was built for it, in hex.
	Answer string
}

// X402Lease makes its owner the holder of a payment until another one becomes it.
type X402Lease struct {
	ID      int64
	Attempt int
}

// X402Reservation is the answer to a presentation.
type X402Reservation struct {
	Outcome string
	// Hold is zero where the outcome makes nobody the holder.
	Hold X402Lease
	// TxHash is the settlement's transaction, empty where there is none.
	TxHash string
}

// ReserveX402 takes the one place that an authorization has in the world, for so long as the lease.
func (db *DB) ReserveX402(ctx context.Context, a X402Authorization, lease time.Duration) (X402Reservation, error) {
	var p X402Reservation
	var id *int64
	var attempt *int
	var tx *string
	err := db.pool.QueryRow(ctx, `
		select outcome, id, attempt, tx_hash from x402_reserve(@chain, @asset, @payer, @nonce, @pay_to, @amount, @valid_before, @digest,
			@resource, @version::smallint, @answer, @lease)`,
		pgx.NamedArgs{
			"chain": int64(a.ChainID), "asset": a.Asset, "payer": a.Payer, "nonce": a.Nonce, "pay_to": a.PayTo, "amount": a.Micro,
			"valid_before": a.ValidBefore, "digest": a.Digest, "resource": a.Resource, "version": a.Version, "answer": a.Answer, "lease": lease,
		}).Scan(&p.Outcome, &id, &attempt, &tx)
	if err != nil {
		return X402Reservation{}, fmt.Errorf("reserve a payment: %w", asUnavailable(err))
	}
	if attempt != nil {
		p.Hold = X402Lease{ID: *id, Attempt: *attempt}
	}
	if tx != nil {
		p.TxHash = *tx
	}
	return p, nil
}

// ReleaseX402 gives back a reservation that nobody was asked to settle, so that the payment can be presented again.
func (db *DB) ReleaseX402(ctx context.Context, h X402Lease) error {
	_, err := db.x402Hold(ctx, h, `select x402_release(@id, @attempt)`, pgx.NamedArgs{})
	return err
}

// SettlingX402 says that the facilitator is about to be asked to settle, which takes the lease at most: should the holder be gone by
// then, a worker asks the chain. Only when it returns true may the facilitator be asked.
func (db *DB) SettlingX402(ctx context.Context, h X402Lease, lease time.Duration) (bool, error) {
	return db.x402Hold(ctx, h, `select x402_settling(@id, @attempt, @lease)`, pgx.NamedArgs{"lease": lease})
}

// SettledX402 records the facilitator's word that the payer paid. It tells whether the caller is to deliver, for which it has the lease.
func (db *DB) SettledX402(ctx context.Context, h X402Lease, txHash string, lease time.Duration) (bool, error) {
	ok, err := db.x402Hold(ctx, h, `select x402_settled(@id, @attempt, @tx_hash, @lease)`, pgx.NamedArgs{"tx_hash": txHash, "lease": lease})
	if code(err) == "23505" {
		return false, fmt.Errorf("%w: the transaction was named for another payment", ErrExists)
	}
	return ok, err
}

// X402Unsettled is a settlement without success.
type X402Unsettled struct {
	// State is X402Failed, or X402Unknown where the chain must be asked.
	State string
	// TxHash is a transaction that was named all the same, empty for none.
	TxHash string
	Reason string
	// Denied tells that the facilitator says that it did not take the payment.
	Denied bool
}

// UnsettledX402 records a settlement without success. A worker asks the chain at once. The caller remains the holder of what is unknown.
func (db *DB) UnsettledX402(ctx context.Context, h X402Lease, u X402Unsettled) (bool, error) {
	return db.x402Hold(ctx, h, `select x402_unsettled(@id, @attempt, @state, nullif(@tx_hash, ''), @reason, @denied)`,
		pgx.NamedArgs{"state": u.State, "tx_hash": u.TxHash, "reason": u.Reason, "denied": u.Denied})
}

// LeaveX402 ends the hold of a payment, which was delivered or is to be delivered to one who asks again.
func (db *DB) LeaveX402(ctx context.Context, h X402Lease, delivered bool) error {
	_, err := db.x402Hold(ctx, h, `select x402_leave(@id, @attempt, @delivered)`, pgx.NamedArgs{"delivered": delivered})
	return err
}

func (db *DB) x402Hold(ctx context.Context, h X402Lease, sql string, args pgx.NamedArgs) (held bool, err error) {
	args["id"], args["attempt"] = h.ID, h.Attempt
	if err := db.pool.QueryRow(ctx, sql, args).Scan(&held); err != nil {
		return false, fmt.Errorf("payment %d: %w", h.ID, asUnavailable(err))
	}
	return held, nil
}

// X402State is how a payment stands.
type X402State struct {
	// State is empty where the caller holds the payment no longer.
	State          string
	TxHash, Reason string
}

// ClaimX402 returns how a payment stands to its holder, who is to deliver where it is settled, and has the lease for that.
func (db *DB) ClaimX402(ctx context.Context, h X402Lease, lease time.Duration) (X402State, error) {
	var s X402State
	err := db.pool.QueryRow(ctx, `
		select coalesce(state, ''), coalesce(tx_hash, ''), coalesce(reason, '') from x402_take(@id, @attempt, @lease)`,
		pgx.NamedArgs{"id": h.ID, "attempt": h.Attempt, "lease": lease}).Scan(&s.State, &s.TxHash, &s.Reason)
	if err != nil {
		return X402State{}, fmt.Errorf("payment %d: %w", h.ID, asUnavailable(err))
	}
	return s, nil
}

// X402Terms is what a worker found at the token's contract.
type X402Terms struct {
	ChainID              uint64
	Asset, Name, Version string
	// OK tells that payers who sign for Name and Version can be charged. Detail says what was found.
	OK        bool
	Detail    string
	CheckedAt time.Time
}

// X402Verdict returns what was found about the token of the settings last; ErrNotFound when no worker has looked. Of t, the chain, the
// asset in lower case, name and version are read.
func (db *DB) X402Verdict(ctx context.Context, t X402Terms) (X402Terms, error) {
	err := db.reads.QueryRow(ctx, `
		select ok, detail, checked_at from x402_terms
		where chain_id = @chain and asset = @asset and name = @name and version = @version`, // primary key
		pgx.NamedArgs{"chain": int64(t.ChainID), "asset": t.Asset, "name": t.Name, "version": t.Version}).
		Scan(&t.OK, &t.Detail, &t.CheckedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return X402Terms{}, ErrNotFound
	}
	if err != nil {
		return X402Terms{}, fmt.Errorf("read the verdict on the token: %w", asUnavailable(err))
	}
	return t, nil
}
