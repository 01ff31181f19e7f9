package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tidemark/ingest/archive"
	"tidemark/internal/backup"
	"tidemark/internal/config"
	"tidemark/internal/devstack"
	"tidemark/internal/postgres"
)

type backupCommand struct {
	Make   backupMake   `cmd:"" default:"withargs" help:"Write a backup into a new folder, while everything runs."`
	Verify backupVerify `cmd:"" help:"Read a whole backup, and say what it holds."`
}

type backupMake struct {
	config.Owner
	config.Archive
	config.Waiting

	Dir     string   `arg:"" help:"The folder to make. With --keep: the folder in which each backup makes its own."`
	Keep    *int     `help:"Make a folder named by the time in DIR, and remove all but this many whole backups of the world there, the new one included. 1 or more."`
	Without []string `enum:"archive,ledger" help:"Leave a part out on purpose: archive (the bucket keeps versions), ledger (it is made again from the database)."`
}

// Run writes a backup.
func (c backupMake) Run(ctx context.Context, p *program) error {
	if c.Keep != nil && *c.Keep < 1 {
		return usageError{fmt.Errorf("--keep=%d keeps no backup: 1 or more", *c.Keep)}
	}
	in, err := p.installation(ctx)
	if err != nil {
		return err
	}
	defer p.watchOwner(in.URL)()
	dir := c.Dir
	if c.Keep != nil {
		dir = filepath.Join(c.Dir, p.now().UTC().Format("2006-01-02T150405Z"))
	}
	m, err := backup.Make(ctx, in, dir, c.Without)
	if err != nil {
		return err
	}
	if err := p.tellBackup("backed up to "+dir, m); err != nil {
		return err
	}
	if c.Keep == nil {
		return nil
	}
	removed, err := backup.Prune(c.Dir, p.settings.World, *c.Keep, p.now())
	for _, old := range removed {
		_, _ = fmt.Fprintf(p.stdout, "removed %s\n", old)
	}
	return err
}

type backupVerify struct {
	Dir string `arg:"" type:"existingdir" help:"The folder of a backup."`
}

// Run verifies a backup.
func (c backupVerify) Run(ctx context.Context, p *program) error {
	m, err := backup.Verify(ctx, c.Dir, config.Environ())
	if err != nil {
		return err
	}
	return p.tellBackup(c.Dir+" is whole", m)
}

type restoreCommand struct {
	config.Stored
	config.Archive

	Dir string `arg:"" type:"existingdir" help:"The folder of a backup."`
}

// Run restores an installation.
func (c restoreCommand) Run(ctx context.Context, p *program) error {
	in, err := p.installation(ctx)
	if err != nil {
		return err
	}
	defer p.watchOwner(in.URL)()
	m, err := backup.Restore(ctx, in, c.Dir)
	if err != nil {
		return err
	}
	if err := p.allowLogins(ctx, in.URL); err != nil {
		return err
	}
	return p.tellBackup("restored from "+c.Dir+" (look with `tidemark doctor`, then start the scheduler)", m)
}

// installation returns the installation of the settings.
func (p *program) installation(ctx context.Context) (backup.Installation, error) {
	url, err := p.databaseURL()
	return backup.Installation{
		URL: url, Archive: func(db *postgres.DB) (*archive.Store, error) { return p.openArchive(ctx, db) }, Ledger: p.ledgerDir(), World: p.settings.World,
		Program: codeVersion(), Tool: devstack.Client, Output: devstack.Output, Now: p.now, Environ: config.Environ(),
	}, err
}

// tellBackup prints the content of a backup.
func (p *program) tellBackup(done string, m backup.Manifest) error {
	ledger := "no ledger"
	if f, ok := m.Files["ledger.tar"]; ok {
		ledger = fmt.Sprintf("a ledger of %d bytes", f.Bytes)
	}
	left := ""
	if len(m.LeftOut) > 0 {
		left = "; left out on purpose: " + strings.Join(m.LeftOut, ", ")
	}
	_, err := fmt.Fprintf(p.stdout, "%s: the world %s of %s, schema %d, a dump of %d bytes, %d archived answers, %s%s\n", done, m.World,
		m.At.Format(time.RFC3339), m.Schema, m.Files["database.dump"].Bytes, m.Bodies, ledger, left)
	return err
}
