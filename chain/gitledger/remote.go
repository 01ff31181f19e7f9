package gitledger

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Remote is where a ledger is pushed to.
type Remote struct {
	// URL is an https, ssh, git or file URL, or user@host:path, or an absolute path.
	URL string
	// SSHKey is the file of the private key for an ssh URL. Empty: the agent's keys.
	SSHKey string
	// SSHKnownHosts is the file with the host's key, which must be known. Empty: the user's own and the system's file.
	SSHKnownHosts string
	// HTTPUser and HTTPToken are sent as Basic authentication to an https URL. Most hosts take any user with a token.
	HTTPUser, HTTPToken string
}

// The references in addition to the branch: the last commit seen on the remote, and its commit in this call.
const (
	pushedRef = "refs/ledger/pushed"
	remoteRef = "refs/ledger/seen"
)

func (r Remote) check() error {
	if r.URL == "" {
		if r != (Remote{}) {
			return errors.New("the remote has credentials and no address")
		}
		return nil
	}
	return checkURL(r.URL)
}

// checkURL refuses what git would take for an option or for a helper program.
func checkURL(s string) error {
	if strings.HasPrefix(s, "-") || strings.Contains(s, "::") || strings.ContainsAny(s, "\n\x00") {
		return fmt.Errorf("%q is not an address of a repository", s)
	}
	scheme, _, ok := strings.Cut(s, "://")
	if !ok {
		if filepath.IsAbs(s) || strings.Contains(s, "@") && strings.Contains(s, ":") {
			return nil
		}
		return fmt.Errorf("%q is not an address of a repository: it is neither a URL, nor user@host:path, nor an absolute path", s)
	}
	switch scheme {
	case "https", "http", "ssh", "git", "file":
		return nil
	}
	return fmt.Errorf("the address of a repository may begin with https, http, ssh, git or file, not with %q", scheme)
}

// secrets lists what must never be shown.
func (r Remote) secrets() []string {
	var s []string
	if r.HTTPToken != "" {
		s = append(s, r.HTTPToken, r.basic())
	}
	if u, err := url.Parse(r.URL); err == nil && u.User != nil {
		s = append(s, u.User.String()+"@")
		if p, ok := u.User.Password(); ok && p != "" {
			s = append(s, p)
		}
	}
	return s
}

func (r Remote) basic() string {
	return base64.StdEncoding.EncodeToString([]byte(r.HTTPUser + ":" + r.HTTPToken))
}

// settings are the git settings that reach the remote.
func (r Remote) settings() []string {
	ssh := "ssh -F " + quote(os.DevNull) + " -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=20 -o ServerAliveInterval=15 -o ServerAliveCountMax=3"
	if r.SSHKey != "" {
		ssh += " -o IdentitiesOnly=yes -i " + quote(r.SSHKey)
	}
	if r.SSHKnownHosts != "" {
		ssh += " -o UserKnownHostsFile=" + quote(r.SSHKnownHosts)
	}
	s := []string{"core.sshCommand", ssh}
	if r.HTTPToken != "" {
		s = append(s, "http.extraHeader", "Authorization: Basic "+r.basic())
	}
	return s
}

// quote writes one word of a shell's command line.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Push is the result of Ledger.Push.
type Push struct {
	// Head is the commit that the remote has now, empty when the ledger is empty.
	Head string
	// Sent counts the commits that the remote did not have.
	Sent int
	// Adopted counts the commits that the remote had beyond ours and that the ledger here went on to. Another writer made them.
	Adopted int
	// Restored reports whether the remote had lost commits that it was seen to have, and they were restored. The operator should find out
	// why.
	Restored bool
}

// Push pushes the ledger to the remote. If another writer is ahead with a history that extends ours and verifies, Push brings that
// history into the ledger. It never forces and never merges. Errors: ErrPending, ErrRefused, ErrDiverged, ErrDamaged. If the remote is up
// to date, Push returns no error and changes nothing. Without a remote it does nothing.
func (l *Ledger) Push(ctx context.Context) (Push, error) {
	var done Push
	if l.opts.Remote.URL == "" {
		return done, nil
	}
	err := l.locked(ctx, func(g git) (err error) {
		// Another writer can push between our read and our push. Each round starts from the remote's state at that time.
		for range 3 {
			done, err = l.pushOnce(ctx, g)
			if !errors.Is(err, ErrRefused) {
				break
			}
		}
		return err
	})
	if err != nil {
		return Push{}, fmt.Errorf("push the ledger: %w", err)
	}
	return done, nil
}

