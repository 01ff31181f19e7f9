package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"text/tabwriter"

	"tidemark/chain"
	"tidemark/chain/audit"
	"tidemark/internal/config"
)

type verifyCommand struct {
	config.Address

	URL        string   `help:"The server. Default: PUBLIC_URL, or else ADDR." placeholder:"URL"`
	Ledger     string   `help:"The git ledger to compare with, a folder or an address. Default: the one that the server names." placeholder:"REPO"`
	Signers    string   `help:"A file of allowed signers: every commit of the ledger must carry a good signature of one of them." placeholder:"FILE"`
	RPC        []string `name:"rpc" help:"A node of the chain with the attestations, one that you trust; may be given again. Default: a server on this machine names its own." placeholder:"URL"`
	Attester   string   `help:"The account that must have attested, as you know it from elsewhere." placeholder:"ADDRESS"`
	Checkpoint string   `help:"What you know of the chain from an earlier day: its length and the hash that it ended in, as LENGTH:HASH." placeholder:"LENGTH:HASH"`
	JSON       bool     `name:"json" help:"Print the report as JSON."`
}

// errNotVerified ends a verification that found something wrong, after the report said what.
var errNotVerified = errors.New("the record is not verified")

// Run audits a server and prints one line a check. A mismatch is an error.
func (c verifyCommand) Run(ctx context.Context, p *program) error {
	o := audit.Options{
		URL: c.URL, Ledger: c.Ledger, Signers: c.Signers, RPC: c.RPC, Attester: c.Attester, Now: p.now(), Environ: config.Environ(),
		Transport: http.DefaultTransport,
	}
	if o.URL == "" {
		o.URL = p.settings.BaseURL()
	}
	var err error
	if o.Checkpoint, err = parseCheckpoint(c.Checkpoint); err != nil {
		return usageError{err}
	}
	r, err := audit.Run(ctx, o)
	if err != nil {
		return fmt.Errorf("verify %s: %w", o.URL, err)
	}
	if err := c.print(p.stdout, r); err != nil {
		return err
	}
	if !r.Verified {
		return errNotVerified
	}
	return nil
}

func (c verifyCommand) print(out io.Writer, r *audit.Report) error {
	if c.JSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(r)
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, check := range r.Checks {
		status := string(check.Status)
		if check.Status == audit.Mismatch {
			status = strings.ToUpper(status)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", status, check.Name, printable(check.Detail))
	}
	if err := w.Flush(); err != nil || !r.Verified {
		return err
	}
	_, err := fmt.Fprintf(out, "\nVerified: %d picks of %s (%s).\n", r.Length, r.URL, printable(r.Environment))
	return err
}

// printable takes out of a line what a terminal could take for an order: a server has a say in it.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// parseCheckpoint reads LENGTH:HASH. Empty is no checkpoint.
func parseCheckpoint(s string) (chain.Checkpoint, error) {
	if s == "" {
		return chain.Checkpoint{}, nil
	}
	length, head, _ := strings.Cut(s, ":")
	n, err := strconv.ParseInt(length, 10, 64)
	c := chain.Checkpoint{Length: n, Head: strings.ToLower(head), Date: "2000-01-01"}
	if _, bad := chain.Resume(c); err != nil || bad != nil || n < 1 {
		return c, fmt.Errorf("--checkpoint: %q is no LENGTH:HASH (a number, a colon and 64 hex digits)", s)
	}
	return c, nil
}
