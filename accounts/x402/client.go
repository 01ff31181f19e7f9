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

// ErrUnavailable: the facilitator was not reached, or sent no readable response. Nothing was settled. If that is uncertain, Settle returns
// OutcomeUnknown instead.
var ErrUnavailable = errors.New("the payment facilitator is not available")

// Options configure a Client.
type Options struct {
	// URL is the facilitator's base address. It may have a path.
	URL string
	// Auth is the value of the header Authorization. To set another header, begin it with the header's name and a colon. Empty means no
	// such header.
	Auth string
	// Authorize, if set, completes every request. It is for short-lived credentials.
	Authorize func(*http.Request) error
	// Transport sends the requests. Nil means http.DefaultTransport, which honours the proxy settings.
	Transport http.RoundTripper
	// VerifyTimeout bounds a request to verify a payment, SettleTimeout a settlement with all its tries. Zero means 10 and 90 seconds. A
	// settlement takes as long as a block, and an earlier timeout leaves its outcome unknown.
	VerifyTimeout, SettleTimeout time.Duration
	// Now is the wall clock.
	Now func() time.Time
}

// Client calls one facilitator. It is safe for concurrent use.
type Client struct {
	o       Options
	base    *url.URL
	auth    [2]string
	http    *http.Client
	breaker breaker

	mu     sync.Mutex
	health Health
}

// Health is the facilitator's state, for the operator.
type Health struct {
	// Open reports whether the breaker currently blocks calls, because too many failed in a row.
	Open bool
	// Verified, Refused and Settled count the facilitator's responses. Failed counts the calls without one.
	Verified, Refused, Settled, Failed int64
	// LastAnswer and LastFailure are the times of the last response and the last failure, zero for never. Failure is the error of the last
	// failure.
	LastAnswer, LastFailure time.Time
	Failure                 string
}

var headerName = regexp.MustCompile(`^([A-Za-z0-9-]+):\s*(.+)$`)

// NewClient validates the options. It does not connect.
func NewClient(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("X402_FACILITATOR_URL: it is not an HTTP URL")
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
		// A redirected POST would become a GET, or send the credentials to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// URL returns the facilitator's address without any secrets.
func (c *Client) URL() string {
	u := *c.base
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// SettleTimeout returns the longest time that Settle takes, with all its tries.
func (c *Client) SettleTimeout() time.Duration { return c.o.SettleTimeout }

// Health returns the current state of the facilitator.
func (c *Client) Health() Health {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.health
	h.Open = c.breaker.open()
	return h
}

// available returns an *UnavailableError while the breaker blocks calls, and nil otherwise.
func (c *Client) available() error {
	if ok, after := c.breaker.allow(); !ok {
		return &UnavailableError{After: after, Cause: errors.New("it failed several times in a row and is left alone for a while")}
	}
	return nil
}

// UnavailableError is an ErrUnavailable with a time to retry.
type UnavailableError struct {
	After time.Duration
	Cause error
}

func (e *UnavailableError) Error() string   { return ErrUnavailable.Error() + ": " + e.Cause.Error() }
func (e *UnavailableError) Unwrap() []error { return []error{ErrUnavailable, e.Cause} }

// call is the request body of verify and settle. The requirements are ours, never the copy that the client sent.
type call struct {
	Version      int             `json:"x402Version"`
	Payment      json.RawMessage `json:"paymentPayload"`
	Requirements json.RawMessage `json:"paymentRequirements"`
}

// Verify asks the facilitator whether a payment for an offer would settle. The error is a *Refusal if it would not, and ErrUnavailable if
// the facilitator gave no result. Verify moves no money, so an interrupted call is retried once.
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

// retryAfter is the suggested delay before a retry when the facilitator did not respond.
const retryAfter = 5 * time.Second

// Outcome is how a settlement ended, as far as the facilitator's response shows.
type Outcome int

const (
	// OutcomeUnknown: the payment may have settled, or may still settle. Only the chain knows.
	OutcomeUnknown Outcome = iota
	// Settled: the payment was settled.
	Settled
	// Refused: the facilitator states that it did not settle the payment and will not try.
	Refused
	// OutcomeNotSent: the facilitator was not reached, so it did not receive the payment.
	OutcomeNotSent
)

// Settlement is the result of Settle.
type Settlement struct {
	Outcome Outcome
	// Transaction is the transaction hash, if the facilitator named one.
	Transaction string
	// Reason is the facilitator's reason for Refused, and otherwise why the outcome is unknown. It is empty for Settled.
	Reason string
}

// reasonPending is the facilitator's reason for a transaction that it sent but has not seen confirmed.
const reasonPending = "settlement_pending"

var transactionForm = regexp.MustCompile(`^0x[0-9a-fA-F]{64}$`)

// Settle asks the facilitator to settle the payment. It retries only if no connection was made. A duplicate does no harm: the chain accepts
// an authorization only once. Settle ignores the breaker, because the payment was verified a moment ago.
func (c *Client) Settle(ctx context.Context, p Payment, o Offer) Settlement {
	var v struct {
		Success     *bool  `json:"success"`
		Reason      string `json:"errorReason"`
		Transaction string `json:"transaction"`
	}
	body := encode(call{p.Version, p.Raw, o.Requirements(p.Version)})
	var err error
	var sent bool
	tries, cancel := context.WithTimeout(ctx, c.o.SettleTimeout)
	defer cancel()
	for range 3 {
		sent, err = c.ask(tries, c.o.SettleTimeout, http.MethodPost, "settle", body, &v, func() bool { return v.Success != nil })
		if err == nil || sent || tries.Err() != nil {
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

// Kind is one payment kind that a facilitator settles.
type Kind struct {
	Version int    `json:"x402Version"`
	Scheme  string `json:"scheme"`
	Network string `json:"network"`
}

// Supported queries which versions of the protocol the facilitator settles for a seller.
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

// maxAnswer bounds the size of a facilitator response, in bytes.
const maxAnswer = 1 << 20

// ask makes one request and decodes the response into v. understood reports whether the decoded body is a valid response. If it is, the
// HTTP status is ignored, because facilitators differ in it. sent reports whether the facilitator may have received the request.
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

// statusError is a response without a readable body.
type statusError struct{ status int }

func (e *statusError) Error() string {
	return fmt.Sprintf("it answered %d %s without a body that can be read", e.status, http.StatusText(e.status))
}

// malformed reports whether an error shows that the facilitator is unhealthy. A server error caused by a client's payment does not count:
// otherwise any client could open the breaker.
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

// redact removes the URL from an error: a facilitator's URL may contain a key.
func redact(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// reportOf is report for a call about a payment. A payment that is not proven may have been built to make the facilitator fail. Then the
// facilitator only counts as unhealthy if it is unreachable or reports itself unavailable.
func (c *Client) reportOf(ctx context.Context, p Payment, err error, count func(*Health)) {
	if !p.Proven && err != nil && !unavailable(err) {
		c.fail(ctx, err)
		return
	}
	c.report(ctx, err, count)
}

// unavailable reports whether an error cannot have been caused by the contents of a request.
func unavailable(err error) bool {
	if _, ok := errors.AsType[*statusError](err); ok {
		return malformed(err)
	}
	dial, ok := errors.AsType[*net.OpError](err)
	return ok && dial.Op == "dial"
}

// fail records a failure that shows nothing about the facilitator's health.
func (c *Client) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health.Failed++
	c.health.LastFailure, c.health.Failure = c.o.Now(), err.Error()
}

// report updates the health and the breaker. It ignores calls that our own caller cancelled.
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

// plain makes a foreign text safe for a header and a log: short, printable ASCII.
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
