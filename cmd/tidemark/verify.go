package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"tidemark/chain"
	"tidemark/chain/audit"
	"tidemark/chain/tlog"
	"tidemark/internal/config"
)

type verifyCommand struct {
	config.Address

	URL         string   `help:"The server. Default: PUBLIC_URL, or else ADDR." placeholder:"URL"`
	Ledger      string   `help:"The git ledger to compare with, a folder or an address. Default: the server's." placeholder:"REPO"`
	Signers     string   `help:"Allowed signers: each commit of the ledger must carry a good signature of one of them." placeholder:"FILE"`
	RPC         []string `name:"rpc" help:"A trusted node of the chain with the attestations; may be given again. Only yours counts: a server on this machine may name one." placeholder:"URL"`
	Attester    string   `help:"The account that must have attested, as you know it from elsewhere." placeholder:"ADDRESS"`
	Checkpoint  string   `help:"What you know from an earlier day: the length of the chain of picks and its last hash, or a file with a signed checkpoint of the log." placeholder:"LENGTH:HASH|FILE"`
	Remember    string   `help:"The file that keeps the last checkpoint of each log that you verified. A log that shrinks or forks later is contradicted. Default: tidemark/verified.json in the folder of your settings." placeholder:"FILE"`
	NoRemember  bool     `help:"Neither read nor keep checkpoints of earlier verifications."`
	Require     string   `help:"The verdict that must be reached: witnessed, or the default: anything but contradicted. Exit status 3 if it is not." enum:"consistent,witnessed" default:"consistent"`
	Proof       string   `help:"A .tlog-proof file to check instead, without any network: that its leaf is in the log, and who cosigned. Needs --policy." placeholder:"FILE"`
	Policy      string   `help:"Your policy for the server's log, or for --proof: the log's key, the witnesses that you know and how many of them count (C2SP tlog-policy). With it, witnessed needs the quorum." placeholder:"FILE"`
	Timestamp   string   `help:"Time stamp of the checkpoint in --proof: also since when it existed, and by whose word." placeholder:"FILE"`
	TimestampCA string   `name:"timestamp-ca" help:"The roots that you believe for --timestamp. Default: this system's." placeholder:"FILE"`
	Receipt     string   `help:"The receipt of a paid answer to check instead (PAYMENT-RESPONSE)." placeholder:"FILE"`
	Content     string   `help:"Its answer's body, not compressed." placeholder:"FILE"`
	Transaction string   `help:"The transaction that paid for it." placeholder:"HASH"`
	Keys        string   `help:"Its seller's keys. Default: those of its host." placeholder:"FILE"`
	JSON        bool     `name:"json" help:"Print the outcome as JSON, also of --proof and of a failure."`
}

// errNotVerified ends a verification that found a fault, after the report has described it.
var errNotVerified = errors.New("the record is contradicted")

// errNoVerdict ends a verification that could not read the server.
var errNoVerdict = errors.New("there is no verdict")

// errNotWitnessed ends a verification that had to reach more than self-consistency.
var errNotWitnessed = errors.New("the record is not witnessed: --require=witnessed")

// Run audits a server and prints one line a check. A mismatch is an error.
func (c verifyCommand) Run(ctx context.Context, p *program) error {
	check := c.verifyServer
	if err := c.checkFlags(); err != nil {
		return usageError{err}
	}
	switch {
	case c.Receipt != "":
		check = c.verifyReceipt
	case c.Proof != "":
		check = func(_ context.Context, p *program) error { return c.verifyProof(p) }
	}
	err := check(ctx, p)
	if !c.JSON || err == nil || errors.Is(err, errNotVerified) || errors.Is(err, errReceipt) || errors.Is(err, errNotWitnessed) {
		return err
	}
	if printed := printJSON(p.stdout, notChecked{Verdict: "not_checked", Error: err.Error()}); printed != nil {
		return errors.Join(err, printed)
	}
	return err
}

// checkFlags refuses flags that the verification which is asked for would ignore: of a proof, of a receipt, or else of a server.
func (c verifyCommand) checkFlags() error {
	what := "server"
	switch {
	case c.Proof != "" && c.Receipt != "":
		return errors.New("--proof and --receipt are two verifications: run one after the other")
	case c.Proof != "":
		what = "proof"
	case c.Receipt != "":
		what = "receipt"
	}
	for _, f := range []struct {
		name  string
		given bool
		with  string
	}{
		{"--url", c.URL != "", "server"},
		{"--ledger", c.Ledger != "", "server"},
		{"--signers", c.Signers != "", "server"},
		{"--rpc", len(c.RPC) > 0, "server"},
		{"--attester", c.Attester != "", "server"},
		{"--checkpoint", c.Checkpoint != "", "server"},
		{"--remember", c.Remember != "", "server"},
		{"--no-remember", c.NoRemember, "server"},
		{"--require", c.Require == "witnessed", "server, proof"},
		{"--policy", c.Policy != "", "server, proof"},
		{"--timestamp", c.Timestamp != "", "proof"},
		{"--timestamp-ca", c.TimestampCA != "", "proof"},
		{"--content", c.Content != "", "receipt"},
		{"--transaction", c.Transaction != "", "receipt"},
		{"--keys", c.Keys != "", "receipt"},
	} {
		switch {
		case !f.given || strings.Contains(f.with, what):
		case what == "server":
			return fmt.Errorf("%s goes with --%s", f.name, f.with)
		default:
			return fmt.Errorf("%s does not go with --%s", f.name, what)
		}
	}
	switch {
	case c.TimestampCA != "" && c.Timestamp == "":
		return errors.New("--timestamp-ca goes with --timestamp")
	case c.Remember != "" && c.NoRemember:
		return errors.New("--remember and --no-remember exclude each other")
	}
	return nil
}

