// Package gitledger is the outside record in version control: a git repository in which every announced pick is one commit that adds one
// line. It writes such a ledger, pushes it to a remote, and reads a ledger back for verification. Of the program, it depends only on the chain.
// Start at Open and Append; Read is the other side.
//
// # The git binary, not go-git
//
// The ledger is written by the git binary (2.36 or later) and not by go-git v5.19.3, for these reasons, checked in its source:
//
//   - After kill -9: git writes a reference to a lock file and renames it, and with core.fsync it is on the disk before the rename. go-git
//     truncates the reference in place and then writes it, without fsync. A kill in between leaves an empty reference and a repository that
//     git cannot open.
//   - git has compare and swap of a reference, garbage collection, and fsck of fetched objects.
//   - Pushing over ssh and https works with the operators' set-up (agents, known hosts, proxies, their own certificate authorities).
//   - SSH signatures, which third parties can verify with their own git. go-git signs with OpenPGP, whose signatures carry the time of
//     signing, so that two writers would never make the same commit.
//   - Size: go-git adds 19 modules to the program, and still needs the git binary for a remote that is a folder.
//
// The price is a git (and for signing an ssh-keygen) on the machine; Open returns an error if it is missing. The binary is isolated from
// the user. It has no system or user configuration, no hooks, no credential helpers and no replace references. Its language is fixed, and
// its environment has only the few variables that a network needs. Another owner's ledger is read from a copy of its objects.
//
// # Crash safety
//
// A commit's bytes depend only on its entry and its parent, so repeating it makes the same commit. Its date is the announcement's, its
// signature Ed25519. Objects are written first. Only then is the branch moved, by compare and swap from the value read before: a process
// killed at any point leaves either the old ledger or the new one. Locks left by a killed git are removed under an exclusive lock of the
// directory. A git that outlives its parent still holds this lock.
package gitledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark/chain"
)

// The kinds of errors that a caller acts on. Everything else is a fault of the machine or of the call.
var (
	// ErrPending says that the ledger is right here and not yet at the remote, because the remote cannot be reached or does not let us
	// in. The caller tries again later; nothing is lost.
	ErrPending = errors.New("the push is pending")
	// ErrRefused reports that the remote was reached and refuses the push (branch protection, a hook). A retry does not help until the
	// operator fixes the cause.
	ErrRefused = errors.New("the remote refuses the push")
	// ErrDiverged is an alarm: the remote's history is not ours and does not extend ours. Nothing is merged, nothing is forced, and
	// nothing is changed on either side.
	ErrDiverged = errors.New("the remote has another history")
	// ErrConflict is an alarm: the ledger holds another entry under the same number or date than the one to be recorded.
	ErrConflict = errors.New("the ledger holds another entry")
	// ErrDamaged reports that the ledger on disk is not in the form that this package writes. A local ledger can be moved away: with a
	// remote it is fetched again, without one it is written again from the first entry.
	ErrDamaged = errors.New("the ledger is damaged")
)

// Identity is who commits. It is part of every commit, so every writer of one ledger must have the same.
type Identity struct{ Name, Email string }

// Options says where a ledger is and how it is written.
type Options struct {
	// Dir is the folder of the bare repository. It is made when it is missing. Beside it stands a file Dir.lock.
	Dir string
	// Environment is "demo" or "live". It is written into the ledger; a ledger of the other environment is refused.
	Environment string
	// Author signs for every commit, as author and as committer.
	Author Identity
	// SigningKey is the file of an unencrypted OpenSSH Ed25519 private key, readable by its owner only. Empty: commits are not
	// signed. Every writer of one ledger must have the same key.
	SigningKey string
	// Known returns the entries that the ledger must contain, with the commits of the recorded ones. With a signing key, a remote history
	// that has another entry is not adopted. Nil: only the chain and the signatures are checked.
	Known func(ctx context.Context) ([]Known, error)
	// Remote is where the ledger is pushed to. With a zero Remote it stays local.
	Remote Remote
	// Branch is the branch that is written, here and at the remote. Empty: main.
	Branch string
	// Environ is the environment of the process ("name=value"). Only PATH, TMPDIR, SSH_AUTH_SOCK and what concerns proxies and
	// certificates is taken from it.
	Environ []string
}

// Known is an entry known to the ledger's owner, with its commit; the commit is empty if none exists yet.
type Known struct {
	Entry

	Commit string
}

// Ledger writes one ledger. Any number of goroutines and processes may use the same folder: each call holds the folder's lock.
type Ledger struct {
	dir    string
	branch string
	opts   Options
	git    git
	// signer is the public key of SigningKey ("ssh-ed25519 AAAA..."), empty without one.
	signer string
}

// Commit names one commit of a ledger.
type Commit struct {
	// ID is the commit's id in lower-case hex.
	ID string
	// At is the commit's date: the instant of the announcement, in UTC, in whole seconds.
	At time.Time
}

