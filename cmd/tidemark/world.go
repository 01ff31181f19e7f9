package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"tidemark/api/view"
	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/sources"
	"tidemark/ingest/world"
	"tidemark/ingest/world/synth"
	"tidemark/internal/calendar"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/workers"
)

// worldRuntime is the world in the form that the parts of the program need: a transport and a clock.
type worldRuntime struct {
	name      string
	transport http.RoundTripper
	now       func() time.Time
	// stepped is the clock of a sandbox, otherwise nil. catchingUp means that it has not reached the wall clock yet.
	stepped    *world.Stepped
	catchingUp bool
	// old means that the sandbox was there before this process.
	old bool
	// poll is how often an idle worker looks for work.
	poll time.Duration
	// wakeLog wakes the sequencer of this process in a sandbox's past. It is nil elsewhere.
	wakeLog chan struct{}
	// quorumsMissed is how often an announcement waited in vain for the witnesses.
	quorumsMissed atomic.Int32
}

// openWorld opens the database as a worker, and the database's world.
func (p *program) openWorld(ctx context.Context) (*postgres.DB, *worldRuntime, error) {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return nil, nil, err
	}
	r, err := p.newWorld(ctx, db)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	return db, r, nil
}

func (p *program) newWorld(ctx context.Context, db *postgres.DB) (*worldRuntime, error) {
	switch p.settings.World {
	case "replay":
		return p.newReplay(ctx, db)
	case "sandbox":
		return p.newSandbox(ctx, db)
	default:
		if _, err := db.EnsureWorld(ctx, p.settings.World, nil); err != nil {
			return nil, err
		}
		return &worldRuntime{name: "live", transport: world.Live(), now: world.Wall{}.Now}, nil
	}
}

func (p *program) newReplay(ctx context.Context, db *postgres.DB) (*worldRuntime, error) {
	dir := p.settings.ReplayArchive
	if dir == "" {
		return nil, usageError{errors.New("REPLAY_ARCHIVE is not set: the replay world answers from an archive folder")}
	}
	at := p.settings.ReplayAt.UTC()
	if at.IsZero() {
		var err error
		if at, err = world.LastFetch(dir); err != nil {
			return nil, fmt.Errorf("REPLAY_ARCHIVE: %w", err)
		}
	}
	w, err := db.EnsureWorld(ctx, "replay", &at)
	if err != nil {
		return nil, err
	}
	if w.ClockAt == nil || !w.ClockAt.Equal(at) {
		if err := db.SetClock(ctx, &at); err != nil {
			return nil, err
		}
	}
	clock := world.Fixed(at)
	transport, err := world.Replay(dir, clock.Now)
	if err != nil {
		return nil, fmt.Errorf("REPLAY_ARCHIVE: %w", err)
	}
	return &worldRuntime{name: "replay", transport: transport, now: clock.Now}, nil
}

func (p *program) newSandbox(ctx context.Context, db *postgres.DB) (*worldRuntime, error) {
	var begin *time.Time
	if days := p.settings.SandboxDays; days > 0 {
		t := p.now().UTC().AddDate(0, 0, -days).Truncate(24 * time.Hour)
		begin = &t
	}
	_, err := db.World(ctx)
	old := err == nil
	if err != nil && !errors.Is(err, postgres.ErrNotFound) {
		return nil, err
	}
	w, err := db.EnsureWorld(ctx, "sandbox", begin)
	if err != nil {
		return nil, err
	}
	r := &worldRuntime{name: "sandbox", catchingUp: w.ClockAt != nil, old: old}
	if r.catchingUp {
		r.stepped = world.NewStepped(*w.ClockAt)
		r.poll = 20 * time.Millisecond
		r.wakeLog = make(chan struct{}, 1)
	} else {
		r.stepped = world.NewStepped(w.CreatedAt)
		r.stepped.Follow()
	}
	r.now = r.stepped.Now
	r.transport = world.Troubled(world.TroubledOptions{
		World: synth.World{Seed: p.settings.SandboxSeed, Prices: synth.Prices(p.settings.SandboxPrices), Now: r.now}, Latency: p.settings.SandboxDelay, Path: p.troublesFile(),
		Handler: func(w synth.World) http.Handler { return sources.Sandbox(w, calendar.IsTradingDay) },
	})
	return r, nil
}

// readOnlyWorld returns a world for processes that only show it: its clock, and no transport.
func (p *program) readOnlyWorld(w postgres.World) *worldRuntime {
	r := &worldRuntime{name: w.Name, now: p.now}
	switch {
	case w.ClockAt == nil:
	case w.Name == view.WorldReplay:
		r.now = world.Fixed(*w.ClockAt).Now
	default:
		r.stepped, r.catchingUp = world.NewStepped(*w.ClockAt), true
		r.now = r.stepped.Now
	}
	return r
}

// maxWait is the longest time that a run waits before it checks again. Zero means no limit. While the clock is stepped, it is one second,
// because a step may bring what the run waits for at any moment.
func (r *worldRuntime) maxWait() time.Duration {
	if r.stepped == nil || r.stepped.Following() {
		return 0
	}
	return time.Second
}

// followClock follows the clock of a sandbox that another process steps. It returns when the sandbox has reached the wall clock.
func (r *worldRuntime) followClock(ctx context.Context, db *postgres.DB) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for r.catchingUp {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		present, err := r.syncClock(ctx, db)
		r.catchingUp = err != nil || !present // the clock stops while the database is unavailable
	}
	return nil
}

// clockTimeout is how long a read of the clock may take: a connection that hangs must not stop the clock permanently.
const clockTimeout = 30 * time.Second

// syncClock sets the clock of a sandbox to the database's, and reports whether it has reached the wall clock.
func (r *worldRuntime) syncClock(ctx context.Context, db *postgres.DB) (present bool, err error) {
	ctx, stop := context.WithTimeout(ctx, clockTimeout)
	defer stop()
	w, err := db.World(ctx)
	if err != nil {
		return false, err
	}
	if w.ClockAt == nil {
		r.stepped.Follow()
		return true, nil
	}
	r.stepped.AdvanceTo(*w.ClockAt)
	return false, nil
}

// afterSlot makes handlers read the clock before they begin. The scheduler may have seen a step of the clock before this process. Without
// that, a task could run at a time before its slot and request prices of a day on which the exchange is still open.
func (r *worldRuntime) afterSlot(db *postgres.DB, handlers map[string]workers.Handler) map[string]workers.Handler {
	out := make(map[string]workers.Handler, len(handlers))
	for job, h := range handlers {
		out[job] = func(ctx context.Context, t task.Task) error {
			if _, err := r.syncClock(ctx, db); err != nil {
				return err
			}
			return h(ctx, t)
		}
	}
	return out
}

func (p *program) newEngine(db *postgres.DB, r *worldRuntime, store *archive.Store) *ingest.Engine {
	agent := p.settings.UserAgent
	if agent == "" {
		agent = ingest.UserAgent(p.settings.PublicURL)
	}
	return &ingest.Engine{
		Transport: r.transport, Now: r.now, Ledger: db, Archive: store, UserAgent: agent, Offline: r.name != "live",
		Log: p.log.With("role", "worker"), Metrics: p.metrics,
	}
}
