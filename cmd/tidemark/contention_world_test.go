package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/config"
	"tidemark/internal/devstack"
	"tidemark/internal/ops"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/scheduler"
	"tidemark/test/contention"
	testprogram "tidemark/test/program"
	"tidemark/workers"
)

// The number of schedulers and workers in a contended world.
const contendedSchedulers, contendedWorkers = 2, 3

// contendedServers are the servers on which worlds run one by one.
type contendedServers struct {
	t        *testing.T
	postgres *devstack.Server
	admin    *pgxpool.Pool
	worlds   int
}

func startContended(t *testing.T) *contendedServers {
	t.Helper()
	s := &contendedServers{t: t, postgres: pgtest.Server(t)}
	u, err := url.Parse(s.postgres.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/postgres"
	if s.admin, err = pgxpool.New(t.Context(), u.String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.admin.Close)
	return s
}

// log returns the server's log from an offset on.
func (s *contendedServers) log() string {
	b, err := os.ReadFile(filepath.Join(s.postgres.Dir(), "server.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// contended is a sandbox in which all roles run in parallel in this process, on connections that a tap disturbs.
type contended struct {
	t          *testing.T
	url, redis string
	dir        string
	begin, end time.Time
	billing    *billing
	tap        *contention.Tap
	log        *slog.Logger
	// db is the test's own connection to the world, without disturbance.
	db *pgxpool.Pool
	// quick is a world whose clock stops at its end, and in which everything is deterministic: its rows are the same each time. A failed
	// run is due again at once, so that a failure costs no time of the world. Other worlds reach the present.
	quick bool
	// clients is called on each day of a quick world. It may be nil.
	clients func(ctx context.Context, w *contended, day time.Time) error

	// traded is the last day on which clients was called. operated reports that the operator's work is done.
	traded   int
	operated bool
	base     string // of the API
	// deadlocked describes the deadlocks of the server so far. It may be nil.
	deadlocked func() string
	// forget removes the world's data.
	forget func()
	// fail ends the world with an error.
	fail context.CancelCauseFunc
	// present is closed when the clock has reached the end.
	present  chan struct{}
	arrived  sync.Once
	finished sync.Map // run id: how often a handler has ended it
}

// newContended makes a world of some days.
func newContended(t *testing.T, s *contendedServers, begin time.Time, days int, o contention.Options) *contended {
	t.Helper()
	s.worlds++
	name := fmt.Sprintf("world_%d", s.worlds)
	if _, err := s.admin.Exec(t.Context(), "create database "+name+" template tidemark"); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(s.postgres.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	w := &contended{
		t: t, url: u.String(), dir: testprogram.Folder(t), begin: begin, end: begin.AddDate(0, 0, days),
		log: slog.New(slog.DiscardHandler), present: make(chan struct{}),
	}
	redis := pgtest.RedisServer(t, false)
	w.redis = redis.URL()
	if w.tap, err = contention.New(t.Context(), w.url, o); err != nil {
		t.Fatal(err)
	}
	if w.db, err = pgxpool.New(t.Context(), w.url); err != nil {
		t.Fatal(err)
	}
	w.billing = openBilling(t, w.program("chain"))
	w.forget = sync.OnceFunc(func() {
		w.billing.close()
		w.tap.Close()
		w.db.Close()
		_, _ = s.admin.Exec(context.WithoutCancel(t.Context()), "drop database if exists "+name+" with (force)")
		_ = redis.Stop(context.WithoutCancel(t.Context()))
		_ = os.RemoveAll(w.dir)
	})
	t.Cleanup(w.forget)
	if out, err := exec.CommandContext(t.Context(), "git", "init", "--quiet", "--bare", "--initial-branch=main", w.remote()).CombinedOutput(); err != nil {
		t.Fatalf("make a git repository: %v: %s", err, out)
	}
	return w
}

func (w *contended) remote() string { return filepath.Join(w.dir, "remote.git") }

// program returns the program of one role, with settings independent of the environment.
func (w *contended) program(role string) *program {
	s, err := config.Defaults()
	if err != nil {
		w.t.Fatal(err)
	}
	s.World, s.StateDir, s.DatabaseURL, s.RedisURL = "sandbox", filepath.Join(w.dir, role), w.url, w.redis
	s.ArchiveURL = filepath.Join(w.dir, "archive")
	s.SandboxSeed, s.Universe = 1, "top 20"
	s.LedgerRemote, s.LedgerBranch = "file://"+w.remote(), "main"
	s.LedgerAuthorName, s.LedgerAuthorEmail = "Contention", "ledger@tidemark.invalid"
	if err := os.MkdirAll(filepath.Join(s.StateDir, s.World), 0o755); err != nil {
		w.t.Fatal(err)
	}
	for _, r := range []*config.Rate{&s.RegisterLimit, &s.RateLimit, &s.SignalsRateLimit} {
		if err := r.UnmarshalText([]byte("off")); err != nil {
			w.t.Fatal(err)
		}
	}
	p := &program{settings: s, stdout: io.Discard, log: w.log.With("process", role), now: time.Now}
	if w.billing != nil {
		w.billing.use(p)
	}
	return p
}

// open opens the database as a role, on disturbed connections.
func (w *contended) open(ctx context.Context, role string) (*postgres.DB, error) {
	return postgres.Open(ctx, w.url, role, postgres.WithConfig(w.tap.Tap))
}

// insist opens the database, with retries, like a process that its supervisor restarts.
func (w *contended) insist(ctx context.Context, role string) (db *postgres.DB, err error) {
	for range 20 {
		if db, err = w.open(ctx, role); err == nil || ctx.Err() != nil {
			return db, err
		}
		<-time.After(10 * time.Millisecond)
	}
	return nil, err
}

// schedulerRole does the same as schedulerCommand.
func (w *contended) schedulerRole(ctx context.Context, n int) error {
	p := w.program(fmt.Sprintf("scheduler-%d", n))
	db, err := w.insist(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	r, err := p.newWorld(ctx, db)
	if err != nil {
		return err
	}
	s, queue, err := p.newScheduler(db, r.now)
	if err != nil {
		return err
	}
	defer func() { _ = queue.Close() }()
	if w.quick {
		s.Unstarted = 2 * time.Second
	}
	alerts, err := p.alerter(db)
	if err != nil {
		return err
	}
	alerts.Every = time.Second
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if w.quick {
			return w.step(ctx, p, db, s, r)
		}
		return p.liveThrough(ctx, db, s, r, together{}, nil)
	})
	g.Go(func() error { return p.runScheduler(ctx, db, s) })
	g.Go(func() error { return alerts.Run(ctx) })
	return g.Wait()
}

// step is liveThrough for a world with a fixed end, at which its clock stops.
func (w *contended) step(ctx context.Context, p *program, db *postgres.DB, s *scheduler.Scheduler, r *worldRuntime) error {
	living := ctx // the work of clients on a day may take longer than a call of the stepper
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		_, _ = r.syncClock(ctx, db)
		if release, ok, err := db.TryLock(ctx, stepLock); err == nil && ok {
			for s.Tick(ctx) != nil && ctx.Err() == nil { // earlier work is finished before the world's clock moves
				<-time.After(10 * time.Millisecond)
			}
			st := p.stepper(db, s, r, together{}, nil)
			st.Wall = func() time.Time { return w.end }
			advance := st.Advance
			st.Advance = func(ctx context.Context, to time.Time) error {
				if err := w.day(living, r.now(), to); err != nil {
					w.fail(fmt.Errorf("clients on the day before %s: %w", to, err))
					return err
				}
				return advance(ctx, to)
			}
			st.Follow = func(context.Context) error {
				w.arrived.Do(func() { close(w.present) })
				return nil
			}
			err := st.Run(ctx)
			release()
			if err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (w *contended) day(ctx context.Context, from, to time.Time) error {
	if w.clients == nil || from.YearDay() == to.YearDay() || w.traded == to.YearDay() {
		return nil
	}
	w.traded = to.YearDay()
	return w.clients(ctx, w, to)
}

// workerRole does the same as workerCommand.
func (w *contended) workerRole(ctx context.Context, n int) error {
	p := w.program(fmt.Sprintf("worker-%d", n))
	db, err := w.insist(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	r, err := p.newWorld(ctx, db)
	if err != nil {
		return err
	}
	store, err := p.openArchive(ctx, db)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	j, err := p.newJobs(db, r, p.newEngine(db, r, store), store, p.log)
	if err != nil {
		return err
	}
	handlers := r.afterSlot(db, j.handlers())
	for job, h := range handlers {
		handlers[job] = func(ctx context.Context, t task.Task) error {
			if job == task.Signal && w.quick && !t.Slot.After(w.begin) {
				// A computation during the first fetches would depend on which answers have arrived.
				var asking bool
				if err := w.db.QueryRow(ctx, `select exists (select from runs where job = 'ingest' and status in ('due', 'queued', 'running'))`).Scan(&asking); err != nil || asking {
					return workers.WaitFor(errors.Join(errors.New("sources are asked for the first time"), err), 50*time.Millisecond)
				}
			}
			err := h(ctx, t)
			if err == nil {
				n, _ := w.finished.LoadOrStore(t.RunID, new(atomic.Int64))
				n.(*atomic.Int64).Add(1) //nolint:forcetypeassert // it is ours
			}
			return err
		}
	}
	srv, err := workers.New(workers.Options{
		DB: db, RedisURL: w.redis, Handlers: handlers, Name: fmt.Sprintf("worker-%d", n), Concurrency: p.settings.Concurrency,
		Timely: p.settings.TimelyConcurrency, Poll: r.poll, MaxWait: func() time.Duration { return 100 * time.Millisecond }, Log: p.log,
	})
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.followClock(ctx, db) })
	g.Go(func() error { return srv.Run(ctx) })
	return g.Wait()
}

// apiRole does the same as apiCommand.
func (w *contended) apiRole(ctx context.Context, on net.Listener) error {
	p := w.program("api")
	p.settings.PublicURL = w.base
	db, err := w.insist(ctx, postgres.RoleAPI)
	if err != nil {
		return err
	}
	defer db.Close()
	world, err := db.World(ctx)
	if err != nil {
		return err
	}
	r := p.readOnlyWorld(world)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.followClock(ctx, db) })
	g.Go(func() error {
		return p.serveAPI(ctx, db, listeners{"ADDR": on}, world.Name, r.now, nil, func(ready []ops.Readiness, degraded func() []string) opsListener {
			return opsListener{role: "api", ready: ready, degraded: degraded}
		})
	})
	return g.Wait()
}

// dueLater records the schedules so that all of them begin with their first slot in this world, except the schedules that send requests to
// upstreams.
func (w *contended) dueLater(ctx context.Context) error {
	for _, e := range w.program("schedules").schedule() {
		var last *time.Time
		if e.Job != task.Ingest && e.Job != task.Equities {
			last = &w.begin
		}
		_, err := w.db.Exec(ctx, `insert into schedules (job, subject, cron, zone, catch_up, last_slot) values ($1, $2, $3, $4, $5, $6)`,
			e.Job, e.Subject, e.Cron, e.Zone, e.CatchUp, last)
		if err != nil {
			return err
		}
	}
	return nil
}

// makeDue makes runs due that wait for their next attempt. The world's clock does not move meanwhile.
func (w *contended) makeDue(ctx context.Context) error {
	for ctx.Err() == nil {
		_, err := w.db.Exec(ctx, `
			update runs r set next_try_at = null
			from (select id from runs where status = 'due' and next_try_at > clock_timestamp() order by id for no key update skip locked) w
			where r.id = w.id`)
		if err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// live runs the world, calls after while all roles still run, and ends the roles. An error is a violation.
func (w *contended) live(ctx context.Context, within time.Duration, after func(ctx context.Context) error, beside ...func()) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	w.fail = stop
	if _, err := w.db.Exec(ctx, `insert into world (name, clock_at) values ('sandbox', $1)`, w.begin); err != nil {
		return err
	}
	on, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	w.base = "http://" + on.Addr().String()
	// The clock stays at the first instant until its work is done. Otherwise the order of this work and other work would vary.
	if w.quick {
		if err := w.dueLater(ctx); err != nil {
			return err
		}
	}
	var ended []error
	var mu sync.Mutex
	var all sync.WaitGroup
	over := false
	role := func(name string, f func(context.Context) error) {
		all.Go(func() {
			err := f(ctx)
			mu.Lock()
			defer mu.Unlock()
			if !over {
				ended = append(ended, fmt.Errorf("%s has ended: %w", name, errors.Join(err, ctx.Err())))
				stop(ended[0])
			}
		})
	}
	for n := range contendedSchedulers {
		role(fmt.Sprintf("scheduler %d", n+1), func(ctx context.Context) error { return w.schedulerRole(ctx, n+1) })
	}
	for n := range contendedWorkers {
		role(fmt.Sprintf("worker %d", n+1), func(ctx context.Context) error { return w.workerRole(ctx, n+1) })
	}
	role("api", func(ctx context.Context) error { return w.apiRole(ctx, on) })
	if w.quick {
		role("due runs", w.makeDue)
	}
	for _, f := range beside {
		f()
	}
	err = w.wait(ctx, within)
	if err == nil {
		err = after(ctx)
	}
	if ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	mu.Lock()
	over = true
	mu.Unlock()
	stop(nil)
	all.Wait()
	return err
}

// lines returns the first columns of a query's rows.
func (w *contended) lines(ctx context.Context, sql string, args ...any) (out []string) {
	rows, err := w.db.Query(ctx, sql, args...)
	if err != nil {
		return []string{err.Error()}
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return append(out, err.Error())
		}
		out = append(out, fmt.Sprint(values...))
	}
	if err := rows.Err(); err != nil {
		out = append(out, err.Error())
	}
	return out
}
