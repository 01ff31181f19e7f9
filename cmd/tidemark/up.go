package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/api"
	"tidemark/ingest/archive"
	"tidemark/internal/config"
	"tidemark/internal/devstack"
	"tidemark/internal/ops"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/scheduler"
	"tidemark/workers"
)

type upCommand struct {
	config.All
}

// Run runs the whole product in this process until it is stopped: the migrations, scheduler, workers and API. It also runs Postgres and
// Redis if the settings name none.
func (upCommand) Run(ctx context.Context, p *program) (err error) {
	if _, err := p.universe(); err != nil {
		return usageError{err}
	}
	listeners, err := p.listenPublic(ctx)
	if err != nil {
		return err
	}
	defer listeners.close()
	if err := os.MkdirAll(p.worldDir(), 0o755); err != nil {
		return fmt.Errorf("STATE_DIR: %w", err)
	}
	stack, err := devstack.Start(ctx, devstack.Options{
		StateDir: p.worldDir(), DatabaseURL: p.settings.DatabaseURL, RedisURL: p.settings.RedisURL, Log: p.log,
		Unsynced: p.settings.World == "sandbox", // until its past is over: that is made up, and can be made again
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Stop(p.urgent.context())) }()
	p.urgent.before(func() { _ = stack.Stop(p.urgent.context()) })
	p.settings.DatabaseURL, p.settings.RedisURL = stack.DatabaseURL, stack.RedisURL
	c := connections{DatabaseURL: stack.DatabaseURL, RedisURL: stack.RedisURL}
	if p.settings.World == "sandbox" && p.settings.BaseRPCURL == "" {
		if err := p.startDevChain(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.dev.Close()) }()
		c.BaseRPCURL, c.BaseChainID, c.AttesterKeyFile = p.settings.BaseRPCURL, p.settings.BaseChainID, p.settings.AttesterKeyFile
	}
	witnesses, err := p.startWitnesses(ctx)
	if err != nil {
		return err
	}
	facilitate, err := p.facilitate(ctx)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return stack.Keep(ctx) })
	g.Go(func() error {
		if err := p.prepare(ctx, stack); err != nil {
			return err
		}
		c.DatabaseAPIURL, c.DatabaseWorkerURL = p.settings.DatabaseAPIURL, p.settings.DatabaseWorkerURL
		if err := p.saveConnections(c); err != nil {
			return err
		}
		g.Go(func() error { return facilitate(ctx) })
		g.Go(func() error { return witnesses(ctx) })
		return p.runRoles(ctx, listeners, stack)
	})
	return g.Wait()
}

// prepare migrates the database and makes the logins of the roles. It is repeated while a private Postgres restarts. If the operator's own
// Postgres cannot be reached, the operator sees that at once.
func (p *program) prepare(ctx context.Context, stack *devstack.Stack) error {
	part := func() error {
		if err := p.checkOwnWorld(ctx, stack.DatabaseURL); err != nil {
			return err
		}
		if err := postgres.Migrate(ctx, stack.DatabaseURL, p.log); err != nil {
			return err
		}
		return p.makeLogins(ctx, stack.DatabaseURL)
	}
	if stack.Postgres == nil {
		return part()
	}
	return p.insist(ctx, part)
}