func (l *Ledger) pushOnce(ctx context.Context, g git) (Push, error) {
	s, err := l.load(ctx, g)
	if err != nil {
		return Push{}, err
	}
	if err := s.checkEnvironment(l.opts.Environment); err != nil {
		return Push{}, err
	}
	pushed, err := g.ref(ctx, pushedRef)
	if err != nil {
		return Push{}, err
	}
	theirs, err := l.fetchRemote(ctx, g, s)
	if err != nil {
		return Push{}, err
	}
	head, err := g.ref(ctx, l.branch)
	if err != nil || head == "" {
		return Push{}, err
	}
	done := Push{Head: head}
	if head != s.head {
		done.Adopted, err = g.count(ctx, head, s.head, 0)
		return done, err
	}
	if theirs == head {
		return done, nil
	}
	if pushed != "" && theirs != pushed {
		if theirs == "" {
			done.Restored = true
		} else if done.Restored, err = g.contains(ctx, pushed, theirs); err != nil {
			return Push{}, err
		}
	}
	if done.Sent, err = g.count(ctx, head, theirs, 0); err != nil {
		return Push{}, err
	}
	if err := l.send(ctx, g, head); err != nil {
		return Push{}, err
	}
	return done, l.noteRemote(ctx, g, head)
}

// fetchRemote looks at the remote's branch and returns its commit, empty when it has none. When the remote is ahead of ours with a history
// that extends ours and verifies, our branch is moved to it. A history that does not is ErrDiverged.
func (l *Ledger) fetchRemote(ctx context.Context, g git, s *state) (theirs string, err error) {
	if theirs, err = l.remoteHead(ctx, g); err != nil || theirs == "" {
		return "", err
	}
	if theirs == s.head {
		return theirs, l.noteRemote(ctx, g, theirs)
	}
	known, err := g.has(ctx, theirs)
	if err != nil {
		return "", err
	}
	if !known {
		if _, err := g.run(ctx, nil, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--", l.opts.Remote.URL, "+"+l.branch+":"+remoteRef); err != nil {
			return "", l.pending(ctx, err)
		}
		if theirs, err = g.ref(ctx, remoteRef); err != nil {
			return "", err
		}
	}
	if s.head != "" {
		behind, err := g.contains(ctx, s.head, theirs)
		if err != nil || behind {
			return theirs, err
		}
		ahead, err := g.contains(ctx, theirs, s.head)
		if err != nil {
			return "", err
		}
		if !ahead {
			return "", fmt.Errorf("%w: it has commit %s, which is neither before nor after our %s", ErrDiverged, theirs, s.head)
		}
	}
	if err := l.importRemote(ctx, g, s, theirs); err != nil {
		return "", err
	}
	return theirs, l.noteRemote(ctx, g, theirs)
}

// importRemote moves our branch forward to a commit of the remote's, after verifying the whole ledger of that commit. If commits are
// signed, each new one must carry our key's signature and match our known entries.
func (l *Ledger) importRemote(ctx context.Context, g git, s *state, theirs string) error {
	var known []Known
	if l.opts.Known != nil && l.signer != "" {
		var err error
		if known, err = l.opts.Known(ctx); err != nil {
			return err
		}
	}
	r, err := l.readSigned(ctx, g, s, theirs, known)
	if err != nil {
		return fmt.Errorf("%w: its commit %s: %w", ErrDiverged, theirs, err)
	}
	t, err := loadAt(ctx, g, theirs)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDiverged, err)
	}
	if err := t.checkEnvironment(l.opts.Environment); err != nil {
		return fmt.Errorf("%w: %w", ErrDiverged, err)
	}
	if len(r.Picks) < len(s.links) {
		return fmt.Errorf("%w: it has %d picks, we have %d", ErrDiverged, len(r.Picks), len(s.links))
	}
	return g.moveRef(ctx, l.branch, s.head, theirs)
}

// remoteHead asks the remote which commit its branch has.
func (l *Ledger) remoteHead(ctx context.Context, g git) (string, error) {
	out, err := g.run(ctx, nil, "ls-remote", "--refs", "--", l.opts.Remote.URL, l.branch)
	if err != nil {
		return "", l.pending(ctx, err)
	}
	for line := range strings.Lines(string(out)) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && name == l.branch {
			return id, nil
		}
	}
	return "", nil
}

// send pushes one commit as a fast-forward.
func (l *Ledger) send(ctx context.Context, g git, head string) error {
	out, err := g.run(ctx, nil, "push", "--porcelain", "--no-verify", "--no-force", "--", l.opts.Remote.URL, head+":"+l.branch)
	if err == nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		if refused, ok := strings.CutPrefix(line, "!\t"); ok {
			return fmt.Errorf("%w: %s", ErrRefused, g.redact(refused))
		}
	}
	return l.pending(ctx, err)
}

// pending returns the error for an unreachable remote. If the caller ended the call, it returns err unchanged.
func (l *Ledger) pending(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrPending, err)
}

// noteRemote remembers that the remote has a commit.
func (l *Ledger) noteRemote(ctx context.Context, g git, commit string) error {
	_, err := g.run(ctx, nil, "update-ref", "--no-deref", pushedRef, commit)
	return err
}
