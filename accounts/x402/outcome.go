package x402

import "time"

// The states of a payment that somebody was asked to settle, as far as the chain can say anything about them.
const (
	StateSettling = "settling"
	StateUnknown  = "unknown"
	StateSettled  = "settled"
	StateFailed   = "failed"
)

// ChainStatus is what the chain shows of an authorization. The zero value is an authorization that the chain has not seen and would take.
type ChainStatus struct {
	// Paid: it was taken, and the money moved as it says.
	Paid bool
	// Void: its nonce was used without that.
	Void bool
	// Expired: the chain has not seen it and does not take it any more.
	Expired bool
}

// Unresolved is a payment whose end is not certain.
type Unresolved struct {
	State string
	// Denied tells that the facilitator says that it did not take the payment.
	Denied bool
	// Reason is what was last said about it.
	Reason      string
	ValidBefore time.Time
	// LeaseUntil is until when the one who asked for the settlement is waited for; zero for nobody.
	LeaseUntil time.Time
}

// Resolution is what becomes of an unresolved payment.
type Resolution struct {
	State, Reason string
	// Again is when to look at the chain once more; zero for never.
	Again time.Time
}

// Resolve says what becomes of a payment by what the chain shows of it, at an instant of the wall clock. The chain's word stands above
// the facilitator's. What it has not seen is unknown until it can no longer see it, unless the facilitator denies having taken it; and
// a denial is looked after for just as long.
func Resolve(u Unresolved, seen ChainStatus, now time.Time) Resolution {
	const (
		soon = 5 * time.Second
		// The chain's time may stand behind ours: as long as a block takes, or for ever where nobody sends anything.
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
		// Whoever asked is still there to say.
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
