package base_test

import (
	"crypto/ecdsa"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"tidemark/chain/base"
	"tidemark/internal/devchain"
)

// typed signs a message of the development token by the text of EIP-712, without the contract's help.
func typed(tb testing.TB, key *ecdsa.PrivateKey, message ...[]byte) []byte {
	tb.Helper()
	domain := base.Domain{Name: "USDC", Version: "2"}.Separator(devchain.DefaultChainID, devchain.TokenAddress)
	sig, err := crypto.Sign(crypto.Keccak256([]byte{0x19, 1}, domain[:], crypto.Keccak256(message...)), key)
	if err != nil {
		tb.Fatal(err)
	}
	sig[64] += 27
	return sig
}

func word(n int64) []byte { return common.BigToHash(big.NewInt(n)).Bytes() }

func pad(a common.Address) []byte { return common.LeftPadBytes(a[:], 32) }

// overload packs a call of the function of a name that takes so many arguments.
func overload(tb testing.TB, name string, args ...any) []byte {
	tb.Helper()
	all, err := devchain.Contracts()
	if err != nil {
		tb.Fatal(err)
	}
	for id, m := range all["Token"].ABI.Methods {
		if m.RawName == name && len(m.Inputs) == len(args) {
			data, err := all["Token"].ABI.Pack(id, args...)
			if err != nil {
				tb.Fatal(err)
			}
			return data
		}
	}
	tb.Fatalf("the token has no %s with %d arguments", name, len(args))
	return nil
}

// take brings an authorization of account 4 to the chain.
func take(tb testing.TB, c *devchain.Chain, a base.Authorization) string {
	tb.Helper()
	kind := crypto.Keccak256([]byte("TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"))
	before := a.ValidBefore.Unix()
	sig := typed(tb, devchain.Key(4), kind, pad(a.From), pad(a.To), word(a.Micro), word(0), word(before), a.Nonce[:])
	r, err := c.Transact(tb.Context(), 3, &a.Token, overload(tb, "transferWithAuthorization", a.From, a.To, big.NewInt(a.Micro),
		new(big.Int), big.NewInt(before), a.Nonce, sig))
	if err != nil {
		tb.Fatal(err)
	}
	return r.TxHash.Hex()
}

func TestFatesOfAnAuthorization(t *testing.T) {
	t.Parallel()
	c := startChain(t)
	began := time.Now()
	client, err := base.Dial(devchain.DefaultChainID, c.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 40 { // blocks to search
		c.Commit()
	}
	signed := base.Authorization{
		Token: devchain.TokenAddress, From: devchain.Address(4), To: devchain.Address(5), Micro: 1000, ValidBefore: began.Add(time.Hour), Since: began,
	}
	with := func(nonce byte) base.Authorization {
		a := signed
		a.Nonce = common.Hash{nonce}
		return a
	}
	fate := func(a base.Authorization) base.AuthorizationStatus {
		t.Helper()
		f, err := client.Authorization(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}

	if f := fate(with(1)); f.State != base.AuthorizationOpen || f.TxHash != "" || f.Head.IsZero() {
		t.Errorf("never seen: %+v", f)
	}
	paid := with(2)
	tx := take(t, c, paid)
	for range 3 {
		c.Commit()
	}
	if f := fate(paid); f.State != base.AuthorizationPaid || f.TxHash != tx || f.BlockNumber == 0 || f.BlockTime.Before(began.Add(-time.Minute)) {
		t.Errorf("paid by %s: %+v", tx, f)
	}

	// The same nonce for another purpose: used, and not paid to us.
	other := with(3)
	other.To = devchain.Address(6)
	take(t, c, other)
	if f := fate(with(3)); f.State != base.AuthorizationVoid {
		t.Errorf("paid to someone else: %+v", f)
	}
	less := with(4)
	less.Micro = 999
	take(t, c, less)
	if f := fate(with(4)); f.State != base.AuthorizationVoid {
		t.Errorf("paid less: %+v", f)
	}
	cancelled := with(5)
	sig := typed(t, devchain.Key(4), crypto.Keccak256([]byte("CancelAuthorization(address authorizer,bytes32 nonce)")), pad(cancelled.From), cancelled.Nonce[:])
	if _, err := c.Transact(t.Context(), 3, &cancelled.Token, overload(t, "cancelAuthorization", cancelled.From, cancelled.Nonce, sig)); err != nil {
		t.Fatal(err)
	}
	if f := fate(cancelled); f.State != base.AuthorizationVoid || f.TxHash != "" {
		t.Errorf("cancelled: %+v", f)
	}

	// Only the chain's own time ends an authorization.
	late := with(6)
	late.ValidBefore = began.Add(30 * time.Minute)
	if f := fate(late); f.State != base.AuthorizationOpen {
		t.Errorf("still good: %+v", f)
	}
	if err := c.Skip(2 * time.Hour); err != nil {
		t.Fatal(err)
	}
	if f := fate(late); f.State != base.AuthorizationExpired {
		t.Errorf("no longer good: %+v", f)
	}
	if f := fate(paid); f.State != base.AuthorizationPaid {
		t.Errorf("paid in time: %+v", f)
	}
}

func TestDomainOfTheToken(t *testing.T) {
	t.Parallel()
	// That of USDC on Base, as the contract answers it.
	real := base.Domain{Name: "USD Coin", Version: "2"}.Separator(8453, common.HexToAddress("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"))
	if want := "0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f"; real.Hex() != want {
		t.Errorf("separator %s, want %s", real, want)
	}
	c := startChain(t)
	client, err := base.Dial(devchain.DefaultChainID, c.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, tt := range []struct {
		name  string
		token common.Address
		d     base.Domain
		ok    bool
	}{
		{"as it is", devchain.TokenAddress, base.Domain{Name: "USDC", Version: "2"}, true},
		{"the name on the main network", devchain.TokenAddress, base.Domain{Name: "USD Coin", Version: "2"}, false},
		{"another version", devchain.TokenAddress, base.Domain{Name: "USDC", Version: "1"}, false},
		{"no contract", common.Address{1}, base.Domain{Name: "USDC", Version: "2"}, false},
		{"another contract", devchain.EASAddress, base.Domain{Name: "USDC", Version: "2"}, false},
	} {
		fault, err := client.CheckDomain(t.Context(), tt.token, tt.d)
		if err != nil || (fault == "") != tt.ok {
			t.Errorf("%s: %q, %v", tt.name, fault, err)
		}
	}
}
