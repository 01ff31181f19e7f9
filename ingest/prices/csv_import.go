package prices

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// CSVImport reads the operator's folder of CSV files. It replaces the engine for this source, and does the same steps. Each file's bytes
// are archived, a row is written into the fetch log, and only then the bytes are parsed, as CSV declares. A folder needs no rate limit. All
// fields must be set.
type CSVImport struct {
	Folder fs.FS
	// Shares are those whose files are read. Files of others are passed over.
	Shares []Share
	// Now is the world's clock.
	Now     func() time.Time
	Ledger  ingest.FetchLog
	Archive ingest.Archive
}

// Collect reads the file of each share that has one, and actions.csv if it exists. An unchanged file is confirmed, as a 304 confirms a
// response. A file that cannot be read or parsed does not stop the others; its error is joined, and the returned batches are complete.
// Collecting again stores nothing twice.
func (d CSVImport) Collect(ctx context.Context, runID int64) ([]ingest.Fetched, error) {
	entries, err := fs.ReadDir(d.Folder, ".")
	if err != nil {
		return nil, fmt.Errorf("list the folder of prices: %w", err)
	}
	files := map[string]string{} // by name in capitals
	for _, e := range entries {
		if !e.IsDir() {
			files[strings.ToUpper(e.Name())] = e.Name()
		}
	}
	var good []ingest.Fetched
	var failures []error
	read := func(file, address string) {
		f, err := d.file(ctx, file, address, runID)
		if err != nil {
			failures = append(failures, err)
			return
		}
		good = append(good, f)
	}
	for _, s := range d.Shares {
		if file, ok := files[s.Ticker+".CSV"]; ok {
			read(file, dropURL(s.Ticker+".csv", s.CIK))
		}
	}
	if file, ok := files[strings.ToUpper(actionsFile)]; ok {
		read(file, dropURL(actionsFile, 0))
	}
	return good, errors.Join(failures...)
}

// file archives, records and parses one file.
func (d CSVImport) file(ctx context.Context, name, address string, runID int64) (ingest.Fetched, error) {
	src := CSV()
	body, err := d.read(name, src.Limits.MaxBytes)
	if err != nil {
		return ingest.Fetched{}, fmt.Errorf("read %s of the folder of prices: %w", name, err)
	}
	f := series.Fetch{
		Source: src.ID, URL: address, Status: http.StatusOK, Header: map[string]string{"Content-Type": "text/csv"},
		FetchedAt: d.Now().UTC().Truncate(time.Microsecond), Bytes: int64(len(body)),
	}
	last, known, err := d.Ledger.LastFetch(ctx, f.Source, f.URL)
	if err != nil {
		return ingest.Fetched{}, fmt.Errorf("look up the last reading of %s: %w", name, err)
	}
	if f.SHA256, err = d.Archive.Put(ctx, body); err != nil {
		return ingest.Fetched{}, fmt.Errorf("archive %s: %w", name, err)
	}
	if known && last.SHA256 == f.SHA256 {
		f.Status, f.NotModified = http.StatusNotModified, true
	}
	if f.ID, err = d.Ledger.RecordFetch(ctx, f, runID); err != nil {
		return ingest.Fetched{}, fmt.Errorf("record the reading of %s: %w", name, err)
	}
	batch, err := ingest.Parse(src, f, body)
	if err != nil {
		return ingest.Fetched{}, err
	}
	return ingest.Fetched{Fetch: f, Batch: batch}, nil
}

// read reads a file of at most some bytes. A longer one is refused whole.
func (d CSVImport) read(name string, maxBytes int64) (body []byte, err error) {
	file, err := d.Folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if body, err = io.ReadAll(io.LimitReader(file, maxBytes+1)); err != nil {
		return nil, err
	}
	if int64(len(body)) > maxBytes {
		return nil, fmt.Errorf("more than %d bytes", maxBytes)
	}
	return body, nil
}
