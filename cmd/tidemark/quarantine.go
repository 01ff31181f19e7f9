package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/inspection"
	"tidemark/internal/config"
	"tidemark/internal/nearest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/workers"
)

type quarantineCommand struct {
	config.Stored

	List   quarantineList   `cmd:"" default:"withargs" help:"Print the answers that were not stored because a check refused them."`
	Show   quarantineShow   `cmd:"" help:"Print what was found in one of them, and what was decided about it."`
	Accept quarantineAccept `cmd:"" help:"Store an answer after all: known from now on."`
	Reject quarantineReject `cmd:"" help:"Never store an answer, and pass over it whenever it comes again."`
}

type quarantineList struct {
	format

	Source   string `help:"Only this source."`
	Decision string `enum:",pending,accepted,rejected" default:"" help:"Only these (pending, accepted, rejected). Default: pending."`
	All      bool   `help:"All, those too that were decided about."`
	Limit    limit  `default:"50" help:"How many, newest first."`
}

// Run prints the quarantine.
func (c quarantineList) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	filter := postgres.QuarantineFilter{Source: c.Source, Decision: c.Decision, Limit: int(c.Limit)}
	if filter.Decision == "" && !c.All {
		filter.Decision = postgres.QuarantinePending
	}
	list, err := db.Quarantined(ctx, filter)
	if err != nil {
		return err
	}
	if near := nearest.Suggest(c.Source, sourceIDs()...); len(list) == 0 && near != "" && !slices.Contains(sourceIDs(), c.Source) {
		return usageError{fmt.Errorf("--source: nothing of %q is quarantined%s", c.Source, near)}
	}
	t := newTable("id", "source", "answered", "last seen", "times", "run", "decision", "by", "found")
	for _, q := range list {
		var found []string
		for _, f := range q.Findings {
			if f.Check != inspection.Accept {
				found = append(found, strings.TrimSpace(f.Check+" "+string(f.Series)))
			}
		}
		t.add(q.ID, q.Source, q.CreatedAt, q.LastSeenAt, q.Fetches, q.RunID, q.Decision, q.DecidedBy, strings.Join(found, ", "))
	}
	return c.list(p.stdout, t)
}

type quarantineShow struct {
	format

	ID int64 `arg:"" help:"Its number."`
}

// Run prints one answer in quarantine.
func (c quarantineShow) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Quarantined(ctx, postgres.QuarantineFilter{ID: c.ID, Limit: 1})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("unknown quarantine %d", c.ID)
	}
	pages, err := db.QuarantinedPages(ctx, c.ID)
	if err != nil {
		return err
	}
	decisions, err := db.Decisions(ctx, c.ID)
	if err != nil {
		return err
	}
	q := list[0]
	if c.JSON {
		return writeJSON(p.stdout, quarantinedJSON(q, pages, decisions))
	}
	w := tabwriter.NewWriter(p.stdout, 0, 4, 2, ' ', 0)
	line := func(name, text string) { _, _ = fmt.Fprintf(w, "%s\t%s\n", name, text) }
	line("quarantine", strconv.FormatInt(q.ID, 10))
	line("source", q.Source)
	line("run", count(q.RunID))
	line("answered", q.CreatedAt.UTC().Format(time.RFC3339))
	line("last seen", fmt.Sprintf("%s (%s)", q.LastSeenAt.UTC().Format(time.RFC3339), counted(q.Fetches, "fetch")))
	for _, f := range pages {
		line("page", fmt.Sprintf("fetch %d of %s (body archived as %s)", f.ID, f.URL, f.SHA256))
	}
	line("decision", q.Decision)
	for _, d := range decisions {
		line(d.Decision, fmt.Sprintf("%s by %s: %s", d.At.UTC().Format(time.RFC3339), d.By, d.Reason))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return p.writeFindings(q.Findings)
}

