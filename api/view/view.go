// Package view holds the answers: the structs with their JSON tags, and the finished bytes in memory that the doors (JSON, pages)
// hand out. The bytes are made when the data change, never when a request comes, so answers go on while Postgres is away. The
// room reads the database; HTTP's status codes and negotiation are api's. Start at View, then read signal.go.
package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/telemetry"
	"tidemark/signals"
	"tidemark/signals/changes"
)

// The worlds. Only the live one is a record; what the sandbox holds is made up.
const (
	WorldLive    = "live"
	WorldReplay  = "replay"
	WorldSandbox = "sandbox"
)

// Store is what the view reads. *postgres.DB is one.
type Store interface {
	// Serve returns what is to be served of a signal at an instant, and of its history what is new since it was seen.
	Serve(ctx context.Context, signal string, now time.Time, seen int64) (postgres.Served, error)
	// SnapshotAsOf returns the newest snapshot of a signal for an instant at or before asOf, or an error that is
	// postgres.ErrNotFound.
	SnapshotAsOf(ctx context.Context, signal string, asOf time.Time) (postgres.Snapshot, error)
	// SnapshotAbout returns the newest snapshot at or before asOf that is about an instant at the latest, SnapshotBefore the newest before one that
	// says something else, or an error that is postgres.ErrNotFound.
	SnapshotAbout(ctx context.Context, signal string, about, asOf time.Time) (postgres.Snapshot, error)
	SnapshotBefore(ctx context.Context, s postgres.Snapshot) (postgres.Snapshot, error)
	// KnownBetween returns what a signal was computed from at an instant, and what became known since until a later one.
	KnownBetween(ctx context.Context, d signals.Definition, from, to time.Time) (series.Set, []changes.Vintage, error)
	// NewestKnown returns, of several series as known at an instant, the newest observations up to a time, at most so many of each. FetchesByID returns
	// exchanges, ordered by id.
	NewestKnown(ctx context.Context, ids []series.ID, asOf, until time.Time, most int) ([]postgres.KnownObservation, error)
	FetchesByID(ctx context.Context, ids []int64) ([]series.Fetch, error)
	// Computed tells apart the states that the history as of an instant can have, or is an error that is postgres.ErrNotFound.
	Computed(ctx context.Context, signal string, asOf time.Time) (at, last time.Time, err error)
	// History yields points; an error is the last that it yields. CopyHistory writes the same as CSV.
	History(ctx context.Context, q postgres.HistoryQuery) iter.Seq2[postgres.Point, error]
	CopyHistory(ctx context.Context, w io.Writer, q postgres.HistoryQuery) error
	// Changes lists when a history became another one.
	Changes(ctx context.Context, q postgres.HistoryQuery) ([]postgres.Change, error)
	// Forecasts lists a signal's forecasts as known at an instant, the newest first: those before a number, and at most so many; 0: all.
	Forecasts(ctx context.Context, signal string, asOf time.Time, before int64, most int) ([]postgres.Forecast, error)
	// Listen runs until ctx ends, and connects again by itself. It calls the listener's functions one at a time.
	Listen(ctx context.Context, l postgres.Listener) error
}

// Options says what a view shows, and where it has it from.
type Options struct {
	Store Store
	// Definitions in the order in which they are shown. The view keeps the slice.
	Definitions []signals.Definition
	// PublicURL is the address under which the program is reached from outside, for example "https://signals.example".
	PublicURL string
	// World is the database's: WorldLive, WorldReplay or WorldSandbox.
	World string
	// Now is the world's clock.
	Now func() time.Time
	Log *slog.Logger
	// Metrics counts panics. It may be nil.
	Metrics *telemetry.Metrics
}

// View keeps the answers current. It is safe for concurrent use.
type View struct {
	o           Options
	state       atomic.Pointer[State]
	unavailable atomic.Bool
	// queries holds a place for each answer that the database is asked for.
	queries chan struct{}
	// explained are the differences of snapshots that were asked for.
	explained explained

	// mu is held from reading the database to showing the state made of it, so that no older reading overtakes a newer one.
	mu   sync.Mutex
	held map[string]cachedSignal
}

// cachedSignal is what was read of one signal.
type cachedSignal struct {
	// snapshot is the newest one for an instant that had come, nil where there is none.
	snapshot *postgres.Snapshot
	// ahead is the instant of one that is stored already though its time has yet to come, zero where there is none.
	ahead time.Time
	// history is as of the snapshot, and was read up to seen.
	history  *History
	loadedAt int64
}

// New returns a view that has nothing loaded: Run does that. It reports every fault of its options at once.
func New(o Options) (*View, error) {
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	if err := o.check(); err != nil {
		return nil, err
	}
	return &View{o: o, held: map[string]cachedSignal{}, queries: make(chan struct{}, maxQueries)}, nil
}

func (o Options) check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !absolute(o.PublicURL) {
		fault("PUBLIC_URL is not an absolute http or https address: %q", o.PublicURL)
	}
	if o.World != WorldLive && o.World != WorldReplay && o.World != WorldSandbox {
		fault("there is no world %q", o.World)
	}
	seen := map[string]bool{}
	for _, d := range o.Definitions {
		if seen[d.ID] {
			fault("two signals have the id %s", d.ID)
		}
		seen[d.ID] = true
		for _, address := range []string{d.SourceURL, d.LicenseURL} {
			if !absolute(address) {
				fault("signal %s: not an absolute http or https address: %q", d.ID, address)
			}
		}
		shortest, longest := description(d, false), description(d, true)
		if utf8.RuneCountInString(shortest) < minDescription || utf8.RuneCountInString(longest) > maxDescription {
			fault("signal %s: the description must have %d to %d characters, also with the sandbox's warning before it",
				d.ID, minDescription, maxDescription)
		}
	}
	return errors.Join(faults...)
}

