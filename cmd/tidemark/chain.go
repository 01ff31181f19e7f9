package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"tidemark/chain"
	"tidemark/chain/base"
	"tidemark/internal/config"
	"tidemark/internal/ops"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/workers"
)

const wei = 1_000_000_000 // of a gwei

// newAttest makes the attestation job from the settings. Without a key or a node, the job reports that.
func (p *program) newAttest(db *postgres.DB, log *slog.Logger) (workers.Attest, error) {
	a := workers.Attest{DB: db, Now: p.now, Log: log}
	contract, err := base.ParseAddress(p.settings.EASAddress)
	if err != nil {
		return a, usageError{fmt.Errorf("EAS_ADDRESS: %w", err)}
	}
	registry, err := base.ParseAddress(p.settings.EASSchemaRegistry)
	if err != nil {
		return a, usageError{fmt.Errorf("EAS_SCHEMA_REGISTRY: %w", err)}
	}
	a.State = postgres.AttesterState{
		Attester: postgres.Attester{
			ChainID: p.settings.BaseChainID, Contract: strings.ToLower(contract.Hex()), SchemaUID: base.SchemaUID(base.Schema).Hex(),
		},
		StartBlock: p.settings.EASStartBlock, ExplorerURL: p.explorer(), Status: postgres.AttesterOff,
	}
	if p.dev != nil {
		a.State.RPCURL = p.dev.URL()
	}
	switch {
	case len(p.settings.BaseRPCURLs()) == 0:
		a.State.Note = "BASE_RPC_URL is not set: attestations stay pending"
		return a, nil
	case p.settings.AttesterKeyFile == "":
		a.State.Note = "ATTESTER_KEY_FILE is not set: attestations stay pending"
		return a, nil
	}
	signer, err := base.LoadSigner(p.settings.AttesterKeyFile, p.settings.AttesterPasswordFile)
	if err != nil {
		return a, usageError{fmt.Errorf("ATTESTER_KEY_FILE, ATTESTER_PASSWORD_FILE: %w", err)}
	}
	client, err := base.Dial(p.settings.BaseChainID, p.settings.BaseRPCURLs()...)
	if err != nil {
		return a, usageError{fmt.Errorf("BASE_RPC_URL: %w", err)}
	}
	a.State.Attester.Attester = strings.ToLower(signer.Address().Hex())
	a.Attester = &base.Attester{
		Client: client, Signer: signer, EAS: base.EAS{Contract: contract, Registry: registry, StartBlock: p.settings.EASStartBlock},
		Limits: base.Limits{FeeCap: p.settings.AttesterMaxGwei * wei, Daily: p.settings.AttesterDailyGwei * wei},
	}
	return a, nil
}

// explorer returns the URL of the L2's block explorer. A development chain has none, for any chain id.
func (p *program) explorer() string {
	switch {
	case p.settings.ExplorerURL != "":
		return strings.TrimRight(p.settings.ExplorerURL, "/")
	case p.dev != nil:
	case p.settings.BaseChainID == 8453:
		return "https://basescan.org"
	case p.settings.BaseChainID == 84532:
		return "https://sepolia.basescan.org"
	}
	return ""
}

type chainCommand struct {
	config.Stored
	config.Attester

	Status chainStatus `cmd:"" default:"withargs" help:"Say how the attester and its attestations stand."`
	Setup  chainSetup  `cmd:"" help:"Register the schema of the attestations, once for a network."`
	Retry  chainRetry  `cmd:"" help:"Try an attestation again that failed, after a look at why."`
}

// attester opens the database and makes the attester. If the settings name no node, it uses the settings of a running sandbox.
func (p *program) attester(ctx context.Context) (*postgres.DB, workers.Attest, error) {
	if p.settings.BaseRPCURL == "" && p.settings.World == "sandbox" {
		c, err := p.connections()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, workers.Attest{}, err
		}
		if c.BaseRPCURL != "" {
			p.settings.BaseRPCURL, p.settings.BaseChainID = c.BaseRPCURL, c.BaseChainID
			if p.settings.AttesterKeyFile == "" {
				p.settings.AttesterKeyFile = c.AttesterKeyFile
			}
		}
	}
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return nil, workers.Attest{}, err
	}
	a, err := p.newAttest(db, p.log)
	if err != nil {
		db.Close()
		return nil, a, err
	}
	return db, a, nil
}

type chainStatus struct{ format }

