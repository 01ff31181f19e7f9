package x402_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/accounts/x402"
)

// facilitator sends the configured responses and records the requests.
type facilitator struct {
	*httptest.Server
	client *x402.Client
	calls  atomic.Int64

	mu   sync.Mutex
	last *http.Request
	body map[string]any
	now  time.Time
}

func (f *facilitator) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *facilitator) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func newFacilitator(t *testing.T, o x402.Options, answer http.HandlerFunc) *facilitator {
	t.Helper()
	f := &facilitator{now: now}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.calls.Add(1)
		b, _ := io.ReadAll(r.Body)
		f.mu.Lock()
		f.last, f.body = r, nil
		_ = json.Unmarshal(b, &f.body)
		f.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(f.Close)
	o.URL, o.Now = f.URL+"/platform/v2/x402?key=secret", f.clock
	var err error
	if f.client, err = x402.NewClient(o); err != nil {
		t.Fatal(err)
	}
	return f
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// drop closes the connection without a response.
func drop(w http.ResponseWriter, _ *http.Request) {
	panic(http.ErrAbortHandler)
}

func payment(t testing.TB) x402.Payment {
	t.Helper()
	p, err := x402.Decode(1, header(t, object(1)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestVerify(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		reason string // reason of the refusal
		away   bool
	}{
		{"valid", says(200, `{"isValid":true,"payer":"`+strings.ToLower(payer)+`"}`), "", false},
		{"invalid", says(200, `{"isValid":false,"invalidReason":"insufficient_funds"}`), "insufficient_funds", false},
		{"invalid, with another status", says(400, `{"isValid":false,"invalidReason":"invalid_payload"}`), "invalid_payload", false},
		{"valid, with another status", says(500, `{"isValid":true}`), "", false},
		{"invalid without a reason", says(200, `{"isValid":false}`), x402.ReasonPayload, false},
		{"another payer", says(200, `{"isValid":true,"payer":"`+payTo+`"}`), x402.ReasonPayload, false},
		{"a page", says(200, `<html>`), "", true},
		{"another object", says(200, `{"ok":true}`), "", true},
		{"not allowed", says(401, `{"error":"no"}`), "", true},
		{"broken", says(503, ``), "", true},
		{"gone", drop, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFacilitator(t, x402.Options{}, tt.answer)
			err := f.client.Verify(t.Context(), payment(t), offer(t))
			switch {
			case tt.away:
				if !errors.Is(err, x402.ErrUnavailable) {
					t.Errorf("error %v, want ErrUnavailable", err)
				}
			case tt.reason == "" && err != nil, tt.reason != "" && reason(err) != tt.reason:
				t.Errorf("error %v, want the reason %q", err, tt.reason)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows the address: %v", err)
			}
		})
	}
}

// A redirect would take the payment and the credentials to another server.
func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("another server gets %s %s with the key %q", r.Method, r.URL.Path, r.Header.Get("X-Api-Key"))
		_, _ = io.WriteString(w, `{"isValid":true,"success":true}`)
	}))
	t.Cleanup(elsewhere.Close)
	f := newFacilitator(t, x402.Options{Auth: "X-Api-Key: k"}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	if err := f.client.Verify(t.Context(), payment(t), offer(t)); !errors.Is(err, x402.ErrUnavailable) {
		t.Errorf("verify: %v, want ErrUnavailable", err)
	}
	if s := f.client.Settle(t.Context(), payment(t), offer(t)); s.Outcome != x402.OutcomeUnknown {
		t.Errorf("settle: %+v, want it unclear", s)
	}
	if n := f.calls.Load(); n != 2 {
		t.Errorf("the facilitator was asked %d times, want 2", n)
	}
}

