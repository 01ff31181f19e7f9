package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// The states of an x402 payment.
const (
	X402Reserved = "reserved" // no facilitator was asked to settle it
	X402Settling = "settling" // the facilitator is being asked, or was when the process ended
	X402Unknown  = "unknown"  // the facilitator's response is unknown, or waits for the chain
	X402Settled  = "settled"  // the payer paid
	X402Failed   = "failed"   // the payer did not pay; the same authorization may be tried again while it is valid
)

// The outcomes of a presented payment.
const (
	// X402Reserve means that the caller now holds the payment and can continue.
	X402Reserve = "reserved"
	// X402Redeliver means that the payment is settled, but was never delivered for this request. The caller holds it and must deliver
	// without a charge.
	X402Redeliver = "redeliver"
	// X402Unclear means that the money may have been taken for this request. The caller holds the payment and must wait for the state of
	// the chain.
	X402Unclear = "unclear"
	// X402Busy means that another request holds the payment.
	X402Busy = "busy"
	// X402Used means that the payment was delivered, or that it was or may have been taken for another request.
	X402Used = "used"
)

// X402Authorization is a payment that a client presents for a resource. Addresses, nonce and digest are in lower case.
type X402Authorization struct {
	ChainID                    uint64
	Asset, Payer, Nonce, PayTo string
	// Micro is the amount in micro-dollars.
	Micro       int64
	ValidBefore time.Time
	// Digest identifies the signed message with its signature. Resource is the path and query of the purchase.
	Digest, Resource string
	// Version is the protocol version.
	Version int
	// Answer is the SHA-256 of the response that was built for it, in hex.
	Answer string
}

// X402Lease makes its owner the holder of a payment until another caller becomes the holder.
type X402Lease struct {
	ID      int64
	Attempt int
}

// X402Reservation is the result of a reservation.
type X402Reservation struct {
	Outcome string
	// Hold is zero if the caller did not become the holder.
	Hold X402Lease
	// TxHash is the settlement's transaction, empty if it is not known.
	TxHash string
}

// ReserveX402 reserves an authorization for the time of the lease. An authorization has one holder at a time.
func (db PaymentStore) ReserveX402(ctx context.Context, a X402Authorization, lease time.Duration) (X402Reservation, error) {
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

// ReleaseX402 releases a reservation before a facilitator was asked to settle it, so that the payment can be presented again.
func (db PaymentStore) ReleaseX402(ctx context.Context, h X402Lease) error {
	_, err := db.x402Hold(ctx, h, `select x402_release(@id, @attempt)`, pgx.NamedArgs{})
	return err
}

// SettlingX402 records that the caller will now ask the facilitator to settle, which takes at most the lease. If the caller dies, a worker
// checks the chain after the lease. The caller may ask the facilitator only if the result is true.
func (db PaymentStore) SettlingX402(ctx context.Context, h X402Lease, lease time.Duration) (bool, error) {
	return db.x402Hold(ctx, h, `select x402_settling(@id, @attempt, @lease)`, pgx.NamedArgs{"lease": lease})
}

// SettledX402 records the facilitator's statement that the payer paid. It reports whether the caller must deliver; the lease is the time
// for that.
func (db PaymentStore) SettledX402(ctx context.Context, h X402Lease, txHash string, lease time.Duration) (bool, error) {
	ok, err := db.x402Hold(ctx, h, `select x402_settled(@id, @attempt, @tx_hash, @lease)`, pgx.NamedArgs{"tx_hash": txHash, "lease": lease})
	if code(err) == "23505" {
		return false, fmt.Errorf("%w: the transaction was named for another payment", ErrExists)
	}
	return ok, err
}

// X402Unsettled is a settlement that did not succeed.
type X402Unsettled struct {
	// State is X402Failed, or X402Unknown if the chain must be checked.
	State string
	// TxHash is a transaction that the facilitator named nevertheless, empty for none.
	TxHash string
	Reason string
	// Denied means that the facilitator states that it did not take the payment.
	Denied bool
}

// UnsettledX402 records a settlement that did not succeed. A worker checks the chain at once. If the outcome is unknown, the caller stays
// the holder.
func (db PaymentStore) UnsettledX402(ctx context.Context, h X402Lease, u X402Unsettled) (bool, error) {
	return db.x402Hold(ctx, h, `select x402_unsettled(@id, @attempt, @state, nullif(@tx_hash, ''), @reason, @denied)`,
		pgx.NamedArgs{"state": u.State, "tx_hash": u.TxHash, "reason": u.Reason, "denied": u.Denied})
}

// EndX402Lease ends the caller's hold of a payment. delivered means that it was delivered; otherwise a later request can receive the delivery.
func (db PaymentStore) EndX402Lease(ctx context.Context, h X402Lease, delivered bool) error {
	_, err := db.x402Hold(ctx, h, `select x402_leave(@id, @attempt, @delivered)`, pgx.NamedArgs{"delivered": delivered})
	return err
}

func (db PaymentStore) x402Hold(ctx context.Context, h X402Lease, sql string, args pgx.NamedArgs) (held bool, err error) {
	args["id"], args["attempt"] = h.ID, h.Attempt
	if err := db.pool.QueryRow(ctx, sql, args).Scan(&held); err != nil {
		return false, fmt.Errorf("payment %d: %w", h.ID, asUnavailable(err))
	}
	return held, nil
}

// X402State is the state of a payment.
type X402State struct {
	// State is empty if the caller no longer holds the payment.
	State          string
	TxHash, Reason string
}

// ClaimX402 returns the state of a payment to its holder. If it is settled, the holder must deliver and has the lease for that.
func (db PaymentStore) ClaimX402(ctx context.Context, h X402Lease, lease time.Duration) (X402State, error) {
	var s X402State
	err := db.pool.QueryRow(ctx, `
		select coalesce(state, ''), coalesce(tx_hash, ''), coalesce(reason, '') from x402_take(@id, @attempt, @lease)`,
		pgx.NamedArgs{"id": h.ID, "attempt": h.Attempt, "lease": lease}).Scan(&s.State, &s.TxHash, &s.Reason)
	if err != nil {
		return X402State{}, fmt.Errorf("payment %d: %w", h.ID, asUnavailable(err))
	}
	return s, nil
}

// X402Terms is the result of a worker's check of the token's contract.
type X402Terms struct {
	ChainID              uint64
	Asset, Name, Version string
	// OK means that payers who sign for Name and Version can be charged. Detail describes the result.
	OK        bool
	Detail    string
	CheckedAt time.Time
}

// X402Verdict returns the last check of the token in the settings. It returns ErrNotFound if no worker has checked it. Of t it reads the
// chain, the asset in lower case, name and version.
func (db PaymentStore) X402Verdict(ctx context.Context, t X402Terms) (X402Terms, error) {
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
