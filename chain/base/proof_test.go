package base_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"tidemark/accounts"
	"tidemark/chain/base"
	"tidemark/internal/devchain"
)

// The example of web3.js's documentation of accounts.sign: text, account, signature.
func TestPersonalSignaturesAreThoseOfWallets(t *testing.T) {
	t.Parallel()
	const (
		text      = "Some data"
		signature = "0xb91467e570a6466aa9e9876cbcd013baba02900b8979d43fe208a4a4f339f5fd6007e74cd82e037b800186422fc2da167c747ef045e5d18a5f5d4300f8e1a0291c"
	)
	account := common.HexToAddress("0x2c7536E3605D9C16a7a3D7b1898e529396a65c23")
	if !base.SignedBy(account, text, signature) {
		t.Error("the published signature was refused")
	}
	for name, bad := range map[string]struct {
		account         common.Address
		text, signature string
	}{
		"another text":      {account, "Some data.", signature},
		"another account":   {common.Address{1}, text, signature},
		"a changed byte":    {account, text, strings.Replace(signature, "b914", "b915", 1)},
		"a byte too few":    {account, text, signature[:len(signature)-2]},
		"no hex":            {account, text, "signature"},
		"the other s":       {account, text, otherS(t, signature)},
		"an unknown v":      {account, text, signature[:len(signature)-2] + "1d"},
		"nothing":           {account, text, "0x"},
		"the zero account":  {common.Address{}, text, "0x" + strings.Repeat("00", 65)},
		"an s of the order": {account, text, "0x" + strings.Repeat("ff", 64) + "1b"},
	} {
		if base.SignedBy(bad.account, bad.text, bad.signature) {
			t.Errorf("%s was accepted", name)
		}
	}
}

// otherS makes the second signature that the same key could have made of the same text.
func otherS(tb testing.TB, signature string) string {
	tb.Helper()
	sig := common.FromHex(signature)
	order := crypto.S256().Params().N
	s := common.BytesToHash(sig[32:64]).Big()
	s.Sub(order, s)
	copy(sig[32:64], common.LeftPadBytes(s.Bytes(), 32))
	sig[64] ^= 7 // 27 and 28 change places
	return hexutil.Encode(sig)
}

func sign(tb testing.TB, account int, message string, v byte) string {
	tb.Helper()
	hash := crypto.Keccak256([]byte("\x19Ethereum Signed Message:\n" + strconv.Itoa(len(message)) + message))
	sig, err := crypto.Sign(hash, devchain.Key(account))
	if err != nil {
		tb.Fatal(err)
	}
	sig[64] += v
	return hexutil.Encode(sig)
}

func TestTheSenderProvesAClaim(t *testing.T) {
	t.Parallel()
	c := startChain(t)
	client := dial(t, c.URL())
	const key = "key_01J"
	message := accounts.ClaimMessage(txHash, key, 84532)
	if want := "claim " + txHash + " for key key_01J on chain 84532"; message != want {
		t.Fatalf("the text is %q, want %q", message, want)
	}
	all, err := devchain.Contracts()
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Transact(t.Context(), 3, nil, append(slices.Clone(all["Wallet"].Create), common.LeftPadBytes(devchain.Address(3).Bytes(), 32)...))
	if err != nil {
		t.Fatal(err)
	}
	wallet := r.ContractAddress
	for _, tt := range []struct {
		name      string
		from      common.Address
		signature string
		good      bool
	}{
		{"an account's own signature", devchain.Address(2), sign(t, 2, message, 27), true},
		{"the same with a v of 0 or 1", devchain.Address(2), sign(t, 2, message, 0), true},
		{"someone else's", devchain.Address(2), sign(t, 4, message, 27), false},
		{"for another key", devchain.Address(2), sign(t, 2, accounts.ClaimMessage(txHash, "key_02", 84532), 27), false},
		{"for another chain", devchain.Address(2), sign(t, 2, accounts.ClaimMessage(txHash, key, 8453), 27), false},
		{"for another transaction", devchain.Address(2), sign(t, 2, accounts.ClaimMessage("0x"+strings.Repeat("cd", 32), key, 84532), 27), false},
		{"a contract wallet, by its owner", wallet, sign(t, 3, message, 27), true},
		{"a contract wallet, by another", wallet, sign(t, 4, message, 27), false},
		{"a contract that signs nothing", devchain.TokenAddress, sign(t, 3, message, 27), false},
		{"no hex", devchain.Address(2), "0xzz", false},
		{"nothing", devchain.Address(2), "", false},
		{"endless", wallet, "0x" + strings.Repeat("00", 9000), false},
	} {
		err := client.CheckProof(t.Context(), tt.from, message, tt.signature)
		if tt.good && err != nil || !tt.good && !errors.Is(err, base.ErrBadProof) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
