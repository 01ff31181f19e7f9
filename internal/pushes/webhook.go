package pushes

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/publicnet"
)

const (
	// secretMark begins a secret, as Standard Webhooks names it.
	secretMark  = "whsec_"
	secretBytes = 32
	// maxURL is the maximum length of a webhook's address.
	maxURL = 2048
	// sendTimeout bounds a request with its response. readBytes is how much of a response is read.
	sendTimeout = 10 * time.Second
	readBytes   = 16 << 10
)

// The header fields of a message. Standard Webhooks defines the first three.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
	HeaderAttempt   = "Tidemark-Attempt"
)

// NewSecret returns a random secret for signatures.
func NewSecret() (string, error) {
	var b [secretBytes]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("draw the secret of a webhook: %w", err)
	}
	return secretMark + base64.StdEncoding.EncodeToString(b[:]), nil
}

// Sign returns the signature of a message (Standard Webhooks, version 1): HMAC-SHA256 over the id, the time in seconds and the body.
func Sign(secret, id string, at time.Time, body []byte) (string, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretMark))
	if err != nil {
		return "", errors.New("the secret of the webhook is damaged")
	}
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
	_, _ = mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}

// Message is one request to a webhook.
type Message struct {
	URL string
	// ID is the same for each attempt, so that the receiver recognises duplicates.
	ID      string
	Body    []byte
	Attempt int
	// Secrets sign the message. While a secret is being replaced, both sign.
	Secrets []string
}

// ErrTarget says that an address cannot be a webhook.
var ErrTarget = errors.New("not an address for a webhook")

// CheckTarget returns an error if a webhook cannot be at an address. The address must have https, port 443, or 1024 and above, a
// public host, and no user. For sandboxes, private allows http, any port and any host.
func CheckTarget(address string, private bool) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || len(address) > maxURL || u.Host == "" || u.Hostname() == "" || u.Opaque != "":
		return fmt.Errorf("%w: not a URL of at most %d characters", ErrTarget, maxURL)
	case u.Scheme != "https" && (u.Scheme != "http" || !private):
		return fmt.Errorf("%w: the URL must begin with https", ErrTarget)
	case u.User != nil:
		return fmt.Errorf("%w: the URL has a user", ErrTarget)
	case strings.Contains(address, "#"):
		return fmt.Errorf("%w: the URL has a fragment", ErrTarget)
	case strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("%w: the URL has characters that must be encoded", ErrTarget)
	}
	port := 443
	if p := u.Port(); p != "" {
		if port, err = strconv.Atoi(p); err != nil || port < 1 || port > 65535 {
			return fmt.Errorf("%w: %q is not a port", ErrTarget, p)
		}
	}
	if private {
		return nil
	}
	if port != 443 && port < 1024 {
		return fmt.Errorf("%w: port %d is not allowed: use 443, or 1024 and above", ErrTarget, port)
	}
	if err := publicnet.CheckHost(u.Hostname()); err != nil {
		return fmt.Errorf("%w: %w", ErrTarget, err)
	}
	return nil
}

// Sender sends messages to webhooks. It checks each address when it dials, after the name was resolved: only addresses of the public
// internet are connected to. It follows no redirect, uses no proxy, keeps no connection, and bounds the time and size of a response. It is
// safe for concurrent use.
type Sender struct {
	client  *http.Client
	private bool
	agent   string
	now     func() time.Time
}

// SenderOptions configure a Sender.
type SenderOptions struct {
	// Private allows http and private addresses, for sandboxes.
	Private bool
	// Agent is the User-Agent.
	Agent string
	// Now is the wall clock, for the time in signatures.
	Now func() time.Time
	// Timeout bounds a request with its response. Zero means 10 seconds.
	Timeout time.Duration
}

// NewSender returns a Sender.
func NewSender(o SenderOptions) *Sender {
	if o.Timeout == 0 {
		o.Timeout = sendTimeout
	}
	dialer := &net.Dialer{Timeout: o.Timeout, KeepAlive: -1}
	if !o.Private {
		dialer.Control = publicnet.Control
	}
	return &Sender{private: o.Private, agent: o.Agent, now: o.Now, client: &http.Client{
		Timeout:       o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: readBytes,
			TLSHandshakeTimeout: o.Timeout, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		},
	}}
}

// Outcome is how a request ended. Status is 0 if no response came; then Fault says why, in words that tell nothing of this machine.
type Outcome struct {
	Status int
	Fault  string
}

// Accepted reports whether the receiver has the message.
func (o Outcome) Accepted() bool { return o.Status >= 200 && o.Status < 300 }

// Gone reports whether the receiver wants no more messages.
func (o Outcome) Gone() bool { return o.Status == http.StatusGone }

// Send sends a message. The error is only for messages that cannot be sent at all, and for the end of ctx; everything else is an outcome.
func (s *Sender) Send(ctx context.Context, m Message) (Outcome, error) {
	if err := CheckTarget(m.URL, s.private); err != nil {
		return Outcome{Fault: "the address is not allowed"}, nil //nolint:nilerr // the settings may have changed since the rule was made
	}
	return s.send(ctx, m)
}

// send sends to an address that was checked as it is written.
func (s *Sender) send(ctx context.Context, m Message) (Outcome, error) {
	at := s.now()
	var signatures []string
	for _, secret := range m.Secrets {
		signature, err := Sign(secret, m.ID, at, m.Body)
		if err != nil {
			return Outcome{}, err
		}
		signatures = append(signatures, signature)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return Outcome{}, fmt.Errorf("make a webhook's request: %w", err)
	}
	h := r.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", s.agent)
	h.Set(HeaderID, m.ID)
	h.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(HeaderSignature, strings.Join(signatures, " "))
	h.Set(HeaderAttempt, strconv.Itoa(m.Attempt))
	resp, err := s.client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return Outcome{}, fmt.Errorf("send to a webhook: %w", context.Cause(ctx))
		}
		return Outcome{Fault: fault(err)}, nil
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, readBytes)
	return Outcome{Status: resp.StatusCode}, nil
}

// fault returns why no response came. Its words must not help to explore a network: the holder of the key reads them.
func fault(err error) string {
	var timeout interface{ Timeout() bool }
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(err, publicnet.ErrNotPublic), errors.As(err, &dns): // not told apart: names of a private network stay private
		return "the host has no address in the public internet"
	case errors.As(err, &cert):
		return "the certificate is not valid for the host"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no response in time"
	}
	return "no connection, or no response"
}

// TypeTest is the type of a message that an owner asks for as a test.
const TypeTest = "test"

// Notice is the body of a message, in the form of Standard Webhooks.
type Notice struct {
	// Type is "signal", "pick", "event", "forecast" or "test".
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	// Alert is the id of the rule.
	Alert string `json:"alert_id"`
	// Data is the change, nil for a test.
	Data *Change `json:"data"`
}

// NewNotice returns the body of the message about a change.
func NewNotice(alert string, c Change) ([]byte, error) {
	kind, _, _ := strings.Cut(c.Topic, ":")
	return encode(Notice{Type: kind, Timestamp: c.At, Alert: alert, Data: &c})
}

// NewTest returns the body of a test message.
func NewTest(alert string, at time.Time) ([]byte, error) {
	return encode(Notice{Type: TypeTest, Timestamp: at.UTC(), Alert: alert})
}

func encode(n Notice) ([]byte, error) {
	b, err := json.Marshal(n)
	if err != nil {
		return nil, fmt.Errorf("write a webhook's message: %w", err)
	}
	return b, nil
}
