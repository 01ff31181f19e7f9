// Package base is the witness on the L2, and what the program reads there: it attests the head of the chain with EAS, follows each
// attestation until it is final, lists what was attested, and judges stablecoin transfers and the proofs of who sent them. It knows
// the chain and nothing of databases: what must be stored goes through Store, which the program fills. Start at Attester for the
// writing side and at Client for the reading side.
//
// # One attestation for one head
//
// A transaction is signed and stored before it is sent; only then can it be on the chain, so whatever happens to the process, the
// hashes of everything that may ever be mined for a row are in the store. All transactions of a row have one nonce, of which the
// chain mines at most one. A row takes a new nonce only when another transaction has used its own beyond reorganisation and none of
// its own was mined. Before anything is signed, the contract's log is asked whether the head was attested already.
//
// # What is asked of a node
//
// Base begins every block with a transaction of a type that upstream go-ethereum cannot decode, so nothing here reads a block with
// its transactions, nor a transaction: only headers, receipts, logs, calls and counts. For the same reason a block's hash is always
// read as the node states it and never computed from a header. JSON-RPC is spoken by a client of our own (rpc.go): a dozen methods over
// HTTP need neither go-ethereum's, which brings web sockets and a network library, nor ethclient, whose methods partly fail on Base.
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
	// data is what a reverted call returned, nil for none.
	data []byte
}

func (e *answerError) Error() string { return fmt.Sprintf("%s (code %d)", e.message, e.code) }

// reverts tells whether err is the answer that a call reverts.
func reverts(err error) bool {
	e, ok := errors.AsType[*answerError](err)
	return ok && e.reverted()
}
