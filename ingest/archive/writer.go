package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// Writer adds fetches and their bodies to an archive folder. The manifest appears, or grows, in one step when the writer is closed. A
// killed writer leaves the folder unchanged, apart from bodies that no line names yet, and can run again. A folder has one writer at a
// time, used by one goroutine.
type Writer struct {
	dir   string
	store *Store
	file  *os.File
	lines *bufio.Writer
	// held maps the digest of every line to its places: an existing line is not added again.
	held map[[sha256.Size]byte][]int
	// place is the place of the newest line, from 1 on, and count the number of lines. digest is the digest of all of them.
	place, count int
	// unseen is how many lines of the folder a fetch log with a history has not had so far.
	unseen  int
	digest  hash.Hash
	history *historyWriter
	// failed is the first error of a line: a later line would follow a torn one.
	failed error
	closed bool
}

// NewWriter opens an archive folder for writing. It creates the folder, or reads the manifest that is there, whole, before
// adding to it.
func NewWriter(dir string) (*Writer, error) {
	store, err := openFolder(dir, true)
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(dir, ManifestName+".*.tmp")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("begin a manifest: %w", err), store.Close())
	}
	w := &Writer{dir: dir, store: store, file: file, lines: bufio.NewWriter(file), held: make(map[[sha256.Size]byte][]int), digest: sha256.New()}
	if err := w.begin(); err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	return w, nil
}

// begin writes the header, and the lines of the manifest that is there.
func (w *Writer) begin() error {
	line, err := appendLine(nil, header{Format: Format, Version: Version})
	if err != nil {
		return fmt.Errorf("begin a manifest: %w", err)
	}
	if _, err := w.lines.Write(line); err != nil {
		return fmt.Errorf("begin a manifest: %w", err)
	}
	old, err := OpenFolder(w.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }()
	for fetch, err := range old.Fetches() {
		if err != nil {
			return err
		}
		line, err := formatFetch(fetch)
		if err != nil {
			return err
		}
		if err := w.append(line); err != nil {
			return err
		}
		key := sha256.Sum256(line)
		w.held[key] = append(w.held[key], w.place)
		w.unseen++
	}
	return nil
}

// Add adds one fetch. Its SHA256 and Bytes are taken from the body if they are empty; otherwise they must match it. A nil body refers to
// a body that the folder already holds, which is checked: this is for a 304, and for a body seen before. A fetch that the folder already
// holds is left unchanged, so that a recording can run again.
func (w *Writer) Add(ctx context.Context, f series.Fetch, body []byte) error {
	if body == nil {
		folder := Folder{dir: w.dir, store: w.store}
		if _, err := folder.Body(ctx, f); err != nil {
			return fmt.Errorf("add to the archive folder: %w", err)
		}
		return w.line(f)
	}
	if f.Bytes != 0 && f.Bytes != int64(len(body)) {
		return fmt.Errorf("add %s to the archive folder: its body has %d bytes, the fetch says %d", f.URL, len(body), f.Bytes)
	}
	if f.SHA256 != "" && f.SHA256 != digestOf(body) {
		return fmt.Errorf("add %s to the archive folder: %w: the SHA-256 of its body is %s, the fetch says %s", f.URL,
			ingest.ErrNotArchived, digestOf(body), f.SHA256)
	}
	f.SHA256, f.Bytes = digestOf(body), int64(len(body))
	if err := checkFetch(f); err != nil { // before the body is written
		return fmt.Errorf("add %s to the archive folder: %w", f.URL, err)
	}
	if _, err := w.store.Put(ctx, body); err != nil {
		return fmt.Errorf("add %s to the archive folder: %w", f.URL, err)
	}
	return w.line(f)
}

func (w *Writer) line(f series.Fetch) error {
	if w.failed != nil {
		return w.failed
	}
	line, err := formatFetch(f)
	if err != nil {
		return fmt.Errorf("add %s to the archive folder: %w", f.URL, err)
	}
	key := sha256.Sum256(line)
	places := w.held[key]
	switch {
	case len(places) == 0:
		if err := w.append(line); err != nil {
			return err
		}
		if w.history == nil {
			w.held[key] = []int{w.place}
		}
	case w.history == nil:
		w.place = places[0]
	default: // a fetch log may hold the same exchange twice, each with its own steps
		w.place, w.held[key] = places[0], places[1:]
		w.unseen--
	}
	if w.history != nil {
		w.history.places[f.ID] = int64(w.place)
	}
	return nil
}

// append writes a line.
func (w *Writer) append(line []byte) error {
	if _, err := w.lines.Write(line); err != nil {
		w.failed = fmt.Errorf("write the manifest: %w", err)
		return w.failed
	}
	_, _ = w.digest.Write(line)
	w.count++
	w.place = w.count
	return nil
}

// ForeignError reports that a folder holds exchanges of another installation. Its history is not replaced: they would all count as left out.
type ForeignError struct {
	Dir string
	// Exchanges is how many of the folder's exchanges the fetch log lacks.
	Exchanges int
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s holds %d exchanges that this database does not have: it belongs to another installation, and stays as it is. "+
		"Export to a folder of its own", e.Dir, e.Exchanges)
}

// Close puts the manifest in its place. After an error the folder is as it was. With a history, the folder must not hold exchanges that
// were not added: the error is then a *ForeignError.
func (w *Writer) Close() error {
	if w.closed {
		return errors.New("write the manifest: the writer is closed")
	}
	if w.failed == nil && w.history != nil && w.unseen > 0 {
		w.failed = &ForeignError{Dir: w.dir, Exchanges: w.unseen}
	}
	if w.failed != nil {
		return errors.Join(w.failed, w.Abort())
	}
	w.closed = true
	err := w.lines.Flush()
	if err == nil {
		err = w.file.Chmod(0o644)
	}
	if err == nil {
		err = w.file.Sync()
	}
	err = errors.Join(err, w.file.Close())
	var history string
	if err == nil && w.history != nil {
		history, err = w.history.write(w.dir, w.count, w.digest.Sum(nil))
	}
	if err == nil {
		err = os.Rename(w.file.Name(), filepath.Join(w.dir, ManifestName))
	}
	if err == nil && history != "" {
		err = os.Rename(history, filepath.Join(w.dir, HistoryName))
	}
	if err == nil {
		err = syncFolder(w.dir)
	} else {
		_ = os.Remove(w.file.Name())
	}
	if err != nil {
		err = fmt.Errorf("write the manifest: %w", err)
	}
	return errors.Join(err, w.store.Close())
}

// Abort gives up: no line is added. After Close it does nothing.
func (w *Writer) Abort() error {
	if w.closed {
		return nil
	}
	w.closed = true
	err := w.file.Close()
	return errors.Join(err, os.Remove(w.file.Name()), w.store.Close())
}
