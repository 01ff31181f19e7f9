package api_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/accounts/x402"
	"tidemark/api"
	"tidemark/internal/postgres"
)

func TestPaymentIsAskedForAtTheListedPrice(t *testing.T) {
	t.Parallel()
	s := openFixture(t)
	s.eventually("the facilitator to say what it settles", func() bool { return s.payments.Health().Facilitator.LastAnswer != time.Time{} })
	for path, micro := range pricesByRequest {
		a := s.buy(path, nil)
		s.want(path, a, http.StatusPaymentRequired)
		var body struct {
			Accepts []struct{ MaxAmountRequired, Resource, PayTo string }
		}
		if err := json.Unmarshal(a.body, &body); err != nil || len(body.Accepts) != 1 {
			t.Fatalf("%s: %s", path, a.body)
		}
		if e := body.Accepts[0]; e.MaxAmountRequired != fmt.Sprint(int64(micro)) || e.Resource != "https://shop.example"+sold+path || e.PayTo != payTo {
			t.Errorf("%s: %+v", path, e)
		}
		raw, err := base64.StdEncoding.DecodeString(a.Header.Get(x402.HeaderRequiredV2))
		if err != nil || !strings.Contains(string(raw), fmt.Sprintf(`"amount":"%d"`, micro)) {
			t.Errorf("%s: the header says %s, %v", path, raw, err)
		}
		if a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: header %v", path, a.Header)
		}
		if h := s.ask(http.MethodHead, sold+path, pay(1, s.authorization(int64(micro)), nil)...); h.StatusCode != http.StatusPaymentRequired || len(h.body) > 0 {
			t.Errorf("HEAD %s: %s %q", path, h.Status, h.body)
		}
	}
	if s.want("events are not sold by request", s.buy("/events", nil), http.StatusNotFound) != "not_found" {
		t.Error("another error")
	}
	pre := s.ask(http.MethodOptions, sold+"/picks", "Origin", "https://page.example", "Access-Control-Request-Headers", "x-payment")
	for _, name := range []string{"X-PAYMENT", "PAYMENT-SIGNATURE", "Access-Control-Expose-Headers"} {
		if !strings.Contains(pre.Header.Get("Access-Control-Allow-Headers"), name) {
			t.Errorf("a web page may not send %s", name)
		}
	}
	if got := s.verified.Load() + s.settled.Load(); got != 0 {
		t.Errorf("the facilitator was asked %d times", got)
	}

	info := s.get(sold + "/info")["data"].(map[string]any)
	if n := len(info["resources"].([]any)); n != len(pricesByRequest) {
		t.Errorf("%d resources in /info, want %d", n, len(pricesByRequest))
	}
	for name, want := range map[string]any{"network": "base", "caip2": "eip155:8453", "pay_to": payTo} {
		if info[name] != want {
			t.Errorf("/info: %s is %v, want %v", name, info[name], want)
		}
	}
}

func TestAPaidRequestIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	s := openFixture(t)
	for version, network := range map[int]string{1: "base", 2: "eip155:8453"} {
		paid := s.authorization(1000)
		a := s.buy("/picks/latest", pay(version, paid, nil))
		s.want("a good payment", a, http.StatusOK)
		if !strings.HasPrefix(string(a.body), `{"data":"/latest"`) || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("ETag") != "" {
			t.Errorf("version %d: %v %s", version, a.Header, a.body)
		}
		want := x402.Receipt{Success: true, Transaction: paid["nonce"].(string), Network: network, Payer: payer}
		if d := cmp.Diff(want, receipt(t, a)); d != "" {
			t.Errorf("version %d: -want +got\n%s", version, d)
		}
		// Again, in another version, and for another endpoint with the same price.
		for _, again := range []answer{
			s.buy("/picks/latest", pay(version, paid, nil)), s.buy("/picks/latest", pay(3-version, paid, nil)), s.buy("/sectors", pay(version, paid, nil)),
		} {
			if reason := s.want("a replay", again, http.StatusPaymentRequired); !strings.HasPrefix(reason, x402.ReasonUsed) {
				t.Errorf("version %d: the replay is refused as %q", version, reason)
			}
		}
	}
	zipped := s.buy("/picks/latest", append(pay(1, s.authorization(1000), nil), "Accept-Encoding", "gzip", "If-None-Match", "*"))
	if s.want("gzip", zipped, http.StatusOK); zipped.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(unzip(t, zipped.body), "/latest") {
		t.Errorf("header %v", zipped.Header)
	}
	s.wantStates("settled+", "settled+", "settled+")
	if s.settled.Load() != 3 {
		t.Errorf("%d settlements", s.settled.Load())
	}
	ledger, err := s.worker.X402Changes(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, e := range ledger {
		seen = append(seen, e.State)
		if e.Amount != 1000 || e.Resource != sold+"/picks/latest" || e.Payer != strings.ToLower(payer) || e.ChainID != 8453 {
			t.Errorf("ledger line %+v", e)
		}
	}
	if d := cmp.Diff([]string{"settling", "settled", "delivered"}, seen); d != "" {
		t.Errorf("ledger -want +got\n%s", d)
	}
}

func TestWhatIsRefusedCostsNothing(t *testing.T) {
	t.Parallel()
	s := openFixture(t)
	auth := func(name string, v any) func(map[string]any) {
		return func(p map[string]any) { p["payload"].(map[string]any)["authorization"].(map[string]any)[name] = v }
	}
	accepted := func(name string, v any) func(map[string]any) {
		return func(p map[string]any) {
			if a, ok := p["accepted"].(map[string]any); ok {
				a[name] = v
			} else {
				p[name] = v
			}
		}
	}
	now := time.Now().Unix()
	for _, tt := range []struct {
		name, path string
		bend       func(map[string]any)
		status     int
		reason     string
	}{
		{"wrong amount", "/picks", auth("value", "4999"), 402, x402.ReasonValue},
		{"the amount of another ware", "/picks/latest", nil, 402, ""},
		{"wrong network", "/picks", accepted("network", "base-sepolia"), 402, x402.ReasonNetwork},
		{"wrong scheme", "/picks", accepted("scheme", "upto"), 402, x402.ReasonScheme},
		{"wrong recipient", "/picks", auth("to", payer), 402, x402.ReasonRecipient},
		{"expired", "/picks", auth("validBefore", fmt.Sprint(now-1)), 402, x402.ReasonValidBefore},
		{"not yet valid", "/picks", auth("validAfter", fmt.Sprint(now+300)), 402, x402.ReasonValidAfter},
		{"unknown ticker", "/research/NONE", nil, 404, "not_found"},
	} {
		for version := 1; version <= 2; version++ {
			a := s.buy(tt.path, pay(version, s.authorization(5000), tt.bend))
			if reason := s.want(tt.name, a, tt.status); !strings.HasPrefix(reason, tt.reason) {
				t.Errorf("%s, version %d: %q, want %q", tt.name, version, reason, tt.reason)
			}
		}
	}
	s.want("wrong asset", s.buy("/picks", pay(2, s.authorization(5000), accepted("asset", payer))), 402)
	for name, header := range map[string]string{
		"not base64": "{}", "not JSON": base64.StdEncoding.EncodeToString([]byte("hello")), "an empty object": "e30=",
	} {
		for _, field := range []string{x402.HeaderPaymentV1, x402.HeaderPaymentV2} {
			if reason := s.want(name, s.buy("/picks", []string{field, header}), 402); !strings.HasPrefix(reason, x402.ReasonPayload) {
				t.Errorf("%s: %q", name, reason)
			}
		}
	}
	good := pay(1, s.authorization(5000), nil)
	s.want("both headers", s.buy("/picks", append(pay(2, s.authorization(5000), nil), good...)), 400)
	s.want("one header twice", s.buy("/picks", append(good, good...)), 400)
	s.want("9 kB of header", s.buy("/picks", []string{x402.HeaderPaymentV1, strings.Repeat("A", 9<<10)}), 400)
	s.want("1 MB of header", s.buy("/picks", []string{x402.HeaderPaymentV2, strings.Repeat("A", 1<<20)}), 431)
	if n := s.verified.Load() + s.settled.Load(); n != 0 {
		t.Errorf("the facilitator was asked %d times", n)
	}
	s.wantStates()

	// The facilitator's refusal is free, too, and the same payment can be sent again.
	s.facilitate(says(200, `{"isValid":false,"invalidReason":"insufficient_funds"}`), settled)
	if reason := s.want("no money", s.buy("/picks", good), 402); !strings.HasPrefix(reason, "insufficient_funds") {
		t.Errorf("refused as %q", reason)
	}
	s.wantStates()
	s.facilitate(valid, settled)
	s.broken.Store(true)
	s.want("an answer that cannot be made", s.buy("/picks", good), 500)
	s.wantStates()
	s.broken.Store(false)
	s.want("the same payment, now good", s.buy("/picks", good), 200)
}