// notChecked is the JSON of a verification without a verdict.
type notChecked struct {
	Verdict string `json:"verdict"`
	Error   string `json:"error"`
}

// verifyServer audits a server.
func (c verifyCommand) verifyServer(ctx context.Context, p *program) error {
	o, keep, err := c.options(p)
	if err != nil {
		return err
	}
	r, err := audit.Run(ctx, o)
	if err != nil {
		return fmt.Errorf("%w: verify %s: %w", errNoVerdict, o.URL, err)
	}
	if err := c.print(p.stdout, r); err != nil {
		return err
	}
	if keep != "" && r.Log.Served != nil {
		if err := o.Memory.Save(keep); err != nil {
			p.log.WarnContext(ctx, "the next verification will not know this checkpoint: --remember names another file, --no-remember none", "err", err)
		}
	}
	switch {
	case r.Verdict == chain.Contradicted:
		return errNotVerified
	case c.Require == "witnessed" && r.Verdict != chain.Witnessed:
		return errNotWitnessed
	}
	return nil
}

// options returns the options of the audit, and the file that keeps its memory; empty means no file.
func (c verifyCommand) options(p *program) (o audit.Options, keep string, err error) {
	o = audit.Options{
		URL: c.URL, Ledger: c.Ledger, Signers: c.Signers, RPC: c.RPC, Attester: c.Attester, Witnessed: c.Require == "witnessed", Now: p.now(),
		Environ: config.Environ(), Transport: http.DefaultTransport,
	}
	if o.URL == "" {
		o.URL = p.settings.BaseURL()
	}
	if c.Policy != "" {
		if o.Policy, err = readPolicy(c.Policy); err != nil {
			return o, "", err
		}
	}
	if o.Checkpoint, o.Note, err = readCheckpoint(c.Checkpoint); err != nil {
		return o, "", usageError{err}
	}
	if c.NoRemember {
		return o, "", nil
	}
	if keep = c.Remember; keep == "" {
		dir, err := os.UserConfigDir()
		if err != nil { // an account without a home has nothing to remember with
			return o, "", nil //nolint:nilerr // as said
		}
		keep = filepath.Join(dir, "tidemark", "verified.json")
	}
	if o.Memory, err = audit.ReadMemory(keep); err != nil {
		return o, "", usageError{fmt.Errorf("--remember: %w", err)}
	}
	return o, keep, nil
}

func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func (c verifyCommand) print(out io.Writer, r *audit.Report) error {
	if c.JSON {
		return printJSON(out, r)
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
	if err := printConflict(out, r); err != nil {
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

// printConflict prints two checkpoints of the log that are not of one history: both the server's, or the reader's and the server's.
func printConflict(out io.Writer, r *audit.Report) error {
	if len(r.Forked) == 2 {
		_, err := fmt.Fprintf(out, "\nThe log signed both checkpoints. Keep them, they are evidence:\n\n%s\n%s", printableLines(r.Forked[0].Note), printableLines(r.Forked[1].Note))
		return err
	}
	if r.Log.Kept == nil || r.Log.Served == nil || !slices.ContainsFunc(r.Checks, func(c audit.Check) bool {
		return c.Name == "log_memory" && c.Status == audit.Mismatch
	}) {
		return nil
	}
	kept, served := r.Log.Kept, r.Log.Served
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "\nthe log\tas you saw it\tas it is shown\n")
	_, _ = fmt.Fprintf(w, "origin\t%s\t%s\n", printable(kept.Origin), printable(served.Origin))
	_, _ = fmt.Fprintf(w, "leaves\t%d\t%d\n", kept.Size, served.Size)
	_, _ = fmt.Fprintf(w, "root\t%s\t%s\n", kept.Root, served.Root)
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nBoth are signed. Keep them, they are evidence:\n\n%s\n%s", printableLines(kept.Note), printableLines(served.Note))
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
	case r.Parties == 0 && len(r.Witnesses) == 0:
		return "Self-consistent: " + record + ". The chain agrees with itself, and no witness was asked." + unvouched(r)
	case r.Parties == 0:
		return "Self-consistent: " + record + ". The chain agrees with itself, and no witness that counts was asked." + unvouched(r)
	case r.Unproven != "":
		return "Self-consistent: " + record + ". " + r.Unproven
	}
	return fmt.Sprintf("Self-consistent: %s. %s asked, and the same is held up to pick %d, the newest %s: no witness is recent enough to confirm it for today.",
		record, parties(r.Parties), r.Held, newest)
}

// unvouched says that a log was read whose witnesses do not count.
func unvouched(r *audit.Report) string {
	if r.Log.Served == nil || !r.Log.Named {
		return ""
	}
	return " The log's key and its witnesses are the server's word: count your own with --policy."
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

// readCheckpoint reads --checkpoint: what is known of the chain, or a signed checkpoint of the log in a file.
func readCheckpoint(s string) (c chain.Checkpoint, note []byte, err error) {
	if s == "" || strings.Contains(s, ":") {
		if c, err = parseCheckpoint(s); err == nil {
			return c, nil, nil
		}
	}
	note, unread := os.ReadFile(s)
	switch {
	case unread != nil && err != nil:
		return c, nil, err
	case unread != nil:
		return c, nil, fmt.Errorf("--checkpoint: %q is not LENGTH:HASH (a number, a colon and 64 hex digits), nor a file with a signed checkpoint: %w", s, unread)
	case tlog.SignedBody(note) == "":
		return c, nil, fmt.Errorf("--checkpoint: %s is not a signed checkpoint, such as the log's /log/checkpoint", s)
	}
	return chain.Checkpoint{}, note, nil
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
