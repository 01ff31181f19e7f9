// Package postgres is every line of DML, one file per noun, and the migrations' runner. Rooms hand it their values and get values
// back; nothing outside sees a transaction. Start at Open, then read runs.go, on which everything else stands. Who takes which lock before
// which other is in locks.go.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/telemetry"
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

// DB is a pool of connections that work as one role. It is safe for concurrent use. Statements and transactions that met a transient error
// are done again where that is safe: see pool.
type DB struct {
	pool *pool
	// reads is the same for statements that change nothing: these are done again whatever became of them.
	reads *pool
	// beats are connections that Heartbeat has for itself: handlers that use up the pool must not make their own runs look lost. It needs
	// one; the others are for when that one hangs and is being given up.
	beats *pgxpool.Pool
	known knownSeries
	// setting names where the URL is from.
	setting string
}

// Option adjusts the connections of a DB.
type Option func(*options)

type options struct {
	// config is nil where the URL cannot be read.
	config  *pgxpool.Config
	metrics *telemetry.Metrics
	// setting is the name of the setting that the URL is from.
	setting string
	// connections is the least size of the pool.
	connections int32
}

// WithConfig lets f change how connections are made.
func WithConfig(f func(*pgxpool.Config)) Option {
	return func(o *options) {
		if o.config != nil {
			f(o.config)
		}
	}
}

// WithTracer lets t see every statement, and change its context before it is sent. What else t implements of pgx's tracers is used too.
func WithTracer(t pgx.QueryTracer) Option {
	return WithConfig(func(c *pgxpool.Config) { c.ConnConfig.Tracer = t })
}

// WithMetrics counts transient errors in m.
func WithMetrics(m *telemetry.Metrics) Option {
	return func(o *options) { o.metrics = m }
}

// WithSetting names the setting that the URL is from, for errors. Without it that is DATABASE_URL.
func WithSetting(name string) Option {
	return func(o *options) { o.setting = name }
}

// WithConnections lets the pool have n connections at least, unless the URL says how many (pool_max_conns).
func WithConnections(n int) Option {
	return func(o *options) { o.connections = int32(n) }
}

// Open connects to url as a role and checks that the schema is the one this program was built for.
func Open(ctx context.Context, url, role string, with ...Option) (*DB, error) {
	o, err := configure(url, role, with...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.setting, err)
	}
	db := &DB{setting: o.setting}
	if db.pool, err = o.open(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", o.setting, redact(err))
	}
	db.pool.timeout = apiTimeout
	if role == RoleWorker {
		db.pool.timeout = workerTimeout
	}
	db.reads = db.pool.reading()
	if role == RoleWorker {
		few := o.config.Copy()
		few.MaxConns, few.MinConns, few.MinIdleConns = 3, 0, 0
		if db.beats, err = pgxpool.NewWithConfig(ctx, few); err != nil {
			db.Close()
			return nil, fmt.Errorf("%s: %w", o.setting, redact(err))
		}
	}
	if err := db.checkSchema(ctx); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// limits are how long the server lets a session of a role go on, in milliseconds. A limit ends the statement, not the program: what
// waited for a lock is done again (see pool).
//
// statement_timeout is longer than anything that should take so long: for the API than a client may take to
// receive an answer that is read from the database meanwhile, for workers than the longest merge of decades. Migrations, and
// the program that dumps a backup, connect by themselves, without a limit; rows that are sent ahead of a load have a shorter one (SET LOCAL, in load_stream.go).
//
// lock_timeout is how long a session waits for another's rows, tables or advisory locks.
//
// idle_in_transaction_session_timeout: a client that stops in mid-transaction would hold its row locks for as long as it is stopped.
var limits = map[string]map[string]string{
	RoleWorker: {"statement_timeout": "600000", "lock_timeout": "30000", "idle_in_transaction_session_timeout": "5000"},
	RoleAPI:    {"statement_timeout": "120000", "lock_timeout": "3000", "idle_in_transaction_session_timeout": "5000"},
}

// configure is how the program connects to url as a role.
func configure(url, role string, with ...Option) (options, error) {
	o := options{setting: "DATABASE_URL"}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		for _, w := range with {
			w(&o)
		}
		return o, redact(err)
	}
	params := cfg.ConnConfig.RuntimeParams
	params["role"] = role
	params["application_name"] = strings.ReplaceAll(role, "_", "-")
	params["timezone"] = "UTC"
	maps.Copy(params, limits[role])
	cfg.MaxConnLifetimeJitter = time.Minute
	o.config = cfg
	for _, w := range with {
		w(&o)
	}
	if !strings.Contains(url, "pool_max_conns") {
		cfg.MaxConns = max(cfg.MaxConns, o.connections)
	}
	return o, nil
}

func (o options) open(ctx context.Context) (*pool, error) {
	p, err := pgxpool.NewWithConfig(ctx, o.config)
	if err != nil {
		return nil, err
	}
	return &pool{Pool: p, may: undone, metrics: o.metrics}, nil
}

// Close ends all connections, once those in use are given back.
func (db *DB) Close() {
	db.pool.Close()
	if db.beats != nil {
		db.beats.Close()
	}
}

// Ping asks the server for a sign of life.
func (db *DB) Ping(ctx context.Context) error { return db.pool.Ping(ctx) }

// redact keeps a password out of an error: pgx quotes the whole URL where it cannot be read.
func redact(err error) error {
	if pe := (*pgconn.ParseConfigError)(nil); errors.As(err, &pe) {
		return errors.New("it is no Postgres URL (postgres://user:password@host:port/database)")
	}
	return err
}

func collect[T any](rows pgx.Rows, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

// code returns the SQLSTATE of an error of the server, or "".
func code(err error) string {
	if pe := (*pgconn.PgError)(nil); errors.As(err, &pe) {
		return pe.Code
	}
	return ""
}
