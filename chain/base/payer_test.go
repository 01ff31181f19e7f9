package base_test

import (
	"encoding/hex"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"tidemark/chain/base"
	"tidemark/internal/devchain"
)

func TestThePayersSignatureIsRecovered(t *testing.T) {
	t.Parallel()
	chain, err := devchain.Start(devchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = chain.Close() }()
	now := time.Now()
	a, err := chain.Authorize(4, devchain.Address(8).Hex(), 1000, now.Add(-time.Minute), now.Add(time.Minute), [32]byte{7})
	if err != nil {
		t.Fatal(err)
	}
	sig, err := hex.DecodeString(a.Signature[2:])
	if err != nil {
		t.Fatal(err)
	}
	text := func(bend func(s []byte) []byte) string {
		return "0x" + hex.EncodeToString(bend(append([]byte(nil), sig...)))
	}
	good := base.SignedTransfer{From: a.From, To: a.To, Value: a.Value, ValidAfter: a.ValidAfter, ValidBefore: a.ValidBefore, Nonce: a.Nonce}
	domain := base.Domain{Name: "USDC", Version: "2"}
	bent := func(change func(*base.SignedTransfer)) base.SignedTransfer {
		c := good
		change(&c)
		return c
	}
	for name, c := range map[string]struct {
		transfer  base.SignedTransfer
		domain    base.Domain
		signature string
		own, ok   bool
	}{
		"as it was signed":        {good, domain, a.Signature, true, true},
		"v of 0 or 1":             {good, domain, text(func(s []byte) []byte { s[64] -= 27; return s }), true, true},
		"in the short form":       {good, domain, text(func(s []byte) []byte { s[32] |= (s[64] - 27) << 7; return s[:64] }), true, true},
		"letter case is no value": {bent(func(c *base.SignedTransfer) { c.From = strings.ToLower(c.From) }), domain, a.Signature, true, true},
		"another payer":           {bent(func(c *base.SignedTransfer) { c.From = devchain.Address(5).Hex() }), domain, a.Signature, true, false},
		"another recipient":       {bent(func(c *base.SignedTransfer) { c.To = devchain.Address(5).Hex() }), domain, a.Signature, true, false},
		"another amount":          {bent(func(c *base.SignedTransfer) { c.Value = "1001" }), domain, a.Signature, true, false},
		"another end":             {bent(func(c *base.SignedTransfer) { c.ValidBefore += "0" }), domain, a.Signature, true, false},
		"another nonce":           {bent(func(c *base.SignedTransfer) { c.Nonce = "0x" + strings.Repeat("01", 32) }), domain, a.Signature, true, false},
		"another token":           {good, base.Domain{Name: "USD Coin", Version: "2"}, a.Signature, true, false},
		"bent to the other s": {good, domain, text(func(s []byte) []byte {
			other := new(big.Int).Sub(crypto.S256().Params().N, new(big.Int).SetBytes(s[32:64]))
			other.FillBytes(s[32:64])
			s[64] ^= 7 // 27 and 28
			return s
		}), true, false},
		"zeroes":                      {good, domain, "0x" + strings.Repeat("00", 65), true, false},
		"too short":                   {good, domain, a.Signature[:100], true, false},
		"a wallet that is a contract": {good, domain, a.Signature + "00", false, true},
		"a number beyond all":         {bent(func(c *base.SignedTransfer) { c.Value = strings.Repeat("9", 90) }), domain, a.Signature, true, false},
	} {
		own, err := base.Signed(devchain.DefaultChainID, devchain.TokenAddress.Hex(), c.domain, c.transfer, c.signature)
		if own != c.own || (err == nil) != c.ok {
			t.Errorf("%s: of a key %v, %v", name, own, err)
		}
	}
}
