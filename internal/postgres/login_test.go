package postgres_test

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
)

// loginAs connects with the login of a role and nothing else.
func loginAs(t *testing.T, url, role string) *pgx.Conn {
	t.Helper()
	login, err := postgres.Login(t.Context(), url, role)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := pgx.ParseConfig(login)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // several statements at once
	c, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	return c
}

// climbs are statements that a caller with the API's role could run. None gives more rights than the role has.
var climbs = []string{
	`select set_config('role', 'none', false)`,
	`select set_config('role', 'tidemark', false)`,
	`select set_config('role', 'tidemark_worker', false)`,
	`select set_config('role', 'pg_read_all_data', false)`,
	`select set_config('session_authorization', 'tidemark', false)`,
	`select set_config('session_authorization', 'default', false)`,
	`select set_config('is_superuser', 'on', false)`,
	`set role none`,
	`set role tidemark`,
	`set role tidemark_worker`,
	`set local role tidemark_worker`,
	`reset role`,
	`set session authorization tidemark`,
	`set session authorization tidemark_worker`,
	`reset session authorization`,
	`reset all`,
	`discard all`,
	`alter role tidemark_api superuser`,
	`alter role tidemark_api createrole`,
	`alter role tidemark_worker password 'mine'`,
	`alter role tidemark_api set role = 'tidemark_worker'`,
	`alter role tidemark_api in database template1 set role = 'tidemark_worker'`,
	`create role mine superuser login`,
	`grant tidemark_worker to tidemark_api`,
	`grant tidemark to tidemark_api`,
	`grant pg_execute_server_program to tidemark_api`,
	`grant select on picks to tidemark_api`,
	`create function mine() returns int language sql security definer as 'select 1'`,
	`create function pg_temp.mine() returns text language plpgsql security definer as 'begin return current_user; end'; select set_config('mine.who', pg_temp.mine(), false)`,
	`create or replace function world_now() returns timestamptz language sql as 'select now()'`,
	`alter function world_now() owner to tidemark_api`,
	`do $$ begin execute 'set role tidemark_worker'; end $$`,
	`do $$ begin perform set_config('role', 'none', false); end $$`,
	`copy (select 1) to program 'id'`,
	`create temp table mine (line text); copy mine from program 'id'`,
	`copy (select 1) to '/tmp/tidemark-climb'`,
	`select lo_import('/etc/passwd')`,
	`select pg_read_file('/etc/passwd')`,
	`select pg_ls_dir('.')`,
	`select rolpassword from pg_authid`,
	`alter system set shared_preload_libraries = 'mine'`,
	`load '/tmp/mine.so'`,
	`create function mine() returns int language c as '/tmp/mine.so', 'mine'`,
	`create extension dblink`,
	`create extension plpython3u`,
	`create event trigger mine on ddl_command_start execute function append_only()`,
	`create trigger mine after insert on keys execute function append_only()`,
	`create rule mine as on select to announced_picks do instead select * from picks`,
	`create or replace view announced_picks as select * from picks`,
	`create schema mine authorization tidemark`,
	`create table public.mine (x int)`,
	`alter table picks owner to tidemark_api`,
	`alter table picks disable trigger all`,
	`alter default privileges for role tidemark grant all on tables to tidemark_api`,
	`reassign owned by tidemark to tidemark_api`,
	`alter database postgres owner to tidemark_api`,
	`security label on role tidemark_api is 'mine'`,
	`create subscription mine connection 'host=127.0.0.1' publication mine`,
	`create server mine foreign data wrapper postgres_fdw`,
	`select pg_reload_conf()`,
	`set session_replication_role = 'replica'`,
	`prepare climb as select set_config('role', 'none', false); execute climb`,
}

