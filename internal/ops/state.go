package ops

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tidemark/api/view"
	"tidemark/chain"
	"tidemark/chain/tlog"
	"tidemark/internal/calendar"
	"tidemark/internal/postgres"
	"tidemark/signals"
)

// State is the state of the installation at one moment, read from the database.
type State struct {
	// At is the world's time, which decides whether data are fresh or stale. Now is the wall clock time, which decides whether work is
	// late.
	At, Now time.Time
	// Began is when the observing process began. The zero time means long ago.
	Began   time.Time
	Signals []Freshness
	Jobs    []postgres.JobStatus
	Open    postgres.OpenRuns
	Record  postgres.RecordStatus
	Chain   ChainState
	// Ledger and Attester are nil until their jobs have run for the first time.
	Ledger    *postgres.LedgerState
	Attester  *postgres.AttesterState
	Backfills []postgres.BackfillStatus
	Hosts     []postgres.HostStatus
	// Troubled are the jobs whose last run failed and that will be retried.
	Troubled []postgres.Troubled
	// Untried are the sources whose first run is open, without a failed attempt.
	Untried []string
	// Late are runs that take longer than usual.
	Late []postgres.Late
	// Unpaid counts payments by request that the facilitator reported as settled but that are not on the chain. FirstUnpaid is the first
	// one.
	Unpaid      int
	FirstUnpaid int64
	// PickMissing is the trading day whose pick should be recorded by now, as a pick or as a gap, and is not. It is zero if none is
	// missing. An installation without any pick misses none.
	PickMissing time.Time
	// Logs are the transparency logs that were started. SealFaults are the recent sealed picks that were not revealed in time and as sealed.
	Logs       []postgres.LogHealth
	SealFaults []tlog.SealedDay
	// BackedUpAt is when the newest recorded backup began, by the wall clock. Nil means that none is recorded.
	BackedUpAt *time.Time
}

// Freshness is the age of a signal's newest observation, and the resulting state.
type Freshness struct {
	Signal string
	// State is one of view's states: fresh, stale, unknown.
	State string
	// Status is the status in the newest snapshot: live, decayed, deprecated; empty without a snapshot.
	Status string
	// ObservedAt and Age are zero without an observation.
	ObservedAt time.Time
	Age, Limit time.Duration
}

// ChainState is the result of verifying the announced chain.
type ChainState struct {
	// Length is the number of valid links, from the first.
	Length int64
	// Fault names the first invalid link. Empty means that all are valid.
	Fault string
}

// Observer reads the state of the installation. It is safe for concurrent use.
type Observer struct {
	DB          *postgres.DB
	Definitions []signals.Definition
	// Now is the wall clock.
	Now func() time.Time
	// PickDue is the clock time in New York by when the pick of a trading day should be recorded.
	PickDue time.Duration

	mu       sync.Mutex
	verified chain.Checkpoint
	// whole is when a verification from the first link last began.
	whole time.Time
	// seals follows the leaves of the record, and sealedTo is the number of the next one.
	seals    tlog.SealedDays
	sealedTo int64
}

// wholeEvery is the interval of verifications from the first link. In between, only new links are verified.
const wholeEvery = 10 * time.Minute

// hostBlocked is the shortest closure of a host to us that is reported. Shorter pauses are normal.
const hostBlocked = time.Minute

