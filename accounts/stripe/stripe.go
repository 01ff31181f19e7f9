// Package stripe speaks to the payment processor: it opens checkouts in which a key's balance is topped up, reads what the processor
// reports about them, and asks it how a payment stands. It knows nothing of keys and balances beyond their names. Start at Client.
package stripe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	processor "github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"tidemark/accounts"
)

// Name is the processor's in records.
const Name = "stripe"

// PublicURL is where the processor's API is.
const PublicURL = "https://api.stripe.com"

// centMicros is a cent, the processor's unit of US dollars.
const centMicros = accounts.PerDollar / 100

// metadataKey names the key in a checkout's metadata.
const metadataKey = "tidemark_key"

var (
	// ErrBadSignature: a report is not signed by the processor, or not lately.
	ErrBadSignature = errors.New("the report is not signed by the payment processor, or too long ago")
	// ErrUnavailable: the processor does not answer, or not usefully.
	ErrUnavailable = errors.New("the payment processor does not answer")
)

// Options are a client's settings.
type Options struct {
	// SecretKey opens the processor's API, WebhookSecret signs its reports.
	SecretKey, WebhookSecret string
	// URL is where the API is; empty: PublicURL.
	URL string
	// HTTP makes the requests. Nil: one with a timeout of 20 seconds.
	HTTP *http.Client
}

// Client speaks to the processor. It is safe for concurrent use.
type Client struct {
	api    *processor.Client
	secret string
}

// New makes a client. It does not connect.
func New(o Options) (*Client, error) {
	if o.SecretKey == "" || o.WebhookSecret == "" {
		return nil, errors.New("both STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET have to be set")
	}
	if o.URL == "" {
		o.URL = PublicURL
	}
	if u, err := url.Parse(o.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("STRIPE_API_URL: %q is no http or https URL", o.URL)
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Timeout: 20 * time.Second}
	}
	backends := processor.NewBackendsWithConfig(&processor.BackendConfig{
		URL: processor.String(strings.TrimRight(o.URL, "/")), HTTPClient: o.HTTP, MaxNetworkRetries: processor.Int64(1),
		LeveledLogger: &processor.LeveledLogger{Level: processor.LevelNull}, EnableTelemetry: new(false),
	})
	return &Client{api: processor.NewClient(o.SecretKey, processor.WithBackends(backends)), secret: o.WebhookSecret}, nil
}

// Order is a top-up that a key's holder wants to pay.
type Order struct {
	// Key is the key's public id.
	Key string
	// Amount is a whole number of cents.
	Amount accounts.Micros
	// DoneURL and CancelURL are where the browser goes afterwards.
	DoneURL, CancelURL string
	// Once makes a repetition of the order the same order.
	Once string
}

// Checkout opens a checkout and returns the address that the holder pays at.
func (c *Client) Checkout(ctx context.Context, o Order) (string, error) {
	if o.Amount%centMicros != 0 || o.Amount <= 0 {
		return "", fmt.Errorf("open a checkout: %s USD is no number of cents", o.Amount)
	}
	meta := map[string]string{metadataKey: o.Key}
	p := &processor.CheckoutSessionCreateParams{
		Mode: new("payment"), SuccessURL: &o.DoneURL, CancelURL: &o.CancelURL, ClientReferenceID: &o.Key, Metadata: meta,
		PaymentMethodTypes: []*string{new("card")},
		PaymentIntentData:  &processor.CheckoutSessionCreatePaymentIntentDataParams{Metadata: meta},
		LineItems: []*processor.CheckoutSessionCreateLineItemParams{{
			Quantity: new(int64(1)),
			PriceData: &processor.CheckoutSessionCreateLineItemPriceDataParams{
				Currency: new("usd"), UnitAmount: new(int64(o.Amount / centMicros)),
				ProductData: &processor.CheckoutSessionCreateLineItemPriceDataProductDataParams{Name: new("Tidemark balance")},
			},
		}},
	}
	p.SetIdempotencyKey(o.Once)
	s, err := c.api.V1CheckoutSessions.Create(ctx, p)
	if err != nil {
		return "", fmt.Errorf("open a checkout: %w", fault(err))
	}
	if u, err := url.Parse(s.URL); err != nil || u.Host == "" {
		return "", fmt.Errorf("open a checkout: %w: its answer has no address", ErrUnavailable)
	}
	return s.URL, nil
}

