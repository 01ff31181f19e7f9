package workers

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tidemark/backfill"
	"tidemark/ingest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/signals"
)

// Backfills is the job that does slots of a backfill, or reads a source's archive again for one.
type Backfills struct {
	DB      *postgres.DB
	Signals Signals
	Archive ingest.Archive
	Sources map[string]ingest.Source
	// Now is the world's time.
	Now func() time.Time
	// TimeSlice is the time slice of backfill.Runner. Zero: its default.
	TimeSlice time.Duration
}

// Run does the part of a backfill that the run was given.
func (b Backfills) Run(ctx context.Context, t task.Task) error {
	number, source, again := strings.Cut(t.Subject, "/")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return Permanent(fmt.Errorf("unknown backfill %q", number))
	}
	if again {
		src, ok := b.Sources[source]
		if !ok {
			return Permanent(fmt.Errorf("unknown source %q", source))
		}
		_, err := backfill.ReparseFenced(ctx, b.DB, b.Archive, src, b.Now(), t.Fence)
		return err
	}
	return backfill.Runner{
		DB: b.DB, Definitions: b.Signals.Definitions, Signal: b.Signals.Run, Compute: b.Signals.Snapshot, TimeSlice: b.TimeSlice,
	}.Slots(ctx, t, id)
}

// Snapshot makes the snapshot that a run of the signal for an instant would save.
func (s Signals) Snapshot(ctx context.Context, def signals.Definition, at time.Time) (postgres.Snapshot, error) {
	snap, _, err := s.Compute(ctx, def, at)
	return snap, err
}
