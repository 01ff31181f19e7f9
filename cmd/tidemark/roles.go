package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/api/discovery"
	"tidemark/api/endpoint"
	"tidemark/api/mcp"
	"tidemark/api/pages"
	"tidemark/api/view"
	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/internal/config"
	"tidemark/internal/ops"
	"tidemark/internal/postgres"
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
	config.Site
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
	config.Attester
	config.Payments
	config.Work
	config.Tracing
}

type apiCommand struct {
	config.Database
	config.Redis
	config.Address
	config.PrivateListener
	config.Replica
	config.API
	config.Limits
	config.MCP
	config.Payments
	config.Tracing
}

// Run runs the scheduler until it is told to stop.
func (schedulerCommand) Run(ctx context.Context, p *program) error {
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
	g.Go(func() error { return p.liveThrough(ctx, db, s, w, nil) })
	g.Go(func() error { return p.runScheduler(ctx, db, s) })
	g.Go(func() error { return alerts.Run(ctx) })
	g.Go(func() error {
		return p.servePrivate(ctx, listeners, opsListener{
			role: "scheduler", ready: []ops.Check{{Name: "scheduler", OK: s.Ready}}, observer: p.observer(db), acts: p.acts(db, nil),
			needs: []ops.Need{needsPostgres(db, true), p.needsRedis(true)},
			pools: map[string]*postgres.DB{postgres.RoleWorker: db},
		})
	})
	return g.Wait()
}

// Run runs the worker until it is told to stop.
func (workerCommand) Run(ctx context.Context, p *program) error {
	listeners, err := p.listen(ctx, address{"OPS_ADDR", p.settings.OpsAddr})
	if err != nil {
		return err
	}
	defer listeners.close()
	p.tasks = p.settings.Concurrency + p.settings.TimelyConcurrency
	db, w, err := p.openWorld(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := p.openArchive(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	srv, err := p.newWorker(db, w, store)
	if err != nil {
		return err
	}
	if err := p.checkToken(ctx, db); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return w.followClock(ctx, db) })
	g.Go(func() error { return srv.Run(ctx) })
	g.Go(func() error {
		return p.servePrivate(ctx, listeners, opsListener{
			role: "worker", ready: []ops.Check{{Name: "worker", OK: srv.Ready}}, observer: p.observer(db), acts: p.acts(db, store),
			needs: []ops.Need{needsPostgres(db, true), p.needsRedis(true), needsArchive(store)},
			pools: map[string]*postgres.DB{postgres.RoleWorker: db},
		})
	})
	return g.Wait()
}

// Run runs the API until it is told to stop.
func (apiCommand) Run(ctx context.Context, p *program) error {
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
		return p.serveAPI(ctx, db, listeners, w.Name, r.now, nil, func(ready []ops.Check, degraded func() []string) opsListener {
			return opsListener{
				role: "api", ready: ready, degraded: degraded, pools: map[string]*postgres.DB{postgres.RoleAPI: db},
				needs: []ops.Need{needsPostgres(db, false), p.needsRedis(false)}, // it answers from memory, and counts by itself
			}
		})
	})
	return g.Wait()
}

func (p *program) openArchive(ctx context.Context) (*archive.Store, error) {
	store, err := p.openStore(ctx, "ARCHIVE_URL", p.archiveURL())
	if err != nil || p.settings.ColdURL == "" {
		return store, err
	}
	colder, err := p.openStore(ctx, "ARCHIVE_COLD_URL", p.settings.ColdURL)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	store.SetColdStore(colder)
	return store, nil
}

// archiveURL is ARCHIVE_URL, or the folder that stands for it.
func (p *program) archiveURL() string {
	if p.settings.ArchiveURL != "" {
		return p.settings.ArchiveURL
	}
	return filepath.Join(p.worldDir(), "archive")
}

// openStore opens the place of raw bytes that a setting names.
func (p *program) openStore(ctx context.Context, setting, url string) (*archive.Store, error) {
	store, err := archive.Open(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("open the archive (%s): %w", setting, err)
	}
	if p.settings.World == "sandbox" {
		store.DisableSync()
	}
	return store, nil
}

