package gitledger_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/chain/gitledger"
)

func mustPush(tb testing.TB, l *gitledger.Ledger) gitledger.Push {
	tb.Helper()
	p, err := l.Push(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func TestARemoteThatIsAwayLeavesThePushPending(t *testing.T) {
	t.Parallel()
	remote := filepath.Join(t.TempDir(), "remote.git")
	entries := picks(t, 3)
	o := options(t, "")
	appendAll(t, open(t, o), entries[:2]...)
	o.Remote.URL = "file://" + remote
	l := open(t, o)
	if _, err := l.Push(t.Context()); !errors.Is(err, gitledger.ErrPending) {
		t.Fatalf("push to a missing remote: %v", err)
	}
	appendAll(t, l, entries[2]) // recording continues
	st, err := l.Status(t.Context())
	if err != nil || st.Pending != 3 || st.Pushed != "" {
		t.Errorf("status %+v, error %v", st, err)
	}
	git(t, t.TempDir(), "init", "--quiet", "--bare", remote)
	p := mustPush(t, l)
	if p.Sent != 3 || p.Head != st.Head && p.Head == "" {
		t.Errorf("push %+v", p)
	}
	verify(t, remote, checkpoint(entries))
	if st, err = l.Status(t.Context()); err != nil || st.Pending != 0 || st.Pushed != st.Head {
		t.Errorf("status after the push %+v, error %v", st, err)
	}
}

// An empty ledger with a remote might have lost its disk: it does not begin a second history before it has read the remote.
func TestAnEmptyLedgerAsksTheRemoteFirst(t *testing.T) {
	t.Parallel()
	entries := picks(t, 4)
	away := options(t, "file://"+filepath.Join(t.TempDir(), "gone.git"))
	if _, err := open(t, away).Append(t.Context(), entries[0]); !errors.Is(err, gitledger.ErrPending) {
		t.Errorf("began a history without the remote: %v", err)
	}

	remote := bare(t)
	first := open(t, options(t, remote))
	want := appendAll(t, first, entries[:3]...)
	mustPush(t, first)
	lost := options(t, remote)
	l := open(t, lost)
	got := appendAll(t, l, entries...)
	if diff := cmp.Diff(want, got[:3]); diff != "" {
		t.Errorf("commits after the loss of the disk\n%s", diff)
	}
	if p := mustPush(t, l); p.Sent != 1 {
		t.Errorf("push %+v", p)
	}
	verify(t, remote, checkpoint(entries))
}

func TestALedgerGoesOnToARemoteThatIsAhead(t *testing.T) {
	t.Parallel()
	remote := bare(t)
	entries := picks(t, 5)
	a, b := options(t, remote), options(t, remote)
	la, lb := open(t, a), open(t, b)
	appendAll(t, la, entries[:2]...)
	mustPush(t, la)
	appendAll(t, lb, entries...)
	mustPush(t, lb)
	p := mustPush(t, la)
	if p.Adopted != 3 || p.Sent != 0 {
		t.Errorf("push %+v", p)
	}
	verify(t, a.Dir, checkpoint(entries))
}

func TestAnotherHistoryAtTheRemoteIsAnAlarm(t *testing.T) {
	t.Parallel()
	remote := bare(t)
	entries := picks(t, 3)
	o := options(t, remote)
	l := open(t, o)
	appendAll(t, l, entries[:2]...)
	mustPush(t, l)
	// An attacker rewrites the newest commit at the remote.
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, t.TempDir(), "clone", "--quiet", remote, clone)
	git(t, clone, "commit", "--quiet", "--amend", "-m", "rewritten")
	git(t, clone, "push", "--quiet", "--force", "origin", "main")
	theirs := git(t, remote, "rev-parse", "main")
	head := appendAll(t, l, entries[2])[0].ID
	if _, err := l.Push(t.Context()); !errors.Is(err, gitledger.ErrDiverged) || errors.Is(err, gitledger.ErrPending) {
		t.Fatalf("push onto a rewritten history: %v", err)
	} else if !strings.Contains(err.Error(), theirs) || !strings.Contains(err.Error(), head) {
		t.Errorf("the alarm names not both commits: %v", err)
	}
	if got := git(t, remote, "rev-parse", "main"); got != theirs {
		t.Errorf("the remote was moved to %s", got)
	}
	if got := git(t, o.Dir, "rev-parse", "main"); got != head {
		t.Errorf("the ledger was moved to %s", got)
	}
}

// A remote's further history is accepted only if it is a ledger that verifies.
func TestARemoteAheadWithSomethingElseIsAnAlarm(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(t *testing.T, clone string){
		"a commit that records nothing": func(t *testing.T, clone string) {
			git(t, clone, "commit", "--quiet", "--allow-empty", "-m", "hello")
		},
		"a line of another form": func(t *testing.T, clone string) {
			add(t, clone, "chain/picks.ndjson", "{}\n")
		},
		"a changed line": func(t *testing.T, clone string) {
			change(t, clone, "chain/picks.ndjson", "100.50", "100.51")
		},
		"a pick that does not follow": func(t *testing.T, clone string) {
			change(t, clone, "chain/picks.ndjson", "\n", "\n"+strings.ReplaceAll(firstLine(t, clone), `"seq":1`, `"seq":2`)+"\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := bare(t)
			o := options(t, remote)
			l := open(t, o)
			head := appendAll(t, l, picks(t, 1)...)[0].ID
			mustPush(t, l)
			clone := filepath.Join(t.TempDir(), "clone")
			git(t, t.TempDir(), "clone", "--quiet", remote, clone)
			edit(t, clone)
			git(t, clone, "commit", "--quiet", "--allow-empty", "-am", "extended")
			git(t, clone, "push", "--quiet", "origin", "main")
			if _, err := l.Push(t.Context()); !errors.Is(err, gitledger.ErrDiverged) {
				t.Errorf("error %v", err)
			}
			if got := git(t, o.Dir, "rev-parse", "main"); got != head {
				t.Errorf("the ledger was moved to %s", got)
			}
		})
	}
}

func add(tb testing.TB, dir, file, line string) {
	tb.Helper()
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		tb.Fatal(err)
	}
	_, err = f.WriteString(line)
	if err := errors.Join(err, f.Close()); err != nil {
		tb.Fatal(err)
	}
	git(tb, dir, "add", ".")
}

