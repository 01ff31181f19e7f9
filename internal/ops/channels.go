package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/wneessen/go-mail"

	"tidemark/internal/postgres"
)

// Webhook posts messages as JSON to an address. Chat services show the member text.
type Webhook struct {
	URL string
	// Installation identifies the sender: its public address.
	Installation string
	// Transport may be nil, which means the default transport.
	Transport http.RoundTripper
}

// Send implements Channel. Every status from 200 to 299 means that the message arrived. Errors do not show the address, which may hold a
// secret.
func (h Webhook) Send(ctx context.Context, m postgres.AlertMessage) error {
	body, err := json.Marshal(struct {
		Text         string     `json:"text"`
		ID           int64      `json:"id"`
		State        string     `json:"state"`
		Kind         string     `json:"kind"`
		Subject      string     `json:"subject"`
		Severity     string     `json:"severity"`
		Detail       string     `json:"detail"`
		RaisedAt     time.Time  `json:"raised_at"`
		ResolvedAt   *time.Time `json:"resolved_at"`
		Installation string     `json:"installation"`
	}{title(m) + ". " + m.Text, m.ID, state(m), m.Kind, m.Subject, m.Severity, m.Text, m.RaisedAt.UTC(), resolvedAt(m), h.Installation})
	if err != nil {
		return fmt.Errorf("write the message: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("ALERT_WEBHOOK_URL is not a URL")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: h.Transport}).Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return fmt.Errorf("post to ALERT_WEBHOOK_URL: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // so that the connection can be reused
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("ALERT_WEBHOOK_URL answers with status %d", resp.StatusCode)
	}
	return nil
}

func resolvedAt(m postgres.AlertMessage) *time.Time {
	if !m.Resolved || m.ResolvedAt == nil {
		return nil
	}
	return new(m.ResolvedAt.UTC())
}

func state(m postgres.AlertMessage) string {
	if m.Resolved {
		return "resolved"
	}
	return "raised"
}

// title returns a one-line summary of a message: the alert, and whether it is resolved.
func title(m postgres.AlertMessage) string {
	name := m.Kind
	if m.Subject != "" {
		name += " " + m.Subject
	}
	if m.Resolved {
		return "Resolved: " + name
	}
	return "Alert: " + name
}

// Mail sends messages by e-mail.
type Mail struct {
	// Server is smtp://user:password@host:port or smtps://user:password@host:port. The default ports are 587 and 465. With smtp, the
	// connection uses TLS if the server supports it, and must use TLS if a password is given. With smtps, it uses TLS from the first byte.
	Server string
	From   string
	To     []string
	// Installation identifies the sender.
	Installation string
}

// NewMail checks the addresses and returns the channel.
func NewMail(m Mail) (*Mail, error) {
	if _, err := m.client(); err != nil {
		return nil, err
	}
	if _, err := m.message(postgres.AlertMessage{}); err != nil {
		return nil, err
	}
	return &m, nil
}

// Send implements Channel. A message that is sent twice has the same Message-ID.
func (m *Mail) Send(ctx context.Context, a postgres.AlertMessage) error {
	client, err := m.client()
	if err != nil {
		return err
	}
	msg, err := m.message(a)
	if err != nil {
		return err
	}
	if err := client.DialAndSendWithContext(ctx, msg); err != nil {
		return fmt.Errorf("send by ALERT_SMTP_URL: %w", err)
	}
	return nil
}

func (m *Mail) client() (*mail.Client, error) {
	wrong := errors.New("ALERT_SMTP_URL is not smtp://user:password@host:port or smtps://") // it may hold a password
	u, err := url.Parse(m.Server)
	if err != nil || u.Hostname() == "" {
		return nil, wrong
	}
	options := []mail.Option{mail.WithTimeout(sendTimeout)}
	password, hasPassword := u.User.Password()
	switch {
	case u.Scheme == "smtps":
		options = append(options, mail.WithSSLPort(false))
	case u.Scheme == "smtp" && hasPassword:
		options = append(options, mail.WithTLSPortPolicy(mail.TLSMandatory))
	case u.Scheme == "smtp":
		options = append(options, mail.WithTLSPortPolicy(mail.TLSOpportunistic))
	default:
		return nil, wrong
	}
	if p := u.Port(); p != "" {
		port, err := strconv.Atoi(p)
		if err != nil {
			return nil, wrong
		}
		options = append(options, mail.WithPort(port))
	}
	if hasPassword {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(u.User.Username()), mail.WithPassword(password))
	}
	client, err := mail.NewClient(u.Hostname(), options...)
	if err != nil {
		return nil, fmt.Errorf("ALERT_SMTP_URL: %w", err)
	}
	return client, nil
}

func (m *Mail) message(a postgres.AlertMessage) (*mail.Msg, error) {
	msg := mail.NewMsg()
	if err := msg.From(m.From); err != nil {
		return nil, fmt.Errorf("ALERT_MAIL_FROM: %w", err)
	}
	if err := msg.To(m.To...); err != nil {
		return nil, fmt.Errorf("ALERT_MAIL_TO: %w", err)
	}
	msg.Subject("[tidemark] " + title(a))
	msg.SetMessageIDWithValue(fmt.Sprintf("alert-%d-%s-%d@tidemark", a.ID, state(a), a.RaisedAt.UnixMicro()))
	when := a.RaisedAt
	if at := resolvedAt(a); at != nil {
		when = *at
	}
	msg.SetDateWithValue(when)
	msg.SetBodyString(mail.TypeTextPlain, fmt.Sprintf("%s\n\nRaised: %s\n%sInstallation: %s\n", a.Text, instant(a.RaisedAt), over(a), m.Installation))
	return msg, nil
}

func over(a postgres.AlertMessage) string {
	if at := resolvedAt(a); at != nil {
		return "Over: " + instant(*at) + "\n"
	}
	return ""
}
