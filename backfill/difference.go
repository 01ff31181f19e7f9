package backfill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tidemark/internal/postgres"
	"tidemark/signals"
)

// Difference is a slot with its stored snapshot and the newly computed result.
type Difference struct {
	Signal string
	Slot   time.Time
	// Outcome is one of a slot that is done: added, unchanged or differs. Compare returns unchanged, differs or LoadedLater.
	Outcome string
	// Old is the stored snapshot; nil if none existed. New is the computed result.
	Old, New *Result
}

// LoadedLater is the outcome of a compared slot whose snapshot was computed before the first load of an input. That load brought values
// that were published before the slot, so the slot's data differ from the data of its snapshot. It says nothing about the program.
const LoadedLater = "loaded_later"

// Differences lists the slots of a backfill that are done, in their order, each with all that stands and all that came out.
func Differences(ctx context.Context, db *postgres.DB, id int64) ([]Difference, error) {
	b, err := db.Backfill(ctx, id)
	if err != nil {
		return nil, err
	}
	counts, err := db.BackfillCounts(ctx, id)
	if err != nil {
		return nil, err
	}
	slots, err := db.BackfillSlots(ctx, id, postgres.SlotDone, false, int(counts.Slots))
	if err != nil {
		return nil, err
	}
	list := make([]Difference, 0, len(slots))
	for _, s := range slots {
		d := Difference{Signal: b.Signal, Slot: s.Slot.UTC(), Outcome: *s.Outcome}
		stands, has, err := standing(ctx, db, b.Signal, s.Slot)
		if err != nil {
			return nil, err
		}
		if has {
			d.Old = resultOf(stands)
		}
		switch {
		case d.Outcome == postgres.OutcomeAdded:
			d.Old, d.New = nil, d.Old
		case s.Result != nil:
			d.New = &Result{}
			if err := json.Unmarshal(s.Result, d.New); err != nil {
				return nil, fmt.Errorf("read what backfill %d computed for %s: %w", id, s.Slot.Format(time.RFC3339), err)
			}
		default:
			d.New = d.Old
		}
		list = append(list, d)
	}
	return list, nil
}

// standing returns the snapshot of a slot, if it has one.
func standing(ctx context.Context, db *postgres.DB, signal string, at time.Time) (postgres.Snapshot, bool, error) {
	s, err := db.SnapshotAsOf(ctx, signal, at)
	if errors.Is(err, postgres.ErrNotFound) {
		return postgres.Snapshot{}, false, nil
	}
	if err != nil || !s.At.Equal(at) {
		return postgres.Snapshot{}, false, err
	}
	return s, true, nil
}

// Compare computes the stored snapshots of a request's slots again with this program, from the data known at each. It returns every slot
// that has a snapshot, with both results. It stores nothing. If the request makes no sense, it returns a RequestError that names the
// flag.
func (p Planner) Compare(ctx context.Context, r Request) ([]Difference, error) {
	if r.Parallelism == 0 {
		r.Parallelism = 1
	}
	def, err := p.check(&r)
	if err != nil {
		return nil, err
	}
	times, err := slots(def.Cadence, r.From, r.To, p.Now)
	if err != nil {
		return nil, err
	}
	inputs, err := p.DB.SeriesStates(ctx, def.BacktestInputs())
	if err != nil {
		return nil, err
	}
	var list []Difference
	for _, at := range times {
		d, has, err := p.compare(ctx, def, at, inputs)
		if err != nil {
			return nil, err
		}
		if has {
			list = append(list, d)
		}
	}
	return list, nil
}

func (p Planner) compare(ctx context.Context, def signals.Definition, at time.Time, inputs []postgres.SeriesState) (d Difference, has bool, err error) {
	stands, has, err := standing(ctx, p.DB, def.ID, at)
	if err != nil || !has {
		return d, false, err
	}
	computed, err := p.Compute(ctx, def, at)
	if err != nil {
		return d, false, fmt.Errorf("compute %s at %s: %w", def.ID, at.Format(time.RFC3339), err)
	}
	same, err := alike(stands, computed)
	d = Difference{Signal: def.ID, Slot: at.UTC(), Outcome: postgres.OutcomeDiffers, Old: resultOf(stands), New: resultOf(computed)}
	switch {
	case same:
		d.Outcome = postgres.OutcomeUnchanged
	case loadedLater(stands, computed, inputs):
		d.Outcome = LoadedLater
	}
	return d, true, err
}

// loadedLater reports whether the first load of an input explains why a stored snapshot is not the computed one. Such a snapshot rests on
// fewer inputs than the computed one, or its backtest has no case yet, and that many inputs were first loaded at its slot or later. A slot
// that a backfill computed after the load does not count.
func loadedLater(stands, computed postgres.Snapshot, inputs []postgres.SeriesState) bool {
	later := 0
	for _, s := range inputs {
		if s.FirstLoadedAt != nil && !s.FirstLoadedAt.Before(stands.At) {
			later++
		}
	}
	lacking := len(computed.Inputs) - len(stands.Inputs)
	if lacking == 0 && cases(stands) == 0 && cases(computed) > 0 {
		stands.Backtest, computed.Backtest = nil, nil
		same, err := alike(stands, computed)
		return err == nil && same && later > 0
	}
	return stands.FirstIngestedAt == nil && lacking > 0 && lacking <= later
}

// cases counts the cases of a snapshot's backtest.
func cases(s postgres.Snapshot) int {
	if s.Backtest == nil {
		return 0
	}
	return s.Backtest.N
}
