package workers_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/chain"
	"tidemark/chain/gitledger"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/workers"
)

// ledgerFixture is the ledger job of one worker, with its own folder.
type ledgerFixture struct {
	*record
	workers.Ledger
	dir string
}

func newKeeper(t *testing.T, r *record, remote string) *ledgerFixture {
	return newSigner(t, r, remote, "")
}

// newSigner is newKeeper for a ledger whose commits are signed with a key.
func newSigner(t *testing.T, r *record, remote, key string) *ledgerFixture {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ledger.git")
	return &ledgerFixture{record: r, dir: dir, Ledger: workers.Ledger{
		DB: r.db, Remote: remote != "", Repository: remote, Branch: "main",
		Open: func(ctx context.Context) (*gitledger.Ledger, error) {
			return gitledger.Open(ctx, gitledger.Options{
				Dir: dir, Environment: "demo", Author: gitledger.Identity{Name: "Test", Email: "test@tidemark.invalid"},
				Remote: gitledger.Remote{URL: remote}, Environ: os.Environ(), SigningKey: key, Known: workers.KnownEntries(r.db),
			})
		},
	}}
}

func (k *ledgerFixture) run() error {
	return k.Run(k.t.Context(), task.Task{Job: task.Ledger, Subject: task.SubjectLedger})
}

func (k *ledgerFixture) mustRun() {
	k.t.Helper()
	if err := k.run(); err != nil {
		k.t.Fatal(err)
	}
}

func (k *ledgerFixture) state() postgres.LedgerState {
	k.t.Helper()
	s, err := k.db.LedgerState(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	return s
}

// same checks that a repository holds what the database says that it committed, and returns how many entries that is.
func (k *ledgerFixture) same(repository string) int {
	k.t.Helper()
	r, err := gitledger.Read(k.t.Context(), gitledger.Source{Location: repository, Environ: os.Environ()})
	if err != nil {
		k.t.Fatal(err)
	}
	if _, err := chain.Verify(chain.Each(r.Links())); err != nil {
		k.t.Error(err)
	}
	got := map[string]string{}
	for _, p := range r.Picks {
		got[chain.Preimage(p.Link)] = p.Commit.ID
	}
	for _, g := range r.Gaps {
		got[g.Date+g.Reason] = g.Commit.ID
	}
	for _, c := range r.Corrections {
		got[c.What] = c.Commit.ID
	}
	want := map[string]string{}
	entries, err := k.db.LedgerEntries(k.t.Context(), false)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, e := range entries {
		switch {
		case e.Commit == "":
		case e.Pick != nil:
			want[chain.Preimage(*e.Pick)] = e.Commit
		case e.Gap != nil:
			want[e.Gap.Date+e.Gap.Reason] = e.Commit
		default:
			want[e.Correction.What] = e.Commit
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		k.t.Errorf("the ledger's commits (-database +ledger):\n%s", diff)
	}
	return len(want)
}

func bare(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "remote.git")
	runGit(t, "init", "--quiet", "--bare", "--initial-branch=main", dir)
	return dir
}

func runGit(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestTheLedgerHoldsWhatWasAnnouncedAndNothingElse(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, newRecord(t, "replay"), "")
	k.mustRun() // a run without work succeeds
	k.announce(2)
	k.gap()
	if err := k.db.Correct(t.Context(), chain.Correction{Seq: 2, What: "the price was 99.50", Evidence: "e", Date: k.day.Format(time.DateOnly)}, "me"); err != nil {
		t.Fatal(err)
	}
	k.announce(1)
	k.pick() // not announced
	for range 2 {
		k.mustRun()
		if n := k.same(k.dir); n != 5 {
			t.Errorf("%d entries are committed, want 5", n)
		}
	}
	if s := k.state(); s.Status != postgres.LedgerLocal || s.Head != runGit(t, "-C", k.dir, "rev-parse", "main") || s.Alarm() {
		t.Errorf("the ledger's state: %+v", s)
	}
	if _, open, err := k.db.LedgerOpen(t.Context()); err != nil || open != 0 {
		t.Errorf("%d entries wait, %v", open, err)
	}
	// Three announcements, and a gap and a correction at one instant.
	if n := len(k.due(task.Ledger)); n != 4 {
		t.Errorf("%d runs of the ledger are due, want one for each instant at which something was recorded", n)
	}
}

func TestARemoteThatIsAwayIsAskedAgain(t *testing.T) {
	t.Parallel()
	remote := filepath.Join(t.TempDir(), "remote.git")
	k := newKeeper(t, newRecord(t, "replay"), remote)
	k.announce(2)
	if in, later := workers.LaterIn(k.run()); !later || in <= 0 {
		t.Errorf("the run does not go on later")
	}
	if s := k.state(); s.Status != postgres.LedgerPending || s.Note == "" || s.Alarm() {
		t.Errorf("the ledger's state: %+v", s)
	}
	runGit(t, "init", "--quiet", "--bare", "--initial-branch=main", remote)
	k.mustRun()
	if n := k.same(remote); n != 2 || k.state().Status != postgres.LedgerPushed || k.state().Pushed != k.state().Head {
		t.Errorf("%d entries at the remote, the ledger's state: %+v", n, k.state())
	}
	entries, err := k.db.LedgerEntries(t.Context(), false)
	if err != nil || len(entries) != 2 || entries[0].PushedAt == nil || entries[1].PushedAt == nil {
		t.Errorf("entries: %+v, %v", entries, err)
	}
}

func TestAnotherHistoryAtTheRemoteIsAnAlarm(t *testing.T) {
	t.Parallel()
	remote := bare(t)
	k := newKeeper(t, newRecord(t, "replay"), remote)
	k.announce(1)
	k.mustRun()
	clone := filepath.Join(t.TempDir(), "clone")
	runGit(t, "clone", "--quiet", remote, clone)
	runGit(t, "-C", clone, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "--quiet", "--amend", "-m", "rewritten")
	runGit(t, "-C", clone, "push", "--quiet", "--force", "origin", "main")
	there := runGit(t, "-C", remote, "rev-parse", "main")
	k.announce(1)
	if err := k.run(); err == nil {
		t.Error("no error")
	}
	if s := k.state(); s.Status != postgres.LedgerDiverged || !s.Alarm() {
		t.Errorf("the ledger's state: %+v", s)
	}
	if now := runGit(t, "-C", remote, "rev-parse", "main"); now != there {
		t.Errorf("the remote was changed from %s to %s", there, now)
	}
	if n := k.same(k.dir); n != 2 {
		t.Errorf("%d entries are committed here, want 2", n)
	}
}

// A worker on another machine, or one whose disk was lost, makes the very same commits, with the remote and without.
func TestALostFolderIsWrittenAgain(t *testing.T) {
	t.Parallel()
	for name, remote := range map[string]string{"with a remote": bare(t), "without": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecord(t, "replay")
			first, second := newKeeper(t, r, remote), newKeeper(t, r, remote)
			r.announce(2)
			first.mustRun()
			r.announce(1)
			second.mustRun()
			r.announce(1)
			first.mustRun()
			if n := first.same(first.dir); n != 4 {
				t.Errorf("%d entries are committed, want 4", n)
			}
			if remote != "" && first.same(remote) != 4 {
				t.Error("the remote lacks some")
			}
		})
	}
}

