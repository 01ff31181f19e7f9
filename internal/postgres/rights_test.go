package postgres_test

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
)

func TestAMigrationSaysFirstWhichRightTheLoginLacks(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	admin, err := pgx.ConnectConfig(t.Context(), pool.Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(context.WithoutCancel(t.Context())) }()
	do := func(statement string) {
		t.Helper()
		if _, err := admin.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	do(`create role rightless login password 'none'`)
	do(`create database rightless`)
	t.Cleanup(func() {
		c, err := pgx.ConnectConfig(context.WithoutCancel(t.Context()), pool.Config().ConnConfig)
		if err != nil {
			return
		}
		_, _ = c.Exec(context.WithoutCancel(t.Context()), `drop database rightless with (force)`)
		_, _ = c.Exec(context.WithoutCancel(t.Context()), `drop role rightless`)
		_ = c.Close(context.WithoutCancel(t.Context()))
	})
	at, err := url.Parse(pool.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	at.User, at.Path = url.UserPassword("rightless", "none"), "/rightless"
	// Another installation of this server has made the roles, and this database was never migrated.
	if db, err := postgres.Open(t.Context(), at.String(), postgres.RoleWorker); err == nil || !strings.Contains(err.Error(), "run `tidemark migrate` first") {
		if err == nil {
			db.Close()
		}
		t.Errorf("a worker before migrate: %v", err)
	}
	for _, step := range []struct{ lacks, grant string }{
		{"alter database rightless owner to rightless", `alter database rightless owner to rightless`},
		{"alter role rightless createrole", `alter role rightless createrole`},
	} {
		err := postgres.Migrate(t.Context(), at.String(), slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), step.lacks) {
			t.Fatalf("without the right: %v, want %q in it", err, step.lacks)
		}
		do(step.grant)
	}
	// Other errors come from this server's roles, which belong to another login here.
	if err := postgres.Migrate(t.Context(), at.String(), slog.New(slog.DiscardHandler)); err != nil && strings.Contains(err.Error(), "may not create") {
		t.Errorf("with both rights: %v", err)
	}
}