// printFindings prints the findings of the checks about the answers of a run.
func (p *program) printFindings(ctx context.Context, db *postgres.DB, run int64) error {
	list, err := db.Findings(ctx, run)
	if err != nil {
		return err
	}
	return p.writeFindings(list)
}

func (p *program) writeFindings(list []series.Finding) error {
	if len(list) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(p.stdout, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\nCHECK\tSEVERITY\tSERIES\tFROM\tTO\tSEEN\tEXPECTED")
	for _, f := range list {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Check, f.Severity, dash(string(f.Series)), date(f.From), date(f.To), f.Observed, f.Expected)
	}
	return w.Flush()
}

func date(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.DateOnly)
}

// quarantineDecision holds the flags of every decision.
type quarantineDecision struct {
	ID     int64  `arg:"" help:"Its number, as in list."`
	Reason reason `required:"" help:"Why. It is kept."`
	By     string `help:"Who decides. Default: the user of the operating system."`
}

// decision returns the decision with the world's time and the user.
func (c quarantineDecision) decision(ctx context.Context, p *program, db *postgres.DB) (postgres.Decision, error) {
	by := c.By
	if by == "" {
		u, err := user.Current()
		if err != nil {
			return postgres.Decision{}, usageError{fmt.Errorf("the user name is unknown: name the operator with --by: %w", err)}
		}
		by = u.Username
	}
	at, err := p.worldTime(ctx, db)
	return postgres.Decision{At: at, By: by, Reason: string(c.Reason)}, err
}

type quarantineAccept struct {
	config.Archive
	config.Licences
	quarantineDecision

	DryRun bool `name:"dry-run" help:"Only say what it would do to each series."`
}

// Run accepts an answer.
func (c quarantineAccept) Run(ctx context.Context, p *program) error {
	db, store, err := p.openRecord(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	defer func() { _ = store.Close() }()
	d, err := c.decision(ctx, p, db)
	if err != nil {
		return err
	}
	job := p.releaser(db, store)
	effect, err := job.Effect(ctx, c.ID, d.At)
	if err == nil && c.DryRun {
		for _, e := range effect {
			_, _ = fmt.Fprintf(p.stdout, "%s: to accept it %s, of %s to %s\n", e.Series, workers.TellEffect(e), date(e.From), date(e.To))
		}
		if len(effect) == 0 {
			_, _ = fmt.Fprintln(p.stdout, "to accept it adds no row: all that it says is known")
		}
		return nil
	}
	var added int64
	if err == nil {
		added, err = job.Accept(ctx, c.ID, d)
	}
	if errors.Is(err, postgres.ErrOutdated) {
		return fmt.Errorf("%w (reject it with `tidemark quarantine reject %d`, or run the source again if its answer still stands)", err, c.ID)
	}
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(p.stdout, "quarantine %d is accepted: %s added, known from %s\n", c.ID, counted(added, "row"), d.At.UTC().Format(time.RFC3339))
	for _, e := range effect {
		_, _ = fmt.Fprintf(p.stdout, "%s: %s\n", e.Series, workers.TellEffect(e))
	}
	return nil
}

// releaser returns the job that stores a quarantined answer.
func (p *program) releaser(db *postgres.DB, store *archive.Store) workers.Ingest {
	list := p.sources()
	byID := map[string]ingest.Source{}
	for _, s := range list {
		byID[s.ID] = s
	}
	return workers.Ingest{
		DB: db, Engine: &ingest.Engine{Archive: store}, Sources: byID, Dependents: dependents(list, p.definitions()),
	}
}

type quarantineReject struct{ quarantineDecision }

// Run rejects an answer.
func (c quarantineReject) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	d, err := c.decision(ctx, p, db)
	if err != nil {
		return err
	}
	if err := db.RejectQuarantined(ctx, c.ID, d); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "quarantine %d is rejected: the answer stays out, now and whenever it comes again\n", c.ID)
	return err
}
