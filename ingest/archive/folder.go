package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// ManifestName is the manifest's file name in an archive folder. The bodies are in the same folder, under blobs/.
const ManifestName = "manifest.ndjson"

// Folder is an archive folder opened for reading. It is safe for concurrent use.
type Folder struct {
	dir   string
	store *Store
}

// OpenFolder opens an archive folder. A folder without a manifest is an error that is fs.ErrNotExist; nothing is created.
func OpenFolder(dir string) (*Folder, error) {
	if _, err := os.Stat(filepath.Join(dir, ManifestName)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("open the archive folder %s: it has no %s: %w", dir, ManifestName, fs.ErrNotExist)
		}
		return nil, fmt.Errorf("open the archive folder: %w", err)
	}
	store, err := openFolder(dir, false)
	if err != nil {
		return nil, err
	}
	return &Folder{dir: dir, store: store}, nil
}

// Close releases the folder.
func (f *Folder) Close() error { return f.store.Close() }

// Fetches yields the manifest in the order of its lines, read as it goes. It stops at the first bad line, with an error that has
// its number.
func (f *Folder) Fetches() iter.Seq2[series.Fetch, error] {
	return func(yield func(series.Fetch, error) bool) {
		file, err := os.Open(filepath.Join(f.dir, ManifestName))
		if err != nil {
			yield(series.Fetch{}, fmt.Errorf("open the manifest: %w", err))
			return
		}
		defer func() { _ = file.Close() }()
		for fetch, err := range ReadManifest(file) {
			if err != nil {
				err = fmt.Errorf("%s: %w", f.dir, err)
			}
			if !yield(fetch, err) {
				return
			}
		}
	}
}

// Body returns the body of a fetch, verified against its digest and length. A missing or corrupt one is an error that names it
// and the fetch, and is ingest.ErrNotArchived.
func (f *Folder) Body(ctx context.Context, fetch series.Fetch) ([]byte, error) {
	body, err := f.store.Get(ctx, fetch.SHA256)
	if err != nil {
		return nil, fmt.Errorf("the body of %s, fetched %s: %w", fetch.URL, fetch.FetchedAt.Format(time.RFC3339), err)
	}
	if int64(len(body)) != fetch.Bytes {
		return nil, fmt.Errorf("the body of %s, fetched %s: %w: %s has %d bytes, the manifest says %d", fetch.URL,
			fetch.FetchedAt.Format(time.RFC3339), ingest.ErrNotArchived, blobKey(fetch.SHA256), len(body), fetch.Bytes)
	}
	return body, nil
}

// Verify reads the whole manifest and each body once. It returns the number of fetches, and joins an error for every body that is
// missing or corrupt; a bad line ends it.
func (f *Folder) Verify(ctx context.Context) (int, error) {
	var faults []error
	type body struct {
		sha256 string
		bytes  int64
	}
	seen := make(map[body]bool)
	n := 0
	for fetch, err := range f.Fetches() {
		if err != nil {
			return n, errors.Join(append(faults, err)...)
		}
		n++
		b := body{fetch.SHA256, fetch.Bytes}
		if seen[b] {
			continue
		}
		seen[b] = true
		if _, err := f.Body(ctx, fetch); err != nil {
			if ctx.Err() != nil {
				return n, err
			}
			faults = append(faults, err)
		}
	}
	return n, errors.Join(faults...)
}

// LastFetch returns the newest time of a fetch in an archive folder, in UTC. A folder without fetches is an error.
func LastFetch(dir string) (time.Time, error) {
	folder, err := OpenFolder(dir)
	if err != nil {
		return time.Time{}, err
	}
	defer func() { _ = folder.Close() }()
	var last time.Time
	for fetch, err := range folder.Fetches() {
		if err != nil {
			return time.Time{}, err
		}
		if fetch.FetchedAt.After(last) {
			last = fetch.FetchedAt
		}
	}
	if last.IsZero() {
		return time.Time{}, fmt.Errorf("the archive folder %s holds no fetch", dir)
	}
	return last, nil
}
