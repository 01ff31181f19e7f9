package gitledger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"tidemark/chain"
)

// state is a ledger as one commit has it: the bytes of the files that grow, and what they say.
type state struct {
	// head is the commit, empty before the first.
	head  string
	meta  []byte
	files map[string][]byte

	verifier chain.Verifier
	links    []chain.Link
	gaps     map[string]int // date to line
	notes    map[chain.Correction]int
	// commits are the commits of each file, one a line, read on first use.
	commits map[string][]Commit
}

// load reads the branch's ledger and verifies it whole: what this process appends to is never taken on trust.
func (l *Ledger) load(ctx context.Context, g git) (*state, error) {
	head, err := g.ref(ctx, l.branch)
	if err != nil {
		return nil, err
	}
	return loadAt(ctx, g, head)
}

func newState(head string) *state {
	return &state{head: head, files: map[string][]byte{}, gaps: map[string]int{}, notes: map[chain.Correction]int{}, commits: map[string][]Commit{}}
}

func loadAt(ctx context.Context, g git, head string) (*state, error) {
	s := newState(head)
	if head == "" {
		return s, nil
	}
	files, err := g.files(ctx, head, append([]string{metaPath}, recordPaths...))
	if err != nil {
		return nil, fmt.Errorf("%w: commit %s: %w", ErrDamaged, head, err)
	}
	s.meta = files[metaPath]
	for _, path := range recordPaths {
		if err := s.parse(path, files[path]); err != nil {
			return nil, fmt.Errorf("%w: commit %s: %s: %w", ErrDamaged, head, path, err)
		}
	}
	return s, nil
}

