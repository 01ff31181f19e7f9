package workers

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"tidemark/accounts/x402"
	"tidemark/chain/base"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// X402 is the job that asks the chain what became of payments by request, and whether the settings name the right token.
type X402 struct {
	DB *postgres.DB
	// Chain is the seller's network. Nil: no node is known, and what is unclear waits for a person.
	Chain  *base.Client
	Seller x402.Seller
	// Now is the wall clock.
	Now func() time.Time
}

// How soon the token and a payment are looked at again.
const (
	x402Terms = time.Hour
	x402Retry = 30 * time.Second
)

// Run looks at what the subject names: the token, or a payment by its number.
func (x X402) Run(ctx context.Context, t task.Task) error {
	if t.Subject == postgres.X402SubjectTerms {
		return x.terms(ctx, t)
	}
	id, err := strconv.ParseInt(t.Subject, 10, 64)
	if err != nil {
		return Permanent(fmt.Errorf("unknown payment %q", t.Subject))
	}
	list, err := x.DB.X402Payments(ctx, postgres.X402Filter{ID: id, Limit: 1})
	if err != nil || len(list) == 0 {
		return err
	}
	if list[0].State == postgres.X402Settled {
		return x.confirm(ctx, t, list[0])
	}
	next, err := x.Look(ctx, list[0])
	if err == nil {
		return x.DB.ResolveX402(ctx, t.Fence, next)
	}
	// It is checked again without limit, regardless of the policy of failures.
	if again := x.DB.RetryX402(ctx, t.Fence, t.Subject, x.Now().Add(x402Retry)); again != nil {
		return again
	}
	return Permanent(err)
}

// How long a settlement that the facilitator stated may be invisible on the chain, the interval of checks for a missing settlement, and
// their end.
const (
	x402Invisible = 10 * time.Minute
	x402Seldom    = time.Hour
	x402Search    = 3 * 24 * time.Hour
)

// confirm looks whether the chain shows a payment that was settled by the facilitator's word.
func (x X402) confirm(ctx context.Context, t task.Task, p postgres.X402Payment) error {
	if x.Chain == nil {
		return nil
	}
	f, err := x.Authorization(ctx, p)
	now := x.Now()
	switch {
	case err != nil:
		if again := x.DB.RetryX402(ctx, t.Fence, t.Subject, now.Add(x402Retry)); again != nil {
			return again
		}
		return Permanent(err)
	case f.State == base.AuthorizationPaid:
		return x.DB.SawX402(ctx, t.Fence, p, true, time.Time{})
	case f.State != base.AuthorizationVoid && (f.State == base.AuthorizationOpen || now.Before(p.ValidBefore.Add(x402Invisible))):
		return x.DB.RetryX402(ctx, t.Fence, t.Subject, now.Add(max(x402Retry, p.ValidBefore.Sub(now))))
	}
	again := now.Add(x402Seldom)
	if now.After(p.CreatedAt.Add(x402Search)) {
		again = time.Time{}
	}
	return x.DB.SawX402(ctx, t.Fence, p, false, again)
}

// Look decides the next state of a payment by the present state of the chain.
func (x X402) Look(ctx context.Context, p postgres.X402Payment) (postgres.X402Resolution, error) {
	stay := postgres.X402Resolution{Of: p, State: p.State}
	switch p.State {
	case postgres.X402Settling, postgres.X402Unknown, postgres.X402Failed:
	default:
		return stay, nil
	}
	u := x402.Unresolved{State: p.State, Denied: p.Denied, ValidBefore: p.ValidBefore}
	if p.Reason != nil {
		u.Reason = *p.Reason
	}
	if p.LeaseUntil != nil {
		u.LeaseUntil = *p.LeaseUntil
	}
	var seen x402.ChainStatus
	var tx string
	if x.Chain != nil {
		f, err := x.Authorization(ctx, p)
		if err != nil {
			return stay, err
		}
		tx = f.TxHash
		seen = x402.ChainStatus{
			Paid: f.State == base.AuthorizationPaid, Void: f.State == base.AuthorizationVoid, Expired: f.State == base.AuthorizationExpired,
		}
	}
	next := x402.Resolve(u, seen, x.Now())
	if x.Chain == nil && (next.State != x402.StateSettling) {
		next.Again = time.Time{} // there is no chain to ask
	}
	return postgres.X402Resolution{Of: p, State: next.State, TxHash: tx, Reason: next.Reason, Again: next.Again}, nil
}

// Authorization asks the chain for a payment's authorization.
func (x X402) Authorization(ctx context.Context, p postgres.X402Payment) (base.AuthorizationStatus, error) {
	if uint64(p.ChainID) != x.Chain.ChainID() {
		return base.AuthorizationStatus{}, fmt.Errorf("payment %d is on chain %d, and BASE_RPC_URL serves %d", p.ID, p.ChainID, x.Chain.ChainID())
	}
	a, err := base.NewAuthorization(p.Asset, p.Payer, p.PayTo, p.Nonce, p.Amount, p.ValidBefore, p.CreatedAt)
	if err != nil {
		return base.AuthorizationStatus{}, fmt.Errorf("payment %d: %w", p.ID, err)
	}
	return x.Chain.Authorization(ctx, a)
}

// terms compares the token of the settings with the one at the contract.
func (x X402) terms(ctx context.Context, t task.Task) error {
	if x.Chain == nil {
		return nil
	}
	asset := x.Seller.Asset
	token, err := base.ParseAddress(asset.Address)
	if err != nil {
		return Permanent(fmt.Errorf("X402_ASSET: %w", err))
	}
	fault, err := x.Chain.CheckDomain(ctx, token, base.Domain{Name: asset.Name, Version: asset.Version})
	if err != nil {
		if again := x.DB.RetryX402(ctx, t.Fence, t.Subject, x.Now().Add(x402Retry)); again != nil {
			return again
		}
		return Permanent(err)
	}
	return x.DB.SaveX402Terms(ctx, t.Fence, postgres.X402Terms{
		ChainID: x.Seller.Network.ChainID, Asset: asset.Key(), Name: asset.Name, Version: asset.Version, OK: fault == "", Detail: fault,
	}, x.Now().Add(x402Terms))
}
