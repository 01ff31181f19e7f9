package pgtest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io/fs"

	_ "github.com/jackc/pgx/v5/stdlib" // goose uses database/sql
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"tidemark/migrations"
)

// migrate applies all migrations to the database at an address, as production does.
func migrate(ctx context.Context, address string) error {
	return migrating(ctx, address, func(p *goose.Provider) error {
		_, err := p.Up(ctx)
		return err
	})
}

// migrateTo migrates the database at an address to a version of the schema, from any version.
func migrateTo(ctx context.Context, address string, version int64) error {
	return migrating(ctx, address, func(p *goose.Provider) error {
		have, err := p.GetDBVersion(ctx)
		switch {
		case err != nil:
		case have > version:
			_, err = p.DownTo(ctx, version)
		default:
			_, err = p.UpTo(ctx, version)
		}
		return err
	})
}

func migrating(ctx context.Context, address string, do func(*goose.Provider) error) error {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer func() { _ = db.Close() }()
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS, goose.WithSessionLocker(locker))
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if err := do(p); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// hashMigrations returns the start of the SHA-256 of all migrations, names and contents, in hex.
func hashMigrations() (string, error) {
	h := sha256.New()
	err := fs.WalkDir(migrations.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(migrations.FS, path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(h, "%s %d\n%s", path, len(content), content)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the migrations: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}
