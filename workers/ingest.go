package workers

import (
	"context"
	"errors"
	"fmt"

	"tidemark/backfill"
	"tidemark/ingest"
	"tidemark/internal/postgres"
	"tidemark/series"
	"tidemark/workers/task"
)

// Ingest is the job that asks an upstream and stores what it says.
type Ingest struct {
	DB      *postgres.DB
	Engine  *ingest.Engine
	Sources map[string]ingest.Source
	// Dependents names, per source, the signals that are computed when it brought something new.
	Dependents map[string][]string
}

// Run fetches a source whole and adds what is new or changed. What was good is stored also when another part failed, which the
// next attempt repairs.
func (i Ingest) Run(ctx context.Context, t task.Task) error {
	src, ok := i.Sources[t.Subject]
	if !ok {
		return Final(fmt.Errorf("there is no source %q", t.Subject))
	}
	fetched, err := i.Engine.Collect(ctx, src, series.Window{}, t.RunID)
	if len(fetched) == 0 {
		return err
	}
	loads := make([]postgres.Load, len(fetched))
	for n, f := range fetched {
		loads[n] = backfill.Load(src, f)
	}
	_, serr := i.DB.StoreLoads(ctx, t.Fence, loads, i.Dependents[src.ID])
	return errors.Join(err, serr)
}
