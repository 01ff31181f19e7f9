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
	Ledger     string   `help:"The git ledger to compare with, a folder or an address. Default: the ledger that the server names." placeholder:"REPO"`
	Signers    string   `help:"A file of allowed signers: every commit of the ledger must carry a good signature of one of them." placeholder:"FILE"`
	RPC        []string `name:"rpc" help:"A trusted node of the chain with the attestations; may be given again. Default: a server on this machine names its own." placeholder:"URL"`
	Attester   string   `help:"The account that must have attested, as you know it from elsewhere." placeholder:"ADDRESS"`
	Checkpoint string   `help:"What you know of the chain from an earlier day: its length and the hash that it ended in, as LENGTH:HASH." placeholder:"LENGTH:HASH"`
	Require    string   `help:"The verdict that must be reached: witnessed, or the default: anything but contradicted. Exit status 3 if it is not." enum:"consistent,witnessed" default:"consistent"`
	Proof      string   `help:"A .tlog-proof file to check instead, without any network: that its leaf is in the log, and who cosigned. Needs --policy." placeholder:"FILE"`
	Policy     string   `help:"Your policy for the server's log, or for --proof: the log's key, the witnesses that you know and how many of them count (C2SP tlog-policy). With it, witnessed needs the quorum." placeholder:"FILE"`
	JSON       bool     `name:"json" help:"Print the report as JSON."`
}

// errNotVerified ends a verification that found a fault, after the report has described it.
var errNotVerified = errors.New("the record is contradicted")

// errNotWitnessed ends a verification that had to reach more than self-consistency.
var errNotWitnessed = errors.New("the record is not witnessed: --require=witnessed")

// Run audits a server and prints one line a check. A mismatch is an error.
func (c verifyCommand) Run(ctx context.Context, p *program) error {
	if c.Proof != "" {
		return c.verifyProof(p)
	}
	o := audit.Options{
		URL: c.URL, Ledger: c.Ledger, Signers: c.Signers, RPC: c.RPC, Attester: c.Attester, Witnessed: c.Require == "witnessed", Now: p.now(),
		Environ: config.Environ(), Transport: http.DefaultTransport,
	}
	if o.URL == "" {
		o.URL = p.settings.BaseURL()
	}
	var err error
	if c.Policy != "" {
		if o.Policy, err = readPolicy(c.Policy); err != nil {
			return err
		}
	}
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
	switch {
	case r.Verdict == chain.Contradicted:
		return errNotVerified
	case c.Require == "witnessed" && r.Verdict != chain.Witnessed:
		return errNotWitnessed
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
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s\n", printable(conclusion(r)))
	if err == nil && r.Verdict == chain.Witnessed && r.Environment == "demo" {
		_, err = fmt.Fprintln(out, "The witnesses of a demonstration run beside it. They show the mechanism and are not independent.")
	}
	if err == nil && r.Clock == "server" {
		_, err = fmt.Fprintln(out, "The server calls itself a demonstration, so its own clock counted. By your clock: --require witnessed.")
	}
	return err
}

// conclusion returns the verdict in one line, and below it each witness that contradicts the chain.
func conclusion(r *audit.Report) string {
	var against []string
	for _, w := range r.Witnesses {
		if w.Against != "" {
			against = append(against, fmt.Sprintf("%s: %s", w.Name, w.Against))
		}
	}
	record := fmt.Sprintf("%d picks of %s (%s)", r.Length, r.URL, r.Environment)
	newest := "of an unknown time"
	if r.Newest != nil {
		newest = "of " + r.Newest.UTC().Format("2006-01-02 15:04 UTC")
	}
	switch {
	case r.Verdict == chain.Witnessed:
		return fmt.Sprintf("Witnessed: %s. The same is held by %d of %s up to pick %d, the newest %s.",
			record, r.Agreeing, parties(r.Parties), r.Covered, newest)
	case r.Verdict == chain.Contradicted:
		return strings.Join(append([]string{"Contradicted: " + record + "."}, against...), "; ")
	case r.Parties == 0:
		return "Self-consistent: " + record + ". The chain agrees with itself, and no witness was asked."
	}
	return fmt.Sprintf("Self-consistent: %s. %s asked, and the same is held up to pick %d, the newest %s: nobody is new enough to speak for today.",
		record, parties(r.Parties), r.Held, newest)
}

func parties(n int) string {
	if n == 1 {
		return "1 party"
	}
	return fmt.Sprintf("%d parties", n)
}

// printable removes characters from a line that a terminal could interpret as commands: the audited server controls parts of the text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// printableLines is printable for a text of several lines.
func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = printable(strings.ReplaceAll(line, "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

// parseCheckpoint parses LENGTH:HASH. An empty text is an empty checkpoint.
func parseCheckpoint(s string) (chain.Checkpoint, error) {
	if s == "" {
		return chain.Checkpoint{}, nil
	}
	length, head, _ := strings.Cut(s, ":")
	n, err := strconv.ParseInt(length, 10, 64)
	c := chain.Checkpoint{Length: n, Head: strings.ToLower(head), Date: "2000-01-01"}
	if _, bad := chain.Resume(c); err != nil || bad != nil || n < 1 {
		return c, fmt.Errorf("--checkpoint: %q is not LENGTH:HASH (a number, a colon and 64 hex digits)", s)
	}
	return c, nil
}
