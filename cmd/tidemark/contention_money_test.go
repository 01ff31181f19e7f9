package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/accounts/x402"
	"tidemark/ingest/world"
	"tidemark/internal/devchain"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// The accounts of the chain from which clients of a contended world pay, by transfer and by request.
const contendedSender, contendedBuyer = 4, 5

// webhookSecret is the secret that the roles of a contended world share with their payment processor.
const webhookSecret = "whsec_contended"

// billing takes the payments of the clients of a contended world: a development chain with a facilitator, and a payment processor.
type billing struct {
	chain *program
	// processor responds with the state of one payment, for the key with this public id.
	processor *httptest.Server
	payer     atomic.Value
	refunded  atomic.Int64
	close     func()
}

func openBilling(t *testing.T, p *program) *billing {
	t.Helper()
	if err := p.startDevChain(); err != nil {
		t.Fatal(err)
	}
	serve, err := p.facilitate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx) }()
	c := &billing{chain: p}
	c.payer.Store("")
	c.processor = httptest.NewServer(http.HandlerFunc(c.process))
	c.close = func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the facilitator has ended: %v", err)
		}
		c.processor.Close()
		_ = p.dev.Close()
	}
	return c
}

// process answers as the payment processor does.
func (c *billing) process(w http.ResponseWriter, r *http.Request) {
	list := func(items ...any) map[string]any {
		return map[string]any{"object": "list", "has_more": false, "url": r.URL.Path, "data": append([]any{}, items...)}
	}
	var body any
	switch {
	case r.URL.Path == "/v1/checkout/sessions":
		body = list(map[string]any{
			"id": "cs_1", "object": "checkout.session", "payment_status": "paid", "currency": "usd", "amount_total": 1000,
			"metadata": map[string]any{"tidemark_key": c.payer.Load()},
		})
	case strings.HasPrefix(r.URL.Path, "/v1/payment_intents/"):
		body = map[string]any{"id": "pi_1", "object": "payment_intent", "latest_charge": map[string]any{
			"id": "ch_1", "object": "charge", "amount_refunded": c.refunded.Load(),
		}}
	default:
		body = list()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

// use adds billing to the settings of a role.
func (c *billing) use(p *program) {
	from, to := c.chain.settings, &p.settings
	to.BaseRPCURL, to.BaseChainID = from.BaseRPCURL, from.BaseChainID
	to.X402FacilitatorURL, to.X402Network, to.X402PayTo = from.X402FacilitatorURL, from.X402Network, from.X402PayTo
	to.StripeSecretKey, to.StripeWebhookSecret, to.StripeAPIURL = "sk_test_contended", webhookSecret, c.processor.URL
}

// pay lets a client pay in every way: by transfer, by request and by card. It repeats each step until it succeeds.
func (w *contended) pay(ctx context.Context, key string, number int64) error {
	if err := w.payByTransfer(ctx, key); err != nil {
		return fmt.Errorf("pay by transfer: %w", err)
	}
	if err := w.payByRequest(ctx); err != nil {
		return fmt.Errorf("pay by request: %w", err)
	}
	if err := w.payByCard(ctx, number); err != nil {
		return fmt.Errorf("pay by card: %w", err)
	}
	return nil
}

// successful makes a request again and again until its status is 200 or 204.
func (w *contended) successful(ctx context.Context, method, path, body, key string, header ...string) error {
	return again(ctx, func() error {
		status, text, err := answered(ctx, method, w.base+path, body, key, "", header...)
		if err == nil && status != http.StatusOK && status != http.StatusNoContent {
			err = fmt.Errorf("%s %s: status %d: %.300s", method, path, status, text)
		}
		return err
	})
}

func (w *contended) payByTransfer(ctx context.Context, key string) error {
	if err := w.successful(ctx, http.MethodGet, "/api/v1/payments/quote", "", key); err != nil {
		return err
	}
	tx, err := w.billing.chain.dev.Transfer(ctx, contendedSender, w.billing.chain.settings.X402PayTo, 5_000_000)
	if err != nil {
		return err
	}
	if err := w.successful(ctx, http.MethodPost, "/api/v1/payments/verify", fmt.Sprintf(`{"tx_hash":%q}`, tx), key); err != nil {
		return err
	}
	return w.successful(ctx, http.MethodGet, "/api/v1/payments/claims/"+tx, "", key)
}

func (w *contended) payByRequest(ctx context.Context) error {
	const path, price = "/api/v1/x402/picks/latest", 1000
	now := time.Now()
	payTo := w.billing.chain.settings.X402PayTo
	a, err := w.billing.chain.dev.Authorize(contendedBuyer, payTo, price, now.Add(-10*time.Minute), now.Add(110*time.Second), [32]byte{1})
	if err != nil {
		return err
	}
	b, err := json.Marshal(map[string]any{
		"x402Version": x402.V2, "payload": map[string]any{"signature": a.Signature, "authorization": a},
		"accepted": map[string]any{
			"scheme": "exact", "network": w.billing.chain.settings.X402Network, "amount": a.Value, "asset": devchain.TokenAddress.Hex(), "payTo": payTo,
			"maxTimeoutSeconds": 60, "extra": map[string]any{"name": "USDC", "version": "2"},
		},
	})
	if err != nil {
		return err
	}
	return again(ctx, func() error {
		status, text, err := answered(ctx, http.MethodGet, w.base+path, "", "", "", x402.HeaderPaymentV2, base64.StdEncoding.EncodeToString(b))
		var problem struct{ Code string }
		if status >= http.StatusBadRequest && w.quick && json.Unmarshal([]byte(text), &problem) == nil && (problem.Code == "payment_under_way" || problem.Code == "settlement_pending") {
			// A client would wait until a lease is over, or until the chain was asked: longer than this world has time.
			return nil
		}
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%s: status %d: %.300s", path, status, text)
		}
		return err
	})
}

// payByCard tops up a key at the processor, which then returns a part of the amount to the payer.
func (w *contended) payByCard(ctx context.Context, number int64) error {
	var public string
	if err := w.db.QueryRow(ctx, `select public_id from keys where id = $1`, number).Scan(&public); err != nil {
		return err
	}
	w.billing.payer.Store(public)
	for n, kind := range []string{"checkout.session.completed", "charge.refunded"} {
		w.billing.refunded.Store(int64(n) * 250)
		body := fmt.Sprintf(`{"id":"evt_%d","object":"event","type":%q,"data":{"object":{"id":"x","payment_intent":"pi_1"}}}`, n, kind)
		at := strconv.FormatInt(time.Now().Unix(), 10)
		mac := hmac.New(sha256.New, []byte(webhookSecret))
		_, _ = mac.Write([]byte(at + "." + body))
		signature := "t=" + at + ",v1=" + hex.EncodeToString(mac.Sum(nil))
		if err := w.successful(ctx, http.MethodPost, "/webhooks/stripe", body, "", "Stripe-Signature", signature); err != nil {
			return err
		}
		if err := w.until(ctx, `select count(*) = $1 from processor_events where done_at is not null`, n+1); err != nil {
			return err
		}
	}
	return nil
}

// until waits until a query returns true.
func (w *contended) until(ctx context.Context, sql string, args ...any) error {
	return again(ctx, func() error {
		var ok bool
		err := w.db.QueryRow(ctx, sql, args...).Scan(&ok)
		if err == nil && !ok {
			err = fmt.Errorf("not yet: %s", sql)
		}
		return err
	})
}

// quarantine lets two upstreams lose their history for an instant, and decides as an operator about each refused answer: it rejects one and
// accepts the other.
func (w *contended) quarantine(ctx context.Context, db *postgres.DB, now time.Time) error {
	p := w.program("operator")
	store, err := p.openArchive(ctx, db)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	d := postgres.Decision{At: now, By: "operator", Reason: "as announced"}
	reject := func(id int64) error { return db.RejectQuarantined(ctx, id, d) }
	accept := func(id int64) error {
		job := p.releaser(db, store)
		if _, err := job.Effect(ctx, id, d.At); err != nil {
			return err
		}
		_, err := job.Accept(ctx, id, d)
		return err
	}
	for _, step := range []struct {
		source string
		decide func(id int64) error
	}{{"fred-cpi", reject}, {"fred-gdp", accept}} {
		source := step.source
		for n := range contendedWorkers {
			file := w.program(fmt.Sprintf("worker-%d", n+1)).troublesFile()
			if err := world.SaveTroubles(file, []world.Trouble{{Source: source, Kind: world.Shrunk, Since: now, Until: now.Add(time.Second), By: "operator"}}); err != nil {
				return fmt.Errorf("%s: %w", filepath.Base(file), err)
			}
		}
		if err := again(ctx, func() error {
			if _, err := db.AddRun(ctx, task.Ingest, source, now, "operator"); !errors.Is(err, postgres.ErrUnderWay) {
				return err
			}
			return nil
		}); err != nil {
			return err
		}
		if err := w.until(ctx, `select status = 'failed' from runs where job = $1 and subject = $2 and slot = $3`, task.Ingest, source, now); err != nil {
			return err
		}
		var id int64
		if err := w.db.QueryRow(ctx, `select id from quarantine where source = $1`, source).Scan(&id); err != nil {
			return err
		}
		if err := again(ctx, func() error {
			err := step.decide(id)
			var decided bool
			if err != nil && w.db.QueryRow(ctx, `select decision <> 'pending' from quarantine where id = $1`, id).Scan(&decided) == nil && decided {
				return nil // the answer was lost
			}
			return err
		}); err != nil {
			return err
		}
		if err := again(ctx, func() error {
			_, err := db.Decisions(ctx, id)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
