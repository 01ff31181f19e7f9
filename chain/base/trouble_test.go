package base_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"tidemark/chain"
	"tidemark/chain/base"
	"tidemark/internal/devchain"
)

// The store lost its rows: nothing is attested twice, and the line of references continues.
func TestALostStoreAdoptsWhatIsOnTheChain(t *testing.T) {
	onBothContracts(t, func(t *testing.T, c *devchain.Chain, e base.EAS) {
		w := newWorld(t, c, e)
		h := heads(t, 4)
		for _, head := range h[:2] {
			w.settle(t, head)
		}
		w.store.rows = nil
		w.settle(t, h[1]) // the same head once more
		if rows := w.store.all(); len(rows) != 1 || rows[0].UID == "" || len(rows[0].Txs) != 0 {
			t.Errorf("rows %+v", rows)
		}
		w.store.rows = nil
		w.settle(t, h[2]) // a new head, with no row of the ones before
		w.settle(t, h[3])
		list, err := w.Client.Attestations(t.Context(), e, w.Signer.Address())
		if err != nil || len(list) != 4 {
			t.Fatalf("%d attestations, %v", len(list), err)
		}
		for i := 1; i < 4; i++ {
			if list[i].RefUID != list[i-1].UID || list[i].Statement.PreviousHead != list[i-1].Statement.Head {
				t.Errorf("attestation %d refers to %s, the one before is %s", i+1, list[i].RefUID, list[i-1].UID)
			}
		}
		// A head that is shorter than what is attested, with no row to know it by.
		w.store.rows = nil
		short := h[0]
		other, err := chain.Next(chain.Checkpoint{}, "ZZZZ", "1.00", "2026-11-02")
		if err != nil {
			t.Fatal(err)
		}
		short.Head = other.Hash
		p := w.step(t, short)
		if r := p.Rows[len(p.Rows)-1]; r.State != base.StateFailed || !r.Alarm {
			t.Errorf("a head shorter than the attested ones: %+v", r)
		}
	})
}

// An adopted row has no transaction. It still belongs to its own head, also when the chain continues.
func TestAnAdoptedHeadStaysItsOwn(t *testing.T) {
	t.Parallel()
	c := startChain(t)
	w := newWorld(t, c, base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress})
	h := heads(t, 2)
	w.settle(t, h[0])
	w.store.rows = nil
	none := uint64(0)
	w.gate.set(safeIs(&none))
	for _, head := range h {
		p := w.step(t, head)
		if r := p.Rows[len(p.Rows)-1]; len(p.Rows) != 1 || r.State != base.StateMined || r.Subject != h[0].Head || r.Length != 1 {
			t.Errorf("row %+v", r)
		}
	}
	w.gate.set(nil)
	w.settle(t, h[1])
	w.one(t, h...)
}

func TestARewrittenChainIsAnAlarm(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startChain(t), base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress})
	h := heads(t, 3)
	w.settle(t, h[1])
	other := h[1]
	other.Head = h[2].Head
	for name, head := range map[string]chain.Checkpoint{"shorter": h[0], "another head at the same length": other} {
		if _, err := w.Step(t.Context(), w.now, head); !errors.Is(err, base.ErrForked) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.Step(t.Context(), w.now, chain.Checkpoint{Length: 9, Head: "x", Date: "y"}); err == nil {
		t.Error("an impossible checkpoint was attested")
	}
	w.one(t, h[1])
}

func TestADueHeadGivesWayToALongerOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startChain(t), base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress})
	h := heads(t, 3)
	w.settle(t, h[0])
	w.Limits.FeeCap = 1 // nothing can be signed
	for _, head := range h[1:] {
		p := w.step(t, head)
		r := p.Rows[len(p.Rows)-1]
		if r.State != base.StateDue || !r.Alarm || !strings.Contains(r.Note, "ceiling") || len(r.Txs) != 0 || r.Subject != head.Head {
			t.Errorf("row %+v", r)
		}
	}
	w.Limits.FeeCap = 0
	w.settle(t, h[2])
	w.one(t, h[0], h[2])
	for _, r := range w.store.all() {
		if r.Alarm || r.Note != "" {
			t.Errorf("an alarm is left: %+v", r)
		}
	}
}

func TestSpendingIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startChain(t), base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress})
	h := heads(t, 3)
	w.settle(t, h[0])
	var spent int64
	for _, r := range w.store.all() {
		spent += r.CostWei
	}
	w.Limits.Daily = spent + 1000
	p := w.step(t, h[1])
	if r := p.Rows[len(p.Rows)-1]; !r.Alarm || !strings.Contains(r.Note, "daily limit") || len(r.Txs) != 0 {
		t.Errorf("beyond the daily limit: %+v", r)
	}
	w.Limits.Daily = 3*spent + 1e15
	w.now = w.now.AddDate(0, 0, 1) // the next day has its own limit
	w.settle(t, h[1])
	w.one(t, h[:2]...)

	// A ceiling that forbids a higher fee keeps the transaction on offer at the old one.
	w.step(t, h[2])
	rows := w.store.all()
	w.Limits.FeeCap = rows[len(rows)-1].Txs[0].FeeCap
	w.drop(t)
	w.now = w.now.Add(time.Minute)
	p = w.step(t, h[2])
	r := p.Rows[len(p.Rows)-1]
	if len(r.Txs) != 1 || r.State != base.StateStuck || !strings.Contains(r.Note, "ceiling") {
		t.Errorf("at the ceiling: %+v", r)
	}
	w.settle(t, h[2])
	w.one(t, h...)
}

