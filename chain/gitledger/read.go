package gitledger

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"tidemark/chain"
)

// TamperError says which commit of a ledger breaks the form of a ledger, and how. It is about the history; whether the links belong
// together is for chain.Verify to say.
type TamperError struct {
	Commit string
	Reason string
}

// Error implements error.
func (e *TamperError) Error() string { return "commit " + e.Commit + ": " + e.Reason }

// Record is a ledger as it was read.
type Record struct {
	// Environment is "demo" or "live".
	Environment string
	// Head is the newest commit, and Branch its branch.
	Head   string
	Branch string
	// Readme is the ledger's page for people, as the newest commit has it.
	Readme string
	// The entries, each in the order in which it was committed.
	Picks       []Pick
	Gaps        []Gap
	Corrections []Correction
}

// Pick is a link with the commit that recorded it.
type Pick struct {
	chain.Link
	Commit Commit
}

// Gap is a gap with the commit that recorded it.
type Gap struct {
	chain.Gap
	Commit Commit
}

// Correction is a correction with the commit that recorded it.
type Correction struct {
	chain.Correction
	Commit Commit
}

// Links returns the links alone, as chain.Each takes them.
func (r *Record) Links() []chain.Link {
	links := make([]chain.Link, len(r.Picks))
	for i, p := range r.Picks {
		links[i] = p.Link
	}
	return links
}

// Source says which ledger is read.
type Source struct {
	// Location is the folder of a repository (bare or not), or any address that Remote.URL may have.
	Location string
	// Branch is the branch that is read. Empty: main.
	Branch string
	// AllowedSigners is a file in the form of ssh-keygen's allowed signers. When it is given, every commit must carry a good
	// signature of one of its keys.
	AllowedSigners string
	// Addresses are the addresses of the host of Location, for a location from an untrusted source: git then looks up no name and follows
	// no redirect. Nil: git resolves the name as the machine does.
	Addresses []netip.Addr
	// Environ is as in Options.
	Environ []string
}

func (s Source) check() error {
	folder, ok := LocalPath(s.Location)
	if info, err := os.Stat(folder); ok && err == nil && info.IsDir() {
		return nil
	}
	if err := checkURL(s.Location); err != nil || !ok {
		return err
	}
	return fmt.Errorf("%w: unknown folder %q", ErrPending, folder)
}

// pin makes git connect to the given addresses of the host alone.
func (g *git) pin(src Source) {
	u, err := url.Parse(src.Location)
	if err != nil || len(src.Addresses) == 0 {
		return
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	var list []string
	for _, a := range src.Addresses {
		text := a.String()
		if a.Is6() {
			text = "[" + text + "]"
		}
		list = append(list, text)
	}
	g.set("http.curloptResolve", u.Hostname()+":"+port+":"+strings.Join(list, ","))
	g.set("http.followRedirects", "false")
}

// Read reads a whole ledger and checks its history. No commit has two parents. Each adds exactly one line to one file and changes nothing
// before it. The ledger's identity never changes. A history that breaks these rules is a *TamperError. The links are returned unchecked:
// chain.Verify reports whether they are a chain. A repository that cannot be reached is ErrPending. An empty ledger is a Record without
// entries. The repository is untrusted until it is read: git is never started inside it, its configuration is not used, and its size is
// bounded.
func Read(ctx context.Context, src Source) (*Record, error) {
	r, err := read(ctx, src)
	if err != nil {
		return nil, fmt.Errorf("read the ledger %s: %w", git{secrets: Remote{URL: src.Location}.secrets()}.redact(src.Location), err)
	}
	return r, nil
}

func read(ctx context.Context, src Source) (*Record, error) {
	if src.Branch == "" {
		src.Branch = "main"
	}
	if err := errors.Join(checkBranch(src.Branch), src.check()); err != nil {
		return nil, err
	}
	g, err := newGit(ctx, "", src.Environ, Remote{URL: src.Location})
	if err != nil {
		return nil, err
	}
	g.pin(src)
	temp, err := os.MkdirTemp("", "ledger-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	ctx, cancel := context.WithTimeoutCause(ctx, maxForeignTime, fmt.Errorf("it was not read within %s", maxForeignTime))
	defer cancel()
	if g, err = g.importForeign(ctx, src, temp); err != nil {
		return nil, err
	}
	if src.AllowedSigners != "" {
		if err := g.verifySignature(src.AllowedSigners); err != nil {
			return nil, err
		}
	}
	head, err := g.ref(ctx, "refs/heads/"+src.Branch)
	if err != nil {
		return nil, err
	}
	if head == "" {
		return &Record{Branch: src.Branch}, nil
	}
	n, err := g.count(ctx, head, "", maxForeignCommits+1)
	if err != nil {
		return nil, err
	}
	if n > maxForeignCommits {
		return nil, fmt.Errorf("%w: %w: more than %d commits", ErrDamaged, errTooLarge, maxForeignCommits)
	}
	r, err := readHistory(ctx, g, head, src.AllowedSigners != "", nil)
	if err != nil {
		return nil, err
	}
	r.Branch = src.Branch
	pages, err := g.files(ctx, head, []string{readmePath})
	if err != nil {
		return nil, err
	}
	r.Readme = string(pages[readmePath])
	return r, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// verifySignature makes git judge signatures by a file of signers.
func (g *git) verifySignature(signers string) error {
	path, err := filepath.Abs(signers)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("the allowed signers: %w", err)
	}
	g.set("gpg.ssh.allowedSignersFile", path)
	return nil
}
