package stripe_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/accounts"
	"tidemark/accounts/stripe"
)

const secret = "whsec_test"

// sign returns the signature header by the published scheme: HMAC-SHA256 with the secret over the time, a point and the body.
func sign(key string, at time.Time, body string) string {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}

func client(t *testing.T, h http.HandlerFunc) *stripe.Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := stripe.New(stripe.Options{SecretKey: "sk_test", WebhookSecret: secret, URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const report = `{"id":"evt_1","object":"event","type":"checkout.session.completed","api_version":"2020-08-27","data":{"object":{"id":"cs_1","payment_intent":"pi_1"}}}`

func TestOnlyTheProcessorsReportsAreRead(t *testing.T) {
	t.Parallel()
	c := client(t, http.NotFound)
	now := time.Now()
	for _, row := range []struct {
		what, header, body string
		ok                 bool
	}{
		{"signed now", sign(secret, now, report), report, true},
		{"signed four minutes ago", sign(secret, now.Add(-4*time.Minute), report), report, true},
		{"with an older secret's signature beside it", sign(secret, now, report) + ",v1=" + strings.Repeat("00", 32), report, true},
		{"signed six minutes ago", sign(secret, now.Add(-6*time.Minute), report), report, false},
		{"signed with another secret", sign("whsec_other", now, report), report, false},
		{"one byte is another", sign(secret, now, report), strings.Replace(report, "pi_1", "pi_2", 1), false},
		{"no signature", "", report, false},
		{"an old scheme", strings.Replace(sign(secret, now, report), "v1=", "v0=", 1), report, false},
		{"no report", sign(secret, now, "{}"), "{}", false},
	} {
		got, err := c.Event([]byte(row.body), row.header)
		if (err == nil) != row.ok || err != nil && !errors.Is(err, stripe.ErrBadSignature) {
			t.Errorf("%s: %v", row.what, err)
		}
		if want := (stripe.Event{ID: "evt_1", Type: "checkout.session.completed", Payment: "pi_1"}); row.ok && got != want {
			t.Errorf("%s: %+v", row.what, got)
		}
	}
}

func TestACheckoutIsOrderedOnce(t *testing.T) {
	t.Parallel()
	var asked []string
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		asked = append(asked, r.Method+" "+r.URL.Path, r.Header.Get("Idempotency-Key"), r.Header.Get("Authorization"))
		for _, name := range []string{"mode", "client_reference_id", "metadata[tidemark_key]", "line_items[0][price_data][unit_amount]", "line_items[0][price_data][currency]", "success_url"} {
			asked = append(asked, r.PostForm.Get(name))
		}
		_, _ = fmt.Fprint(w, `{"id":"cs_1","url":"https://checkout.stripe.com/c/pay/cs_1"}`)
	})
	address, err := c.Checkout(t.Context(), stripe.Order{Key: "key_1", Amount: 12_340_000, DoneURL: "https://t.example/dashboard/paid", CancelURL: "https://t.example/dashboard", Once: "o1"})
	if err != nil || address != "https://checkout.stripe.com/c/pay/cs_1" {
		t.Fatalf("%s, %v", address, err)
	}
	want := []string{"POST /v1/checkout/sessions", "o1", "Bearer sk_test", "payment", "key_1", "key_1", "1234", "usd", "https://t.example/dashboard/paid"}
	if d := cmp.Diff(want, asked); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if _, err := c.Checkout(t.Context(), stripe.Order{Key: "key_1", Amount: 5_000_001}); err == nil {
		t.Error("a millionth of a dollar is ordered")
	}
}

func TestHowAPaymentStands(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		what, session, charge, disputes string
		want                            stripe.State
	}{
		{
			"paid", `{"id":"cs_1","payment_status":"paid","currency":"usd","amount_total":500,"metadata":{"tidemark_key":"key_1"}}`, `{"amount_refunded":0}`, ``,
			stripe.State{Checkout: "cs_1", Key: "key_1", Paid: 5_000_000},
		},
		{
			"half of it went back", `{"id":"cs_1","payment_status":"paid","currency":"usd","amount_total":1000,"metadata":{"tidemark_key":"key_1"}}`, `{"amount_refunded":500}`, ``,
			stripe.State{Checkout: "cs_1", Key: "key_1", Paid: 10_000_000, Refunded: 5_000_000},
		},
		{
			"in dispute", `{"id":"cs_1","payment_status":"paid","currency":"usd","amount_total":500,"metadata":{"tidemark_key":"key_1"}}`, `{}`, `{"id":"dp_1","amount":500,"status":"under_review"}`,
			stripe.State{Checkout: "cs_1", Key: "key_1", Paid: 5_000_000, Disputed: 5_000_000},
		},
		{
			"the dispute is won", `{"id":"cs_1","payment_status":"paid","currency":"usd","amount_total":500,"metadata":{"tidemark_key":"key_1"}}`, `{}`, `{"id":"dp_1","amount":500,"status":"won"}`,
			stripe.State{Checkout: "cs_1", Key: "key_1", Paid: 5_000_000},
		},
		{"not paid yet", `{"id":"cs_1","payment_status":"unpaid","currency":"usd","amount_total":500,"metadata":{"tidemark_key":"key_1"}}`, `{}`, ``, stripe.State{}},
		{"of another product", `{"id":"cs_1","payment_status":"paid","currency":"usd","amount_total":500,"metadata":{}}`, `{}`, ``, stripe.State{}},
		{"in another currency", `{"id":"cs_1","payment_status":"paid","currency":"eur","amount_total":500,"metadata":{"tidemark_key":"key_1"}}`, `{}`, ``, stripe.State{}},
	} {
		c := client(t, func(w http.ResponseWriter, r *http.Request) {
			body := ""
			switch r.URL.Path {
			case "/v1/checkout/sessions":
				body = `{"object":"list","data":[` + row.session + `],"has_more":false}`
			case "/v1/payment_intents/pi_1":
				body = `{"id":"pi_1","latest_charge":` + strings.Replace(row.charge, "{", `{"id":"ch_1"`+map[bool]string{true: "", false: ","}[row.charge == "{}"], 1) + `}`
			case "/v1/disputes":
				body = `{"object":"list","data":[` + row.disputes + `],"has_more":false}`
			}
			if !json.Valid([]byte(body)) || r.URL.Path != "/v1/payment_intents/pi_1" && r.URL.Query().Get("payment_intent") != "pi_1" {
				t.Errorf("%s: asked for %s: %s", row.what, r.URL, body)
			}
			_, _ = fmt.Fprint(w, body)
		})
		got, err := c.State(t.Context(), "pi_1")
		if err != nil {
			t.Errorf("%s: %v", row.what, err)
		}
		if d := cmp.Diff(row.want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", row.what, d)
		}
	}
	away := client(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	if _, err := away.State(t.Context(), "pi_1"); !errors.Is(err, stripe.ErrUnavailable) {
		t.Errorf("refused: %v", err)
	}
	if _, err := stripe.New(stripe.Options{SecretKey: "sk"}); err == nil || !strings.Contains(err.Error(), "STRIPE_WEBHOOK_SECRET") {
		t.Errorf("half set up: %v", err)
	}
	_ = accounts.Micros(0)
}
