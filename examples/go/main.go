// Command go is a tour of the service with the standard library: signals, the hash chain recomputed, a free key, picks. It has no
// dependencies on purpose: copy it into your own module.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
)

func main() {
	base := "http://127.0.0.1:8080"
	if len(os.Args) > 1 {
		base = os.Args[1]
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := (client{base: base}).tour(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// client asks one server. Its key may be empty.
type client struct{ base, key string }

// problem is the server's response to a request that it rejects.
type problem struct{ Code, Detail string }

func (p *problem) Error() string { return p.Code + ": " + p.Detail }

// call sends a request and reads the answer into a value; both bodies may be nil.
func (c client) call(ctx context.Context, method, path string, body, into any) error {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= 400 {
		p := &problem{Code: resp.Status}
		_ = json.NewDecoder(resp.Body).Decode(p) // else the status says it
		return fmt.Errorf("%s %s: %w", method, path, p)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// record has the members that recomputing the chain needs.
type record struct {
	HeadHash string `json:"head_hash"`
	Picks    []struct {
		Seq          int64
		Ticker       string
		Price        string
		Date         string
		PreviousHash string `json:"previous_hash"`
		Hash         string
	}
}

// verify recomputes every link, from the values that were hashed alone.
func (r record) verify() error {
	previous := strings.Repeat("0", 64)
	for _, p := range r.Picks {
		sum := sha256.Sum256([]byte(strings.Join([]string{p.Ticker, p.Price, p.Date, previous}, "|")))
		if p.PreviousHash != previous || p.Hash != hex.EncodeToString(sum[:]) {
			return fmt.Errorf("the chain is broken at pick %d", p.Seq)
		}
		previous = p.Hash
	}
	if previous != r.HeadHash {
		return errors.New("the head of the chain is another one than the server says")
	}
	return nil
}

func (c client) tour(ctx context.Context, out io.Writer) error {
	var catalog struct {
		Signals []struct {
			ID, Unit string
			Value    *float64
		}
	}
	if err := c.call(ctx, http.MethodGet, "/api/signals", nil, &catalog); err != nil {
		return err
	}
	for _, s := range catalog.Signals {
		if s.Value != nil {
			_, _ = fmt.Fprintf(out, "%s: %.6g %s\n", s.ID, *s.Value, s.Unit)
		}
	}

	var r record
	if err := c.call(ctx, http.MethodGet, "/api/v1/verify/picks", nil, &r); err != nil {
		return err
	}
	if err := r.verify(); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "%d picks recomputed, the chain holds\n", len(r.Picks))

	var registered struct {
		Data struct {
			APIKey string `json:"api_key"`
		}
	}
	if err := c.call(ctx, http.MethodPost, "/api/v1/auth/register", map[string]string{"name": "go tour"}, &registered); err != nil {
		return err
	}
	c.key = registered.Data.APIKey
	var list struct {
		Data []struct {
			Date, Ticker, Price string
			ReturnPct           *float64 `json:"return_pct"`
		}
	}
	if err := c.call(ctx, http.MethodGet, "/api/v1/picks?limit=3", nil, &list); err != nil {
		return err
	}
	for _, p := range list.Data {
		if p.ReturnPct != nil {
			_, _ = fmt.Fprintf(out, "%s %s at %s: %+.2f %%\n", p.Date, p.Ticker, p.Price, *p.ReturnPct)
		}
	}
	var refused *problem
	if err := c.call(ctx, http.MethodGet, "/api/v1/research/NOSUCH", nil, nil); !errors.As(err, &refused) || refused.Code != "unknown_ticker" {
		return fmt.Errorf("research about an unknown company: %w", err)
	}
	return c.call(ctx, http.MethodDelete, "/api/v1/keys/current", nil, nil)
}
