package payments

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/internal/devchain"
	"tidemark/test/program"
)

// The end-to-end test runs where `make e2e-payments` has made what it needs.
var (
	gethFlag = flag.String("geth", "", "the go-ethereum node to run the end-to-end test with")
	npmFlag  = flag.String("npm", "", "the folder with the x402 project's packages, installed")
)

// run starts a program that lives until the test ends, and returns its standard output, line by line. Its standard error is shown if the
// test fails.
func run(t *testing.T, name string, args ...string) *bufio.Reader {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("--- %s\n%s", filepath.Base(name), said.String())
		}
	})
	return bufio.NewReader(out)
}

// startNode runs go-ethereum's node in development mode, with the contracts and accounts of the development chain and a block every
// second, and returns the address of its JSON-RPC.
func startNode(t *testing.T, geth string) string {
	t.Helper()
	dir := t.TempDir()
	genesis, err := devchain.GenesisJSON(devchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "genesis.json")
	if err := os.WriteFile(file, genesis, 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	if out, err := exec.CommandContext(t.Context(), geth, "--datadir", data, "init", file).CombinedOutput(); err != nil {
		t.Fatalf("geth init: %v\n%s", err, out)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	run(t, geth, "--dev", "--dev.period", "1", "--datadir", data, "--networkid", "84532", "--ipcdisable", "--authrpc.port", "0",
		"--http", "--http.addr", "127.0.0.1", "--http.port", port, "--http.api", "eth,net,web3")
	url := "http://127.0.0.1:" + port
	// A moving chain with the right id belongs to this node, and not to an older one on the same port.
	program.Until(t, program.Timeout, "the node makes blocks of the test's chain", func() (bool, string) {
		id, err := rpc(t, url, "eth_chainId")
		if err != nil || id != fmt.Sprintf("%#x", devchain.DefaultChainID) {
			return false, fmt.Sprint(id, err)
		}
		n, err := rpc(t, url, "eth_blockNumber")
		return err == nil && n != "0x0", n
	})
	return url
}

func rpc(t *testing.T, url, method string) (string, error) {
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":[]}`, method)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	var answer struct{ Result string }
	return answer.Result, json.Unmarshal(b, &answer)
}

// purchase is a stock client's report about one address.
type purchase struct {
	URL            string
	Status         int
	Body           string
	Took           int
	Paid, Received int64
	Refused        string
	Receipts       []*struct {
		Success              bool
		Transaction, Network string
		Payer                string
	}
}

var hashForm = regexp.MustCompile(`^0x[0-9a-f]{64}$`)

// buyAll buys at every address with the stock clients of both versions. The amounts that moved are read from the chain by the client.
func buyAll(t *testing.T, node string, s *fixture, paths map[string]int64) {
	t.Helper()
	for version, network := range map[string]string{"1": "base-sepolia", "2": "eip155:84532"} {
		args := []string{filepath.Join(*npmFlag, "pay.mjs"), version, node, "0x" + devchain.KeyHex(4), s.payTo, devchain.TokenAddress.Hex()}
		want := map[string]int64{}
		for path, price := range paths {
			args = append(args, s.url+sold+path)
			want[s.url+sold+path] = price
		}
		cmd := exec.CommandContext(t.Context(), "node", args...)
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("the stock client of version %s: %v\n%s\n%s", version, err, out, said.String())
		}
		for line := range strings.Lines(string(out)) {
			var p purchase
			if err := json.Unmarshal([]byte(line), &p); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			price, ok := want[p.URL]
			delete(want, p.URL)
			if !ok || p.Status != http.StatusOK || p.Paid != price || p.Received != price || !strings.Contains(p.Body, `"data"`) {
				t.Errorf("version %s: %+v, want the price %d", version, p, price)
			}
			if p.Refused != "" {
				t.Errorf("the Bazaar refuses the offer of %s: %s", p.URL, p.Refused)
			}
			for _, r := range p.Receipts {
				if r == nil || !r.Success || r.Network != network || !strings.EqualFold(r.Payer, devchain.Address(4).Hex()) || !hashForm.MatchString(r.Transaction) {
					t.Errorf("version %s: receipt %+v", version, r)
				}
			}
			t.Logf("version %s: %s for %d micro-dollars in %d ms", version, strings.TrimPrefix(p.URL, s.url), p.Paid, p.Took)
		}
		if len(want) > 0 {
			t.Errorf("version %s did not buy %v", version, want)
		}
	}
}

// The stock clients of both versions pay at every address of the whole program. The facilitator is built with the published library and
// uses go-ethereum's own node. The balances change by exactly the price.
func TestStockClientsOnGoEthereum(t *testing.T) {
	if *gethFlag == "" || *npmFlag == "" {
		t.Skip("needs go-ethereum's node and the x402 project's packages: make e2e-payments")
	}
	defer program.Build()()
	node := startNode(t, *gethFlag)
	facilitator, err := run(t, "node", filepath.Join(*npmFlag, "facilitator.mjs"), node, "0x"+devchain.KeyHex(9)).ReadString('\n')
	if err != nil {
		t.Fatalf("the facilitator does not say where it listens: %v", err)
	}
	dir := program.Folder(t)
	o := program.Options{Dir: dir, Env: []string{
		"STATE_DIR=" + filepath.Join(dir, "state"), "DATABASE_URL=", "REDIS_URL=", "WORLD=sandbox", "SANDBOX_DAYS=5", "LOG_FORMAT=json", "BASE_RPC_URL=" + node, "BASE_CHAIN_ID=84532", "X402_NETWORK=base-sepolia",
		"X402_FACILITATOR_URL=" + strings.TrimSpace(facilitator), "X402_PAY_TO=" + devchain.Address(8).Hex(),
	}}
	_, url := program.Up(t, o)
	s := &fixture{t: t, url: url, payTo: devchain.Address(8).Hex()}
	paths := map[string]int64{}
	for path, price := range prices {
		if path != "/research/NVDA" {
			paths[path] = price
			continue
		}
		// The sandbox has its own companies.
		program.Until(t, 5*time.Minute, "a pick is announced", func() (bool, string) {
			var chain struct{ Picks []struct{ Ticker string } }
			status, body := s.get("/api/v1/verify/picks", [2]string{})
			if err := json.Unmarshal([]byte(body), &chain); err != nil || len(chain.Picks) == 0 {
				return false, fmt.Sprint(status, body)
			}
			path = "/research/" + chain.Picks[0].Ticker
			return true, ""
		})
		paths[path] = price
	}
	paths["/picks?limit=2"] = prices["/picks"] // an offer is of the request with its query
	for path := range paths {
		program.Until(t, 5*time.Minute, path+" asks for payment", func() (bool, string) {
			status, body := s.buy(path, [2]string{})
			return status == http.StatusPaymentRequired, fmt.Sprint(status, body)
		})
	}
	buyAll(t, node, s, paths)
	status, out := program.Run(t, o, "payments", "reconcile")
	if want := fmt.Sprintf("%d agree with the chain, 0 were resolved, 0 are open, 0 differ", 2*len(paths)); status != 0 || !strings.Contains(out, want) {
		t.Errorf("payments reconcile: %d %s, want %s", status, out, want)
	}
}

// The same clients with the sandbox's own facilitator and chain.
func TestStockClientsInTheSandbox(t *testing.T) {
	if *npmFlag == "" {
		t.Skip("needs the x402 project's packages: make e2e-payments")
	}
	m := openSettlements(t)
	buyAll(t, m.chain.URL(), m.fixture, prices)
	m.agree()
}
