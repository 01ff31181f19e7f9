package chaos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/devchain"
	"tidemark/internal/devstack"
	"tidemark/internal/devstack/redisgroup"
	"tidemark/internal/postgres"
	"tidemark/internal/redisurl"
	"tidemark/test/program"
)

// How many processes of each role run.
const schedulers, workers, apis = 2, 3, 2

// facilitatorAccount is the account of the development chain that pays for settlements.
const facilitatorAccount = 9

// cluster is one set-up: servers, and the processes that were started on them.
type cluster struct {
	t        *testing.T
	dir      string
	postgres *devstack.Server
	redis    store
	db       *postgres.DB // as the worker's role
	env      []string
	// units are the processes by the name of the victim; apis are the API processes among them.
	units map[string]*unit
	apis  []*unit
}

// store is the Redis of a set-up.
type store interface {
	url() string
	// down kills the server, or one of the primaries, before that takes its data where lose is set.
	down(ctx context.Context, lose bool) error
	// up restarts what down has killed. It reports whether another server has taken its place.
	up(ctx context.Context) (replaced bool, err error)
	stop(ctx context.Context) error
}

// newFixture starts the servers and migrates. The world is a sandbox whose clock starts at begin.
func newFixture(t *testing.T, begin time.Time, start func(ctx context.Context, dir string) (store, error)) *cluster {
	t.Helper()
	dir := program.Folder(t)
	s := &cluster{t: t, dir: dir, units: map[string]*unit{}}
	ctx := t.Context()
	var err error
	if s.postgres, err = devstack.StartPostgres(ctx, devstack.PostgresOptions{Dir: filepath.Join(dir, "postgres"), Throwaway: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.postgres.Kill() })
	if s.redis, err = start(ctx, filepath.Join(dir, "redis")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.redis.stop(context.Background()) })
	if out, err := exec.CommandContext(ctx, "git", "init", "--quiet", "--bare", "--initial-branch=main", s.ledger()).CombinedOutput(); err != nil {
		t.Fatalf("make a git repository: %v: %s", err, out)
	}
	chain, err := devchain.Start(devchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = chain.Close() })
	facilitator, err := devchain.NewFacilitator(chain, facilitatorAccount)
	if err != nil {
		t.Fatal(err)
	}
	till := httptest.NewServer(facilitator)
	t.Cleanup(till.Close)
	s.env = []string{
		// What is sold by request and topped up by transfers, so that it can be attacked.
		"X402_FACILITATOR_URL=" + till.URL, "X402_NETWORK=" + fmt.Sprint("eip155:", chain.ID()), "X402_PAY_TO=" + devchain.Address(payeeAccount).Hex(),
		"BASE_RPC_URL=" + chain.URL(), "BASE_CHAIN_ID=" + fmt.Sprint(chain.ID()), "TRUSTED_PROXIES=127.0.0.0/8",
		"WORLD=sandbox", "SANDBOX_DAYS=0", "LOG_FORMAT=json", "LOG_LEVEL=info", "STATE_DIR=" + filepath.Join(dir, "state"),
		"DATABASE_URL=" + s.postgres.URL(), "REDIS_URL=" + s.redis.url(), "ADDR=127.0.0.1:0", "OPS_ADDR=127.0.0.1:0", "UNIVERSE=top 20",
		"LEDGER_REMOTE=file://" + s.ledger(), "REGISTER_LIMIT=off",
		// Upstreams take their time, so that a kill meets work under way.
		"SANDBOX_DELAY=150ms",
		// Limits that no client reaches, so that each request queries Redis.
		"RATE_LIMIT=1000000/1m", "MCP_RATE_LIMIT=1000000/1m", "SIGNALS_RATE_LIMIT=1000000/1m", "PAGES_RATE_LIMIT=1000000/1m",
	}
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
	if s.db, err = postgres.Open(ctx, s.postgres.URL(), postgres.RoleWorker); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.db.Close)
	if _, err := s.db.EnsureWorld(ctx, "sandbox", &begin); err != nil {
		t.Fatal(err)
	}
	return s
}

// ledger is the repository that the git ledger is pushed to.
func (s *cluster) ledger() string { return filepath.Join(s.dir, "ledger.git") }

func (s *cluster) options() program.Options { return program.Options{Dir: s.dir, Env: s.env} }