func change(tb testing.TB, dir, file, from, to string) {
	tb.Helper()
	path := filepath.Join(dir, file)
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if !strings.Contains(string(b), from) {
		tb.Fatalf("%s does not contain %q", file, from)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(b), from, to, 1)), 0o644); err != nil {
		tb.Fatal(err)
	}
}

func firstLine(tb testing.TB, dir string) string {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "chain", "picks.ndjson"))
	if err != nil {
		tb.Fatal(err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

func TestCommitsThatTheRemoteLostArePutBackAndTold(t *testing.T) {
	t.Parallel()
	remote := bare(t)
	entries := picks(t, 3)
	l := open(t, options(t, remote))
	commits := appendAll(t, l, entries...)
	mustPush(t, l)
	git(t, remote, "update-ref", "refs/heads/main", commits[0].ID)
	p := mustPush(t, l)
	if diff := cmp.Diff(gitledger.Push{Head: commits[2].ID, Sent: 2, Restored: true}, p); diff != "" {
		t.Errorf("push -want +got\n%s", diff)
	}
	verify(t, remote, checkpoint(entries))
	git(t, remote, "update-ref", "-d", "refs/heads/main")
	if p := mustPush(t, l); p.Sent != 3 || !p.Restored {
		t.Errorf("push to an emptied remote %+v", p)
	}
}

func TestARemoteThatRefusesSaysSo(t *testing.T) {
	t.Parallel()
	remote := bare(t)
	hook := filepath.Join(remote, "hooks", "pre-receive")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hook, []byte("#!/bin/sh\necho protected branch\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	l := open(t, options(t, remote))
	appendAll(t, l, picks(t, 1)...)
	if _, err := l.Push(t.Context()); !errors.Is(err, gitledger.ErrRefused) || errors.Is(err, gitledger.ErrPending) {
		t.Errorf("error %v", err)
	}
}

// httpRemote serves a folder of repositories over HTTP with git's own server program, to a user with the token "hunter2".
func httpRemote(tb testing.TB) (url, dir string) {
	tb.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		tb.Fatal(err)
	}
	dir = bare(tb)
	git(tb, dir, "config", "http.receivepack", "true")
	backend := &cgi.Handler{Path: program, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(dir), "GIT_HTTP_EXPORT_ALL=1"}, InheritEnv: []string{"PATH"}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, token, _ := r.BasicAuth(); user != "ledger" || token != "hunter2" {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	tb.Cleanup(srv.Close)
	if out, err := exec.CommandContext(tb.Context(), program, "http-backend").CombinedOutput(); err != nil && strings.Contains(string(out), "is not a git command") {
		tb.Skip("this git has no http-backend")
	}
	return srv.URL + "/" + filepath.Base(dir), dir
}

func TestPushOverHTTPWithAToken(t *testing.T) {
	t.Parallel()
	address, dir := httpRemote(t)
	entries := picks(t, 3)
	o := options(t, address)
	o.Remote.HTTPUser, o.Remote.HTTPToken = "ledger", "hunter2"
	l := open(t, o)
	appendAll(t, l, entries...)
	if p := mustPush(t, l); p.Sent != 3 {
		t.Errorf("push %+v", p)
	}
	verify(t, dir, checkpoint(entries))
	withUser := strings.Replace(address, "http://", "http://ledger:hunter2@", 1)
	verify(t, withUser, checkpoint(entries))
}

func TestSecretsStayOutOfErrors(t *testing.T) {
	t.Parallel()
	address, _ := httpRemote(t)
	for name, edit := range map[string]func(*gitledger.Remote){
		"a token": func(r *gitledger.Remote) { r.HTTPUser, r.HTTPToken = "ledger", "wrong-s3cret" },
		"a URL's password": func(r *gitledger.Remote) {
			r.URL = strings.Replace(address, "http://", "http://ledger:wrong-s3cret@", 1)
		},
	} {
		o := options(t, address)
		appendAll(t, open(t, gitledger.Options{Dir: o.Dir, Environment: o.Environment, Author: author, Environ: os.Environ()}), picks(t, 1)...)
		edit(&o.Remote)
		_, err := open(t, o).Push(t.Context())
		if !errors.Is(err, gitledger.ErrPending) {
			t.Errorf("%s: error %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s is shown: %v", name, err)
		}
		_, err = gitledger.Read(t.Context(), gitledger.Source{Location: strings.Replace(address, "http://", "http://ledger:wrong-s3cret@", 1), Environ: os.Environ()})
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("reading: %v", err)
		}
	}
}

func TestAServerThatIsDownLeavesThePushPending(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	free, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(broken.Close)
	for _, u := range []string{"http://" + address + "/ledger.git", broken.URL + "/ledger.git", "git://" + address + "/ledger.git", "ssh://nobody@" + address + "/ledger.git"} {
		o := options(t, "")
		appendAll(t, open(t, o), picks(t, 1)...)
		o.Remote.URL = u
		if _, err := open(t, o).Push(t.Context()); !errors.Is(err, gitledger.ErrPending) {
			t.Errorf("%s: %v", u, err)
		}
	}
}
