package payments

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/accounts"
	"tidemark/accounts/x402"
	"tidemark/api"
	"tidemark/api/endpoint"
	"tidemark/api/view"
	"tidemark/internal/devchain"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
)

// prices are the prices of all that is sold by request where nothing is shown early, in micro-dollars, by address.
var prices = func() map[string]int64 {
	list := map[string]int64{}
	for _, e := range endpoint.All() {
		if e.Sold != "" && !e.Early {
			list[strings.ReplaceAll(e.Path, "{ticker}", "NVDA")] = int64(e.Price)
		}
	}
	return list
}()

const sold = "/api/v1/x402"

// With these variables a test starts its own binary again as an API process.
const (
	envDSN         = "TIDEMARK_TEST_SHOP_DSN"
	envFacilitator = "TIDEMARK_TEST_SHOP_FACILITATOR"
	envPayTo       = "TIDEMARK_TEST_SHOP_PAY_TO"
)

func TestMain(m *testing.M) {
	role := serve
	switch {
	case os.Getenv(envClerkDSN) != "":
		role = clerk
	case os.Getenv(envDSN) == "":
		pgtest.Main(m)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := role(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "child of a test:", err)
		os.Exit(1)
	}
}

// serve runs an API process whose data endpoints respond with their own address. It prints its listening address on stdout.
func serve(ctx context.Context) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	db, err := postgres.Open(ctx, os.Getenv(envDSN), postgres.RoleAPI)
	if err != nil {
		return err
	}
	defer db.Close()
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	v, err := view.New(view.Options{Store: db, PublicURL: "http://" + ln.Addr().String(), World: view.WorldSandbox, Now: time.Now, Log: log})
	if err != nil {
		return err
	}
	seller, err := x402.NewSeller(x402.Settings{Network: "base-sepolia", PayTo: os.Getenv(envPayTo)})
	if err != nil {
		return err
	}
	facilitator, err := x402.NewClient(x402.Options{URL: os.Getenv(envFacilitator), Now: time.Now})
	if err != nil {
		return err
	}
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		return err
	}
	payments := api.NewPayments(api.PaymentsOptions{
		Seller: seller, Facilitator: facilitator, Tariff: tariff, Store: db, Now: time.Now, WaitTimeout: 200 * time.Millisecond, Log: log,
	})
	data := map[string]api.Build{}
	for _, e := range tariff.Endpoints() {
		data[e.Path] = func(r *http.Request, _ api.Caller) (api.Answer, error) {
			if t := r.PathValue("ticker"); t != "" && t != "NVDA" {
				return api.Answer{}, postgres.ErrNotFound
			}
			body := fmt.Appendf(nil, "{\"data\":%q}\n", r.URL.Path)
			return api.Answer{Document: view.NewDocument(view.TypeJSON, view.CachePublic, body, time.Time{})}, nil
		}
	}
	srv := api.New(api.Options{View: v, Data: data, Payments: payments, Log: log})
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return v.Run(ctx) })
	g.Go(func() error { return payments.Run(ctx) })
	g.Go(func() error { return srv.Serve(ctx, ln) })
	fmt.Println("http://" + ln.Addr().String())
	return g.Wait()
}

// fixture is an API process that can be killed and started again on the same database.
type fixture struct {
	t                       *testing.T
	dsn, facilitator, payTo string
	url                     string
	cmd                     *exec.Cmd
}

func (s *fixture) start() {
	s.t.Helper()
	s.cmd = exec.CommandContext(context.WithoutCancel(s.t.Context()), os.Args[0])
	s.cmd.Env = append(os.Environ(), envDSN+"="+s.dsn, envFacilitator+"="+s.facilitator, envPayTo+"="+s.payTo)
	s.cmd.Stderr = s.t.Output()
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	cmd := s.cmd
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.t.Fatalf("the API process does not say where it listens: %v", err)
	}
	s.url = strings.TrimSpace(line)
}

// kill ends the process as a power cut would.
func (s *fixture) kill() {
	_ = s.cmd.Process.Kill()
}

// buy asks for a ware with a payment, and returns status 0 when the connection broke.
func (s *fixture) buy(path string, header [2]string) (status int, body string) {
	s.t.Helper()
	return s.get(sold+path, header)
}

// get asks for an address with one header field, or without.
func (s *fixture) get(path string, header [2]string) (status int, body string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if header[0] != "" {
		r.Header.Set(header[0], header[1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}

// payment makes the header that pays a price from an account of the development chain.
func payment(t *testing.T, c *devchain.Chain, version int, payTo string, micro int64, nonce byte) [2]string {
	t.Helper()
	now := time.Now()
	a, err := c.Authorize(4, payTo, micro, now.Add(-10*time.Minute), now.Add(time.Minute), [32]byte{nonce})
	if err != nil {
		t.Fatal(err)
	}
	p := map[string]any{"x402Version": version, "payload": map[string]any{"signature": a.Signature, "authorization": a}}
	name := x402.HeaderPaymentV1
	if version == x402.V1 {
		p["scheme"], p["network"] = "exact", "base-sepolia"
	} else {
		name = x402.HeaderPaymentV2
		p["accepted"] = map[string]any{
			"scheme": "exact", "network": "eip155:84532", "amount": a.Value, "asset": devchain.TokenAddress.Hex(), "payTo": payTo,
			"maxTimeoutSeconds": 60, "extra": map[string]any{"name": "USDC", "version": "2"},
		}
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return [2]string{name, base64.StdEncoding.EncodeToString(b)}
}
