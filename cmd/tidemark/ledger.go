package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"tidemark/chain"
	"tidemark/chain/gitledger"
	"tidemark/internal/config"
	"tidemark/internal/postgres"
	"tidemark/workers"
)

// ledgerDir returns the folder of this world's ledger, as an absolute path if the working directory has one.
func (p *program) ledgerDir() string {
	dir := filepath.Join(p.worldDir(), "ledger.git")
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

func (p *program) ledgerRemote() gitledger.Remote {
	return gitledger.Remote{
		URL: p.settings.LedgerRemote, SSHKey: p.settings.LedgerSSHKey, SSHKnownHosts: p.settings.LedgerSSHKnownHosts,
		HTTPUser: p.settings.LedgerHTTPUser, HTTPToken: p.settings.LedgerHTTPToken,
	}
}

func (p *program) openLedger(ctx context.Context, db *postgres.DB) (*gitledger.Ledger, error) {
	return gitledger.Open(ctx, gitledger.Options{
		Dir: p.ledgerDir(), Environment: p.environment(), Branch: p.settings.LedgerBranch, Remote: p.ledgerRemote(),
		Author:     gitledger.Identity{Name: p.settings.LedgerAuthorName, Email: p.settings.LedgerAuthorEmail},
		SigningKey: p.settings.LedgerSigningKey, Environ: config.Environ(), Known: workers.KnownEntries(db),
	})
}

// ledgerURL returns the public address of the ledger: LEDGER_URL, or a remote that anyone can read, or, in a sandbox, the folder.
func (p *program) ledgerURL() string {
	switch remote := p.settings.LedgerRemote; {
	case p.settings.LedgerURL != "":
		return p.settings.LedgerURL
	case strings.HasPrefix(remote, "https://") && !strings.Contains(remote, "@"):
		return remote
	case p.settings.World == "sandbox" && remote == "":
		return p.ledgerDir()
	}
	return ""
}

func (p *program) newLedger(db *postgres.DB) workers.Ledger {
	return workers.Ledger{
		DB: db, Remote: p.settings.LedgerRemote != "", Repository: p.ledgerURL(), Branch: p.settings.LedgerBranch,
		Open: func(ctx context.Context) (*gitledger.Ledger, error) { return p.openLedger(ctx, db) },
	}
}

type ledgerCommand struct {
	config.Stored

	Status ledgerStatus `cmd:"" default:"withargs" help:"Say how far the ledger and its remote are."`
	Verify ledgerVerify `cmd:"" help:"Compare the ledger, the database and the chain; exit status 1 if they differ."`
}

type ledgerStatus struct{ format }

// Run prints the state of the ledger.
func (c ledgerStatus) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	entries, err := db.LedgerEntries(ctx, false)
	if err != nil {
		return err
	}
	committed, pushed := 0, 0
	for _, e := range entries {
		if e.Commit != "" {
			committed++
		}
		if e.PushedAt != nil {
			pushed++
		}
	}
	if c.JSON {
		s, err := db.LedgerState(ctx)
		if errors.Is(err, postgres.ErrNotFound) {
			return writeJSON(p.stdout, one("entries", len(entries), "committed", committed, "pushed", pushed, "status", nil))
		}
		if err != nil {
			return err
		}
		o := one("entries", len(entries), "committed", committed, "pushed", pushed, "status", s.Status, "head", unset(s.Head),
			"pushed head", unset(s.Pushed), "branch", s.Branch, "repository", unset(s.Repository), "checked", s.CheckedAt, "note", unset(s.Note))
		return writeJSON(p.stdout, o)
	}
	w := tabwriter.NewWriter(p.stdout, 0, 4, 2, ' ', 0)
	line := func(name string, value any) { _, _ = fmt.Fprintf(w, "%s\t%v\n", name, value) }
	line("entries", fmt.Sprintf("%d: %d committed, %d at the remote", len(entries), committed, pushed))
	switch s, err := db.LedgerState(ctx); {
	case errors.Is(err, postgres.ErrNotFound):
		line("status", "the job has not run yet")
	case err != nil:
		return err
	default:
		line("status", s.Status)
		line("head", dash(s.Head))
		line("at the remote", dash(s.Pushed))
		line("branch", s.Branch)
		line("repository", dash(s.Repository))
		line("checked", s.CheckedAt.UTC().Format(time.RFC3339))
		line("note", dash(s.Note))
	}
	return w.Flush()
}

