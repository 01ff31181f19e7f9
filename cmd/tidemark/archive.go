package main

import (
	"context"
	"fmt"

	"tidemark/backfill"
	"tidemark/ingest/archive"
	"tidemark/internal/config"
	"tidemark/internal/postgres"
	"tidemark/workers/task"
)

type archiveCommand struct {
	config.Database
	config.Archive

	Import archiveImport `cmd:"" help:"Add the exchanges of an archive folder to the ledger and the archive."`
	Export archiveExport `cmd:"" help:"Write the ledger and its bodies as an archive folder."`
}

type archiveImport struct {
	Dir string `arg:"" type:"existingdir" help:"An archive folder."`
}

// Run imports an archive folder. It parses nothing: see reparse.
func (c archiveImport) Run(ctx context.Context, p *program) error {
	db, store, err := p.openRecord(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	defer func() { _ = store.Close() }()
	folder, err := archive.OpenFolder(c.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	n, err := archive.Import(ctx, folder, store, db)
	_, _ = fmt.Fprintf(p.stdout, "%d exchanges added (turn them into observations with `tidemark reparse`)\n", n)
	return err
}

type archiveExport struct {
	Dir string `arg:"" help:"The folder to make."`
}

// Run exports the ledger as an archive folder.
func (c archiveExport) Run(ctx context.Context, p *program) error {
	db, store, err := p.openRecord(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	defer func() { _ = store.Close() }()
	n, err := archive.Export(ctx, c.Dir, store, db)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%d exchanges written to %s\n", n, c.Dir)
	return err
}

// openRecord opens the database as a worker and the archive beside it.
func (p *program) openRecord(ctx context.Context) (*postgres.DB, *archive.Store, error) {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return nil, nil, err
	}
	store, err := p.openArchive(ctx)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	return db, store, nil
}

type reparseCommand struct {
	config.Database
	config.Archive
	config.Licences

	Source string `help:"Only this source. Default: all."`
}

// Run rebuilds observations from the archive, and makes the signals due that rest on what came of it.
func (c reparseCommand) Run(ctx context.Context, p *program) error {
	db, store, err := p.openRecord(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	defer func() { _ = store.Close() }()
	now, err := p.worldTime(ctx, db)
	if err != nil {
		return err
	}
	known := false
	list := p.sources()
	needs := dependents(list, p.definitions())
	for _, src := range list {
		if c.Source != "" && src.ID != c.Source {
			continue
		}
		known = true
		done, err := backfill.Reparse(ctx, db, store, src, now)
		if err != nil {
			return fmt.Errorf("reparse %s: %w", src.ID, err)
		}
		_, _ = fmt.Fprintf(p.stdout, "%s: %d answers parsed, %d vintages added\n", src.ID, done.Fetches, done.Added)
		if done.Added == 0 {
			continue
		}
		for _, id := range needs[src.ID] {
			if _, err := db.AddRun(ctx, task.Signal, id, now, "observations were parsed again"); err != nil {
				return err
			}
		}
	}
	if !known {
		if err := oneOf("--source", c.Source, sourceIDs()...); err != nil {
			return err
		}
		return usageError{fmt.Errorf("--source: %s is not used: its terms are to be accepted (PORTWATCH_LICENSE_ACK)", c.Source)}
	}
	return nil
}
