// Package faults shows what survives: real tidemark processes, a real Postgres and a real Redis of each test's own, and real kills.
// The tests wait more than they work, so they run side by side.
package faults

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"tidemark/internal/devstack"
	"tidemark/internal/postgres"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tidemark-faults")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "tidemark")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", binary, "tidemark/cmd/tidemark")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// stand is one set-up: two servers, and the processes that were started on them.
type stand struct {
	t        *testing.T
	dir      string
	postgres *devstack.Server
	redis    *devstack.Server
	db       *postgres.DB // as the worker's role
	env      []string
}

// newStand starts empty servers and migrates. Redis keeps nothing on disk, so that a restart loses all.
func newStand(t *testing.T, env ...string) *stand {
	t.Helper()
	// Not t.TempDir: a server that runs as another user has to reach it.
	dir, err := os.MkdirTemp("", "tidemark-stand")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &stand{t: t, dir: dir, env: append([]string{
		"WORLD=sandbox", "SANDBOX_DAYS=0", "LOG_FORMAT=json", "LOG_LEVEL=debug", "STATE_DIR=" + filepath.Join(dir, "state"),
	}, env...)}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ctx := t.Context()
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
	if s.db, err = postgres.Open(ctx, s.postgres.URL(), postgres.RoleWorker); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.db.Close)
	if _, err := s.db.EnsureWorld(ctx, "sandbox", nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// proc is a running tidemark process.
type proc struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	done chan struct{}

	mu  sync.Mutex
	log bytes.Buffer
}

func (p *proc) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

func (p *proc) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// start runs a tidemark command until the test ends, or it is killed. What it wrote is shown when the test fails.
func (s *stand) start(args ...string) *proc {
	s.t.Helper()
	p := &proc{t: s.t, name: strings.Join(args, " "), done: make(chan struct{})}
	p.cmd = exec.CommandContext(context.Background(), binary, args...)
	p.cmd.Env = append(os.Environ(), s.env...)
	p.cmd.Dir = s.dir
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait()
	}()
	s.t.Cleanup(func() {
		p.signal(syscall.SIGCONT)
		p.kill()
		if s.t.Failed() {
			s.t.Logf("--- %s\n%s", p.name, tail(p.text(), 6000))
		}
	})
	return p
}

func tail(s string, n int) string {
	if len(s) > n {
		return "…" + s[len(s)-n:]
	}
	return s
}

func (p *proc) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// kill ends the process at once, as a power cut would.
func (p *proc) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// until polls until ok or the deadline, which fails the test with the reason.
func until(t *testing.T, within time.Duration, what string, ok func() (bool, string)) {
	t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		done, state := ok()
		if done {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("not within %s: %s; state: %s", within, what, state)
		case <-tick.C:
		}
	}
}

// pause lets d pass. Only for a moment that is meant to be random, or a freeze that is meant to be long; never to wait for something.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}

func (s *stand) run(id int64) postgres.Run {
	s.t.Helper()
	list, err := s.db.Runs(s.t.Context(), postgres.RunFilter{ID: id, Limit: 1})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(list) == 0 {
		s.t.Fatalf("there is no run %d", id)
	}
	return list[0]
}

func (s *stand) runs(f postgres.RunFilter) []postgres.Run {
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

func (s *stand) awaitStatus(id int64, status string, within time.Duration) postgres.Run {
	s.t.Helper()
	var r postgres.Run
	until(s.t, within, fmt.Sprintf("run %d is %s", id, status), func() (bool, string) {
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
func (s *stand) admin(sql string, args ...any) {
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
func (s *stand) query(sql string, args ...any) []string {
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
func (s *stand) observations() []string {
	s.t.Helper()
	return s.query(`select series, observed_at, vintage_at, value, marker, assumed from observations order by 1, 2, 3`)
}

func (s *stand) redisClient() *redis.Client {
	s.t.Helper()
	o, err := redis.ParseURL(s.redis.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	c := redis.NewClient(o)
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *stand) asynqOpt() asynq.RedisConnOpt {
	s.t.Helper()
	if _, err := url.Parse(s.redis.URL()); err != nil {
		s.t.Fatal(err)
	}
	o, err := asynq.ParseRedisURI(s.redis.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}
