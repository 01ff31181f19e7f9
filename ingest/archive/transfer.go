package archive

import (
	"context"
	"fmt"
	"iter"

	"tidemark/series"
)

// Ledger is what a transfer asks of the database.
type Ledger interface {
	// Fetches yields the ledger of a source (empty: of all), oldest first.
	Fetches(ctx context.Context, source string) iter.Seq2[series.Fetch, error]
	// HasFetch tells whether the ledger holds this exchange already, id aside.
	HasFetch(ctx context.Context, f series.Fetch) (bool, error)
	// RecordFetch adds a row and returns its id.
	RecordFetch(ctx context.Context, f series.Fetch, runID int64) (int64, error)
}

// Import adds every exchange of an archive folder that the ledger lacks, body first, and returns how many it added. It may be
// stopped anywhere and run again. Each body is verified against its digest before it counts.
func Import(ctx context.Context, from *Folder, to *Store, ledger Ledger) (added int, err error) {
	for f, err := range from.Fetches() {
		if err != nil {
			return added, err
		}
		has, err := ledger.HasFetch(ctx, f)
		if err != nil {
			return added, err
		}
		if has {
			continue
		}
		body, err := from.Body(ctx, f)
		if err != nil {
			return added, err
		}
		if _, err := to.Put(ctx, body); err != nil {
			return added, err
		}
		if _, err := ledger.RecordFetch(ctx, f, 0); err != nil {
			return added, err
		}
		added++
	}
	return added, nil
}

// Export writes the whole ledger with its bodies as an archive folder, and returns how many exchanges it holds. The folder is
// there only once it is whole.
func Export(ctx context.Context, dir string, from *Store, ledger Ledger) (n int, err error) {
	w, err := NewWriter(dir)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = w.Abort()
		}
	}()
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