// The same payment, 200 times at once, at all addresses and in both headers, is settled once and answered once.
func TestOnePaymentBuysOneAnswer(t *testing.T) {
	t.Parallel()
	s := openFixture(t)
	var paths []string
	for path := range pricesByRequest {
		paths = append(paths, path)
	}
	// Every endpoint is requested with the price of one: only endpoints with that price can be bought with it.
	paid := s.authorization(5000)
	started, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.facilitate(valid, func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(started) })
		<-release // all others arrive while this one is in progress
		settled(w, r)
	})
	counts := map[int]int{}
	var mu sync.Mutex
	present := func(i int) {
		a := s.buy(paths[i%len(paths)], pay(1+i/len(paths)%2, paid, nil))
		mu.Lock()
		defer mu.Unlock()
		counts[a.StatusCode]++
	}
	var all sync.WaitGroup
	for i := range 150 {
		all.Go(func() { present(i) })
	}
	<-started
	for i := range 50 {
		all.Go(func() { present(150 + i) })
	}
	s.eventually("the others to be answered", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return counts[402]+counts[409] == 199
	})
	close(release)
	all.Wait()
	if counts[200] != 1 || counts[200]+counts[402]+counts[409] != 200 {
		t.Errorf("answers by status: %v, want one 200", counts)
	}
	if s.settled.Load() != 1 {
		t.Errorf("%d settlements", s.settled.Load())
	}
	s.wantStates("settled+")
}

func TestFacilitatorAway(t *testing.T) {
	t.Parallel()
	s := openFixture(t)
	s.facilitate(says(503, ""), settled)
	paid := pay(1, s.authorization(1000), nil)
	for range 6 {
		a := s.buy("/picks/latest", paid)
		if code := s.want("away", a, 503); code != "dependency_unavailable" || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s, Retry-After %q", code, a.Header.Get("Retry-After"))
		}
	}
	asked := s.verified.Load()
	s.want("away", s.buy("/picks/latest", paid), 503)
	if h := s.payments.Health(); !h.Facilitator.Open || s.verified.Load() != asked || h.Outcomes["away"] != 7 {
		t.Errorf("health %+v after %d calls", h, s.verified.Load())
	}
	s.wantStates()
	s.want("terms", s.buy("/picks/latest", nil), 402)
	s.want("the rest", s.ask(http.MethodGet, "/api/signals"), 200)
}

