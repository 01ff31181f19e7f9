package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"tidemark/accounts"
	"tidemark/accounts/claims"
	"tidemark/chain/base"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// Claims is the job that asks the chain about transfers that keys claim, and grants what it shows.
type Claims struct {
	DB *postgres.DB
	// Chain is the chain of the transfers, ChainID its id. Nil: no node is known, and nothing is decided.
	Chain   *base.Client
	ChainID uint64
	Terms   base.Terms
	// Gives is the benefit of a transfer: accounts.GivesBalance or accounts.GivesPro.
	Gives string
	// NeedProof reports whether only the sender's signature determines the owner of a transfer.
	NeedProof bool
	// Now is the wall clock.
	Now func() time.Time
	Log *slog.Logger
}

// claimsRetry is how soon the chain is asked again when no node answers.
const claimsRetry = 10 * time.Second

// Run looks at every claim of the transaction that the subject names.
func (c Claims) Run(ctx context.Context, t task.Task) error {
	if c.ChainID == 0 {
		return Permanent(errors.New("no network is set to search for transfers: X402_PAY_TO and X402_NETWORK are not set"))
	}
	asked, granted, err := c.DB.ClaimsOf(ctx, c.ChainID, t.Subject)
	if err != nil {
		return err
	}
	next, why, err := c.look(ctx, t.Subject, asked, granted)
	if err != nil {
		return err
	}
	if err := c.DB.DecideClaims(ctx, t.Fence, next); err != nil {
		return err
	}
	if c.Log != nil {
		for _, e := range next.Ends {
			if e.State == accounts.ClaimRevoked {
				c.Log.WarnContext(ctx, "a granted transfer was taken back", "transfer", e.ID, "tx", t.Subject, "reason", e.Reason)
			}
		}
	}
	// The same run looks again, without limit and regardless of the policy of failures: a claim is one row of the run log.
	pause := max(next.Again.Sub(c.Now()), 0)
	switch {
	case next.Again.IsZero() && why != nil:
		return Permanent(why)
	case why != nil:
		return WaitFor(why, pause)
	case !next.Again.IsZero():
		return RetryIn(pause, "a claim is looked at again")
	}
	return nil
}

// look decides a transaction's claims by the present state of the chain. why is the reason if nothing could be decided. The claimants see
// it, and the transaction is checked again.
func (c Claims) look(ctx context.Context, txHash string, asked []accounts.Claim, granted []accounts.Transfer) (next accounts.ClaimsDecision, why, err error) {
	now := c.Now()
	in := claims.Case{Granted: granted, Terms: c.Terms, NeedProof: c.NeedProof, Gives: c.Gives, Now: now}
	if c.Chain == nil {
		why = errors.New("claims cannot be checked: BASE_RPC_URL is not set")
		return c.undecided(txHash, asked, time.Time{}), why, nil
	}
	if in.Evidence, why = c.Chain.Evidence(ctx, txHash); why == nil {
		in.Claimants, why, err = c.claimants(ctx, asked, in)
	}
	if err != nil {
		return next, nil, err
	}
	if why != nil {
		return c.undecided(txHash, asked, now.Add(claimsRetry)), why, nil
	}
	if in.Holders, err = c.holders(ctx, in.Claimants); err != nil {
		return next, nil, err
	}
	next = in.Decide()
	next.ChainID, next.TxHash = c.ChainID, txHash
	return next, nil, nil
}

// claimants finds for each claim that is open or provisional which transfers it may be about, and whether their senders have signed.
func (c Claims) claimants(ctx context.Context, asked []accounts.Claim, in claims.Case) (list []claims.Claimant, why, err error) {
	for _, claim := range asked {
		one := claims.Claimant{Claim: claim, Proven: map[[20]byte]bool{}}
		open := one.Open(in.Now)
		if claim.State == accounts.ClaimConfirmed {
			list = append(list, one) // it wins nothing more, and may lose what it has
			continue
		}
		if !open && claim.State != accounts.ClaimProvisional {
			continue
		}
		one.Found, one.Fault = base.VerifyTransfer(in.Evidence, in.Terms, in.Now, claim.KeyMade)
		if at := in.GrantedAt(); errors.Is(one.Fault, base.ErrTooOld) && claim.Signature != nil && !at.IsZero() {
			// The sender has a week from the grant, not from the transfer.
			one.Found, one.Fault = base.VerifyTransfer(in.Evidence, in.Terms, at, claim.KeyMade)
		}
		// What will be deep enough with time: no depth is asked for, and nothing is large.
		shallow := in.Terms
		shallow.Depth, shallow.Large = 0, math.MaxInt64
		one.Coming, _ = base.VerifyTransfer(in.Evidence, shallow, in.Now, claim.KeyMade)
		if one.Coming == nil {
			one.Coming = one.Found
		}
		for _, x := range one.Coming {
			if _, asked := one.Proven[x.From]; asked || claim.Signature == nil {
				continue
			}
			message := accounts.ClaimMessage(claim.TxHash, claim.PublicID, c.ChainID)
			err := c.Chain.CheckProof(ctx, x.From, message, *claim.Signature)
			switch {
			case err == nil, errors.Is(err, base.ErrBadProof):
				one.Proven[x.From] = err == nil
			case errors.Is(err, base.ErrUnavailable):
				return nil, err, nil
			default:
				return nil, nil, fmt.Errorf("claim %d: %w", claim.ID, err)
			}
		}
		list = append(list, one)
	}
	return list, nil, nil
}

// holders finds who held the amounts of the transfers when they were made.
func (c Claims) holders(ctx context.Context, list []claims.Claimant) (map[accounts.Micros]int64, error) {
	var amounts []accounts.Micros
	var at time.Time
	for _, one := range list {
		for _, x := range one.Found {
			amounts, at = append(amounts, accounts.Micros(x.Micro)), x.BlockTime
		}
	}
	if len(amounts) == 0 {
		return nil, nil
	}
	return c.DB.Holders(ctx, amounts, at)
}

// undecided tells all who wait that nothing could be decided.
func (c Claims) undecided(txHash string, asked []accounts.Claim, again time.Time) accounts.ClaimsDecision {
	d := accounts.ClaimsDecision{ChainID: c.ChainID, TxHash: txHash}
	for _, claim := range asked {
		if one := (claims.Claimant{Claim: claim}); one.Open(c.Now()) {
			d.Verdicts = append(d.Verdicts, accounts.ClaimVerdict{Of: claim, State: claim.State, Reason: accounts.ReasonUnavailable})
			d.Again = again
		} else if claim.State == accounts.ClaimProvisional {
			d.Again = again
		}
	}
	return d
}
