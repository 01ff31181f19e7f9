package payments

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/accounts/x402"
	"tidemark/api"
	"tidemark/api/endpoint"
	"tidemark/api/view"
	"tidemark/chain/base"
	"tidemark/internal/devchain"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/workers"
)

// paymentServer is where keys are topped up with transfers: an API and a worker on a separate database, and a chain that makes blocks on
// request. The test can cut the worker off from the chain or hold the chain's responses back.
type paymentServer struct {
	t           *testing.T
	chain       *devchain.Chain
	dsn, url    string
	api, worker *postgres.DB
	// cut makes every node unavailable; unsafe makes them call no block safe except the first ones.
	cut, unsafe atomic.Bool
	// ahead is how much later it is for the worker, in nanoseconds.
	ahead atomic.Int64
	node  string
}

// billing is the account that is paid.
var billing = devchain.Address(8).Hex()

// counterOptions say how a counter works. The zero value is the balance model.
type counterOptions struct {
	model     accounts.Model
	needProof bool
	timeout   time.Duration
	// idle leaves claims unlooked at.
	idle bool
}

func openCounter(t *testing.T, o counterOptions) *paymentServer {
	t.Helper()
	if o.model == "" {
		o.model = accounts.ModelBalance
	}
	chain, err := devchain.Start(devchain.Options{Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = chain.Close() })
	c := &paymentServer{t: t, chain: chain, dsn: pgtest.New(t)}
	c.node = c.watch()
	for role, db := range map[string]**postgres.DB{postgres.RoleAPI: &c.api, postgres.RoleWorker: &c.worker} {
		if *db, err = postgres.Open(t.Context(), c.dsn, role); err != nil {
			t.Fatal(err)
		}
		t.Cleanup((*db).Close)
	}
	c.serve(o)
	if !o.idle {
		job, err := claimsJob(c.worker, c.node, o)
		if err != nil {
			t.Fatal(err)
		}
		job.Now = func() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }
		c.run(func(ctx context.Context) error { return pump(ctx, c.worker, job) })
	}
	return c
}

// watch is the way to the node that a test can disturb.
func (c *paymentServer) watch() string {
	node, err := url.Parse(c.chain.URL())
	if err != nil {
		c.t.Fatal(err)
	}
	way := httputil.NewSingleHostReverseProxy(node)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.cut.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if c.unsafe.Load() {
			for _, tag := range []string{`"safe"`, `"finalized"`} {
				body = bytes.ReplaceAll(body, []byte(tag), []byte(`"0x1"`))
			}
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		way.ServeHTTP(w, r)
	}))
	c.t.Cleanup(proxy.Close)
	return proxy.URL
}

func (c *paymentServer) serve(o counterOptions) {
	log := slog.New(slog.NewTextHandler(c.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	ln, err := (&net.ListenConfig{}).Listen(c.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	c.url = "http://" + ln.Addr().String()
	v, err := view.New(view.Options{Store: c.api, PublicURL: c.url, World: view.WorldSandbox, Now: time.Now, Log: log})
	if err != nil {
		c.t.Fatal(err)
	}
	tariff, err := endpoint.NewTariff(o.model, "")
	if err != nil {
		c.t.Fatal(err)
	}
	seller, err := x402.NewSeller(x402.Settings{Network: "base-sepolia", PayTo: billing})
	if err != nil {
		c.t.Fatal(err)
	}
	limiter, err := api.NewLimiter("", time.Now, log)
	if err != nil {
		c.t.Fatal(err)
	}
	srv := api.New(api.Options{
		View: v, Log: log, Accounts: &api.Accounts{DB: c.api, Tariff: tariff, Now: time.Now, Limiter: limiter},
		Claims: &api.ClaimsOptions{Seller: seller, WaitTimeout: o.timeout},
	})
	c.run(func(ctx context.Context) error { return srv.Serve(ctx, ln) })
	c.run(srv.Run)
}

// run runs f until the test ends.
func (c *paymentServer) run(f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.t.Context()))
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	c.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			c.t.Errorf("it ended with %v", err)
		}
	})
}

// claimsJob is the job as main makes it.
func claimsJob(db *postgres.DB, node string, o counterOptions) (workers.Claims, error) {
	client, err := base.Dial(devchain.DefaultChainID, node)
	if err != nil {
		return workers.Claims{}, err
	}
	job := workers.Claims{
		DB: db, Chain: client, ChainID: devchain.DefaultChainID, Terms: base.DefaultTerms(devchain.TokenAddress, devchain.Address(8)),
		Gives: accounts.GivesBalance, NeedProof: o.needProof, Now: time.Now,
	}
	if o.model == accounts.ModelPlan {
		job.Gives = accounts.GivesPro
	}
	return job, nil
}

