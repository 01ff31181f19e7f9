package gitledger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/chain"
	"tidemark/chain/gitledger"
)

var author = gitledger.Identity{Name: "Tidemark ledger", Email: "ledger@example.org"}

// picks makes n picks announced at 18:00 New York on consecutive days of January 2025.
func picks(tb testing.TB, n int) []gitledger.Entry {
	tb.Helper()
	tickers := []string{"AAPL", "MSFT", "BRK.B", "F", "NVDA"}
	var at chain.Checkpoint
	entries := make([]gitledger.Entry, n)
	day := time.Date(2025, 1, 2, 23, 0, 0, 0, time.UTC)
	for i := range entries {
		l, err := chain.Next(at, tickers[i%len(tickers)], fmt.Sprintf("%d.50", 100+i), day.Format(time.DateOnly))
		if err != nil {
			tb.Fatal(err)
		}
		entries[i] = gitledger.Entry{At: day, Pick: &l}
		at, day = chain.Checkpoint{Length: l.Seq, Head: l.Hash, Date: l.Date}, day.AddDate(0, 0, 1)
	}
	return entries
}

func gap(date, reason string, at time.Time) gitledger.Entry {
	return gitledger.Entry{At: at, Gap: &chain.Gap{Date: date, Reason: reason}}
}

func options(tb testing.TB, remote string) gitledger.Options {
	tb.Helper()
	return gitledger.Options{
		Dir: filepath.Join(tb.TempDir(), "ledger.git"), Environment: "demo", Author: author,
		Remote: gitledger.Remote{URL: remote}, Environ: os.Environ(),
	}
}

