package workers_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/accounts/x402"
	"tidemark/chain/base"
	"tidemark/internal/devchain"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/workers"
)

// claimsFixture is the job that asks a development chain about payments. The way to the chain can be cut.
type claimsFixture struct {
	t           *testing.T
	chain       *devchain.Chain
	facilitator *devchain.Facilitator
	api, worker *postgres.DB
	job         workers.X402
	cut         atomic.Bool
}

func newOffice(t *testing.T) *claimsFixture {
	t.Helper()
	o := &claimsFixture{t: t}
	var err error
	if o.chain, err = devchain.Start(devchain.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.chain.Close() })
	if o.facilitator, err = devchain.NewFacilitator(o.chain, 9); err != nil {
		t.Fatal(err)
	}
	node, err := url.Parse(o.chain.URL())
	if err != nil {
		t.Fatal(err)
	}
	way := httputil.NewSingleHostReverseProxy(node)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o.cut.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		way.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	client, err := base.Dial(devchain.DefaultChainID, proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	dsn := pgtest.New(t)
	for role, db := range map[string]**postgres.DB{postgres.RoleAPI: &o.api, postgres.RoleWorker: &o.worker} {
		if *db, err = postgres.Open(t.Context(), dsn, role); err != nil {
			t.Fatal(err)
		}
		t.Cleanup((*db).Close)
	}
	seller, err := x402.NewSeller(x402.Settings{Network: "base-sepolia", PayTo: devchain.Address(8).Hex()})
	if err != nil {
		t.Fatal(err)
	}
	o.job = workers.X402{DB: o.worker, Chain: client, Seller: seller, Now: time.Now}
	return o
}

// unclear makes a payment whose response from the facilitator was lost, and returns its number.
func (o *claimsFixture) unclear(nonce byte, denied bool) (id int64, a devchain.SignedAuthorization) {
	o.t.Helper()
	ctx := o.t.Context()
	now := time.Now()
	a, err := o.chain.Authorize(4, devchain.Address(8).Hex(), 1000, now.Add(-time.Minute), now.Add(time.Minute), [32]byte{nonce})
	if err != nil {
		o.t.Fatal(err)
	}
	p, err := o.api.ReserveX402(ctx, postgres.X402Authorization{
		ChainID: devchain.DefaultChainID, Asset: o.job.Seller.Asset.Key(), Payer: strings.ToLower(a.From), Nonce: a.Nonce,
		PayTo: strings.ToLower(a.To), Micro: 1000, ValidBefore: now.Add(time.Minute), Digest: strings.Repeat("d4", 32), Resource: "/x", Version: 1,
		Answer: strings.Repeat("e5", 32),
	}, time.Minute)
	if err != nil {
		o.t.Fatal(err)
	}
	if ok, err := o.api.SettlingX402(ctx, p.Hold, time.Minute); err != nil || !ok {
		o.t.Fatal(ok, err)
	}
	u := postgres.X402Unsettled{State: postgres.X402Unknown, Reason: "it says", Denied: denied}
	if ok, err := o.api.UnsettledX402(ctx, p.Hold, u); err != nil || !ok {
		o.t.Fatal(ok, err)
	}
	return p.Hold.ID, a
}

// settle has the chain take an authorization, as a facilitator whose answer is lost.
func (o *claimsFixture) settle(a devchain.SignedAuthorization) {
	o.t.Helper()
	body := fmt.Sprintf(`{"x402Version":1,"paymentPayload":{"x402Version":1,"scheme":"exact","network":"base-sepolia","payload":{"signature":%q,
		"authorization":{"from":%q,"to":%q,"value":%q,"validAfter":%q,"validBefore":%q,"nonce":%q}}},
		"paymentRequirements":{"scheme":"exact","network":"base-sepolia","maxAmountRequired":"1000","asset":%q,"payTo":%q}}`,
		a.Signature, a.From, a.To, a.Value, a.ValidAfter, a.ValidBefore, a.Nonce, devchain.TokenAddress.Hex(), a.To)
	w := httptest.NewRecorder()
	o.facilitator.ServeHTTP(w, httptest.NewRequestWithContext(o.t.Context(), http.MethodPost, "/settle", strings.NewReader(body)))
	if !strings.Contains(w.Body.String(), `"success":true`) {
		o.t.Fatalf("%s", w.Body)
	}
}

func (o *claimsFixture) run(subject string) error {
	return o.job.Run(o.t.Context(), task.Task{Job: task.X402, Subject: subject})
}

func (o *claimsFixture) payment(id int64) postgres.X402Payment {
	o.t.Helper()
	list, err := o.worker.X402Payments(o.t.Context(), postgres.X402Filter{ID: id, Limit: 1})
	if err != nil || len(list) != 1 {
		o.t.Fatalf("%v, %v", list, err)
	}
	return list[0]
}

// again is when a subject is looked at the next time, zero for never.
func (o *claimsFixture) again(subject string) time.Time {
	o.t.Helper()
	list, err := o.worker.Runs(o.t.Context(), postgres.RunFilter{Job: task.X402, Subject: subject, Status: "due", Limit: 10})
	if err != nil {
		o.t.Fatal(err)
	}
	if len(list) == 0 {
		return time.Time{}
	}
	return *list[0].NextTryAt
}

