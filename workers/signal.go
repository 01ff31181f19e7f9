package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
	"tidemark/signals"
	"tidemark/signals/forecast"
)

// Signals is the job that computes a signal as of its slot.
type Signals struct {
	DB          *postgres.DB
	Definitions map[string]signals.Definition
	// Sources names, per signal, the sources of its series.
	Sources map[string][]string
	// CodeVersion is recorded with each snapshot. An empty one makes each backtest again, also where the snapshot before has the same.
	CodeVersion string
	// Tracks keeps the last tracks, so that the next ones are computed from new observations alone. Nil computes each whole.
	Tracks *signals.Tracks
}

// Run computes one signal from the data known at the slot, and saves its snapshot and its track.
func (s Signals) Run(ctx context.Context, t task.Task) error {
	def, ok := s.Definitions[t.Subject]
	if !ok {
		return Permanent(fmt.Errorf("unknown signal %q", t.Subject))
	}
	if err := s.await(ctx, def, t); err != nil {
		return err
	}
	computing, span := telemetry.Step(ctx, "compute", slog.String("signal", def.ID))
	snap, track, err := s.Compute(computing, def, t.Slot)
	span.End(err)
	if err != nil {
		return err
	}
	early, err := s.early(ctx, t, snap)
	if err == nil && early {
		snap, track, err = s.nothing(ctx, def, snap)
	}
	if err != nil {
		return err
	}
	if err := adopt(ctx, s.DB, signalsMethod()); err != nil {
		return err
	}
	if err := s.DB.SaveGrowing(ctx, t.Fence, snap, track); err != nil {
		s.Tracks.Forget(def.ID)
		return err
	}
	return nil
}

// early reports whether a schedule's run would give numbers to a slot before the first bytes of an input came. A new installation starts
// with the slot before it, and its sources may store their data before the run of that slot. Values published by then would seem to be known
// here on an earlier day. The data make a run due for the instant at which they came. A backfill of such a slot is asked for, and not early.
func (s Signals) early(ctx context.Context, t task.Task, snap postgres.Snapshot) (bool, error) {
	if snap.ObservedAt == nil || snap.FirstIngestedAt == nil || !snap.FirstIngestedAt.After(t.Slot) {
		return false, nil
	}
	return s.DB.OfSchedule(ctx, t.Fence)
}

// nothing returns the snapshot and the track that the slot of snap would have had if its run had come before the data.
func (s Signals) nothing(ctx context.Context, def signals.Definition, snap postgres.Snapshot) (empty postgres.Snapshot, track signals.Growing, err error) {
	empty = postgres.Snapshot{Signal: snap.Signal, At: snap.At, CodeVersion: snap.CodeVersion, LoadsSeen: snap.LoadsSeen}
	empty.Status, empty.Cause, err = s.status(ctx, def, empty)
	return empty, track, err
}

const (
	// A source that has just stored its answer is about to end: a run looks that often for that long before it makes room for others.
	lookEvery, lookFor = 20 * time.Millisecond, 200 * time.Millisecond
	// After that it is tried again when the source has been asked for a quarter longer, within these bounds.
	shortestWait, maxWait = 250 * time.Millisecond, 15 * time.Second
)

