package workers_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/chain"
	"tidemark/chain/gitledger"
	"tidemark/internal/postgres"
)

// sshKey makes a signing key.
func sshKey(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", file).CombinedOutput(); err != nil {
		t.Skipf("needs ssh-keygen: %v: %s", err, out)
	}
	return file
}

// push writes entries to a remote as another permitted user, with a key of theirs or none.
func push(t *testing.T, remote, key string, entries ...gitledger.Entry) {
	t.Helper()
	l, err := gitledger.Open(t.Context(), gitledger.Options{
		Dir: filepath.Join(t.TempDir(), "foreign.git"), Environment: "demo", Author: gitledger.Identity{Name: "Test", Email: "test@tidemark.invalid"},
		Remote: gitledger.Remote{URL: remote}, Environ: os.Environ(), SigningKey: key,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), entries...); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Push(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestASigningLedgerGoesOnOnlyToOurSignedCommitsOfTheRecord(t *testing.T) {
	t.Parallel()
	key, stranger := sshKey(t), sshKey(t)
	for name, c := range map[string]struct {
		key string
		// more adds to the announced entries.
		more  func(*testing.T, []gitledger.Entry) []gitledger.Entry
		fault string
	}{
		"ours":             {key, nil, ""},
		"unsigned":         {"", nil, "no good signature"},
		"of a stranger":    {stranger, nil, "no good signature"},
		"ours, and a gap":  {key, madeUpGap, "which we do not know"},
		"ours, and a pick": {key, madeUpPick, "which we do not know"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := bare(t)
			r := newRecord(t, "replay")
			r.announce(2)
			list, err := r.db.LedgerEntries(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			var entries []gitledger.Entry
			for _, e := range list {
				entries = append(entries, gitledger.Entry{At: e.At, Pick: e.Pick, Gap: e.Gap, Correction: e.Correction})
			}
			if c.more != nil {
				entries = c.more(t, entries)
			}
			push(t, remote, c.key, entries...)
			head := runGit(t, "-C", remote, "rev-parse", "main")
			k := newSigner(t, r, remote, key)
			err = k.run()
			s := k.state()
			if c.fault == "" {
				if err != nil || s.Status != postgres.LedgerPushed || s.Head != head {
					t.Errorf("%v, %+v", err, s)
				}
				return
			}
			if err == nil || s.Status != postgres.LedgerDiverged || !s.Alarm() || !strings.Contains(s.Note, c.fault) {
				t.Errorf("%v, %+v", err, s)
			}
			if got := runGit(t, "-C", remote, "rev-parse", "main"); got != head {
				t.Errorf("the remote was moved to %s", got)
			}
			if out, err := exec.CommandContext(t.Context(), "git", "-C", k.dir, "rev-parse", "--verify", "main").CombinedOutput(); err == nil {
				t.Errorf("the ledger went on to %s", out)
			}
		})
	}
}

func madeUpGap(_ *testing.T, entries []gitledger.Entry) []gitledger.Entry {
	at := entries[len(entries)-1].At
	return append(entries, gitledger.Entry{At: at.Add(time.Hour), Gap: &chain.Gap{Date: at.AddDate(0, 0, 3).Format(time.DateOnly), Reason: "made up"}})
}

func madeUpPick(t *testing.T, entries []gitledger.Entry) []gitledger.Entry {
	t.Helper()
	last := entries[len(entries)-1]
	l := chain.Link{
		Seq: last.Pick.Seq + 1, Ticker: "FAKE", Price: "1.00", Date: last.At.AddDate(0, 0, 3).Format(time.DateOnly), PreviousHash: last.Pick.Hash,
	}
	l.Hash = chain.Hash(l)
	if err := chain.Check(l); err != nil {
		t.Fatal(err)
	}
	return append(entries, gitledger.Entry{At: last.At.Add(time.Hour), Pick: &l})
}

// Signing begins later, with a key that is replaced: what the database knows by its commit needs no signature of the present key.
func TestASigningLedgerGoesOnFromWhatItCommittedBefore(t *testing.T) {
	t.Parallel()
	remote := bare(t)
	r := newRecord(t, "replay")
	r.announce(1)
	newKeeper(t, r, remote).mustRun()
	r.announce(1)
	newSigner(t, r, remote, sshKey(t)).mustRun()
	r.announce(1)
	k := newSigner(t, r, remote, sshKey(t))
	k.mustRun()
	if n := k.same(remote); n != 3 {
		t.Errorf("%d entries are committed, want 3", n)
	}
	// A commit that repeats a known entry is not the known commit.
	fresh := bare(t)
	list, err := r.db.LedgerEntries(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	push(t, fresh, "", gitledger.Entry{At: list[0].At.Add(time.Hour), Pick: list[0].Pick})
	forged := newSigner(t, r, fresh, sshKey(t))
	if err := forged.run(); err == nil || errors.Is(err, gitledger.ErrPending) {
		t.Errorf("another commit of a known entry: %v", err)
	}
}