func absolute(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// State returns what is served now, nil before the first load.
func (v *View) State() *State { return v.state.Load() }

// PublicURL returns the address under which the program is reached, without a slash at its end.
func (v *View) PublicURL() string { return v.o.PublicURL }

// World is the world whose signals these are.
func (v *View) World() string { return v.o.World }

// Now is the world's time.
func (v *View) Now() time.Time { return v.o.Now() }

// Degraded tells that the database cannot be heard: what is served may be older than what it holds.
func (v *View) Degraded() bool { return v.unavailable.Load() }

const (
	// agePause is how often the statuses are held against the clock.
	agePause = time.Second
	// readTimeout bounds the reading of one signal: a server that hangs must not keep signals from decaying.
	readTimeout = 5 * time.Second
)

// Run keeps the answers current until ctx ends: it loads all snapshots each time that it has begun to listen, and one when it is
// told of it, and lets signals decay as time goes by. It returns nil when ctx ended.
func (v *View) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return v.o.Store.Listen(ctx, postgres.Listener{
			Channels:  []string{postgres.ChannelSnapshots},
			Connected: v.loadAll,
			Notified:  func(ctx context.Context, _, signal string) error { return v.loadOne(ctx, signal) },
			Lost:      func(error) { v.unavailable.Store(true) },
			Log:       v.o.Log,
		})
	})
	g.Go(func() error {
		tick := time.NewTicker(agePause)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			if err := v.o.Metrics.Guard(ctx, v.o.Log, "view", func() error { return v.age(ctx) }); err != nil && ctx.Err() == nil {
				v.o.Log.ErrorContext(ctx, "the statuses of the signals cannot be held against the clock, trying again", "err", err)
			}
		}
	})
	return g.Wait()
}

// read returns what is stored of a signal at an instant of the world's time. Of its history it takes over what was held before.
func (v *View) read(ctx context.Context, id string, now time.Time, before cachedSignal) (cachedSignal, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	s, err := v.o.Store.Serve(ctx, id, now, before.loadedAt)
	if err == nil && before.snapshot != nil && (s.Snapshot == nil || s.Snapshot.At.Before(before.snapshot.At) || s.Seen < before.loadedAt) {
		before = cachedSignal{} // time went back, or the database did: what was held is of no use
		s, err = v.o.Store.Serve(ctx, id, now, 0)
	}
	if err != nil {
		return cachedSignal{}, err
	}
	h := cachedSignal{snapshot: s.Snapshot, ahead: s.Ahead, history: before.history, loadedAt: s.Seen}
	if len(s.Changed) > 0 || h.history == nil {
		h.history = h.history.with(s.Changed)
	}
	return h, nil
}

// loadAll reads everything anew: the database that is heard now need not be the one that was heard before.
func (v *View) loadAll(ctx context.Context) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.o.Now()
	all := make(map[string]cachedSignal, len(v.o.Definitions))
	for _, d := range v.o.Definitions {
		h, err := v.read(ctx, d.ID, now, cachedSignal{})
		if err != nil {
			return err
		}
		all[d.ID] = h
	}
	v.held = all
	if err := v.render(func(*Signal) bool { return false }); err != nil {
		return err
	}
	v.unavailable.Store(false)
	return nil
}

func (v *View) loadOne(ctx context.Context, id string) error {
	if !slices.ContainsFunc(v.o.Definitions, func(d signals.Definition) bool { return d.ID == id }) {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	before := v.held[id]
	h, err := v.read(ctx, id, v.o.Now(), before)
	if err != nil {
		return err
	}
	v.held[id] = h
	// A backfill tells of many older snapshots, and leaves the newest as it is.
	if h.history == before.history && h.ahead.Equal(before.ahead) && reflect.DeepEqual(before.snapshot, h.snapshot) {
		return nil
	}
	return v.render(func(old *Signal) bool { return old.Definition.ID != id })
}

// age shows what changed though nothing was committed: a status, and a snapshot whose time has come.
func (v *View) age(ctx context.Context) error {
	now := v.o.Now()
	for _, id := range v.due(now) {
		if v.loadOne(ctx, id) != nil {
			break // the database is away: the listener notices, and loads everything when it is back
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	st := v.State()
	if st == nil {
		return nil
	}
	current := func(s *Signal) bool {
		stored := v.held[s.Definition.ID].snapshot
		return s.Snapshot.Status == statusAt(s.Definition, stored, now) &&
			s.Snapshot.Freshness.State == freshnessAt(s.Definition, stored, now)
	}
	if slices.ContainsFunc(st.Signals, func(s *Signal) bool { return !current(s) }) {
		return v.render(current)
	}
	return nil
}

// due lists the signals of which a snapshot's time has come.
func (v *View) due(now time.Time) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var ids []string
	for id, h := range v.held {
		if !h.ahead.IsZero() && !h.ahead.After(now) {
			ids = append(ids, id)
		}
	}
	return ids
}
