package base

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// SignedTransfer is an authorization to move a token (EIP-3009) as its payer wrote it: addresses and a nonce in hex, decimal numbers.
type SignedTransfer struct {
	From, To, Value, ValidAfter, ValidBefore, Nonce string
}

// typeTransfer is the first word of the signed data.
var typeTransfer = crypto.Keccak256([]byte("TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"))

// keySignature is the longest signature of a key; EIP-2098 has one byte less. Wallets that are contracts have others, which the contract
// alone can judge.
const keySignature = 65

// Signed reports whether a payer's key signed a transfer of a token. own is false if the signature does not have the form of a key's. Then
// only the chain can decide. It returns an error for a malleable signature, which the token's contract would refuse.
func Signed(chainID uint64, token string, d Domain, t SignedTransfer, signature string) (own bool, err error) {
	sig, err := hex.DecodeString(strings.TrimPrefix(signature, "0x"))
	if err != nil {
		return true, errors.New("the signature is not hex")
	}
	if len(sig) > keySignature {
		return false, nil
	}
	if sig, err = normal(sig); err != nil {
		return true, err
	}
	contract, err := ParseAddress(token)
	if err != nil {
		return true, err
	}
	from, err := ParseAddress(t.From)
	if err != nil {
		return true, err
	}
	to, err := ParseAddress(t.To)
	if err != nil {
		return true, err
	}
	if !hashForm.MatchString(t.Nonce) {
		return true, fmt.Errorf("%q is not a nonce", t.Nonce)
	}
	words := [][]byte{typeTransfer, common.LeftPadBytes(from[:], 32), common.LeftPadBytes(to[:], 32)}
	for _, text := range []string{t.Value, t.ValidAfter, t.ValidBefore} {
		n, ok := new(big.Int).SetString(text, 10)
		if !ok || n.Sign() < 0 || n.BitLen() > 256 {
			return true, fmt.Errorf("%q is not a number of the chain", text)
		}
		words = append(words, common.LeftPadBytes(n.Bytes(), 32))
	}
	words = append(words, common.HexToHash(t.Nonce).Bytes())
	separator := d.Separator(chainID, contract)
	key, err := crypto.SigToPub(crypto.Keccak256([]byte{0x19, 1}, separator[:], crypto.Keccak256(words...)), sig)
	if err != nil {
		return true, errors.New("the signature is of no key")
	}
	if signer := crypto.PubkeyToAddress(*key); signer != from {
		return true, fmt.Errorf("the signature is of %s, not of the payer %s", signer, from)
	}
	return true, nil
}

// normal brings a signature to the form r, s, v with v of 0 or 1.
func normal(sig []byte) ([]byte, error) {
	out := make([]byte, keySignature)
	switch n := copy(out, sig); n {
	case keySignature:
		if out[64] >= 27 {
			out[64] -= 27
		}
	case keySignature - 1: // EIP-2098: v is the highest bit of s
		out[64] = out[32] >> 7
		out[32] &= 0x7f
	default:
		return nil, fmt.Errorf("a signature has 65 bytes, this one %d", n)
	}
	if !crypto.ValidateSignatureValues(out[64], new(big.Int).SetBytes(out[:32]), new(big.Int).SetBytes(out[32:64]), true) {
		return nil, errors.New("the signature is of no key")
	}
	return out, nil
}