func TestNoStatementClimbsFromTheAPIsRole(t *testing.T) {
	t.Parallel()
	url := pgtest.Server(t).URL() // the rights of a role's logins belong to the server
	c := loginAs(t, url, postgres.RoleAPI)
	look := func(c *pgx.Conn, s string, refused error) {
		t.Helper()
		var session, current, super, said string
		var picks, writes bool
		err := c.QueryRow(t.Context(), `
			select session_user, current_user, current_setting('is_superuser'), coalesce(current_setting('mine.who', true), ''),
				has_table_privilege('picks', 'select'),
				has_table_privilege('picks', 'insert, update, delete') or has_table_privilege('keys', 'insert, update, delete')`).
			Scan(&session, &current, &super, &said, &picks, &writes)
		if err != nil {
			t.Fatal(err)
		}
		if session != postgres.RoleAPI || current != postgres.RoleAPI || super != "off" || picks || writes || said != "" && said != postgres.RoleAPI {
			t.Errorf("%s (%v): the session is %s, works as %s, superuser %s, reads picks %v, writes %v, its function worked as %s",
				s, refused, session, current, super, picks, writes, said)
		}
	}
	for _, s := range climbs {
		_, refused := c.Exec(t.Context(), s)
		look(c, s, refused)
		// A statement that succeeds may only return to the role itself, or change the session's own state.
		harmless := strings.HasPrefix(s, "reset") || strings.HasPrefix(s, "discard") || strings.Contains(s, "'none'") || strings.Contains(s, "role none") ||
			strings.Contains(s, "'default'") || strings.Contains(s, "pg_temp.mine") || strings.Contains(s, "set role =")
		if refused == nil && !harmless {
			t.Errorf("%s was done", s)
		}
		_, _ = c.Exec(t.Context(), `rollback`)
	}
	look(loginAs(t, url, postgres.RoleAPI), "the next login", nil)
}

