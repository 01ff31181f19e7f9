// Package claims decides which key a transfer of the stablecoin belongs to. It reads nothing: Case holds all that the decision follows
// from. Start at Case.Decide.
package claims

import (
	"errors"
	"slices"
	"strings"
	"time"

	"tidemark/accounts"
	"tidemark/chain/base"
)

// Case is all that the decision on a transaction's claims follows from.
type Case struct {
	Evidence base.Evidence
	Terms    base.Terms
	// Claimants are in the order in which they came first.
	Claimants []Claimant
	// Granted are the transfers granted at present.
	Granted []accounts.Transfer
	// Holders maps an amount to the key that held it when the block was made.
	Holders map[accounts.Micros]int64
	// NeedProof means that only the sender's signature determines the owner of a transfer.
	NeedProof bool
	// Gives is accounts.GivesBalance or accounts.GivesPro.
	Gives string
	// Now is the wall clock.
	Now time.Time
}

// Claimant is a claim with the chain's evidence for it.
type Claimant struct {
	accounts.Claim

	// Found are the transfers that can be granted now; if it is empty, Fault says why. Coming also has the transfers that are not deep
	// enough yet.
	Found, Coming []base.Transfer
	Fault         error
	// Proven reports for each sender whether it signed the claim's signature.
	Proven map[[20]byte]bool
}

// Open reports whether the claim has no transfer and still waits for one.
func (c Claimant) Open(now time.Time) bool {
	return c.State == accounts.ClaimPending || c.State == accounts.ClaimRevoked && now.Before(c.ExpiresAt)
}

// may reports whether a transfer may be this claimant's. reserved reports whether its amount reserves it for another key.
func (in Case) may(c Claimant, x base.Transfer) (ok, reserved bool) {
	if holder, held := in.Holders[accounts.Micros(x.Micro)]; held && holder != c.KeyID {
		return false, true
	}
	if c.Signature != nil || in.NeedProof {
		return c.Proven[x.From], false
	}
	return true, false
}

// Decide decides the claims. The right to a transfer belongs to the key that held its amount. Next comes the key named in its sender's
// signature, until seven days after a grant to another key. Last comes the key that claimed its transaction first.
func (in Case) Decide() accounts.ClaimsDecision {
	var d accounts.ClaimsDecision
	held, lost := in.review(&d)
	for _, x := range in.transfers() {
		c, ok := in.best(x)
		if !ok {
			continue
		}
		if g, taken := held[int32(x.LogIndex)]; taken {
			if g.ClaimID == c.ID || !movable(g, in.Now) || !c.Proven[x.From] {
				continue
			}
			// It may have been confirmed by this very look.
			d.Ends = slices.DeleteFunc(d.Ends, func(e accounts.TransferEnd) bool { return e.ID == g.ID })
			d.Ends = append(d.Ends, accounts.TransferEnd{ID: g.ID, State: accounts.ClaimRevoked, Reason: accounts.ReasonProven})
			lost[g.ClaimID] = accounts.ReasonUsed
		}
		g := in.grant(c, x)
		held[g.LogIndex] = g
		d.Grants = append(d.Grants, g)
	}
	for _, c := range in.Claimants {
		v := in.verdict(c, held, lost[c.ID])
		d.Verdicts = append(d.Verdicts, v)
		if again := in.again(c, v); !again.IsZero() && (d.Again.IsZero() || again.Before(d.Again)) {
			d.Again = again
		}
	}
	return d
}

// movable reports whether the signature of a transfer's sender may still move a grant to another key.
func movable(g accounts.Transfer, now time.Time) bool {
	return !g.Proven && !g.Quoted && now.Before(g.GrantedAt.Add(accounts.ProofKept))
}

// GrantedAt returns the time of the first grant that a signature may move; the zero time if none exists.
func (in Case) GrantedAt() (first time.Time) {
	for _, g := range in.Granted {
		if movable(g, in.Now) && (first.IsZero() || g.GrantedAt.Before(first)) {
			first = g.GrantedAt
		}
	}
	return first
}

// review looks at what was granted provisionally once more. It returns what is held after that by log index, and why claims lost
// something.
func (in Case) review(d *accounts.ClaimsDecision) (held map[int32]accounts.Transfer, lost map[int64]accounts.Reason) {
	held, lost = map[int32]accounts.Transfer{}, map[int64]accounts.Reason{}
	for _, g := range in.Granted {
		if g.State == accounts.ClaimProvisional {
			again, err := base.Reverify(in.Evidence, in.Terms, asTransfer(g))
			switch {
			case errors.Is(err, base.ErrReorganised) && in.Evidence.Receipt == nil && in.Evidence.Heads.Latest < uint64(g.BlockNumber):
				// The node is behind the one queried before, so it cannot know.
			case errors.Is(err, base.ErrReorganised):
				d.Ends = append(d.Ends, accounts.TransferEnd{ID: g.ID, State: accounts.ClaimRevoked, Reason: accounts.ReasonUnknown})
				lost[g.ClaimID] = accounts.ReasonUnknown
				continue
			case err == nil && again.Confirmed:
				g.State = accounts.ClaimConfirmed
				d.Ends = append(d.Ends, accounts.TransferEnd{ID: g.ID, State: g.State})
			}
		}
		held[g.LogIndex] = g
	}
	return held, lost
}