type ledgerVerify struct {
	config.Branch

	From string `help:"The repository to read: a folder or an address. Default: this world's folder."`
}

// Run compares the content of the ledger with the database, and recomputes the chain of both.
func (c ledgerVerify) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	if c.From == "" {
		c.From = p.ledgerDir()
	}
	return p.verifyLedger(ctx, db, c.From)
}

// verifyLedger compares the ledger at an address with the database, recomputes the chain of both, and prints a line for each check.
func (p *program) verifyLedger(ctx context.Context, db *postgres.DB, from string) error {
	entries, err := db.LedgerEntries(ctx, false)
	if err != nil {
		return err
	}
	var stored chain.Verifier
	v := checkReport{p: p}
	v.check("the chain in the database", db.StreamChain(ctx, stored.AddBytes), fmt.Sprintf("%d links", stored.Checkpoint().Length))
	if len(entries) == 0 {
		v.check("the ledger", nil, "nothing is announced or recorded yet")
		return v.err()
	}
	r, err := gitledger.Read(ctx, gitledger.Source{Location: from, Branch: p.settings.LedgerBranch, Environ: config.Environ()})
	if v.check("the ledger's history", err, ""); err != nil {
		return v.err()
	}
	if r.Environment != "" && r.Environment != p.environment() {
		v.check("the ledger's environment", fmt.Errorf("it is %s", r.Environment), "")
	}
	head, err := chain.Verify(chain.Each(r.Links()))
	v.check("the chain in the ledger", err, fmt.Sprintf("%d links", head.Length))
	waiting, err := compareLedger(r, entries)
	v.check("the ledger against the database", err, fmt.Sprintf("%d entries are the same, %d wait to be committed", len(entries)-waiting, waiting))
	return v.err()
}

// compareLedger compares the entries of the database with the ledger, in both directions, and counts the entries without a commit.
func compareLedger(r *gitledger.Record, entries []postgres.LedgerEntry) (waiting int, err error) {
	type entry struct {
		pick       chain.Link
		gap        chain.Gap
		correction chain.Correction
	}
	ledger := map[entry]string{}
	for _, x := range r.Picks {
		ledger[entry{pick: x.Link}] = x.Commit.ID
	}
	for _, x := range r.Gaps {
		ledger[entry{gap: x.Gap}] = x.Commit.ID
	}
	for _, x := range r.Corrections {
		ledger[entry{correction: x.Correction}] = x.Commit.ID
	}
	var errs []error
	for _, e := range entries {
		var key entry
		name := ""
		switch {
		case e.Pick != nil:
			key.pick, name = *e.Pick, fmt.Sprintf("pick %d", e.Pick.Seq)
		case e.Gap != nil:
			key.gap, name = *e.Gap, "the gap of "+e.Gap.Date
		default:
			key.correction, name = *e.Correction, fmt.Sprintf("a correction of pick %d", e.Correction.Seq)
		}
		have, ok := ledger[key]
		switch {
		case e.Commit == "":
			waiting++
		case !ok:
			errs = append(errs, fmt.Errorf("%s is not in the ledger as it is in the database", name))
		case have != e.Commit:
			errs = append(errs, fmt.Errorf("%s is commit %s in the ledger and %s in the database", name, have, e.Commit))
		}
		delete(ledger, key)
	}
	if len(ledger) > 0 {
		errs = append(errs, fmt.Errorf("the ledger has %d entries that the database lacks", len(ledger)))
	}
	return waiting, errors.Join(errs...)
}

// checkReport prints one line per check and records whether one failed.
type checkReport struct {
	p      *program
	failed int
}

func (v *checkReport) check(what string, err error, detail string) {
	if err != nil {
		v.failed++
		_, _ = fmt.Fprintf(v.p.stdout, "FAILED  %s: %v\n", what, err)
		return
	}
	if detail != "" {
		detail = ": " + detail
	}
	_, _ = fmt.Fprintf(v.p.stdout, "ok      %s%s\n", what, detail)
}

func (v *checkReport) err() error {
	if v.failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of the checks failed", v.failed)
}