func TestAnEmptyAccountSignsNothing(t *testing.T) {
	t.Parallel()
	c := startChain(t)
	w := newWorld(t, c, base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress})
	w.gate.set(func(_ int, method string, _ []json.RawMessage) verdict {
		if method == "eth_getBalance" {
			return verdict{swallow: "0x1"}
		}
		return verdict{}
	})
	h := heads(t, 1)
	p := w.step(t, h[0])
	if r := p.Rows[0]; !r.Alarm || !strings.Contains(r.Note, "1 wei") || len(r.Txs) != 0 {
		t.Errorf("row %+v", r)
	}
	w.gate.set(nil)
	w.settle(t, h[0])
	w.one(t, h...)
}

func TestARevertIsNeverRetriedBlindly(t *testing.T) {
	t.Parallel()
	c := startChain(t)
	w := newWorld(t, c, base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress})
	h := heads(t, 2)
	w.settle(t, h[0])
	// The estimate reverts.
	w.gate.set(func(_ int, method string, _ []json.RawMessage) verdict {
		if method == "eth_estimateGas" {
			return verdict{refuse: &rpcError{Code: 3, Message: "execution reverted", Data: "0xc5723b51"}}
		}
		return verdict{}
	})
	for range 3 {
		w.step(t, h[1])
	}
	rows := w.store.all()
	r := rows[len(rows)-1]
	if r.State != base.StateFailed || !r.Alarm || len(r.Txs) != 0 || w.gate.count("eth_estimateGas") != 1 {
		t.Errorf("row %+v after %d estimates", r, w.gate.count("eth_estimateGas"))
	}
	// An operator looks, and tries again: now the transaction runs out of gas and reverts in its block.
	w.gate.set(func(_ int, method string, _ []json.RawMessage) verdict {
		if method == "eth_estimateGas" {
			return verdict{swallow: "0x9c40"}
		}
		return verdict{}
	})
	if _, err := w.store.Update(t.Context(), r.Retry()); err != nil {
		t.Fatal(err)
	}
	w.settle(t, h[1])
	rows = w.store.all()
	if r = rows[len(rows)-1]; r.State != base.StateFailed || !strings.Contains(r.Note, "reverted in block") || len(r.Txs) != 1 || r.CostWei == 0 {
		t.Errorf("row %+v", r)
	}
	w.gate.set(nil)
	if _, err := w.store.Update(t.Context(), r.Retry()); err != nil {
		t.Fatal(err)
	}
	w.settle(t, h[1])
	w.one(t, h...)
}

func TestAnAttestationThatIsNotTheOneAskedForIsAnAlarm(t *testing.T) {
	t.Parallel()
	c := startChain(t)
	w := newWorld(t, c, base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress})
	h := heads(t, 2)
	w.settle(t, h[0])
	w.step(t, h[1])
	// The row says something else than what was signed.
	rows := w.store.all()
	r := rows[len(rows)-1]
	r.Date = "2026-11-09"
	if _, err := w.store.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	c.Commit()
	p := w.step(t, h[1])
	if got := p.Rows[len(p.Rows)-1]; got.State != base.StateFailed || !got.Alarm || !strings.Contains(got.Note, "something else") {
		t.Errorf("row %+v", got)
	}
}

func TestTheSchemaMayBeRegisteredByAnother(t *testing.T) {
	onBothContracts(t, func(t *testing.T, c *devchain.Chain, e base.EAS) {
		w := newWorld(t, c, e)
		h := heads(t, 1)
		w.step(t, h[0]) // our registration is sent
		w.drop(t)
		data, err := contractABI(t, "SchemaRegistry").Pack("register", base.Schema, common.Address{}, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Transact(t.Context(), 5, &e.Registry, data); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(2 * time.Minute)
		w.settle(t, h[0])
		w.one(t, h...)
	})
}

func TestHealthTellsWhatIsMissing(t *testing.T) {
	t.Parallel()
	c := startChain(t)
	w := newWorld(t, c, base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress})
	before, err := w.Health(t.Context())
	if err != nil || before.Registered || !before.Deployed || before.Nonce != 0 || before.RunwayDays < 365 || before.ChainID != 84532 {
		t.Errorf("before: %+v, %v", before, err)
	}
	w.settle(t, heads(t, 1)[0])
	foreign(t, c, attesterAccount, 2)
	after, err := w.Health(t.Context())
	if err != nil || !after.Registered || after.Nonce != 2 || after.Pending != 1 || after.BalanceWei.Cmp(before.BalanceWei) >= 0 {
		t.Errorf("after: %+v, %v", after, err)
	}
	var spent int64
	for _, r := range w.store.all() {
		spent += r.CostWei
	}
	if took := new(big.Int).Sub(before.BalanceWei, after.BalanceWei); took.Cmp(big.NewInt(spent)) != 0 {
		t.Errorf("the account paid %s wei, the rows say %d", took, spent)
	}
	w.EAS.Contract = common.Address{0x99}
	if h, err := w.Health(t.Context()); err != nil || h.Deployed {
		t.Errorf("without a contract: %+v, %v", h, err)
	}
}
