package ops

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tidemark/api/view"
	"tidemark/chain"
	"tidemark/internal/calendar"
	"tidemark/internal/postgres"
	"tidemark/signals"
)

// State is how everything stands at one moment, by the database.
type State struct {
	// At is the world's time, by which data are fresh or stale, and Now the wall clock's, by which work is late.
	At, Now time.Time
	// Began is when the process that looks began to; the zero time: long ago.
	Began   time.Time
	Signals []Freshness
	Jobs    []postgres.JobStatus
	Open    postgres.OpenRuns
	Record  postgres.RecordStatus
	Chain   ChainState
	// Ledger and Attester are nil until their jobs have looked for the first time.
	Ledger    *postgres.LedgerState
	Attester  *postgres.AttesterState
	Backfills []postgres.BackfillStatus
	Hosts     []postgres.HostStatus
	// Troubled are the jobs that failed last and are tried again.
	Troubled []postgres.Troubled
	// Late are runs that take longer than is usual for them.
	Late []postgres.Late
	// Unpaid counts payments by request that the facilitator called settled and the chain does not show; FirstUnpaid is the first.
	Unpaid      int
	FirstUnpaid int64
	// PickMissing is the trading day whose pick should be recorded by now, as a pick or as a gap, and is not; zero for none. An
	// installation that never had a pick misses none.
	PickMissing time.Time
}

// Freshness is how old the newest observation of a signal is, and what that means.
type Freshness struct {
	Signal string
	// State is one of view's: fresh, stale, unknown.
	State string
	// Status is what the newest snapshot says: live, decayed, deprecated; empty where there is none.
	Status string
	// ObservedAt and Age are zero where there is no observation.
	ObservedAt time.Time
	Age, Limit time.Duration
}

// ChainState is what the verification of the announced chain came to.
type ChainState struct {
	// Length is how many links hold, from the first.
	Length int64
	// Fault names the first link that does not hold; empty: all do.
	Fault string
}

// Observer looks how everything stands. It is safe for concurrent use.
type Observer struct {
	DB          *postgres.DB
	Definitions []signals.Definition
	// Now is the wall clock.
	Now func() time.Time
	// PickDue is the clock time in New York after which the pick of a trading day should be recorded.
	PickDue time.Duration

	mu       sync.Mutex
	verified chain.Checkpoint
	// whole is when the verification began at the first link last.
	whole time.Time
}

// wholeEvery is how often the chain is verified from its first link. In between only new links are.
const wholeEvery = 10 * time.Minute

// hostShut is how long a host must be closed to us to be worth a word: less is the ordinary pace.
const hostShut = time.Minute

// Look reads how everything stands.
func (o *Observer) Look(ctx context.Context) (s State, err error) {
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
	s.Hosts, err = o.DB.HostStatus(ctx, hostShut)
	return s, err
}

// freshness judges the newest observation of each signal at an instant.
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

// missingPick is the newest trading day whose pick was due by an instant, where neither it nor a later one is recorded.
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

// verify recomputes the links that were announced since it was called last, and now and then all. A chain that does not hold is
// verified from its first link each time, until it does.
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
