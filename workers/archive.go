package workers

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"tidemark/ingest/archive"
	"tidemark/internal/task"
)

// Archive moves raw bytes that are old to the colder archive.
type Archive struct {
	Store *archive.Store
	// After is how old they are then.
	After time.Duration
	Log   *slog.Logger
}

// Run moves what was written before the UTC day that lies that far before the slot. It may be killed anywhere, and several may run.
func (a Archive) Run(ctx context.Context, t task.Task) error {
	done, err := a.Store.MoveCold(ctx, t.Slot.Add(-a.After).Truncate(24*time.Hour))
	if errors.Is(err, archive.ErrNoColdStore) {
		return Permanent(errors.New("this worker has no ARCHIVE_COLD_URL, and the scheduler has one"))
	}
	if done.Bodies > 0 {
		a.Log.InfoContext(ctx, "old raw bytes were moved to the colder archive", "at", t.Slot, "bodies", done.Bodies, "bytes", done.Bytes)
	}
	return err
}