// transfers returns the transfers that can be granted to any claimant, in the order of the chain.
func (in Case) transfers() []base.Transfer {
	var list []base.Transfer
	seen := map[uint]bool{}
	for _, c := range in.Claimants {
		for _, x := range c.Found {
			if !seen[x.LogIndex] {
				seen[x.LogIndex] = true
				list = append(list, x)
			}
		}
	}
	return list
}

// best returns the claimant with the best right to a transfer.
func (in Case) best(x base.Transfer) (best Claimant, found bool) {
	for _, c := range in.Claimants {
		ok := false
		for _, mine := range c.Found {
			ok = ok || mine.LogIndex == x.LogIndex
		}
		if mine, _ := in.may(c, x); !ok || !mine {
			continue
		}
		if !found || c.Proven[x.From] && !best.Proven[x.From] {
			best, found = c, true
		}
	}
	return best, found
}

func (in Case) grant(c Claimant, x base.Transfer) accounts.Transfer {
	g := accounts.Transfer{
		ClaimID: c.ID, KeyID: c.KeyID, TxHash: x.TxHash, LogIndex: int32(x.LogIndex), Sender: strings.ToLower(x.From.Hex()),
		Amount: accounts.Micros(x.Micro), BlockNumber: int64(x.BlockNumber), BlockHash: x.BlockHash.Hex(), BlockTime: x.BlockTime,
		Confirmations: int64(x.Confirmations), Proven: c.Proven[x.From], Gives: in.Gives, State: accounts.ClaimProvisional,
	}
	if x.Confirmed {
		g.State = accounts.ClaimConfirmed
	}
	return g
}

// verdict returns the outcome for a claim after all grants.
func (in Case) verdict(c Claimant, held map[int32]accounts.Transfer, lost accounts.Reason) accounts.ClaimVerdict {
	v := accounts.ClaimVerdict{Of: c.Claim, State: accounts.ClaimConfirmed}
	has := false
	for _, g := range held {
		if g.ClaimID == c.ID {
			has = true
			if g.State == accounts.ClaimProvisional {
				v.State = accounts.ClaimProvisional
			}
		}
	}
	if has {
		for _, x := range c.Coming {
			if _, taken := held[int32(x.LogIndex)]; !taken {
				if ok, _ := in.may(c, x); ok {
					v.State = accounts.ClaimProvisional // there is more to come
				}
			}
		}
		return v
	}
	if v.Reason = in.reason(c, held); c.State == accounts.ClaimConfirmed && lost == "" {
		v.State, v.Reason = c.State, ""
		return v
	}
	switch {
	case c.State == accounts.ClaimProvisional, c.State == accounts.ClaimConfirmed && lost != "":
		v.State, v.Reason = accounts.ClaimRevoked, lost
		if v.Until = in.Now; lost.Retryable() {
			v.Until = in.Now.Add(accounts.ClaimTTL)
		}
	case !v.Reason.Retryable():
		v.State = accounts.ClaimRejected
	case !in.Now.Before(c.ExpiresAt):
		v.State = accounts.ClaimExpired
	default:
		v.State = c.State
	}
	return v
}

// reason is why a claim has nothing: the first that holds, in the order in which a transfer is checked.
func (in Case) reason(c Claimant, held map[int32]accounts.Transfer) accounts.Reason {
	for _, one := range []struct {
		fault  error
		reason accounts.Reason
	}{
		{base.ErrTransferUnknown, accounts.ReasonUnknown},
		{base.ErrTransferFailed, accounts.ReasonFailed},
		{base.ErrWrongToken, accounts.ReasonToken},
		{base.ErrWrongRecipient, accounts.ReasonRecipient},
		{base.ErrTooSmall, accounts.ReasonAmount},
		{base.ErrNotFinal, accounts.ReasonNotFinal},
		{base.ErrTooOld, accounts.ReasonAge},
	} {
		if errors.Is(c.Fault, one.fault) {
			return one.reason
		}
	}
	reserved, proven := true, false
	for _, x := range c.Found {
		_, theirs := in.may(c, x)
		reserved = reserved && theirs
		proven = proven || c.Proven[x.From]
	}
	switch {
	case reserved:
		return accounts.ReasonReserved
	case c.Signature != nil && !proven:
		return accounts.ReasonProof
	case c.Signature == nil && in.NeedProof:
		return accounts.ReasonNoProof
	}
	return accounts.ReasonUsed
}

// again is when a claim is looked at once more: often while its claimant may wait, and less and less often after that.
func (in Case) again(c Claimant, v accounts.ClaimVerdict) time.Time {
	const soonest = 2 * time.Second
	latest, share := time.Minute, time.Duration(8)
	switch {
	case v.State == accounts.ClaimPending && v.Reason == accounts.ReasonUnknown:
		// It may be made up, so the pause doubles. Its claimant may ask again at any time.
		latest, share = 5*time.Minute, 1
	case v.State == accounts.ClaimPending, v.State == accounts.ClaimProvisional:
	case v.State == accounts.ClaimRevoked && v.Reason.Retryable():
	default:
		return time.Time{}
	}
	return in.Now.Add(min(max(in.Now.Sub(c.AskedAt)/share, soonest), latest))
}

func asTransfer(g accounts.Transfer) base.Transfer {
	return base.Granted(g.TxHash, uint(g.LogIndex), g.Sender, int64(g.Amount), g.BlockHash, g.BlockTime)
}
