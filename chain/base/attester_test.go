package base_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/go-cmp/cmp"

	"tidemark/chain"
	"tidemark/chain/base"
	"tidemark/internal/devchain"
)

// attesterAccount is the development account that attests.
const attesterAccount = 0

// heads makes the checkpoints of a chain of n picks.
func heads(tb testing.TB, n int) []chain.Checkpoint {
	tb.Helper()
	var at chain.Checkpoint
	var all []chain.Checkpoint
	for i := range n {
		l, err := chain.Next(at, "NVDA", fmt.Sprintf("%d.50", 100+i), time.Date(2026, 11, 2+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
		if err != nil {
			tb.Fatal(err)
		}
		at = chain.Checkpoint{Length: l.Seq, Head: l.Hash, Date: l.Date}
		all = append(all, at)
	}
	return all
}

var epoch = time.Date(2026, 11, 2, 23, 0, 0, 0, time.UTC)

// fixture is one attester with its store, its way to the chain, and its clock.
type fixture struct {
	*base.Attester
	chain *devchain.Chain
	gate  *blockControl
	store *store
	now   time.Time
}

func newWorld(tb testing.TB, c *devchain.Chain, e base.EAS) *fixture {
	tb.Helper()
	g, s := newGate(tb, c), &store{}
	return &fixture{
		Attester: &base.Attester{Client: dial(tb, g.URL), EAS: e, Signer: base.NewSigner(devchain.Key(attesterAccount)), Store: s, Limits: base.Limits{Daily: 1e18}},
		chain:    c, gate: g, store: s, now: epoch,
	}
}

// step takes one step, ten seconds after the last.
func (w *fixture) step(tb testing.TB, head chain.Checkpoint) base.Progress {
	tb.Helper()
	w.now = w.now.Add(10 * time.Second)
	p, err := w.Step(tb.Context(), w.now, head)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// drop makes the node forget the transactions that wait.
func (w *fixture) drop(tb testing.TB) {
	tb.Helper()
	if err := w.chain.Drop(); err != nil {
		tb.Fatal(err)
	}
}

// settle makes blocks and takes steps until nothing is on its way.
func (w *fixture) settle(tb testing.TB, head chain.Checkpoint) {
	tb.Helper()
	for range 12 {
		p := w.step(tb, head)
		if !p.Busy {
			return
		}
		w.chain.Commit()
	}
	tb.Fatalf("the attester does not come to rest: %+v", w.store.all())
}

// one checks that the chain has exactly one attestation of each head, in order, each referring to the one before, and that the
// store's rows say the same. It returns them.
func (w *fixture) one(tb testing.TB, want ...chain.Checkpoint) []base.Attestation {
	tb.Helper()
	list, err := w.Client.Attestations(tb.Context(), w.EAS, w.Signer.Address())
	if err != nil {
		tb.Fatal(err)
	}
	var got []chain.Checkpoint
	var before base.Attestation
	for _, a := range list {
		got = append(got, a.Statement.Checkpoint())
		if a.RefUID != before.UID || a.Statement.PreviousHead != before.Statement.Head || a.Malformed || a.Revocable ||
			!a.RevokedAt.IsZero() || !a.ExpiresAt.IsZero() || a.Recipient != (common.Address{}) || a.Attester != w.Signer.Address() {
			tb.Errorf("attestation %+v after %+v", a, before)
		}
		before = a
	}
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Fatalf("attested heads -want +got\n%s", diff)
	}
	for _, a := range list {
		found := false
		for _, r := range w.store.all() {
			if r.Kind == base.KindAttest && r.UID == strings.ToLower(a.UID.Hex()) {
				found = r.Mined != nil && r.Mined.TxHash == strings.ToLower(a.TxHash.Hex()) &&
					r.Mined.BlockNumber == int64(a.BlockNumber) && r.Mined.BlockTime.Equal(a.Time) && (r.State == base.StateSafe || r.State == base.StateFinal)
			}
		}
		if !found {
			tb.Errorf("the store does not know the attestation %s: %+v", a.UID, w.store.all())
		}
	}
	return list
}

func TestHeadsAreAttestedOnceEachAndReferToEachOther(t *testing.T) {
	onBothContracts(t, func(t *testing.T, c *devchain.Chain, e base.EAS) {
		w := newWorld(t, c, e)
		h := heads(t, 3)
		for _, head := range h {
			w.settle(t, head)
			w.settle(t, head) // nothing more to do
		}
		w.one(t, h...)
		// The schema took one transaction, each head one.
		nonce, err := devClient(t, c).NonceAt(t.Context(), w.Signer.Address(), nil)
		if err != nil || nonce != 4 {
			t.Errorf("%d transactions, want 4: %v", nonce, err)
		}
		// Once the finalized head is beyond them, the rows no longer change.
		for range 40 {
			c.Commit()
		}
		w.step(t, h[2])
		for _, r := range w.store.all() {
			if r.State != base.StateFinal || r.Note != "" || r.Alarm || r.CostWei <= 0 || r.SpentOn != "2026-11-02" {
				t.Errorf("row at rest: %+v", r)
			}
		}
		for _, head := range h {
			a := w.one(t, h...)[head.Length-1]
			got, err := w.Client.Attestation(t.Context(), e, a.UID)
			if err != nil || got.Statement.Checkpoint() != head || got.Schema != base.SchemaUID(base.Schema) {
				t.Errorf("attestation %s reads back as %+v, %v", a.UID, got, err)
			}
		}
		if got, err := w.Client.Attestation(t.Context(), e, common.Hash{1}); got != nil || err != nil {
			t.Errorf("an attestation that does not exist: %+v, %v", got, err)
		}
	})
}

// The process dies at every call of the store, before and after it takes effect, again and again: one attestation each time.
func TestKilledAtEveryStoreCallThereIsOneAttestation(t *testing.T) {
	onBothContracts(t, func(t *testing.T, c *devchain.Chain, e base.EAS) {
		calm := newWorld(t, c, e)
		calm.gate.final = true
		all := heads(t, 200)
		calm.settle(t, all[0])
		done := all[:1]
		for _, after := range []bool{false, true} {
			for at, crashed := 1, true; crashed; at++ {
				head := all[len(done)]
				done = all[:len(done)+1]
				calm.store.revive()
				calm.store.crashAt, calm.store.after = at, after
				crashed = false
				for range 20 {
					calm.now = calm.now.Add(10 * time.Second)
					p, err := calm.Step(t.Context(), calm.now, head)
					switch {
					case errors.Is(err, errCrash):
						crashed = true
						calm.store.revive()
						continue
					case err != nil:
						t.Fatalf("crash at call %d: %v", at, err)
					}
					if !p.Busy {
						break
					}
					c.Commit()
				}
				if at > 60 {
					t.Fatal("more calls than expected")
				}
			}
		}
		calm.one(t, done...)
		t.Logf("%d heads, one attestation each", len(done))
	})
}

// Every call to the node fails once, before it reaches the chain or on the way back: one attestation each time, and never a verdict.
func TestEveryLostAnswerLeavesOneAttestation(t *testing.T) {
	onBothContracts(t, func(t *testing.T, c *devchain.Chain, e base.EAS) {
		w := newWorld(t, c, e)
		w.gate.final = true
		all := heads(t, 200)
		w.settle(t, all[0])
		done := all[:1]
		modes := []bool{true, false}
		if e.Contract != devchain.EASAddress {
			modes = modes[:1] // what never reached the chain does not depend on its contracts
		}
		for _, lose := range modes {
			for at, hit := 1, true; hit; at++ {
				head := all[len(done)]
				done = all[:len(done)+1]
				hit = false
				w.gate.set(func(n int, _ string, _ []json.RawMessage) verdict {
					if n != at {
						return verdict{}
					}
					hit = true
					if lose {
						return verdict{lose: true}
					}
					return verdict{fail: 503}
				})
				for range 20 {
					w.now = w.now.Add(10 * time.Second)
					p, err := w.Step(t.Context(), w.now, head)
					if errors.Is(err, base.ErrUnavailable) {
						continue
					}
					if err != nil {
						t.Fatalf("call %d: %v", at, err)
					}
					for _, r := range p.Rows {
						if r.State == base.StateFailed || r.Alarm {
							t.Fatalf("call %d: row %+v", at, r)
						}
					}
					if !p.Busy {
						break
					}
					c.Commit()
				}
				if at > 120 {
					t.Fatal("more calls than expected")
				}
			}
		}
		w.gate.set(nil)
		w.one(t, done...)
		t.Logf("%d heads, one attestation each", len(done))
	})
}

func TestAStuckTransactionIsReplacedWithAHigherFee(t *testing.T) {
	onBothContracts(t, func(t *testing.T, c *devchain.Chain, e base.EAS) {
		w := newWorld(t, c, e)
		h := heads(t, 2)
		w.settle(t, h[0])
		w.step(t, h[1]) // sent; no block comes
		for range 3 {
			w.now = w.now.Add(50 * time.Second)
			w.step(t, h[1])
		}
		rows := w.store.all()
		txs := rows[len(rows)-1].Txs
		if len(txs) != 4 {
			t.Fatalf("%d transactions after three minutes, want 4", len(txs))
		}
		for i := 1; i < len(txs); i++ {
			a, b := txs[i-1], txs[i]
			if b.Nonce != a.Nonce || float64(b.FeeCap) < 1.25*float64(a.FeeCap) || float64(b.TipCap) < 1.25*float64(a.TipCap) {
				t.Errorf("replaced %+v by %+v", a, b)
			}
		}
		w.settle(t, h[1])
		w.one(t, h...)
	})
}

func TestADroppedTransactionIsOfferedAgain(t *testing.T) {
	onBothContracts(t, func(t *testing.T, c *devchain.Chain, e base.EAS) {
		w := newWorld(t, c, e)
		h := heads(t, 2)
		w.settle(t, h[0])
		w.step(t, h[1])
		w.drop(t)
		c.Commit()
		w.now = w.now.Add(time.Minute)
		w.settle(t, h[1])
		w.one(t, h...)
	})
}

// The node says that it took the transaction and never had it.
func TestALyingNodeIsNotBelieved(t *testing.T) {
	onBothContracts(t, func(t *testing.T, c *devchain.Chain, e base.EAS) {
		w := newWorld(t, c, e)
		h := heads(t, 2)
		w.settle(t, h[0])
		w.gate.set(func(_ int, method string, _ []json.RawMessage) verdict {
			if method == "eth_sendRawTransaction" {
				return verdict{swallow: common.Hash{1}}
			}
			return verdict{}
		})
		w.step(t, h[1])
		c.Commit()
		w.gate.set(nil)
		w.now = w.now.Add(time.Minute)
		w.settle(t, h[1])
		w.one(t, h...)
	})
}

func TestAReorganisedAttestationIsFollowedToItsNewBlock(t *testing.T) {
	onBothContracts(t, func(t *testing.T, c *devchain.Chain, e base.EAS) {
		w := newWorld(t, c, e)
		h := heads(t, 2)
		w.settle(t, h[0])
		before, err := devClient(t, c).HeaderByNumber(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		safe := before.Number.Uint64()
		w.gate.set(safeIs(&safe))
		w.step(t, h[1])
		c.Commit()
		p := w.step(t, h[1])
		if got := p.Rows[len(p.Rows)-1]; got.State != base.StateMined || !p.Busy {
			t.Fatalf("before the block is safe the row is %+v", got)
		}
		first := p.Rows[len(p.Rows)-1]
		// The node brings the transaction back, and a block with another time takes it.
		if err := c.Fork(before.Hash()); err != nil {
			t.Fatal(err)
		}
		if err := c.Skip(30 * time.Second); err != nil {
			t.Fatal(err)
		}
		c.Commit()
		p = w.step(t, h[1])
		second := p.Rows[len(p.Rows)-1]
		if second.State != base.StateMined || second.UID == first.UID || second.Mined.BlockHash == first.Mined.BlockHash {
			t.Errorf("mined again, the row is %+v", second)
		}
		// Reorganised once more, and lost: it is offered again.
		if err := c.Fork(before.Hash()); err != nil {
			t.Fatal(err)
		}
		w.drop(t)
		c.Commit()
		c.Commit()
		c.Commit()
		p = w.step(t, h[1])
		if got := p.Rows[len(p.Rows)-1]; got.State != base.StateSent || got.Mined != nil || got.UID != "" {
			t.Errorf("after the reorganisation the row is %+v", got)
		}
		c.Commit()
		w.gate.set(nil)
		w.settle(t, h[1])
		list := w.one(t, h...)
		if uid := strings.ToLower(list[1].UID.Hex()); uid == first.UID || uid == second.UID {
			t.Error("the uid did not change with the block's time")
		}
	})
}

func TestATransactionWhoseNonceWasTakenIsSignedAnew(t *testing.T) {
	onBothContracts(t, func(t *testing.T, c *devchain.Chain, e base.EAS) {
		w := newWorld(t, c, e)
		h := heads(t, 2)
		w.settle(t, h[0])
		before, err := devClient(t, c).HeaderByNumber(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		w.step(t, h[1])
		rows := w.store.all()
		nonce := rows[len(rows)-1].Txs[0].Nonce
		w.drop(t)
		foreign(t, c, attesterAccount, nonce)
		c.Commit()
		// While the block with the other transaction is not safe, ours may still come back.
		safe := before.Number.Uint64()
		w.gate.set(safeIs(&safe))
		p := w.step(t, h[1])
		if got := p.Rows[len(p.Rows)-1]; len(got.Txs) != 1 || got.State != base.StateSent || !strings.Contains(got.Note, "nonce") {
			t.Errorf("before the block is safe the row is %+v", got)
		}
		w.gate.set(nil)
		w.settle(t, h[1])
		w.one(t, h...)
		rows = w.store.all()
		if txs := rows[len(rows)-1].Txs; len(txs) != 2 || txs[1].Nonce != nonce+1 || !txs[0].Dead {
			t.Errorf("transactions %+v", txs)
		}
	})
}

// The safe head is far behind, and the node has forgotten the accounts of that block: it is asked about a block that it knows.
func TestANonceTakenLongAgoIsSeenWithoutAnArchive(t *testing.T) {
	t.Parallel()
	c := startChain(t)
	w := newWorld(t, c, base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress})
	h := heads(t, 2)
	w.settle(t, h[0])
	before, err := devClient(t, c).HeaderByNumber(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	safe := before.Number.Uint64()
	w.step(t, h[1])
	rows := w.store.all()
	nonce := rows[len(rows)-1].Txs[0].Nonce
	w.drop(t)
	foreign(t, c, attesterAccount, nonce)
	for range 130 {
		c.Commit()
	}
	behind := safeIs(&safe)
	w.gate.set(func(n int, method string, params []json.RawMessage) verdict {
		if method == "eth_getTransactionCount" && string(params[1]) == fmt.Sprintf(`"%#x"`, safe) {
			return verdict{refuse: &rpcError{Code: -32000, Message: "missing trie node 00 (path )"}}
		}
		return behind(n, method, params)
	})
	w.step(t, h[1])
	rows = w.store.all()
	if txs := rows[len(rows)-1].Txs; len(txs) != 2 || !txs[0].Dead || txs[1].Nonce != nonce+1 {
		t.Errorf("transactions %+v", txs)
	}
	w.gate.set(nil)
	w.settle(t, h[1])
	w.one(t, h...)
}
