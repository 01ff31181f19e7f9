package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/api/pages"
	"tidemark/ingest/archive"
	"tidemark/internal/config"
	"tidemark/internal/ops"
	"tidemark/internal/postgres"
	"tidemark/internal/redisurl"
	"tidemark/internal/task"
	"tidemark/scheduler"
)

// pickSlack is the time after the cutoff of its day within which a pick must be recorded. After it, the pick counts as missing.
const pickSlack = 30 * time.Minute

// opsListener is the data of a process's private listener.
type opsListener struct {
	role  string
	ready []ops.Readiness
	needs []ops.Need
	// degraded may be nil.
	degraded func() []string
	// observer reads the state of the installation. It is nil in an API, which does not have the privileges for it.
	observer *ops.Observer
	// actions are the actions that its pages offer; nil means none.
	actions *ops.Actions
	// pools are the connection pools of the process by role.
	pools map[string]*postgres.DB
}

// servePrivate serves OPS_ADDR until ctx ends, and reports the state of the process to the service manager. Without both, it only waits for
// ctx.
func (p *program) servePrivate(ctx context.Context, on listeners, v opsListener) (err error) {
	l, manager := on["OPS_ADDR"], p.manager()
	if l == nil && manager.Socket == "" {
		<-ctx.Done()
		return nil
	}
	ops.WatchPools(p.metrics, v.pools)
	var status *ops.StatusPages
	var monitor *ops.Monitor
	if v.observer != nil {
		v.observer.Watch(p.metrics)
		at, err := redisurl.Parse(p.settings.RedisURL)
		if err != nil {
			return usageError{err}
		}
		queue := ops.NewQueue(at)
		defer func() { err = errors.Join(err, queue.Close()) }()
		queue.Watch(p.metrics)
		monitor = ops.NewMonitor(at, ops.MonitorPath)
		defer func() { err = errors.Join(err, monitor.Close()) }()
		status = &ops.StatusPages{Observer: v.observer, Next: nextSlot, Stylesheet: pages.Stylesheet(), Icon: pages.Icon(), Queue: queue, Actions: v.actions}
	}
	return p.serveOps(ctx, l, manager, v.needs, ops.Options{
		Role: v.role, Ready: v.ready, Degraded: v.degraded, Metrics: p.metrics, StatusPages: status, Monitor: monitor,
	})
}

// serveOps serves a private listener, which may be nil, and checks the needs of the process.
func (p *program) serveOps(ctx context.Context, l net.Listener, manager ops.Manager, needs []ops.Need, o ops.Options) error {
	o.Log = p.log.With("role", o.Role)
	o.Hosts = append(strings.FieldsFunc(p.settings.OpsHosts, func(r rune) bool { return r == ',' || r == ' ' }), config.Hostname())
	if host, _, err := net.SplitHostPort(p.settings.OpsAddr); err == nil {
		o.Hosts = append(o.Hosts, host)
	}
	o.Needs = ops.NewWatch(needs, p.now, o.Log, p.metrics)
	s := ops.New(o)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		o.Needs.Run(ctx)
		return nil
	})
	g.Go(func() error {
		s.Notify(ctx, manager)
		return nil
	})
	if l != nil {
		g.Go(func() error { return s.Serve(ctx, l) })
	}
	return g.Wait()
}

// manager returns the service manager that started this process.
func (p *program) manager() ops.Manager {
	socket, watchdog := config.Manager()
	return ops.Manager{Socket: socket, Watchdog: watchdog}
}

// needsPostgres returns the need for the database of a pool.
func (p *program) needsPostgres(db *postgres.DB, role string, vital bool) ops.Need {
	return ops.Need{Name: "postgres", Setting: p.databaseSetting(role), Vital: vital, Ask: db.Ping}
}

// needsRedis returns the need for the Redis of the settings.
func (p *program) needsRedis(vital bool) ops.Need {
	return ops.Need{Name: "redis", Setting: "REDIS_URL", Vital: vital, Ask: func(ctx context.Context) error {
		at, err := redisurl.Parse(p.redisURL())
		if err != nil {
			return err
		}
		return at.Ping(ctx)
	}}
}

