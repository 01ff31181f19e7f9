package base

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
)

// ErrBadProof says that a signature does not prove who sent a transfer.
var ErrBadProof = errors.New("the signature is not the sender's")

// maxSignature is the max length of a signature in bytes: signatures of contract wallets carry their own data.
const maxSignature = 8 << 10

// personalHash is the hash that wallets sign for a text (EIP-191, version 0x45).
func personalHash(message string) common.Hash {
	return crypto.Keccak256Hash(fmt.Appendf(nil, "\x19Ethereum Signed Message:\n%d%s", len(message), message))
}

// recovers reports whether the key of account made a 65-byte signature of hash. A signature has one form only: its s is in the lower
// half, and its v is 27 or 28, or 0 or 1.
func recovers(account common.Address, hash common.Hash, sig []byte) bool {
	if len(sig) != crypto.SignatureLength {
		return false
	}
	s := bytes.Clone(sig)
	if s[64] >= 27 {
		s[64] -= 27
	}
	if !crypto.ValidateSignatureValues(s[64], new(big.Int).SetBytes(s[:32]), new(big.Int).SetBytes(s[32:64]), true) {
		return false
	}
	key, err := crypto.SigToPub(hash[:], s)
	return err == nil && crypto.PubkeyToAddress(*key) == account
}

// CheckProof checks a sender's signature of a message: by the account's key or, if the account is a contract, by calling it (ERC-1271). It
// returns nil for a valid signature, ErrBadProof for another signer's, and ErrUnavailable if the contract could not be called.
func (c *Client) CheckProof(ctx context.Context, from common.Address, message, signature string) error {
	sig, err := hexutil.Decode(signature)
	if err != nil || len(sig) == 0 || len(sig) > maxSignature {
		return ErrBadProof
	}
	hash := personalHash(message)
	if recovers(from, hash, sig) {
		return nil
	}
	data, err := easABI.Pack("isValidSignature", hash, sig)
	if err != nil {
		return err
	}
	var out []byte
	err = c.on(ctx, func(ctx context.Context, n *node) (err error) {
		out, err = n.call(ctx, from, data)
		return err
	})
	if reverts(err) {
		return ErrBadProof
	}
	if err != nil {
		return fmt.Errorf("ask the wallet %s about a signature: %w", from, err)
	}
	// The answer is the function's own selector in a word of 32 bytes. An account without code answers with nothing.
	want := make([]byte, 32)
	copy(want, easABI.Methods["isValidSignature"].ID)
	if !bytes.Equal(out, want) {
		return ErrBadProof
	}
	return nil
}
