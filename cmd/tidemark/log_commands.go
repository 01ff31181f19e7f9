package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/chain"
	"tidemark/chain/monitor"
	"tidemark/chain/timestamp"
	"tidemark/chain/tlog"
	"tidemark/chain/witness"
	"tidemark/internal/config"
	"tidemark/internal/httpserve"
	"tidemark/internal/postgres"
	"tidemark/workers"
)

type logCommand struct {
	Show logShow `cmd:"" default:"withargs" help:"Print how the logs stand"`
	Key  logKey  `cmd:"" help:"Make the keys of a log in a new file, and print their public halves"`

	Export logExport `cmd:"" help:"Copy the logs of a policy into a folder, as files that any web server can serve"`

	Aside  logAside  `cmd:"" help:"Print the leaves that could not be numbered"`
	Settle logSettle `cmd:"" help:"Note that you have seen to a leaf that could not be numbered"`
}

type logShow struct {
	config.Stored
	format
}

// Run prints the logs.
func (c logShow) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	heads, err := db.LogHeads(ctx)
	if err != nil {
		return err
	}
	healths, err := db.LogHealths(ctx)
	if err != nil {
		return err
	}
	health := map[string]postgres.LogHealth{}
	for _, h := range healths {
		health[h.Log] = h
	}
	t := newTable("log", "origin", "leaves", "signed", "witnessed", "pending", "aside", "stopped", "waits")
	for _, h := range heads {
		var witnessed int64
		switch c, err := db.NewestLogCheckpoint(ctx, h.Log, true); {
		case err == nil:
			witnessed = c.Size
		case !errors.Is(err, postgres.ErrNotFound):
			return err
		}
		t.add(h.Log, h.Origin, h.Entries, h.Size, witnessed, health[h.Log].Pending, health[h.Log].Aside, h.Stopped, h.Waits)
	}
	return c.list(p.stdout, t)
}

type logAside struct {
	config.Stored
	format
}

// Run prints the leaves that were set aside.
func (c logAside) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.LogAsides(ctx)
	if err != nil {
		return err
	}
	t := newTable("id", "log", "key", "since", "why", "leaf")
	for _, a := range list {
		t.add(a.ID, a.Log, a.Key, a.At, a.Why, a.Leaf)
	}
	return c.list(p.stdout, t)
}

type logSettle struct {
	config.Stored

	ID int64 `arg:"" help:"The number that tidemark log aside prints."`
}

// Run settles a leaf that was set aside.
func (c logSettle) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.SettleLogAside(ctx, c.ID)
}

type logKey struct {
	Origin string `arg:"" help:"The log's origin, as in LOG_ORIGIN."`
	File   string `arg:"" help:"The file to write."`
}

// Run makes a file of keys.
func (c logKey) Run(p *program) error {
	if _, err := os.Stat(c.File); err == nil {
		return usageError{fmt.Errorf("%s already exists", c.File)}
	}
	if err := workers.MakeLogKeys(c.File, c.Origin); err != nil {
		return err
	}
	keys, err := workers.ReadLogKeys(c.File, c.Origin)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if _, err := fmt.Fprintln(p.stdout, k.VKey()); err != nil {
			return err
		}
	}
	return nil
}

type logExport struct {
	Dir    string `arg:"" help:"The folder. A copy that is there is continued."`
	Policy string `help:"Policy file (C2SP tlog-policy) whose log lines have the address of the log's files." required:"" placeholder:"FILE"`
}

// Run copies the logs of a policy.
func (c logExport) Run(ctx context.Context, p *program) error {
	text, err := os.ReadFile(c.Policy)
	if err != nil {
		return usageError{err}
	}
	policy, err := tlog.ParsePolicy(text)
	if err != nil {
		return usageError{err}
	}
	done := map[string]bool{}
	for _, log := range policy.Logs {
		if log.URL == "" || done[log.URL] { // two keys of a log have one address
			continue
		}
		done[log.URL] = true
		address, err := url.Parse(log.URL)
		if err != nil {
			return usageError{fmt.Errorf("the policy has the address %q: %w", log.URL, err)}
		}
		dir := filepath.Join(c.Dir, filepath.FromSlash(path.Clean("/"+address.Path)))
		got, err := monitor.Export(ctx, policy, log, http.DefaultTransport, dir)
		if err != nil {
			return fmt.Errorf("copy the log %s: %w", log.Name(), err)
		}
		if _, err := fmt.Fprintf(p.stdout, "%s: %d leaves in %s, %d of them cosigned by the operator's quorum\n", got.Origin, got.Size, dir, got.Witnessed); err != nil {
			return err
		}
	}
	if len(done) == 0 {
		return usageError{errors.New("no log line of the policy has an address")}
	}
	return nil
}

