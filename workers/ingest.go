package workers

import (
	"context"
	"errors"
	"fmt"

	"tidemark/backfill"
	"tidemark/ingest"
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
	var c *inspection
	var trouble error // of the questions that got no good answer
	_, err = backfill.Ingest(ctx, i.DB, i.Engine, src, asked, t.Fence, i.Dependents[src.ID],
		func(ctx context.Context, good []ingest.Fetched, missing error) ([]ingest.Fetched, error) {
			trouble = missing
			found, err := i.inspect(ctx, src, checkedRequest{asked: asked, complete: missing == nil}, good)
			if err != nil {
				return nil, err
			}
			c = &found
			return c.free(good), i.keep(ctx, t, c)
		})
	if c == nil {
		return err
	}
	if shrunk, ok := errors.AsType[*postgres.ShrunkError](err); ok {
		err = errors.Join(trouble, i.storeOthers(ctx, t, c, shrunk))
	}
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

// keep stores the findings of the checks, so that they are recorded with the run regardless of its outcome.
func (i Ingest) keep(ctx context.Context, t task.Task, c *inspection) error {
	if findings := c.findings(); len(findings) > 0 {
		for _, f := range findings {
			i.Engine.Metrics.Checked(f.Check, f.Severity)
		}
		return i.DB.AddFindings(ctx, t.Fence, findings)
	}
	return nil
}

// storeOthers stores the remaining units after the database found that a unit lacks too many of the known values. The database compares all
// of them, while the checks read only the newest ones. That unit is held, as are others with the same finding.
func (i Ingest) storeOthers(ctx context.Context, t task.Task, c *inspection, shrunk *postgres.ShrunkError) error {
	for c.hold(shrunk) {
		if err := i.keep(ctx, t, c); err != nil {
			return err
		}
		loads := c.loads()
		if len(loads) == 0 {
			return nil
		}
		_, err := i.DB.StoreLoads(ctx, t.Fence, loads, i.Dependents[c.src.ID])
		var ok bool
		if shrunk, ok = errors.AsType[*postgres.ShrunkError](err); !ok {
			return err
		}
	}
	return shrunk
}
