package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"tidemark/accounts/x402"
)

// errReceipt ends the verification of a receipt that found a fault, after the report has described it.
var errReceipt = errors.New("the receipt does not hold")

// receiptOutcome is the outcome of a receipt as JSON.
type receiptOutcome struct {
	Verdict string         `json:"verdict"`
	Receipt x402.Delivery  `json:"receipt"`
	KeyID   string         `json:"key_id"`
	Checks  []x402.Finding `json:"checks"`
}

// verifyReceipt checks a receipt of a payment by request, with the keys of a file, or else of the seller's host.
func (c verifyCommand) verifyReceipt(ctx context.Context, p *program) error {
	text, err := os.ReadFile(c.Receipt)
	if err != nil {
		return usageError{fmt.Errorf("--receipt: %w", err)}
	}
	r, err := x402.ReadReceipt(text)
	if err != nil {
		return usageError{fmt.Errorf("not checked: %s: %w", c.Receipt, err)}
	}
	want := x402.Expected{Transaction: c.Transaction}
	if c.Content != "" {
		if want.Content, err = os.ReadFile(c.Content); err != nil {
			return usageError{fmt.Errorf("--content: %w", err)}
		}
		if want.Content == nil {
			want.Content = []byte{}
		}
	}
	keys, err := c.receiptKeys(ctx, r)
	if err != nil {
		return err
	}
	out := receiptOutcome{Verdict: "holds", Receipt: r.Delivery, KeyID: r.KeyID, Checks: r.Check(keys, want)}
	for _, f := range out.Checks {
		if f.Fault != "" {
			out.Verdict = "contradicted"
			err = errReceipt
		}
	}
	if c.JSON {
		return errors.Join(printJSON(p.stdout, out), err)
	}
	return errors.Join(c.printReceipt(p.stdout, out), err)
}

func (c verifyCommand) printReceipt(out io.Writer, o receiptOutcome) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, f := range o.Checks {
		status, detail := "ok", f.Detail
		if f.Fault != "" {
			status, detail = "MISMATCH", f.Fault
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", status, f.Name, printable(detail))
	}
	if c.Content == "" {
		_, _ = fmt.Fprintf(w, "not checked\tcontent\tsha256 %s: --content FILE compares the answer that you kept\n", printable(o.Receipt.ContentSHA256))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	d := o.Receipt
	_, err := fmt.Fprintf(out, "%s: %s paid %s for %s, which was answered at %s\n", o.Verdict, printable(d.Payer), printable(d.Transaction),
		printable(d.ResourceURL), time.Unix(d.IssuedAt, 0).UTC().Format(time.RFC3339))
	return err
}

// receiptKeys are the keys of the seller: of the DID document in a file, or else of the host that the receipt names.
func (c verifyCommand) receiptKeys(ctx context.Context, r *x402.SignedReceipt) (map[string]ed25519.PublicKey, error) {
	if c.Keys != "" {
		text, err := os.ReadFile(c.Keys)
		if err != nil {
			return nil, usageError{fmt.Errorf("--keys: %w", err)}
		}
		keys, err := x402.ReadDIDKeys(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("--keys: %s: %w", c.Keys, err)}
		}
		return keys, nil
	}
	at := strings.TrimRight(c.URL, "/")
	if at == "" {
		u, err := url.Parse(r.Delivery.ResourceURL)
		if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
			return nil, usageError{fmt.Errorf("not checked: the keys of %q cannot be had over https: --keys names a file with them", r.Delivery.ResourceURL)}
		}
		at = u.Scheme + "://" + u.Host
	}
	text, err := download(ctx, at+x402.DIDPath)
	if err != nil {
		return nil, fmt.Errorf("not checked: the seller's keys: %w (--keys names a file that has them)", err)
	}
	keys, err := x402.ReadDIDKeys(text)
	if err != nil {
		return nil, fmt.Errorf("not checked: %s: %w", at+x402.DIDPath, err)
	}
	return keys, nil
}

// loopback reports whether a host is this machine, where a sandbox answers without https.
func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// download reads a small document. It follows no redirect, because only the named host says which keys are its own.
func download(ctx context.Context, address string) ([]byte, error) {
	const most, longest = 1 << 20, 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", address, resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, most))
}
