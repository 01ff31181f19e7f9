package x402

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrUnavailable: the facilitator was not reached, or gave no answer that can be read. Nothing was settled: where that is not known,
// Settle says Unclear instead.
var ErrUnavailable = errors.New("the payment facilitator is not available")

// Options are what a Client needs.
type Options struct {
	// URL is the facilitator's base address. It may have a path.
	URL string
	// Auth is sent as the header Authorization, or as another one where it begins with that one's name and a colon. Empty: none.
	Auth string
	// Authorize, where given, completes every request: it is for credentials that live shortly.
	Authorize func(*http.Request) error
	// Transport carries the requests; nil means that of package http, which honours the proxy settings.
	Transport http.RoundTripper
	// VerifyTimeout and SettleTimeout bound a call. Zero means 10 and 90 seconds: a settlement takes as long as a block, and giving up
	// earlier leaves a payment unclear.
	VerifyTimeout, SettleTimeout time.Duration
	// Now is the wall clock.
	Now func() time.Time
}

// Client asks one facilitator. It is safe for concurrent use.
type Client struct {
	o       Options
	base    *url.URL
	auth    [2]string
	http    *http.Client
	breaker breaker

	mu     sync.Mutex
	health Health
}

// Health is what an operator wants to know of the facilitator.
type Health struct {
	// Open tells that calls are not made at present, because too many failed in a row.
	Open bool
	// Verified, Refused and Settled count its answers; Failed counts the calls that had none.
	Verified, Refused, Settled, Failed int64
	// LastAnswer and LastFailure are when it answered and failed to last; zero for never. Failure says how it failed.
	LastAnswer, LastFailure time.Time
	Failure                 string
}

var headerName = regexp.MustCompile(`^([A-Za-z0-9-]+):\s*(.+)$`)

