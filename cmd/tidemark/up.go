package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/api"
	"tidemark/internal/config"
	"tidemark/internal/devstack"
	"tidemark/internal/postgres"
	"tidemark/ops"
	"tidemark/scheduler"
	"tidemark/workers/task"
)

type upCommand struct {
	config.All
}

// Run runs the whole product in this process until it is told to stop: Postgres and Redis where none is given, the migrations,
// scheduler, workers and API.
func (upCommand) Run(ctx context.Context, p *program) (err error) {
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
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Stop(context.WithoutCancel(ctx))) }()
	p.settings.DatabaseURL, p.settings.RedisURL = stack.DatabaseURL, stack.RedisURL
	c := connections{DatabaseURL: stack.DatabaseURL, RedisURL: stack.RedisURL}
	if p.settings.World == "sandbox" && p.settings.BaseRPCURL == "" {
		if err := p.startDevChain(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.dev.Close()) }()
		c.BaseRPCURL, c.BaseChainID, c.AttesterKeyFile = p.settings.BaseRPCURL, p.settings.BaseChainID, p.settings.AttesterKeyFile
	}
	facilitate, err := p.facilitate(ctx)
	if err != nil {
		return err
	}
	if err := p.saveConnections(c); err != nil {
		return err
	}
	if err := postgres.Migrate(ctx, stack.DatabaseURL, p.log); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case err := <-stack.Died():
			return err
		}
	})
	g.Go(func() error { return facilitate(ctx) })
	g.Go(func() error { return p.runRoles(ctx, listeners) })
	return g.Wait()
}

func (p *program) runRoles(ctx context.Context, on listeners) error {
	db, w, err := p.openWorld(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	apiDB, err := p.openDB(ctx, postgres.RoleAPI)
	if err != nil {
		return err
	}
	defer apiDB.Close()
	store, err := p.openArchive(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	s, queue, err := p.newScheduler(db, w.now)
	if err != nil {
		return err
	}
	defer func() { _ = queue.Close() }()
	worker, err := p.newWorker(db, w, store)
	if err != nil {
		return err
	}
	alerts, err := p.alerter(db)
	if err != nil {
		return err
	}
	if err := p.lookAtToken(ctx, db); err != nil {
		return err
	}
	if w.name == "replay" {
		if err := p.computeNow(ctx, db, w); err != nil {
			return err
		}
	}

	if err := p.meetDevChain(ctx, db, w); err != nil {
		return err
	}
	p.greet(w, on)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.runScheduler(ctx, db, s) })
	g.Go(func() error { return worker.Run(ctx) })
	g.Go(func() error { return alerts.Run(ctx) })
	g.Go(func() error {
		return p.serveAPI(ctx, apiDB, on, w.name, w.now, []api.Check{{Name: "scheduler", OK: s.Ready}, {Name: "worker", OK: worker.Ready}},
			func(ready []ops.Check, degraded func() []string) private {
				return private{
					role: "up", ready: ready, degraded: degraded, observer: p.observer(db),
					needs: []ops.Need{needsPostgres(db, true), p.needsRedis(true), needsArchive(store)},
					pools: map[string]*postgres.DB{postgres.RoleWorker: db, postgres.RoleAPI: apiDB},
				}
			})
	})
	if w.past {
		g.Go(func() error { return p.stepper(db, s, w).Run(ctx) })
	}
	return g.Wait()
}

// computeNow makes every source and signal due for the replay world's time, which stands still: no slot will come.
func (p *program) computeNow(ctx context.Context, db *postgres.DB, w *realm) error {
	for _, e := range p.schedule() {
		if e.Job == task.Ingest || e.Job == task.Signal {
			if _, err := db.AddRun(ctx, e.Job, e.Subject, w.now(), "the replay world's time"); err != nil && !errors.Is(err, postgres.ErrUnderWay) {
				return err
			}
		}
	}
	return nil
}

func (p *program) stepper(db *postgres.DB, s *scheduler.Scheduler, w *realm) *scheduler.Stepper {
	return &scheduler.Stepper{
		Scheduler:  s,
		Unfinished: db.Unfinished,
		Advance: func(ctx context.Context, to time.Time) error {
			if err := db.SetClock(ctx, &to); err != nil {
				return err
			}
			w.stepped.AdvanceTo(to)
			return nil
		},
		Follow: func(ctx context.Context) error {
			if err := db.SetClock(ctx, nil); err != nil {
				return err
			}
			w.stepped.Follow()
			return p.witnessNow(ctx, db, "the sandbox has reached the present")
		},
		Wall: p.now,
		Log:  s.Log,
	}
}

// greet says where to look.
func (p *program) greet(w *realm, on listeners) {
	base := p.settings.BaseURL()
	switch w.name {
	case "sandbox":
		_, _ = fmt.Fprintln(p.stdout, "This is the sandbox: every number is made up, and marked so.")
		if w.past {
			_, _ = fmt.Fprintf(p.stdout, "It begins on %s and lives through the months until today in a few minutes.\n", w.now().Format(time.DateOnly))
		}
	case "replay":
		_, _ = fmt.Fprintf(p.stdout, "This is a replay of %s, at %s.\n", p.settings.ReplayArchive, w.now().Format(time.RFC3339))
	}
	_, _ = fmt.Fprintf(p.stdout, "\n  %s/              the signals, to look at\n  %s/api/signals   the same for programs\n\n", base, base)
	if l := on["OPS_ADDR"]; l != nil {
		_, _ = fmt.Fprintf(p.stdout, "  http://%s/  for its operator\n\n", l.Addr())
	}
	_, _ = fmt.Fprintf(p.stdout, "The record of the picks can be checked without trusting this program: tidemark verify --url %s\n", base)
	_, _ = fmt.Fprintf(p.stdout, "The run log: tidemark runs --world=%s. Ctrl-C stops everything.\n", p.settings.World)
}
