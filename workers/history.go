package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tidemark/backfill"
	"tidemark/ingest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// History repeats, from the archive alone, the steps that an import recorded where the archive was made. The same responses are stored
// together and become known at the same instants, with the same choices, and the same instants of the signals are computed in between. So
// the observations, the companies and the snapshots become the original ones. It sends no request to a publisher.
type History struct {
	DB      *postgres.DB
	Archive ingest.Archive
	// Sources are all whose answers it parses, by id, those about companies included.
	Sources map[string]ingest.Source
	Signals Signals
	// Report, unless it is nil, is told of every step.
	Report func(done, left int64)
}

// Redone says what a rebuild did.
type Redone struct {
	// Answers were parsed, Added rows came of them, Snapshots were computed. Forecasts and their grades were recorded again.
	Answers, Added, Snapshots, Forecasts int64
	// Unknown counts the steps of each source that this program does not have, or may not use. They stay to be done.
	Unknown map[string]int64
}

// Rebuild does the remaining steps in their order. If a source is named, it does only that source's steps, without the snapshots. It can
// be killed at any point and started again. A body that is missing, or does not parse, ends it with an error that names the response.
func (h History) Rebuild(ctx context.Context, source string) (done Redone, err error) {
	left, err := h.DB.StepsLeft(ctx)
	if err != nil {
		return done, err
	}
	if left == 0 {
		return done, h.record(ctx, source, &done)
	}
	done.Unknown = map[string]int64{}
	for last, n := int64(0), int64(0); ; n++ {
		if h.Report != nil {
			h.Report(n, left-n)
		}
		p, err := h.DB.NextStep(ctx, last, source)
		if errors.Is(err, postgres.ErrNotFound) {
			return done, h.record(ctx, source, &done)
		}
		if err != nil {
			return done, err
		}
		last = p.ID
		if p.Step.Signal != "" {
			err = h.compute(ctx, p, &done)
		} else {
			err = h.store(ctx, p, &done)
		}
		if err != nil {
			return done, err
		}
	}
}

// lastInstant is later than all that is recorded.
var lastInstant = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// record records what is left of the forecasts and grades that the import brought. Their prints are stored by then. A refusal by the database
// is an error.
func (h History) record(ctx context.Context, source string, done *Redone) error {
	if source != "" {
		return nil
	}
	n, err := h.DB.RestoreForecasts(ctx, lastInstant)
	done.Forecasts += n
	return err
}

func (h History) compute(ctx context.Context, p postgres.Pending, done *Redone) error {
	def, ok := h.Signals.Definitions[p.Step.Signal]
	if !ok {
		done.Unknown[p.Step.Signal]++
		return nil
	}
	// The status follows from the grades by then. A print that is not stored yet is of a later step.
	n, err := h.DB.RestoreForecasts(ctx, p.Step.At)
	if done.Forecasts += n; err != nil && !errors.Is(err, postgres.ErrRefused) {
		return err
	}
	snap, track, err := h.Signals.Compute(ctx, def, p.Step.At)
	if err != nil {
		return fmt.Errorf("compute %s for %s: %w", def.ID, p.Step.At, err)
	}
	if err := h.DB.SaveGrowing(ctx, task.Fence{}, snap, track); err != nil {
		h.Signals.Tracks.Forget(def.ID)
		return err
	}
	done.Snapshots++
	return h.DB.EndStep(ctx, p.ID)
}

func (h History) store(ctx context.Context, p postgres.Pending, done *Redone) error {
	src, ok := h.Sources[p.Step.Source]
	if !ok {
		done.Unknown[p.Step.Source]++
		return nil
	}
	answers := make([]ingest.Fetched, len(p.Fetches))
	for i, f := range p.Fetches {
		body, err := h.Archive.Get(ctx, f.SHA256)
		if err != nil {
			return fmt.Errorf("fetch %d of %s: %w", f.ID, f.URL, err)
		}
		batch, err := ingest.Parse(src, f, body)
		if err != nil && !errors.Is(err, ingest.ErrNoReadings) { // as the last of several it was good
			return fmt.Errorf("fetch %d: %w", f.ID, err)
		}
		answers[i] = ingest.Fetched{Fetch: f, Batch: batch}
	}
	done.Answers += int64(len(answers))
	added, err := h.again(ctx, p, src, answers)
	done.Added += added
	return err
}

// again stores what answers said, as the step did.
func (h History) again(ctx context.Context, p postgres.Pending, src ingest.Source, answers []ingest.Fetched) (int64, error) {
	if len(src.Series) > 0 {
		loads := make([]postgres.Load, len(answers))
		for i, a := range answers {
			loads[i] = backfill.Load(src, a)
			loads[i].FetchedAt = p.Step.Answers[i].KnownAt
		}
		return h.DB.StoreAgain(ctx, p.ID, loads)
	}
	choices := make([]postgres.EquityChoice, len(answers))
	if p.Step.Choices != nil {
		if err := json.Unmarshal(p.Step.Choices, &choices); err != nil {
			return 0, fmt.Errorf("read what was decided about answers of %s: %w", src.ID, err)
		}
	}
	if len(choices) > 0 && !choices[0].Day.IsZero() {
		return h.DB.AddSecondClosesAgain(ctx, p.ID, closesOn(answers, choices[0].Day))
	}
	var loads []postgres.EquityLoad
	for _, c := range choices {
		n := max(c.Answers, 0)
		if c.Answers == 0 {
			n = 1
		}
		if n > len(answers) {
			return 0, fmt.Errorf("read what was decided about answers of %s: there are %d too few of them", src.ID, n-len(answers))
		}
		l := choose(answers[:n], c)
		l.Fetch.Source = src.ID
		loads, answers = append(loads, l), answers[n:]
	}
	return h.DB.StoreEquitiesAgain(ctx, p.ID, loads)
}
