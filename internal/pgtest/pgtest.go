// Package pgtest gives each test its own database, with all migrations applied, on a real Postgres, and its own Redis. It is for tests
// only. One Postgres runs for each test process that needs one. It ends with the process, for any reason. A package calls Main from its
// TestMain, so that the server's files are removed too. Start at New.
package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/devstack"
	"tidemark/internal/scram"
)

// Main runs the tests of a package, and then stops the servers and removes their files. A package says
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
// If a test failed, the databases of failed tests are kept for an hour, and a line says how to open them.
func Main(m *testing.M) {
	m.Run()
	shared.stop()
}

// New returns the address, as superuser, of a fresh database with all migrations applied. It is dropped when the test ends. If the test
// fails, the database is kept and its address logged.
func New(t testing.TB) string {
	t.Helper()
	s := running(t)
	return s.database(t, s.template)
}

// MigrateTo migrates a database from New to another version of the schema, possibly an older one. Tests use it to check how data of older
// programs are migrated.
func MigrateTo(t testing.TB, url string, version int64) {
	t.Helper()
	if err := migrateTo(t.Context(), url, version); err != nil {
		t.Fatal(err)
	}
}

// Empty is New without the migrations: a database with nothing in it, for tests of the migrations themselves.
func Empty(t testing.TB) string {
	t.Helper()
	return running(t).database(t, "template0")
}

// Pool returns a pool of connections to a database as from New. It is closed when the test ends.
func Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), New(t))
	if err != nil {
		t.Fatalf("pgtest: open a pool: %v", err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// Server returns a Postgres for this test alone, to kill and to start again. Its URL is a database with all migrations applied.
func Server(t testing.TB) *devstack.Server {
	t.Helper()
	s, err := devstack.StartPostgres(t.Context(), options(folder(t)))
	if err != nil {
		unavailable(t, err)
	}
	t.Cleanup(func() { _ = s.Stop(context.WithoutCancel(t.Context())) })
	if err := migrate(t.Context(), s.URL()); err != nil {
		t.Fatal(err)
	}
	return s
}

// Replicated is Server for a test that also needs a replica. The replica follows the primary, and can be killed and restarted separately.
func Replicated(t testing.TB) (primary, replica *devstack.Server) {
	t.Helper()
	o := options(folder(t))
	o.Settings = map[string]string{"wal_level": "replica", "max_wal_senders": "4"}
	start := func(o devstack.PostgresOptions) *devstack.Server {
		s, err := devstack.StartPostgres(t.Context(), o)
		if err != nil {
			unavailable(t, err)
		}
		t.Cleanup(func() { _ = s.Stop(context.WithoutCancel(t.Context())) })
		return s
	}
	primary = start(o)
	if err := migrate(t.Context(), primary.URL()); err != nil {
		t.Fatal(err)
	}
	o.Dir, o.Follows = folder(t), primary.URL()
	return primary, start(o)
}

// Redis returns the address of a fresh redis-server for this test alone, so that FLUSHALL and channels do not affect other tests.
func Redis(t testing.TB) string {
	t.Helper()
	return RedisServer(t, false).URL()
}

// RedisServer is Redis for a test that kills the server and starts it again. With appendOnly the server keeps its content.
func RedisServer(t testing.TB, appendOnly bool) *devstack.Server {
	t.Helper()
	s, err := devstack.StartRedis(t.Context(), devstack.RedisOptions{Dir: folder(t), AppendOnly: appendOnly, BinDirs: fetchedBinaries()})
	if err != nil {
		unavailable(t, err)
	}
	t.Cleanup(func() { _ = s.Stop(context.WithoutCancel(t.Context())) })
	return s
}

// unavailable fails the test: a skipped check would look like a passed one.
func unavailable(t testing.TB, err error) {
	t.Helper()
	t.Fatalf("pgtest: %v\nThe tests need the programs of a PostgreSQL and a redis-server. Once: make deps. Then: make test, or go test.", err)
}

func options(dir string) devstack.PostgresOptions {
	return devstack.PostgresOptions{Dir: dir, Throwaway: true, BinDirs: fetchedBinaries()}
}

// server is the Postgres of this test process.
type server struct {
	*devstack.Server
	dir string
	// template is the name of the migrated database that is copied for each test.
	template string
	// strategy is how Postgres copies it, as a part of the statement. Empty means Postgres's default.
	strategy string
	admin    *pgxpool.Pool
	count    atomic.Int64
	// kept means that the database of a failed test must outlive the process.
	kept atomic.Bool
}

// once starts the server at its first use.
type once struct {
	mu     sync.Mutex
	asked  bool
	server *server
	err    error
}

// shared is the server of this process.
var shared once

func (o *once) get() (*server, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.asked {
		o.asked = true
		// The server outlives the test that starts it.
		o.server, o.err = start(context.Background())
	}
	return o.server, o.err
}

// stop stops the server, if it was started, and removes its files unless a failed test needs them.
func (o *once) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.server == nil {
		return
	}
	o.server.admin.Close()
	if err := o.server.Stop(context.Background()); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "pgtest:", err)
	}
	if o.server.kept.Load() && os.WriteFile(keptMark(o.server.dir), nil, 0o600) == nil {
		_, _ = fmt.Fprintf(os.Stderr, "pgtest: databases of failed tests are kept for an hour. To look at them: %s\n", o.server.restart())
		return
	}
	_ = os.RemoveAll(o.server.dir)
	_ = os.RemoveAll(o.server.Dir())
}

