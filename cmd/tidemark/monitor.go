package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/chain"
	"tidemark/chain/audit"
	"tidemark/chain/monitor"
	"tidemark/chain/tlog"
	"tidemark/chain/witness"
	"tidemark/internal/calendar"
	"tidemark/internal/config"
	"tidemark/internal/ops"
	"tidemark/internal/postgres"
	"tidemark/internal/telemetry"
)

type monitorCommand struct {
	config.Place
	config.Address
	config.PrivateListener
	config.Monitor
	config.Alerts
	config.AlertMail
}

// Run follows the logs of the policy until it is stopped. It needs no database.
func (monitorCommand) Run(ctx context.Context, p *program) error {
	on, err := p.listen(ctx, address{"OPS_ADDR", p.settings.OpsAddr})
	if err != nil {
		return err
	}
	defer on.close()
	w, err := p.newWatcher()
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return w.run(ctx) })
	g.Go(func() error {
		return p.serveOps(ctx, on["OPS_ADDR"], p.manager(), nil, ops.Options{
			Role: "monitor", Metrics: p.metrics, Ready: []ops.Readiness{{Name: "monitor", OK: w.ready.Load}},
		})
	})
	return g.Wait()
}

// followLogs follows the logs of MONITOR_POLICY in the process of up. It does nothing if MONITOR_POLICY is not set.
func (p *program) followLogs() (run func(context.Context) error, err error) {
	if p.settings.MonitorPolicy == "" {
		return func(context.Context) error { return nil }, nil
	}
	w, err := p.newWatcher()
	if err != nil {
		return nil, err
	}
	return w.run, nil
}

// watcher holds the monitors of a process, one per log, and their alerts.
type watcher struct {
	*program

	monitors []*monitor.Monitor
	alerts   *ops.KeptAlerts
	ready    atomic.Bool

	mu sync.Mutex
	// open holds the findings of each monitor's last round. A monitor without a completed round is not in it.
	open map[*monitor.Monitor][]postgres.Alert
}

func (p *program) newWatcher() (*watcher, error) {
	w := &watcher{program: p, open: map[*monitor.Monitor][]postgres.Alert{}}
	dir := filepath.Join(p.worldDir(), "monitor")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("STATE_DIR: %w", err)
	}
	channels, err := p.channels()
	if err != nil {
		return nil, err
	}
	w.alerts = &ops.KeptAlerts{
		Path: filepath.Join(dir, "alerts.json"), Write: witness.WriteFile, Channels: channels, Log: p.log.With("role", "monitor"), Now: p.now,
	}
	if p.settings.MonitorPolicy == "" {
		return w, nil
	}
	if p.settings.MonitorEvery < time.Second || p.settings.MonitorCadence < p.settings.MonitorEvery {
		return nil, usageError{errors.New("MONITOR_EVERY is a second at least, and MONITOR_CADENCE not less than that")}
	}
	text, err := os.ReadFile(p.settings.MonitorPolicy)
	if err != nil {
		return nil, usageError{fmt.Errorf("MONITOR_POLICY: %w", err)}
	}
	policy, err := tlog.ParsePolicy(text)
	if err != nil {
		return nil, usageError{fmt.Errorf("MONITOR_POLICY: %w", err)}
	}
	logs, err := logsOf(policy)
	if err != nil {
		return nil, usageError{fmt.Errorf("MONITOR_POLICY: %w", err)}
	}
	for _, o := range logs {
		l := o.Log
		o.Policy, o.Dir, o.Now, o.Cadence = policy, dir, p.now, p.settings.MonitorCadence
		o.TradingDays = tradingDays
		// A server like ours publishes its record below its address. Its picks and forecasts must be in the log.
		if base, ok := strings.CutSuffix(strings.TrimRight(l.URL, "/"), "/log"); ok {
			o.Server, o.Audit = base, p.auditOf(base)
		}
		m, err := monitor.New(o)
		if err != nil {
			return nil, err
		}
		w.monitors = append(w.monitors, m)
	}
	if len(w.monitors) == 0 {
		return nil, usageError{errors.New("MONITOR_POLICY names no log")}
	}
	w.watch(p.metrics)
	return w, nil
}