// Open prepares the ledger in opts.Dir, and makes an empty one if it does not exist. It does not contact the remote. It fails if git is
// missing or unusable, if the options contradict each other, or if the folder holds a ledger of the other environment.
func Open(ctx context.Context, opts Options) (*Ledger, error) {
	if opts.Branch == "" {
		opts.Branch = "main"
	}
	if err := opts.check(); err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	l := &Ledger{dir: dir, branch: "refs/heads/" + opts.Branch, opts: opts}
	l.git, err = newGit(ctx, dir, opts.Environ, opts.Remote)
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	if opts.SigningKey != "" {
		if opts.SigningKey, err = filepath.Abs(opts.SigningKey); err != nil {
			return nil, fmt.Errorf("open the ledger: %w", err)
		}
		if l.signer, err = l.git.publicKey(ctx, opts.SigningKey); err != nil {
			return nil, fmt.Errorf("open the ledger: %w", err)
		}
		l.git.set("user.signingKey", opts.SigningKey)
	}
	err = l.locked(ctx, func(g git) error {
		s, err := l.load(ctx, g)
		if err != nil {
			return err
		}
		return s.checkEnvironment(opts.Environment)
	})
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	return l, nil
}

func (o Options) check() error {
	var errs []error
	if o.Dir == "" {
		errs = append(errs, errors.New("no folder is named"))
	}
	if o.Environment != "demo" && o.Environment != "live" {
		errs = append(errs, fmt.Errorf("the environment %q is neither demo nor live", o.Environment))
	}
	for _, s := range []string{o.Author.Name, o.Author.Email} {
		if strings.TrimSpace(s) == "" || strings.ContainsAny(s, "<>\n\x00") {
			errs = append(errs, fmt.Errorf("the author %q <%s> needs a name and an address", o.Author.Name, o.Author.Email))
			break
		}
	}
	return errors.Join(append(errs, checkBranch(o.Branch), o.Remote.check())...)
}

// Append records entries in the given order, one commit each, and returns the commit of each. An entry that the ledger already has is not
// recorded again, so an interrupted caller can repeat the same entries. Entries that are due together should be given in the order of
// their instants: two writers then make the same commits. Append contacts the remote only if the local ledger is empty, to continue from
// an existing ledger.
//
// A pick must follow the newest one (an *chain.Error says why it does not). An entry that contradicts a recorded one is ErrConflict. On
// any error nothing of the call was recorded.
func (l *Ledger) Append(ctx context.Context, entries ...Entry) ([]Commit, error) {
	var commits []Commit
	err := l.locked(ctx, func(g git) error {
		s, err := l.load(ctx, g)
		if err != nil {
			return err
		}
		if s.head == "" && l.opts.Remote.URL != "" {
			if _, err := l.fetchRemote(ctx, g, s); err != nil {
				return err
			}
			if s, err = l.load(ctx, g); err != nil {
				return err
			}
		}
		if err := s.checkEnvironment(l.opts.Environment); err != nil {
			return err
		}
		before := s.head
		commits, err = l.record(ctx, g, s, entries)
		if err != nil || s.head == before {
			return err
		}
		if err := g.moveRef(ctx, l.branch, before, s.head); err != nil {
			return err
		}
		g.gc(ctx)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("append to the ledger: %w", err)
	}
	return commits, nil
}

// record makes the commits of the entries that s lacks, without moving the branch.
func (l *Ledger) record(ctx context.Context, g git, s *state, entries []Entry) ([]Commit, error) {
	commits := make([]Commit, 0, len(entries))
	for _, e := range entries {
		if err := e.check(); err != nil {
			return nil, err
		}
		known, err := s.find(e)
		if err != nil {
			return nil, err
		}
		if known >= 0 {
			c, err := s.commitOf(ctx, g, e.path(), known)
			if err != nil {
				return nil, err
			}
			commits = append(commits, c)
			continue
		}
		if err := s.add(e); err != nil {
			return nil, err
		}
		c, err := l.commit(ctx, g, s, e)
		if err != nil {
			return nil, err
		}
		s.committed(e.path(), c)
		commits = append(commits, c)
	}
	return commits, nil
}

// Status is the state of the ledger and of its copy on the remote.
type Status struct {
	// Head is the newest commit, empty for an empty ledger.
	Head string
	// Chain is the checkpoint of the picks in it.
	Chain chain.Checkpoint
	// Pushed is the newest commit known to be on the remote; empty if none exists.
	Pushed string
	// Pending counts the commits that the remote was not yet seen to have.
	Pending int
}

// Status reads the ledger here. It talks to no remote.
func (l *Ledger) Status(ctx context.Context) (Status, error) {
	var st Status
	err := l.locked(ctx, func(g git) error {
		s, err := l.load(ctx, g)
		if err != nil {
			return err
		}
		st.Head, st.Chain = s.head, s.verifier.Checkpoint()
		if st.Pushed, err = g.ref(ctx, pushedRef); err != nil || st.Head == "" {
			return err
		}
		st.Pending, err = g.count(ctx, st.Head, st.Pushed, 0)
		return err
	})
	if err != nil {
		return Status{}, fmt.Errorf("read the ledger's status: %w", err)
	}
	return st, nil
}

// locked runs f while this process alone uses the folder, on a repository that exists and holds no lock of a killed git. The lock is
// handed to every git that f starts: should this process be killed, the lock lasts until they have ended.
func (l *Ledger) locked(ctx context.Context, f func(git) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(l.dir), 0o755); err != nil {
		return err
	}
	lock, err := lockFile(ctx, l.dir+".lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	g := l.git
	g.lock = lock
	if err := g.ensure(ctx, l.opts.Branch); err != nil {
		return err
	}
	return f(g)
}
