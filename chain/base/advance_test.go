package base

import (
	"bytes"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"

	"tidemark/chain"
)

// The table of states as a table: the stored row and the observed status give the new row and the action.
func TestStates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)
	heads := Heads{Latest: 120, Safe: 100, Final: 90}
	tx := func(nonce uint64, sent time.Duration) Tx {
		return Tx{Hash: "0x01", Nonce: nonce, SentAt: now.Add(-sent)}
	}
	at := func(number uint64) txStatus {
		return txStatus{
			heads:   heads,
			receipt: &Receipt{TxHash: common.Hash{1}, Success: true, BlockNumber: number, BlockHash: common.Hash{2}, Cost: big.NewInt(77)},
			made:    &Attestation{UID: common.Hash{3}},
			block:   Head{Number: number, Hash: common.Hash{2}, Time: 1_763_679_600},
		}
	}
	reverted := func(number uint64) txStatus {
		s := at(number)
		s.receipt.Success, s.made = false, nil
		return s
	}
	none := func(nonce, safe uint64) txStatus { return txStatus{heads: heads, nonce: nonce, safeNonce: safe} }
	odd := at(100)
	odd.wrong = "it can be revoked"
	young := at(101)
	young.wrong = "it can be revoked"
	other := func(number, length uint64) txStatus {
		s := none(5, 5)
		s.other = &Attestation{UID: common.Hash{9}, BlockNumber: number, Statement: Statement{Head: common.Hash{8}, Length: length}}
		return s
	}
	lost := none(5, 5)
	lost.made, lost.block = &Attestation{UID: common.Hash{3}, TxHash: common.Hash{4}}, Head{Number: 99, Hash: common.Hash{2}}

	for _, tt := range []struct {
		name  string
		row   Row
		seen  txStatus
		state State
		do    action
		alarm bool
		// more is asked where the state does not say it all.
		more func(Row) bool
	}{
		{name: "due is signed", row: Row{State: StateDue}, seen: none(5, 5), state: StateDue, do: actionSign},
		{name: "signed is sent", row: Row{State: StateSigned, Txs: []Tx{tx(5, 0)}}, seen: none(5, 5), state: StateSigned, do: actionSend},
		{name: "sent waits a minute", row: Row{State: StateSent, Txs: []Tx{tx(5, 59*time.Second)}}, seen: none(5, 5), state: StateSent},
		{name: "after a minute it is stuck", row: Row{State: StateSent, Txs: []Tx{tx(5, time.Minute)}}, seen: none(5, 5), state: StateStuck, do: actionBumpFee},
		{name: "stuck waits a minute for its next try", row: Row{State: StateStuck, Txs: []Tx{tx(5, time.Second)}}, seen: none(5, 5), state: StateStuck},
		{name: "never taken by a node is bumped at once", row: Row{State: StateStuck, Txs: []Tx{{Nonce: 5}}}, seen: none(5, 5), state: StateStuck, do: actionBumpFee},
		{name: "in a block", row: Row{State: StateSent, Txs: []Tx{tx(5, 0)}}, seen: at(101), state: StateMined, more: func(r Row) bool {
			return r.UID == "0x03"+strings.Repeat("00", 31) && r.CostWei == 77 && r.Mined.BlockNumber == 101 && r.Mined.BlockTime.Unix() == 1_763_679_600
		}},
		{name: "in a block before it was known to be sent", row: Row{State: StateSigned, Txs: []Tx{tx(5, 0)}}, seen: at(101), state: StateMined},
		{name: "safe", row: Row{State: StateMined, Txs: []Tx{tx(5, 0)}}, seen: at(100), state: StateSafe},
		{name: "final", row: Row{State: StateSafe, Txs: []Tx{tx(5, 0)}}, seen: at(90), state: StateFinal},
		{name: "final in one look", row: Row{State: StateStuck, Txs: []Tx{tx(5, 0)}}, seen: at(90), state: StateFinal},
		{name: "a mined row whose block is gone is sent again", row: Row{State: StateMined, UID: "0x3", Mined: &Mined{}, Txs: []Tx{tx(5, time.Hour)}}, seen: none(5, 5), state: StateSent, do: actionSend, more: func(r Row) bool {
			return r.UID == "" && r.Mined == nil
		}},
		{name: "a safe row whose block is gone is an alarm too", row: Row{State: StateSafe, Mined: &Mined{}, Txs: []Tx{tx(5, time.Hour)}}, seen: none(5, 5), state: StateSent, do: actionSend, alarm: true},
		{name: "reverted, not yet safe", row: Row{State: StateSent, Txs: []Tx{tx(5, 0)}}, seen: reverted(101), state: StateSent},
		{name: "reverted for good", row: Row{State: StateSent, Txs: []Tx{tx(5, 0)}}, seen: reverted(100), state: StateFailed, alarm: true, more: func(r Row) bool {
			return r.CostWei == 77 && r.Txs[0].Dead
		}},
		{name: "something else was made", row: Row{State: StateSent, Txs: []Tx{tx(5, 0)}}, seen: odd, state: StateFailed, alarm: true},
		{name: "something else was made, not yet safe", row: Row{State: StateSent, Txs: []Tx{tx(5, 0)}}, seen: young, state: StateMined, alarm: true},
		{name: "its nonce is used in a young block", row: Row{State: StateSent, Txs: []Tx{tx(5, time.Hour)}}, seen: none(6, 5), state: StateSent},
		{name: "its nonce is used in a safe block", row: Row{State: StateSent, Txs: []Tx{tx(5, time.Hour)}}, seen: none(6, 6), state: StateDue, do: actionSign, more: func(r Row) bool {
			return r.Txs[0].Dead
		}},
		{name: "made by a transaction that the store lost", row: Row{State: StateDue}, seen: lost, state: StateSafe, more: func(r Row) bool {
			return strings.HasPrefix(r.Mined.TxHash, "0x04") && strings.HasPrefix(r.UID, "0x03")
		}},
		{name: "an attestation that the store does not know comes before", row: Row{State: StateDue, Length: 7, RefUID: "0x1"}, seen: other(99, 6), state: StateDue, do: actionSign, more: func(r Row) bool {
			return strings.HasPrefix(r.RefUID, "0x09") && strings.HasPrefix(r.PreviousHead, "08")
		}},
		{name: "and is waited for until it is safe", row: Row{State: StateDue, Length: 7}, seen: other(101, 6), state: StateDue},
		{name: "an attestation of a longer chain", row: Row{State: StateDue, Length: 7}, seen: other(99, 7), state: StateFailed, alarm: true},
		{name: "the schema exists", row: Row{Kind: KindRegister, State: StateDue}, seen: txStatus{heads: heads, registered: true}, state: StateFinal},
		{name: "the schema was made by another while ours reverted", row: Row{Kind: KindRegister, State: StateSent, Txs: []Tx{tx(5, 0)}}, seen: func() txStatus {
			s := reverted(101)
			s.registered = true
			return s
		}(), state: StateFinal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before := len(tt.row.live())
			got, do := advance(tt.row, tt.seen, now, time.Minute)
			if got.State != tt.state || do != tt.do || got.Alarm != tt.alarm {
				t.Errorf("state %s, move %d, alarm %v; want %s, %d, %v: %+v", got.State, do, got.Alarm, tt.state, tt.do, tt.alarm, got)
			}
			if tt.more != nil && !tt.more(got) {
				t.Errorf("row %+v", got)
			}
			if len(tt.row.live()) != before {
				t.Error("the row that was given changed")
			}
		})
	}
}

