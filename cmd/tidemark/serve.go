package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/api/discovery"
	"tidemark/api/endpoint"
	"tidemark/api/mcp"
	"tidemark/api/pages"
	"tidemark/api/view"
	"tidemark/internal/ops"
	"tidemark/internal/postgres"
)

// listeners are the open listeners, by the setting that names their address.
type listeners map[string]net.Listener

// close closes the listeners that are still open.
func (l listeners) close() {
	for _, open := range l {
		_ = open.Close()
	}
}

// address is a listen address and the setting that names it.
type address struct{ setting, addr string }

// listen opens listeners, before the slow part of the start. It skips empty addresses.
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

// listenPublic opens the listeners of the API, and the private one.
func (p *program) listenPublic(ctx context.Context) (listeners, error) {
	out, err := p.listen(ctx, address{"ADDR", p.settings.Addr}, address{"SIGNALS_ADDR", p.settings.SignalsAddr}, address{"OPS_ADDR", p.settings.OpsAddr})
	if err != nil {
		return nil, err
	}
	if l := out["ADDR"]; p.settings.PublicURL == "" && l != nil {
		p.settings.Addr = l.Addr().String() // the port, if 0 was set
	}
	return out, nil
}

// serveAPI serves the data of db until ctx ends. shown returns the private listener's data, given the API's conditions for readiness and a
// function that names what is unavailable.
func (p *program) serveAPI(ctx context.Context, db *postgres.DB, on listeners, world string, now func() time.Time, ready []api.Check,
	shown func(ready []ops.Readiness, degraded func() []string) opsListener,
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
		Store: db, PublicURL: p.settings.BaseURL(), World: world, Now: now, Clock: p.now, Log: log, Metrics: p.metrics,
	})
	if err != nil {
		return err
	}
	keys, err := p.newAccounts(db, log)
	if err != nil {
		return err
	}
	defer func() { _ = keys.Limiter.Close() }()
	claims, err := p.newClaimsOptions()
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
		Info: p.info(keys.Tariff, claims), Metrics: p.metrics, PicksEarly: p.settings.EarlyPicks(),
	})
	if err != nil {
		return err
	}
	clocks, _ := p.settings.Clocks() // checked at the start
	site, err := pages.New(pages.Options{
		PublicURL: p.settings.BaseURL(), World: world, View: v, Record: record, Publications: published, Described: true, Agents: true, Dashboard: true, Pushed: true,
		Datasets: true, Free: p.settings.FreePages(world), Announce: clocks.Announce,
	})
	if err != nil {
		return err
	}
	told := discovery.New(discovery.Options{
		PublicURL: p.settings.BaseURL(), Contact: p.settings.SecurityContact(), Tariff: keys.Tariff, View: v, Publications: published,
		Pages: site, Sells: payments != nil, MCP: true, Datasets: true, Now: p.now,
	})
	agents, err := mcp.New(mcp.Options{
		View: v, Record: record, Publications: published, Definitions: p.definitions(), PublicURL: p.settings.BaseURL(), Version: version,
		Verdict: pages.VerdictScript(), Metrics: p.metrics, Log: log,
	})
	if err != nil {
		return err
	}
	var raw *api.RawOptions
	var closeRaw func()
	err = p.insist(ctx, func() (err error) {
		raw, closeRaw, err = p.newRaw(ctx, db)
		return err
	})
	if err != nil {
		return err
	}
	defer closeRaw()
	srv := api.New(api.Options{
		View: v, Record: record, Pages: site, Ready: ready, Log: log, Publications: published, Data: api.Data(published),
		Accounts: keys, Payments: payments, Claims: claims, Cards: cards, Discovery: told, Metrics: p.metrics, Tracer: p.tracer, Now: p.now,
		TransparencyLog: db, Raw: raw, Pushes: db, Free: p.settings.FreePages(world), PrivateWebhooks: p.settings.WebhooksPrivate, Datasets: db,
		Connections: api.Connections{All: min(openFiles()/2, 16<<10), PerNetwork: 512},
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
	g.Go(func() error { return agents.Run(ctx) })
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
		return p.servePrivate(ctx, on, shown([]ops.Readiness{{Name: "api", OK: srv.Ready}}, srv.Degraded))
	})
	return g.Wait()
}

// newAccounts returns the options with which the API checks keys and charges for requests.
func (p *program) newAccounts(db *postgres.DB, log *slog.Logger) (*api.Accounts, error) {
	newTariff := endpoint.NewTariff
	if p.settings.EarlyPicks() {
		newTariff = endpoint.NewEarlyTariff
	}
	tariff, err := newTariff(accounts.Model(p.settings.BillingModel), p.settings.Prices)
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

// openFiles returns how many files the process may have open, or 0 if that is unknown.
func openFiles() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(limit.Cur, 1<<20))
}
