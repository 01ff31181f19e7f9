// Package stripe is the client of the payment processor. It opens checkouts that top up a key's balance, reads the processor's webhook
// events, and queries the state of a payment. It knows keys only by their public ids, and no balances. Start at Client.
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

// Name is the processor's name in stored records.
const Name = "stripe"

// PublicURL is the base URL of the processor's API.
const PublicURL = "https://api.stripe.com"

// centMicros is one cent. The processor counts US dollars in cents.
const centMicros = accounts.PerDollar / 100

// metadataKey is the metadata field of a checkout that contains the key's public id.
const metadataKey = "tidemark_key"

var (
	// ErrBadSignature: the event is not signed by the processor, or its signature is too old.
	ErrBadSignature = errors.New("the report is not signed by the payment processor, or too long ago")
	// ErrUnavailable: the processor sent no usable response.
	ErrUnavailable = errors.New("the payment processor does not answer")
)

// Options are a client's settings.
type Options struct {
	// SecretKey authenticates requests to the processor's API. WebhookSecret verifies the signatures of its events.
	SecretKey, WebhookSecret string
	// URL is the base URL of the API. Empty means PublicURL.
	URL string
	// HTTP makes the requests. Nil means a client with a timeout of 20 seconds.
	HTTP *http.Client
}

// Client calls the processor's API. It is safe for concurrent use.
type Client struct {
	api    *processor.Client
	secret string
}

// New returns a client. It does not connect.
func New(o Options) (*Client, error) {
	if o.SecretKey == "" || o.WebhookSecret == "" {
		return nil, errors.New("both STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET must be set")
	}
	if o.URL == "" {
		o.URL = PublicURL
	}
	if u, err := url.Parse(o.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("STRIPE_API_URL: %q is not an HTTP URL", o.URL)
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
	// DoneURL and CancelURL are where the processor returns the browser.
	DoneURL, CancelURL string
	// Once is the idempotency key: a repeated order with the same value is the same order.
	Once string
}

// Checkout opens a checkout and returns the URL where the holder pays.
func (c *Client) Checkout(ctx context.Context, o Order) (string, error) {
	if o.Amount%centMicros != 0 || o.Amount <= 0 {
		return "", fmt.Errorf("open a checkout: %s USD is not a number of cents", o.Amount)
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

// Event is a webhook event of the processor.
type Event struct {
	ID, Type string
	// Payment is the id of the payment that the event is about. It is empty if the event is not about a payment.
	Payment string
}

// Event verifies the signature of a webhook event and parses the event. signature is the header Stripe-Signature, body the body exactly as
// received. The error is ErrBadSignature if the signature is not the processor's or is more than five minutes old.
func (c *Client) Event(body []byte, signature string) (Event, error) {
	e, err := webhook.ConstructEventWithOptions(body, signature, c.secret, webhook.ConstructEventOptions{IgnoreAPIVersionMismatch: true})
	if err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrBadSignature, err)
	}
	return read(e)
}

// Read parses an event whose signature was verified on arrival.
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
		// A payment is either its id or the whole object.
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

// State is the current state of a payment.
type State struct {
	// Checkout is the processor's id of the checkout, Key the public id of the key that it was for. Both are empty if the payment is not
	// for this service, or was not made.
	Checkout, Key string
	// Paid is the amount paid, Refunded the part that was returned, and Disputed the part that the payer's bank took back.
	Paid, Refunded, Disputed accounts.Micros
}

// State queries the current state of a payment.
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

// fault returns the part of a processor error that may be shown and logged. The whole error may quote the request.
func fault(err error) error {
	if e := (*processor.Error)(nil); errors.As(err, &e) {
		return fmt.Errorf("%w: %d %s %s", ErrUnavailable, e.HTTPStatusCode, e.Type, e.Code)
	}
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return fmt.Errorf("%w: %w", ErrUnavailable, e.Err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