type witnessCommand struct {
	Init  witnessInit  `cmd:"" help:"Make a witness in a folder: its key and its state"`
	Add   witnessAdd   `cmd:"" help:"Let the witness of a folder know a log"`
	Serve witnessServe `cmd:"" help:"Cosign checkpoints over HTTP until told to stop"`
}

type witnessInit struct {
	Dir  string `arg:"" help:"The folder. To lose it ends the key."`
	Name string `arg:"" help:"The witness's name: a host and a path, such as witness.example/w."`
}

// Run makes a witness.
func (c witnessInit) Run(p *program) error {
	vkey, err := witness.Init(c.Dir, c.Name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.stdout, vkey)
	return err
}

type witnessAdd struct {
	Dir  string `arg:"" help:"The folder."`
	VKey string `arg:"" name:"vkey" help:"The log's public key; its name is the log's origin."`

	URL     string `name:"url" help:"The address of the log's files. The witness looks there for its own lines, at start and each hour." placeholder:"URL"`
	Vouched string `help:"For a further key of a known log: a file with a checkpoint that the old key and the new one have signed." placeholder:"FILE" type:"path"`
	Replace bool   `help:"Accept a new key of a known log although nothing vouches for it. The old key stays valid for the checkpoints that it signed."`
}

// Run adds a log, or a key of a log.
func (c witnessAdd) Run(*program) error {
	terms := witness.Terms{URL: c.URL, Replace: c.Replace}
	if c.Vouched != "" {
		var err error
		if terms.Vouched, err = os.ReadFile(c.Vouched); err != nil {
			return usageError{fmt.Errorf("--vouched: %w", err)}
		}
	}
	return witness.Add(c.Dir, c.VKey, terms)
}

type witnessServe struct {
	Dir    string `arg:"" help:"The folder."`
	Listen string `help:"The address to listen on." default:"127.0.0.1:8090" placeholder:"ADDR"`
}

// Run serves the witness of a folder.
func (c witnessServe) Run(ctx context.Context, p *program) error {
	s, err := witness.Open(c.Dir, p.now, p.log.With("role", "witness"))
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	p.log.InfoContext(ctx, "the witness serves", "witness", s.Name(), "vkey", s.VKey(), "addr", ln.Addr().String(), "logs", strings.Join(s.Logs(), " "))
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { s.Watch(ctx, http.DefaultTransport); return nil })
	g.Go(func() error { return httpserve.Until(ctx, witnessServer(s), ln, time.Second, nil) })
	return g.Wait()
}

// maxProofFile limits the size of a proof file, in bytes.
const maxProofFile = 64 << 10

// readPolicy reads the file of --policy.
func readPolicy(file string) (*tlog.Policy, error) {
	rules, err := os.ReadFile(file)
	if err != nil {
		return nil, usageError{fmt.Errorf("--policy: %w", err)}
	}
	policy, err := tlog.ParsePolicy(rules)
	if err != nil {
		return nil, usageError{fmt.Errorf("--policy: %w", err)}
	}
	return policy, nil
}

// verifyProof checks a proof file against the reader's policy, without any network request.
func (c verifyCommand) verifyProof(p *program) error {
	if c.Policy == "" {
		return usageError{errors.New("--proof needs --policy: the keys come from you, and never from the file")}
	}
	policy, err := readPolicy(c.Policy)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(c.Proof)
	if err != nil {
		return usageError{fmt.Errorf("--proof: %w", err)}
	}
	if len(text) > maxProofFile {
		return usageError{fmt.Errorf("--proof: %s is longer than a proof", c.Proof)}
	}
	// Invalid bytes are the fault of their carrier, and prove nothing against the log.
	unchecked := func(err error) error { return usageError{fmt.Errorf("not checked: %s: %w", c.Proof, err)} }
	proof, err := tlog.ParseProof(text)
	if err != nil {
		return unchecked(err)
	}
	opened, err := policy.Open(proof.Note)
	if err != nil {
		return unchecked(err)
	}
	if len(proof.Extra) == 0 {
		return unchecked(errors.New("it does not have the leaf"))
	}
	if err := proof.Check(opened.Checkpoint, tlog.LeafHash(proof.Extra)); err != nil {
		return unchecked(err)
	}
	outcome, err := c.judgeProof(proof, opened, policy, p.now())
	if err != nil {
		return unchecked(err)
	}
	if c.Timestamp != "" {
		if outcome.Stamped, err = c.readTimestamp(opened, p.now()); err != nil {
			return usageError{err}
		}
	}
	if c.JSON {
		err = printJSON(p.stdout, outcome)
	} else {
		err = outcome.print(p.stdout)
	}
	if err == nil && c.Require == "witnessed" && outcome.Verdict != chain.Witnessed {
		return errNotWitnessed
	}
	return err
}