// pingRedis asks Redis for an answer, for COMMAND_TIMEOUT at most.
func (p *program) pingRedis(ctx context.Context, at redisurl.Redis) error {
	if d := p.answers; d > 0 {
		timed, stop := context.WithTimeout(ctx, d)
		defer stop()
		ctx = timed
	}
	err := at.Ping(ctx)
	if redisurl.Transient(err) == redisurl.ClassTimeout || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer of Redis (%s): %w", at.Kind(), unanswered(err))
	}
	switch redisurl.Transient(err) {
	case redisurl.ClassConnection, redisurl.ClassConnections:
		return fmt.Errorf("no connection to Redis (%s): %w", at.Kind(), err)
	}
	if err != nil {
		return fmt.Errorf("refused by Redis (%s): %w", at.Kind(), err)
	}
	return nil
}

// needsArchive returns the need for the archive. It is not vital: without it a worker still computes, picks and publishes, and only fetches
// wait.
func needsArchive(store *archive.Store) ops.Need {
	return ops.Need{Name: "archive", Setting: "ARCHIVE_URL", Ask: store.Reach}
}

type queueCommand struct {
	config.Place
	config.Redis
	config.PrivateListener
}

// Run serves the queue's monitor, with health and the queue's metrics, until it is stopped. It needs only Redis.
func (queueCommand) Run(ctx context.Context, p *program) (err error) {
	if p.settings.OpsAddr == "" {
		return usageError{errors.New("OPS_ADDR is not set: it says where the monitor is served")}
	}
	at, err := redisurl.Parse(p.redisURL())
	if err != nil {
		return usageError{err}
	}
	on, err := p.listen(ctx, address{"OPS_ADDR", p.settings.OpsAddr})
	if err != nil {
		return err
	}
	defer on.close()
	queue, monitor := ops.NewQueue(at), ops.NewMonitor(at, ops.MonitorPath)
	defer func() { err = errors.Join(err, queue.Close(), monitor.Close()) }()
	queue.Watch(p.metrics)
	return p.serveOps(ctx, on["OPS_ADDR"], p.manager(), []ops.Need{p.needsRedis(true)}, ops.Options{Role: "queue", Metrics: p.metrics, Monitor: monitor})
}

// redisURL returns REDIS_URL, or the URL of the Redis of this world's `up`.
func (p *program) redisURL() string {
	if p.settings.RedisURL == "" {
		if c, err := p.connections(); err == nil {
			return c.RedisURL
		}
	}
	return p.settings.RedisURL
}

// redisOfDatabase returns REDIS_URL, or the URL of the Redis of this world's `up`, if the settings name no other database than `up` uses.
func (p *program) redisOfDatabase() string {
	if p.settings.RedisURL != "" {
		return p.settings.RedisURL
	}
	c, err := p.connections()
	if err != nil {
		return ""
	}
	for _, url := range []string{p.settings.DatabaseURL, p.settings.DatabaseAPIURL, p.settings.DatabaseWorkerURL} {
		if url != "" && url != c.DatabaseURL && url != c.DatabaseAPIURL && url != c.DatabaseWorkerURL {
			return ""
		}
	}
	return c.RedisURL
}

// joinRedis sets REDIS_URL for a role that begins next to an `up`, or returns an error that says where `up` keeps the URL.
func (p *program) joinRedis() error {
	if p.settings.RedisURL = p.redisOfDatabase(); p.settings.RedisURL == "" {
		return usageError{fmt.Errorf("%w. If `tidemark up` runs on this database, set REDIS_URL to redis_url in the file %s of the STATE_DIR of `up`",
			redisurl.ErrMissing, filepath.Join(p.settings.World, "connections.json"))}
	}
	return nil
}