// A function that runs as its owner is as safe as its search path: a caller that chooses the path chooses the tables.
func TestEachFunctionThatWorksAsItsOwnerHasAPathAndNoOpenRight(t *testing.T) {
	t.Parallel()
	c, err := pgx.Connect(t.Context(), pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	rows, err := c.Query(t.Context(), `
		select p.oid::regprocedure::text from pg_proc p
		where p.pronamespace = 'public'::regnamespace and p.prosecdef
			and (not coalesce(p.proconfig::text like '%search_path%pg_temp%', false)
				or has_function_privilege('public', p.oid, 'execute'))`)
	if err != nil {
		t.Fatal(err)
	}
	open, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if len(open) > 0 {
		t.Errorf("without a path, or for everybody: %v", open)
	}
}

// A login may make temporary tables. If it could put the triggers of our tables on one of its own, rows of that would enter the log.
func TestNoLoginPutsATriggerOfOursOnATableOfItsOwn(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	for _, role := range []string{postgres.RoleAPI, postgres.RoleWorker} {
		c := loginAs(t, url, role)
		for _, function := range []string{"log_fetches", "log_record"} {
			_, err := c.Exec(t.Context(), `
				create temporary table mine (like public.fetches);
				create trigger mine after insert on mine referencing new table as added for each statement execute function `+function+`()`)
			if pe, ok := errors.AsType[*pgconn.PgError](err); !ok || pe.Code != "42501" { // insufficient_privilege
				t.Errorf("%s puts %s on a table of its own: %v", role, function, err)
			}
		}
	}
}

func TestTheAPITakesNoLoginThatCanDoMore(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	// A lowered superuser can climb: the check exists for this case.
	lowered, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	lowered.RuntimeParams["role"] = postgres.RoleAPI
	c, err := pgx.ConnectConfig(t.Context(), lowered)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	var super string
	if err := c.QueryRow(t.Context(), `select current_setting('is_superuser')`).Scan(&super); err != nil || super != "off" {
		t.Fatalf("lowered: superuser %s, %v", super, err)
	}
	if _, err := c.Exec(t.Context(), `select set_config('role', 'none', false)`); err != nil {
		t.Fatal(err)
	}
	if err := c.QueryRow(t.Context(), `select current_setting('is_superuser')`).Scan(&super); err != nil || super != "on" {
		t.Fatalf("climbed: superuser %s, %v", super, err)
	}

	worker, err := postgres.Login(t.Context(), url, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	api, err := postgres.Login(t.Context(), url, postgres.RoleAPI)
	if err != nil {
		t.Fatal(err)
	}
	db, err := postgres.Open(t.Context(), url, postgres.RoleAPI, postgres.OnlyRole(postgres.RoleAPI))
	if le, ok := errors.AsType[*postgres.LoginError](err); !ok || le.Login != "tidemark" || !strings.Contains(le.Error(), "superuser") {
		if err == nil {
			db.Close()
		}
		t.Errorf("the owner's login: %v", err)
	}
	if db, err := postgres.Open(t.Context(), worker, postgres.RoleAPI, postgres.OnlyRole(postgres.RoleAPI)); err == nil {
		db.Close()
		t.Error("the worker's login was taken")
	}
	for login, role := range map[string]string{api: postgres.RoleAPI, worker: postgres.RoleWorker} {
		db, err := postgres.Open(t.Context(), login, role, postgres.OnlyRole(role))
		if err != nil {
			t.Errorf("%s: %v", role, err)
			continue
		}
		db.Close()
	}
}

// An intruder in the API could fill the disk with temporary tables and large objects, which every login of a database may make. The workers
// need temporary tables.
func TestTheAPIsLoginCannotFillTheDisk(t *testing.T) {
	t.Parallel()
	s := pgtest.Server(t)
	fills := []string{
		`create temporary table mine as select generate_series(1, 1000)`, `select lo_create(0)`, `select lo_creat(-1)`, `select lo_from_bytea(0, 'mine')`,
	}
	for _, owner := range []struct {
		name, url string
		refused   int
	}{
		{"a superuser", s.URL(), len(fills)},
		{"an owner without more rights", ownDatabase(t, s.URL()), 1}, // only a superuser may change the functions of Postgres
	} {
		for range 2 {
			if err := postgres.Migrate(t.Context(), owner.url, slog.New(slog.DiscardHandler)); err != nil {
				t.Fatalf("%s: %v", owner.name, err)
			}
		}
		api, worker, refused := loginAs(t, owner.url, postgres.RoleAPI), loginAs(t, owner.url, postgres.RoleWorker), 0
		for _, fill := range fills {
			if _, err := api.Exec(t.Context(), fill); err != nil && strings.Contains(err.Error(), "permission denied") {
				refused++
			}
		}
		if refused != owner.refused {
			t.Errorf("%s: %d of %d ways are refused, want %d", owner.name, refused, len(fills), owner.refused)
		}
		if _, err := worker.Exec(t.Context(), fills[0]); err != nil {
			t.Errorf("%s: a worker: %v", owner.name, err)
		}
		c, err := as(t, owner.url, postgres.RoleWorker).Checkup(t.Context(), time.Now)
		if err != nil || len(c.Filling) != len(fills)-owner.refused {
			t.Errorf("%s: the check of the database names %q, %v; want %d", owner.name, c.Filling, err, len(fills)-owner.refused)
		}
	}
}

// ownDatabase makes a database on a server, and returns its URL for an owner who may create roles and no more.
func ownDatabase(t *testing.T, server string) string {
	t.Helper()
	for _, statement := range []string{
		`create role plain login createrole password 'plain'`, `grant tidemark_worker, tidemark_api to plain with admin option`, `create database plain owner plain`,
	} {
		if err := exec(t, server, "", statement); err != nil {
			t.Fatal(err)
		}
	}
	at, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	at.User, at.Path = url.UserPassword("plain", "plain"), "/plain"
	return at.String()
}

func TestALoginThatBecameAMemberOfMoreIsRefused(t *testing.T) {
	t.Parallel()
	s := pgtest.Server(t) // roles belong to the server
	url := s.URL()
	login, err := postgres.Login(t.Context(), url, postgres.RoleAPI)
	if err != nil {
		t.Fatal(err)
	}
	for _, grant := range []string{`grant tidemark_worker to tidemark_api`, `alter role tidemark_api createrole`, `alter role tidemark_api bypassrls`} {
		db, err := postgres.Open(t.Context(), login, postgres.RoleAPI, postgres.OnlyRole(postgres.RoleAPI))
		if err != nil {
			t.Fatal(err)
		}
		if err := exec(t, url, "", grant); err != nil {
			t.Fatal(err)
		}
		again, err := postgres.Open(t.Context(), login, postgres.RoleAPI, postgres.OnlyRole(postgres.RoleAPI))
		if err == nil {
			again.Close()
			t.Errorf("after %s the login is taken", grant)
		}
		e, err := db.Powers(t.Context(), postgres.RoleAPI)
		if err != nil || len(e.Powers) != 1 {
			t.Errorf("after %s: %v, %v", grant, e, err)
		}
		db.Close()
		for _, undo := range []string{`revoke tidemark_worker from tidemark_api`, `alter role tidemark_api nocreaterole nobypassrls`} {
			if err := exec(t, url, "", undo); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Another migrate sets another password, and the old password no longer works.
	other := strings.Replace(login, postgres.RoleAPI+":", postgres.RoleAPI+":x", 1)
	if err := postgres.AllowLogin(t.Context(), "DATABASE_API_URL", url, other, postgres.RoleAPI); err != nil {
		t.Fatal(err)
	}
	if db, err := postgres.Open(t.Context(), login, postgres.RoleAPI); err == nil {
		db.Close()
		t.Error("the old password opens still")
	}
	if err := postgres.Migrate(t.Context(), url, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
}

func TestTheAPITakesNoTurnOfTheWriters(t *testing.T) {
	t.Parallel()
	c := loginAs(t, pgtest.Server(t).URL(), postgres.RoleAPI)
	for _, s := range []string{`select record_lock()`, `select forecast_lock()`, `select claims_lock('{}')`} {
		if _, err := c.Exec(t.Context(), s); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %v", s, err)
		}
	}
}
