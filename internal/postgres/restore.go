package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// About describes the database of a backup.
type About struct {
	// Schema is the number of the last migration, Major the server's major version.
	Schema int64
	Major  int
	// Roles are this program's roles. A dump of the database grants rights to them but does not create them.
	Roles []string
}

// AboutServer returns the description of this database.
func (db OperatorStore) AboutServer(ctx context.Context) (a About, err error) {
	err = db.reads.QueryRow(ctx, `
		select (select version_id from schema_version), current_setting('server_version_num')::int / 10000,
			array(select rolname::text from pg_roles where rolname like 'tidemark\_%' order by 1)`).Scan(&a.Schema, &a.Major, &a.Roles)
	if err != nil {
		return a, fmt.Errorf("look at the database: %w", err)
	}
	return a, nil
}

// BodyDigests lists the SHA-256 sums of all bodies in the fetch log, in order.
func (db OperatorStore) BodyDigests(ctx context.Context) ([]string, error) {
	rows, err := db.reads.Query(ctx, `select distinct sha256 from fetches order by 1`)
	if err != nil {
		return nil, fmt.Errorf("list the archived bodies: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list the archived bodies: %w", err)
	}
	return list, nil
}

// PrepareRestore prepares the database at url for a restore and returns the server's major version. The database must be empty. A dump
// grants rights to roles, which belong to the server and are not in the dump. PrepareRestore creates the missing roles and makes the user
// of url a member of each. A killed restore may still be ending in the server: PrepareRestore waits for it.
func PrepareRestore(ctx context.Context, url string, roles []string) (major int, err error) {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, fmt.Errorf("DATABASE_URL: %w", redact(err))
	}
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()
	if err := awaitRestore(ctx, c); err != nil {
		return 0, err
	}
	var tables int
	err = c.QueryRow(ctx, `
		select current_setting('server_version_num')::int / 10000, (select count(*) from pg_tables where schemaname = 'public')`).Scan(&major, &tables)
	if err != nil {
		return 0, fmt.Errorf("look at the database: %w", err)
	}
	if tables > 0 {
		return 0, fmt.Errorf("the database has %d tables: restore into an empty one (createdb), and name it by DATABASE_URL", tables)
	}
	for _, role := range roles {
		name := pgx.Identifier{role}.Sanitize()
		var there, member bool
		if err := c.QueryRow(ctx, `
			select exists (select from pg_roles where rolname = $1),
				exists (select from pg_roles where rolname = $1 and pg_has_role(current_user, oid, 'member'))`, role).Scan(&there, &member); err != nil {
			return 0, fmt.Errorf("look for the role %s: %w", role, err)
		}
		if !there {
			if _, err := c.Exec(ctx, `create role `+name+` nologin`); err != nil && code(err) != "42710" {
				return 0, fmt.Errorf("make the role %s (the user of DATABASE_URL needs CREATEROLE, or make it first): %w", role, err)
			}
		}
		if !member {
			if _, err := c.Exec(ctx, `grant `+name+` to current_user`); err != nil {
				return 0, fmt.Errorf("let the user of DATABASE_URL work as %s: %w", role, err)
			}
		}
	}
	return major, nil
}

// MoveCursorsSQL moves the cursors of pushes on by the seconds since 1970. It must be the last statement of the transaction that restores a
// database. docs/operator.md has the same statement for a recovery to a point in time.
//
// The changes that were pushed after the backup are lost, but their receivers know their cursors and the message ids that are made of them. They would drop a later
// change with the same one as a duplicate. The jump is longer than the number of changes since the backup, at one change a second, and each restore of
// one backup jumps to another place. Readers continue over the jump, because they ask for the changes after their cursor. An old backup has no
// cursors.
const MoveCursorsSQL = `do $move$
begin
	if to_regclass('public.push_head') is not null then
		update public.push_head set last = last + extract(epoch from clock_timestamp())::bigint;
	end if;
end
$move$`

// LockRestoreSQL excludes other restores of the database until the transaction that restores ends. It must be the first statement of it: two
// restores that begin at once both find the database empty.
const LockRestoreSQL = `do $lock$
begin
	if not pg_try_advisory_xact_lock(hashtextextended('restore', 0)) then
		raise exception 'another restore fills this database: wait until it ends, or stop it';
	end if;
	if exists (select from pg_catalog.pg_tables where schemaname = 'public') then
		raise exception 'another restore has filled this database';
	end if;
end
$lock$`

// RestoreName is the application name of the session that restores.
const RestoreName = "tidemark restore"

// restoreWait is how long PrepareRestore waits for the session of another restore.
const restoreWait = 20 * time.Second

// awaitRestore waits until no other restore fills the database of a connection.
func awaitRestore(ctx context.Context, c *pgx.Conn) error {
	patience := time.After(restoreWait)
	for {
		var pid *int
		err := c.QueryRow(ctx, `
			select min(pid) from pg_stat_activity where datname = current_database() and application_name = $1`, RestoreName).Scan(&pid)
		switch {
		case err != nil:
			return fmt.Errorf("look for another restore: %w", err)
		case pid == nil:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-patience:
			return fmt.Errorf("another restore fills this database (process %d of the server): wait until it ends, or stop it", *pid)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