func TestFeesRiseByAQuarterUpToTheCeiling(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name               string
		base, tip, ceiling int64
		earlier            *Tx
		want               fees
		refused            bool
	}{
		{name: "twice the base fee and the tip", base: 100, tip: 7, ceiling: 1000, want: fees{207, 7}},
		{name: "the ceiling cuts the margin", base: 100, tip: 7, ceiling: 150, want: fees{150, 7}},
		{name: "the base fee alone is too much", base: 100, tip: 7, ceiling: 100, refused: true},
		{name: "no tip is asked for", base: 100, tip: 0, ceiling: 1000, want: fees{200, 0}},
		{name: "a quarter more", base: 100, tip: 8, ceiling: 1000, earlier: &Tx{FeeCap: 400, TipCap: 8}, want: fees{501, 11}},
		{name: "what nodes ask for now is more", base: 500, tip: 90, ceiling: 9000, earlier: &Tx{FeeCap: 400, TipCap: 8}, want: fees{1090, 90}},
		{name: "a quarter more is beyond the ceiling", base: 100, tip: 8, ceiling: 500, earlier: &Tx{FeeCap: 400, TipCap: 8}, refused: true},
		{name: "a quarter more just fits", base: 100, tip: 8, ceiling: 501, earlier: &Tx{FeeCap: 400, TipCap: 8}, want: fees{501, 11}},
		{name: "a tip above the ceiling", base: 10, tip: 900, ceiling: 100, want: fees{100, 100}},
	} {
		got, err := price(big.NewInt(tt.base), big.NewInt(tt.tip), tt.earlier, tt.ceiling)
		if (err != nil) != tt.refused || got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
	}
	huge := new(big.Int).Lsh(big.NewInt(1), 200)
	if _, err := price(huge, huge, nil, 1000); err == nil {
		t.Error("a base fee beyond every number was accepted")
	}
	if got := worst(1<<40, fees{cap: 1 << 40}, huge); got != 1<<63-1 {
		t.Errorf("worst case %d", got)
	}
}

// The statement's bytes equal the output of the ABI's own encoder for the schema's types.
func TestStatementIsABIEncoded(t *testing.T) {
	t.Parallel()
	var args abi.Arguments
	for field := range strings.SplitSeq(Schema, ",") {
		kind, name, _ := strings.Cut(field, " ")
		typ, err := abi.NewType(kind, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, abi.Argument{Name: name, Type: typ})
	}
	c := chain.Checkpoint{Length: 212, Head: strings.Repeat("9d", 32), Date: "2026-11-20"}
	previous := common.HexToHash(strings.Repeat("51", 32))
	s, err := NewStatement(c, previous)
	if err != nil {
		t.Fatal(err)
	}
	want, err := args.Pack(common.HexToHash(c.Head), uint64(212), previous, uint64(20261120))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(s.Encode(), want) {
		t.Errorf("%x, want %x", s.Encode(), want)
	}
	if back, err := DecodeStatement(want); err != nil || back != s || back.Checkpoint() != c {
		t.Errorf("%+v, %v", back, err)
	}
	for _, bad := range []chain.Checkpoint{{}, {Length: 1}, {Length: 1, Head: c.Head}, {Length: 1, Head: c.Head, Date: "2026-13-01"}, {Length: -1, Head: c.Head, Date: c.Date}} {
		if _, err := NewStatement(bad, previous); err == nil {
			t.Errorf("a statement was made of %+v", bad)
		}
	}
}

func FuzzDecodeStatement(f *testing.F) {
	f.Add(make([]byte, 128))
	f.Add(Statement{Head: common.Hash{1}, Length: 1<<64 - 1, Day: 20261120}.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := DecodeStatement(b)
		if err == nil && !bytes.Equal(s.Encode(), b) {
			t.Errorf("%x is read as %+v", b, s)
		}
		s.Checkpoint()
	})
}