// logsOf returns what is followed: each log once, with all keys that the policy has of it.
func logsOf(policy *tlog.Policy) (list []monitor.Options, err error) {
	for _, l := range policy.Logs {
		i := slices.IndexFunc(list, func(o monitor.Options) bool { return o.Log.Name() == l.Name() })
		switch {
		case i < 0:
			list = append(list, monitor.Options{Log: l})
		case l.URL != "" && list[i].Log.URL != "" && l.URL != list[i].Log.URL:
			return nil, fmt.Errorf("the log %s has two addresses", l.Name())
		default:
			list[i].Keys = append(list[i].Keys, l)
			if list[i].Log.URL == "" {
				list[i].Log.URL = l.URL
			}
		}
	}
	for _, o := range list {
		if o.Log.URL == "" {
			return nil, fmt.Errorf("the log %s has no URL: there is nothing to follow", o.Log.Name())
		}
	}
	return list, nil
}

// tradingDays returns the trading days between two, which count.
func tradingDays(from, to string) (days []string) {
	first, err := time.Parse(time.DateOnly, from)
	last, err2 := time.Parse(time.DateOnly, to)
	if err != nil || err2 != nil {
		return nil
	}
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		if calendar.IsTradingDay(day) {
			days = append(days, day.Format(time.DateOnly))
		}
	}
	return days
}

// auditOf compares the record of a server, its git ledger and its attestations with the log's picks.
func (p *program) auditOf(base string) func(context.Context, chain.Checkpoint, string) ([]string, error) {
	return func(ctx context.Context, picks chain.Checkpoint, environment string) ([]string, error) {
		r, err := audit.Run(ctx, audit.Options{
			URL: base, RPC: p.settings.MonitorRPCs(), Attester: p.settings.MonitorAttester, Checkpoint: picks, Environment: environment,
			Now: p.now(), Environ: config.Environ(), Transport: http.DefaultTransport,
		})
		if err != nil {
			return nil, err
		}
		var list []string
		for _, c := range r.Checks {
			if c.Status == audit.Mismatch {
				list = append(list, c.Name+": "+c.Detail)
			}
		}
		for _, h := range r.Witnesses {
			if h.Against != "" {
				list = append(list, h.Name+": "+h.Against)
			}
		}
		return list, nil
	}
}

