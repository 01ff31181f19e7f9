package workers

import (
	"context"
	"errors"
	"fmt"

	"tidemark/backfill"
	"tidemark/ingest"
	"tidemark/ingest/inspection"
	"tidemark/ingest/quality"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// Ingest is the job that asks an upstream and stores what it says.
type Ingest struct {
	DB      *postgres.DB
	Engine  *ingest.Engine
	Sources map[string]ingest.Source
	// Dependents names, per source, the signals that are computed when it brought something new.
	Dependents map[string][]string
}

// Run fetches from a source, checks the responses against the known data, and stores new and changed values. Good parts are stored even
// if another part failed; the next attempt repairs that part. Parts that the checks refuse go into quarantine. If nothing else is left to
// try, the run has then failed permanently, because the same response would fail again.
func (i Ingest) Run(ctx context.Context, t task.Task) error {
	src, ok := i.Sources[t.Subject]
	if !ok {
		return Permanent(fmt.Errorf("unknown source %q", t.Subject))
	}
	asked, err := i.window(ctx, src, t)
	if err != nil {
		return err
	}
	got, trouble := backfill.Receive(ctx, i.DB, i.Engine, src, asked, t.Fence)
	defer got.Discard(ctx)
	if len(got.Good) == 0 {
		return trouble
	}
	c := inspection.New(src, asked, trouble == nil, got.Good)
	if err := i.inspect(ctx, c); err != nil {
		return errors.Join(trouble, err)
	}
	err = errors.Join(trouble, i.store(ctx, t, got, c))
	held, qerr := i.quarantine(ctx, t, c)
	err = errors.Join(err, qerr)
	if again, _ := ingest.Retryable(err); held != nil && !again {
		return Permanent(errors.Join(err, held))
	}
	return errors.Join(err, held)
}

// window returns the window of a run's requests: the backfill's window, or the source's own for a scheduled run. A source's whole history
// is requested until each of its series was loaded.
func (i Ingest) window(ctx context.Context, src ingest.Source, t task.Task) (series.Window, error) {
	if w := t.Params.Window; w != nil {
		return series.Window{From: w.From, To: w.To}, nil
	}
	if src.Window == nil {
		return series.Window{}, nil
	}
	loaded, newest, err := i.DB.Progress(ctx, seriesOf(src))
	if err != nil || !loaded {
		return series.Window{}, err
	}
	return src.Window(t.Slot, newest), nil
}

func seriesOf(src ingest.Source) []series.ID {
	ids := make([]series.ID, len(src.Series))
	for n, s := range src.Series {
		ids[n] = s.ID
	}
	return ids
}

// inspect reads what an inspection compares the responses with.
func (i Ingest) inspect(ctx context.Context, c *inspection.Inspection) error {
	if digests := c.Digests(); len(digests) > 0 {
		standing, err := i.DB.OpenQuarantine(ctx, c.Source.ID, digests)
		if err != nil {
			return err
		}
		c.Recall(recalled(standing))
	}
	if c.Compare() {
		same, err := i.DB.Unchanged(ctx, backfill.Loads(c.Source, c.Free()))
		if err != nil {
			return err
		}
		c.Repeated(same)
	}
	if ids, until := c.ToCheck(); len(ids) > 0 {
		known, err := i.DB.KnownBefore(ctx, ids, until, quality.HistoryDepth)
		if err != nil {
			return err
		}
		c.Check(known)
	}
	return nil
}

// store stores the findings and the responses that may be stored. If the database finds that a unit lacks too many of the known values,
// that unit is held, as are others with the same finding, and the others are stored. The findings come first, so that they are recorded
// with the run regardless of its outcome.
func (i Ingest) store(ctx context.Context, t task.Task, got *backfill.Received, c *inspection.Inspection) error {
	for {
		if err := i.keep(ctx, t, c.Findings()); err != nil {
			return err
		}
		_, err := got.Store(ctx, c.Free(), i.Dependents[c.Source.ID])
		shrunk, ok := errors.AsType[*postgres.ShrunkError](err)
		if !ok || !c.Shrunk(shrunk.FetchID, shrunk.Series, shrunk.Missing, shrunk.Known) {
			return err
		}
	}
}

func (i Ingest) keep(ctx context.Context, t task.Task, findings []series.Finding) error {
	if len(findings) == 0 {
		return nil
	}
	for _, f := range findings {
		i.Engine.Metrics.Checked(f.Check, string(f.Severity))
	}
	return i.DB.AddFindings(ctx, t.Fence, findings)
}
