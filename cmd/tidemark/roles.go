package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/internal/config"
	"tidemark/internal/ops"
	"tidemark/internal/postgres"
	"tidemark/internal/redisurl"
	"tidemark/internal/task"
	"tidemark/scheduler"
	"tidemark/workers"
)

type schedulerCommand struct {
	config.Database
	config.Redis
	config.Address
	config.PrivateListener
	config.OperatorPages
	config.ColdArchive
	config.Worlds
	config.Licences
	config.Companies
	config.Clock
	config.Alerts
	config.AlertMail
	config.Tracing
}

type workerCommand struct {
	config.Database
	config.Redis
	config.Address
	config.PrivateListener
	config.OperatorPages
	config.Archive
	config.Worlds
	config.Licences
	config.Upstreams
	config.Companies
	config.Followed
	config.Clock
	config.Ledger
	config.TransparencyLog
	config.Early
	config.Attester
	config.Payments
	config.Webhooks
	config.PublicPages
	config.Work
	config.Tracing
}

type apiCommand struct {
	config.Database
	config.Redis
	config.Address
	config.PrivateListener
	config.Replica
	config.Archive
	config.Raw
	config.PublicPages
	config.Clock
	config.Early
	config.API
	config.Limits
	config.MCP
	config.Payments
	config.Webhooks
	config.Tracing
}

// Run runs the scheduler until it is stopped.
func (schedulerCommand) Run(ctx context.Context, p *program) error {
	if err := p.joinRedis(); err != nil {
		return err
	}
	listeners, err := p.listen(ctx, address{"OPS_ADDR", p.settings.OpsAddr})
	if err != nil {
		return err
	}
	defer listeners.close()
	db, w, err := p.openWorld(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	s, queue, err := p.newScheduler(db, w.now)
	if err != nil {
		return err
	}
	alerts, err := p.alerter(db)
	if err != nil {
		return err
	}
	defer func() { _ = queue.Close() }()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.liveThrough(ctx, db, s, w, together{}, nil) })
	g.Go(func() error { return p.runScheduler(ctx, db, s) })
	g.Go(func() error { return alerts.Run(ctx) })
	g.Go(func() error {
		return p.servePrivate(ctx, listeners, opsListener{
			role: "scheduler", ready: []ops.Readiness{{Name: "scheduler", OK: s.Ready}}, observer: p.observer(db), actions: p.actions(db, nil),
			needs: []ops.Need{p.needsPostgres(db, postgres.RoleWorker, true), p.needsRedis(true)},
			pools: map[string]*postgres.DB{postgres.RoleWorker: db},
		})
	})
	return g.Wait()
}

// Run runs the worker until it is stopped.
func (workerCommand) Run(ctx context.Context, p *program) error {
	if _, err := p.universe(); err != nil {
		return usageError{err}
	}
	if err := p.joinRedis(); err != nil {
		return err
	}
	listeners, err := p.listen(ctx, address{"OPS_ADDR", p.settings.OpsAddr})
	if err != nil {
		return err
	}
	defer listeners.close()
	defer workers.CollectSeldom()()
	p.tasks = workers.Places(p.settings.Concurrency, p.settings.TimelyConcurrency)
	db, w, err := p.openWorld(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := p.openArchive(ctx, db)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	srv, err := p.newWorker(db, w, store, together{})
	if err != nil {
		return err
	}
	if err := p.checkToken(ctx, db); err != nil {
		return err
	}
	logs, err := p.newSequencer(db, w)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return w.followClock(ctx, db) })
	g.Go(func() error { return logs.run(ctx) })
	g.Go(func() error { return p.newMatcher(db).Run(ctx) })
	g.Go(func() error { return srv.Run(ctx) })
	g.Go(func() error {
		return p.servePrivate(ctx, listeners, opsListener{
			role: "worker", ready: []ops.Readiness{{Name: "worker", OK: srv.Ready}}, observer: p.observer(db), actions: p.actions(db, store),
			needs: []ops.Need{p.needsPostgres(db, postgres.RoleWorker, true), p.needsRedis(true), needsArchive(store)},
			pools: map[string]*postgres.DB{postgres.RoleWorker: db},
		})
	})
	return g.Wait()
}

// Run runs the API until it is stopped.
func (apiCommand) Run(ctx context.Context, p *program) error {
	p.settings.RedisURL = p.redisOfDatabase()
	listeners, err := p.listenPublic(ctx)
	if err != nil {
		return err
	}
	defer listeners.close()
	db, err := p.openDB(ctx, postgres.RoleAPI)
	if err != nil {
		return err
	}
	defer db.Close()
	w, err := db.World(ctx)
	if err != nil {
		return err
	}
	r := p.readOnlyWorld(w)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.followClock(ctx, db) })
	g.Go(func() error {
		return p.serveAPI(ctx, db, listeners, w.Name, r.now, nil, func(ready []ops.Readiness, degraded func() []string) opsListener {
			return opsListener{
				role: "api", ready: ready, degraded: degraded, pools: map[string]*postgres.DB{postgres.RoleAPI: db},
				needs: []ops.Need{p.needsPostgres(db, postgres.RoleAPI, false), p.needsRedis(false)}, // it answers from memory, and can count requests itself
			}
		})
	})
	return g.Wait()
}

func (p *program) newScheduler(db *postgres.DB, now func() time.Time) (*scheduler.Scheduler, *scheduler.AsynqQueue, error) {
	queue, err := scheduler.NewAsynqQueue(p.settings.RedisURL, p.now)
	if err != nil {
		return nil, nil, usageError{err}
	}
	return &scheduler.Scheduler{
		Store: db, Queue: queue, Schedules: p.schedule(), Now: now, Log: p.log.With("role", "scheduler"), Tracer: p.tracer,
		Metrics: p.metrics,
	}, queue, nil
}