// run checks all logs repeatedly, and sends alerts about findings.
func (w *watcher) run(ctx context.Context) error {
	if len(w.monitors) == 0 {
		w.log.WarnContext(ctx, "there is nothing to follow: MONITOR_POLICY is not set")
		w.ready.Store(true)
		<-ctx.Done()
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, m := range w.monitors {
		g.Go(func() error { w.follow(ctx, m); return nil })
	}
	return g.Wait()
}

// follow checks one log repeatedly. Each log has its own goroutine, so that a slow log delays no alert about another.
func (w *watcher) follow(ctx context.Context, m *monitor.Monitor) {
	tick := time.NewTicker(w.settings.MonitorEvery)
	defer tick.Stop()
	for {
		switch err := w.metrics.Guard(ctx, w.log, "monitor", func() error { return w.round(ctx, m) }); {
		case err == nil, ctx.Err() != nil, errors.Is(err, telemetry.ErrPanic): // a panic is in the log already
		default:
			w.log.ErrorContext(ctx, "the monitor cannot keep what it knows", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// round checks one log once, and saves the alerts of this round and of the other logs' last rounds.
func (w *watcher) round(ctx context.Context, m *monitor.Monitor) error {
	timed, stop := context.WithTimeout(ctx, monitorTimeout)
	found, err := m.Round(timed)
	stop()
	if ctx.Err() != nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ready.Store(true)
	if err != nil {
		return err // a failed round does not resolve the findings of an earlier one
	}
	origin := m.Status().Origin
	w.open[m] = []postgres.Alert{}
	for _, f := range found {
		severity := postgres.AlertError
		if f.Warning {
			severity = postgres.AlertWarning
		}
		subject := strings.TrimSpace(origin + " " + f.Subject)
		w.open[m] = append(w.open[m], postgres.Alert{Kind: "log-" + f.Kind, Subject: subject, Severity: severity, Text: printable(f.Text)})
	}
	// An alert from before a restart stays open until its log was checked.
	w.alerts.Unknown = func(a postgres.Alert) bool {
		return slices.ContainsFunc(w.monitors, func(m *monitor.Monitor) bool {
			origin, _, _ := strings.Cut(a.Subject, " ")
			return w.open[m] == nil && m.Status().Origin == origin
		})
	}
	var list []postgres.Alert
	for _, other := range w.monitors {
		list = append(list, w.open[other]...)
	}
	return w.alerts.Save(ctx, list)
}

// monitorTimeout limits one check of a log. The first check of a long log takes long.
const monitorTimeout = time.Hour

var (
	monitorSize   = &telemetry.Family{Name: "tidemark_monitor_size", Help: "Leaves of the log that the monitor has read and checked.", Labels: []string{"log"}}
	monitorLooked = &telemetry.Family{Name: "tidemark_monitor_looked_timestamp_seconds", Help: "When the monitor could read the log last.", Labels: []string{"log"}}
	monitorQuorum = &telemetry.Family{Name: "tidemark_monitor_quorum_timestamp_seconds", Help: "Time of the newest quorum over the log.", Labels: []string{"log"}}
	monitorBegan  = &telemetry.Family{Name: "tidemark_monitor_began_timestamp_seconds", Help: "When the monitor's memory of the log begins.", Labels: []string{"log"}}
	// monitorFindings are the open findings by their kinds.
	monitorFindings = map[string]*telemetry.Family{
		monitor.KindInconsistent: {Name: "tidemark_monitor_inconsistent", Help: "Open findings of the monitor: the log signed two checkpoints that are not of one history.", Labels: []string{"log"}},
		monitor.KindSplit:        {Name: "tidemark_monitor_split_view", Help: "Open findings of the monitor: a witness holds another history than the log serves.", Labels: []string{"log"}},
		monitor.KindRule:         {Name: "tidemark_monitor_rule", Help: "Open findings of the monitor: a signed leaf breaks a rule of the record.", Labels: []string{"log"}},
		monitor.KindTampered:     {Name: "tidemark_monitor_tampered", Help: "Open findings of the monitor: served files do not belong to the signed tree.", Labels: []string{"log"}},
		monitor.KindStopped:      {Name: "tidemark_monitor_stopped", Help: "Open findings of the monitor: the log or its quorum is silent for too long.", Labels: []string{"log"}},
		monitor.KindMissing:      {Name: "tidemark_monitor_missing", Help: "Open findings of the monitor: the server shows something that the log lacks.", Labels: []string{"log"}},
		monitor.KindRecord:       {Name: "tidemark_monitor_record", Help: "Open findings of the monitor: the server's record, its git ledger or its attestations contradict the log's picks.", Labels: []string{"log"}},
		monitor.KindStale:        {Name: "tidemark_monitor_stale", Help: "Open findings of the monitor: an older checkpoint is served than was seen before.", Labels: []string{"log"}},
		monitor.KindLate:         {Name: "tidemark_monitor_late", Help: "Open findings of the monitor: a fetched body was not in the log for more than a minute.", Labels: []string{"log"}},
		monitor.KindUnavailable:  {Name: "tidemark_monitor_away", Help: "Open findings of the monitor: the log, a witness or the server cannot be asked.", Labels: []string{"log"}},
		monitor.KindUnknown:      {Name: "tidemark_monitor_unknown", Help: "Open findings of the monitor: the log has new leaves of kinds that this program does not know.", Labels: []string{"log"}},
		monitor.KindState:        {Name: "tidemark_monitor_state", Help: "Open findings of the monitor: the monitor's memory is young or was lost.", Labels: []string{"log"}},
	}
)

// watch adds the state of the logs to the metrics.
func (w *watcher) watch(m *telemetry.Metrics) {
	families := []*telemetry.Family{monitorSize, monitorLooked, monitorQuorum, monitorBegan}
	for _, kind := range monitor.Kinds {
		families = append(families, monitorFindings[kind])
	}
	seconds := func(t time.Time) float64 {
		if t.IsZero() {
			return 0
		}
		return float64(t.Unix())
	}
	m.Watch(func(context.Context) (list []telemetry.Reading, err error) {
		for _, one := range w.monitors {
			s := one.Status()
			add := func(f *telemetry.Family, v float64) {
				list = append(list, telemetry.Reading{Of: f, Value: v, Labels: []string{s.Origin}})
			}
			add(monitorSize, float64(s.Size))
			add(monitorLooked, seconds(s.Looked))
			add(monitorQuorum, seconds(s.Quorum))
			add(monitorBegan, seconds(s.Began))
			for _, kind := range monitor.Kinds {
				add(monitorFindings[kind], float64(s.Findings[kind]))
			}
		}
		return list, nil
	}, families...)
}