// Observe reads the state of the installation.
func (o *Observer) Observe(ctx context.Context) (s State, err error) {
	s.Now = o.Now().UTC()
	if s.At, err = o.DB.Now(ctx); err != nil {
		return s, err
	}
	seen, err := o.DB.SignalStatus(ctx)
	if err != nil {
		return s, err
	}
	s.Signals = freshness(o.Definitions, seen, s.At)
	if s.Jobs, err = o.DB.JobStatus(ctx); err != nil {
		return s, err
	}
	if s.Open, err = o.DB.OpenRuns(ctx); err != nil {
		return s, err
	}
	if s.Record, err = o.DB.RecordStatus(ctx); err != nil {
		return s, err
	}
	if s.Logs, err = o.DB.LogHealths(ctx); err != nil {
		return s, err
	}
	if s.SealFaults, err = o.sealed(ctx, s.At); err != nil {
		return s, err
	}
	s.PickMissing = missingPick(s.Record.LastPick, s.At, o.PickDue)
	if s.Chain, err = o.verify(ctx); err != nil {
		return s, err
	}
	switch l, err := o.DB.LedgerState(ctx); {
	case err == nil:
		s.Ledger = &l
	case !errors.Is(err, postgres.ErrNotFound):
		return s, err
	}
	switch a, err := o.DB.AttesterState(ctx); {
	case err == nil:
		s.Attester = &a
	case !errors.Is(err, postgres.ErrNotFound):
		return s, err
	}
	if s.Backfills, err = o.DB.BackfillStatus(ctx); err != nil {
		return s, err
	}
	if s.Unpaid, s.FirstUnpaid, err = o.DB.X402Missing(ctx); err != nil {
		return s, err
	}
	if s.Late, err = o.DB.LateRuns(ctx); err != nil {
		return s, err
	}
	if s.Troubled, err = o.DB.Troubled(ctx); err != nil {
		return s, err
	}
	if s.Untried, err = o.DB.UntriedSources(ctx); err != nil {
		return s, err
	}
	if s.BackedUpAt, err = o.DB.LastBackup(ctx); err != nil {
		return s, err
	}
	s.Hosts, err = o.DB.HostStatus(ctx, hostBlocked)
	return s, err
}

// freshness returns the freshness of each signal's newest observation at an instant.
func freshness(defs []signals.Definition, seen []postgres.SignalStatus, at time.Time) []Freshness {
	byID := map[string]postgres.SignalStatus{}
	for _, s := range seen {
		byID[s.Signal] = s
	}
	list := make([]Freshness, 0, len(defs))
	for _, d := range defs {
		f := Freshness{Signal: d.ID, State: view.Unknown, Status: byID[d.ID].Status, Limit: d.Staleness}
		if o := byID[d.ID].ObservedAt; o != nil {
			f.ObservedAt, f.Age, f.State = o.UTC(), at.Sub(*o), view.Stale
			if d.Status(*o, at) == signals.StatusLive {
				f.State = view.Fresh
			}
		}
		list = append(list, f)
	}
	return list
}

// missingPick returns the newest trading day whose pick was due by an instant, if neither it nor a later pick is recorded.
func missingPick(last *string, at time.Time, due time.Duration) time.Time {
	if last == nil {
		return time.Time{}
	}
	day := calendar.DayOf(at)
	if !calendar.IsTradingDay(day) || at.Before(calendar.At(day, due)) {
		day = calendar.Previous(day)
	}
	if day.Format(time.DateOnly) <= *last {
		return time.Time{}
	}
	return day
}

// verify recomputes the links that were announced since its last call, and all links every wholeEvery. An invalid chain is verified from
// its first link each time, until it is valid.
func (o *Observer) verify(ctx context.Context) (ChainState, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := o.Now(); now.Sub(o.whole) > wholeEvery {
		o.verified, o.whole = chain.Checkpoint{}, now
	}
	v, err := chain.Resume(o.verified)
	if err != nil {
		return ChainState{}, fmt.Errorf("verify the chain: %w", err)
	}
	err = o.DB.StreamChainAfter(ctx, o.verified.Length, v.AddBytes)
	switch {
	case v.Err() != nil:
		o.verified = chain.Checkpoint{}
		return ChainState{Length: v.Checkpoint().Length, Fault: v.Err().Error()}, nil
	case err != nil:
		return ChainState{}, err
	}
	o.verified = v.Checkpoint()
	return ChainState{Length: o.verified.Length}, nil
}
