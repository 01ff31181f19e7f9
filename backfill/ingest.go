package backfill

import (
	"context"

	"tidemark/ingest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// Received holds the good responses of a run. If nothing was known of their series, their rows are already on the way to the database. It
// ends with Discard.
type Received struct {
	Good []ingest.Fetched

	db      *postgres.DB
	src     ingest.Source
	fence   task.Fence
	storing *postgres.LoadStream
	chain   int
}

// Receive requests a window of a source's observations (zero: all). If nothing was known before, the rows of one page are copied while the
// next page is fetched. err joins the errors of the failed requests. Good then has the other responses.
func Receive(ctx context.Context, db *postgres.DB, e *ingest.Engine, src ingest.Source, w series.Window, f task.Fence) (r *Received, err error) {
	r = &Received{db: db, src: src, fence: f, storing: db.Storing(f)}
	return r, e.Stream(ctx, src, w, f.RunID, r)
}

// Store adds the new values of some of the good responses to the record. One commit adds them and makes the dependents (signal ids) due,
// provided that the attempt of the run is still the current one. It returns the number of added rows. If it fails, it can be called again
// with fewer responses.
func (r *Received) Store(ctx context.Context, some []ingest.Fetched, dependents []string) (added int64, err error) {
	switch len(some) {
	case 0:
		return 0, nil
	case len(r.Good):
		return r.storing.Commit(ctx, dependents)
	}
	r.Discard(ctx)
	return r.db.StoreLoads(ctx, r.fence, Loads(r.src, some), dependents)
}

// Discard discards the rows that were copied early. After Store it does nothing.
func (r *Received) Discard(ctx context.Context) { r.storing.Discard(ctx) }

// Page implements ingest.Sink.
func (r *Received) Page(ctx context.Context, f ingest.Fetched) {
	r.Good = append(r.Good, f)
	r.storing.Add(ctx, Load(r.src, f))
}

// EndChain implements ingest.Sink.
func (r *Received) EndChain(ctx context.Context, complete bool) {
	if !complete {
		r.Good = r.Good[:r.chain]
	}
	r.chain = len(r.Good)
	r.storing.EndChain(ctx, complete)
}

// Load returns a source's response in the form of the database.
func Load(src ingest.Source, f ingest.Fetched) postgres.Load {
	return postgres.Load{
		FetchID: f.Fetch.ID, FetchedAt: f.Fetch.FetchedAt, Readings: f.Batch.Readings, Covers: f.Batch.Covers, Vintages: f.Batch.Vintages,
		Published: src.Published, Rounding: src.Rounding, Epoch: src.Epoch,
	}
}

// Loads is Load for several responses.
func Loads(src ingest.Source, list []ingest.Fetched) []postgres.Load {
	loads := make([]postgres.Load, len(list))
	for i, f := range list {
		loads[i] = Load(src, f)
	}
	return loads
}
