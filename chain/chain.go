// Package chain defines the hash chain of the picks: the links, the hashed bytes, and the verification of a chain. It is pure and depends
// on the standard library alone, so that anyone can compile the verifier without the rest of the program. Start at Link, then Verifier.
// The rule in words, with an example to repeat by hand, is docs/hash-chain.md.
package chain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Rule names the four values that are hashed, in their order and with their separator.
const Rule = "ticker|price|date|previous_hash"

// Genesis is the previous hash of the first pick: 64 zeros. It is hashed as printed.
const Genesis = "0000000000000000000000000000000000000000000000000000000000000000"

// Link is one pick in the chain. All values are text because text is hashed: a number would lose its trailing zeros on the way. A Link is
// only data; Check and Verifier report whether it keeps the rules.
type Link struct {
	// Seq counts the picks from 1. It is not hashed; the previous hash orders the links.
	Seq int64
	// Ticker is the stock's symbol in upper case.
	Ticker string
	// Price is the pick's price in plain decimal with 2 to 4 decimals, exactly as it is stored.
	Price string
	// Date is the trading day of the pick, YYYY-MM-DD.
	Date string
	// PreviousHash is the hash of the pick before, Genesis for the first.
	PreviousHash string
	// Hash is the SHA-256 of the preimage in lower-case hex.
	Hash string
}

// Error says which link breaks the rules, in which field, and how. Every error of a link is of this type.
type Error struct {
	Seq int64
	// Field is seq, ticker, price, date, previous_hash or hash.
	Field string
	// Reason says what was expected.
	Reason string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("pick %d: %s: %s", e.Seq, e.Field, e.Reason)
}

// AppendPreimage appends the bytes that are hashed for l to dst and returns the longer slice. It looks at no rule and never fails.
func AppendPreimage(dst []byte, l Link) []byte {
	dst = append(dst, l.Ticker...)
	dst = append(dst, '|')
	dst = append(dst, l.Price...)
	dst = append(dst, '|')
	dst = append(dst, l.Date...)
	dst = append(dst, '|')
	return append(dst, l.PreviousHash...)
}

// Preimage returns the bytes that are hashed for l, as text.
func Preimage(l Link) string {
	return string(AppendPreimage(make([]byte, 0, maxPreimage), l))
}

// Hash computes the hash that l must have from its other values, in lower-case hex. It does not read l.Hash and looks at no rule.
func Hash(l Link) string {
	sum := sha256.Sum256(AppendPreimage(make([]byte, 0, maxPreimage), l))
	return hex.EncodeToString(sum[:])
}

// Next makes the link that follows a checkpoint (the zero Checkpoint: the first link). A value against the rules, or a date that
// does not come after the checkpoint's, is an *Error.
func Next(after Checkpoint, ticker, price, date string) (Link, error) {
	v, err := Resume(after)
	if err != nil {
		return Link{}, err
	}
	l := Link{Seq: after.Length + 1, Ticker: ticker, Price: price, Date: date, PreviousHash: v.head()}
	l.Hash = Hash(l)
	if err := v.Add(l); err != nil {
		return Link{}, err
	}
	return l, nil
}

// Check returns an error if l breaks a rule that can be checked without its neighbours: the form of each field, and the hash. The error
// is an *Error.
func Check(l Link) error {
	if l.Seq < 1 {
		return &Error{Seq: l.Seq, Field: "seq", Reason: "counts from 1"}
	}
	if _, e := checkFields(l.Seq, l.Ticker, l.Price, l.Date); e != nil {
		return e
	}
	if !isHash(l.PreviousHash) {
		return &Error{Seq: l.Seq, Field: "previous_hash", Reason: "must be 64 lower-case hex digits"}
	}
	if !isHash(l.Hash) {
		return &Error{Seq: l.Seq, Field: "hash", Reason: "must be 64 lower-case hex digits"}
	}
	if want := Hash(l); l.Hash != want {
		return &Error{Seq: l.Seq, Field: "hash", Reason: "is " + l.Hash + ", recomputed " + want}
	}
	return nil
}
