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

// Run asks a source, holds what it says against what is known, and adds what is new or changed. What was good is stored also when
// another part failed, which the next attempt repairs. What the checks refuse goes into quarantine instead, and the run has failed
// for good as soon as nothing else is left to try: the same answer again would be no better.
func (i Ingest) Run(ctx context.Context, t task.Task) error {
	src, ok := i.Sources[t.Subject]
	if !ok {
		return Permanent(fmt.Errorf("there is no source %q", t.Subject))
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

// window is what a run asks for: what a backfill wants of it, or what the source wants of a scheduled one. A source is asked for
// everything until each of its series was loaded.
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

// keep writes down what the checks said, so that it is known of the run whatever becomes of it.
func (i Ingest) keep(ctx context.Context, t task.Task, c *inspection) error {
	if findings := c.findings(); len(findings) > 0 {
		for _, f := range findings {
			i.Engine.Metrics.Checked(f.Check, f.Severity)
		}
		return i.DB.AddFindings(ctx, t.Fence, findings)
	}
	return nil
}

// storeOthers stores what is left when the database has found that a unit lacks too much of what is known, of all of it and not only
// of the newest that the checks look at. That unit is held, and those of which the same is found then.
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