func TestSettlementThatFails(t *testing.T) {
	t.Parallel()
	s := openFixture(t)
	s.facilitate(valid, says(200, `{"success":false,"errorReason":"insufficient_funds","transaction":"","network":"base"}`))
	paid := pay(1, s.authorization(1000), nil)
	a := s.buy("/picks/latest", paid)
	s.want("refused", a, 402)
	want := x402.Receipt{ErrorReason: "insufficient_funds", Network: "base", Payer: payer}
	if d := cmp.Diff(want, receipt(t, a)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	s.wantStates("failed")
	s.facilitate(valid, settled)
	s.want("the same payment, now good", s.buy("/picks/latest", paid), 200)
	s.wantStates("settled+")

	// If a worker checks the chain, the facilitator's denial is not final until the chain confirms it.
	s.watch(true)
	s.facilitate(valid, says(200, `{"success":false,"errorReason":"it says","transaction":"","network":"base"}`))
	for state, status := range map[string]int{postgres.X402Failed: 402, postgres.X402Settled: 200} {
		s.eventuallyWatched()
		got := make(chan answer, 1)
		go func() { got <- s.buy("/picks/latest", pay(2, s.authorization(1000), nil)) }()
		s.eventually("the settlement to be unclear", func() bool { return s.states()[0] == postgres.X402Unknown })
		s.resolve(state, map[bool]string{true: txHash}[status == 200])
		a := <-got
		s.want("denied, and "+state+" on the chain", a, status)
		if r := receipt(t, a); r.Success != (status == 200) {
			t.Errorf("receipt %+v", r)
		}
	}
}

func TestSettlementThatIsUnclear(t *testing.T) {
	t.Parallel()
	s := openFixture(t)
	for name, answer := range map[string]http.HandlerFunc{
		"the answer is lost": lost, "it breaks": says(500, "oops"),
		"it is pending": says(200, `{"success":false,"errorReason":"settlement_pending","transaction":"`+txHash+`"}`),
	} {
		s.facilitate(valid, answer)
		authorization := s.authorization(1000)
		paid := pay(1, authorization, nil)
		a := s.buy("/picks/latest", paid)
		if code := s.want(name, a, 503); code != "settlement_pending" || a.Header.Get("Retry-After") == "" || a.Header.Get(x402.HeaderRequiredV2) != "" {
			t.Errorf("%s: %s %v", name, code, a.Header)
		}
		settlements := s.settled.Load()
		if code := s.want(name+", again", s.buy("/picks/latest", paid), 503); code != "settlement_pending" {
			t.Errorf("%s, again: %s", name, code)
		}
		if reason := s.want(name+", for something else", s.buy("/sectors", paid), 402); !strings.HasPrefix(reason, x402.ReasonUsed) {
			t.Errorf("%s, for something else: %s", name, reason)
		}
		// The chain has the payment: the same request returns the data, once, without a new charge.
		s.resolve(postgres.X402Settled, txHash)
		s.want(name+", for something else", s.buy("/sectors", paid), 402)
		again := s.buy("/picks/latest", pay(2, authorization, nil))
		if s.want(name+", found on the chain", again, 200); receipt(t, again).Transaction != txHash {
			t.Errorf("%s: receipt %+v", name, receipt(t, again))
		}
		s.want(name+", once more", s.buy("/picks/latest", paid), 402)
		if s.settled.Load() != settlements {
			t.Errorf("%s: it was settled again", name)
		}
	}
	s.wantStates("settled+", "settled+", "settled+")

	// With a quick worker, the client needs no second request.
	s.watch(true)
	s.eventuallyWatched()
	s.facilitate(valid, lost)
	got := make(chan answer, 1)
	go func() { got <- s.buy("/picks/latest", pay(1, s.authorization(1000), nil)) }()
	s.eventually("the settlement to be unclear", func() bool { return s.states()[0] == postgres.X402Unknown })
	s.resolve(postgres.X402Settled, txHash)
	s.want("resolved in time", <-got, 200)
}

// A client that disconnects during the settlement has paid: the same request returns the data later, once.
func TestClientThatHangsUp(t *testing.T) {
	t.Parallel()
	s := openFixture(t)
	started, release := make(chan struct{}), make(chan struct{})
	s.facilitate(valid, func(w http.ResponseWriter, r *http.Request) {
		close(started)
		<-release
		settled(w, r)
	})
	paid := pay(2, s.authorization(1000), nil)
	ctx, hangUp := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+sold+"/picks/latest", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(paid[0], paid[1])
	gone := make(chan error, 1)
	go func() {
		resp, err := plain.Do(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		gone <- err
	}()
	<-started
	hangUp()
	if err := <-gone; err == nil {
		t.Fatal("the client got an answer")
	}
	// When the next request finds its payment in progress, the server has noticed the disconnect.
	s.want("while it is settled", s.buy("/picks/latest", paid), 409)
	close(release)
	s.eventually("the settlement to be recorded", func() bool { return s.states()[0] != postgres.X402Settling })
	s.eventually("the answer to be given up", func() bool {
		a := s.buy("/picks/latest", paid)
		return a.StatusCode == http.StatusOK
	})
	s.want("once more", s.buy("/picks/latest", paid), 402)
	if s.settled.Load() != 1 {
		t.Errorf("%d settlements", s.settled.Load())
	}
	s.wantStates("settled+")
}

func TestNothingIsSoldForTheWrongToken(t *testing.T) {
	t.Parallel()
	s := openFixture(t)
	s.watch(false)
	a := s.buy("/picks/latest", nil)
	if code := s.want("terms", a, 503); code != "dependency_unavailable" || a.Header.Get("Retry-After") == "" {
		t.Errorf("%s %v", code, a.Header)
	}
	s.want("a payment", s.buy("/picks/latest", pay(1, s.authorization(1000), nil)), 503)
	s.want("what is sold", s.ask(http.MethodGet, sold+"/info"), 200)
}

// A facilitator that names one transaction for two payments has settled at most one.
func TestATransactionIsNamedForOnePaymentOnly(t *testing.T) {
	t.Parallel()
	s := openFixture(t)
	s.facilitate(valid, says(200, `{"success":true,"transaction":"`+txHash+`","network":"base","payer":"`+payer+`"}`))
	s.want("the first", s.buy("/picks/latest", pay(1, s.authorization(1000), nil)), http.StatusOK)
	second := s.authorization(1000)
	for range 2 {
		a := s.buy("/picks/latest", pay(1, second, nil))
		if s.want("the same transaction", a, http.StatusServiceUnavailable) != "settlement_pending" || strings.Contains(string(a.body), `"data":`) {
			t.Errorf("%s", a.body)
		}
	}
	// The chain decides.
	s.resolve(postgres.X402Settled, second["nonce"].(string))
	s.want("found on the chain", s.buy("/picks/latest", pay(1, second, nil)), http.StatusOK)
}

func TestAForgedPaymentIsRefusedBeforeAnybodyIsAsked(t *testing.T) {
	t.Parallel()
	s := openFixture(t)
	var forged atomic.Bool
	forged.Store(true)
	o := s.paymentsOptions
	o.Signed = func(_ x402.Seller, p x402.Payment) (bool, error) {
		if forged.Load() {
			return true, fmt.Errorf("the signature is not that of %s", p.Authorization.From)
		}
		return true, nil
	}
	s.serve(api.Options{View: s.view, Data: s.wares(), Payments: api.NewPayments(o)})
	paid := s.authorization(1000)
	for version := 1; version <= 2; version++ {
		if reason := s.want("forged", s.buy("/picks/latest", pay(version, paid, nil)), http.StatusPaymentRequired); !strings.HasPrefix(reason, x402.ReasonSignature) {
			t.Errorf("version %d: %q", version, reason)
		}
	}
	if n := s.verified.Load() + s.settled.Load(); n != 0 {
		t.Errorf("the facilitator was asked %d times", n)
	}
	forged.Store(false)
	s.want("signed", s.buy("/picks/latest", pay(1, paid, nil)), http.StatusOK)
}