// Run prints the state of the attester, from the database and, if there is a key, from a node.
func (c chainStatus) Run(ctx context.Context, p *program) error {
	db, a, err := p.attester(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	head, err := db.AnnouncedHead(ctx)
	if err != nil {
		return err
	}
	list, err := db.Attestations(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return chainJSON(ctx, p, db, a, head, list)
	}
	w := tabwriter.NewWriter(p.stdout, 0, 4, 2, ' ', 0)
	line := func(name string, format string, args ...any) {
		_, _ = fmt.Fprintf(w, "%s\t"+format+"\n", append([]any{name}, args...)...)
	}
	line("chain of picks", "%d announced, head %s", head.Length, dash(head.Head))
	line("network", "eip155:%d", a.State.ChainID)
	line("contract", "%s", a.State.Contract)
	line("schema", "%s", a.State.SchemaUID)
	if n := len(list); n > 0 {
		newest := list[n-1]
		line("newest attestation", "%s: %d picks, head %s, uid %s", newest.State, newest.Length, newest.Subject, dash(newest.UID))
		if newest.Note != "" {
			line("", "%s", newest.Note)
		}
	} else {
		line("newest attestation", "none")
	}
	switch s, err := db.AttesterState(ctx); {
	case errors.Is(err, postgres.ErrNotFound):
		line("job", "it has not run yet")
	case err != nil:
		return err
	default:
		line("job", "%s at %s %s", s.Status, s.CheckedAt.UTC().Format(time.RFC3339), s.Note)
	}
	if a.Attester == nil {
		line("attester", "%s", a.State.Note)
		return w.Flush()
	}
	line("attester", "%s", a.State.Attester.Attester)
	h, err := a.Attester.Health(ctx)
	if err != nil {
		return errors.Join(w.Flush(), err)
	}
	line("blocks", "newest %d, safe %d, final %d", h.Heads.Latest, h.Heads.Safe, h.Heads.Final)
	line("contract is there", "%t", h.Deployed)
	line("schema is registered", "%t", h.Registered)
	line("transactions", "%d, and %d wait", h.Nonce, h.Pending)
	line("balance", "%s, enough for %s of gas", ops.Ether(h.BalanceWei.String()), ops.Runway(h.RunwayDays))
	return w.Flush()
}

// chainJSON prints the state of the attester as JSON. Missing values are null.
func chainJSON(ctx context.Context, p *program, db *postgres.DB, a workers.Attest, head chain.Checkpoint, list []postgres.Attestation) error {
	var newest, job, node any
	if n := len(list); n > 0 {
		newest = one("state", list[n-1].State, "length", list[n-1].Length, "head", list[n-1].Subject, "uid", unset(list[n-1].UID), "note", unset(list[n-1].Note))
	}
	switch s, err := db.AttesterState(ctx); {
	case err == nil:
		job = one("status", s.Status, "checked", s.CheckedAt, "note", unset(s.Note))
	case !errors.Is(err, postgres.ErrNotFound):
		return err
	}
	var attester, note *string
	var trouble error
	if a.Attester == nil {
		note = unset(a.State.Note)
	} else {
		attester = &a.State.Attester.Attester
		var h base.Health
		if h, trouble = a.Attester.Health(ctx); trouble == nil {
			node = one("latest", h.Heads.Latest, "safe", h.Heads.Safe, "final", h.Heads.Final, "deployed", h.Deployed, "registered", h.Registered,
				"transactions", h.Nonce, "pending", h.Pending, "balance wei", h.BalanceWei.String(), "runway days", h.RunwayDays)
		}
	}
	return errors.Join(writeJSON(p.stdout, one("announced", head.Length, "head", unset(head.Head), "network", fmt.Sprintf("eip155:%d", a.State.ChainID),
		"contract", a.State.Contract, "schema", a.State.SchemaUID, "newest attestation", newest, "job", job, "attester", attester, "note", note,
		"node", node)), trouble)
}

type chainSetup struct{}

// Run registers the schema, unless the network has it, and waits until the registration is safe.
func (chainSetup) Run(ctx context.Context, p *program) error {
	db, a, err := p.attester(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	if a.Attester == nil {
		return usageError{errors.New(a.State.Note)}
	}
	if err := a.Attester.Client.Check(ctx); err != nil {
		return err
	}
	h, err := a.Attester.Health(ctx)
	if err != nil {
		return err
	}
	if !h.Deployed {
		return fmt.Errorf("no contract exists at EAS_ADDRESS %s on chain %d", p.settings.EASAddress, h.ChainID)
	}
	row, err := a.Register(ctx, task.Fence{})
	if err != nil {
		return err
	}
	if row.State == base.StateFailed {
		return fmt.Errorf("the schema is not registered: %s", row.Note)
	}
	_, err = fmt.Fprintf(p.stdout, "The schema %s is registered on eip155:%d.\n  schema    %s\n  attester  %s\nSet EAS_START_BLOCK=%d before the first attestation.\n",
		a.State.SchemaUID, h.ChainID, base.Schema, a.State.Attester.Attester, h.Heads.Latest)
	return err
}

type chainRetry struct {
	Head string `arg:"" help:"The head, or the schema's uid, of the row that failed."`
}

// Run makes a failed row due again, and its job.
func (c chainRetry) Run(ctx context.Context, p *program) error {
	db, a, err := p.attester(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	if a.Attester == nil {
		return usageError{errors.New(a.State.Note)}
	}
	if err := a.Retry(ctx, c.Head); err != nil {
		return err
	}
	at, err := p.worldTime(ctx, db)
	if err != nil {
		return err
	}
	id, err := db.AddRun(ctx, task.Attest, task.SubjectAttest, at, "a failed attestation is tried again")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "run %d tries it again\n", id)
	return err
}