func (s *state) parse(path string, file []byte) error {
	all, err := lines(file)
	if err != nil {
		return err
	}
	for i, line := range all {
		e, err := parseLine(path, line)
		if err == nil {
			err = s.take(e)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	s.files[path] = file
	return nil
}

func parseLine(path string, line []byte) (Entry, error) {
	switch path {
	case picksPath:
		l, err := parsePick(line)
		return Entry{Pick: &l}, err
	case gapsPath:
		g, err := parseGap(line)
		return Entry{Gap: &g}, err
	default:
		c, err := parseCorrection(line)
		return Entry{Correction: &c}, err
	}
}

// take adds what an entry says, without its bytes.
func (s *state) take(e Entry) error {
	switch {
	case e.Pick != nil:
		// A copy, so that a refused link does not break the state for good.
		v := s.verifier
		if err := v.Add(*e.Pick); err != nil {
			return err
		}
		s.verifier = v
		s.links = append(s.links, *e.Pick)
	case e.Gap != nil:
		if _, ok := s.gaps[e.Gap.Date]; ok {
			return fmt.Errorf("the gap of %s is recorded twice", e.Gap.Date)
		}
		s.gaps[e.Gap.Date] = len(s.gaps)
	default:
		if e.Correction.Seq > int64(len(s.links)) {
			return fmt.Errorf("correction of pick %d: the ledger has %d picks", e.Correction.Seq, len(s.links))
		}
		if _, ok := s.notes[*e.Correction]; ok {
			return fmt.Errorf("a correction of pick %d is recorded twice", e.Correction.Seq)
		}
		s.notes[*e.Correction] = len(s.notes)
	}
	return nil
}

// commitOf returns the commit that added a line of a file.
func (s *state) commitOf(ctx context.Context, g git, path string, line int) (Commit, error) {
	if s.commits[path] == nil {
		c, err := g.commitsOf(ctx, s.head, path)
		if err != nil {
			return Commit{}, err
		}
		s.commits[path] = c
	}
	if line >= len(s.commits[path]) {
		return Commit{}, fmt.Errorf("%w: line %d of %s has no commit", ErrDamaged, line+1, path)
	}
	return s.commits[path][line], nil
}

// committed moves the state to the commit of a line that was added.
func (s *state) committed(path string, c Commit) {
	s.head = c.ID
	if s.commits[path] != nil {
		s.commits[path] = append(s.commits[path], c)
	}
}

// find returns the line that holds e already, -1 for none. Another entry in its place is ErrConflict.
func (s *state) find(e Entry) (int, error) {
	switch {
	case e.Pick != nil:
		if e.Pick.Seq > int64(len(s.links)) {
			return -1, nil
		}
		if have := s.links[e.Pick.Seq-1]; have != *e.Pick {
			return -1, fmt.Errorf("%w: pick %d is %s with hash %s, not %s with hash %s", ErrConflict,
				have.Seq, have.Ticker, have.Hash, e.Pick.Ticker, e.Pick.Hash)
		}
		return int(e.Pick.Seq - 1), nil
	case e.Gap != nil:
		i, ok := s.gaps[e.Gap.Date]
		if !ok {
			return -1, nil
		}
		want, err := e.line()
		if err != nil {
			return -1, err
		}
		have, err := lines(s.files[gapsPath])
		if err != nil || !bytes.Equal(append(have[i], '\n'), want) {
			return -1, fmt.Errorf("%w: the gap of %s has another reason", ErrConflict, e.Gap.Date)
		}
		return i, nil
	default:
		if i, ok := s.notes[*e.Correction]; ok {
			return i, nil
		}
		return -1, nil
	}
}

// add puts an entry behind what is there, bytes and meaning.
func (s *state) add(e Entry) error {
	if err := s.take(e); err != nil {
		return err
	}
	line, err := e.line()
	if err != nil {
		return err
	}
	s.files[e.path()] = append(s.files[e.path()], line...)
	return nil
}

// checkEnvironment refuses a ledger of the other environment. An empty one is of none yet.
func (s *state) checkEnvironment(want string) error {
	if s.head == "" {
		return nil
	}
	var m meta
	if err := json.Unmarshal(s.meta, &m); err != nil {
		return fmt.Errorf("%w: commit %s: %s: %w", ErrDamaged, s.head, metaPath, err)
	}
	if m != newMeta(want) {
		return fmt.Errorf("%w: it is a ledger of format %d and environment %q, not of format 1 and environment %q", ErrConflict, m.Format, m.Environment, want)
	}
	return nil
}

// commit writes the objects of the state behind s.head and the commit that holds them.
func (l *Ledger) commit(ctx context.Context, g git, s *state, e Entry) (Commit, error) {
	root := map[string]treeEntry{}
	folder := map[string]treeEntry{}
	var parents []string
	if s.head == "" {
		m, err := jsonLine(newMeta(l.opts.Environment))
		if err != nil {
			return Commit{}, err
		}
		s.meta = m
		if folder[base(metaPath)], err = g.blob(ctx, m); err != nil {
			return Commit{}, err
		}
		if root[readmePath], err = g.blob(ctx, readme(l.opts.Environment)); err != nil {
			return Commit{}, err
		}
	} else {
		parents = []string{s.head}
		var err error
		if root, err = g.tree(ctx, s.head+":"); err != nil {
			return Commit{}, err
		}
		if folder, err = g.tree(ctx, s.head+":chain"); err != nil {
			return Commit{}, err
		}
	}
	var err error
	if folder[base(e.path())], err = g.blob(ctx, s.files[e.path()]); err != nil {
		return Commit{}, err
	}
	if root["chain"], err = g.writeTree(ctx, folder); err != nil {
		return Commit{}, err
	}
	if err := l.listSigner(ctx, g, root); err != nil {
		return Commit{}, err
	}
	top, err := g.writeTree(ctx, root)
	if err != nil {
		return Commit{}, err
	}
	return g.commitTree(ctx, top.id, parents, e.message(l.opts.Environment), l.opts.Author, e.At, l.signer != "")
}

// listSigner adds the public key to the file of signers if it is missing, so that a clone can check its own signatures. Readers must still
// trust only the key that is published elsewhere.
func (l *Ledger) listSigner(ctx context.Context, g git, root map[string]treeEntry) error {
	if l.signer == "" {
		return nil
	}
	var have []byte
	if t, ok := root[signersPath]; ok {
		var err error
		if have, err = g.content(ctx, t.id); err != nil {
			return err
		}
	}
	line := []byte(fmt.Sprintf("%s namespaces=\"git\" %s\n", l.opts.Author.Email, l.signer))
	if bytes.Contains(have, line) {
		return nil
	}
	t, err := g.blob(ctx, append(have, line...))
	if err != nil {
		return err
	}
	root[signersPath] = t
	return nil
}
