package view

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/chain"
	"tidemark/chain/tlog"
	"tidemark/internal/calendar"
	"tidemark/internal/postgres"
	"tidemark/internal/telemetry"
)

// RecordStore is the data source of the record's view. *postgres.DB implements it. It returns announced picks only.
type RecordStore interface {
	// StreamChainAfter calls add for the links after a number, in order. add must not keep the byte slices after it returns.
	StreamChainAfter(ctx context.Context, after int64, add func(seq int64, ticker, price, date, previousHash, hash []byte) error) error
	Gaps(ctx context.Context) ([]chain.Gap, error)
	Corrections(ctx context.Context) ([]chain.Correction, error)
	// LedgerState and AttesterState return postgres.ErrNotFound if their jobs have not run yet.
	LedgerState(ctx context.Context) (postgres.LedgerState, error)
	LedgerCommits(ctx context.Context, after int64) ([]postgres.LedgerCommit, error)
	AttesterState(ctx context.Context) (postgres.AttesterState, error)
	Attestations(ctx context.Context) ([]postgres.Attestation, error)
	// LoggedPicks adds to all the position of picks in the transparency log, for its leaves from a number on.
	LoggedPicks(ctx context.Context, from int64, all map[int64]int64) (next int64, err error)
	// LoggedSeals calls add for each leaf about seals, for its leaves from a number on.
	LoggedSeals(ctx context.Context, from int64, add func(index int64, leaf []byte)) (next int64, err error)
	// StampedLeaves returns the leaves, among some, whose proof is against a checkpoint with a time stamp.
	StampedLeaves(ctx context.Context, leaves []int64) ([]int64, error)
	LogHeads(ctx context.Context) ([]postgres.LogHead, error)
	// LogLeaves returns the leaves of a log with numbers at or after from and before to, in order.
	LogLeaves(ctx context.Context, log string, from, to int64) ([][]byte, error)
	// NewestLogCheckpoint returns postgres.ErrNotFound if none exists.
	NewestLogCheckpoint(ctx context.Context, log string, witnessed bool) (postgres.LogCheckpoint, error)
	// Listen runs until ctx ends and reconnects automatically. It calls the listener's functions one at a time.
	Listen(ctx context.Context, l postgres.Listener) error
}

// RecordOptions configure a record's view and its data source.
type RecordOptions struct {
	Store RecordStore
	// PublicURL, World and Now are as in Options.
	PublicURL string
	World     string
	Now       func() time.Time
	// Clock is the wall clock: the log's witnesses cosign by it. Nil means Now.
	Clock func() time.Time
	// FullPass is how often the whole chain is read and recomputed. Zero means every ten minutes.
	FullPass time.Duration
	Log      *slog.Logger
	// Metrics counts panics. It may be nil.
	Metrics *telemetry.Metrics
}

// Record keeps the responses about the verifiable record current. It recomputes the chain link by link. It recomputes the whole chain at
// the start, after each loss of the database, and on a schedule. In between it recomputes only the links after the verified prefix. It is
// safe for concurrent use.
type Record struct {
	o           RecordOptions
	state       atomic.Pointer[RecordState]
	changed     announcer
	unavailable atomic.Bool
	// long has the newest state whose chain is still to be compressed.
	long chan *RecordState

	// mu is held from the read of the database until the new state is stored.
	mu sync.Mutex
	// commits are the ledger's commits, up to the first entry without one.
	commits []postgres.LedgerCommit
	// logged is the position of each pick among the first loggedTo leaves of the log.
	logged   map[int64]int64
	loggedTo int64
	// sealed follows the first sealedTo leaves of the log.
	sealed   tlog.SealedDays
	sealedTo int64
	// leaves are the leaves of the log that were read for the verdict.
	leaves readLeaves
}

// NewRecord returns an empty view. Run loads it.
func NewRecord(o RecordOptions) (*Record, error) {
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	if err := (Options{PublicURL: o.PublicURL, World: o.World}).check(); err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = o.Now
	}
	if o.FullPass == 0 {
		o.FullPass = 10 * time.Minute
	}
	return &Record{o: o, long: make(chan *RecordState, 1)}, nil
}

// State returns the current state, nil before the first load.
func (r *Record) State() *RecordState { return r.state.Load() }

// Changed returns a channel that is closed when the next state is there. To miss none, take the channel before you read the state.
func (r *Record) Changed() <-chan struct{} { return r.changed.wait() }

// Degraded reports whether the database is unavailable, so that the state may be out of date.
func (r *Record) Degraded() bool { return r.unavailable.Load() }

// Run keeps the state current until ctx ends. Then it returns nil.
func (r *Record) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return r.o.Store.Listen(ctx, postgres.Listener{
			Channels: []string{postgres.ChannelRecord},
			Connected: func(ctx context.Context) error {
				if err := r.load(ctx, true); err != nil {
					return err
				}
				r.unavailable.Store(false)
				return nil
			},
			Notified: func(ctx context.Context, _, _ string) error { return r.load(ctx, false) },
			Lost:     func(error) { r.unavailable.Store(true) },
			Log:      r.o.Log,
		})
	})
	g.Go(func() error {
		pass, tick := time.NewTicker(r.o.FullPass), time.NewTicker(agePause)
		defer pass.Stop()
		defer tick.Stop()
		for {
			var full bool
			select {
			case <-ctx.Done():
				return nil
			case <-pass.C:
				full = true
			case <-tick.C:
			}
			if now, st := r.o.Now(), r.State(); st == nil || !full && calendar.DayOf(now).Equal(st.day) && !st.isOverdue(now) {
				continue
			}
			// If the database is unavailable, the listener notices that and reloads everything after it reconnects.
			if err := r.o.Metrics.Guard(ctx, r.o.Log, "record", func() error { return r.load(ctx, full) }); err != nil && ctx.Err() == nil {
				r.o.Log.WarnContext(ctx, "could not read the record again", "err", err)
			}
		}
	})
	g.Go(func() error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case st := <-r.long:
				st.compress(func() bool { return ctx.Err() != nil || r.State() != st })
			}
		}
	})
	return g.Wait()
}