func open(tb testing.TB, o gitledger.Options) *gitledger.Ledger {
	tb.Helper()
	l, err := gitledger.Open(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func appendAll(tb testing.TB, l *gitledger.Ledger, entries ...gitledger.Entry) []gitledger.Commit {
	tb.Helper()
	commits, err := l.Append(tb.Context(), entries...)
	if err != nil {
		tb.Fatal(err)
	}
	return commits
}

// git runs the machine's git as a stranger would, with nothing configured.
func git(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=m", "GIT_AUTHOR_EMAIL=m@example.org", "GIT_COMMITTER_NAME=m", "GIT_COMMITTER_EMAIL=m@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// bare makes an empty repository to push to.
func bare(tb testing.TB) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "remote.git")
	git(tb, tb.TempDir(), "init", "--quiet", "--bare", "--initial-branch=main", dir)
	return dir
}

// verify reads a ledger back, recomputes its chain and returns it.
func verify(tb testing.TB, location string, want chain.Checkpoint) *gitledger.Record {
	tb.Helper()
	r, err := gitledger.Read(tb.Context(), gitledger.Source{Location: location, Environ: os.Environ()})
	if err != nil {
		tb.Fatal(err)
	}
	got, err := chain.Verify(chain.Each(r.Links()))
	if err != nil {
		tb.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("checkpoint of %s -want +got\n%s", location, diff)
	}
	return r
}

func checkpoint(entries []gitledger.Entry) chain.Checkpoint {
	l := entries[len(entries)-1].Pick
	return chain.Checkpoint{Length: l.Seq, Head: l.Hash, Date: l.Date}
}

func TestEachAnnouncementIsOneCommitThatReadsBack(t *testing.T) {
	t.Parallel()
	o := options(t, "")
	l := open(t, o)
	entries := picks(t, 3)
	entries = append(entries,
		gap("2025-01-09", "markets closed: day of mourning", entries[2].At.Add(time.Hour)),
		gitledger.Entry{At: entries[2].At.Add(2 * time.Hour), Correction: &chain.Correction{
			Seq: 2, What: "The close was 102.50 <not 101.50> & nobody saw it", Evidence: "https://example.org/?a=1&b=2", Date: "2025-01-05",
		}})
	commits := appendAll(t, l, entries...)
	r := verify(t, o.Dir, checkpoint(entries[:3]))
	if r.Environment != "demo" || r.Head != commits[4].ID || len(r.Gaps) != 1 || len(r.Corrections) != 1 {
		t.Fatalf("record %+v", r)
	}
	for i, p := range r.Picks {
		if p.Link != *entries[i].Pick || p.Commit != commits[i] || !p.Commit.At.Equal(entries[i].At) {
			t.Errorf("pick %d reads back as %+v", i+1, p)
		}
	}
	if r.Gaps[0].Gap != *entries[3].Gap || r.Gaps[0].Commit != commits[3] {
		t.Errorf("gap reads back as %+v", r.Gaps[0])
	}
	if r.Corrections[0].Correction != *entries[4].Correction || r.Corrections[0].Commit != commits[4] {
		t.Errorf("correction reads back as %+v", r.Corrections[0])
	}
	if got := git(t, o.Dir, "rev-list", "--count", "main"); got != "5" {
		t.Errorf("%s commits for 5 entries", got)
	}
	line := git(t, o.Dir, "show", "main:chain/picks.ndjson")
	want := `{"seq":1,"ticker":"AAPL","price":"100.50","date":"2025-01-02","previous_hash":"` + chain.Genesis +
		`","hash":"` + entries[0].Pick.Hash + `","preimage":"AAPL|100.50|2025-01-02|` + chain.Genesis + `"}`
	if first, _, _ := strings.Cut(line, "\n"); first != want {
		t.Errorf("first line\n%s\nwant\n%s", first, want)
	}
	git(t, o.Dir, "fsck", "--strict", "--no-dangling")
}

// The first commit is made a second time with the plain git command, from files written by this test, and the test states its id. A change
// of any byte of a ledger would make the writers of one ledger disagree.
func TestCommitIsWhatGitMakesOfTheFiles(t *testing.T) {
	t.Parallel()
	o := options(t, "")
	entries := picks(t, 1)
	got := appendAll(t, open(t, o), entries...)[0].ID
	page, err := os.ReadFile("readme.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	if err := os.Mkdir(filepath.Join(dir, "chain"), 0o755); err != nil {
		t.Fatal(err)
	}
	zeros := strings.Repeat("0", 64)
	for name, content := range map[string]string{
		"README.md":         strings.Replace(string(page), "{{environment}}", "This is a demonstration (environment: demo): its picks were made on simulated or recorded data, under a clock that is not the\nwall clock. It proves nothing about anyone's skill.", 1),
		"chain/ledger.json": `{"format":1,"environment":"demo","algorithm":"SHA-256","rule":"ticker|price|date|previous_hash","genesis":"` + zeros + `"}` + "\n",
		"chain/picks.ndjson": `{"seq":1,"ticker":"AAPL","price":"100.50","date":"2025-01-02","previous_hash":"` + zeros + `","hash":"` +
			entries[0].Pick.Hash + `","preimage":"AAPL|100.50|2025-01-02|` + zeros + `"}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "add", ".")
	message := "Pick 1: AAPL at 100.50 on 2025-01-02\n\nHash: " + entries[0].Pick.Hash + "\nEnvironment: demo"
	git(t, dir, "-c", "user.name="+author.Name, "-c", "user.email="+author.Email, "commit", "--quiet", "-m", message)
	cmd := exec.CommandContext(t.Context(), "git", "commit", "--quiet", "--amend", "--reset-author", "--no-edit")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME="+author.Name, "GIT_AUTHOR_EMAIL="+author.Email, "GIT_AUTHOR_DATE=2025-01-02T23:00:00Z",
		"GIT_COMMITTER_NAME="+author.Name, "GIT_COMMITTER_EMAIL="+author.Email, "GIT_COMMITTER_DATE=2025-01-02T23:00:00Z")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := git(t, dir, "rev-parse", "HEAD"); got != want {
		t.Errorf("the commit is %s, git makes %s of the same files", got, want)
	}
	if want := "12c8af82ae0266804d3d589174f696acff1aef5c"; got != want {
		t.Errorf("the commit is %s, in all versions before it was %s", got, want)
	}
}

func TestTwoWritersMakeTheSameCommits(t *testing.T) {
	t.Parallel()
	remote := bare(t)
	entries := picks(t, 4)
	a, b := options(t, remote), options(t, remote)
	la, lb := open(t, a), open(t, b)
	all := appendAll(t, la, entries...)
	// The other writer works in other steps, and with nothing at the remote yet.
	var single []gitledger.Commit
	for _, e := range entries {
		single = append(single, appendAll(t, lb, e)...)
	}
	if diff := cmp.Diff(all, single); diff != "" {
		t.Fatalf("commits of two writers differ\n%s", diff)
	}
	for i, l := range []*gitledger.Ledger{la, lb, la} {
		p, err := l.Push(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := gitledger.Push{Head: all[3].ID}
		if i == 0 {
			want.Sent = 4
		}
		if diff := cmp.Diff(want, p); diff != "" {
			t.Errorf("push %d -want +got\n%s", i, diff)
		}
	}
	verify(t, "file://"+remote, checkpoint(entries))
}

func TestAppendingTwiceIsAppendingOnce(t *testing.T) {
	t.Parallel()
	o := options(t, "")
	entries := picks(t, 3)
	entries = append(entries, gap("2025-01-09", "closed", entries[2].At))
	l := open(t, o)
	first := appendAll(t, l, entries...)
	again := appendAll(t, open(t, o), entries...)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("commits -first +again\n%s", diff)
	}
	if alone := appendAll(t, l, entries[1]); alone[0] != first[1] {
		t.Errorf("pick 2 asked for alone has commit %v, want %v", alone[0], first[1])
	}
	if got := git(t, o.Dir, "rev-list", "--count", "main"); got != "4" {
		t.Errorf("%s commits, want 4", got)
	}
}

func TestWhatDoesNotBelongIsRefusedWhole(t *testing.T) {
	t.Parallel()
	entries := picks(t, 4)
	other, err := chain.Next(chain.Checkpoint{}, "ZZZZ", "1.00", "2025-01-02")
	if err != nil {
		t.Fatal(err)
	}
	forged := *entries[2].Pick
	forged.Price = "1.00"
	var broken *chain.Error
	for _, tt := range []struct {
		name  string
		entry gitledger.Entry
		ok    func(error) bool
	}{
		{"another pick under a recorded number", gitledger.Entry{At: entries[0].At, Pick: &other}, func(err error) bool { return errors.Is(err, gitledger.ErrConflict) }},
		{"another reason for a recorded gap", gap("2025-01-09", "another", entries[0].At), func(err error) bool { return errors.Is(err, gitledger.ErrConflict) }},
		{"a pick that skips one", entries[3], func(err error) bool { return errors.As(err, &broken) && broken.Seq == 4 }},
		{"a pick with a wrong hash", gitledger.Entry{At: entries[2].At, Pick: &forged}, func(err error) bool { return errors.As(err, &broken) && broken.Field == "hash" }},
		{"a correction of a pick to come", gitledger.Entry{At: entries[2].At, Correction: &chain.Correction{Seq: 9, What: "x", Evidence: "y", Date: "2025-01-09"}}, func(err error) bool { return err != nil }},
		{"nothing", gitledger.Entry{At: entries[2].At}, func(err error) bool { return err != nil }},
		{"no instant", gitledger.Entry{Pick: entries[2].Pick}, func(err error) bool { return err != nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := options(t, "")
			l := open(t, o)
			head := appendAll(t, l, entries[0], entries[1], gap("2025-01-09", "closed", entries[1].At))[2]
			// A good entry before the bad one is not recorded either.
			before := gap("2025-01-10", "closed", entries[1].At)
			if _, err := l.Append(t.Context(), before, tt.entry); !tt.ok(err) {
				t.Errorf("error %v", err)
			}
			st, err := l.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if st.Head != head.ID {
				t.Errorf("the ledger moved to %s", st.Head)
			}
		})
	}
}

func TestALedgerHasOneEnvironment(t *testing.T) {
	t.Parallel()
	o := options(t, "")
	appendAll(t, open(t, o), picks(t, 1)...)
	o.Environment = "live"
	if _, err := gitledger.Open(t.Context(), o); !errors.Is(err, gitledger.ErrConflict) {
		t.Errorf("a demo ledger opened as live: %v", err)
	}
	o.Environment = "test"
	if _, err := gitledger.Open(t.Context(), o); err == nil {
		t.Error("an unknown environment was accepted")
	}
}

func TestOptionsAreCheckedTogether(t *testing.T) {
	t.Parallel()
	_, err := gitledger.Open(t.Context(), gitledger.Options{
		Environment: "prod", Author: gitledger.Identity{Name: "x"}, Branch: "a b",
		Remote: gitledger.Remote{URL: "ext::sh -c true"}, Environ: os.Environ(),
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, part := range []string{"folder", "prod", "author", "branch", "ext::sh"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not speak of %q: %v", part, err)
		}
	}
	for _, u := range []string{"--upload-pack=x", "ext::sh", "ftp://x/y", "relative/path"} {
		o := options(t, u)
		if _, err := gitledger.Open(t.Context(), o); err == nil {
			t.Errorf("the remote %q was accepted", u)
		}
	}
}

// The README inside the ledger tells a stranger what to type. It is typed here, in a clone, and once more after a forgery.
func TestReadmeVerifiesTheLedger(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"sh", "sha256sum", "sed", "awk"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s: %v", tool, err)
		}
	}
	o := options(t, "")
	entries := picks(t, 5)
	appendAll(t, open(t, o), entries...)
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, t.TempDir(), "clone", "--quiet", o.Dir, clone)
	page, err := os.ReadFile(filepath.Join(clone, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "environment: demo") {
		t.Error("the README does not say that this is a demo")
	}
	blocks := strings.Split(string(page), "```sh\n")
	if len(blocks) != 4 {
		t.Fatalf("%d code blocks in the README, want 3", len(blocks)-1)
	}
	run := func(block int) (string, error) {
		script, _, _ := strings.Cut(blocks[block], "```")
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
		cmd.Dir = clone
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run(1)
	if err != nil || !strings.Contains(out, "every link matches, the head is "+entries[4].Pick.Hash) {
		t.Errorf("the README's check of a good chain: %v\n%s", err, out)
	}
	if out, err := run(2); err != nil || out != "" {
		t.Errorf("the README's check of a good history: %v\n%s", err, out)
	}
	file := filepath.Join(clone, "chain", "picks.ndjson")
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(good), "102.50", "103.50")), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := run(1); err == nil || !strings.Contains(out, `broken at: {"seq":3`) {
		t.Errorf("the README's check of a forged chain: %v\n%s", err, out)
	}
	git(t, clone, "commit", "--quiet", "-am", "forged")
	if out, err := run(2); err != nil || !strings.Contains(out, "chain/picks.ndjson") {
		t.Errorf("the README's check of a forged history: %v\n%s", err, out)
	}
}

func TestUserConfigurationAndHooksDoNotReachTheLedger(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	hooks := filepath.Join(home, "hooks")
	if err := os.Mkdir(hooks, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"reference-transaction", "pre-push", "post-commit"} {
		if err := os.WriteFile(filepath.Join(hooks, hook), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := "[core]\n\thooksPath = " + hooks + "\n[commit]\n\tgpgSign = true\n[user]\n\tname = Someone\n[i18n]\n\tcommitEncoding = latin1\n[init]\n\ttemplateDir = " + hooks + "\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	entries := picks(t, 2)
	plain := options(t, bare(t))
	want := appendAll(t, open(t, plain), entries...)
	odd := options(t, bare(t))
	odd.Environ = []string{"PATH=" + pathOf(t), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "GIT_DIR=/nonexistent", "GIT_AUTHOR_NAME=x", "GIT_COMMITTER_DATE=@1", "LANG=de_DE.UTF-8"}
	l := open(t, odd)
	if diff := cmp.Diff(want, appendAll(t, l, entries...)); diff != "" {
		t.Errorf("the user's configuration changed the commits\n%s", diff)
	}
	if _, err := l.Push(t.Context()); err != nil {
		t.Errorf("push: %v", err)
	}
}

func pathOf(tb testing.TB) string {
	tb.Helper()
	for _, e := range os.Environ() {
		if p, ok := strings.CutPrefix(e, "PATH="); ok {
			return p
		}
	}
	tb.Fatal("no PATH")
	return ""
}

func TestCallsAtOnceMakeOneHistory(t *testing.T) {
	t.Parallel()
	o := options(t, bare(t))
	entries := picks(t, 6)
	failed := make(chan error, 8)
	for i := range cap(failed) {
		go func() {
			failed <- func() error {
				l, err := gitledger.Open(t.Context(), o)
				if err != nil {
					return err
				}
				for n := range entries {
					if _, err := l.Append(t.Context(), entries[:n+1]...); err != nil {
						return fmt.Errorf("writer %d: %w", i, err)
					}
				}
				_, err = l.Push(t.Context())
				return err
			}()
		}()
	}
	for range cap(failed) {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	verify(t, o.Remote.URL, checkpoint(entries))
	if got := git(t, o.Dir, "rev-list", "--count", "main"); got != "6" {
		t.Errorf("%s commits, want 6", got)
	}
}

func TestACanceledCallChangesNothing(t *testing.T) {
	t.Parallel()
	o := options(t, "")
	l := open(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Append(ctx, picks(t, 1)...); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if st, err := l.Status(t.Context()); err != nil || st.Head != "" || st.Chain.Length != 0 {
		t.Errorf("status %+v, error %v", st, err)
	}
}
