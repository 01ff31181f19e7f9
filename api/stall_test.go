package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/accounts"
	"tidemark/accounts/x402"
	"tidemark/api"
	"tidemark/api/endpoint"
	"tidemark/api/view"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

const (
	payTo = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	payer = "0x857b06519E91e3A54538791bDbb0E22373e36b66"
)

// x402Fixture is the paid half of the API, on its own database, with a facilitator that the test controls.
type x402Fixture struct {
	*system

	payments        *api.Payments
	paymentsOptions api.PaymentsOptions
	// verify and settle are the facilitator's handlers. asked counts their calls.
	verify, settle           atomic.Pointer[http.HandlerFunc]
	verified, settled, built atomic.Int64
	// broken makes every build function fail.
	broken atomic.Bool
	nonces atomic.Int64
}

var txHash = "0x" + strings.Repeat("ab", 32)

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

var (
	valid = says(200, `{"isValid":true,"payer":"`+payer+`"}`)
	// settled names another transaction for each payment. It uses the nonce, which has the right form.
	settled = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			PaymentPayload struct {
				Payload struct{ Authorization struct{ Nonce string } }
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&asked)
		_, _ = io.WriteString(w, `{"success":true,"transaction":"`+asked.PaymentPayload.Payload.Authorization.Nonce+`","network":"base","payer":"`+payer+`"}`)
	})
	lost = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
)

func (s *x402Fixture) facilitate(verify, settle http.HandlerFunc) {
	s.verify.Store(&verify)
	s.settle.Store(&settle)
}

// pricesByRequest has the addresses that are paid by request, with their prices, where nothing is shown early.
var pricesByRequest = func() map[string]accounts.Micros {
	prices := map[string]accounts.Micros{}
	for _, e := range endpoint.All() {
		if e.Sold != "" && !e.Early {
			prices[strings.ReplaceAll(e.Path, "{ticker}", "NVDA")] = e.Price
		}
	}
	return prices
}()

// wares returns build functions that respond with their own path and know one ticker.
func (s *x402Fixture) wares() map[string]api.Build {
	build := func(r *http.Request, c api.Caller) (api.Answer, error) {
		s.built.Add(1)
		if s.broken.Load() {
			return api.Answer{}, fmt.Errorf("nothing can be built")
		}
		if t := r.PathValue("ticker"); t != "" && t != "NVDA" {
			return api.Answer{}, postgres.ErrNotFound
		}
		if c.Level != accounts.LevelFull {
			return api.Answer{}, fmt.Errorf("level %d", c.Level)
		}
		body := fmt.Sprintf(`{"data":%q,"text":%q}`, r.URL.Path[strings.LastIndex(r.URL.Path, "/"):], strings.Repeat("long ", 500))
		return api.Answer{Document: view.NewDocument(view.TypeJSON, view.CachePublic, []byte(body), noon)}, nil
	}
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		s.t.Fatal(err)
	}
	data := map[string]api.Build{}
	for _, e := range tariff.Endpoints() {
		data[e.Path] = build
	}
	return data
}

func openFixture(t testing.TB) *x402Fixture {
	t.Helper()
	s := &x402Fixture{system: &system{t: t, dsn: pgtest.New(t), madeUp: true}}
	s.clock.Store(&noon)
	s.facilitate(valid, settled)
	mux := http.NewServeMux()
	count := func(n *atomic.Int64, h *atomic.Pointer[http.HandlerFunc]) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			// The server notices that the client disconnected only after the body is read.
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			(*h.Load())(w, r)
		}
	}
	mux.HandleFunc("POST /verify", count(&s.verified, &s.verify))
	mux.HandleFunc("POST /settle", count(&s.settled, &s.settle))
	mux.HandleFunc("GET /supported", says(200, `{"kinds":[{"x402Version":1,"scheme":"exact","network":"base"},{"x402Version":2,"scheme":"exact","network":"eip155:8453"}]}`))
	facilitator := httptest.NewServer(mux)
	t.Cleanup(facilitator.Close)

	s.worker = s.open(postgres.RoleWorker)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + ln.Addr().String()
	log := slog.New(slog.DiscardHandler)
	db := s.open(postgres.RoleAPI)
	if s.view, err = view.New(view.Options{
		Store: db, Definitions: definitions(), PublicURL: "https://shop.example", World: view.WorldLive, Now: time.Now, Log: log,
	}); err != nil {
		t.Fatal(err)
	}
	seller, err := x402.NewSeller(x402.Settings{Network: "base", PayTo: payTo})
	if err != nil {
		t.Fatal(err)
	}
	client, err := x402.NewClient(x402.Options{URL: facilitator.URL, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		t.Fatal(err)
	}
	s.paymentsOptions = api.PaymentsOptions{
		Seller: seller, Facilitator: client, Tariff: tariff, Store: db, Now: time.Now, WaitTimeout: 10 * time.Second, Log: log,
	}
	s.payments = api.NewPayments(s.paymentsOptions)
	server := api.New(api.Options{View: s.view, Data: s.wares(), Payments: s.payments, Log: log}) // serve may replace it
	s.server = server
	s.run(func(ctx context.Context) error { return server.Serve(ctx, ln) })
	s.run(s.payments.Run)
	s.run(s.view.Run)
	s.eventually("the first load", func() bool { return s.view.State() != nil })
	return s
}

