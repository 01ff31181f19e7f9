package archive

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"
	"time"

	"tidemark/internal/series"
)

// FetchLog is the part of the database that a transfer uses.
type FetchLog interface {
	// Fetches yields the ledger of a source (empty: of all), oldest first.
	Fetches(ctx context.Context, source string) iter.Seq2[series.Fetch, error]
	// FindFetch returns the ids of the rows that hold this exchange already, in order.
	FindFetch(ctx context.Context, f series.Fetch) ([]int64, error)
	// RecordFetches adds rows that no run made, all or none, and returns their ids in order.
	RecordFetches(ctx context.Context, list []series.Fetch) ([]int64, error)
	// Steps yields what was done with the fetches, in its order.
	Steps(ctx context.Context) iter.Seq2[series.Step, error]
	// AddSteps records steps for fetches, all named by their ids, and returns the number of new steps. It records all or nothing.
	AddSteps(ctx context.Context, steps iter.Seq2[series.Step, error], fetches []int64) (int64, error)
}

// Origin names the world of an archive folder.
type Origin struct {
	// World is its name; empty if the folder does not state it.
	World string `json:"world,omitempty"`
	// ClockAt is the time of that world when the folder was made; nil if it was the wall clock's.
	ClockAt *time.Time `json:"clock_at,omitempty"`
}

// Imported says what an import did.
type Imported struct {
	// Exchanges is the number of exchanges added, Steps the number of their recorded steps that must be repeated here.
	Exchanges int
	Steps     int64
	// NoHistory reports whether the folder lacks the steps of its exchanges.
	NoHistory bool
	// There lists the exchanges that were not added, since the ledger has them.
	There []series.Fetch
}

// Import adds every exchange of an archive folder that the fetch log lacks, body first, and then the folder's steps for them. If until is
// set, it adds only the exchanges and steps up to then. It can be stopped at any point and run again.
//
// All bodies are verified against their digests before the first is added. If some are missing or broken, the error is a *DamagedError
// that names each. If the content of one of them was ever used, nothing is imported, because observations made without it would belong to
// another past. Otherwise all other exchanges are imported. Import calls begin, which may be nil, when everything is verified and before it adds
// anything: what it refuses changes nothing.
func Import(ctx context.Context, from *Folder, to *Store, ledger FetchLog, until time.Time, begin func(context.Context) error) (done Imported, err error) {
	if err := from.verifyHistory(); err != nil {
		return done, err
	}
	damaged, fault, err := from.damaged(ctx, ledger, until)
	if err != nil {
		return done, err
	}
	if fault != nil {
		defer func() {
			if err == nil {
				err = fault
			}
		}()
		if fault.Used {
			return done, nil
		}
	}
	if begin != nil {
		if err := begin(ctx); err != nil {
			return done, err
		}
	}
	var ids []int64
	var waiting []series.Fetch
	var places []int
	record := func() error {
		if len(waiting) == 0 {
			return nil
		}
		added, err := ledger.RecordFetches(ctx, waiting)
		if err != nil {
			return err
		}
		for i, id := range added {
			ids[places[i]] = id
		}
		done.Exchanges += len(added)
		waiting, places = waiting[:0], places[:0]
		return nil
	}
	seen := map[[sha256.Size]byte]int{}
	for f, err := range from.Fetches() {
		if err != nil {
			return done, err
		}
		if damaged[int64(len(ids))+1] || !until.IsZero() && f.FetchedAt.After(until) {
			ids = append(ids, absent)
			continue
		}
		known, err := ledger.FindFetch(ctx, f)
		if err != nil {
			return done, err
		}
		// The same exchange may be there more than once: its second line is the second row.
		key := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %d %s", f.Source, f.URL, f.Status, f.FetchedAt.UnixMicro(), f.SHA256))
		nth := seen[key]
		seen[key]++
		if nth < len(known) {
			ids = append(ids, known[nth])
			done.There = append(done.There, f)
			continue
		}
		body, err := from.Body(ctx, f)
		if err != nil {
			return done, err
		}
		if _, err := to.Put(ctx, body); err != nil {
			return done, err
		}
		waiting, places = append(waiting, f), append(places, len(ids))
		ids = append(ids, absent)
		if len(waiting) == recordedAtOnce {
			if err := record(); err != nil {
				return done, err
			}
		}
	}
	if err := record(); err != nil {
		return done, err
	}
	_, ok, err := from.Origin()
	if err != nil || !ok {
		done.NoHistory = err == nil
		return done, err
	}
	there := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return id == absent })
	done.Steps, err = ledger.AddSteps(ctx, stepsUntil(from.steps(ids), until), there)
	return done, err
}

// absent replaces the id of an exchange that is not imported.
const absent = 0

// recordedAtOnce is how many exchanges an import records in one statement. A killed import has put that many bodies at most that no row names.
const recordedAtOnce = 100

// stepsUntil leaves out what was done after an instant, or with an exchange that is absent. A zero instant leaves out nothing.
func stepsUntil(steps iter.Seq2[series.Step, error], until time.Time) iter.Seq2[series.Step, error] {
	return func(yield func(series.Step, error) bool) {
		for s, err := range steps {
			late := func(a series.StepAnswer) bool { return a.Fetch == absent || a.KnownAt.After(until) }
			if err == nil && !until.IsZero() && (s.At.After(until) || slices.ContainsFunc(s.Answers, late)) {
				continue
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// Export writes the whole ledger with its bodies, and what was done with them, as an archive folder, and returns how many exchanges it
// wrote. The folder is there only once it is whole.
func Export(ctx context.Context, dir string, from *Store, ledger FetchLog, of Origin) (n int, err error) {
	w, err := NewWriter(dir)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = w.Abort()
		}
	}()
	// Steps are written first: every fetch that they name is then in the fetch log, which is read after them.
	if err := w.Steps(ledger.Steps(ctx), of); err != nil {
		return 0, err
	}
	for f, err := range ledger.Fetches(ctx, "") {
		if err != nil {
			return n, err
		}
		body, err := from.Get(ctx, f.SHA256)
		if err != nil {
			return n, fmt.Errorf("fetch %d of %s: %w", f.ID, f.URL, err)
		}
		if err := w.Add(ctx, f, body); err != nil {
			return n, err
		}
		n++
	}
	return n, w.Close()
}
