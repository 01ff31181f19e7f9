package devchain_test

import (
	"bytes"
	"context"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"

	"tidemark/internal/devchain"
)

func start(tb testing.TB, o devchain.Options) *devchain.Chain {
	tb.Helper()
	c, err := devchain.Start(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return c
}

// client connects to a chain like any client.
func client(tb testing.TB, c *devchain.Chain) *ethclient.Client {
	tb.Helper()
	cl, err := ethclient.DialContext(tb.Context(), c.URL())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(cl.Close)
	return cl
}

// contract returns a contract by name.
func contract(tb testing.TB, name string) devchain.Contract {
	tb.Helper()
	all, err := devchain.Contracts()
	if err != nil {
		tb.Fatal(err)
	}
	return all[name]
}

// call calls a view function and returns its results.
func call(tb testing.TB, c *devchain.Chain, name string, at common.Address, method string, args ...any) []any {
	tb.Helper()
	abi := contract(tb, name).ABI
	data, err := abi.Pack(method, args...)
	if err != nil {
		tb.Fatal(err)
	}
	out, err := client(tb, c).CallContract(tb.Context(), ethereum.CallMsg{To: &at, Data: data}, nil)
	if err != nil {
		tb.Fatalf("%s.%s: %v", name, method, err)
	}
	values, err := abi.Unpack(method, out)
	if err != nil {
		tb.Fatal(err)
	}
	return values
}

func pack(tb testing.TB, name, method string, args ...any) []byte {
	tb.Helper()
	data, err := contract(tb, name).ABI.Pack(method, args...)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func TestChainLooksLikeBaseSepoliaFromOutside(t *testing.T) {
	t.Parallel()
	c := start(t, devchain.Options{Origins: []string{"https://shop.example"}})
	if !strings.HasPrefix(c.URL(), "http://127.0.0.1:") {
		t.Fatalf("URL %s", c.URL())
	}
	client, err := ethclient.DialContext(t.Context(), c.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	id, err := client.ChainID(t.Context())
	if err != nil || id.Int64() != 84532 {
		t.Errorf("chain id %v, %v", id, err)
	}
	for name, at := range map[string]common.Address{"EAS": devchain.EASAddress, "SchemaRegistry": devchain.SchemaRegistryAddress, "Token": devchain.TokenAddress} {
		code, err := client.CodeAt(t.Context(), at, nil)
		if err != nil || !bytes.Equal(code, contract(t, name).Code) {
			t.Errorf("%s: %d bytes of code, %v", name, len(code), err)
		}
	}
	if got := call(t, c, "EAS", devchain.EASAddress, "getSchemaRegistry")[0]; got != devchain.SchemaRegistryAddress {
		t.Errorf("the EAS asks the registry %v", got)
	}
	if got := call(t, c, "Token", devchain.TokenAddress, "name")[0]; got != "USDC" {
		t.Errorf("the token's name is %v", got)
	}
	for i := range devchain.Accounts {
		wei, err := client.BalanceAt(t.Context(), devchain.Address(i), nil)
		if err != nil || wei.Cmp(big.NewInt(1e18)) < 0 {
			t.Errorf("account %d has %v wei, %v", i, wei, err)
		}
		if got := call(t, c, "Token", devchain.TokenAddress, "balanceOf", devchain.Address(i))[0].(*big.Int); got.Int64() != 1_000_000_000_000 {
			t.Errorf("account %d has %v micro-dollars", i, got)
		}
	}
	if got := call(t, c, "Token", devchain.TokenAddress, "totalSupply")[0].(*big.Int); got.Int64() != 10_000_000_000_000 {
		t.Errorf("there are %v micro-dollars", got)
	}

	// A page of an allowed origin may send requests, a page of another origin may not.
	for origin, allowed := range map[string]string{"https://shop.example": "https://shop.example", "https://evil.example": ""} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.URL(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", origin)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := resp.Header.Get("Access-Control-Allow-Origin"); got != allowed {
			t.Errorf("to the origin %s: allowed origin %q, want %q", origin, got, allowed)
		}
	}
	// No client can move the head, sign with a key of the node or read its files over the network.
	for _, method := range []string{"debug_setHead", "admin_nodeInfo", "personal_listAccounts", "engine_forkchoiceUpdatedV3", "miner_setGasPrice"} {
		if err := client.Client().CallContext(t.Context(), nil, method); err == nil || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func send(tb testing.TB, c *devchain.Chain, account int, nonce uint64, wei int64) common.Hash {
	tb.Helper()
	to := devchain.Address(0)
	tx, err := types.SignNewTx(devchain.Key(account), types.LatestSignerForChainID(c.ID()), &types.DynamicFeeTx{
		ChainID: c.ID(), Nonce: nonce, To: &to, Value: big.NewInt(wei), Gas: 21_000, GasFeeCap: big.NewInt(4e9), GasTipCap: big.NewInt(1e9),
	})
	if err != nil {
		tb.Fatal(err)
	}
	if err := client(tb, c).SendTransaction(tb.Context(), tx); err != nil {
		tb.Fatal(err)
	}
	return tx.Hash()
}

// mined waits until a transaction is in a block.
func mined(tb testing.TB, c *devchain.Chain, hash common.Hash) *types.Receipt {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		if r, err := client(tb, c).TransactionReceipt(ctx, hash); err == nil {
			return r
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			tb.Fatalf("the transaction %s is in no block", hash)
		}
	}
}

func TestEveryTransactionGetsABlockAtOnce(t *testing.T) {
	t.Parallel()
	c := start(t, devchain.Options{})
	var hashes []common.Hash
	for i := range 20 {
		hashes = append(hashes, send(t, c, 1+i%3, uint64(i/3), 1))
	}
	for _, h := range hashes {
		mined(t, c, h)
	}
}

func TestBlocksComeByTheClock(t *testing.T) {
	t.Parallel()
	c := start(t, devchain.Options{Period: 20 * time.Millisecond})
	hash := send(t, c, 1, 0, 1)
	if r := mined(t, c, hash); r.BlockNumber.Sign() == 0 {
		t.Error("no block was made")
	}
}

func TestManualChainMinesWhenTold(t *testing.T) {
	t.Parallel()
	c := start(t, devchain.Options{Manual: true})
	hash := send(t, c, 1, 0, 1)
	if _, err := client(t, c).TransactionReceipt(t.Context(), hash); err == nil {
		t.Error("a block was made unasked")
	}
	parent, err := client(t, c).HeaderByNumber(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	block := c.Commit()
	if r := mined(t, c, hash); r.BlockHash != block {
		t.Errorf("block %s, want %s", r.BlockHash, block)
	}
	// A reorganised transaction waits again; a dropped transaction is lost.
	if err := c.Fork(parent.Hash()); err != nil {
		t.Fatal(err)
	}
	if _, err := client(t, c).TransactionReceipt(t.Context(), hash); err == nil {
		t.Error("a reorganised transaction has a receipt")
	}
	c.Commit()
	c.Commit()
	if r := mined(t, c, hash); r.BlockHash == block {
		t.Error("the reorganised block is back")
	}
	lost := send(t, c, 1, 1, 1)
	if err := c.Drop(); err != nil {
		t.Fatal(err)
	}
	c.Commit()
	if _, err := client(t, c).TransactionReceipt(t.Context(), lost); err == nil {
		t.Error("a dropped transaction was mined")
	}
	before, err := client(t, c).HeaderByNumber(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Skip(time.Hour); err != nil {
		t.Fatal(err)
	}
	after, err := client(t, c).HeaderByNumber(t.Context(), nil)
	if err != nil || after.Time != before.Time+3600 {
		t.Errorf("an hour later it is %d after %d, %v", after.Time, before.Time, err)
	}
}

func TestHeadsAreKnownFromTheStart(t *testing.T) {
	t.Parallel()
	c := start(t, devchain.Options{Manual: true})
	head := func(tag rpc.BlockNumber) int64 {
		t.Helper()
		h, err := client(t, c).HeaderByNumber(t.Context(), big.NewInt(int64(tag)))
		if err != nil {
			t.Fatalf("%v: %v", tag, err)
		}
		return h.Number.Int64()
	}
	if s, f := head(rpc.SafeBlockNumber), head(rpc.FinalizedBlockNumber); s != 1 || f != 0 {
		t.Errorf("at the first block safe is %d, finalized %d", s, f)
	}
	for range 39 {
		c.Commit()
	}
	if s, f := head(rpc.SafeBlockNumber), head(rpc.FinalizedBlockNumber); s != 40 || f != 32 {
		t.Errorf("at block 40 safe is %d, finalized %d", s, f)
	}
}

func TestAFolderKeepsTheChain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := devchain.Start(devchain.Options{Dir: dir, Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Fresh() {
		t.Error("a new chain is not fresh")
	}
	var hashes []common.Hash
	for i := range 5 {
		hashes = append(hashes, send(t, c, 1, uint64(i), 7))
		c.Commit()
	}
	want, err := client(t, c).BalanceAt(t.Context(), devchain.Address(0), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	again := start(t, devchain.Options{Dir: dir, Manual: true})
	if again.Fresh() {
		t.Error("the chain came back fresh")
	}
	for _, h := range hashes {
		mined(t, again, h)
	}
	got, err := client(t, again).BalanceAt(t.Context(), devchain.Address(0), nil)
	if err != nil || got.Cmp(want) != 0 {
		t.Errorf("balance %v after the restart, %v before, %v", got, want, err)
	}
	for _, tag := range []rpc.BlockNumber{rpc.SafeBlockNumber, rpc.FinalizedBlockNumber} {
		if _, err := client(t, again).HeaderByNumber(t.Context(), big.NewInt(int64(tag))); err != nil {
			t.Errorf("%v after the restart: %v", tag, err)
		}
	}
	if _, err := devchain.Start(devchain.Options{Dir: dir}); err == nil {
		t.Error("two chains run in one folder")
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if other, err := devchain.Start(devchain.Options{Dir: dir, ChainID: 8453}); err == nil {
		_ = other.Close()
		t.Error("the folder of one chain id was opened with another")
	}
}

// A reorganised block does not come back with the folder, and half a line at the journal's end is not a block.
func TestAFolderKeepsTheChainThatWon(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := devchain.Start(devchain.Options{Dir: dir, Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	parent := c.Commit()
	lost := send(t, c, 1, 0, 7)
	c.Commit()
	if err := c.Fork(parent); err != nil {
		t.Fatal(err)
	}
	if err := c.Drop(); err != nil {
		t.Fatal(err)
	}
	kept := send(t, c, 2, 0, 7)
	won := c.Commit()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(dir, "blocks.jsonl")
	f, err := os.OpenFile(journal, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"number":4,"hash":"0x`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again := start(t, devchain.Options{Dir: dir, Manual: true})
	if r := mined(t, again, kept); r.BlockHash != won {
		t.Errorf("the transaction is in block %s, want %s", r.BlockHash, won)
	}
	if _, err := client(t, again).TransactionReceipt(t.Context(), lost); err == nil {
		t.Error("a transaction that was reorganised away is back")
	}
	b, err := os.ReadFile(journal)
	if err != nil || !strings.HasSuffix(string(b), "\n") {
		t.Errorf("the journal ends with %q, %v", b[max(0, len(b)-40):], err)
	}
}

// TestChainChild is the process that TestAKilledChainComesBack kills: it makes blocks until it dies.
func TestChainChild(t *testing.T) {
	dir := os.Args[len(os.Args)-1]
	if !filepath.IsAbs(dir) || os.Args[len(os.Args)-2] != "--" {
		t.Skip("runs only under TestAKilledChainComesBack")
	}
	c := start(t, devchain.Options{Dir: dir, Manual: true})
	for nonce := uint64(0); ; nonce++ {
		hash := send(t, c, 1, nonce, 1)
		c.Commit()
		if _, err := os.Stdout.WriteString("mined " + hash.Hex() + "\n"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAKilledChainComesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChainChild$", "--", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var hashes []common.Hash
	for line := make([]byte, 6+66+1); len(hashes) < 20; {
		if _, err := out.Read(line); err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, common.HexToHash(string(line[6:72])))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	c := start(t, devchain.Options{Dir: dir, Manual: true})
	for _, h := range hashes {
		if r := mined(t, c, h); r.Status != 1 {
			t.Errorf("transaction %s has status %d", h, r.Status)
		}
	}
	nonce, err := client(t, c).NonceAt(t.Context(), devchain.Address(1), nil)
	if err != nil || nonce < 20 {
		t.Errorf("nonce %d, %v", nonce, err)
	}
	send(t, c, 1, nonce, 1)
	c.Commit()
}

func TestKeysAreFixed(t *testing.T) {
	t.Parallel()
	// The key is keccak256("tidemark development account 0"): any wallet derives this address from it.
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("tidemark development account 0")))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := devchain.Address(0), crypto.PubkeyToAddress(key.PublicKey); got != want {
		t.Errorf("address %s, want %s", got, want)
	}
	seen := map[common.Address]bool{}
	for i := range devchain.Accounts {
		seen[devchain.Address(i)] = true
	}
	if len(seen) != devchain.Accounts {
		t.Errorf("%d accounts differ, want %d", len(seen), devchain.Accounts)
	}
}
