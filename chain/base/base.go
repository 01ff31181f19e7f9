// Package base is the outside record on the L2, and the program's reader of it. It attests the head of the chain with EAS, follows each
// attestation until it is final, lists attestations, and judges stablecoin transfers and the proofs of their senders. It knows the chain
// and no database: its state goes through Store, which the program implements. Start at Attester for the writing side and at Client for
// the reading side.
//
// # One attestation for one head
//
// A transaction is signed and stored before it is sent; only then can it be on the chain. Even if the process dies at any point, the
// store has the hashes of all transactions that can ever be mined for a row. All transactions of a row have one nonce, and the chain
// mines at most one of them. A row takes a new nonce only when another transaction has used its own beyond reorganisation and none of its
// own was mined. Before signing, the contract's log is searched for an existing attestation of the head.
//
// # Requests to a node
//
// Base begins every block with a transaction of a type that upstream go-ethereum cannot decode. Nothing here therefore reads a block with
// its transactions, or a transaction: only headers, receipts, logs, calls and counts. For the same reason a block's hash is always read
// as the node states it and never computed from a header. The JSON-RPC client is our own (rpc.go). A dozen methods over HTTP do not need
// go-ethereum's client, which brings web sockets and a network library, or ethclient, whose methods partly fail on Base.
package base

import (
	"errors"
	"fmt"
)

// The kinds of errors that say nothing about what was asked.
var (
	// ErrUnavailable says that no node answered. Nothing is decided: ask again later.
	ErrUnavailable = errors.New("no node of the chain answers")
	// ErrWrongChain says that a node serves another chain than the configured one. It is a fault of the configuration.
	ErrWrongChain = errors.New("the node serves another chain")
)

// answerError is an error that a node gave as its answer, for example that a call reverts.
type answerError struct {
	code    int
	message string
	// data is the return data of a reverted call; nil if none exists.
	data []byte
}

func (e *answerError) Error() string { return fmt.Sprintf("%s (code %d)", e.message, e.code) }

// reverts reports whether err means that a call reverts.
func reverts(err error) bool {
	e, ok := errors.AsType[*answerError](err)
	return ok && e.reverted()
}