func start(ctx context.Context) (*server, error) {
	removeStale()
	dir, err := makeFolder()
	if err != nil {
		return nil, err
	}
	p, err := devstack.StartPostgres(ctx, options(dir))
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	s := &server{Server: p, dir: dir}
	if err := s.prepare(ctx); err != nil {
		_ = p.Stop(ctx)
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

// prepare makes the template: a migrated database that refuses connections, because Postgres cannot copy a database in use.
func (s *server) prepare(ctx context.Context) error {
	hash, err := hashMigrations()
	if err != nil {
		return err
	}
	s.template = "tidemark_" + hash
	config, err := pgxpool.ParseConfig(s.address("postgres"))
	if err != nil {
		return fmt.Errorf("open the server: %w", err)
	}
	config.MaxConns = 2
	if s.admin, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return fmt.Errorf("open the server: %w", err)
	}
	// Tests connect often, and the race detector makes hashing slow. The password is drawn, so nobody guesses it with fewer rounds either.
	verifier, err := scram.Verifier(config.ConnConfig.Password, 1)
	if err != nil {
		return err
	}
	if _, err := s.admin.Exec(ctx, `alter role current_user password '`+verifier+`'`); err != nil {
		return fmt.Errorf("hash the password in one round: %w", err)
	}
	// In memory this is less than half of the work. On a disk it is more. Before version 15 it is the only way.
	if places()[0] == inMemory {
		err := s.admin.QueryRow(ctx, `select case when current_setting('server_version_num')::int >= 150000 then ' strategy file_copy' else '' end`).Scan(&s.strategy)
		if err != nil {
			return fmt.Errorf("ask the server for its version: %w", err)
		}
	}
	name := pgx.Identifier{s.template}.Sanitize()
	if _, err := s.admin.Exec(ctx, `create database `+name); err != nil {
		return fmt.Errorf("create the template: %w", err)
	}
	if err := migrate(ctx, s.address(s.template)); err != nil {
		return err
	}
	if _, err := s.admin.Exec(ctx, `alter database `+name+` with is_template true allow_connections false`); err != nil {
		return fmt.Errorf("close the template: %w", err)
	}
	return nil
}

// running returns the server of this process.
func running(t testing.TB) *server {
	t.Helper()
	s, err := shared.get()
	if err != nil {
		unavailable(t, err)
	}
	return s
}

// database copies a template for one test and returns the copy's address.
func (s *server) database(t testing.TB, template string) string {
	t.Helper()
	name := s.name(t.Name())
	address := s.address(name)
	quoted := pgx.Identifier{name}.Sanitize()
	if _, err := s.admin.Exec(t.Context(), `create database `+quoted+` template `+pgx.Identifier{template}.Sanitize()+s.strategy); err != nil {
		t.Fatalf("pgtest: create the test's database: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.kept.Store(true)
			t.Logf("the database of this test is kept: %s", address)
			return
		}
		// The test's own context has ended.
		if _, err := s.admin.Exec(context.WithoutCancel(t.Context()), `drop database if exists `+quoted+` with (force)`); err != nil {
			t.Errorf("pgtest: drop the test's database: %v", err)
		}
	})
	return address
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// name makes a database name from a test's name, for people who inspect the server. Postgres truncates names after 63 bytes.
func (s *server) name(test string) string {
	name := fmt.Sprintf("t%d_%s", s.count.Add(1), notInName.ReplaceAllString(strings.ToLower(test), "_"))
	return name[:min(len(name), 63)]
}

// address returns the server's address with another database.
func (s *server) address(database string) string {
	u, err := url.Parse(s.URL())
	if err != nil {
		return s.URL()
	}
	u.Path = "/" + database
	return u.String()
}

// restart returns the command that runs the server again on the kept files.
func (s *server) restart() string {
	data := filepath.Join(s.Dir(), "data")
	command := fmt.Sprintf("%s -D %s -p %d -k ''", s.Program(), data, s.Port())
	if info, err := os.Stat(data); err == nil && os.Geteuid() == 0 {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok {
			return fmt.Sprintf("setpriv --reuid %d --regid %d --clear-groups %s", owner.Uid, owner.Gid, command)
		}
	}
	return command
}