// pump does what is due, as scheduler and worker together do.
func pump(ctx context.Context, db *postgres.DB, job workers.Claims) error {
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := pumpOnce(ctx, db, job); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// pumpOnce says on stderr why a run failed.
func pumpOnce(ctx context.Context, db *postgres.DB, job workers.Claims) error {
	due, err := db.HandOut(ctx, 10)
	if err != nil {
		return err
	}
	for _, one := range due {
		ok, err := db.Claim(ctx, one.Fence, "counter")
		if err != nil || !ok {
			return err
		}
		err = job.Run(ctx, one)
		pause, later := workers.LaterIn(err)
		if err != nil && !later && !errors.Is(err, base.ErrUnavailable) && !errors.Is(err, postgres.ErrMoved) {
			fmt.Fprintf(os.Stderr, "claims %s: %v\n", one.Subject, err)
		}
		switch {
		case err == nil:
			err = db.Succeed(ctx, one.Fence)
		case later:
			err = db.Snooze(ctx, one.Fence, pause)
		case errors.Is(err, base.ErrUnavailable):
			err = db.Postpone(ctx, one.Fence, err.Error(), 10*time.Second)
		case errors.Is(err, postgres.ErrMoved):
			_, err = db.Fail(ctx, one.Fence, err.Error(), 0, false, false)
		default:
			_, err = db.Fail(ctx, one.Fence, err.Error(), 0, true, false)
		}
		if err != nil && !errors.Is(err, postgres.ErrFenced) { // another attempt has its place
			return err
		}
	}
	return nil
}

// customer is a key at the counter.
type customer struct {
	*paymentServer

	key accounts.Key
	id  int64
	// public is the key's public id.
	public string
}

func (c *paymentServer) customer() customer {
	c.t.Helper()
	key, err := accounts.NewTestKey(rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	public := "key_" + strings.ToLower(rand.Text())
	public = strings.NewReplacer("i", "0", "l", "1", "o", "8", "u", "9").Replace(public)[:30]
	out := customer{paymentServer: c, key: key, public: public}
	_, err = c.api.Register(c.t.Context(), postgres.Registration{PublicID: public, Name: "a customer", Key: key}, nil, func(made postgres.Registered) ([]byte, error) {
		out.id = made.ID
		return nil, nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// answer is a response of the API.
type answer struct {
	status int
	header http.Header
	// code is the code of a problem; data is the body of any other response.
	code string
	data map[string]any
	body string
}

// ask sends a request with the customer's key.
func (c customer) ask(method, path string, body any) answer {
	c.t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+"/api/v1"+path, bytes.NewReader(content))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.key.Reveal())
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Error(err)
		return answer{}
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Error(err)
	}
	a := answer{status: resp.StatusCode, header: resp.Header, body: string(b)}
	var got struct {
		Code string
		Data map[string]any
	}
	_ = json.Unmarshal(b, &got)
	a.code, a.data = got.Code, got.Data
	return a
}

// claims posts a transaction's hash, with a signature if one is given.
func (c customer) claims(tx string, signature ...string) answer {
	c.t.Helper()
	body := map[string]any{"tx_hash": tx}
	if len(signature) > 0 {
		body["signature"] = signature[0]
	}
	return c.ask(http.MethodPost, "/payments/verify", body)
}

// pays transfers an amount from an account of the chain.
func (c *paymentServer) pays(account int, micro int64) string {
	c.t.Helper()
	tx, err := c.chain.Transfer(c.t.Context(), account, billing, micro)
	if err != nil {
		c.t.Fatal(err)
	}
	return tx
}

// offers sends a transfer that waits for a block.
func (c *paymentServer) offers(account int, micro int64) string {
	c.t.Helper()
	tx, err := c.chain.Offer(account, billing, micro)
	if err != nil {
		c.t.Fatal(err)
	}
	return tx
}

// signs makes an account's proof that a transfer was for a customer.
func (c customer) signs(account int, tx string) string {
	c.t.Helper()
	text := fmt.Sprintf("claim %s for key %s on chain %d", tx, c.public, devchain.DefaultChainID)
	s, err := devchain.SignText(account, text)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// has checks a customer's balance.
func (c customer) has(what, usd string) {
	c.t.Helper()
	a, err := c.worker.Account(c.t.Context(), c.id)
	if err != nil {
		c.t.Fatal(err)
	}
	if got := a.Balance.String(); got != usd {
		c.t.Errorf("%s: the balance is %s, want %s", what, got, usd)
	}
	wrong, err := c.worker.UnbalancedKeys(c.t.Context())
	if err != nil || len(wrong) > 0 {
		c.t.Errorf("%s: balances that are not the sums of their ledgers: %v, %v", what, wrong, err)
	}
}

// loses builds a longer chain without the transaction, starting at a block, and waits until the transaction's grant is reversed.
func (c customer) loses(tx string, before [32]byte) {
	c.t.Helper()
	if err := c.chain.Fork(before); err != nil {
		c.t.Fatal(err)
	}
	if err := c.chain.Drop(); err != nil {
		c.t.Fatal(err)
	}
	for range 8 {
		c.chain.Commit()
	}
	c.eventually("the grant to be taken back", func() bool {
		return c.ask(http.MethodGet, "/payments/claims/"+tx, nil).data["status"] == "revoked"
	})
}

// eventually waits until f is true.
func (c *paymentServer) eventually(what string, f func() bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-ctx.Done():
			c.t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}

// want checks an answer.
func (c *paymentServer) want(what string, a answer, status int, code string) {
	c.t.Helper()
	if a.status != status || a.code != code {
		c.t.Errorf("%s: %d %s, want %d %q", what, a.status, a.body, status, code)
	}
}