// actions returns the actions that operators can take on the pages of a process, nil without OPS_TOKEN. Without the archive, they cannot
// accept answers.
func (p *program) actions(db *postgres.DB, store *archive.Store) *ops.Actions {
	if p.settings.OpsToken == "" {
		return nil
	}
	a := &ops.Actions{DB: db, Token: p.settings.OpsToken, Now: p.now, Apply: func(ctx context.Context, plan int64) error {
		planner, err := p.planner(ctx, db)
		if err != nil {
			return err
		}
		return planner.Apply(ctx, plan)
	}}
	if store != nil {
		a.Accept = func(ctx context.Context, id int64, d postgres.Decision) (int64, error) {
			return p.releaser(db, store).Accept(ctx, id, d)
		}
	}
	return a
}

// alertLimits returns the thresholds of the settings.
func (p *program) alertLimits() ops.Limits {
	return ops.Limits{RunwayDays: p.settings.AlertRunwayDays, BackupAge: time.Duration(p.settings.AlertBackupHours) * time.Hour}
}

// observer returns an observer of the installation's state.
func (p *program) observer(db *postgres.DB) *ops.Observer {
	clocks, _ := p.settings.Clocks() // checked at the start
	return &ops.Observer{DB: db, Definitions: p.definitions(), Now: p.now, PickDue: clocks.Cutoff + pickSlack}
}

// nextSlot returns the time of a schedule's next slot after an instant. It is the zero time if the schedule is invalid or has no next slot.
func nextSlot(s task.Schedule, after time.Time) time.Time {
	c, err := scheduler.Parse(s)
	if err != nil {
		return time.Time{}
	}
	return c.Next(after)
}

// alerter returns the process's alerter, with the channels of the settings.
func (p *program) alerter(db *postgres.DB) (*ops.Alerter, error) {
	channels, err := p.channels()
	if err != nil {
		return nil, err
	}
	return &ops.Alerter{
		Observer: p.observer(db), Limits: p.alertLimits(), Channels: channels,
		Log: p.log.With("role", "scheduler"), Metrics: p.metrics,
	}, nil
}

// channels returns the alert channels of the settings, by name.
func (p *program) channels() (map[string]ops.Channel, error) {
	channels := map[string]ops.Channel{}
	if url := p.settings.AlertWebhookURL; url != "" {
		channels["webhook"] = ops.Webhook{URL: url, Installation: p.settings.BaseURL()}
	}
	if server := p.settings.AlertSMTPURL; server != "" {
		to := strings.FieldsFunc(p.settings.AlertMailTo, func(r rune) bool { return r == ',' || r == ' ' })
		m, err := ops.NewMail(ops.Mail{Server: server, From: p.settings.AlertMailFrom, To: to, Installation: p.settings.BaseURL()})
		if err != nil {
			return nil, usageError{err}
		}
		channels["mail"] = m
	}
	return channels, nil
}

type alertsCommand struct {
	config.Stored
	format

	All   bool  `help:"Also alerts that are over."`
	Limit limit `default:"50" help:"How many, the newest first."`
}

// Run prints the alerts.
func (c alertsCommand) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Alerts(ctx, c.All, int(c.Limit))
	if err != nil {
		return err
	}
	t := newTable("id", "severity", "kind", "subject", "raised", "over", "text")
	for _, a := range list {
		t.add(a.ID, a.Severity, a.Kind, a.Subject, a.RaisedAt, a.ResolvedAt, a.Text)
	}
	return c.list(p.stdout, t)
}

type workersCommand struct {
	config.Stored
	config.Redis
	format
}

// doing holds the runs of a worker. In JSON it is a list.
type doing []ops.WorkerRun

// String returns the list of runs for people.
func (d doing) String() string {
	said := make([]string, len(d))
	for i, r := range d {
		said[i] = fmt.Sprintf("run %d: %s %s of %s since %s", r.ID, r.Job, r.Subject, instant(&r.Slot), instant(r.Since))
	}
	return dash(strings.Join(said, "; "))
}

