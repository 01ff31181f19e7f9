package view

import (
	"context"
	"errors"
	"time"

	"tidemark/internal/locale"
	"tidemark/internal/postgres"
)

// Evidence traces the number of a snapshot to the bytes that contained its newest observations.
type Evidence struct {
	Snapshot postgres.Snapshot
	// Why explains in English why the number differs from the previous one. It is empty if there is no previous one.
	Why string
	// Cells are the observations of each input up to the snapshot's own, newest first.
	Cells []EvidenceCell
}

// EvidenceCell is an observation with the exchange that delivered it.
type EvidenceCell struct {
	postgres.KnownObservation

	Source, URL, SHA256 string
	FetchedAt           time.Time
	Bytes               int64
}

// evidenceDays is how many observations are shown of an input that the value averages: one week.
const evidenceDays = 7

// Evidence returns the evidence of the newest snapshot about a day or earlier. A zero day means the newest snapshot. The result is nil if
// there is no snapshot.
func (v *View) Evidence(ctx context.Context, s *Signal, day time.Time) (*Evidence, error) {
	var e Evidence
	err := v.acquireQuery(ctx, func(ctx context.Context) error {
		if !day.IsZero() {
			day = day.AddDate(0, 0, 1).Add(-time.Microsecond)
		}
		var err error
		if e.Snapshot, err = v.end(ctx, s, day, true); err != nil || e.Snapshot.ObservedAt == nil {
			return err
		}
		most := 1
		if s.Definition.Averaged != "" {
			most = evidenceDays
		}
		known, err := v.o.Store.NewestKnown(ctx, s.Definition.Inputs, e.Snapshot.At, *e.Snapshot.ObservedAt, most)
		if err != nil {
			return err
		}
		ids := make([]int64, len(known))
		for i, k := range known {
			ids[i] = k.FetchID
		}
		fetches, err := v.o.Store.FetchesByID(ctx, ids)
		if err != nil {
			return err
		}
		for _, k := range known {
			c := EvidenceCell{KnownObservation: k}
			for _, f := range fetches {
				if f.ID == k.FetchID {
					c.Source, c.URL, c.SHA256, c.FetchedAt, c.Bytes = f.Source, f.URL, f.SHA256, f.FetchedAt, f.Bytes
				}
			}
			e.Cells = append(e.Cells, c)
		}
		return nil
	})
	if err == nil {
		var why ChangeReport
		why, err = v.ChangeReport(ctx, s, ChangesRequest{To: e.Snapshot.At, Lang: locale.English})
		e.Why = why.Text
		if errors.Is(err, postgres.ErrNotFound) || errors.Is(err, postgres.ErrTooMany) {
			err = nil
		}
	}
	if errors.Is(err, postgres.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &e, nil
}
