package postgres

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/scram"
)

// Login returns the URL of owner's database for a role, and allows the role to log in. The role's password is derived from the owner's
// password, so this is for processes that know that password anyway.
func Login(ctx context.Context, owner, role string) (string, error) {
	cfg, err := pgx.ParseConfig(owner)
	if err != nil {
		return "", fmt.Errorf("DATABASE_URL: %w", redact(err))
	}
	password := ""
	if cfg.Password != "" {
		mac := hmac.New(sha256.New, []byte(cfg.Password))
		_, _ = mac.Write([]byte("tidemark login " + role))
		password = hex.EncodeToString(mac.Sum(nil))
	}
	login, err := withUser(owner, role, password)
	if err != nil {
		return "", err
	}
	return login, AllowLogin(ctx, "DATABASE_URL", owner, login, role)
}

// withUser returns a database URL or connection string, in either form, for another user.
func withUser(address, user, password string) (string, error) {
	if !strings.Contains(address, "://") {
		address += " user=" + user
		if password != "" {
			address += " password=" + password
		}
		return address, nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("DATABASE_URL: it is not a Postgres URL (postgres://user:password@host:port/database)")
	}
	u.User = url.User(user)
	if password != "" {
		u.User = url.UserPassword(user, password)
	}
	q := u.Query() // the form postgres:///database?user=...&password=...
	q.Del("user")
	q.Del("password")
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// AllowLogin lets a role log in with the password of the URL login, which comes from setting. It changes nothing if the role can already
// log in. The server receives only a digest of the password, so logs cannot contain it.
func AllowLogin(ctx context.Context, setting, owner, login, role string) (err error) {
	defer func() { err = mark(err) }()
	cfg, err := pgx.ParseConfig(login)
	if err != nil {
		return fmt.Errorf("%s: %w", setting, redact(err))
	}
	if cfg.User != role {
		return fmt.Errorf("%s: its user is %q and must be %s", setting, cfg.User, role)
	}
	refused := tryLogin(ctx, cfg)
	if state := code(refused); refused == nil || state != "28P01" && state != "28000" {
		return named(setting, refused)
	}
	c, err := pgx.Connect(ctx, owner)
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", redact(err))
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	statement := "alter role " + pgx.Identifier{role}.Sanitize() + " login"
	if cfg.Password != "" {
		verifier, err := scram.Verifier(cfg.Password, scram.Rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", setting, err)
		}
		statement += " password '" + verifier + "'"
	}
	// Roles belong to the server, not to a database: another process may be doing the same.
	for range 10 {
		if _, err = c.Exec(ctx, statement); code(err) != "XX000" {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%s: the login of DATABASE_URL cannot let %s log in; as a superuser: alter role %s login password '...': %w", setting, role, role, err)
	}
	return named(setting, tryLogin(ctx, cfg))
}

func named(setting string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", setting, redact(err))
}

func tryLogin(ctx context.Context, cfg *pgx.ConnConfig) error {
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	return c.Close(context.WithoutCancel(ctx))
}

// LoginError means that a login has more rights than its role.
type LoginError struct {
	Login, Role string
	// Powers are the rights beyond the role.
	Powers []string
}

func (e *LoginError) Error() string {
	return fmt.Sprintf("the login %s can do more than the role %s: %s", e.Login, e.Role, strings.Join(e.Powers, ", "))
}

// powersSQL lists the rights of the connection's login beyond a role: a statement can switch back to the login.
const powersSQL = `
	select session_user::text, array(
		select p.what from pg_roles s cross join lateral (values
			(s.rolsuper, 'it is a superuser'), (s.rolcreaterole, 'it can create roles'), (s.rolcreatedb, 'it can create databases'),
			(s.rolreplication, 'it can replicate'), (s.rolbypassrls, 'it bypasses policies of rows')) as p (has, what)
		where s.rolname = session_user and p.has
		union all
		select 'it is a member of ' || r.rolname from pg_roles r, pg_roles s
		where s.rolname = session_user and r.rolname not in (session_user, $1) and not s.rolsuper and pg_has_role(session_user, r.oid, 'member')
		union all
		select 'it owns the database' from pg_database d
		where d.datname = current_database() and d.datdba = (select oid from pg_roles where rolname = session_user)
		union all
		select 'it owns relations' where exists (
			select from pg_class c where c.relowner = (select oid from pg_roles where rolname = session_user) and c.relpersistence <> 't')
		union all
		select 'it owns functions' where exists (
			select from pg_proc f where f.proowner = (select oid from pg_roles where rolname = session_user))
		union all
		select 'it can create in the schema public' where has_schema_privilege(session_user, 'public', 'create'))`

// OnlyRole rejects connections whose login has more rights than a role, with a *LoginError: a statement could switch back to the login.
func OnlyRole(role string) Option {
	return WithConfig(func(config *pgxpool.Config) {
		config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			e, err := powersOf(ctx, conn, role)
			if err != nil || len(e.Powers) == 0 {
				return err
			}
			return &e
		}
	})
}

// Powers returns the name of the connections' login and its rights beyond a role.
func (db *DB) Powers(ctx context.Context, role string) (e LoginError, err error) {
	err = db.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		e, err = powersOf(ctx, c.Conn(), role)
		return err
	})
	return e, err
}

func powersOf(ctx context.Context, c *pgx.Conn, role string) (LoginError, error) {
	e := LoginError{Role: role}
	if err := c.QueryRow(ctx, powersSQL, role).Scan(&e.Login, &e.Powers); err != nil {
		return e, fmt.Errorf("read the rights of the login: %w", asUnavailable(err))
	}
	return e, nil
}
