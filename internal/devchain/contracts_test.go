package devchain_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"tidemark/internal/devchain"
)

// solc is the version of the compiler that made contracts.json.
const solc = "0.8.37"

var (
	update = flag.Bool("update", false, "rewrite contracts/contracts.json")
	fetch  = flag.Bool("npm", false, "run what needs packages from npm, and fetch them")
)

func TestBytecodeIsThatOfTheSources(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s to compile the contracts again: %v", tool, err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "node", "contracts/compile.cjs", filepath.Join(npm(t, "solc", solc), "node_modules", "solc"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("compile: %v\n%s", err, stderr.String())
	}
	if *update {
		if err := os.WriteFile("contracts/contracts.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("contracts/contracts.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("contracts.json (%d bytes) is not what solc %s makes of the sources (%d bytes): run go test -npm -update", len(want), solc, len(got))
	}
}

// npm installs one package at one version, once for all runs, and returns its folder. Without a registry the test is skipped.
func npm(tb testing.TB, name, version string) string {
	tb.Helper()
	if !*fetch {
		tb.Skipf("needs %s from npm: make contracts", name)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		tb.Skipf("no cache folder for npm packages: %v", err)
	}
	root := filepath.Join(cache, "tidemark-test")
	dir := filepath.Join(root, strings.NewReplacer("/", "-", "@", "").Replace(name)+"-"+version)
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		tb.Fatal(err)
	}
	half, err := os.MkdirTemp(root, "half-")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(half) }()
	ctx, cancel := context.WithTimeout(tb.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "install", "--prefix", half, "--ignore-scripts", "--no-audit", "--no-fund", name+"@"+version)
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Skipf("npm cannot install %s@%s here: %v\n%s", name, version, err, out)
	}
	if err := os.Rename(half, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// The selectors and topics are the published ones of EAS and the stablecoin.
func TestInterfacesAreThoseOfTheRealContracts(t *testing.T) {
	t.Parallel()
	selectors := map[string]map[string]string{
		"SchemaRegistry": {"register(string,address,bool)": "60d7a278", "getSchema(bytes32)": "a2ea7c6e"},
		"EAS": {
			"attest((bytes32,(address,uint64,bool,bytes32,bytes,uint256)))":          "f17325e7",
			"multiAttest((bytes32,(address,uint64,bool,bytes32,bytes,uint256)[])[])": "44adc90e",
			"getAttestation(bytes32)":     "a3112a64",
			"isAttestationValid(bytes32)": "e30bb563",
			"timestamp(bytes32)":          "4d003070",
			"getTimestamp(bytes32)":       "d45c4435",
		},
		"Token": {
			"authorizationState(address,bytes32)": "e94a0102",
			"transfer(address,uint256)":           "a9059cbb",
			"balanceOf(address)":                  "70a08231",
			"DOMAIN_SEPARATOR()":                  "3644e515",
			"transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)": "e3ee160e",
			"transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)":                 "cf092995",
		},
		"Wallet": {"isValidSignature(bytes32,bytes)": "1626ba7e"},
	}
	for name, want := range selectors {
		have := map[string]string{}
		for _, m := range contract(t, name).ABI.Methods {
			have[m.Sig] = hex.EncodeToString(m.ID)
		}
		for sig, id := range want {
			if have[sig] != id {
				t.Errorf("%s.%s has the selector %q, want %s", name, sig, have[sig], id)
			}
		}
	}
	for name, topic := range map[string]string{
		"EAS.Attested":            "0x8bf46bf4cfd674fa735a3d63ec1c9ad4153f033c290341f3a588b75685141b35",
		"Token.Transfer":          "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
		"Token.AuthorizationUsed": "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5",
	} {
		c, event, _ := strings.Cut(name, ".")
		if got := contract(t, c).ABI.Events[event].ID.Hex(); got != topic {
			t.Errorf("%s has the topic %s, want %s", name, got, topic)
		}
	}
	for name, id := range map[string]string{"SchemaRegistry.AlreadyExists": "23369fa6", "EAS.AlreadyTimestamped": "2e267946"} {
		c, e, _ := strings.Cut(name, ".")
		id4 := contract(t, c).ABI.Errors[e].ID
		if got := hex.EncodeToString(id4[:4]); got != id {
			t.Errorf("%s is %s, want %s", name, got, id)
		}
	}
}

// reverted sends a transaction that must revert, and returns the name of the error or the reason.
func reverted(tb testing.TB, c *devchain.Chain, name string, at common.Address, data []byte) string {
	tb.Helper()
	_, err := c.Transact(tb.Context(), 3, &at, data)
	if err == nil {
		tb.Error("the transaction did not revert")
		return ""
	}
	detail, ok := errors.AsType[rpc.DataError](err)
	if !ok {
		tb.Errorf("error %v", err)
		return ""
	}
	raw := common.FromHex(fmt.Sprint(detail.ErrorData()))
	for _, e := range contract(tb, name).ABI.Errors {
		if bytes.HasPrefix(raw, e.ID[:4]) {
			return e.Name
		}
	}
	return err.Error()
}

type attestData struct {
	Recipient      common.Address
	ExpirationTime uint64
	Revocable      bool
	RefUID         [32]byte
	Data           []byte
	Value          *big.Int
}

type attestRequest struct {
	Schema [32]byte
	Data   attestData
}

func TestSchemasAndAttestationsBehave(t *testing.T) {
	t.Parallel()
	c := start(t, devchain.Options{})
	ctx := t.Context()
	const schema = "bytes32 head,uint64 length"
	none := common.Address{}
	uid := crypto.Keccak256Hash([]byte(schema), none[:], []byte{0})
	registry, eas := devchain.SchemaRegistryAddress, devchain.EASAddress
	register := pack(t, "SchemaRegistry", "register", schema, none, false)
	attest := func(r attestRequest) []byte {
		if r.Data.Value == nil {
			r.Data.Value = new(big.Int)
		}
		return pack(t, "EAS", "attest", r)
	}
	if got := reverted(t, c, "EAS", eas, attest(attestRequest{Schema: uid})); got != "InvalidSchema" {
		t.Errorf("attesting under no schema: %s", got)
	}
	if _, err := c.Transact(ctx, 3, &registry, register); err != nil {
		t.Fatal(err)
	}
	if got := reverted(t, c, "SchemaRegistry", registry, register); got != "AlreadyExists" {
		t.Errorf("registering twice: %s", got)
	}
	data := common.LeftPadBytes([]byte{7}, 64)
	receipt, err := c.Transact(ctx, 3, &eas, attest(attestRequest{Schema: uid, Data: attestData{Data: data}}))
	if err != nil {
		t.Fatal(err)
	}
	if len(receipt.Logs) != 1 || len(receipt.Logs[0].Topics) != 4 || len(receipt.Logs[0].Data) != 32 {
		t.Fatalf("logs %+v", receipt.Logs)
	}
	made := common.BytesToHash(receipt.Logs[0].Data)
	header, err := client(t, c).HeaderByNumber(ctx, receipt.BlockNumber)
	if err != nil {
		t.Fatal(err)
	}
	// The uid by its published formula, with this block's time and no bump.
	packed := bytes.Join([][]byte{
		uid[:], none[:], devchain.Address(3).Bytes(), binary64(header.Time), make([]byte, 8), {0}, make([]byte, 32), data, make([]byte, 4),
	}, nil)
	if want := crypto.Keccak256Hash(packed); made != want {
		t.Errorf("uid %s, want %s", made, want)
	}
	if got := call(t, c, "EAS", eas, "isAttestationValid", made)[0]; got != true {
		t.Error("the attestation is not valid")
	}
	for name, r := range map[string]attestRequest{
		"Irrevocable":           {Schema: uid, Data: attestData{Revocable: true}},
		"NotFound":              {Schema: uid, Data: attestData{RefUID: [32]byte{1}}},
		"InvalidExpirationTime": {Schema: uid, Data: attestData{ExpirationTime: 1}},
		"NotPayable":            {Schema: uid, Data: attestData{Value: big.NewInt(1)}},
	} {
		if got := reverted(t, c, "EAS", eas, attest(r)); got != name {
			t.Errorf("want %s, got %s", name, got)
		}
	}
	stamp := pack(t, "EAS", "timestamp", made)
	if _, err := c.Transact(ctx, 3, &eas, stamp); err != nil {
		t.Fatal(err)
	}
	if got := reverted(t, c, "EAS", eas, stamp); got != "AlreadyTimestamped" {
		t.Errorf("the same timestamp twice: %s", got)
	}
}

func binary64(n uint64) []byte { return common.LeftPadBytes(new(big.Int).SetUint64(n).Bytes(), 8) }

// authorization is the data that a payer signs (EIP-3009), for the tests' own EIP-712 below.
type authorization struct {
	from, to                       common.Address
	value, validAfter, validBefore *big.Int
	nonce                          [32]byte
}

// sign makes an EIP-712 signature from the standard's text, without the contract's help.
func (a authorization) sign(key *ecdsa.PrivateKey, name string, chain int64, token common.Address) []byte {
	word := func(n *big.Int) []byte { return common.LeftPadBytes(n.Bytes(), 32) }
	domain := crypto.Keccak256(
		crypto.Keccak256([]byte("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")),
		crypto.Keccak256([]byte(name)), crypto.Keccak256([]byte("2")), word(big.NewInt(chain)), common.LeftPadBytes(token[:], 32))
	message := crypto.Keccak256(
		crypto.Keccak256([]byte("TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)")),
		common.LeftPadBytes(a.from[:], 32), common.LeftPadBytes(a.to[:], 32), word(a.value), word(a.validAfter), word(a.validBefore), a.nonce[:])
	sig, err := crypto.Sign(crypto.Keccak256([]byte{0x19, 1}, domain, message), key)
	if err != nil {
		panic(err)
	}
	sig[64] += 27
	return sig
}

func TestTokenMovesByASignedAuthorization(t *testing.T) {
	t.Parallel()
	c := start(t, devchain.Options{})
	ctx, token := t.Context(), devchain.TokenAddress
	payer, shop := devchain.Address(4), devchain.Address(5)
	now := time.Now().Unix()
	pay := func(nonce byte) authorization {
		return authorization{payer, shop, big.NewInt(1000), big.NewInt(now - 600), big.NewInt(now + 3600), [32]byte{nonce}}
	}
	balance := func(a common.Address) int64 {
		return call(t, c, "Token", token, "balanceOf", a)[0].(*big.Int).Int64()
	}
	before := balance(shop)

	// Both overloads, each with its own nonce.
	a := pay(1)
	sig := a.sign(devchain.Key(4), "USDC", 84532, token)
	whole := func(a authorization, sig []byte) []byte {
		return pack(t, "Token", "transferWithAuthorization0", a.from, a.to, a.value, a.validAfter, a.validBefore, a.nonce, sig)
	}
	if m := contract(t, "Token").ABI.Methods["transferWithAuthorization0"]; hex.EncodeToString(m.ID) != "cf092995" && hex.EncodeToString(m.ID) != "e3ee160e" {
		t.Fatalf("the second overload is %s", m.Sig)
	}
	split := func(a authorization, sig []byte) []byte {
		return pack(t, "Token", "transferWithAuthorization", a.from, a.to, a.value, a.validAfter, a.validBefore, a.nonce, sig[64], [32]byte(sig[:32]), [32]byte(sig[32:64]))
	}
	if contract(t, "Token").ABI.Methods["transferWithAuthorization"].Inputs[6].Type.String() == "bytes" {
		whole, split = func(a authorization, sig []byte) []byte {
			return pack(t, "Token", "transferWithAuthorization", a.from, a.to, a.value, a.validAfter, a.validBefore, a.nonce, sig)
		}, func(a authorization, sig []byte) []byte {
			return pack(t, "Token", "transferWithAuthorization0", a.from, a.to, a.value, a.validAfter, a.validBefore, a.nonce, sig[64], [32]byte(sig[:32]), [32]byte(sig[32:64]))
		}
	}
	receipt, err := c.Transact(ctx, 6, &token, whole(a, sig))
	if err != nil {
		t.Fatal(err)
	}
	if len(receipt.Logs) != 2 || receipt.Logs[0].Topics[0] != contract(t, "Token").ABI.Events["AuthorizationUsed"].ID {
		t.Errorf("logs %+v", receipt.Logs)
	}
	if got := call(t, c, "Token", token, "authorizationState", payer, a.nonce)[0]; got != true {
		t.Error("the authorization is not used")
	}
	if got := reverted(t, c, "Token", token, whole(a, sig)); !strings.Contains(got, "authorization is used or canceled") {
		t.Errorf("the same authorization twice: %s", got)
	}
	b := pay(2)
	if _, err := c.Transact(ctx, 6, &token, split(b, b.sign(devchain.Key(4), "USDC", 84532, token))); err != nil {
		t.Fatal(err)
	}
	if got := balance(shop) - before; got != 2000 {
		t.Errorf("the shop got %d, want 2000", got)
	}

	early, late := pay(3), pay(4)
	early.validAfter, late.validBefore = big.NewInt(now+1800), big.NewInt(now-1)
	forged := pay(5)
	forgedSig := forged.sign(devchain.Key(4), "USDC", 84532, token)
	forged.value = big.NewInt(999_999)
	for want, data := range map[string][]byte{
		"not yet valid":     whole(early, early.sign(devchain.Key(4), "USDC", 84532, token)),
		"expired":           whole(late, late.sign(devchain.Key(4), "USDC", 84532, token)),
		"invalid signature": whole(forged, forgedSig),
	} {
		if got := reverted(t, c, "Token", token, data); !strings.Contains(got, want) {
			t.Errorf("want %q, got %s", want, got)
		}
	}
	// The name is part of the signed data: a signature for the main network's name is not valid here.
	wrong := pay(6)
	if got := reverted(t, c, "Token", token, whole(wrong, wrong.sign(devchain.Key(4), "USD Coin", 84532, token))); !strings.Contains(got, "invalid signature") {
		t.Errorf("a signature for another name: %s", got)
	}
}

func TestContractWalletPaysBySignature(t *testing.T) {
	t.Parallel()
	c := start(t, devchain.Options{TokenName: "USD Coin"})
	ctx, token := t.Context(), devchain.TokenAddress
	owner := common.LeftPadBytes(devchain.Address(7).Bytes(), 32)
	receipt, err := c.Transact(ctx, 7, nil, append(bytes.Clone(contract(t, "Wallet").Create), owner...))
	if err != nil {
		t.Fatal(err)
	}
	wallet := receipt.ContractAddress
	if _, err := c.Transact(ctx, 8, &token, pack(t, "Token", "mint", wallet, big.NewInt(5_000_000))); err != nil {
		t.Fatal(err)
	}
	a := authorization{wallet, devchain.Address(1), big.NewInt(5_000_000), new(big.Int), big.NewInt(1 << 40), [32]byte{9}}
	method := "transferWithAuthorization"
	if contract(t, "Token").ABI.Methods[method].Inputs[6].Type.String() != "bytes" {
		method += "0"
	}
	data := pack(t, "Token", method, a.from, a.to, a.value, a.validAfter, a.validBefore, a.nonce, a.sign(devchain.Key(7), "USD Coin", 84532, token))
	if _, err := c.Transact(ctx, 8, &token, data); err != nil {
		t.Fatal(err)
	}
	// The owner's own call, through the wallet.
	if _, err := c.Transact(ctx, 8, &token, pack(t, "Token", "mint", wallet, big.NewInt(3))); err != nil {
		t.Fatal(err)
	}
	transfer := pack(t, "Token", "transfer", devchain.Address(1), big.NewInt(1))
	receipt, err = c.Transact(ctx, 7, &wallet, pack(t, "Wallet", "execute", []common.Address{token, token}, [][]byte{transfer, transfer}))
	if err != nil || len(receipt.Logs) != 2 {
		t.Fatalf("%+v, %v", receipt, err)
	}
	if got := reverted(t, c, "Wallet", wallet, pack(t, "Wallet", "execute", []common.Address{token}, [][]byte{transfer})); !strings.Contains(got, "only the owner") {
		t.Errorf("a stranger's call: %s", got)
	}
}
