// Package faults shows what survives: real tidemark processes, a real Postgres and a real Redis of each test's own, and real kills.
// The tests wait more than they work, so they run side by side.
package faults

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"tidemark/internal/devstack"
	"tidemark/internal/postgres"
	"tidemark/test/program"
)

func TestMain(m *testing.M) {
	defer program.Build()()
	m.Run()
}

// fixture is one set-up: two servers, and the processes that were started on them.
type fixture struct {
	t        *testing.T
	dir      string
	postgres *devstack.Server
	redis    *devstack.Server
	db       *postgres.DB // as the worker's role
	env      []string
}

// newFixture starts empty servers and migrates, with a sandbox that follows the wall clock. Redis keeps nothing on disk, so that a restart
// loses all.
func newFixture(t *testing.T, env ...string) *fixture {
	t.Helper()
	return newFixtureAt(t, nil, env...)
}

// newFixtureAt is newFixture with a sandbox whose clock the test sets.
func newFixtureAt(t *testing.T, at *time.Time, env ...string) *fixture {
	t.Helper()
	dir := program.Folder(t)
	s := &fixture{t: t, dir: dir, env: append([]string{
		"WORLD=sandbox", "SANDBOX_DAYS=0", "LOG_FORMAT=json", "LOG_LEVEL=debug", "STATE_DIR=" + filepath.Join(dir, "state"),
	}, env...)}
	ctx := t.Context()
	var err error
	if s.postgres, err = devstack.StartPostgres(ctx, devstack.PostgresOptions{Dir: filepath.Join(dir, "postgres"), Throwaway: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.postgres.Kill() })
	if s.redis, err = devstack.StartRedis(ctx, devstack.RedisOptions{Dir: filepath.Join(dir, "redis")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.redis.Kill() })
	s.env = append(s.env, "DATABASE_URL="+s.postgres.URL(), "REDIS_URL="+s.redis.URL())
	if err := postgres.Migrate(ctx, s.postgres.URL(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	for setting, role := range map[string]string{"DATABASE_API_URL": postgres.RoleAPI, "DATABASE_WORKER_URL": postgres.RoleWorker} {
		login, err := postgres.Login(ctx, s.postgres.URL(), role)
		if err != nil {
			t.Fatal(err)
		}
		s.env = append(s.env, setting+"="+login)
	}
	s.connect()
	t.Cleanup(func() { s.db.Close() })
	if _, err := s.db.EnsureWorld(ctx, "sandbox", at); err != nil {
		t.Fatal(err)
	}
	return s
}

// connect opens the test's own connections. It replaces existing ones, because a killed server leaves dead connections in a pool.
func (s *fixture) connect() {
	s.t.Helper()
	if s.db != nil {
		s.db.Close()
	}
	var err error
	if s.db, err = postgres.Open(s.t.Context(), s.postgres.URL(), postgres.RoleWorker); err != nil {
		s.t.Fatal(err)
	}
}

// start runs a tidemark command until the test ends, or it is killed.
func (s *fixture) start(args ...string) *program.Process {
	s.t.Helper()
	return program.Start(s.t, program.Options{Dir: s.dir, Env: s.env}, args...)
}

// pause lets d pass. Only for a moment that is meant to be random, or a freeze that is meant to be long; never to wait for something.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}

func (s *fixture) run(id int64) postgres.Run {
	s.t.Helper()
	list, err := s.db.Runs(s.t.Context(), postgres.RunFilter{ID: id, Limit: 1})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(list) == 0 {
		s.t.Fatalf("unknown run %d", id)
	}
	return list[0]
}

func (s *fixture) runs(f postgres.RunFilter) []postgres.Run {
	s.t.Helper()
	if f.Limit == 0 {
		f.Limit = 10000
	}
	list, err := s.db.Runs(s.t.Context(), f)
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

func (s *fixture) awaitStatus(id int64, status string) postgres.Run {
	s.t.Helper()
	var r postgres.Run
	program.Until(s.t, program.Timeout, fmt.Sprintf("run %d is %s", id, status), func() (bool, string) {
		r = s.run(id)
		return r.Status == status, fmt.Sprintf("%s, attempt %d, %v", r.Status, r.Attempt, deref(r.Error))
	})
	return r
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// admin runs SQL as the superuser.
func (s *fixture) admin(sql string, args ...any) {
	s.t.Helper()
	c, err := pgx.Connect(s.t.Context(), s.postgres.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	if _, err := c.Exec(s.t.Context(), sql, args...); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

// query returns the rows of a query as text, one line each, as the superuser.
func (s *fixture) query(sql string, args ...any) []string {
	s.t.Helper()
	c, err := pgx.Connect(s.t.Context(), s.postgres.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	rows, err := c.Query(s.t.Context(), sql, args...)
	if err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	lines, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (string, error) {
		values, err := r.Values()
		return strings.TrimSuffix(fmt.Sprintln(values...), "\n"), err
	})
	if err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return lines
}

// observations is the whole table but for the ids of fetches, which differ between two set-ups.
func (s *fixture) observations() []string {
	s.t.Helper()
	return s.query(`select series, observed_at, vintage_at, value, marker, assumed from observations order by 1, 2, 3`)
}

func (s *fixture) redisClient() *redis.Client {
	s.t.Helper()
	o, err := redis.ParseURL(s.redis.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	c := redis.NewClient(o)
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *fixture) asynqOpt() asynq.RedisConnOpt {
	s.t.Helper()
	o, err := asynq.ParseRedisURI(s.redis.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}
