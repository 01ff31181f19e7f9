package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
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

// Functions of the database make runs of some jobs, and repeat the queue and the attempts of their policies.
func TestTheFunctionsThatMakeRunsRepeatThePolicies(t *testing.T) {
	t.Parallel()
	rows, err := pgtest.Pool(t).Query(t.Context(), `select proname, prosrc from pg_proc where prosrc like '%run_soon(%'`)
	if err != nil {
		t.Fatal(err)
	}
	made := regexp.MustCompile(`run_soon\('(\w+)', [^,]+, '(\w+)', (\d+),`)
	var jobs []string
	var name, body string
	if _, err := pgx.ForEachRow(rows, []any{&name, &body}, func() error {
		m := made.FindStringSubmatch(body)
		if m == nil {
			return fmt.Errorf("the job that %s makes due is not known:\n%s", name, body)
		}
		if p := task.Policies[m[1]]; m[2] != p.Queue || m[3] != strconv.Itoa(p.MaxAttempts) {
			t.Errorf("%s makes a run in the queue %s with %s attempts, the policy of %s says %+v", name, m[2], m[3], m[1], p)
		}
		jobs = append(jobs, m[1])
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(jobs)
	if want := []string{task.Claims, task.Processor, task.Webhook, task.X402}; !slices.Equal(jobs, want) {
		t.Errorf("the functions make runs of %v, want %v", jobs, want)
	}
}
