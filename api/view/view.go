// Package view builds the responses: structs with JSON tags, and the finished bytes that the API and the pages serve from memory. It builds
// the bytes when the data change, never for a request, so responses continue while Postgres is unavailable. HTTP status codes and content
// negotiation belong to package api. Start at View, then read signal.go.
package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	"tidemark/signals/forecast"
)

// The worlds. Only the live world is a real record. The sandbox contains generated data.
const (
	WorldLive    = "live"
	WorldReplay  = "replay"
	WorldSandbox = "sandbox"
)

// Store is the data source of the view. *postgres.DB implements it.
type Store interface {
	// Serve returns the data of a signal to serve at an instant. Of its history it returns only what is new since seen.
	Serve(ctx context.Context, signal string, now time.Time, newest int64) (postgres.Served, error)
	// SnapshotAsOf returns the newest snapshot of a signal for an instant at or before asOf. The error is postgres.ErrNotFound if the
	// signal has no such snapshot.
	SnapshotAsOf(ctx context.Context, signal string, asOf time.Time) (postgres.Snapshot, error)
	// SnapshotAbout returns the newest snapshot at or before asOf that is about an instant or an earlier one. SnapshotBefore returns the
	// newest earlier snapshot that differs. The error is postgres.ErrNotFound if the signal has no such snapshot.
	SnapshotAbout(ctx context.Context, signal string, about, asOf time.Time) (postgres.Snapshot, error)
	// PointAbout returns the newest point at or before an instant of the history that the newest snapshot at or before asOf shows. The
	// error is postgres.ErrNotFound if it has no such point.
	PointAbout(ctx context.Context, signal string, about, asOf time.Time) (postgres.Snapshot, error)
	// ObservedAfter returns the first day after a day that a snapshot at or before asOf is about, or zero.
	ObservedAfter(ctx context.Context, signal string, day, asOf time.Time) (time.Time, error)
	SnapshotBefore(ctx context.Context, s postgres.Snapshot) (postgres.Snapshot, error)
	// KnownBetween returns the inputs of a signal as known at an instant, and what became known after it until a later instant.
	KnownBetween(ctx context.Context, d signals.Definition, from, to time.Time) (series.Set, []changes.Vintage, error)
	// InputsOf returns the inputs of a signal as known at an instant.
	InputsOf(ctx context.Context, d signals.Definition, asOf time.Time) (series.Set, error)
	// CellsKnown returns the stored observations of cells, by series and time, and FetchesByID exchanges, ordered by id.
	CellsKnown(ctx context.Context, cells []signals.Cell) ([]postgres.KnownObservation, error)
	// WithdrawnAsOf lists observations of several series up to a time that had a number once, and had none at an instant.
	WithdrawnAsOf(ctx context.Context, ids []series.ID, until, asOf time.Time) ([]postgres.Withdrawal, error)
	FetchesByID(ctx context.Context, ids []int64) ([]series.Fetch, error)
	// BodiesAsOf returns the archived bodies that a signal rests on, as known at an instant, oldest first.
	BodiesAsOf(ctx context.Context, d signals.Definition, asOf time.Time) ([]postgres.Body, error)
	// CountBehind returns how many observations BodiesAsOf goes through. The bodies are the same as long as the number is.
	CountBehind(ctx context.Context, d signals.Definition, asOf time.Time) (int64, error)
	// LoggedBodies returns the leaves of archived bodies in the log of sources, by SHA-256.
	LoggedBodies(ctx context.Context, sums []string) (map[string]int64, error)
	// Computed identifies the state of the history as of an instant. version is its newest version of a point, for HistoryQuery.Version. The
	// error is postgres.ErrNotFound if the signal has no history then.
	Computed(ctx context.Context, signal string, asOf time.Time) (at, last time.Time, version int64, err error)
	// History yields points. After an error it yields nothing more.
	History(ctx context.Context, q postgres.HistoryQuery) iter.Seq2[postgres.Point, error]
	// Changes lists the instants at which a history changed.
	Changes(ctx context.Context, q postgres.HistoryQuery) ([]postgres.Change, error)
	// Forecasts lists a signal's forecasts as known at an instant, newest first. If before is not 0, it lists only those before that
	// number. most is the maximum, 0 for all.
	Forecasts(ctx context.Context, signal string, asOf time.Time, before int64, most int) ([]postgres.Forecast, error)
	// FigurePrinted reports whether a release of a figure was published.
	FigurePrinted(ctx context.Context, t forecast.Target, r forecast.Release) (bool, error)
	// Listen runs until ctx ends and reconnects automatically. It calls the listener's functions one at a time.
	Listen(ctx context.Context, l postgres.Listener) error
}

// Options configure a view and its data source.
type Options struct {
	Store Store
	// Definitions are in display order. The view keeps the slice.
	Definitions []signals.Definition
	// PublicURL is the public base URL of the program, for example "https://signals.example".
	PublicURL string
	// World is the world of the database: WorldLive, WorldReplay or WorldSandbox.
	World string
	// Now is the world's clock.
	Now func() time.Time
	Log *slog.Logger
	// Metrics counts panics. It may be nil.
	Metrics *telemetry.Metrics
	// QueryWait is how long a request waits for its turn at the database. Zero means QueueWait.
	QueryWait time.Duration
}

// View keeps the responses about signals current. It is safe for concurrent use.
type View struct {
	o           Options
	state       atomic.Pointer[State]
	changed     announcer
	unavailable atomic.Bool
	// queries has a slot for each concurrent read of the database.
	queries *Queue
	// explained caches the differences between snapshots.
	explained explained

	// mu is held from the read of the database until the new state is stored, so that an older read cannot replace a newer one.
	mu   sync.Mutex
	held map[string]cachedSignal
}