func (p *program) runRoles(ctx context.Context, on listeners, stack *devstack.Stack) error {
	p.tasks = workers.Places(p.settings.Concurrency, p.settings.TimelyConcurrency)
	var db, apiDB *postgres.DB
	var w *worldRuntime
	err := p.insist(ctx, func() (err error) {
		db, w, err = p.openWorld(ctx)
		return err
	})
	if err != nil {
		return err
	}
	defer db.Close()
	err = p.insist(ctx, func() (err error) {
		apiDB, err = p.openDB(ctx, postgres.RoleAPI)
		return err
	})
	if err != nil {
		return err
	}
	defer apiDB.Close()
	var store *archive.Store
	err = p.insist(ctx, func() (err error) {
		store, err = p.openArchive(ctx, db)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	s, queue, err := p.newScheduler(db, w.now)
	if err != nil {
		return err
	}
	defer func() { _ = queue.Close() }()
	beside := newTogether()
	s.HandedOut, w.poll = beside.bell.Ring, 0
	worker, err := p.newWorker(db, w, store, beside)
	if err != nil {
		return err
	}
	alerts, err := p.alerter(db)
	if err != nil {
		return err
	}
	logs, err := p.newSequencer(db, w)
	if err != nil {
		return err
	}
	follow, err := p.followLogs()
	if err != nil {
		return err
	}
	err = p.insist(ctx, func() error {
		if err := p.checkToken(ctx, db); err != nil {
			return err
		}
		if w.name == "replay" {
			if err := p.bringPast(ctx, db, store, w.now()); err != nil {
				return err
			}
			if err := p.computeNow(ctx, db, w); err != nil {
				return err
			}
		}
		return p.connectDevChain(ctx, db, w)
	})
	if err != nil {
		return err
	}
	person := p.welcome(w, on)
	person.begin(ctx)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.runScheduler(ctx, db, s) })
	g.Go(func() error { return worker.Run(ctx) })
	g.Go(func() error { return logs.run(ctx) })
	g.Go(func() error { return p.newMatcher(db).Run(ctx) })
	g.Go(func() error { return follow(ctx) })
	g.Go(func() error { return alerts.Run(ctx) })
	g.Go(func() error {
		return p.serveAPI(ctx, apiDB, on, w.name, w.now, []api.Check{{Name: "scheduler", OK: s.Ready}, {Name: "worker", OK: worker.Ready}},
			func(ready []ops.Readiness, degraded func() []string) opsListener {
				g.Go(func() error { return person.ready(ctx, ready) })
				return opsListener{
					role: "up", ready: ready, degraded: degraded, observer: p.observer(db), actions: p.actions(db, store),
					needs: []ops.Need{p.needsPostgres(db, postgres.RoleWorker, true), p.needsRedis(true), needsArchive(store)},
					pools: map[string]*postgres.DB{postgres.RoleWorker: db, postgres.RoleAPI: apiDB},
				}
			})
	})
	g.Go(func() error {
		if err := p.liveThroughPast(ctx, db, s, w, beside, person); err != nil || ctx.Err() != nil {
			return err
		}
		p.keepSynced(ctx, stack)
		return nil
	})
	return g.Wait()
}

// liveThroughPast is liveThrough in a process that does nothing else meanwhile.
func (p *program) liveThroughPast(ctx context.Context, db *postgres.DB, s *scheduler.Scheduler, w *worldRuntime, beside together, person *welcome) error {
	defer workers.CollectSeldom()() // saves a sixth of the processor time of a sandbox's past
	return p.liveThrough(ctx, db, s, w, beside, person)
}

// keepSynced makes the private Postgres of a sandbox sync its commits from now on. If that fails, the next start tries again.
func (p *program) keepSynced(ctx context.Context, stack *devstack.Stack) {
	if err := p.insist(ctx, func() error { return stack.Sync(ctx) }); err != nil && ctx.Err() == nil {
		p.log.ErrorContext(ctx, "the private Postgres leaves it to the system when writes reach the disk", "err", err)
	}
}

// maxCancelled is how often a part of the start is repeated because the server cancelled it.
const maxCancelled = 5