func TestWhatTheFacilitatorIsSent(t *testing.T) {
	t.Parallel()
	f := newFacilitator(t, x402.Options{Auth: "X-Api-Key: k"}, says(200, `{"isValid":true}`))
	p := payment(t)
	p.Raw = []byte(`{"x402Version":1,"kept":"as it came"}`)
	if err := f.client.Verify(t.Context(), p, offer(t)); err != nil {
		t.Fatal(err)
	}
	if got := f.last.URL.Path; got != "/platform/v2/x402/verify" {
		t.Errorf("path %s", got)
	}
	if f.last.Header.Get("X-Api-Key") != "k" || f.last.Header.Get("Content-Type") != "application/json" {
		t.Errorf("header %v", f.last.Header)
	}
	want := map[string]any{
		"x402Version": 1.0, "paymentPayload": map[string]any{"x402Version": 1.0, "kept": "as it came"},
		"paymentRequirements": f.body["paymentRequirements"],
	}
	if d := cmp.Diff(want, f.body); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	var ours any
	if err := json.Unmarshal(offer(t).Requirements(1), &ours); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(ours, f.body["paymentRequirements"]); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if got := f.client.URL(); strings.Contains(got, "secret") || !strings.HasSuffix(got, "/platform/v2/x402") {
		t.Errorf("it is shown as %s", got)
	}
	bearer := newFacilitator(t, x402.Options{Auth: "Bearer abc"}, says(200, `{"isValid":true}`))
	if err := bearer.client.Verify(t.Context(), p, offer(t)); err != nil || bearer.last.Header.Get("Authorization") != "Bearer abc" {
		t.Errorf("Authorization is %q, %v", bearer.last.Header.Get("Authorization"), err)
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	tx := "0x" + strings.Repeat("cd", 32)
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   x402.Settlement
	}{
		{"settled", says(200, `{"success":true,"transaction":"`+tx+`"}`), x402.Settlement{Outcome: x402.Settled, Transaction: tx}},
		{"settled without a transaction", says(200, `{"success":true}`), x402.Settlement{Reason: "the facilitator names no transaction"}},
		{"refused", says(200, `{"success":false,"errorReason":"insufficient_funds","transaction":""}`), x402.Settlement{Outcome: x402.Refused, Reason: "insufficient_funds"}},
		{"refused, with another status", says(402, `{"success":false,"errorReason":"x"}`), x402.Settlement{Outcome: x402.Refused, Reason: "x"}},
		{"sent and not confirmed", says(200, `{"success":false,"errorReason":"settlement_pending","transaction":"`+tx+`"}`), x402.Settlement{Transaction: tx, Reason: "settlement_pending"}},
		{"refused, with a transaction", says(200, `{"success":false,"errorReason":"x","transaction":"`+tx+`"}`), x402.Settlement{Transaction: tx, Reason: "x"}},
		{"broken", says(500, `oops`), x402.Settlement{Reason: "the facilitator's answer was lost"}},
		{"the answer is lost", drop, x402.Settlement{Reason: "the facilitator's answer was lost"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFacilitator(t, x402.Options{}, tt.answer)
			if d := cmp.Diff(tt.want, f.client.Settle(t.Context(), payment(t), offer(t))); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
			if n := f.calls.Load(); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
	t.Run("not in time", func(t *testing.T) {
		t.Parallel()
		f := newFacilitator(t, x402.Options{SettleTimeout: 2 * time.Second}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		if s := f.client.Settle(t.Context(), payment(t), offer(t)); s.Outcome != x402.OutcomeUnknown {
			t.Errorf("%+v, want it unclear", s)
		}
	})
	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		f := newFacilitator(t, x402.Options{}, says(200, `{}`))
		f.Close()
		if s := f.client.Settle(t.Context(), payment(t), offer(t)); s.Outcome != x402.OutcomeNotSent {
			t.Errorf("%+v, want it unsent", s)
		}
	})
}

// slowDial connects twice too late. Then the facilitator does not respond.
type slowDial struct{ tries int }

func (d *slowDial) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.tries++; d.tries > 2 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	<-time.After(30 * time.Second)
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
}

// The lease of a settlement rests on this time.
func TestSettleTakesNoLongerThanItsTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dial := &slowDial{}
		c, err := x402.NewClient(x402.Options{URL: "https://facilitator.example", Transport: dial, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		s := c.Settle(t.Context(), payment(t), offer(t))
		if took := time.Since(began); took > c.SettleTimeout() || dial.tries != 3 || s.Outcome != x402.OutcomeUnknown {
			t.Errorf("%+v after %s and %d tries, want it unclear after at most %s", s, took, dial.tries, c.SettleTimeout())
		}
		if h := c.Health(); h.Failed != 1 {
			t.Errorf("health %+v, want one failure", h)
		}
	})
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	down.Store(true)
	f := newFacilitator(t, x402.Options{}, func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = io.WriteString(w, `{"isValid":true}`)
	})
	verify := func() error { return f.client.Verify(t.Context(), payment(t), offer(t)) }
	for range 5 {
		if err := verify(); !errors.Is(err, x402.ErrUnavailable) {
			t.Fatalf("error %v", err)
		}
	}
	if !f.client.Health().Open {
		t.Error("the breaker is closed after five failures")
	}
	asked := f.calls.Load()
	err := verify()
	away := (*x402.UnavailableError)(nil)
	if !errors.As(err, &away) || away.After <= 0 || away.After > 10*time.Second {
		t.Errorf("error %v, want one that says when to come again", err)
	}
	if f.calls.Load() != asked {
		t.Error("a facilitator that is down was asked all the same")
	}
	// One call after openTimeout, and no other while it is in progress.
	f.advance(11 * time.Second)
	if err := verify(); !errors.Is(err, x402.ErrUnavailable) || f.calls.Load() != asked+1 {
		t.Errorf("error %v after %d calls, want one call more than %d", err, f.calls.Load(), asked)
	}
	down.Store(false)
	f.advance(11 * time.Second)
	for range 2 {
		if err := verify(); err != nil {
			t.Errorf("it is back, and the answer is %v", err)
		}
	}
	if h := f.client.Health(); h.Open || h.Verified != 2 || h.Failed != 6 || h.LastFailure.IsZero() || !strings.Contains(h.Failure, "502") {
		t.Errorf("health %+v", h)
	}
}