// readTimestamp checks the time stamp of a checkpoint.
func (c verifyCommand) readTimestamp(opened *tlog.Opened, now time.Time) (*stampedBy, error) {
	roots, err := timestamp.ReadRoots(c.TimestampCA)
	if err != nil {
		return nil, fmt.Errorf("--timestamp-ca: %w", err)
	}
	file, err := os.Open(c.Timestamp)
	if err != nil {
		return nil, fmt.Errorf("--timestamp: %w", err)
	}
	defer func() { _ = file.Close() }()
	reply, err := io.ReadAll(io.LimitReader(file, timestamp.MaxReply+1))
	if err != nil {
		return nil, fmt.Errorf("--timestamp: %w", err)
	}
	s, err := timestamp.Check(reply, []byte(opened.Body()), roots)
	switch {
	case errors.Is(err, timestamp.ErrOther):
		return nil, fmt.Errorf("MISMATCH: %s does not belong to the checkpoint in %s: %w", c.Timestamp, c.Proof, err)
	case err != nil:
		return nil, fmt.Errorf("not checked: %s: %w", c.Timestamp, err)
	case s.At.After(now.Add(chain.Ahead)):
		return nil, fmt.Errorf("not checked: %s: it is of %s, in the future", c.Timestamp, s.At.Format(time.RFC3339))
	}
	return &stampedBy{At: s.At, Authority: s.Authority}, nil
}

// provedLeaf is the outcome of a proof.
type provedLeaf struct {
	Verdict chain.Verdict `json:"verdict"`
	Origin  string        `json:"origin"`
	Index   int64         `json:"log_index"`
	Size    int64         `json:"size"`
	// Root is in base64.
	Root string `json:"root"`
	// Leaf is the text of the leaf.
	Leaf string `json:"leaf"`
	// Cosigned are the witnesses of the policy that cosigned.
	Cosigned []cosignedBy `json:"cosigned"`
	// Quorum reports whether they are a quorum of the policy, however old.
	Quorum bool `json:"quorum"`
	// Stamped is the time stamp of the checkpoint, absent without --timestamp. It changes no verdict.
	Stamped *stampedBy `json:"timestamp,omitempty"`
}

type stampedBy struct {
	At        time.Time `json:"at"`
	Authority string    `json:"authority"`
}

type cosignedBy struct {
	Name string    `json:"name"`
	At   time.Time `json:"at"`
	// Fresh reports whether it counts for today.
	Fresh bool `json:"fresh"`
}

// judgeProof judges a proof whose leaf is in the log.
func (c verifyCommand) judgeProof(proof tlog.Proof, opened *tlog.Opened, policy *tlog.Policy, now time.Time) (provedLeaf, error) {
	out := provedLeaf{
		Verdict: chain.SelfConsistent, Origin: opened.Origin, Index: proof.Index, Size: opened.Size,
		Root: base64.StdEncoding.EncodeToString(opened.Root[:]), Leaf: string(proof.Extra), Cosigned: []cosignedBy{},
	}
	var fresh []tlog.Cosigned
	for _, line := range opened.Cosigned {
		name, _, _ := strings.Cut(line.VKey, "+")
		if line.At.After(now.Add(chain.Ahead)) {
			return out, fmt.Errorf("%s cosigned in the future", name)
		}
		by := cosignedBy{Name: name, At: line.At, Fresh: !line.At.Before(now.Add(-chain.QuorumFresh))}
		if by.Fresh {
			fresh = append(fresh, line)
		}
		out.Cosigned = append(out.Cosigned, by)
	}
	if policy.AsksWitnesses() {
		out.Quorum = policy.Met(opened.Cosigned)
		if policy.Met(fresh) {
			out.Verdict = chain.Witnessed
		}
	}
	return out, nil
}

// print writes the outcome for a person.
func (l provedLeaf) print(out io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "leaf %d of %s, of %d leaves:\n\n%s\n", l.Index, printable(l.Origin), l.Size, printableLines(l.Leaf))
	for _, by := range l.Cosigned {
		fmt.Fprintf(&text, "cosigned by %s at %s\n", printable(by.Name), by.At.Format(time.RFC3339))
	}
	if s := l.Stamped; s != nil {
		fmt.Fprintf(&text, "stamped: the checkpoint existed at %s, by the word of %s\n", s.At.Format(time.RFC3339), printable(s.Authority))
	}
	switch {
	case l.Verdict == chain.Witnessed:
		text.WriteString("\nWitnessed: the leaf was in the log when the quorum of your policy cosigned it.")
	case l.Quorum:
		text.WriteString("\nSelf-consistent: the leaf was in the log when the quorum of your policy cosigned it, and that is older than 26 hours: it does not speak for " +
			"today. The log's proof/newest/INDEX.tlog-proof is against the newest size that was witnessed.")
	default:
		text.WriteString("\nSelf-consistent: the leaf is in the log, and no quorum of your policy cosigned it.")
	}
	_, err := fmt.Fprintln(out, text.String())
	return err
}
