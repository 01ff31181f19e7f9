package gitledger

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// step is one commit as git log lists it.
type step struct {
	Commit
	parents   []string
	signature string
}

// readHistory walks from the first commit to head. With signed, each commit must be signed, except the known ones.
func readHistory(ctx context.Context, g git, head string, signed bool, known map[string]bool) (*Record, error) {
	// Without this, an object that the disk lost would look like a file that a commit took away.
	if _, err := g.run(ctx, nil, "rev-list", "--objects", "--quiet", head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	steps, err := g.history(ctx, head, signed)
	if err != nil {
		return nil, err
	}
	ask := strings.Builder{}
	watched := append([]string{metaPath}, recordPaths...)
	for _, s := range steps {
		for _, p := range watched {
			ask.WriteString(s.ID + ":" + p + "\n")
		}
	}
	ids, err := g.run(ctx, []byte(ask.String()), "cat-file", "--batch-check=%(objectname) %(objecttype)")
	if err != nil {
		return nil, err
	}
	answers := strings.Split(strings.TrimSuffix(string(ids), "\n"), "\n")
	if len(answers) != len(steps)*len(watched) {
		return nil, fmt.Errorf("git cat-file gave %d answers to %d questions", len(answers), len(steps)*len(watched))
	}
	w := walker{record: &Record{Head: head}, files: map[string][]byte{}, ids: map[string]string{}, watched: watched}
	blobs, err := g.contents(ctx, answers, len(watched))
	if err != nil {
		return nil, err
	}
	defer blobs.close()
	for i, s := range steps {
		if err := w.step(s, i, signed && !known[s.ID], answers[i*len(watched):(i+1)*len(watched)], blobs); err != nil {
			return nil, err
		}
	}
	return w.record, nil
}

// walker follows the files of a ledger from commit to commit.
type walker struct {
	record  *Record
	watched []string
	files   map[string][]byte
	ids     map[string]string
	last    string
}

func (w *walker) step(s step, i int, signed bool, answers []string, blobs *treeReader) error {
	bad := func(format string, args ...any) error {
		return &TamperError{Commit: s.ID, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case i == 0 && len(s.parents) != 0, i > 0 && (len(s.parents) != 1 || s.parents[0] != w.last):
		return bad("it has the parents %v, a ledger's history is one line", s.parents)
	case signed && s.signature != "G":
		return bad("it carries no good signature of an allowed signer (git says %q)", s.signature)
	}
	w.last = s.ID
	grown := ""
	for k, path := range w.watched {
		id := objectID(answers[k])
		if id == w.ids[path] {
			continue
		}
		if id == "" {
			return bad("it takes %s away", path)
		}
		file, err := blobs.next()
		if err != nil {
			return fmt.Errorf("commit %s: read %s: %w", s.ID, path, err)
		}
		w.ids[path] = id
		if path == metaPath {
			if err := w.meta(i, file); err != nil {
				return bad("%s: %v", path, err)
			}
			continue
		}
		added, ok := bytes.CutPrefix(file, w.files[path])
		line, whole := bytes.CutSuffix(added, []byte("\n"))
		if !ok || !whole || bytes.Contains(line, []byte("\n")) || grown != "" {
			return bad("it does more than to add one line to one file (%s)", path)
		}
		if err := w.take(path, line, s.Commit); err != nil {
			return bad("%s: %v", path, err)
		}
		w.files[path], grown = file, path
	}
	if grown == "" {
		return bad("it records nothing")
	}
	return nil
}

// meta reads ledger.json, which only the first commit writes.
func (w *walker) meta(i int, file []byte) error {
	if i != 0 {
		return errors.New("it is written a second time")
	}
	var m meta
	if err := json.Unmarshal(file, &m); err != nil {
		return err
	}
	if m != newMeta(m.Environment) || environmentText[m.Environment] == "" {
		return fmt.Errorf("%.300q is not a ledger of this form", file)
	}
	w.record.Environment = m.Environment
	return nil
}

func (w *walker) take(path string, line []byte, c Commit) error {
	e, err := parseLine(path, line)
	if err != nil {
		return err
	}
	switch {
	case e.Pick != nil:
		w.record.Picks = append(w.record.Picks, Pick{Link: *e.Pick, Commit: c})
	case e.Gap != nil:
		w.record.Gaps = append(w.record.Gaps, Gap{Gap: *e.Gap, Commit: c})
	default:
		w.record.Corrections = append(w.record.Corrections, Correction{Correction: *e.Correction, Commit: c})
	}
	return nil
}

// objectID reads an answer of cat-file --batch-check: "<id> blob", or "<question> missing".
func objectID(answer string) string {
	id, kind, _ := strings.Cut(answer, " ")
	if kind != "blob" {
		return ""
	}
	return id
}

// history lists the commits from the first to head.
func (g git) history(ctx context.Context, head string, signed bool) ([]step, error) {
	format := "%H%x00%ct%x00%P%x00"
	if signed {
		format += "%G?"
	}
	out, err := g.run(ctx, nil, "log", "--reverse", "--topo-order", "--no-show-signature", "--format="+format, head)
	if err != nil {
		return nil, err
	}
	var steps []step
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		if len(f) != 4 {
			return nil, fmt.Errorf("git log wrote %q", line)
		}
		at, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("git log wrote %q: %w", line, err)
		}
		steps = append(steps, step{Commit: Commit{ID: f[0], At: time.Unix(at, 0).UTC()}, parents: strings.Fields(f[2]), signature: f[3]})
	}
	return steps, nil
}

// treeReader reads blobs in the order of the walk, so that a long history is never in memory as a whole.
type treeReader struct {
	r   *bufio.Reader
	cmd *exec.Cmd
}

// treeReader starts reading the blobs of a walk whose watched files have the given answers, commit by commit.
func (g git) contents(ctx context.Context, answers []string, watched int) (*treeReader, error) {
	var ask strings.Builder
	for i, answer := range answers {
		id := objectID(answer)
		if id == "" || i >= watched && id == objectID(answers[i-watched]) {
			continue
		}
		ask.WriteString(id + "\n")
	}
	cmd := g.command(ctx, g.program, nil, "cat-file", "--batch")
	cmd.Stdin = strings.NewReader(ask.String())
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &treeReader{r: bufio.NewReaderSize(out, 1<<16), cmd: cmd}, nil
}

// next reads the next blob.
func (c *treeReader) next() ([]byte, error) {
	content, err := readObject(c.r)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return content, err
}

// close ends the reading and discards the unread rest.
func (c *treeReader) close() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}