func TestChangedAuthorsDoNotRewriteTheLedger(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "replay")
	k := newKeeper(t, r, "")
	r.announce(2)
	k.mustRun()
	other := newKeeper(t, r, "")
	other.Open = func(ctx context.Context) (*gitledger.Ledger, error) {
		return gitledger.Open(ctx, gitledger.Options{
			Dir: other.dir, Environment: "demo", Author: gitledger.Identity{Name: "Another", Email: "a@tidemark.invalid"}, Environ: os.Environ(),
		})
	}
	if err := other.run(); err == nil || !strings.Contains(err.Error(), "LEDGER_AUTHOR_NAME") {
		t.Errorf("error %v", err)
	}
	if s := k.state(); s.Status != postgres.LedgerConflict || !s.Alarm() {
		t.Errorf("the ledger's state: %+v", s)
	}
}

func TestASandboxesPastIsCommittedByTens(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, newRecord(t, "sandbox"), "")
	k.announce(9)
	k.mustRun()
	if n := k.count(); n != 0 {
		t.Errorf("%d entries are committed of 9", n)
	}
	k.announce(1)
	k.mustRun()
	if n := k.same(k.dir); n != 10 {
		t.Errorf("%d entries are committed of 10", n)
	}
	if n := len(k.due(task.Ledger)) + len(k.due(task.Attest)); n != 0 {
		t.Errorf("%d runs are due in the past of a sandbox", n)
	}
}

func (k *ledgerFixture) count() int {
	k.t.Helper()
	entries, err := k.db.LedgerEntries(k.t.Context(), false)
	if err != nil {
		k.t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if e.Commit != "" {
			n++
		}
	}
	return n
}
