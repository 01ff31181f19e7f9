package view

import (
	"context"
	"errors"
	"iter"
	"time"

	"tidemark/internal/postgres"
)

// HistoryPoint is a point of a signal's history. An unknown number is NaN. Vintage counts the values that the point has had.
type HistoryPoint struct {
	ObservedAt, PublishedAt    time.Time
	Value, Lo, Hi, Baseline, Z float64
	Vintage                    int
}

func historyPoint(p postgres.Point) HistoryPoint {
	return HistoryPoint{p.ObservedAt, p.PublishedAt, p.Value, p.Lo, p.Hi, p.Baseline, p.Z, p.Vintage}
}

// Last returns the observation time of the newest point, or zero if there are no points.
func (h *History) Last() time.Time {
	if h.Len() == 0 {
		return time.Time{}
	}
	return time.UnixMicro(h.observed[h.Len()-1]).UTC()
}

// Points returns the points of a history from an instant on, in ascending time. A zero instant means all. h may be nil, which means the
// empty history.
func (h *History) Points(from time.Time) []HistoryPoint {
	var out []HistoryPoint
	for i := range h.Len() {
		if p := h.at(i); !p.ObservedAt.Before(from) {
			out = append(out, historyPoint(p))
		}
	}
	return out
}

// PointsAsOf returns the points from an instant on, as they were known as of another. A zero from means all points. The error is
// postgres.ErrUnavailable if the database is unavailable.
func (v *View) PointsAsOf(ctx context.Context, s *Signal, asOf, from time.Time) ([]HistoryPoint, error) {
	var out []HistoryPoint
	for p, err := range v.stored(ctx, postgres.HistoryQuery{Signal: s.Definition.ID, AsOf: asOf, From: from}) {
		if err != nil {
			return nil, err
		}
		out = append(out, historyPoint(p))
	}
	return out, nil
}

// SnapshotAsOf returns the snapshot of a signal as of a past instant, or nil if it had no snapshot then.
func (v *View) SnapshotAsOf(ctx context.Context, s *Signal, at time.Time) (*SignalSnapshot, error) {
	var out *SignalSnapshot
	err := v.acquireQuery(ctx, func(ctx context.Context) error {
		stored, err := v.o.Store.SnapshotAsOf(ctx, s.Definition.ID, at)
		if err != nil {
			return err
		}
		if stored.FirstIngestedAt == nil && !s.Snapshot.firstIngested.IsZero() {
			stored.FirstIngestedAt = new(s.Snapshot.firstIngested)
		}
		bodies, err := v.o.Store.BodiesAsOf(ctx, s.Definition, stored.At)
		if err != nil {
			return err
		}
		snapshot := v.o.snapshot(s.Definition, &stored, bodies, at)
		out = &snapshot
		return nil
	})
	if errors.Is(err, postgres.ErrNotFound) {
		return nil, nil
	}
	return out, err
}

// FirstPrints returns the points between two instants, both included, whose first value was recorded as it came, with that value. The first
// value of a point that was there at the first load is not its first print: the publisher may have revised it before. The error is
// postgres.ErrUnavailable if the database is unavailable.
func (v *View) FirstPrints(ctx context.Context, s *Signal, from, to time.Time) ([]HistoryPoint, error) {
	if s.Snapshot.AsOf == nil || s.Snapshot.firstIngested.IsZero() {
		return nil, nil
	}
	versions := v.stored(ctx, postgres.HistoryQuery{Signal: s.Definition.ID, AsOf: *s.Snapshot.AsOf, From: from, To: to, Versions: true})
	return firstPrints(versions, s.Snapshot)
}

// firstPrints selects the first prints from the versions of points.
func firstPrints(versions iter.Seq2[postgres.Point, error], s SignalSnapshot) ([]HistoryPoint, error) {
	var out []HistoryPoint
	var seen time.Time // the point whose first version was read last
	for p, err := range versions {
		if err != nil {
			return nil, err
		}
		if p.Vintage != 1 || p.ObservedAt.Equal(seen) {
			continue
		}
		seen = p.ObservedAt
		if !s.Assumed(p.PublishedAt) {
			out = append(out, historyPoint(p))
		}
	}
	return out, nil
}

// Unavailable reports whether an error means that the database is unavailable.
func Unavailable(err error) bool { return errors.Is(err, postgres.ErrUnavailable) }
