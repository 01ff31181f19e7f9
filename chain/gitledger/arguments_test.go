package gitledger

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// call is one start of git: its arguments, and the protocols that it may use.
type call struct {
	args  []string
	allow string
}

// recorded replaces the program of g by one that writes down how it is started, and then is git. The returned function returns the calls of
// the commands that read or write another repository.
func recorded(t *testing.T, g *git) (calls func() []call) {
	t.Helper()
	dir := t.TempDir()
	log, shim := filepath.Join(dir, "log"), filepath.Join(dir, "git")
	script := "#!/bin/sh\n{ echo; echo \"$GIT_ALLOW_PROTOCOL\"; printf '%s\\n' \"$@\"; } >> '" + log + "'\nexec '" + g.program + "' \"$@\"\n"
	if err := os.WriteFile(shim, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	g.program = shim
	return func() (list []call) {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for block := range strings.SplitSeq(strings.TrimPrefix(string(text), "\n"), "\n\n") {
			lines := strings.Split(strings.TrimSuffix(block, "\n"), "\n")
			if slices.Contains([]string{"ls-remote", "fetch", "push"}, lines[1]) {
				list = append(list, call{lines[1:], lines[0]})
			}
		}
		return list
	}
}

// committed returns a repository with one commit.
func committed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "--quiet", "--allow-empty", "--message=a"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %s", args, out)
		}
	}
	return dir
}

// The name of a repository comes after "--". Otherwise git takes a name that begins with - for an option, and some options name a program to run.
func TestTheNameOfARepositoryIsNeverAnOptionOfGit(t *testing.T) {
	t.Parallel()
	g, err := newGit(t.Context(), "", os.Environ(), Remote{})
	if err != nil {
		t.Fatal(err)
	}
	calls := recorded(t, &g)
	dir := committed(t)
	var said []error
	for _, location := range []string{dir, "--upload-pack=x:y"} {
		_, err := g.importForeign(t.Context(), Source{Location: location, Branch: "main"}, t.TempDir())
		said = append(said, err)
	}
	own := g
	own.dir = filepath.Join(t.TempDir(), "ledger.git")
	if err := own.initBare(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	for _, location := range []string{dir, "--receive-pack=x:y"} {
		l := &Ledger{branch: "refs/heads/main", opts: Options{Remote: Remote{URL: location}}}
		_, err := l.fetchRemote(t.Context(), own, &state{})
		said = append(said, err, l.send(t.Context(), own, "HEAD"))
	}
	seen := map[string]int{}
	for _, c := range calls() {
		seen[c.args[0]]++
		// The name is the first argument that is not an option of ours.
		at := slices.Index(c.args, "--")
		if at < 0 {
			t.Errorf("%q has no --", c.args)
			continue
		}
		if name := c.args[at+1]; !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "--") || slices.ContainsFunc(c.args[:at], func(a string) bool { return strings.Contains(a, ":y") || a == dir }) {
			t.Errorf("%q names its repository before --", c.args)
		}
	}
	if seen["ls-remote"] != 4 || seen["fetch"] != 2 || seen["push"] != 2 {
		t.Errorf("git was started so often: %v; it said:\n%v", seen, errors.Join(said...))
	}
}

// Copies are read as files, and an address never is: each by its own protocols alone.
func TestAForeignRepositoryIsReadByItsOwnProtocolsAlone(t *testing.T) {
	t.Parallel()
	for location, allow := range map[string]string{committed(t): "file", "http://127.0.0.1:1/x": "git:http:https:ssh", "git@127.0.0.1:x": "git:http:https:ssh"} {
		g, err := newGit(t.Context(), "", os.Environ(), Remote{})
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(location, "git@") {
			g.env = append(g.env, "GIT_SSH_COMMAND=false")
		}
		calls := recorded(t, &g)
		_, _ = g.importForeign(t.Context(), Source{Location: location, Branch: "main"}, t.TempDir())
		list := calls()
		if len(list) == 0 {
			t.Errorf("%s: git was not started", location)
		}
		for _, c := range list {
			if c.allow != allow {
				t.Errorf("%s: git %s may use %q, want %q", location, c.args[0], c.allow, allow)
			}
		}
	}
}
