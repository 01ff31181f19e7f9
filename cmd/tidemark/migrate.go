package main

import (
	"context"
	"errors"
	"fmt"

	"tidemark/internal/config"
	"tidemark/internal/postgres"
)

type migrateCommand struct {
	config.Stored
	format

	Status bool `xor:"look" help:"Print the migrations, and when each was applied. Nothing is changed."`
	DryRun bool `xor:"look" help:"Print what would be applied. Nothing is changed."`
}

// Run migrates the database, or prints its version.
func (c migrateCommand) Run(ctx context.Context, p *program) error {
	if c.JSON && !c.Status && !c.DryRun {
		return usageError{errors.New("--json goes with --status or --dry-run")}
	}
	url, err := p.databaseURL()
	if err != nil {
		return err
	}
	defer p.watchOwner(url)()
	if err := p.checkOwnWorld(ctx, url); err != nil {
		return err
	}
	if c.Status || c.DryRun {
		return c.look(ctx, p, url)
	}
	if err := postgres.Migrate(ctx, url, p.log); err != nil {
		return err
	}
	return p.allowLogins(ctx, url)
}

// checkOwnWorld returns an error if the database of the owner's URL belongs to another world than WORLD. It works on every schema.
func (p *program) checkOwnWorld(ctx context.Context, url string) error {
	err := postgres.CheckWorld(ctx, url, p.settings.World)
	if we, ok := errors.AsType[*postgres.WorldError](err); ok {
		return usageError{we}
	}
	return err
}

func (c migrateCommand) look(ctx context.Context, p *program, url string) error {
	list, err := postgres.Migrations(ctx, url)
	if err != nil {
		return err
	}
	t, left := newTable("version", "name", "applied"), 0
	for _, m := range list {
		if m.AppliedAt == nil {
			left++
		} else if c.DryRun {
			continue
		}
		t.add(m.Version, m.Name, m.AppliedAt)
	}
	if err := c.list(p.stdout, t); err != nil || c.JSON {
		return err
	}
	said := fmt.Sprintf("%d of %d migrations are yet to be applied: run `tidemark migrate`", left, len(list))
	if left == 0 {
		said = "the database has this program's schema"
	}
	_, err = fmt.Fprintln(p.stdout, said)
	return err
}
