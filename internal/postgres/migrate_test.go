package postgres_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/migrations"
)

// The server ends a migration once, as it ends the victim of a deadlock or every session of a server that restarts.
func TestAMigrationThatTheServerEndedIsTriedAgain(t *testing.T) {
	t.Parallel()
	for state, ends := range map[string]string{
		"40P01": `raise exception 'once' using errcode = '40P01'`,
		"57P01": `perform pg_terminate_backend(pg_backend_pid())`,
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			url := pgtest.New(t)
			old, err := goose.NewProvider(goose.DialectPostgres, stdlib.OpenDBFromPool(connect(t, url)), migrations.FS)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := old.Down(t.Context()); err != nil {
				t.Fatal(err)
			}
			// A sequence counts the tries: it keeps its number though the transaction is rolled back.
			err = exec(t, url, "", `
				create schema test;
				create sequence test.tries;
				create function test.once() returns trigger language plpgsql as $$
					begin
						if nextval('test.tries') = 1 then
							`+ends+`;
						end if;
						return new;
					end $$;
				create trigger once before insert on goose_db_version for each row execute function test.once()`)
			if err != nil {
				t.Fatal(err)
			}
			if err := postgres.Migrate(context.WithoutCancel(t.Context()), url, slog.New(slog.DiscardHandler)); err != nil {
				t.Errorf("after it was ended once: %v", err)
			}
			var tries int
			if err := connect(t, url).QueryRow(t.Context(), `select last_value from test.tries`).Scan(&tries); err != nil || tries < 2 {
				t.Errorf("%d tries, %v", tries, err)
			}
		})
	}
}