func (p *program) newScheduler(db *postgres.DB, now func() time.Time) (*scheduler.Scheduler, *scheduler.AsynqQueue, error) {
	queue, err := scheduler.NewAsynqQueue(p.settings.RedisURL)
	if err != nil {
		return nil, nil, usageError{err}
	}
	return &scheduler.Scheduler{
		Store: db, Queue: queue, Schedules: p.schedule(), Now: now, Log: p.log.With("role", "scheduler"), Tracer: p.tracer,
		Metrics: p.metrics,
	}, queue, nil
}

// runScheduler runs a scheduler that is woken by every new run.
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

func (p *program) newWorker(db *postgres.DB, w *worldRuntime, store *archive.Store) (*workers.Server, error) {
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
		MaxWait:     w.maxWait,
		Log:         log,
		Metrics:     p.metrics,
		Tracer:      p.tracer,
	})
}

// jobs are the functions of a worker.
type jobs struct {
	ingest        workers.Ingest
	signals       workers.Signals
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
	accounts      workers.Accounts
	archive       workers.Archive
}

// newJobs makes the jobs by the settings.
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
	j.ingest = workers.Ingest{DB: db, Engine: engine, Sources: byID, Dependents: dependents(list, defs)}
	j.backfills = workers.Backfills{DB: db, Signals: j.signals, Archive: store, Sources: byID, Now: w.now}
	j.announcements = workers.Announcements{DB: db, Log: log}
	j.publications = workers.Publications{Picks: j.picks, Log: log}
	j.ledger = p.newLedger(db)
	j.accounts = workers.Accounts{DB: db, Keep: p.retention()}
	j.archive = workers.Archive{Store: store, After: time.Duration(p.settings.ColdAfter) * 24 * time.Hour, Log: log}
	return j, nil
}

// handlers maps every job to its function.
func (j jobs) handlers() map[string]workers.Handler {
	return map[string]workers.Handler{
		task.Ingest:    j.ingest.Run,
		task.Signal:    j.signals.Run,
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
		task.Accounts:  j.accounts.Run,
		task.Archive:   j.archive.Run,
	}
}

// listeners are the open addresses, by the setting that names them.
type listeners map[string]net.Listener

// close closes what is still open.
func (l listeners) close() {
	for _, open := range l {
		_ = open.Close()
	}
}

// address is a setting that names one.
type address struct{ setting, addr string }

// listen opens addresses, before anything slow is begun. An empty one is left out.
func (p *program) listen(ctx context.Context, addresses ...address) (listeners, error) {
	out := listeners{}
	for _, a := range addresses {
		if a.addr == "" {
			continue
		}
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.addr)
		if err != nil {
			out.close()
			return nil, fmt.Errorf("%s: cannot listen on %s: %w", a.setting, a.addr, err)
		}
		out[a.setting] = l
		p.log.InfoContext(ctx, "listening", "setting", a.setting, "addr", l.Addr().String())
	}
	return out, nil
}

// listenPublic opens the addresses of the API, and the private one.
func (p *program) listenPublic(ctx context.Context) (listeners, error) {
	out, err := p.listen(ctx, address{"ADDR", p.settings.Addr}, address{"SIGNALS_ADDR", p.settings.SignalsAddr}, address{"OPS_ADDR", p.settings.OpsAddr})
	if err != nil {
		return nil, err
	}
	if l := out["ADDR"]; p.settings.PublicURL == "" && l != nil {
		p.settings.Addr = l.Addr().String() // the port, where 0 was asked for
	}
	return out, nil
}