// NewClient checks the options. It connects to nothing.
func NewClient(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("X402_FACILITATOR_URL: it is no http or https URL")
	}
	if o.VerifyTimeout == 0 {
		o.VerifyTimeout = 10 * time.Second
	}
	if o.SettleTimeout == 0 {
		o.SettleTimeout = 90 * time.Second
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	c := &Client{o: o, base: u, auth: [2]string{"Authorization", o.Auth}, breaker: breaker{now: o.Now}}
	if m := headerName.FindStringSubmatch(o.Auth); m != nil {
		c.auth = [2]string{m[1], m[2]}
	}
	c.http = &http.Client{
		Transport: o.Transport,
		// A redirected POST would become a GET, or show the credentials elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// URL is the facilitator's address without what may be secret in it.
func (c *Client) URL() string {
	u := *c.base
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// SettleTimeout is the longest time that Settle takes.
func (c *Client) SettleTimeout() time.Duration { return c.o.SettleTimeout }

// Health tells how the facilitator does.
func (c *Client) Health() Health {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.health
	h.Open = c.breaker.open()
	return h
}

// available is nil, or an Away while calls are not made at all.
func (c *Client) available() error {
	if ok, after := c.breaker.allow(); !ok {
		return &UnavailableError{After: after, Cause: errors.New("it failed several times in a row and is left alone for a while")}
	}
	return nil
}

// UnavailableError is an ErrUnavailable that says when to try again.
type UnavailableError struct {
	After time.Duration
	Cause error
}

func (e *UnavailableError) Error() string   { return ErrUnavailable.Error() + ": " + e.Cause.Error() }
func (e *UnavailableError) Unwrap() []error { return []error{ErrUnavailable, e.Cause} }

// call is the body of both questions. The requirements are ours, never those that the client repeated.
type call struct {
	Version      int             `json:"x402Version"`
	Payment      json.RawMessage `json:"paymentPayload"`
	Requirements json.RawMessage `json:"paymentRequirements"`
}

// Verify asks whether a payment for an offer would settle. The error is a *Refusal when it would not, and ErrUnavailable when that
// could not be learned. Nothing moves, so a call that was cut off is made once more.
func (c *Client) Verify(ctx context.Context, p Payment, o Offer) error {
	if err := c.available(); err != nil {
		return err
	}
	var v struct {
		IsValid *bool  `json:"isValid"`
		Payer   string `json:"payer"`
		Reason  string `json:"invalidReason"`
		Message string `json:"invalidMessage"`
	}
	body := encode(call{p.Version, p.Raw, o.Requirements(p.Version)})
	var err error
	for range 2 {
		var sent bool
		sent, err = c.ask(ctx, c.o.VerifyTimeout, http.MethodPost, "verify", body, &v, func() bool { return v.IsValid != nil })
		if err == nil || sent && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || ctx.Err() != nil {
			break
		}
	}
	c.reportOf(ctx, p, err, func(h *Health) {
		if *v.IsValid {
			h.Verified++
		} else {
			h.Refused++
		}
	})
	switch {
	case err != nil:
		return &UnavailableError{After: retryAfter, Cause: err}
	case !*v.IsValid:
		if v.Reason == "" {
			v.Reason = ReasonPayload
		}
		return &Refusal{Reason: plain(v.Reason), Detail: plain(v.Message)}
	case v.Payer != "" && !strings.EqualFold(v.Payer, p.Authorization.From):
		return &Refusal{Reason: ReasonPayload, Detail: "the facilitator found another payer than the payment names"}
	}
	return nil
}

// retryAfter is what a caller is told when the facilitator did not answer.
const retryAfter = 5 * time.Second

// Outcome is how a settlement ended, as far as the facilitator's answer tells.
type Outcome int

const (
	// OutcomeUnknown: the payment may have been taken, or may be taken yet. Only the chain knows.
	OutcomeUnknown Outcome = iota
	// Settled: the payment was taken.
	Settled
	// Refused: the facilitator says that it did not take the payment and does not try to.
	Refused
	// OutcomeNotSent: the facilitator was not reached, so that it knows nothing of the payment.
	OutcomeNotSent
)

// Settlement is the answer to Settle.
type Settlement struct {
	Outcome Outcome
	// Transaction is the hash of the transaction, where one was named.
	Transaction string
	// Reason is the facilitator's reason for Refused, and what is unclear otherwise. It is empty for Settled.
	Reason string
}

// reasonPending is the reason with which a facilitator says that it has sent the transaction and not seen it confirmed.
const reasonPending = "settlement_pending"

var transactionForm = regexp.MustCompile(`^0x[0-9a-fA-F]{64}$`)

// Settle asks the facilitator to take the payment. It is asked once: only while no connection was made is the call tried again, and
// the chain takes an authorization one time only whoever asks. It does not look at the breaker, because the payment was verified a
// moment ago.
func (c *Client) Settle(ctx context.Context, p Payment, o Offer) Settlement {
	var v struct {
		Success     *bool  `json:"success"`
		Reason      string `json:"errorReason"`
		Transaction string `json:"transaction"`
	}
	body := encode(call{p.Version, p.Raw, o.Requirements(p.Version)})
	var err error
	var sent bool
	for range 3 {
		sent, err = c.ask(ctx, c.o.SettleTimeout, http.MethodPost, "settle", body, &v, func() bool { return v.Success != nil })
		if err == nil || sent || ctx.Err() != nil {
			break
		}
	}
	c.reportOf(ctx, p, err, func(h *Health) {
		if *v.Success {
			h.Settled++
		}
	})
	named := transactionForm.MatchString(v.Transaction)
	if !named {
		v.Transaction = ""
	}
	s := Settlement{Transaction: strings.ToLower(v.Transaction), Reason: plain(v.Reason)}
	switch {
	case err != nil && !sent:
		s.Outcome, s.Reason = OutcomeNotSent, "the facilitator was not reached"
	case err != nil:
		s.Outcome, s.Reason = OutcomeUnknown, "the facilitator's answer was lost"
	case *v.Success && named:
		s.Outcome, s.Reason = Settled, ""
	case *v.Success:
		s.Outcome, s.Reason = OutcomeUnknown, "the facilitator names no transaction"
	case v.Reason == reasonPending || named:
		s.Outcome = OutcomeUnknown
	default:
		s.Outcome = Refused
	}
	return s
}

// Kind is one way of paying that a facilitator settles.
type Kind struct {
	Version int    `json:"x402Version"`
	Scheme  string `json:"scheme"`
	Network string `json:"network"`
}

// Supported asks which versions of the protocol the facilitator settles for a seller.
func (c *Client) Supported(ctx context.Context, s Seller) ([]int, error) {
	var v struct {
		Kinds *[]Kind `json:"kinds"`
	}
	_, err := c.ask(ctx, c.o.VerifyTimeout, http.MethodGet, "supported", nil, &v, func() bool { return v.Kinds != nil })
	c.report(ctx, err, func(*Health) {})
	if err != nil {
		return nil, &UnavailableError{After: retryAfter, Cause: err}
	}
	versions := []int{}
	for _, version := range []int{V1, V2} {
		if slices.ContainsFunc(*v.Kinds, func(k Kind) bool {
			return k.Version == version && k.Scheme == scheme && k.Network == s.Network.Named(version)
		}) {
			versions = append(versions, version)
		}
	}
	return versions, nil
}

// maxAnswer bounds an answer of the facilitator.
const maxAnswer = 1 << 20

// ask asks one question and reads the answer into v. The status does not count when the body is an answer, which understood tells:
// facilitators differ in it. sent tells whether the question may have reached the facilitator.
func (c *Client) ask(ctx context.Context, limit time.Duration, method, path string, body []byte, v any, understood func() bool) (sent bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, c.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.auth[1] != "" {
		r.Header.Set(c.auth[0], c.auth[1])
	}
	if c.o.Authorize != nil {
		if err := c.o.Authorize(r); err != nil {
			return false, fmt.Errorf("credentials for it: %w", err)
		}
	}
	resp, err := c.http.Do(r)
	if err != nil {
		dial, ok := errors.AsType[*net.OpError](err)
		return !ok || dial.Op != "dial", redact(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return true, redact(err)
	}
	if json.Unmarshal(answer, v) != nil || !understood() {
		return true, &statusError{resp.StatusCode}
	}
	return true, nil
}

// statusError is an answer without a body that can be read.
type statusError struct{ status int }

func (e *statusError) Error() string {
	return fmt.Sprintf("it answered %d %s without a body that can be read", e.status, http.StatusText(e.status))
}

// malformed tells whether an error speaks of the facilitator's health. One that stumbles over what a client sent is not ill, or any client
// could open the breaker.
func malformed(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	if !ok {
		return err != nil
	}
	switch e.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// redact takes the address out of an error: a facilitator's may hold a key.
func redact(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// reportOf is report for a question about a payment. Whose key did not sign it, may have made it to break the facilitator's answer: then
// only a facilitator that was not reached, or calls itself unavailable, is ill.
func (c *Client) reportOf(ctx context.Context, p Payment, err error, count func(*Health)) {
	if !p.Proven && err != nil && !unavailable(err) {
		c.fail(ctx, err)
		return
	}
	c.report(ctx, err, count)
}

// unavailable tells whether nothing that a client sent can be the cause of an error.
func unavailable(err error) bool {
	if _, ok := errors.AsType[*statusError](err); ok {
		return malformed(err)
	}
	dial, ok := errors.AsType[*net.OpError](err)
	return ok && dial.Op == "dial"
}

// fail takes note of a failure that says nothing about the facilitator.
func (c *Client) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health.Failed++
	c.health.LastFailure, c.health.Failure = c.o.Now(), err.Error()
}

// report keeps the health and the breaker up to date. A call that our own caller gave up says nothing.
func (c *Client) report(ctx context.Context, err error, count func(*Health)) {
	if err != nil && ctx.Err() != nil {
		return
	}
	c.breaker.report(!malformed(err))
	if err != nil {
		c.fail(ctx, err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health.LastAnswer = c.o.Now()
	count(&c.health)
}

// plain makes a foreign text fit for a header and a log: short, printable ASCII.
func plain(s string) string {
	const longest = 200
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	return s[:min(len(s), longest)]
}
