package postgres_test

import (
	"errors"
	"fmt"
	"testing"

	"tidemark/accounts"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// A lock of a row is a write with a commit. Whoever has a key could ask for it without end.
func TestARefusedClaimWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	k, _ := b.register("claimant")
	tx := func(n int) string { return fmt.Sprintf("0x%064x", n) }
	claim := func(n int) error {
		_, _, err := b.api.ClaimTransfer(t.Context(), k.ID, 1, tx(n), nil)
		return err
	}
	for n := range accounts.MaxClaims {
		if err := claim(n); err != nil {
			t.Fatal(err)
		}
	}
	state := func() string {
		return fmt.Sprint(b.query(fmt.Sprintf(`select ctid::text, xmin::text, xmax::text from keys where id = %d`, k.ID)), b.query(`select count(*), max(asked_at) from payment_claims`))
	}
	before := state()
	for n := range 3 {
		if err := claim(1000 + n); !errors.Is(err, postgres.ErrTooManyClaims) {
			t.Errorf("a claim too many: %v", err)
		}
	}
	if after := state(); after != before {
		t.Errorf("a refused claim changed %s\nto %s", before, after)
	}
	if err := claim(3); err != nil {
		t.Errorf("a claim that is there is asked again: %v", err)
	}
	if err := claim(999); !errors.Is(err, postgres.ErrTooManyClaims) {
		t.Errorf("another one: %v", err)
	}
	if _, _, err := b.api.ClaimTransfer(t.Context(), k.ID+1000, 1, tx(1), nil); !errors.Is(err, postgres.ErrEnded) {
		t.Errorf("a key that is not there: %v", err)
	}
}

// A decision is about the claims as they were read. A signature that came since may change whose the transfer is.
func TestADecisionWithoutTheNewestSignatureChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	k, _ := b.register("claimant")
	hash := fmt.Sprintf("0x%064x", 1)
	claim := func(signature *string) accounts.Claim {
		t.Helper()
		if _, _, err := b.api.ClaimTransfer(t.Context(), k.ID, 1, hash, signature); err != nil {
			t.Fatal(err)
		}
		claims, _, err := b.worker.ClaimsOf(t.Context(), 1, hash)
		if err != nil || len(claims) != 1 {
			t.Fatal(claims, err)
		}
		return claims[0]
	}
	decide := func(c accounts.Claim) error {
		return b.worker.DecideClaims(t.Context(), task.Fence{}, accounts.ClaimsDecision{
			ChainID: 1, TxHash: hash, Verdicts: []accounts.ClaimVerdict{{Of: c, State: accounts.ClaimRejected, Reason: accounts.ReasonUnknown}},
		})
	}
	one, two := "0x01", "0x02"
	unsigned, signed, newest := claim(nil), claim(&one), claim(&two)
	for what, c := range map[string]accounts.Claim{"without a signature": unsigned, "with another signature": signed} {
		if err := decide(c); !errors.Is(err, postgres.ErrMoved) {
			t.Errorf("a decision on the claim %s: %v", what, err)
		}
	}
	if err := decide(newest); err != nil {
		t.Errorf("a decision on the claim as it is: %v", err)
	}
}