// cachedSignal is the last data loaded for one signal.
type cachedSignal struct {
	// snapshot is the newest snapshot for an instant in the past, or nil.
	snapshot *postgres.Snapshot
	// bodies are the archived bodies behind the snapshot, and behind is how many observations they were found in.
	bodies []postgres.Body
	behind int64
	// ahead is the instant of a stored snapshot whose time is still in the future, or zero.
	ahead time.Time
	// history is as of the snapshot, and was read up to the row with the number newest.
	history *History
	newest  int64
}

// New returns an empty view. Run loads it. New reports all faults of its options at once.
func New(o Options) (*View, error) {
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	if err := o.check(); err != nil {
		return nil, err
	}
	limits := queryLimits
	limits.Wait = cmp.Or(o.QueryWait, limits.Wait)
	return &View{o: o, held: map[string]cachedSignal{}, queries: NewQueue(limits)}, nil
}

func (o Options) check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !absolute(o.PublicURL) {
		fault("PUBLIC_URL is not an absolute http or https address: %q", o.PublicURL)
	}
	if o.World != WorldLive && o.World != WorldReplay && o.World != WorldSandbox {
		fault("unknown world %q", o.World)
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

// State returns the current state, nil before the first load.
func (v *View) State() *State { return v.state.Load() }

// Changed returns a channel that is closed when the next state is there. To miss none, take the channel before you read the state.
func (v *View) Changed() <-chan struct{} { return v.changed.wait() }

// PublicURL returns the public base URL of the program, without a trailing slash.
func (v *View) PublicURL() string { return v.o.PublicURL }

// World returns the world of the signals.
func (v *View) World() string { return v.o.World }

// Now returns the world's time.
func (v *View) Now() time.Time { return v.o.Now() }

// Degraded reports whether the database is unavailable, so that the state may be out of date.
func (v *View) Degraded() bool { return v.unavailable.Load() }

const (
	// agePause is how often the statuses are checked against the clock.
	agePause = time.Second
	// readTimeout bounds the read of one signal: a server that hangs must not prevent signals from decaying.
	readTimeout = 5 * time.Second
	// maxLoads is how many signals are read at once when all are: the others of the pool's connections stay for readers.
	maxLoads = 4
)

// Run keeps the responses current until ctx ends. It loads all snapshots each time it starts to listen, and one snapshot for each
// notification. It also lets signals decay with time. It returns nil when ctx ends.
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

// read returns the stored data of a signal at an instant of the world's time. It reuses the history read before.
func (v *View) read(ctx context.Context, id string, now time.Time, before cachedSignal) (cachedSignal, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	s, err := v.o.Store.Serve(ctx, id, now, before.newest)
	if err == nil && before.snapshot != nil && (s.Snapshot == nil || s.Snapshot.At.Before(before.snapshot.At) || s.Newest < before.newest) {
		before = cachedSignal{} // time or the database went back: the old data are useless
		s, err = v.o.Store.Serve(ctx, id, now, 0)
	}
	if err != nil {
		return cachedSignal{}, err
	}
	h := cachedSignal{snapshot: s.Snapshot, bodies: before.bodies, behind: before.behind, ahead: s.Ahead, history: before.history, newest: s.Newest}
	if s.Snapshot != nil && !reflect.DeepEqual(before.snapshot, s.Snapshot) {
		d := v.o.Definitions[slices.IndexFunc(v.o.Definitions, func(d signals.Definition) bool { return d.ID == id })]
		// They are counted first: of what is added meanwhile, the next snapshot finds more.
		if h.behind, err = v.o.Store.CountBehind(ctx, d, s.Snapshot.At); err != nil {
			return cachedSignal{}, err
		}
		if h.behind != before.behind || before.snapshot == nil {
			if h.bodies, err = v.o.Store.BodiesAsOf(ctx, d, s.Snapshot.At); err != nil {
				return cachedSignal{}, err
			}
		}
	}
	if len(s.Changed) > 0 || h.history == nil {
		h.history = h.history.with(s.Changed)
	}
	return h, nil
}

// loadAll reads everything again, because the database may be another one than before the reconnect.
func (v *View) loadAll(ctx context.Context) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.o.Now()
	list := make([]cachedSignal, len(v.o.Definitions))
	g, reading := errgroup.WithContext(ctx)
	g.SetLimit(maxLoads)
	for i, d := range v.o.Definitions {
		g.Go(func() (err error) {
			list[i], err = v.read(reading, d.ID, now, cachedSignal{})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	all := make(map[string]cachedSignal, len(list))
	for i, d := range v.o.Definitions {
		all[d.ID] = list[i]
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
	// A backfill sends many notifications about older snapshots, but the newest one does not change.
	if h.history == before.history && h.ahead.Equal(before.ahead) && reflect.DeepEqual(before.snapshot, h.snapshot) {
		return nil
	}
	return v.render(func(old *Signal) bool { return old.Definition.ID != id })
}

// age updates what changes with time alone: statuses, and snapshots whose time has come.
func (v *View) age(ctx context.Context) error {
	now := v.o.Now()
	for _, id := range v.due(now) {
		if v.loadOne(ctx, id) != nil {
			break // the database is unavailable: the listener notices and reloads everything after it reconnects
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

// due lists the signals with a snapshot whose time has come.
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
