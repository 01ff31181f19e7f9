package postgres_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// open returns a fresh database as a role, and its superuser's URL.
func open(t *testing.T, role string) (*postgres.DB, string) {
	t.Helper()
	url := pgtest.New(t)
	return as(t, url, role), url
}

func as(t *testing.T, url, role string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, role)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func instant(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC()
}

// exec runs SQL as the superuser, lowered to a role unless that is empty.
func exec(t *testing.T, url, role, sql string) error {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	if role != "" {
		if _, err := c.Exec(t.Context(), "set role "+role); err != nil {
			t.Fatal(err)
		}
	}
	_, err = c.Exec(t.Context(), sql)
	return err
}

func TestTenProcessesMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	errs := make(chan error, 10)
	for range 10 {
		go func() { errs <- postgres.Migrate(context.Background(), url, slog.New(slog.DiscardHandler)) }()
	}
	for range 10 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	as(t, url, postgres.RoleWorker)
}

func TestForeignAndOldAndNewDatabasesAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, sql, migrate, open string }{
		{"an empty database", `select 1`, "", "run `tidemark migrate`"},
		{"another program's", `create table customers (id int)`, "tables of another program", "run `tidemark migrate`"},
		{
			"a newer program's",
			`create table goose_db_version (version_id bigint, is_applied boolean); insert into goose_db_version values (99999, true);
			create view schema_version as select max(version_id) as version_id from goose_db_version where is_applied;
			grant select on schema_version to public`,
			"use the newer program", "use the newer program",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.Empty(t)
			if err := exec(t, url, "", c.sql); err != nil {
				t.Fatal(err)
			}
			if db, err := postgres.Open(t.Context(), url, postgres.RoleWorker); err == nil {
				db.Close()
				t.Error("opened")
			} else if !strings.Contains(err.Error(), c.open) {
				t.Errorf("open: %q does not say %q", err, c.open)
			}
			err := postgres.Migrate(t.Context(), url, slog.New(slog.DiscardHandler))
			if c.migrate == "" {
				if err != nil {
					t.Errorf("migrate: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.migrate) {
				t.Errorf("migrate: %q does not say %q", err, c.migrate)
			}
		})
	}
}

func TestAReadOnlyServerIsNamed(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	err := exec(t, url, "", `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`)
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{postgres.RoleWorker, postgres.RoleAPI} {
		if err := as(t, url, role).Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("%s: ping: %v", role, err)
		}
	}
	db := as(t, url, postgres.RoleWorker)
	if c, err := db.Checkup(t.Context(), time.Now); err != nil || !c.ReadOnly || c.Replica {
		t.Errorf("the checkup is %+v, %v", c, err)
	}
	if _, err := db.EnsureWorld(t.Context(), "sandbox", nil); postgres.Transient(err) != postgres.ClassReadOnly {
		t.Errorf("a change: %v", err)
	}
	err = postgres.Migrate(t.Context(), url, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "DATABASE_URL: it is read-only") {
		t.Errorf("migrate: %v", err)
	}
}

func TestAPasswordIsNeverInAnError(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://me:hunter2@127.0.0.1:1/x", "postgres://me:hunter2@127.0.0.1:notaport/x"} {
		_, err := postgres.Open(t.Context(), url, postgres.RoleWorker)
		if err == nil {
			t.Fatal("opened")
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

func TestTheRecordRefusesChanges(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	if _, err := db.EnsureWorld(t.Context(), "live", nil); err != nil {
		t.Fatal(err)
	}
	store(t, db, load(t, db, "2026-01-10T00:00:00Z", reading("a", "2026-01-05T00:00:00Z", 1)))
	for _, role := range []string{"", postgres.RoleWorker, postgres.RoleAPI} {
		for _, sql := range []string{
			`update observations set value = 2`, `delete from observations`, `truncate observations`,
			`update fetches set sha256 = repeat('0', 64)`, `delete from fetches`, `truncate fetches, observations`,
			`delete from world`, `truncate world`, `update world set name = 'sandbox'`, `update world set clock_at = now()`,
		} {
			if err := exec(t, url, role, sql); err == nil {
				t.Errorf("as %q: %s was done", role, sql)
			}
		}
	}
	for _, sql := range []string{
		`insert into runs (job, subject, slot, trigger, queue, status, max_attempts) values ('a', 'b', now(), 'manual', 'low', 'due', 1)`,
		`insert into observations (series, observed_at, vintage_at, value, fetch_id) values ('a', now(), now(), 1, 1)`,
		`insert into snapshots (signal, at, status, synthetic, code_version) values ('a', now(), 'live', false, '')`,
		`update snapshots set value = 1`, `update runs set status = 'due'`, `update schedules set paused = true`,
		`insert into world (name) values ('live')`, `create table mine (id int)`,
	} {
		if err := exec(t, url, postgres.RoleAPI, sql); err == nil {
			t.Errorf("the API's role may: %s", sql)
		}
	}
}

func TestWorldIsFixed(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	begin := instant(t, "2026-05-01T00:00:00Z")
	if _, err := db.EnsureWorld(t.Context(), "sandbox", &begin); err != nil {
		t.Fatal(err)
	}
	if w, err := db.EnsureWorld(t.Context(), "sandbox", nil); err != nil || w.ClockAt == nil || !w.ClockAt.Equal(begin) {
		t.Errorf("a second start finds the clock at %v (%v), want %v", w.ClockAt, err, begin)
	}
	if _, err := db.EnsureWorld(t.Context(), "live", nil); err == nil || !strings.Contains(err.Error(), "WORLD asks for live") {
		t.Errorf("a sandbox database serves the live world: %v", err)
	}
	back, on := begin.Add(-time.Hour), begin.Add(time.Hour)
	if err := db.SetClock(t.Context(), &back); err == nil {
		t.Error("the sandbox's clock runs backwards")
	}
	if err := db.SetClock(t.Context(), &on); err != nil {
		t.Error(err)
	}
	if err := db.SetClock(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := db.SetClock(t.Context(), &on); err == nil {
		t.Error("a sandbox that follows the wall clock leaves it again")
	}
}
