// Package postgres is every line of DML, one file per noun, and the migrations' runner. Rooms hand it their values and get values
// back; nothing outside sees a transaction. Start at Open, then read runs.go, on which everything else stands. Who takes which lock before
// which other is in locks.go.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The roles that the program works as. Each logs in by itself (login.go); a connection with another login is lowered to one, and a
// statement could return to that login, so the API takes none that can do more (OnlyRole).
const (
	RoleWorker = "tidemark_worker"
	RoleAPI    = "tidemark_api"
)

// The kinds of error that callers tell apart.
var (
	// ErrFenced: the attempt was given up, and another one has its place. Nothing was changed.
	ErrFenced = errors.New("this attempt was superseded")
	// ErrNotFound: there is no such row.
	ErrNotFound = errors.New("not found")
	// ErrUnderWay: the run that was asked for is to be done, or being done, already.
	ErrUnderWay = errors.New("it is under way already")
	// ErrExists: there is such a row.
	ErrExists = errors.New("there is such a row")
	// ErrStale: the row was changed since it was read.
	ErrStale = errors.New("the row was changed by another")
)

// DB is a pool of connections that work as one role. It is safe for concurrent use.
type DB struct {
	pool *pgxpool.Pool
}

// Option adjusts the connections of a DB.
type Option func(*pgxpool.Config)

// WithTracer lets t see every statement, and change its context before it is sent. What else t implements of pgx's tracers is used too.
func WithTracer(t pgx.QueryTracer) Option {
	return func(c *pgxpool.Config) { c.ConnConfig.Tracer = t }
}

// Open connects to url as a role and checks that the schema is the one this program was built for.
//
// A client that stops in mid-transaction would hold its row locks for as long as it is stopped, so the server ends such a session
// after five seconds.
func Open(ctx context.Context, url, role string, options ...Option) (*DB, error) {
	cfg, err := configure(url, role, options...)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", redact(err))
	}
	db := &DB{pool: pool}
	if err := db.checkSchema(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return db, nil
}

// configure is how the program connects to url as a role.
func configure(url, role string, options ...Option) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, redact(err)
	}
	params := cfg.ConnConfig.RuntimeParams
	params["role"] = role
	params["application_name"] = strings.ReplaceAll(role, "_", "-")
	params["timezone"] = "UTC"
	params["idle_in_transaction_session_timeout"] = "5000"
	cfg.MaxConnLifetimeJitter = time.Minute
	for _, o := range options {
		o(cfg)
	}
	return cfg, nil
}

// Close ends all connections, once those in use are given back.
func (db *DB) Close() { db.pool.Close() }

// Ping asks the server for a sign of life.
func (db *DB) Ping(ctx context.Context) error { return db.pool.Ping(ctx) }

// redact keeps a password out of an error: pgx quotes the whole URL where it cannot be read.
func redact(err error) error {
	if pe := (*pgconn.ParseConfigError)(nil); errors.As(err, &pe) {
		return errors.New("it is no Postgres URL (postgres://user:password@host:port/database)")
	}
	return err
}

// tx runs f in a transaction and commits when it returns nil.
func (db *DB) tx(ctx context.Context, f func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db.pool, f)
}

func collect[T any](rows pgx.Rows, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

// Lasting tells of an error of the server that it will be the same the next time: a row or a statement that it refuses, a right that is
// missing, a disk that is full.
func Lasting(err error) bool {
	state := code(err)
	return strings.HasPrefix(state, "22") || strings.HasPrefix(state, "23") || strings.HasPrefix(state, "42") || state == "53100"
}

// code returns the SQLSTATE of an error of the server, or "".
func code(err error) string {
	if pe := (*pgconn.PgError)(nil); errors.As(err, &pe) {
		return pe.Code
	}
	return ""
}