// serveAPI serves what db has until ctx ends. shown says what the private listener shows, given what the API waits for and what is away.
func (p *program) serveAPI(ctx context.Context, db *postgres.DB, on listeners, world string, now func() time.Time, ready []api.Check,
	shown func(ready []ops.Check, degraded func() []string) opsListener,
) error {
	log := p.log.With("role", "api")
	store, closeStore, err := p.historyStore(ctx, db, log)
	if err != nil {
		return err
	}
	defer closeStore()
	v, err := view.New(view.Options{
		Store: store, Definitions: p.definitions(), PublicURL: p.settings.BaseURL(), World: world, Now: now, Log: log,
		Metrics: p.metrics,
	})
	if err != nil {
		return err
	}
	record, err := view.NewRecord(view.RecordOptions{
		Store: db, PublicURL: p.settings.BaseURL(), World: world, Now: now, Log: log, Metrics: p.metrics,
	})
	if err != nil {
		return err
	}
	keys, err := p.newAccounts(db, log)
	if err != nil {
		return err
	}
	defer func() { _ = keys.Limiter.Close() }()
	claims, err := p.newDesk()
	if err != nil {
		return err
	}
	cards, err := p.newCards(keys.Tariff.Model)
	if err != nil {
		return err
	}
	payments, err := p.newPayments(db, keys.Tariff)
	if err != nil {
		return err
	}
	published, err := view.NewPublications(view.PublicationsOptions{
		Store: db, PublicURL: p.settings.BaseURL(), World: world, Now: now, Log: log,
		Info: p.info(keys.Tariff, claims), Metrics: p.metrics,
	})
	if err != nil {
		return err
	}
	site, err := pages.New(pages.Options{
		PublicURL: p.settings.BaseURL(), World: world, View: v, Record: record, Publications: published, Described: true, Agents: true, Dashboard: true,
		Free: p.settings.FreePages(world),
	})
	if err != nil {
		return err
	}
	told, err := discovery.New(discovery.Options{
		PublicURL: p.settings.BaseURL(), Contact: p.settings.SecurityContact(), Tariff: keys.Tariff, View: v, Publications: published,
		Pages: site, Sells: payments != nil, MCP: true, Now: p.now,
	})
	if err != nil {
		return err
	}
	agents, err := mcp.New(mcp.Options{
		View: v, Record: record, Publications: published, Definitions: p.definitions(), PublicURL: p.settings.BaseURL(), Version: version,
		Metrics: p.metrics, Log: log,
	})
	if err != nil {
		return err
	}
	srv := api.New(api.Options{
		View: v, Record: record, Pages: site, Ready: ready, Log: log, Publications: published, Data: api.Data(published),
		Accounts: keys, Payments: payments, Claims: claims, Cards: cards, Discovery: told, Metrics: p.metrics, Tracer: p.tracer, Now: p.now,
		Agents: &api.AgentOptions{
			Handler: agents, Origins: p.settings.MCPOrigins(), Rate: api.Rate(p.settings.MCPRateLimit), RegistryKey: p.settings.MCPRegistryKey,
		},
	})
	if payments != nil {
		payments.Watch(p.metrics)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return v.Run(ctx) })
	g.Go(func() error { return record.Run(ctx) })
	g.Go(func() error { return published.Run(ctx) })
	g.Go(func() error { return srv.Run(ctx) })
	if payments != nil {
		g.Go(func() error { return payments.Run(ctx) })
	}
	if l := on["ADDR"]; l != nil {
		g.Go(func() error { return srv.Serve(ctx, l) })
	}
	if l := on["SIGNALS_ADDR"]; l != nil {
		g.Go(func() error { return srv.ServeSignals(ctx, l) })
	}
	g.Go(func() error {
		return p.servePrivate(ctx, on, shown([]ops.Check{{Name: "api", OK: srv.Ready}}, srv.Degraded))
	})
	return g.Wait()
}

// newAccounts is what the API needs to know keys and to take money.
func (p *program) newAccounts(db *postgres.DB, log *slog.Logger) (*api.Accounts, error) {
	tariff, err := endpoint.NewTariff(accounts.Model(p.settings.BillingModel), p.settings.Prices)
	if err != nil {
		return nil, usageError{fmt.Errorf("PRICES: %w", err)}
	}
	proxies, err := p.settings.Proxies()
	if err != nil {
		return nil, usageError{fmt.Errorf("TRUSTED_PROXIES: %w", err)}
	}
	limiter, err := api.NewLimiter(p.settings.RedisURL, p.now, log)
	if err != nil {
		return nil, usageError{err}
	}
	return &api.Accounts{
		DB: db, Tariff: tariff, Now: p.now, Limiter: limiter, TrustedProxies: proxies,
		KeyRate: api.Rate(p.settings.RateLimit), RegisterRate: api.Rate(p.settings.RegisterLimit),
		SignalsRate: api.Rate(p.settings.SignalsRateLimit), X402Rate: api.Rate(p.settings.X402RateLimit),
		PagesRate: api.Rate(p.settings.PagesRateLimit),
	}, nil
}
