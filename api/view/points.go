package view

import (
	"context"
	"errors"
	"time"

	"tidemark/internal/postgres"
)

// HistoryPoint is a point of a signal's history. A number that is unknown is NaN. Vintage counts the values that the point has had.
type HistoryPoint struct {
	ObservedAt, PublishedAt    time.Time
	Value, Lo, Hi, Baseline, Z float64
	Vintage                    int
}

func historyPoint(p postgres.Point) HistoryPoint {
	return HistoryPoint{p.ObservedAt, p.PublishedAt, p.Value, p.Lo, p.Hi, p.Baseline, p.Z, p.Vintage}
}

// Last is what the newest point is about, zero where there is none.
func (h *History) Last() time.Time {
	if h.Len() == 0 {
		return time.Time{}
	}
	return time.UnixMicro(h.observed[h.Len()-1]).UTC()
}

// Points are the points of a history from an instant on, or all where it is zero, in ascending time. h may be nil: the empty history.
func (h *History) Points(from time.Time) []HistoryPoint {
	var out []HistoryPoint
	for i := range h.Len() {
		if p := h.at(i); !p.ObservedAt.Before(from) {
			out = append(out, historyPoint(p))
		}
	}
	return out
}

// PointsAsOf are the points from an instant on, or all where it is zero, as they were known at another one. An error that is
// postgres.ErrUnavailable tells that the database is away.
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

// SnapshotAsOf is what was said of a signal at an instant that has come, nil where nothing was.
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
		snapshot := v.o.snapshot(s.Definition, &stored, at)
		out = &snapshot
		return nil
	})
	if errors.Is(err, postgres.ErrNotFound) {
		return nil, nil
	}
	return out, err
}
