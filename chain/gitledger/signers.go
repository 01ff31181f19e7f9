package gitledger

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// readSigned reads a history of the remote. Without a signing key it must only be a valid ledger. With one, a commit needs the signature of
// this key, unless it is in our own history or known with the same id. Older commits may have an earlier key's signature, or none.
func (l *Ledger) readSigned(ctx context.Context, g git, s *state, head string, known []Known) (*Record, error) {
	if l.signer == "" {
		return readHistory(ctx, g, head, false, nil)
	}
	trusted := map[string]bool{}
	for _, k := range known {
		if k.Commit != "" {
			trusted[k.Commit] = true
		}
	}
	if s.head != "" {
		out, err := g.run(ctx, nil, "rev-list", s.head)
		if err != nil {
			return nil, err
		}
		for id := range strings.FieldsSeq(string(out)) {
			trusted[id] = true
		}
	}
	temp, err := os.MkdirTemp("", "ledger-signers-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	file := filepath.Join(temp, signersPath)
	if err := os.WriteFile(file, []byte("* namespaces=\"git\" "+l.signer+"\n"), 0o600); err != nil {
		return nil, err
	}
	if err := g.verifySignature(file); err != nil {
		return nil, err
	}
	r, err := readHistory(ctx, g, head, true, trusted)
	if err != nil || l.opts.Known == nil {
		return r, err
	}
	return r, agree(r, known)
}

// agree returns an error that names the entry of a record that is not among the known ones, or is known by another commit.
func agree(r *Record, known []Known) error {
	have := make(map[string]string, len(known))
	for _, k := range known {
		line, err := k.line()
		if err != nil {
			return err
		}
		have[k.path()+string(line)] = k.Commit
	}
	check := func(e Entry, c Commit) error {
		line, err := e.line()
		if err != nil {
			return err
		}
		commit, ok := have[e.path()+string(line)]
		switch {
		case !ok:
			return &TamperError{Commit: c.ID, Reason: fmt.Sprintf("it records %q, which we do not know", e.subject())}
		case commit != "" && commit != c.ID:
			return &TamperError{Commit: c.ID, Reason: fmt.Sprintf("it records %q, which is our commit %s", e.subject(), commit)}
		}
		return nil
	}
	for _, p := range r.Picks {
		if err := check(Entry{Pick: &p.Link}, p.Commit); err != nil {
			return err
		}
	}
	for _, p := range r.Gaps {
		if err := check(Entry{Gap: &p.Gap}, p.Commit); err != nil {
			return err
		}
	}
	for _, p := range r.Corrections {
		if err := check(Entry{Correction: &p.Correction}, p.Commit); err != nil {
			return err
		}
	}
	return nil
}
