package x402_test

import (
	"testing"
	"time"

	"tidemark/accounts/x402"
)

func TestWhatTheChainSaysDecides(t *testing.T) {
	t.Parallel()
	open, paid, void, expired := x402.ChainStatus{}, x402.ChainStatus{Paid: true}, x402.ChainStatus{Void: true}, x402.ChainStatus{Expired: true}
	settling := x402.Unresolved{State: x402.StateSettling, ValidBefore: now.Add(time.Minute), LeaseUntil: now.Add(-time.Second)}
	held := settling
	held.LeaseUntil = now.Add(time.Minute)
	unknown := x402.Unresolved{State: x402.StateUnknown, ValidBefore: now.Add(time.Minute)}
	denied := x402.Unresolved{State: x402.StateUnknown, Denied: true, Reason: "insufficient_funds", ValidBefore: now.Add(time.Minute)}
	failed := x402.Unresolved{State: x402.StateFailed, ValidBefore: now.Add(time.Minute)}
	for _, tt := range []struct {
		name  string
		u     x402.Unresolved
		seen  x402.ChainStatus
		state string
		again bool
	}{
		{"paid while its asker is waited for", held, paid, x402.StateSettled, false},
		{"not seen while its asker is waited for", held, open, x402.StateSettling, true},
		{"not seen, its asker is gone", settling, open, x402.StateUnknown, true},
		{"paid, its asker is gone", settling, paid, x402.StateSettled, false},
		{"no longer good, its asker is gone", settling, expired, x402.StateFailed, false},
		{"unknown and paid", unknown, paid, x402.StateSettled, false},
		{"unknown and not seen", unknown, open, x402.StateUnknown, true},
		{"unknown and no longer good", unknown, expired, x402.StateFailed, false},
		{"unknown and cancelled", unknown, void, x402.StateFailed, false},
		{"denied and not seen", denied, open, x402.StateFailed, true},
		{"denied and paid all the same", denied, paid, x402.StateSettled, false},
		{"denied and no longer good", denied, expired, x402.StateFailed, false},
		{"failed and paid all the same", failed, paid, x402.StateSettled, false},
		{"failed and not seen", failed, open, x402.StateFailed, true},
		{"failed and no longer good", failed, expired, x402.StateFailed, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := x402.Resolve(tt.u, tt.seen, now)
			if got.State != tt.state || got.Again.IsZero() == tt.again {
				t.Errorf("%+v, want the state %s, again %t", got, tt.state, tt.again)
			}
			if tt.again && !got.Again.After(now) {
				t.Errorf("looked at again at %s, and it is %s", got.Again, now)
			}
		})
	}
	// The chain's clock may stop: queries become rare but do not end.
	unknown.ValidBefore = now.Add(-24 * time.Hour)
	if got := x402.Resolve(unknown, open, now); got.State != x402.StateUnknown || got.Again.Sub(now) < 5*time.Minute {
		t.Errorf("a day later: %+v", got)
	}
}
