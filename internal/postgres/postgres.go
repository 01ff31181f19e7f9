// Package postgres contains all DML statements of the program, one store per noun, and runs the migrations. Other packages pass and receive
// values; no transaction is visible outside. Start at Open, then read runs.go, which everything else builds on. locks.go defines the order
// of locks.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/telemetry"
)

// The roles that the program works as. Each role can log in directly (login.go). A connection with another login switches to one of them. A
// statement could switch back to that login, so the API rejects logins with more rights (OnlyRole).
const (
	RoleWorker = "tidemark_worker"
	RoleAPI    = "tidemark_api"
)

// The errors that callers distinguish.
var (
	// ErrFenced means that the attempt was superseded by another one. Nothing was changed.
	ErrFenced = errors.New("this attempt was superseded")
	// ErrNotFound means that the row does not exist.
	ErrNotFound = errors.New("not found")
	// ErrUnderWay means that the requested run is already due or running.
	ErrUnderWay = errors.New("it is under way already")
	// ErrExists means that the row already exists.
	ErrExists = errors.New("there is such a row")
	// ErrStale means that the row was changed since it was read.
	ErrStale = errors.New("the row was changed by another")
)

// DB is a pool of connections that work as one role, and the stores that share it. Each store has the statements of one noun, and its comment
// says which tables these read and write. The comments leave out what triggers do, and the row of runs that fences lock and count in. DB is
// safe for concurrent use. Statements and transactions that failed with a transient error are retried if that is safe: see pool.
type DB struct {
	*connections
	RunStore
	WorldStore
	FetchStore
	ObservationStore
	QuarantineStore
	SnapshotStore
	ForecastStore
	BackfillStore
	EquityStore
	RecordStore
	OutsideRecordStore
	LogStore
	PublicationStore
	DatasetStore
	KeyStore
	PaymentStore
	PushStore
	OperatorStore
}

// connections holds the connections that the stores of a DB share.
type connections struct {
	pool *pool
	// reads is the same pool for statements that change nothing: these can always be retried.
	reads *pool
	// beats are separate connections for Heartbeat: if handlers use up the pool, their runs must not look lost. One connection is enough;
	// the others replace it while a hanging one is closed.
	beats   *pgxpool.Pool
	known   knownSeries
	tracks  keptTracks
	markets marketCache
	// disconnected counts the listeners that have lost their connection.
	disconnected atomic.Int32
	// setting is the name of the setting with the URL.
	setting string
	// unwatch ends the watch of WithAnswerTimeout; nil if none exists. gone is set once the server was found silent.
	unwatch func()
	gone    atomic.Bool
}

// newDB returns the stores that use c.
func newDB(c *connections) *DB {
	return &DB{
		c,
		RunStore{c},
		WorldStore{c},
		FetchStore{c},
		ObservationStore{c},
		QuarantineStore{c},
		SnapshotStore{c},
		ForecastStore{c},
		BackfillStore{c},
		EquityStore{c},
		RecordStore{c},
		OutsideRecordStore{c},
		LogStore{c},
		PublicationStore{c},
		DatasetStore{c},
		KeyStore{c},
		PaymentStore{c},
		PushStore{c},
		OperatorStore{c},
	}
}

// Option adjusts the connections of a DB.
type Option func(*options)

type options struct {
	// config is nil if the URL is not valid.
	config  *pgxpool.Config
	metrics *telemetry.Metrics
	// setting is the name of the setting with the URL.
	setting string
	// connections is the minimum for the pool's maximum size.
	connections int32
	// answers and lost belong to WithAnswerTimeout.
	answers time.Duration
	lost    func(error)
}

// WithConfig lets f change how connections are made.
func WithConfig(f func(*pgxpool.Config)) Option {
	return func(o *options) {
		if o.config != nil {
			f(o.config)
		}
	}
}