// runScheduler runs a scheduler that every new run wakes.
func (p *program) runScheduler(ctx context.Context, db *postgres.DB, s *scheduler.Scheduler) error {
	wake := make(chan struct{}, 1)
	s.Wake = wake
	poke := func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Run(ctx) })
	g.Go(func() error {
		return db.Listen(ctx, postgres.Listener{
			Channels:  []string{postgres.ChannelRunsDue},
			Connected: func(context.Context) error { poke(); return nil },
			Notified:  func(context.Context, string, string) error { poke(); return nil },
			Log:       s.Log,
		})
	})
	return g.Wait()
}

// together connects a scheduler and a worker of the same process. Each wakes the other, so that neither waits for its next poll of the
// queue or the database. The zero value wakes neither.
type together struct {
	bell  *redisurl.Bell
	ended chan struct{}
}

func newTogether() together {
	return together{bell: &redisurl.Bell{}, ended: make(chan struct{}, 1)}
}

// runEnded signals the scheduler that a run has ended.
func (t together) runEnded() {
	select {
	case t.ended <- struct{}{}:
	default: // also if no scheduler listens
	}
}

func (p *program) newWorker(db *postgres.DB, w *worldRuntime, store *archive.Store, beside together) (*workers.Server, error) {
	log := p.log.With("role", "worker")
	j, err := p.newJobs(db, w, p.newEngine(db, w, store), store, log)
	if err != nil {
		return nil, err
	}
	for _, why := range p.missingEquitySettings() {
		log.Warn("there will be no picks", "why", why)
	}
	handlers := j.handlers()
	if w.catchingUp {
		handlers = w.afterSlot(db, handlers)
	}
	return workers.New(workers.Options{
		DB:          db,
		RedisURL:    p.settings.RedisURL,
		Handlers:    handlers,
		Name:        fmt.Sprintf("%s/%d", config.Hostname(), os.Getpid()),
		Concurrency: p.settings.Concurrency,
		Timely:      p.settings.TimelyConcurrency,
		Poll:        w.poll,
		Bell:        beside.bell,
		Ended:       beside.runEnded,
		MaxWait:     w.maxWait,
		Log:         log,
		Metrics:     p.metrics,
		Tracer:      p.tracer,
	})
}

// jobs holds the job functions of a worker.
type jobs struct {
	ingest        workers.Ingest
	signals       workers.Signals
	forecasts     workers.Forecasts
	equities      workers.Equities
	backfills     workers.Backfills
	picks         workers.Picks
	announcements workers.Announcements
	publications  workers.Publications
	x402          workers.X402
	claims        workers.Claims
	processor     workers.Processor
	ledger        workers.Ledger
	attest        workers.Attest
	webhooks      workers.Webhooks
	accounts      workers.Accounts
	archive       workers.Archive
}

// newJobs makes the jobs from the settings.
func (p *program) newJobs(db *postgres.DB, w *worldRuntime, engine *ingest.Engine, store *archive.Store, log *slog.Logger) (j jobs, err error) {
	list, defs := p.keyed(), p.definitions()
	byID := map[string]ingest.Source{}
	for _, s := range list {
		byID[s.ID] = s
	}
	if j.x402, err = p.newX402(db); err != nil {
		return j, err
	}
	if j.claims, err = p.newClaims(db, j.x402, log); err != nil {
		return j, err
	}
	if j.processor, err = p.newProcessor(db); err != nil {
		return j, err
	}
	if j.picks, err = p.newPicks(db, log); err != nil {
		return j, err
	}
	if j.attest, err = p.newAttest(db, log); err != nil {
		return j, err
	}
	if j.equities, err = p.equities(db, w, engine, store); err != nil {
		return j, err
	}
	j.signals = p.signalJob(db, list, defs)
	j.forecasts = workers.Forecasts{DB: db, Log: log}
	j.ingest = workers.Ingest{DB: db, Engine: engine, Sources: byID, Dependents: dependents(list, defs)}
	j.backfills = workers.Backfills{DB: db, Signals: j.signals, Archive: store, Sources: byID, Now: w.now}
	j.announcements = workers.Announcements{DB: db, Log: log}
	if w.wakeLog != nil {
		j.announcements.AwaitQuorum = func(ctx context.Context) error { return w.awaitQuorum(ctx, db) }
	}
	j.publications = workers.Publications{Picks: j.picks, Signals: p.definitions(), Log: log}
	j.ledger = p.newLedger(db)
	j.webhooks = p.newWebhooks(db)
	j.accounts = workers.Accounts{DB: db, Keep: p.retention()}
	j.archive = workers.Archive{Store: store, After: time.Duration(p.settings.ColdAfter) * 24 * time.Hour, Log: log}
	return j, nil
}

// handlers maps every job to its function.
func (j jobs) handlers() map[string]workers.Handler {
	return map[string]workers.Handler{
		task.Ingest:    j.ingest.Run,
		task.Signal:    j.signals.Run,
		task.Forecast:  j.forecasts.Run,
		task.Equities:  j.equities.Run,
		task.Backfill:  j.backfills.Run,
		task.Pick:      j.picks.Run,
		task.Announce:  j.announcements.Run,
		task.Publish:   j.publications.Run,
		task.X402:      j.x402.Run,
		task.Claims:    j.claims.Run,
		task.Processor: j.processor.Run,
		task.Ledger:    j.ledger.Run,
		task.Attest:    j.attest.Run,
		task.Webhook:   j.webhooks.Run,
		task.Accounts:  j.accounts.Run,
		task.Archive:   j.archive.Run,
	}
}
