package archive

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"tidemark/internal/series"
)

// HistoryName is the name of the file that records the steps for the exchanges of a folder. It is in the manifest's folder, and may be
// missing: the steps are then unknown.
const HistoryName = "history.ndjson"

// HistoryFormat and HistoryVersion are in the first line of such a file. Version 1 did not describe the lines that follow, and before
// version 3 there were no states, before version 4 no forecasts.
const (
	HistoryFormat  = "tidemark-history"
	HistoryVersion = 4
)

// historyHeader is the first line. The file describes all Exchanges lines of the manifest, whose digest is Manifest. Steps is the number of
// lines that follow, and Digest their SHA-256, in lower-case hex.
type historyHeader struct {
	Format    string `json:"format"`
	Version   int    `json:"version"`
	Exchanges int    `json:"exchanges"`
	Manifest  string `json:"manifest"`
	Steps     int    `json:"steps"`
	Digest    string `json:"digest"`
	Origin
}

// historyEntry is every other line: one of the four.
type historyEntry struct {
	Stored   *storedEntry   `json:"stored,omitempty"`
	Computed *computedEntry `json:"computed,omitempty"`
	State    *stateEntry    `json:"state,omitempty"`
	Recorded *recordedEntry `json:"recorded,omitempty"`
}

// recordedEntry is a forecast, or its grade, as the database recorded it.
type recordedEntry struct {
	At     time.Time       `json:"at"`
	Record json.RawMessage `json:"record"`
}

type storedEntry struct {
	Source  string          `json:"source"`
	Answers []answerEntry   `json:"answers,omitempty"`
	Choices json.RawMessage `json:"choices,omitempty"`
}

// answerEntry names an exchange by its place in the manifest, from 1 on.
type answerEntry struct {
	N       int64     `json:"n"`
	KnownAt time.Time `json:"known_at"`
}

type computedEntry struct {
	Signal string    `json:"signal"`
	At     time.Time `json:"at"`
}

// stateEntry is an operator's change of a signal's state.
type stateEntry struct {
	Signal string    `json:"signal"`
	At     time.Time `json:"at"`
	State  string    `json:"state"`
	Cause  string    `json:"cause"`
	By     string    `json:"by"`
}

// Origin returns the world of the folder, and whether the folder has the steps for its exchanges.
func (f *Folder) Origin() (Origin, bool, error) {
	file, err := os.Open(filepath.Join(f.dir, HistoryName))
	if errors.Is(err, fs.ErrNotExist) {
		return Origin{}, false, nil
	}
	if err != nil {
		return Origin{}, false, fmt.Errorf("open the history: %w", err)
	}
	defer func() { _ = file.Close() }()
	h, err := readHistoryHeader(bufio.NewReader(file))
	if err != nil {
		return Origin{}, false, fmt.Errorf("%s: %w", f.dir, err)
	}
	return h.Origin, true, nil
}

func readHistoryHeader(r *bufio.Reader) (h historyHeader, err error) {
	line, err := readLine(r)
	if err == nil {
		err = decode(line, &h)
	}
	switch {
	case err != nil:
		return h, fmt.Errorf("read the history: line 1: %w, expected a header", err)
	case h.Format != HistoryFormat || h.Version < 1 || h.Version > HistoryVersion:
		return h, fmt.Errorf("read the history: line 1: format %q, version %d; this program reads %q, version %d", h.Format, h.Version,
			HistoryFormat, HistoryVersion)
	}
	return h, nil
}

// verifyHistory returns an error if the recorded steps are incomplete or belong to another manifest. It returns nil if the folder has
// none. A broken history is never imported: its gaps would silently become gaps in the past.
func (f *Folder) verifyHistory() error {
	file, err := os.Open(filepath.Join(f.dir, HistoryName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the history: %w", err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewReaderSize(file, 64<<10)
	h, err := readHistoryHeader(lines)
	if err == nil {
		err = f.holds(h)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.dir, err)
	}
	if h.Version < 2 {
		return nil
	}
	digest, n := sha256.New(), 0
	for {
		line, err := lines.ReadBytes('\n')
		_, _ = digest.Write(line)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: read the history: %w", f.dir, err)
		}
		n++
	}
	if n != h.Steps || hex.EncodeToString(digest.Sum(nil)) != h.Digest {
		return fmt.Errorf("%s: the %s is not whole: its first line tells of %d lines, and %d follow, or others. Copy the folder again", f.dir,
			HistoryName, h.Steps, n)
	}
	return nil
}

// steps yields what was done, with the ids of the exchanges in the place of their numbers.
func (f *Folder) steps(ids []int64) iter.Seq2[series.Step, error] {
	return func(yield func(series.Step, error) bool) {
		if err := f.readSteps(ids, yield); err != nil {
			yield(series.Step{}, fmt.Errorf("%s: %w", f.dir, err))
		}
	}
}

