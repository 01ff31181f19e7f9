package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib" // goose uses database/sql
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"tidemark/migrations"
)

// Migrate brings the database at url to this program's schema. Several processes can call it at the same time: one holds an advisory lock
// and works, the others wait. It returns an error and changes nothing if the database has tables of another program, or was migrated by a
// newer Tidemark.
func Migrate(ctx context.Context, url string, log *slog.Logger) (err error) {
	defer func() { err = mark(err) }()
	db, err := connectOwner(ctx, url, lockTimeout)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if err := refuseReadOnly(ctx, db); err != nil {
		return err
	}
	if err := refuseForeign(ctx, db); err != nil {
		return err
	}
	p, err := provider(db)
	if err != nil {
		return err
	}
	if err := up(ctx, p, log); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, revokeSpaceSQL); err != nil {
		return fmt.Errorf("revoke the rights to fill the disk: %w", err)
	}
	return nil
}

// Every login of a database may make temporary tables and large objects, and so fill the disk. The workers need temporary tables, and no role
// needs large objects. This is no migration: a dump has no rights on the database itself, so a restored one has lost the change. Only the owner
// of the database may change the first, and only a superuser the second: Checkup tells what remains. Another process may be changing
// the same (XX000).
const revokeSpaceSQL = `
do $$
declare
	statement text;
begin
	for statement in
		select unnest(array[
			format('grant temporary on database %I to tidemark_worker', current_database()),
			format('revoke temporary on database %I from public', current_database())])
		where has_database_privilege('tidemark_api', current_database(), 'temporary')
		union all
		select format('revoke execute on function %s from public', f)
		from unnest(array['lo_creat(integer)', 'lo_create(oid)', 'lo_from_bytea(oid, bytea)']::regprocedure[]) as f
		where has_function_privilege('tidemark_api', f, 'execute')
	loop
		begin
			execute statement;
		exception when insufficient_privilege or sqlstate 'XX000' then
			null;
		end;
	end loop;
end
$$`

// CheckWorld returns an error if the database at url belongs to another world. It works before the first migration and before pending ones.
// A database without a schema or without a world is valid.
func CheckWorld(ctx context.Context, url, name string) (err error) {
	defer func() { err = mark(err) }()
	db, err := connectOwner(ctx, url, 0)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var ours bool
	err = db.QueryRowContext(ctx, `
		select to_regclass('public.goose_db_version') is not null and to_regclass('public.world') is not null`).Scan(&ours)
	if err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	if !ours {
		return nil // Migrate refuses a database of another program
	}
	var has string
	switch err := db.QueryRowContext(ctx, `select name from public.world`).Scan(&has); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("read the world: %w", err)
	}
	return sameWorld("DATABASE_URL", has, name)
}

// connectOwner connects to the database of DATABASE_URL as its owner. Statements of the connection wait for a lock no longer than wait; 0
// means no limit.
func connectOwner(ctx context.Context, url string, wait time.Duration) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", redact(err))
	}
	cfg.RuntimeParams["lock_timeout"] = strconv.FormatInt(wait.Milliseconds(), 10)
	db := stdlib.OpenDB(*cfg)
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("DATABASE_URL: %w", redact(err))
	}
	return db, nil
}

const (
	// lockTimeout is how long a migration waits for a table that is in use. Other sessions that need the table wait behind it as long; then
	// the migration gives up and lets them pass.
	lockTimeout = 2 * time.Second
	// lockTries limits the attempts, with pauses of lockPause: half an hour in all.
	lockTries = 360
	lockPause = 3 * time.Second
)

// up applies the missing migrations. Each is its own transaction, together with the note that it was applied. So a migration may be tried
// again after a transient error: a table in use, a deadlock, a server that restarts. The note also reports whether a lost COMMIT took
// effect.
func up(ctx context.Context, p *goose.Provider, log *slog.Logger) error {
	count, took := 0, time.Duration(0)
	for try := 1; ; try++ {
		done, err := p.Up(ctx)
		if part, ok := errors.AsType[*goose.PartialError](err); ok {
			done = part.Applied
		}
		for _, r := range done {
			log.DebugContext(ctx, "migrated", "version", r.Source.Version, "took", r.Duration)
			took += r.Duration
		}
		if count += len(done); err == nil {
			if count > 0 {
				log.InfoContext(ctx, "the database was migrated", "migrations", count, "took", took)
			}
			return nil
		}
		if ctx.Err() != nil { // Postgres rolls the open migration back, and the next call continues
			return fmt.Errorf("migrate: %w", context.Cause(ctx))
		}
		class := interruption(err)
		if class == "" || try == lockTries {
			return fmt.Errorf("migrate: %w", err)
		}
		log.WarnContext(ctx, "a migration was interrupted, it is tried again", "class", class, "try", try, "in", lockPause, "err", err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("migrate: %w", err)
		case <-time.After(lockPause):
		}
	}
}

// interruption is classify for an error of database/sql, which hides a broken connection behind its own errors.
func interruption(err error) (class string) {
	if class = classify(err); class == "" && (errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)) {
		return ClassConnection
	}
	return class
}

func provider(db *sql.DB) (*goose.Provider, error) {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS, goose.WithSessionLocker(locker))
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	return p, nil
}

// refuseReadOnly returns an error if the server accepts no changes.
func refuseReadOnly(ctx context.Context, db *sql.DB) error {
	var readOnly bool
	if err := db.QueryRowContext(ctx, readOnlySQL).Scan(&readOnly); err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	if readOnly {
		return fmt.Errorf("DATABASE_URL: %w", errReadOnly)
	}
	return nil
}