// WithTracer sets a tracer. t sees every statement, and can change its context before the statement is sent. Other tracer interfaces of pgx
// that t implements are used, too.
func WithTracer(t pgx.QueryTracer) Option {
	return WithConfig(func(c *pgxpool.Config) { c.ConnConfig.Tracer = t })
}

// WithMetrics counts transient errors in m.
func WithMetrics(m *telemetry.Metrics) Option {
	return func(o *options) { o.metrics = m }
}

// WithSetting sets the name of the setting with the URL, for errors. The default is DATABASE_URL.
func WithSetting(name string) Option {
	return func(o *options) { o.setting = name }
}

// WithConnections allows at least n connections in the pool, unless the URL sets pool_max_conns.
func WithConnections(n int) Option {
	return func(o *options) { o.connections = int32(n) }
}

// Open connects to url as a role and checks that the schema has this program's version.
func Open(ctx context.Context, url, role string, with ...Option) (opened *DB, err error) {
	o, err := configure(url, role, with...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.setting, err)
	}
	db := newDB(&connections{setting: o.setting})
	if o.answers > 0 {
		caller := ctx
		opening, stop := context.WithTimeout(ctx, o.answers)
		defer stop()
		ctx = opening
		defer func() {
			if err != nil && opening.Err() != nil && caller.Err() == nil {
				err = silent(o.config.ConnConfig, o.setting, o.answers)
			}
		}()
	}
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
		db.gone.Store(ctx.Err() != nil)
		db.Close()
		return nil, err
	}
	if o.answers > 0 && o.lost != nil {
		db.unwatch = watch(o.config.ConnConfig.Copy(), o.setting, o.answers, func(err error) {
			db.gone.Store(true)
			o.lost(err)
		})
	}
	return db, nil
}

// limits are the server's timeouts for the sessions of a role, in milliseconds. A timeout ends the statement, not the program; statements
// that waited for a lock are retried (see pool).
//
// statement_timeout is longer than any valid statement. For the API it is longer than a client may take to receive a response that is read
// from the database meanwhile. For workers it is longer than the largest merge, of decades of data. Migrations and the program that dumps a
// backup connect separately, without this timeout. Rows that are copied before a load is complete have a shorter timeout (SET LOCAL, in
// load_stream.go).
//
// lock_timeout is how long a session waits for another session's rows, tables or advisory locks.
//
// idle_in_transaction_session_timeout ends the session of a client that stops within a transaction: its row locks would stay until it
// continues.
var limits = map[string]map[string]string{
	RoleWorker: {"statement_timeout": "600000", "lock_timeout": "30000", "idle_in_transaction_session_timeout": "5000"},
	RoleAPI:    {"statement_timeout": "120000", "lock_timeout": "3000", "idle_in_transaction_session_timeout": "5000"},
}

// configure returns the connection options for url and a role.
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

// Close closes all connections. It waits until those in use are released, unless the server was found silent (WithAnswerTimeout).
func (db *DB) Close() {
	if db.unwatch != nil {
		db.unwatch()
	}
	if db.gone.Load() {
		go db.close()
		return
	}
	db.close()
}

func (db *DB) close() {
	db.pool.Close()
	if db.beats != nil {
		db.beats.Close()
	}
}

// errReadOnly reports a server that accepts no changes.
var errReadOnly = errors.New("it is read-only: a replica, or a server with default_transaction_read_only")

const readOnlySQL = `select current_setting('transaction_read_only')::boolean`

// Ping checks that the server responds and accepts changes.
func (db *DB) Ping(ctx context.Context) error {
	var readOnly bool
	err := db.pool.Pool.QueryRow(ctx, readOnlySQL).Scan(&readOnly)
	if err == nil && readOnly {
		return errReadOnly
	}
	return err
}

// redact removes a password from an error: pgx quotes the whole URL if it is not valid.
func redact(err error) error {
	if pe := (*pgconn.ParseConfigError)(nil); errors.As(err, &pe) {
		return errors.New("it is not a Postgres URL (postgres://user:password@host:port/database)")
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