// await delays a run while a source requested since before the slot may still store data known at the slot: the snapshot must equal every
// later computation of the slot. A hanging source delays it at most until its attempt's timeout, or until its worker is considered lost.
func (s Signals) await(ctx context.Context, def signals.Definition, t task.Task) error {
	for looked := time.Duration(0); ; looked += lookEvery {
		source, since, err := s.DB.Ingesting(ctx, t.Fence, s.Sources[def.ID], t.Slot)
		if err != nil || source == "" {
			return err
		}
		if looked >= lookFor {
			return WaitFor(fmt.Errorf("waiting for %s, which is being asked since before the slot", source),
				min(max(since/4, shortestWait), maxWait))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}

// Compute makes the snapshot of a signal for an instant, and the track that ends with it, from the data known then. The same database
// gives the same bits at any time.
func (s Signals) Compute(ctx context.Context, def signals.Definition, at time.Time) (postgres.Snapshot, signals.Growing, error) {
	loads, _, err := s.DB.LoadsNow(ctx, postgres.Loads{}, nil)
	if err != nil {
		return postgres.Snapshot{}, signals.Growing{}, err
	}
	for range maxReads {
		snap, track, err := s.compute(ctx, def, at.UTC())
		if err != nil {
			return postgres.Snapshot{}, signals.Growing{}, err
		}
		snap.LoadsSeen = &loads.Seen
		// Data that come meanwhile may be known since before the instant, and may be in one of the reads and not in another.
		now, changed, err := s.DB.LoadsNow(ctx, loads, s.Sources[def.ID])
		if err != nil {
			return postgres.Snapshot{}, signals.Growing{}, err
		}
		if !changed {
			return snap, track, nil
		}
		loads = now
	}
	return postgres.Snapshot{}, signals.Growing{}, WaitFor(fmt.Errorf("the data of %s changed %d times while they were read", def.ID, maxReads), shortestWait)
}

// maxReads is how often the data of a signal are read again because some came meanwhile.
const maxReads = 5

func (s Signals) compute(ctx context.Context, def signals.Definition, at time.Time) (postgres.Snapshot, signals.Growing, error) {
	snap := postgres.Snapshot{Signal: def.ID, At: at, CodeVersion: s.CodeVersion}
	in, err := s.DB.InputsOf(ctx, def, at)
	if err != nil {
		return snap, signals.Growing{}, err
	}
	if snap.Inputs, err = s.DB.InputsAsOf(ctx, def.Inputs, at); err != nil {
		return snap, signals.Growing{}, err
	}
	if snap.FirstIngestedAt, err = s.DB.FirstIngested(ctx, def.Inputs); err != nil {
		return snap, signals.Growing{}, err
	}
	for _, i := range snap.Inputs {
		snap.Synthetic = snap.Synthetic || i.Synthetic
	}
	track := s.Tracks.Compute(def, in, at)
	fill(&snap, def, track, in)
	if err := s.judge(ctx, def, &snap); err != nil {
		return snap, signals.Growing{}, err
	}
	if snap.Status, snap.Cause, err = s.status(ctx, def, snap); err != nil {
		return snap, signals.Growing{}, err
	}
	return snap, track, nil
}

// fill takes the newest point of a track into a snapshot.
func fill(snap *postgres.Snapshot, def signals.Definition, track signals.Growing, in series.Set) {
	if track.Len() == 0 {
		return
	}
	e := track.At(track.Len() - 1)
	snap.CoversFrom = new(track.At(0).ObservedAt.Time())
	snap.ObservedAt, snap.KnownAt = new(e.ObservedAt.Time()), new(e.KnownAt.Time())
	snap.Value, snap.Lo, snap.Hi = postgres.Known(e.Value), postgres.Known(e.Lo), postgres.Known(e.Hi)
	snap.Baseline, snap.Scale, snap.N = postgres.Known(e.Baseline), postgres.Known(e.Scale), e.N
	snap.Z, snap.DeltaPct = postgres.Known(e.Z()), postgres.Known(e.DeltaPct())
	if def.Components == nil {
		return
	}
	for _, c := range def.Components(in, snap.At) {
		snap.Components = append(snap.Components, component(c))
	}
}

func component(c signals.Component) postgres.SnapshotComponent {
	out := postgres.SnapshotComponent{
		Name: c.Name, Label: c.Label, Unit: c.Unit, Value: postgres.Known(c.Value), Baseline: postgres.Known(c.Baseline),
		DeltaPct: postgres.Known(c.DeltaPct()), Z: postgres.Known(c.Z()),
	}
	if !c.ObservedAt.IsZero() {
		out.ObservedAt = new(c.ObservedAt.Time())
	}
	return out
}

// judge adds the signal's backtest of the day and the record of its intervals. They are as of the newest data of its inputs, or as of
// midnight (UTC) if nothing came since. So both are made once for all slots of a day without new data, and are the same in every order of
// computation. The stored snapshot of the slot itself is not read: a slot that is computed again would only repeat it.
func (s Signals) judge(ctx context.Context, def signals.Definition, snap *postgres.Snapshot) error {
	if def.Backtest.Cases == nil {
		return nil
	}
	inputs := def.BacktestInputs()
	asOf, err := s.DB.NewestVintage(ctx, inputs, snap.At)
	if err != nil || asOf.IsZero() {
		return err
	}
	if midnight := snap.At.Truncate(24 * time.Hour); midnight.After(asOf) {
		asOf = midnight
	}
	last, err := s.DB.SnapshotAsOf(ctx, def.ID, snap.At.Add(-time.Microsecond))
	switch {
	case errors.Is(err, postgres.ErrNotFound):
	case err != nil:
		return err
	case last.Backtest != nil && last.Backtest.ComputedAt.Equal(asOf) && last.Backtest.CodeVersion == s.CodeVersion && last.Uncertainty != nil && last.LoadsSeen != nil:
		// A first load brings values that were published long before the instant.
		_, loaded, err := s.DB.LoadsNow(ctx, postgres.Loads{Newest: *last.LoadsSeen}, s.Sources[def.ID])
		if err != nil {
			return err
		}
		if !loaded {
			snap.Backtest, snap.Uncertainty = last.Backtest, last.Uncertainty
			return nil
		}
	}
	in, err := s.DB.FirstObservationsAsOf(ctx, inputs, asOf)
	if err != nil {
		return err
	}
	arrivals, err := s.arrivals(ctx, def, in, asOf)
	if err != nil {
		return err
	}
	versions, err := s.DB.MethodVersions(ctx, signalsMethod().Name, signalsMethod().SHA256, snap.At)
	if err != nil {
		return err
	}
	r := def.CheckedBacktest(in, asOf, arrivals).Allow(signals.Tests(versions))
	snap.Backtest = postgres.NewBacktest(def, r, s.CodeVersion)
	vintages := map[series.ID][]series.Observation{}
	if len(def.Reestimated) > 0 {
		if vintages, err = s.DB.VintagesAsOf(ctx, def.Reestimated, asOf); err != nil {
			return err
		}
	}
	snap.Uncertainty = postgres.NewUncertainty(def.MeasureInterval(in, vintages, asOf))
	return nil
}

// arrivals says how the data of a backtest became known. first holds the first vintages.
func (s Signals) arrivals(ctx context.Context, def signals.Definition, first series.Set, asOf time.Time) (out signals.Arrivals, err error) {
	newest, err := s.DB.ObservationsAsOf(ctx, def.BacktestInputs(), asOf)
	if err != nil {
		return out, err
	}
	out, changed, err := def.Arrivals(first, newest, func(ids ...series.ID) (time.Time, error) { return s.DB.RecordedFrom(ctx, ids, asOf) })
	if err != nil || len(changed) == 0 {
		return out, err
	}
	out.Vintages, err = s.DB.VintagesAsOf(ctx, changed, asOf)
	return out, err
}

// status returns the state of a signal from its snapshot, and the cause. An operator's setting takes precedence.
func (s Signals) status(ctx context.Context, def signals.Definition, snap postgres.Snapshot) (status, cause string, err error) {
	state, err := s.DB.StateAsOf(ctx, def.ID, snap.At)
	if err != nil && !errors.Is(err, postgres.ErrNotFound) {
		return "", "", err
	}
	if state.State == signals.StatusDeprecated {
		return state.State, state.Cause, nil
	}
	if snap.ObservedAt == nil {
		return signals.StatusDecayed, "nothing was observed", nil
	}
	newest := snap.ObservedAt.Format(time.DateOnly)
	if def.Status(*snap.ObservedAt, snap.At) != signals.StatusLive {
		return signals.StatusDecayed, fmt.Sprintf("stale: the newest observation is of %s, more than %s ago", newest, period(def.Staleness)), nil
	}
	gone, err := s.skillGone(ctx, def.ID, snap.At)
	if gone != "" || err != nil {
		return signals.StatusDecayed, gone, err
	}
	return signals.StatusLive, "fresh: the newest observation is of " + newest, nil
}

// skillGone returns the cause if the live record of the signal's own figure shows that its forecasts have decayed, or else "". The record
// counts as of midnight (UTC) before the slot, so that a grade in the making does not decide.
func (s Signals) skillGone(ctx context.Context, signal string, slot time.Time) (string, error) {
	own := forecast.Of(signal)
	if len(own) == 0 {
		return "", nil
	}
	t := own[0]
	live, err := s.DB.ForecastScores(ctx, signal, t.Figure, slot.Truncate(24*time.Hour))
	if err != nil || !forecast.Decayed(live, t.GradesNeeded, t.Monthly) {
		return "", err
	}
	return fmt.Sprintf("skill gone: the last %d graded forecasts of %s are worse than a naive one's", t.GradesNeeded, t.Figure), nil
}

// period writes a time of days or hours.
func period(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return fmt.Sprintf("%.0f hours", d.Hours())
}