// insist repeats a part of the start until it returns no transient error of the database, whose server may be restarting. The part must be
// safe to repeat. A cancelled one is repeated a few times: ending what a killed server left cancels sessions that begin.
func (p *program) insist(ctx context.Context, part func() error) error {
	for cancelled := 0; ; {
		err := part()
		if postgres.Cancelled(err) {
			cancelled++
		}
		if err == nil || ctx.Err() != nil || postgres.Transient(err) == "" && (!postgres.Cancelled(err) || cancelled > maxCancelled) {
			return err
		}
		p.log.WarnContext(ctx, "the database is away, the start waits for it", "err", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}

// bringPast imports the past of a replay's archive: everything that had arrived by its time, parsed in order. So a value that a publisher
// revised later is known as of the time before the revision. bringPast is safe to repeat. If a source's past does not parse, it is left to
// the source's next run.
func (p *program) bringPast(ctx context.Context, db *postgres.DB, store *archive.Store, at time.Time) error {
	folder, err := archive.OpenFolder(p.settings.ReplayArchive)
	if err != nil {
		return fmt.Errorf("REPLAY_ARCHIVE: %w", err)
	}
	defer func() { _ = folder.Close() }()
	done, err := archive.Import(ctx, folder, store, db, at, nil)
	if err != nil {
		return fmt.Errorf("REPLAY_ARCHIVE: %w", err)
	}
	for _, src := range p.sources() {
		if err := p.reparse(ctx, io.Discard, db, store, src.ID, at); err != nil {
			if ctx.Err() != nil || postgres.Transient(err) != "" {
				return err
			}
			p.log.WarnContext(ctx, "the past of a source is not replayed", "source", src.ID, "err", err)
		}
	}
	p.log.InfoContext(ctx, "the archive's past is there", "exchanges", done.Exchanges, "until", at)
	return nil
}

// computeNow makes every source and signal due for the replay world's time. That time does not advance, so no slot will come.
func (p *program) computeNow(ctx context.Context, db *postgres.DB, w *worldRuntime) error {
	for _, e := range p.schedule() {
		if e.Job == task.Ingest || e.Job == task.Signal {
			if _, err := db.AddRun(ctx, e.Job, e.Subject, w.now(), "the replay world's time"); err != nil && !errors.Is(err, postgres.ErrUnderWay) {
				return err
			}
		}
	}
	return nil
}

// stepLock is the name of the lock of the process that steps a sandbox's clock.
const stepLock = "the sandbox's clock"

// liveThrough simulates the past of a sandbox, and returns when the sandbox has reached the wall clock. One scheduler steps the clock, and
// another takes over when it ends. The others follow the clock in the database. person receives the progress and may be nil.
func (p *program) liveThrough(ctx context.Context, db *postgres.DB, s *scheduler.Scheduler, w *worldRuntime, beside together, person *welcome) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for past := w.catchingUp; past; {
		present, err := w.syncClock(ctx, db)
		if present && err == nil {
			person.arrive()
			return nil
		}
		// The clock stops while the database is unavailable.
		if release, ok, lerr := db.TryLock(ctx, stepLock); lerr == nil && ok {
			s.Log.InfoContext(ctx, "this process lives through the sandbox's past", "at", w.now())
			err := p.stepper(db, s, w, beside, person).Run(ctx)
			release()
			if err != nil {
				return err
			}
			if past = !w.stepped.Following(); !past {
				person.arrive()
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
	return nil
}

func (p *program) stepper(db *postgres.DB, s *scheduler.Scheduler, w *worldRuntime, beside together, person *welcome) *scheduler.Stepper {
	return &scheduler.Stepper{
		Scheduler:  s,
		Unfinished: db.Unfinished,
		Working:    db.Working,
		Ended:      beside.ended,
		Advance: func(ctx context.Context, to time.Time) error {
			if err := db.AdvanceClock(ctx, to); err != nil {
				return err
			}
			w.stepped.AdvanceTo(to)
			person.step(to)
			return nil
		},
		Follow: func(ctx context.Context) error {
			if err := db.SetClock(ctx, nil); err != nil {
				return err
			}
			w.stepped.Follow()
			return p.attestNow(ctx, db, "the sandbox has reached the present")
		},
		Wall: p.now,
		Log:  s.Log,
	}
}
