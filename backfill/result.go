package backfill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/signals"
)

// Result is a backfill's computed value for a slot that was not stored as its snapshot. Either a snapshot already exists, or later
// knowledge was used. It is kept with the slot. An unknown number is nil.
type Result struct {
	// AsOf is the instant whose knowledge it is made from.
	AsOf       time.Time                    `json:"as_of"`
	Status     string                       `json:"status,omitempty"`
	ObservedAt *time.Time                   `json:"observed_at"`
	KnownAt    *time.Time                   `json:"known_at"`
	Value      *float64                     `json:"value"`
	Lo         *float64                     `json:"lo"`
	Hi         *float64                     `json:"hi"`
	Baseline   *float64                     `json:"baseline"`
	Scale      *float64                     `json:"scale"`
	Z          *float64                     `json:"z_score"`
	DeltaPct   *float64                     `json:"delta_pct"`
	N          int                          `json:"n"`
	Components []postgres.SnapshotComponent `json:"components,omitempty"`
	// CodeVersion is the version of the program that computed it, if it differs from the snapshot's.
	CodeVersion string `json:"code_version,omitempty"`
}

func resultOf(s postgres.Snapshot) *Result {
	return &Result{
		AsOf: s.At, Status: s.Status, ObservedAt: s.ObservedAt, KnownAt: s.KnownAt, Value: s.Value, Lo: s.Lo, Hi: s.Hi,
		Baseline: s.Baseline, Scale: s.Scale, Z: s.Z, DeltaPct: s.DeltaPct, N: s.N, Components: s.Components, CodeVersion: s.CodeVersion,
	}
}

// alike reports whether two snapshots have the same content, regardless of the program and time of their computation. The first load of the
// inputs and the newest load are not compared, because each later computation knows more of them.
func alike(a, b postgres.Snapshot) (bool, error) {
	x, err := said(a)
	if err != nil {
		return false, err
	}
	y, err := said(b)
	return bytes.Equal(x, y), err
}

// said returns the whole content of a snapshot in one form: snapshots from the database differ from computed ones in time zones and empty
// lists.
func said(s postgres.Snapshot) ([]byte, error) {
	s.CodeVersion, s.RunID, s.ServedAt, s.FirstIngestedAt, s.LoadsSeen = "", nil, nil, nil, nil
	if s.Backtest != nil {
		b := *s.Backtest
		b.CodeVersion, b.ComputedAt = "", b.ComputedAt.UTC()
		s.Backtest = &b
	}
	s.At, s.ObservedAt, s.KnownAt = s.At.UTC(), inUTC(s.ObservedAt), inUTC(s.KnownAt)
	components := make([]postgres.SnapshotComponent, len(s.Components))
	for i, c := range s.Components {
		c.ObservedAt = inUTC(c.ObservedAt)
		components[i] = c
	}
	inputs := make([]postgres.Input, len(s.Inputs))
	for i, in := range s.Inputs {
		in.FetchedAt = in.FetchedAt.UTC()
		inputs[i] = in
	}
	s.Components, s.Inputs = components, inputs
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("compare snapshots of %s: %w", s.Signal, err)
	}
	return b, nil
}

func inUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

// numbersAlike reports whether two results have the same value, interval, baseline and z-score.
func numbersAlike(a, b *Result) bool {
	return equal(a.Value, b.Value) && equal(a.Lo, b.Lo) && equal(a.Hi, b.Hi) && equal(a.Baseline, b.Baseline) && equal(a.Scale, b.Scale) && equal(a.Z, b.Z)
}

func equal(a, b *float64) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// previous is a signal's whole track as known at one instant.
type previous struct {
	asOf  time.Time
	track map[series.Instant]signals.Estimate
}

// readPrevious computes a signal's track once, from the data known at an instant.
func readPrevious(ctx context.Context, db *postgres.DB, def signals.Definition, asOf time.Time) (*previous, error) {
	in, err := db.InputsOf(ctx, def, asOf)
	if err != nil {
		return nil, err
	}
	track := def.Compute(in, asOf)
	h := &previous{asOf: asOf, track: make(map[series.Instant]signals.Estimate, len(track))}
	for _, e := range track {
		h.track[e.ObservedAt] = e
	}
	return h, nil
}

// about returns the result, with hindsight, for the observation of a snapshot: the newest one at its slot. Every number is nil if that
// observation was withdrawn since, or did not exist.
func (h *previous) about(s postgres.Snapshot) Result {
	res := Result{AsOf: h.asOf, ObservedAt: inUTC(s.ObservedAt)}
	if s.ObservedAt == nil {
		return res
	}
	e, ok := h.track[series.InstantOf(*s.ObservedAt)]
	if !ok {
		return res
	}
	known := e.KnownAt.Time()
	res.KnownAt = &known
	res.Value, res.Lo, res.Hi, res.Baseline, res.Scale = number(e.Value), number(e.Lo), number(e.Hi), number(e.Baseline), number(e.Scale)
	res.Z, res.DeltaPct, res.N = number(e.Z()), number(e.DeltaPct()), e.N
	return res
}

// number turns the NaN of an unknown number into nil.
func number(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}