// Event is what the processor reports.
type Event struct {
	ID, Type string
	// Payment is the payment that it is about; empty where it is about none.
	Payment string
}

// Event checks the signature of a report, by the header Stripe-Signature over the body as it came, and reads it. ErrBadSignature where the
// signature is not the processor's, or was made more than five minutes ago.
func (c *Client) Event(body []byte, signature string) (Event, error) {
	e, err := webhook.ConstructEventWithOptions(body, signature, c.secret, webhook.ConstructEventOptions{IgnoreAPIVersionMismatch: true})
	if err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrBadSignature, err)
	}
	return read(e)
}

// Read reads a report whose signature was checked when it came.
func Read(body []byte) (Event, error) {
	var e processor.Event
	if err := json.Unmarshal(body, &e); err != nil {
		return Event{}, fmt.Errorf("read a report of the payment processor: %w", err)
	}
	return read(e)
}

func read(e processor.Event) (Event, error) {
	out := Event{ID: e.ID, Type: string(e.Type)}
	if out.ID == "" || out.Type == "" || e.Data == nil {
		return Event{}, fmt.Errorf("%w: it has no id, no type or no object", ErrBadSignature)
	}
	var object struct {
		// A payment is named by its id, or stands there as a whole.
		Payment json.RawMessage `json:"payment_intent"`
	}
	if err := json.Unmarshal(e.Data.Raw, &object); err != nil {
		return Event{}, fmt.Errorf("read the report %s: %w", e.ID, err)
	}
	var whole struct{ ID string }
	if json.Unmarshal(object.Payment, &out.Payment) != nil && json.Unmarshal(object.Payment, &whole) == nil {
		out.Payment = whole.ID
	}
	return out, nil
}

// State is how a payment stands.
type State struct {
	// Checkout is the processor's name of the checkout, Key the public id of the key that it was for. Both are empty where the payment is
	// none of ours, or was not made.
	Checkout, Key string
	// Paid is what was paid; Refunded is how much of it went back, Disputed how much the payer's bank has taken back.
	Paid, Refunded, Disputed accounts.Micros
}

// State asks the processor how a payment stands now.
func (c *Client) State(ctx context.Context, payment string) (State, error) {
	var out State
	for s, err := range c.api.V1CheckoutSessions.List(ctx, &processor.CheckoutSessionListParams{PaymentIntent: &payment}).All(ctx) {
		if err != nil {
			return State{}, fmt.Errorf("ask about the payment %s: %w", payment, fault(err))
		}
		if key := s.Metadata[metadataKey]; key != "" && s.PaymentStatus == processor.CheckoutSessionPaymentStatusPaid && s.Currency == processor.CurrencyUSD {
			out.Checkout, out.Key, out.Paid = s.ID, key, accounts.Micros(s.AmountTotal)*centMicros
			break
		}
	}
	if out.Checkout == "" {
		return State{}, nil
	}
	p := &processor.PaymentIntentRetrieveParams{}
	p.AddExpand("latest_charge")
	intent, err := c.api.V1PaymentIntents.Retrieve(ctx, payment, p)
	if err != nil {
		return State{}, fmt.Errorf("ask about the payment %s: %w", payment, fault(err))
	}
	if intent.LatestCharge != nil {
		out.Refunded = accounts.Micros(intent.LatestCharge.AmountRefunded) * centMicros
	}
	for d, err := range c.api.V1Disputes.List(ctx, &processor.DisputeListParams{PaymentIntent: &payment}).All(ctx) {
		if err != nil {
			return State{}, fmt.Errorf("ask about the disputes of %s: %w", payment, fault(err))
		}
		switch d.Status {
		case processor.DisputeStatusNeedsResponse, processor.DisputeStatusUnderReview, processor.DisputeStatusLost:
			out.Disputed += accounts.Micros(d.Amount) * centMicros
		}
	}
	return out, nil
}

// fault keeps of the processor's errors what may be shown and logged: they may quote the request.
func fault(err error) error {
	if e := (*processor.Error)(nil); errors.As(err, &e) {
		return fmt.Errorf("%w: %d %s %s", ErrUnavailable, e.HTTPStatusCode, e.Type, e.Code)
	}
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return fmt.Errorf("%w: %w", ErrUnavailable, e.Err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
