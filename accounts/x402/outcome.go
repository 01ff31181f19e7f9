package x402

import "time"

// The states of a payment after its settlement was requested, as far as the chain can decide them.
const (
	StateSettling = "settling"
	StateUnknown  = "unknown"
	StateSettled  = "settled"
	StateFailed   = "failed"
)

// ChainStatus is the state of an authorization on the chain. The zero value means that the chain has not seen it and would still accept it.
type ChainStatus struct {
	// Paid: the authorization was used, and it moved the money as signed.
	Paid bool
	// Void: the nonce was used, but not for this transfer.
	Void bool
	// Expired: the chain has not seen the authorization and will no longer accept it.
	Expired bool
}

// Unresolved is a payment whose outcome is not certain.
type Unresolved struct {
	State string
	// Denied reports that the facilitator said that it did not settle the payment.
	Denied bool
	// Reason is the last reason given.
	Reason      string
	ValidBefore time.Time
	// LeaseUntil is the end of the settling process's lease. Zero means no lease.
	LeaseUntil time.Time
}

// Resolution is the next state of an unresolved payment.
type Resolution struct {
	State, Reason string
	// Again is when to query the chain again. Zero means never.
	Again time.Time
}

// Resolve returns the next state of a payment, given its state on the chain at an instant of the wall clock. The chain overrides the
// facilitator. A payment that the chain has not seen stays unknown until its authorization expires, unless the facilitator denies it. A
// denied payment is checked for just as long.
func Resolve(u Unresolved, seen ChainStatus, now time.Time) Resolution {
	const (
		soon = 5 * time.Second
		// The chain's clock may lag behind ours: by a block time, or indefinitely without new transactions.
		slow, lasting, seldom = time.Minute, time.Hour, 10 * time.Minute
	)
	var again time.Time
	switch late := now.Sub(u.ValidBefore); {
	case late < 0:
		again = now.Add(min(soon, -late+time.Second))
	case late < lasting:
		again = now.Add(max(soon, min(late, slow)))
	default:
		again = now.Add(seldom)
	}
	switch {
	case seen.Paid:
		return Resolution{State: StateSettled}
	case u.State == StateSettling && now.Before(u.LeaseUntil):
		// The process that requested the settlement still holds its lease and can report the outcome.
		return Resolution{State: u.State, Reason: u.Reason, Again: u.LeaseUntil}
	case seen.Void:
		return Resolution{State: StateFailed, Reason: "the authorization was cancelled, or used for something else"}
	case seen.Expired && u.Reason != "" && u.Denied:
		return Resolution{State: StateFailed, Reason: u.Reason}
	case seen.Expired:
		return Resolution{State: StateFailed, Reason: "the authorization was never used and is no longer good"}
	case u.State == StateFailed, u.Denied:
		if late := u.ValidBefore.Add(soon); now.Before(late) {
			again = late
		}
		return Resolution{State: StateFailed, Reason: u.Reason, Again: again}
	case u.State == StateSettling:
		return Resolution{State: StateUnknown, Reason: "the settlement was not concluded", Again: again}
	}
	return Resolution{State: u.State, Reason: u.Reason, Again: again}
}
