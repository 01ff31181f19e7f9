// Package backfill computes slots of the past. A plan lists the slots of a signal to compute, the requests to the sources before that,
// and the expected results. It is applied only while the world is the same as when the plan was made. The work itself is rows and runs
// like any other. Start at Planner.Plan, then read Runner, which does the slots. Reparse parses archived bytes again, without any request
// to a publisher.
package backfill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/ingest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// Reparsed says what a reparse did.
type Reparsed struct {
	// Fetches were parsed, Added vintages came of them.
	Fetches, Added int64
}

// Reparse parses the archived responses of a source again. Responses that are newer than the known data and were never stored are stored
// with their own order and time, the responses of one run together. If an import brought data that was stored elsewhere, it is first
// rebuilt by its steps (workers.Rebuild). For series that are already known, the response that last confirmed each is parsed again. Values
// that the parser now reads differently are added as vintages of now, since they were not known before. Nothing is confirmed by that, because
// the publisher said nothing new, and a newer response that is stored meanwhile is left as it is. Repeating the same reparse adds nothing.
//
// If an archived body is missing or does not parse, Reparse ends with an error that names the fetch; stored data stays. It skips responses
// older than the confirmation of all of the source's series, because they hold nothing new. A response without a reading can be the last of
// several, as when it arrived. It is an error if a source without known data has no other response.
func Reparse(ctx context.Context, db *postgres.DB, store ingest.Archive, src ingest.Source, now time.Time) (Reparsed, error) {
	return ReparseFenced(ctx, db, store, src, now, task.Fence{})
}

// ReparseFenced is Reparse as part of a run: it stores only while the attempt that fence names is the current one.
func ReparseFenced(ctx context.Context, db *postgres.DB, store ingest.Archive, src ingest.Source, now time.Time, fence task.Fence) (done Reparsed, err error) {
	from, err := unconfirmed(ctx, db, src)
	if err != nil {
		return done, err
	}
	unstored, err := db.UnstoredFetches(ctx, src.ID, from)
	if err != nil {
		return done, err
	}
	var nothing error
	for _, together := range unstored {
		loads := make([]postgres.Load, 0, len(together))
		for _, f := range together {
			b, err := parse(ctx, store, src, f)
			if errors.Is(err, ingest.ErrNoReadings) {
				nothing = err
				continue
			}
			if err != nil {
				return done, err
			}
			loads = append(loads, Load(src, ingest.Fetched{Fetch: f, Batch: b}))
		}
		if len(loads) == 0 {
			continue
		}
		done.Fetches += int64(len(loads))
		n, err := db.StoreLoads(ctx, fence, loads, nil)
		if err != nil {
			return done, err
		}
		done.Added += n
	}
	if from.IsZero() && done.Fetches == 0 && nothing != nil {
		return done, nothing
	}
	n, err := repair(ctx, db, store, src, now, fence)
	done.Added += n
	return done, err
}

// unconfirmed returns the start of the time in which a source's responses can hold unknown data. That is the oldest of the series' last
// confirmations, or the beginning of time if a series was never loaded.
func unconfirmed(ctx context.Context, db *postgres.DB, src ingest.Source) (from time.Time, err error) {
	ids := make([]series.ID, len(src.Series))
	for i, s := range src.Series {
		ids[i] = s.ID
	}
	states, err := db.SeriesStates(ctx, ids)
	if err != nil {
		return from, err
	}
	for i, s := range states {
		if !s.Loaded() {
			return time.Time{}, nil
		}
		if i == 0 || s.ConfirmedAt.Before(from) {
			from = *s.ConfirmedAt
		}
	}
	return from, nil
}

func parse(ctx context.Context, store ingest.Archive, src ingest.Source, f series.Fetch) (ingest.Batch, error) {
	body, err := store.Get(ctx, f.SHA256)
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("fetch %d of %s: %w", f.ID, f.URL, err)
	}
	b, err := ingest.Parse(src, f, body)
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("fetch %d: %w", f.ID, err)
	}
	return b, nil
}

// repair parses the answers that what is known rests on, each for the series that it confirmed.
func repair(ctx context.Context, db *postgres.DB, store ingest.Archive, src ingest.Source, now time.Time, fence task.Fence) (int64, error) {
	confirming, err := db.ConfirmingFetches(ctx, src.ID)
	if err != nil {
		return 0, err
	}
	var loads []postgres.Load
	var nothing error
	for _, c := range confirming {
		b, err := parse(ctx, store, src, c.Fetch)
		if errors.Is(err, ingest.ErrNoReadings) {
			nothing = err // as the last of the answers of a run
			continue
		}
		if err != nil {
			return 0, err
		}
		l := Load(src, ingest.Fetched{Fetch: c.Fetch, Batch: b})
		l.FetchedAt, l.ParsedAgain = now, c.Fetches
		l.Readings = only(c.Series, l.Readings, func(r series.Reading) series.ID { return r.Series })
		l.Covers = only(c.Series, l.Covers, func(c series.Coverage) series.ID { return c.Series })
		loads = append(loads, l)
	}
	if len(loads) == 0 {
		return 0, nothing
	}
	return db.StoreLoads(ctx, fence, loads, nil)
}

func only[T any](ids []series.ID, list []T, id func(T) series.ID) []T {
	return slices.DeleteFunc(slices.Clone(list), func(v T) bool { return !slices.Contains(ids, id(v)) })
}