func (f *Folder) readSteps(ids []int64, yield func(series.Step, error) bool) error {
	file, err := os.Open(filepath.Join(f.dir, HistoryName))
	if err != nil {
		return fmt.Errorf("open the history: %w", err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewReaderSize(file, 64<<10)
	h, err := readHistoryHeader(lines)
	if err != nil {
		return err
	}
	if err := f.holds(h); err != nil {
		return err
	}
	for n := 2; ; n++ {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var s series.Step
		if err == nil {
			s, err = readStep(line, ids[:min(h.Exchanges, len(ids))])
		}
		if err != nil {
			return fmt.Errorf("read the history: line %d: %w", n, err)
		}
		if !yield(s, nil) {
			return nil
		}
	}
}

// holds returns an error unless the history belongs to the manifest and covers all its exchanges. Exchanges that it does not cover would
// count as left out.
func (f *Folder) holds(h historyHeader) error {
	digest, n := sha256.New(), 0
	for fetch, err := range f.Fetches() {
		if err != nil {
			return err
		}
		if n++; n > h.Exchanges {
			continue
		}
		line, err := formatFetch(fetch)
		if err != nil {
			return err
		}
		_, _ = digest.Write(line)
	}
	if n > h.Exchanges {
		return fmt.Errorf("the %s has %d exchanges, and the %s beside it speaks of %d of them: export the folder again from the "+
			"installation that it came from, or remove the %s and import the folder with --without-history", ManifestName, n, HistoryName,
			h.Exchanges, HistoryName)
	}
	if n != h.Exchanges || hex.EncodeToString(digest.Sum(nil)) != h.Manifest {
		return fmt.Errorf("the %s does not belong to the %s in the folder: write the folder again", HistoryName, ManifestName)
	}
	return nil
}

func readStep(line []byte, ids []int64) (s series.Step, err error) {
	var e historyEntry
	if err := decode(line, &e); err != nil {
		return s, err
	}
	kinds := 0
	for _, there := range []bool{e.Stored != nil, e.Computed != nil, e.State != nil, e.Recorded != nil} {
		if there {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return s, errors.New(`expected one of "stored", "computed", "state" and "recorded"`)
	case e.Recorded != nil:
		if e.Recorded.At.IsZero() || len(e.Recorded.Record) == 0 {
			return s, errors.New("recorded: no time, or no record")
		}
		s.At, s.Record = e.Recorded.At, e.Recorded.Record
		return s, nil
	case e.State != nil:
		if e.State.Signal == "" || e.State.At.IsZero() || e.State.State == "" || e.State.Cause == "" || e.State.By == "" {
			return s, errors.New("state: no signal, time, state, cause or author")
		}
		s.Signal, s.At, s.State, s.Cause, s.By = e.State.Signal, e.State.At, e.State.State, e.State.Cause, e.State.By
		return s, nil
	case e.Computed != nil:
		if e.Computed.Signal == "" || e.Computed.At.IsZero() {
			return s, errors.New("computed: no signal, or no time")
		}
		s.Signal, s.At = e.Computed.Signal, e.Computed.At
		return s, nil
	}
	if e.Stored.Source == "" {
		return s, errors.New("stored: no source")
	}
	s.Source, s.Choices = e.Stored.Source, e.Stored.Choices
	for _, a := range e.Stored.Answers {
		if a.N < 1 || a.N > int64(len(ids)) || a.KnownAt.IsZero() {
			return s, fmt.Errorf("stored: exchange %d of %d, known at %s", a.N, len(ids), a.KnownAt.Format(time.RFC3339))
		}
		s.Answers = append(s.Answers, series.StepAnswer{Fetch: ids[a.N-1], KnownAt: a.KnownAt})
	}
	return s, nil
}

// historyWriter writes the file of a folder. The steps that it is handed name exchanges by ids, whose places it learns later.
type historyWriter struct {
	of     Origin
	steps  []series.Step
	places map[int64]int64
}

// Steps makes the writer say what was done with the fetches, which are added after this, with their ids.
func (w *Writer) Steps(steps iter.Seq2[series.Step, error], of Origin) error {
	h := &historyWriter{of: of, places: map[int64]int64{}}
	for s, err := range steps {
		if err != nil {
			return err
		}
		h.steps = append(h.steps, s)
	}
	w.history = h
	return nil
}

// write writes the file to the manifest's folder under a temporary name; the caller renames it.
func (h *historyWriter) write(dir string, exchanges int, digest []byte) (name string, err error) {
	file, err := os.CreateTemp(dir, HistoryName+".*.tmp")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	var body []byte
	for i := 0; i < len(h.steps) && err == nil; i++ {
		var e historyEntry
		if e, err = h.entry(h.steps[i]); err == nil {
			body, err = appendLine(body, e)
		}
	}
	sum := sha256.Sum256(body)
	var header []byte
	if err == nil {
		header, err = appendLine(nil, historyHeader{
			Format: HistoryFormat, Version: HistoryVersion, Exchanges: exchanges, Manifest: hex.EncodeToString(digest),
			Steps: len(h.steps), Digest: hex.EncodeToString(sum[:]), Origin: h.of,
		})
	}
	for _, part := range [][]byte{header, body} {
		if err == nil {
			_, err = file.Write(part)
		}
	}
	if err == nil {
		err = file.Chmod(0o644)
	}
	if err == nil {
		err = file.Sync()
	}
	return file.Name(), errors.Join(err, file.Close())
}

func (h *historyWriter) entry(s series.Step) (e historyEntry, err error) {
	if s.Record != nil {
		return historyEntry{Recorded: &recordedEntry{s.At.UTC(), s.Record}}, nil
	}
	if s.State != "" {
		return historyEntry{State: &stateEntry{s.Signal, s.At.UTC(), s.State, s.Cause, s.By}}, nil
	}
	if s.Signal != "" {
		return historyEntry{Computed: &computedEntry{s.Signal, s.At.UTC()}}, nil
	}
	e.Stored = &storedEntry{Source: s.Source, Choices: s.Choices}
	for _, a := range s.Answers {
		n, ok := h.places[a.Fetch]
		if !ok {
			return e, fmt.Errorf("fetch %d was stored and is not in the ledger", a.Fetch)
		}
		e.Stored.Answers = append(e.Stored.Answers, answerEntry{n, a.KnownAt.UTC()})
	}
	return e, nil
}
