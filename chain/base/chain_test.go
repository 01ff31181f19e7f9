package base_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"

	"tidemark/chain/base"
	"tidemark/internal/devchain"
)

// startChain starts a chain that makes blocks when it is told.
func startChain(tb testing.TB) *devchain.Chain {
	tb.Helper()
	c, err := devchain.Start(devchain.Options{Manual: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("close the chain: %v", err)
		}
	})
	return c
}

// devClient reaches a chain as anybody does.
func devClient(tb testing.TB, c *devchain.Chain) *ethclient.Client {
	tb.Helper()
	cl, err := ethclient.DialContext(tb.Context(), c.URL())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(cl.Close)
	return cl
}

// onBothContracts runs a test on this project's stand-in for EAS and on the contracts that EAS publishes.
func onBothContracts(t *testing.T, test func(t *testing.T, c *devchain.Chain, e base.EAS)) {
	t.Parallel()
	t.Run("our contracts", func(t *testing.T) {
		t.Parallel()
		test(t, startChain(t), base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress})
	})
	t.Run("the contracts of EAS", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(npm(t, "@ethereum-attestation-service/eas-contracts", "1.9.0"), "node_modules/@ethereum-attestation-service/eas-contracts/artifacts/contracts")
		c := startChain(t)
		deploy := func(name string, args ...byte) common.Address {
			r, err := c.Transact(t.Context(), 9, nil, append(artifact(t, dir, name), args...))
			if err != nil {
				t.Fatal(err)
			}
			return r.ContractAddress
		}
		registry := deploy("SchemaRegistry")
		test(t, c, base.EAS{Contract: deploy("EAS", common.LeftPadBytes(registry[:], 32)...), Registry: registry})
	})
}

func artifact(tb testing.TB, dir, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name+".sol", name+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	var a struct{ Bytecode hexutil.Bytes }
	if err := json.Unmarshal(b, &a); err != nil || len(a.Bytecode) == 0 {
		tb.Fatalf("%s: %v", name, err)
	}
	return a.Bytecode
}

var fetch = flag.Bool("npm", false, "run what needs packages from npm, and fetch them")

// npm installs one package at one version, without what it depends on running anything, once for all runs, and returns its folder.
func npm(tb testing.TB, name, version string) string {
	tb.Helper()
	if !*fetch {
		tb.Skipf("needs %s from npm: make contracts", name)
	}
	if _, err := exec.LookPath("npm"); err != nil {
		tb.Skipf("needs npm to fetch %s: %v", name, err)
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
	// The artifacts alone are wanted, not the dozens of packages that compile them.
	cmd := exec.CommandContext(ctx, "npm", "pack", "--pack-destination", half, name+"@"+version)
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Skipf("npm cannot fetch %s@%s here: %v\n%s", name, version, err, out)
	}
	packed, err := filepath.Glob(filepath.Join(half, "*.tgz"))
	if err != nil || len(packed) != 1 {
		tb.Fatalf("npm packed %v, %v", packed, err)
	}
	target := filepath.Join(half, "node_modules", filepath.FromSlash(name))
	if err := os.MkdirAll(target, 0o755); err != nil {
		tb.Fatal(err)
	}
	if out, err := exec.CommandContext(ctx, "tar", "-xzf", packed[0], "--strip-components=1", "-C", target).CombinedOutput(); err != nil {
		tb.Fatalf("unpack %s: %v\n%s", name, err, out)
	}
	if err := os.Rename(half, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// blockControl is a proxy between a client and a chain: it counts the calls and can fail, lose or change them.
type blockControl struct {
	URL string

	// final lets the newest block be the finalized one, so that rows come to rest at once.
	final bool

	mu    sync.Mutex
	calls []string
	// judge is asked for each call, counted from 1.
	judge func(n int, method string, params []json.RawMessage) verdict
}

// verdict is the outcome of a call.
type verdict struct {
	// fail answers with the status and asks no node.
	fail int
	// lose asks the chain and breaks the connection instead of handing on the answer.
	lose bool
	// swallow asks no node and answers with this result.
	swallow any
	// refuse answers with this JSON-RPC error.
	refuse *rpcError
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func newGate(tb testing.TB, c *devchain.Chain) *blockControl {
	tb.Helper()
	g := &blockControl{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.serve(c, w, r) }))
	tb.Cleanup(srv.Close)
	g.URL = srv.URL
	return g
}

func (g *blockControl) serve(c *devchain.Chain, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var call struct {
		ID     json.RawMessage   `json:"id"`
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(body, &call); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	g.mu.Lock()
	g.calls = append(g.calls, call.Method)
	var v verdict
	if g.judge != nil {
		v = g.judge(len(g.calls), call.Method, call.Params)
	}
	g.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case v.fail != 0:
		w.WriteHeader(v.fail)
		return
	case v.swallow != nil:
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": call.ID, "result": v.swallow})
		return
	case v.refuse != nil:
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": call.ID, "error": v.refuse})
		return
	}
	if g.final {
		body = bytes.ReplaceAll(body, []byte(`"finalized"`), []byte(`"latest"`))
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, c.URL(), bytes.NewReader(body))
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || v.lose {
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(answer)
}

// set changes the judge.
func (g *blockControl) set(judge func(n int, method string, params []json.RawMessage) verdict) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.judge, g.calls = judge, nil
}

// count returns how many calls there were of a method ("" for all).
func (g *blockControl) count(method string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, m := range g.calls {
		if method == "" || m == method {
			n++
		}
	}
	return n
}

// safeIs lets the node say that the safe block is this one; nil leaves it to the node.
func safeIs(number *uint64) func(int, string, []json.RawMessage) verdict {
	return func(_ int, method string, params []json.RawMessage) verdict {
		if number == nil || method != "eth_getBlockByNumber" || len(params) == 0 {
			return verdict{}
		}
		if tag := string(params[0]); tag != `"safe"` && tag != `"finalized"` {
			return verdict{}
		}
		return verdict{swallow: map[string]any{
			"number": hexutil.Uint64(*number), "hash": common.Hash{1}, "timestamp": hexutil.Uint64(1), "baseFeePerGas": hexutil.Uint64(1),
		}}
	}
}

func dial(tb testing.TB, urls ...string) *base.Client {
	tb.Helper()
	c, err := base.Dial(devchain.DefaultChainID, urls...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// foreign sends a transaction of the attester's account past the attester, as an operator with the key might.
func foreign(tb testing.TB, c *devchain.Chain, account int, nonce uint64) common.Hash {
	tb.Helper()
	to := devchain.Address(9)
	tx, err := types.SignNewTx(devchain.Key(account), types.LatestSignerForChainID(c.ID()), &types.DynamicFeeTx{
		ChainID: c.ID(), Nonce: nonce, To: &to, Value: big.NewInt(1), Gas: 21_000, GasFeeCap: big.NewInt(5e9), GasTipCap: big.NewInt(1e9),
	})
	if err != nil {
		tb.Fatal(err)
	}
	if err := devClient(tb, c).SendTransaction(tb.Context(), tx); err != nil {
		tb.Fatal(err)
	}
	return tx.Hash()
}

// headHash returns the hash of the newest block.
func headHash(tb testing.TB, c *devchain.Chain) common.Hash {
	tb.Helper()
	h, err := devClient(tb, c).HeaderByNumber(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return h.Hash()
}

// contractABI returns the interface of one of the development contracts.
func contractABI(tb testing.TB, name string) abi.ABI {
	tb.Helper()
	all, err := devchain.Contracts()
	if err != nil {
		tb.Fatal(err)
	}
	return all[name].ABI
}
