package workers

import (
	"context"
	"fmt"
	"math"
	"time"

	"tidemark/internal/postgres"
	"tidemark/signals"
	"tidemark/workers/task"
)

// Signals is the job that computes a signal as of its slot.
type Signals struct {
	DB          *postgres.DB
	Definitions map[string]signals.Definition
	// CodeVersion is recorded with each snapshot.
	CodeVersion string
}

// Run computes one signal from what was known at the slot, and saves its snapshot.
func (s Signals) Run(ctx context.Context, t task.Task) error {
	def, ok := s.Definitions[t.Subject]
	if !ok {
		return Final(fmt.Errorf("there is no signal %q", t.Subject))
	}
	snap, err := s.Compute(ctx, def, t.Slot)
	if err != nil {
		return err
	}
	return s.DB.SaveSnapshot(ctx, t.Fence, snap)
}

// Compute makes the snapshot of a signal for an instant, from what was known then. The same database gives the same snapshot,
// whenever it is asked.
func (s Signals) Compute(ctx context.Context, def signals.Definition, at time.Time) (postgres.Snapshot, error) {
	in, err := s.DB.ObservationsAsOf(ctx, def.Inputs, at)
	if err != nil {
		return postgres.Snapshot{}, err
	}
	inputs, err := s.DB.InputsAsOf(ctx, def.Inputs, at)
	if err != nil {
		return postgres.Snapshot{}, err
	}
	snap := postgres.Snapshot{Signal: def.ID, At: at, Inputs: inputs, CodeVersion: s.CodeVersion}
	for _, i := range inputs {
		snap.Synthetic = snap.Synthetic || i.Synthetic
	}
	track := def.Compute(in, at)
	if len(track) == 0 {
		snap.Status = def.Status(time.Time{}, at)
		return snap, nil
	}
	e := track[len(track)-1]
	snap.Status = def.Status(e.ObservedAt, at)
	snap.ObservedAt, snap.KnownAt = &e.ObservedAt, &e.KnownAt
	snap.Value, snap.Lo, snap.Hi = known(e.Value), known(e.Lo), known(e.Hi)
	snap.Baseline, snap.Scale, snap.N = known(e.Baseline), known(e.Scale), e.N
	snap.Z, snap.DeltaPct = known(e.Z()), known(e.DeltaPct())
	if def.Components != nil {
		for _, c := range def.Components(in, at) {
			snap.Components = append(snap.Components, component(c))
		}
	}
	return snap, nil
}

func component(c signals.Component) postgres.SnapshotComponent {
	out := postgres.SnapshotComponent{
		Name: c.Name, Label: c.Label, Unit: c.Unit,
		Value: known(c.Value), Baseline: known(c.Baseline), DeltaPct: known(c.DeltaPct()), Z: known(c.Z()),
	}
	if !c.ObservedAt.IsZero() {
		out.ObservedAt = &c.ObservedAt
	}
	return out
}

// known turns the NaN of an unknown number into nil.
func known(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}
