package backfill

import (
	"context"
	"errors"

	"tidemark/ingest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// Ingest requests a window of a source's observations (zero: all) and adds new values to the record. One commit adds them and makes the
// dependents (signal ids) due, provided that the attempt named by f is still the current one. If nothing was known before, one page is
// stored while the next is fetched. It returns the number of added rows.
//
// Good parts are stored even if another part failed; the next attempt repairs that part. Judge, unless it is nil, gets all good responses
// before they are stored, with the errors of the failed requests, and returns the ones to store. Its error is joined to the others, and
// does not prevent the storing of the returned responses.
func Ingest(
	ctx context.Context, db *postgres.DB, e *ingest.Engine, src ingest.Source, w series.Window, f task.Fence, dependents []string,
	judge func(ctx context.Context, good []ingest.Fetched, trouble error) ([]ingest.Fetched, error),
) (int64, error) {
	s := loadSink{src: src, storing: db.Storing(f)}
	defer s.storing.Discard(ctx)
	err := e.Stream(ctx, src, w, f.RunID, &s)
	if len(s.good) == 0 {
		return 0, err
	}
	kept := s.good
	if judge != nil {
		var jerr error
		kept, jerr = judge(ctx, s.good, err)
		err = errors.Join(err, jerr)
	}
	if len(kept) == len(s.good) {
		added, serr := s.storing.Commit(ctx, dependents)
		return added, errors.Join(err, serr)
	}
	s.storing.Discard(ctx)
	if len(kept) == 0 {
		return 0, err
	}
	loads := make([]postgres.Load, len(kept))
	for i, k := range kept {
		loads[i] = Load(src, k)
	}
	added, serr := db.StoreLoads(ctx, f, loads, dependents)
	return added, errors.Join(err, serr)
}

// Load returns a source's fetch in the form of the database.
func Load(src ingest.Source, f ingest.Fetched) postgres.Load {
	return postgres.Load{
		FetchID: f.Fetch.ID, FetchedAt: f.Fetch.FetchedAt, Readings: f.Batch.Readings, Covers: f.Batch.Covers, Vintages: f.Batch.Vintages,
		Published: src.Published, Rounding: src.Rounding,
	}
}

// loadSink hands the pages of a run to the database, and keeps the good ones.
type loadSink struct {
	src     ingest.Source
	storing *postgres.LoadStream
	good    []ingest.Fetched
	chain   int
}

// Page implements ingest.Sink.
func (s *loadSink) Page(ctx context.Context, f ingest.Fetched) {
	s.good = append(s.good, f)
	s.storing.Add(ctx, Load(s.src, f))
}

// EndChain implements ingest.Sink.
func (s *loadSink) EndChain(ctx context.Context, complete bool) {
	if !complete {
		s.good = s.good[:s.chain]
	}
	s.chain = len(s.good)
	s.storing.EndChain(ctx, complete)
}
