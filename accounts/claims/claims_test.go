package claims_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/accounts"
	"tidemark/accounts/claims"
	"tidemark/chain/base"
)

// A transaction of an exchange pays for many keys at once: each transfer goes to the key with the best right to it, and to one only.
func TestWhoHasTheRightToATransfer(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	const exchange, wallet = "0x00000000000000000000000000000000000000aa", "0x00000000000000000000000000000000000000bb"
	transfer := func(log uint, from string, micro int64) base.Transfer {
		x := base.Granted("0x"+strings.Repeat("ab", 32), log, from, micro, "0x"+strings.Repeat("cd", 32), now)
		x.Confirmed = true
		return x
	}
	all := []base.Transfer{transfer(1, exchange, 5_000_000), transfer(2, exchange, 5_001_234), transfer(3, wallet, 6_000_000)}
	claim := func(key int64, signs ...string) claims.Claimant {
		c := claims.Claimant{
			Claim: accounts.Claim{ID: key, KeyID: key, State: accounts.ClaimPending, AskedAt: now, ExpiresAt: now.Add(time.Hour)},
			Found: all, Coming: all, Proven: map[[20]byte]bool{},
		}
		for _, from := range signs {
			c.Signature = new("0x00")
			c.Proven[base.Granted("", 0, from, 0, "", now).From] = true
		}
		return c
	}
	for _, row := range []struct {
		what      string
		claimants []claims.Claimant
		holders   map[accounts.Micros]int64
		needProof bool
		// granted maps log indices to keys, reasons keys to why they have nothing.
		granted map[int32]int64
		reasons map[int64]accounts.Reason
	}{
		{"the first claimant has it all", []claims.Claimant{claim(1), claim(2)}, nil, false, map[int32]int64{1: 1, 2: 1, 3: 1}, map[int64]accounts.Reason{2: accounts.ReasonUsed}},
		{
			"an amount of one's own is left to its holder",
			[]claims.Claimant{claim(1), claim(2)},
			map[accounts.Micros]int64{5_001_234: 2},
			false,
			map[int32]int64{1: 1, 2: 2, 3: 1},
			map[int64]accounts.Reason{},
		},
		{
			"also while the holder has not come",
			[]claims.Claimant{claim(1)},
			map[accounts.Micros]int64{5_001_234: 9},
			false,
			map[int32]int64{1: 1, 3: 1},
			map[int64]accounts.Reason{},
		},
		{
			"the sender's signature comes before the first claim",
			[]claims.Claimant{claim(1), claim(2, wallet)},
			nil, false,
			map[int32]int64{1: 1, 2: 1, 3: 2},
			map[int64]accounts.Reason{},
		},
		{
			"and after an amount of one's own",
			[]claims.Claimant{claim(1, exchange)},
			map[accounts.Micros]int64{5_000_000: 9, 5_001_234: 9, 6_000_000: 9},
			false,
			map[int32]int64{},
			map[int64]accounts.Reason{1: accounts.ReasonReserved},
		},
		{"demanded, and not there", []claims.Claimant{claim(1), claim(2, wallet)}, nil, true, map[int32]int64{3: 2}, map[int64]accounts.Reason{1: accounts.ReasonNoProof}},
	} {
		in := claims.Case{Claimants: row.claimants, Holders: row.holders, NeedProof: row.needProof, Gives: accounts.GivesBalance, Now: now}
		d := in.Decide()
		granted, reasons := map[int32]int64{}, map[int64]accounts.Reason{}
		for _, g := range d.Grants {
			if _, twice := granted[g.LogIndex]; twice {
				t.Errorf("%s: log %d is granted twice", row.what, g.LogIndex)
			}
			granted[g.LogIndex] = g.KeyID
		}
		for _, v := range d.Verdicts {
			if v.Reason != "" {
				reasons[v.Of.KeyID] = v.Reason
			}
		}
		if diff := cmp.Diff(row.granted, granted); diff != "" {
			t.Errorf("%s: -want +got\n%s", row.what, diff)
		}
		if diff := cmp.Diff(row.reasons, reasons); diff != "" {
			t.Errorf("%s: reasons -want +got\n%s", row.what, diff)
		}
	}
}

// A transaction that no chain has may be made up. It is looked for less and less often, so that it does not fill the list of runs.
func TestAMadeUpTransactionIsLookedForEverLessOften(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	claim := claims.Claimant{
		Claim: accounts.Claim{ID: 1, KeyID: 1, State: accounts.ClaimPending, AskedAt: start, ExpiresAt: start.Add(time.Hour)},
		Fault: base.ErrTransferUnknown,
	}
	looks, early := 0, 0
	for now := start; !now.IsZero(); looks++ {
		if now.Sub(start) <= 7*time.Minute {
			early++
		}
		d := claims.Case{Claimants: []claims.Claimant{claim}, Gives: accounts.GivesBalance, Now: now}.Decide()
		if len(d.Grants) > 0 || looks > 100 {
			t.Fatalf("%d grants after %d looks", len(d.Grants), looks)
		}
		if now.Equal(start) && d.Again.Sub(start) > 5*time.Second {
			t.Errorf("a transfer that is about to be mined is looked for again after %s", d.Again.Sub(start))
		}
		now = d.Again
	}
	if early > 9 || looks > 25 {
		t.Errorf("it is looked for %d times in 7 minutes and %d times in all, want at most 9 and 25", early, looks)
	}
}