// start starts as many processes of a role as it is to have, and returns once they are ready.
func (s *cluster) start(role string, n int) []*unit {
	s.t.Helper()
	var list []*unit
	var kept sync.WaitGroup
	s.t.Cleanup(kept.Wait)
	for i := range n {
		u := newUnit(name(role, i))
		s.units[u.name] = u
		list = append(list, u)
		u.start()
		kept.Go(func() { u.keep(s.t.Context(), s.t, s.options()) })
	}
	if err := there(s.t.Context(), list); err != nil {
		s.t.Fatal(err)
	}
	return list
}

// do injects a fault.
func (s *cluster) do(f fault) error {
	ctx := s.t.Context()
	switch f.what {
	case killWorker, killScheduler:
		s.units[f.victim].kill()
	case killAPI: // one at a time
		if err := there(ctx, s.apis); err != nil {
			return err
		}
		s.units[f.victim].kill()
	case freezeWorker, freezeScheduler:
		s.units[f.victim].signal(syscall.SIGSTOP)
	case keepRedis, loseRedis:
		return again(ctx, func() error { return s.redis.down(ctx, f.what == loseRedis) })
	case killPostgres:
		return s.postgres.Kill()
	}
	return nil
}

// repair ends a fault. It reports whether another Redis has taken over.
func (s *cluster) repair(f fault) (replaced bool, err error) {
	ctx := s.t.Context()
	switch f.what {
	case killWorker, killScheduler, killAPI:
		s.units[f.victim].start()
	case freezeWorker, freezeScheduler:
		s.units[f.victim].signal(syscall.SIGCONT)
	case keepRedis, loseRedis:
		err := again(ctx, func() (err error) { replaced, err = s.redis.up(ctx); return err })
		return replaced, err
	case killPostgres:
		return false, again(ctx, func() error { return s.postgres.Restart(ctx) })
	}
	return false, nil
}

// again tries something until it is done: several servers may be about to agree on who is who, and a busy machine may not answer at once.
func again(ctx context.Context, do func() error) error {
	for deadline := time.Now().Add(time.Minute); ; {
		err := do()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// query returns the rows of a query as text, one line each, as the superuser.
func (s *cluster) query(sql string, args ...any) []string {
	s.t.Helper()
	ctx := s.t.Context()
	c, err := pgx.Connect(ctx, s.postgres.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	rows, err := c.Query(ctx, sql, args...)
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

// single is one Redis that keeps its content on disk.
type single struct{ server *devstack.Server }

func startSingle(ctx context.Context, dir string) (store, error) {
	s, err := devstack.StartRedis(ctx, devstack.RedisOptions{Dir: dir, AppendOnly: true})
	return single{s}, err
}

func (r single) url() string { return r.server.URL() }

func (r single) down(ctx context.Context, lose bool) error {
	if !lose {
		return r.server.Kill()
	}
	at, err := redisurl.Parse(r.server.URL())
	if err != nil {
		return err
	}
	c := at.Client(nil)
	if err := errors.Join(c.FlushAll(ctx).Err(), c.Close()); err != nil {
		return err
	}
	return r.server.Kill()
}

func (r single) up(ctx context.Context) (bool, error) { return false, r.server.Restart(ctx) }

func (r single) stop(ctx context.Context) error { return r.server.Stop(ctx) }

// group is a Redis of several servers. Its faults kill one primary at a time.
type group struct {
	servers *redisgroup.Group
	dead    *devstack.Server
}

func startGroup(start func(context.Context, redisgroup.Options) (*redisgroup.Group, error)) func(context.Context, string) (store, error) {
	return func(ctx context.Context, dir string) (store, error) {
		g, err := start(ctx, redisgroup.Options{Dir: dir, AppendOnly: true})
		return &group{servers: g}, err
	}
}

func (r *group) url() string { return r.servers.URL() }

func (r *group) down(ctx context.Context, lose bool) error {
	if lose {
		if err := r.servers.FlushAll(ctx); err != nil {
			return err
		}
	}
	list, err := r.servers.Primaries(ctx)
	if err != nil {
		return err
	}
	r.dead = list[0]
	return r.dead.Kill()
}

func (r *group) up(ctx context.Context) (bool, error) {
	list, err := r.servers.Primaries(ctx)
	if err != nil {
		return false, err
	}
	return !slices.Contains(list, r.dead), r.dead.Restart(ctx)
}

func (r *group) stop(ctx context.Context) error { return r.servers.Stop(ctx) }