// Run prints the workers.
func (c workersCommand) Run(ctx context.Context, p *program) (err error) {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	at, err := redisurl.Parse(p.redisOfDatabase())
	if err != nil {
		return usageError{err}
	}
	if err := p.pingRedis(ctx, at); err != nil {
		return fmt.Errorf("REDIS_URL: %w", err)
	}
	queue := ops.NewQueue(at)
	defer func() { err = errors.Join(err, queue.Close()) }()
	list, err := queue.Workers(ctx, db)
	if err != nil {
		return err
	}
	t := newTable("worker", "since", "state", "places", "runs")
	for _, w := range list {
		var since *time.Time
		if !w.Since.IsZero() {
			since = &w.Since
		}
		t.add(w.Name, since, w.State, w.Places, doing(append([]ops.WorkerRun{}, w.Runs...)))
	}
	return c.list(p.stdout, t)
}

type actionsCommand struct {
	config.Stored
	format

	Limit limit `default:"50" help:"How many, the newest first."`
}

// Run prints the actions of operators on the private pages.
func (c actionsCommand) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Actions(ctx, int(c.Limit))
	if err != nil {
		return err
	}
	t := newTable("id", "at", "by", "action", "subject", "reason", "failed", "detail")
	for _, a := range list {
		t.add(a.ID, a.At, a.By, a.Action, a.Subject, cut{&a.Reason}, a.Failed, cut{a.Detail})
	}
	return c.list(p.stdout, t)
}

type healthCommand struct {
	config.Operators
	format
}

// Run asks the private listener of a process on this machine whether it is ready. It is the health check of a container, which has no other
// program for that.
func (c healthCommand) Run(ctx context.Context, p *program) error {
	host, port, err := net.SplitHostPort(p.settings.OpsAddr)
	if err != nil {
		return usageError{errors.New("OPS_ADDR is not set: it says where to ask")}
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, stop := context.WithTimeout(ctx, 4*time.Second)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return usageError{fmt.Errorf("OPS_ADDR: %w", err)}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("OPS_ADDR: ask whether it is ready: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return fmt.Errorf("OPS_ADDR: ask whether it is ready: %w", err)
	}
	var h ops.Health
	if err := json.Unmarshal(body, &h); err != nil {
		return fmt.Errorf("OPS_ADDR is not served by Tidemark: it answers with status %d and %.80q", resp.StatusCode, body)
	}
	if c.JSON {
		_, err = p.stdout.Write(body)
	} else {
		err = writeHealth(p.stdout, h)
	}
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("it is not ready: %s", strings.Join(h.Missing, ", "))
	}
	return err
}

// writeHealth prints the state of a process, and a line for each of its needs.
func writeHealth(out io.Writer, h ops.Health) error {
	state := "ready"
	if !h.OK {
		state = "not ready, missing: " + strings.Join(h.Missing, ", ")
	}
	if len(h.Degraded) > 0 {
		state += "; degraded without " + strings.Join(h.Degraded, ", ")
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "%s\t%s\n", h.Role, state)
	for _, n := range h.Needs {
		line := "is there"
		if !n.OK {
			line = "is away"
		}
		if !n.Since.IsZero() {
			line += " since " + instant(&n.Since)
		}
		if n.LastError != nil {
			line += fmt.Sprintf(" (last error, at %s: %s)", instant(n.LastErrorAt), *n.LastError)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s, %s\n", n.Name, n.Setting, line)
	}
	return w.Flush()
}

// retention returns how long each kind of deletable data is kept.
func (p *program) retention() postgres.Retention {
	const day = 24 * time.Hour
	return postgres.Retention{
		Runs: time.Duration(p.settings.KeepRunsDays) * day, Usage: time.Duration(p.settings.KeepUsageDays) * day,
		Quotes: time.Duration(p.settings.KeepQuotesDays) * day, Alerts: time.Duration(p.settings.KeepAlertsDays) * day,
		Pushes: 14 * day, // docs/api.md tells clients
	}
}
