package backfill

import (
	"context"
	"errors"

	"tidemark/ingest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// Ingest asks a source for a window of its observations (zero: everything) and adds what is new to the record, in one commit that
// makes the dependents (signal ids) due; all of it while the attempt that f names is the current one. Where nothing was known before,
// one page is stored while the next is fetched. It returns how many rows were added.
//
// What was good is stored also when another part failed, which the next attempt repairs. Judge, unless it is nil, sees all good answers
// before they are stored, with the trouble of the questions that got none, and returns those that may be: an error is joined to the
// others, and does not keep what was returned from being stored.
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