// authorization returns a payment of a price that is valid for a minute and has its own nonce.
func (s *x402Fixture) authorization(micro int64) map[string]any {
	n := s.nonces.Add(1)
	now := time.Now().Unix()
	return map[string]any{
		"from": payer, "to": payTo, "value": fmt.Sprint(micro), "validAfter": fmt.Sprint(now - 600), "validBefore": fmt.Sprint(now + 60),
		"nonce": fmt.Sprintf("0x%064x", n),
	}
}

// pay returns the header fields that pay with an authorization in a version of the protocol. bend modifies the payment first.
func pay(version int, authorization map[string]any, bend func(p map[string]any)) []string {
	p := map[string]any{
		"x402Version": version, "payload": map[string]any{"signature": "0x" + strings.Repeat("2d", 65), "authorization": authorization},
	}
	name := x402.HeaderPaymentV1
	if version == x402.V1 {
		p["scheme"], p["network"] = "exact", "base"
	} else {
		name = x402.HeaderPaymentV2
		p["accepted"] = map[string]any{
			"scheme": "exact", "network": "eip155:8453", "amount": authorization["value"], "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
			"payTo": payTo, "maxTimeoutSeconds": 60, "extra": map[string]any{"name": "USD Coin", "version": "2"},
		}
	}
	if bend != nil {
		bend(p)
	}
	b, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return []string{name, base64.StdEncoding.EncodeToString(b)}
}

const sold = "/api/v1/x402"

// buy requests a path with a payment.
func (s *x402Fixture) buy(path string, header []string) answer {
	s.t.Helper()
	return s.ask(http.MethodGet, sold+path, header...)
}

// want checks the status of a response and returns the error in its body.
func (s *x402Fixture) want(what string, a answer, status int) string {
	s.t.Helper()
	var body struct{ Error, Code string }
	_ = json.Unmarshal(a.body, &body)
	if a.StatusCode != status {
		s.t.Errorf("%s: %d %s, want %d", what, a.StatusCode, a.body, status)
	}
	return body.Error + body.Code
}

// states returns the payments' states, newest first, with "+" for delivered ones.
func (s *x402Fixture) states() []string {
	s.t.Helper()
	list, err := s.worker.X402Payments(s.t.Context(), postgres.X402Filter{Limit: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	out := []string{}
	for _, p := range list {
		if p.DeliveredAt != nil {
			p.State += "+"
		}
		out = append(out, p.State)
	}
	return out
}

// wantStates waits until the payments have these states, because the delivery is recorded after the response was sent.
func (s *x402Fixture) wantStates(want ...string) {
	s.t.Helper()
	want = append([]string{}, want...)
	s.eventually(fmt.Sprintf("the payments to be %q", want), func() bool { return cmp.Equal(want, s.states()) })
}

// resolve records an outcome from the chain, as the worker does.
func (s *x402Fixture) resolve(state, tx string) {
	s.t.Helper()
	list, err := s.worker.X402Payments(s.t.Context(), postgres.X402Filter{Limit: 1})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.worker.ResolveX402(s.t.Context(), task.Fence{}, postgres.X402Resolution{Of: list[0], State: state, TxHash: tx}); err != nil {
		s.t.Fatal(err)
	}
}

// watch records whether a worker checks the chain.
func (s *x402Fixture) watch(ok bool) {
	s.t.Helper()
	err := s.worker.SaveX402Terms(s.t.Context(), task.Fence{}, postgres.X402Terms{
		ChainID: 8453, Asset: strings.ToLower("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"), Name: "USD Coin", Version: "2", OK: ok,
	}, time.Now().Add(time.Hour))
	if err != nil {
		s.t.Fatal(err)
	}
	if !ok {
		s.eventually("the verdict", func() bool { return s.payments.Health().Fault != "" })
	}
}

func receipt(t testing.TB, a answer) (r x402.Receipt) {
	t.Helper()
	one, two := a.Header.Get(x402.HeaderReceiptV1), a.Header.Get(x402.HeaderReceiptV2)
	if one == "" || one != two {
		t.Fatalf("receipts %q and %q", one, two)
	}
	b, err := base64.StdEncoding.DecodeString(one)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// eventuallyWatched waits until the server knows that a worker checks the chain.
func (s *x402Fixture) eventuallyWatched() {
	s.t.Helper()
	s.eventually("the verdict", s.payments.Watched)
}