func refuseForeign(ctx context.Context, db *sql.DB) error {
	var tables int
	var ours bool
	err := db.QueryRowContext(ctx, `
		select count(*), coalesce(bool_or(tablename = 'goose_db_version'), false)
		from pg_tables where schemaname = 'public'`).Scan(&tables, &ours)
	if err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	if tables > 0 && !ours {
		return errors.New("DATABASE_URL names a database with tables of another program: give Tidemark its own database")
	}
	if !ours {
		return checkRights(ctx, db)
	}
	var have int64
	err = db.QueryRowContext(ctx, versionSQL).Scan(&have)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	want, err := schemaVersion()
	if err != nil {
		return err
	}
	return newer(have, want)
}

const versionSQL = `select coalesce(max(version_id), 0) from goose_db_version where is_applied`

func newer(have, want int64) error {
	if have > want {
		return fmt.Errorf("the database has schema %d and this program knows only %d: use the newer program", have, want)
	}
	return nil
}

// checkRights returns an error that names the right that a login lacks for the first migration, before anything is changed.
func checkRights(ctx context.Context, db *sql.DB) error {
	var login, database string
	var tables, roles bool
	err := db.QueryRowContext(ctx, `
		select current_user, current_database(), has_schema_privilege('public', 'create'),
			(select rolsuper or rolcreaterole from pg_roles where rolname = current_user)`).Scan(&login, &database, &tables, &roles)
	switch {
	case err != nil:
		return fmt.Errorf("read the rights of the login: %w", err)
	case !tables:
		return fmt.Errorf("the login %[1]s of DATABASE_URL may not create tables: alter database %[2]s owner to %[1]s", login, database)
	case !roles:
		return fmt.Errorf("the login %[1]s of DATABASE_URL may not create the roles tidemark_worker and tidemark_api: alter role %[1]s createrole", login)
	}
	return nil
}

// checkSchema returns an error if the database does not have this program's schema version. It runs before other statements.
func (db *DB) checkSchema(ctx context.Context) error {
	want, err := schemaVersion()
	if err != nil {
		return err
	}
	var have int64
	// An operator who starts the program must see at once that the database is unavailable: do not retry.
	err = db.pool.Pool.QueryRow(ctx, `select version_id from schema_version`).Scan(&have)
	switch {
	case code(err) == "42P01" || errors.Is(err, pgx.ErrNoRows):
		return errors.New("the database has no Tidemark schema, or an older one: run `tidemark migrate`")
	case code(err) == "22023": // the role of the connection does not exist on this server
		return errors.New("the database was never migrated: run `tidemark migrate`")
	case code(err) == "42501":
		return fmt.Errorf("the login of %s may not work as the program's roles: run `tidemark migrate` first; if it is no login of "+
			"the program, also grant tidemark_worker, tidemark_api to it: %w", db.setting, err)
	case err != nil:
		return fmt.Errorf("%s: connect to the database: %w", db.setting, redact(err))
	case have < want:
		return fmt.Errorf("the database has schema %d and this program wants %d: run `tidemark migrate`", have, want)
	}
	return newer(have, want)
}

// schemaVersion returns the highest migration in this program.
func schemaVersion() (int64, error) {
	names, err := migrations.FS.ReadDir(".")
	if err != nil {
		return 0, fmt.Errorf("read the migrations: %w", err)
	}
	var v int64
	for _, n := range names {
		k, err := goose.NumericComponent(n.Name())
		if err != nil {
			return 0, fmt.Errorf("read the migrations: %w", err)
		}
		v = max(v, k)
	}
	return v, nil
}

// Migration is a step of the schema.
type Migration struct {
	Version int64
	Name    string
	// AppliedAt is nil if the migration is pending.
	AppliedAt *time.Time
}

// Migrations lists all migrations that this program knows, in order. It changes nothing. As in Migrate, a database of another program or of
// a newer Tidemark is an error.
func Migrations(ctx context.Context, url string) ([]Migration, error) {
	db, err := connectOwner(ctx, url, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	if err := refuseForeign(ctx, db); err != nil {
		return nil, err
	}
	names, err := migrations.FS.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	applied := map[int64]time.Time{}
	var there bool
	if err := db.QueryRowContext(ctx, `select to_regclass('public.goose_db_version') is not null`).Scan(&there); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	if there {
		if applied, err = appliedAt(ctx, db); err != nil {
			return nil, err
		}
	}
	var list []Migration
	for _, n := range names {
		m := Migration{Name: n.Name()}
		if m.Version, err = goose.NumericComponent(n.Name()); err != nil {
			return nil, fmt.Errorf("read the migrations: %w", err)
		}
		if at, ok := applied[m.Version]; ok {
			at = at.UTC()
			m.AppliedAt = &at
		}
		list = append(list, m)
	}
	return list, nil
}

func appliedAt(ctx context.Context, db *sql.DB) (map[int64]time.Time, error) {
	rows, err := db.QueryContext(ctx, `select version_id, tstamp from goose_db_version where is_applied`)
	if err != nil {
		return nil, fmt.Errorf("read the schema's version: %w", err)
	}
	defer func() { _ = rows.Close() }()
	applied := map[int64]time.Time{}
	for rows.Next() {
		var version int64
		var at time.Time
		if err := rows.Scan(&version, &at); err != nil {
			return nil, fmt.Errorf("read the schema's version: %w", err)
		}
		applied[version] = at
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the schema's version: %w", err)
	}
	return applied, nil
}