// loadTimeout bounds one read of the record.
const loadTimeout = time.Minute

// load reads the record and stores the new state. If full is set, it reads the whole chain, otherwise only the new links.
//
// It reads the witnesses before the chain, so that no witness refers to a pick that is missing.
func (r *Record) load(ctx context.Context, full bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	before := r.State()
	if before == nil {
		before, full = &RecordState{}, true
	}
	now := r.o.Now().UTC()
	st := &RecordState{o: r.o, day: calendar.DayOf(now), verifiedAt: now.Truncate(time.Second)}
	var err error
	if err = r.readWitnesses(ctx, st, full); err != nil {
		return err
	}
	if st.gaps, err = r.o.Store.Gaps(ctx); err != nil {
		return err
	}
	if st.corrections, err = r.o.Store.Corrections(ctx); err != nil {
		return err
	}
	if err = r.readSeals(ctx, st, full); err != nil {
		return err
	}
	if st.held, err = r.readHeldLog(ctx, full); err != nil {
		return err
	}
	same, err := r.readChain(ctx, st, before, full)
	if err != nil {
		return err
	}
	if err := r.readLogged(ctx, st, full); err != nil {
		return err
	}
	if err := st.finish(before, same); err != nil {
		return err
	}
	if st.proof.invalid != 0 && before.proof.invalid == 0 {
		r.o.Log.ErrorContext(ctx, "the stored chain does not hold", "seq", st.proof.invalid)
	}
	r.state.Store(st)
	if !st.isCompressed() {
		select {
		case <-r.long: // a state that no request reads any more
		default:
		}
		r.long <- st // only load sends, and it holds mu
	}
	r.changed.wake()
	return nil
}

func (r *Record) readWitnesses(ctx context.Context, st *RecordState, full bool) (err error) {
	if st.ledger, err = r.o.Store.LedgerState(ctx); err != nil && !errors.Is(err, postgres.ErrNotFound) {
		return err
	}
	// The attester is stored before its attestations and read after them, so no attestation lacks its attester.
	if st.attestations, err = r.o.Store.Attestations(ctx); err != nil {
		return err
	}
	if st.attester, err = r.o.Store.AttesterState(ctx); err != nil && !errors.Is(err, postgres.ErrNotFound) {
		return err
	}
	if full {
		r.commits = nil
	}
	known := len(r.commits)
	if i := slices.IndexFunc(r.commits, func(c postgres.LedgerCommit) bool { return c.Commit == "" }); i >= 0 {
		known = i
	}
	var after int64
	if known > 0 {
		after = r.commits[known-1].ID
	}
	fresh, err := r.o.Store.LedgerCommits(ctx, after)
	if err != nil {
		return err
	}
	// Copy before replacing an entry: the previous state has the same slice.
	r.commits = append(r.commits[:known:known], fresh...)
	st.commits = r.commits
	return nil
}

// readLogged reads the positions of the picks in the log. It copies the map before adding to it, because previous states share it.
func (r *Record) readLogged(ctx context.Context, st *RecordState, full bool) error {
	from := r.loggedTo
	if full {
		from = 0
	}
	fresh := map[int64]int64{}
	next, err := r.o.Store.LoggedPicks(ctx, from, fresh)
	if err != nil {
		return err
	}
	r.loggedTo = next
	switch {
	case full:
		r.logged = fresh
	case len(fresh) > 0:
		maps.Copy(fresh, r.logged)
		r.logged = fresh
	}
	st.logged = r.logged
	return nil
}

// readChain reads the links into the state and recomputes them. If full is false, it does so only with the links after the previous state.
// same is the number of first links that are equal to the previous state's.
func (r *Record) readChain(ctx context.Context, st, before *RecordState, full bool) (same int, err error) {
	links := before.links
	same = len(links)
	v, invalid := &chain.Verifier{}, int64(0)
	after := int64(0)
	if !full {
		if same > 0 {
			after = links[same-1].Seq
		}
		if invalid = before.proof.invalid; invalid == 0 {
			if v, err = chain.Resume(before.proof.head); err != nil {
				return 0, err
			}
		}
	}
	i := 0
	if !full {
		i = same
	}
	err = r.o.Store.StreamChainAfter(ctx, after, func(seq int64, ticker, price, date, previous, hash []byte) error {
		if invalid == 0 && v.AddBytes(seq, ticker, price, date, previous, hash) != nil {
			invalid = max(seq, 1)
		}
		if i < same && links[i].is(seq, ticker, price, date, previous, hash) {
			i++
			return nil
		}
		if i < same { // a stored value has changed
			same = i
			links = slices.Clip(links[:i])
		}
		if len(links) == cap(links) {
			links = slices.Grow(links, len(links)+chunkLinks) // append alone would copy a long chain often
		}
		links = append(links, newLink(seq, ticker, price, date, previous, hash))
		i++
		return nil
	})
	if err != nil {
		return 0, err
	}
	if i < same {
		same, links = i, slices.Clip(links[:i])
	}
	st.links = links
	st.proof = verified{head: v.Checkpoint(), invalid: invalid}
	if full || invalid != before.proof.invalid {
		st.proof.judge(links)
	} else {
		st.proof.hashes, st.proof.links = before.proof.hashes, before.proof.links
	}
	return same, nil
}