// A client whose payments make the facilitator fail cannot block the facilitator for other clients.
func TestBreakerIsNotTheClientsToOpen(t *testing.T) {
	t.Parallel()
	for _, proven := range []bool{false, true} {
		f := newFacilitator(t, x402.Options{}, says(500, "stack trace"))
		p := payment(t)
		p.Proven = proven
		for range 20 {
			_ = f.client.Verify(t.Context(), p, offer(t))
		}
		if f.client.Health().Open {
			t.Errorf("the breaker is open, with a signed payment: %t", proven)
		}
	}
	// A client that hangs up shows nothing about the facilitator either.
	for _, proven := range []bool{false, true} {
		var hangUp context.CancelFunc
		f := newFacilitator(t, x402.Options{}, func(_ http.ResponseWriter, r *http.Request) {
			hangUp()
			<-r.Context().Done()
		})
		p := payment(t)
		p.Proven = proven
		for range 20 {
			var ctx context.Context
			ctx, hangUp = context.WithCancel(t.Context())
			_ = f.client.Verify(ctx, p, offer(t))
			hangUp()
		}
		if h := f.client.Health(); h.Open || h.Failed != 0 || f.calls.Load() != 20 {
			t.Errorf("after %d calls whose clients hang up, with a signed payment %t: %+v", f.calls.Load(), proven, h)
		}
	}
}

func TestSupported(t *testing.T) {
	t.Parallel()
	f := newFacilitator(t, x402.Options{}, says(200, `{"kinds":[{"x402Version":1,"scheme":"exact","network":"base-sepolia"},
		{"x402Version":2,"scheme":"exact","network":"eip155:8453"},{"x402Version":1,"scheme":"upto","network":"base"}],"extensions":[],"signers":{}}`))
	got, err := f.client.Supported(t.Context(), offer(t).Seller)
	if d := cmp.Diff([]int{2}, got); d != "" || err != nil {
		t.Errorf("%v -want +got\n%s", err, d)
	}
}

// An unsigned payment can be built to slow the facilitator down or to make it close the connection. A signed payment cannot.
func TestOnlyAProvenPaymentShowsThatTheFacilitatorIsIll(t *testing.T) {
	t.Parallel()
	f := newFacilitator(t, x402.Options{}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	p := payment(t)
	for range 20 {
		if err := f.client.Verify(t.Context(), p, offer(t)); !errors.Is(err, x402.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	if h := f.client.Health(); h.Open || h.Failed == 0 {
		t.Errorf("unproven: %+v", h)
	}
	p.Proven = true
	for range 5 {
		_ = f.client.Verify(t.Context(), p, offer(t))
	}
	if !f.client.Health().Open {
		t.Error("proven: the breaker is closed")
	}
	f.Close()
	gone := newFacilitator(t, x402.Options{}, says(200, `{}`))
	gone.Close()
	for range 5 {
		_ = gone.client.Verify(t.Context(), payment(t), offer(t))
	}
	if !gone.client.Health().Open {
		t.Error("a facilitator that is not there is not ill")
	}
}
