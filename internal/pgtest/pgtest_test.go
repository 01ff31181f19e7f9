package pgtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"tidemark/internal/devstack"
	"tidemark/migrations"
)

func TestMain(m *testing.M) { Main(m) }

func TestEachTestHasAMigratedDatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	files, err := migrations.FS.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			pool := Pool(t)
			var applied int
			if err := pool.QueryRow(t.Context(), `select count(*) from goose_db_version where version_id > 0 and is_applied`).Scan(&applied); err != nil {
				t.Fatal(err)
			}
			if applied != len(files) {
				t.Errorf("%d migrations are applied, want %d", applied, len(files))
			}
			var super string
			if err := pool.QueryRow(t.Context(), `select current_setting('is_superuser')`).Scan(&super); err != nil || super != "on" {
				t.Errorf("is_superuser = %q (%v), want on", super, err)
			}
			// Each test uses the same table name: a shared database would refuse the second.
			if _, err := pool.Exec(t.Context(), `create table mine (x int)`); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEmptyHasNoTables(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), Empty(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var tables int
	if err := conn.QueryRow(t.Context(), `select count(*) from pg_tables where schemaname = 'public'`).Scan(&tables); err != nil || tables != 0 {
		t.Errorf("it has %d tables (%v), want none", tables, err)
	}
}

// ending is a test that ends when it is told to.
type ending struct {
	testing.TB
	failed   bool
	cleanups []func()
	log      []string
}

func (e *ending) Cleanup(f func())               { e.cleanups = append(e.cleanups, f) }
func (e *ending) Failed() bool                   { return e.failed }
func (e *ending) Logf(format string, a ...any)   { e.log = append(e.log, fmt.Sprintf(format, a...)) }
func (e *ending) Errorf(format string, a ...any) { e.TB.Errorf(format, a...) }

func (e *ending) end() {
	for _, cleanup := range slices.Backward(e.cleanups) {
		cleanup()
	}
}

func TestDatabaseIsDroppedAfterSuccessAndKeptAfterFailure(t *testing.T) {
	t.Parallel()
	for _, failed := range []bool{false, true} {
		e := &ending{TB: t, failed: failed}
		address := New(e)
		e.end()
		conn, err := pgx.Connect(t.Context(), address)
		if there := err == nil; there != failed {
			t.Errorf("test failed: %v, database is there: %v (%v)", failed, there, err)
		}
		if err == nil {
			_ = conn.Close(t.Context())
		}
		if told := strings.Contains(strings.Join(e.log, "\n"), address); told != failed {
			t.Errorf("test failed: %v, its log is %q", failed, e.log)
		}
		shared.server.kept.Store(false) // the failure was not a real one
	}
}

func TestServerOfATestCanBeKilled(t *testing.T) {
	t.Parallel()
	s := Server(t)
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), `select from runs`); err != nil {
		t.Errorf("after a kill the schema is not there: %v", err)
	}
}

func TestRedisOfATestIsItsOwn(t *testing.T) {
	t.Parallel()
	a, b := client(t, Redis(t)), client(t, Redis(t))
	if err := a.Set(t.Context(), "tide", "high", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := b.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if got := a.Get(t.Context(), "tide").Val(); got != "high" {
		t.Errorf("FLUSHALL of another test left %q, want high", got)
	}
}

func client(t *testing.T, address string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(options)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestSweepRemovesOnlyWhatNobodyUses(t *testing.T) {
	t.Parallel()
	const nobody = 1 << 30 // above every possible process number
	root := folder(t)
	made := func(pid int, part string) string {
		dir := filepath.Join(root, folderPrefix+strconv.Itoa(pid)+"-"+part)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	kept := func(dir string, at time.Time) string {
		if err := os.WriteFile(keptMark(dir), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(keptMark(dir), at, at); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	inUse, err := devstack.StartRedis(t.Context(), devstack.RedisOptions{Dir: made(nobody, "served"), BinDirs: fetchedBinaries()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inUse.Stop(context.Background()) }()
	stranger := filepath.Join(root, folderPrefix+"notes")
	want := map[string]bool{
		made(os.Getpid(), "ours"):                                   false,
		made(nobody, "crashed"):                                     true,
		kept(made(nobody, "kept"), time.Now().Add(-30*time.Minute)): false,
		kept(made(nobody, "old"), time.Now().Add(-2*time.Hour)):     true,
		filepath.Join(root, filepath.Base(inUse.Dir())):             false,
		stranger: false,
	}
	got := map[string]bool{}
	for dir := range want {
		got[dir] = leftOver(dir)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("left over (-want +got):\n%s", diff)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		s := running(b)
		s.database(b, s.template)
	}
}
