//go:build linux

package devstack

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestServersDoNotOutliveAKilledParent(t *testing.T) {
	t.Parallel()
	state := openDir(t)
	c, err := startChild(t, state, nil)
	if err != nil {
		t.Fatal(err)
	}
	pids := append(c.PostgresPIDs, c.RedisPIDs...)
	if !anyAlive(c.PostgresPIDs) || !anyAlive(c.RedisPIDs) {
		t.Fatalf("the child's servers %v do not run", pids)
	}
	execute(t, c.DatabaseURL, `create table tide (height text); insert into tide values ('high')`)
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
	eventually(t, "no server of a killed parent is alive", func() bool { return !anyAlive(pids) })
	s := startStack(t, Options{StateDir: state})
	if got := query(t, s.DatabaseURL, `select height from tide`); got != "high" {
		t.Errorf("committed row is %q, want high", got)
	}
}

func TestOrdinaryUserRunsServersAsItself(t *testing.T) {
	t.Parallel()
	nobody := another(t)
	state := filepath.Join(openDir(t), "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(state, int(nobody.Uid), int(nobody.Gid)); err != nil {
		t.Fatal(err)
	}
	for _, start := range []string{"first", "second"} {
		c, err := startChild(t, state, &syscall.SysProcAttr{Credential: nobody})
		if err != nil {
			t.Fatalf("%s start: %v", start, err)
		}
		for _, pid := range []int{c.PostgresPIDs[0], c.RedisPIDs[0]} {
			info, err := os.Stat(filepath.Join("/proc", itoa(pid)))
			if err != nil {
				t.Fatal(err)
			}
			if uid := info.Sys().(*syscall.Stat_t).Uid; uid != nobody.Uid {
				t.Errorf("%s start: process %d belongs to user %d, want %d", start, pid, uid, nobody.Uid)
			}
		}
		if start == "first" {
			execute(t, c.DatabaseURL, `create table tide (height text); insert into tide values ('high')`)
		} else if got := query(t, c.DatabaseURL, `select height from tide`); got != "high" {
			t.Errorf("committed row is %q, want high", got)
		}
		_ = c.stdin.Close()
		if err := c.cmd.Wait(); err != nil {
			t.Errorf("%s stop: %v\n%s", start, err, c.err)
		}
	}
	// Root takes over that user's data, and runs the server as that user.
	s := startStack(t, Options{StateDir: state})
	if got := query(t, s.DatabaseURL, `select height from tide`); got != "high" {
		t.Errorf("root finds %q, want high", got)
	}
	if got := s.Postgres.home.account.uid; got != nobody.Uid {
		t.Errorf("as root the server runs as user %d, want %d, who owns the data", got, nobody.Uid)
	}
}

func TestOrdinaryUserIsToldWhichFolderIsClosed(t *testing.T) {
	t.Parallel()
	nobody := another(t)
	closed := openDir(t)
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	unreadable := filepath.Join(openDir(t), "state")
	if err := os.MkdirAll(filepath.Join(unreadable, "postgres"), 0o755); err != nil {
		t.Fatal(err)
	}
	for fact, state := range map[string]string{
		"a parent is closed":           filepath.Join(closed, "state"),
		"the folder belongs to others": unreadable,
	} {
		_, err := startChild(t, state, &syscall.SysProcAttr{Credential: nobody})
		if err == nil {
			t.Fatalf("%s: it started", fact)
		}
		if !strings.Contains(err.Error(), "STATE_DIR") || !strings.Contains(err.Error(), state) || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: error %q does not name STATE_DIR, %s and the reason", fact, err, state)
		}
		oneLine(t, err)
	}
}

func TestRootKeepsDataElsewhereWhenServersCannotEnter(t *testing.T) {
	t.Parallel()
	another(t)
	closed := openDir(t)
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(closed, "state")
	s := startStack(t, Options{StateDir: state})
	for _, server := range []*Server{s.Postgres, s.Redis} {
		t.Cleanup(func() {
			_ = server.Stop(t.Context())
			_ = os.RemoveAll(server.Dir())
		})
		if !strings.HasPrefix(server.Dir(), elsewhere) {
			t.Errorf("%s keeps its data in %s, want a folder below %s", server.name, server.Dir(), elsewhere)
		}
	}
	link, err := os.Readlink(filepath.Join(state, "postgres"))
	if err != nil || link != s.Postgres.Dir() {
		t.Errorf("the state folder leads to %q (%v), want %s", link, err, s.Postgres.Dir())
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := startStack(t, Options{StateDir: state})
	if again.Postgres.Dir() != s.Postgres.Dir() || again.DatabaseURL != s.DatabaseURL {
		t.Errorf("second start is at %s, the first was at %s", again.DatabaseURL, s.DatabaseURL)
	}
	if err := again.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestRootRunsServersAsAnotherUser(t *testing.T) {
	t.Parallel()
	another(t)
	s := startStack(t, Options{StateDir: openDir(t)})
	for _, pid := range append(s.Postgres.PIDs(), s.Redis.PIDs()...) {
		status, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "status"))
		if err != nil {
			continue // a helper that has ended meanwhile
		}
		for line := range strings.Lines(string(status)) {
			if fields := strings.Fields(line); fields[0] == "Uid:" && fields[1] == "0" {
				t.Errorf("process %d runs as root", pid)
			}
			if fields := strings.Fields(line); fields[0] == "Groups:" && len(fields) > 1 {
				t.Errorf("process %d kept the groups %v", pid, fields[1:])
			}
		}
	}
}

// another returns the user "nobody", as which root can run a child. It skips the test for other users.
func another(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this needs root, who can become another user")
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Skipf("this machine has no user nobody: %v", err)
	}
	uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
	if errUID != nil || errGID != nil {
		t.Fatal(errUID, errGID)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
