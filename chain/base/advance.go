package base

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// txStatus is one node's data about one row, all from one view of the chain.
type txStatus struct {
	heads Heads
	// receipt is the receipt of the row's transaction in a block; nil if none is.
	receipt *Receipt
	// made is the attestation that the receipt's log names, or one of the row's head that was found in the contract's log.
	made *Attestation
	// wrong says in which way the contract does not have what was asked for, empty for none.
	wrong string
	// registered reports whether the registry has the schema, for a row of KindRegister.
	registered bool
	// block is the block that holds the receipt or the attestation, as the node states it under its number.
	block Head
	// nonce and safeNonce count the account's transactions up to the newest and up to the safe block. Only without a receipt.
	nonce, safeNonce uint64
	// other is the newest attestation in the contract's log, before the attestation of the row's head, that the store does not know; nil
	// if none exists.
	other *Attestation
}

// action is the next action for a row.
type action int

const (
	actionWait    action = iota
	actionSign           // sign with a fresh nonce
	actionBumpFee        // sign again with the same nonce and a higher fee
	actionSend           // send what was signed last
)

// advance is the whole life of a row as a function. From the stored row and the observed status it returns the row to store and the next
// action. It is called again after every action.
func advance(r Row, s txStatus, now time.Time, stuckAfter time.Duration) (Row, action) {
	switch {
	case s.registered && (s.receipt == nil || !s.receipt.Success):
		r.State, r.Note, r.Alarm, r.CostWei = StateFinal, "the schema was registered before", false, 0
		return r, actionWait
	case s.receipt != nil && !s.receipt.Success:
		return reverted(r, s), actionWait
	case s.receipt != nil || s.made != nil:
		return inBlock(r, s), actionWait
	}
	if r.Mined != nil {
		// Reorganised away. The transaction is as good as before and is offered again.
		was := r.State
		r.State, r.Mined, r.UID = StateSent, nil, ""
		r.Note, r.Alarm = "its block was reorganised away", was == StateSafe
		return r, actionSend
	}
	last, ok := r.newest()
	switch {
	case !ok:
		return due(r, s)
	case s.safeNonce > last.Nonce:
		r = deepEnough(r)
		r.State, r.CostWei, r.Note = StateDue, 0, fmt.Sprintf("another transaction of the account has the nonce %d for good", last.Nonce)
		return due(r, s)
	case s.nonce > last.Nonce:
		r.Note = fmt.Sprintf("another transaction of the account has the nonce %d, waiting until its block is safe", last.Nonce)
		return r, actionWait
	}
	switch r.State {
	case StateDue, StateSigned:
		r.State = StateSigned
		return r, actionSend
	case StateSent, StateStuck:
		if now.Sub(last.SentAt) < stuckAfter {
			return r, actionWait
		}
		r.State = StateStuck
		return r, actionBumpFee
	}
	return r, actionWait
}

// due prepares a row whose transactions can no longer be mined.
func due(r Row, s txStatus) (Row, action) {
	o := s.other
	switch {
	case o == nil:
	case o.Malformed || o.Statement.Length >= uint64(r.Length):
		return failed(r, fmt.Sprintf("the attestation %s, which is not in the store, is not of an earlier head of this chain", o.UID)), actionWait
	case o.BlockNumber > s.heads.Safe:
		r.Note = fmt.Sprintf("waiting until the attestation %s, which is not in the store, is safe", o.UID)
		return r, actionWait
	default:
		r = refersTo(r, o)
		r.Note = fmt.Sprintf("refers to the attestation %s, which is not in the store", o.UID)
	}
	r.State = StateDue
	return r, actionSign
}

// reverted is a row whose transaction took gas and did nothing. The verdict falls once the block is safe: reorganised, the same
// transaction may still succeed.
func reverted(r Row, s txStatus) Row {
	r.Mined, r.UID = nil, ""
	r.CostWei = wei(s.receipt.Cost)
	what := fmt.Sprintf("the transaction %s reverted in block %d", s.receipt.TxHash, s.receipt.BlockNumber)
	if s.receipt.BlockNumber > s.heads.Safe {
		r.State, r.Note = StateSent, what+", waiting until that block is safe"
		return r
	}
	return failed(r, what)
}

// inBlock returns a row whose transaction is in a block, or whose head was attested in a block by a transaction that the store lost.
func inBlock(r Row, s txStatus) Row {
	at := &Mined{BlockNumber: int64(s.block.Number), BlockHash: hexOf(s.block.Hash), BlockTime: instant(s.block.Time)}
	if s.receipt != nil {
		at.TxHash, r.CostWei = hexOf(s.receipt.TxHash), wei(s.receipt.Cost)
	} else {
		at.TxHash = hexOf(s.made.TxHash)
		if s.other != nil {
			r = refersTo(r, s.other)
		}
	}
	if s.wrong != "" {
		r.Mined = at
		if s.block.Number <= s.heads.Safe {
			return failed(r, "the contract has something else: "+s.wrong)
		}
		r.State, r.Note, r.Alarm = StateMined, "the contract has something else, waiting until the block is safe: "+s.wrong, true
		return r
	}
	switch {
	case s.block.Number <= s.heads.Final:
		r.State = StateFinal
	case s.block.Number <= s.heads.Safe:
		r.State = StateSafe
	default:
		r.State = StateMined
	}
	r.Mined, r.Note, r.Alarm = at, "", false
	if s.made != nil {
		r.UID = hexOf(s.made.UID)
	}
	return r
}

// failed returns a row in an end state that needs the operator. None of its transactions can still be mined, or one was mined.
func failed(r Row, why string) Row {
	r = deepEnough(r)
	r.State, r.Note, r.Alarm = StateFailed, why, true
	return r
}

// deepEnough gives the row's transactions up.
func deepEnough(r Row) Row {
	r.Txs = slices.Clone(r.Txs)
	for i := range r.Txs {
		r.Txs[i].Dead = true
	}
	return r
}

// hexOf writes a hash as rows hold it.
func hexOf(h common.Hash) string { return strings.ToLower(h.Hex()) }

// plainHex writes a hash as the chain of picks writes it.
func plainHex(h common.Hash) string { return strings.TrimPrefix(hexOf(h), "0x") }