func TestTheChainDecidesAboutUnclearPayments(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	unseen, _ := o.unclear(1, false)
	denied, late := o.unclear(2, true)
	paid, taken := o.unclear(3, false)
	o.settle(taken)
	for id, want := range map[int64]string{unseen: postgres.X402Unknown, denied: postgres.X402Failed, paid: postgres.X402Settled} {
		subject := strconv.FormatInt(id, 10)
		if err := o.run(subject); err != nil {
			t.Fatal(err)
		}
		p := o.payment(id)
		if p.State != want {
			t.Errorf("payment %d is %s, want %s", id, p.State, want)
		}
		if want != postgres.X402Settled && o.again(subject).IsZero() {
			t.Errorf("payment %d is %s and nobody looks after it", id, p.State)
		}
	}
	if p := o.payment(paid); p.TxHash == nil || len(*p.TxHash) != 66 {
		t.Errorf("settled by %v", p.TxHash)
	}
	// What was denied turns up after all.
	o.settle(late)
	if err := o.run(strconv.FormatInt(denied, 10)); err != nil {
		t.Fatal(err)
	}
	if p := o.payment(denied); p.State != postgres.X402Settled {
		t.Errorf("denied and on the chain: %+v", p)
	}
	// What never turned up has failed once it can no longer.
	if err := o.chain.Skip(3 * time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := o.run(strconv.FormatInt(unseen, 10)); err != nil {
		t.Fatal(err)
	}
	if p := o.payment(unseen); p.State != postgres.X402Failed {
		t.Errorf("never seen: %+v", p)
	}
}

func TestPaymentsWaitForAChainThatIsAway(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	id, taken := o.unclear(1, false)
	o.settle(taken)
	o.cut.Store(true)
	subject := strconv.FormatInt(id, 10)
	for _, s := range []string{subject, postgres.X402SubjectTerms} {
		if err := o.run(s); !errors.Is(err, base.ErrUnavailable) {
			t.Errorf("%s: error %v, want ErrUnavailable", s, err)
		}
		if o.again(s).IsZero() {
			t.Errorf("%s: nobody asks again", s)
		}
	}
	if p := o.payment(id); p.State != postgres.X402Unknown {
		t.Errorf("%+v", p)
	}
	o.cut.Store(false)
	if err := o.run(subject); err != nil || o.payment(id).State != postgres.X402Settled {
		t.Errorf("%v, %+v", err, o.payment(id))
	}
}

func TestVerdictOnTheToken(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	asset := &o.job.Seller.Asset
	for name, ok := range map[string]bool{"USDC": true, "USD Coin": false} {
		asset.Name = name
		if err := o.run(postgres.X402SubjectTerms); err != nil {
			t.Fatal(err)
		}
		v, err := o.api.X402Verdict(t.Context(), postgres.X402Terms{
			ChainID: devchain.DefaultChainID, Asset: asset.Key(), Name: name, Version: asset.Version,
		})
		if err != nil || v.OK != ok || (v.Detail == "") != ok {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
	if at := o.again(postgres.X402SubjectTerms); time.Until(at) < 30*time.Minute {
		t.Errorf("looked at again at %s", at)
	}
}

// Without a node an unclear payment waits for a person; it is not guessed.
func TestWithoutANodeNothingIsDecided(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	id, _ := o.unclear(1, false)
	o.job.Chain = nil
	if err := o.run(strconv.FormatInt(id, 10)); err != nil {
		t.Fatal(err)
	}
	if p := o.payment(id); p.State != postgres.X402Unknown {
		t.Errorf("%+v", p)
	}
}

// A payment that the facilitator calls settled is looked up on the chain: a false claim is detected, and raises an alarm.
func TestAFacilitatorThatLiesIsFoundOut(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ctx := t.Context()
	honest, taken := o.unclear(1, false)
	lie, _ := o.unclear(2, false)
	o.settle(taken)
	for id, tx := range map[int64]string{honest: "0x" + strings.Repeat("a1", 32), lie: "0x" + strings.Repeat("b2", 32)} {
		if ok, err := o.api.SettledX402(ctx, postgres.X402Lease{ID: id, Attempt: 1}, tx, time.Minute); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if err := o.run(strconv.FormatInt(id, 10)); err != nil {
			t.Fatal(err)
		}
	}
	missing := func() int {
		t.Helper()
		n, first, err := o.worker.X402Missing(ctx)
		if err != nil || n > 0 && first != lie {
			t.Fatal(n, first, err)
		}
		return n
	}
	// It may still come.
	if missing() != 0 || o.again(strconv.FormatInt(lie, 10)).IsZero() {
		t.Error("what may still come is missing, or nobody looks for it")
	}
	if err := o.chain.Skip(20 * time.Minute); err != nil {
		t.Fatal(err)
	}
	o.job.Now = func() time.Time { return time.Now().Add(20 * time.Minute) }
	if err := o.run(strconv.FormatInt(lie, 10)); err != nil {
		t.Fatal(err)
	}
	if missing() != 1 || o.again(strconv.FormatInt(lie, 10)).IsZero() {
		t.Error("a settlement that never was is not told")
	}
	if p := o.payment(honest); p.State != postgres.X402Settled {
		t.Errorf("%+v", p)
	}
}
