package devstack

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// With this argument, the test binary starts a stack, prints its addresses, and waits until it is stopped or killed.
const holdCommand = "hold-a-stack"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == holdCommand {
		if err := hold(os.Args[2], os.Stdin, os.Stdout); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	m.Run()
	_ = os.Remove(copyPath())
}

// held is the data that the child prints once its servers answer.
type held struct {
	DatabaseURL, RedisURL string
	PostgresPIDs          []int
	RedisPIDs             []int
}

func hold(dir string, until io.Reader, out io.Writer) error {
	ctx := context.Background()
	s, err := Start(ctx, Options{StateDir: dir})
	if err != nil {
		return err
	}
	err = json.NewEncoder(out).Encode(held{s.DatabaseURL, s.RedisURL, s.Postgres.PIDs(), s.Redis.PIDs()})
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, until); err != nil {
		return err
	}
	return s.Stop(ctx)
}

// child is the test binary running as another process.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	err   *strings.Builder
	held
}

// startChild runs hold on dir in its own process, as another user if attr says so, and waits until its servers answer.
func startChild(t *testing.T, dir string, attr *syscall.SysProcAttr) (*child, error) {
	t.Helper()
	c := &child{cmd: exec.CommandContext(t.Context(), executable(t), holdCommand, dir), err: &strings.Builder{}}
	c.cmd.SysProcAttr = attr
	c.cmd.Dir = "/"
	c.cmd.Stderr = c.err
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		_ = c.cmd.Wait()
		return nil, fmt.Errorf("%s", strings.TrimSpace(c.err.String()))
	}
	if err := json.Unmarshal(line, &c.held); err != nil {
		t.Fatal(err)
	}
	return c, nil
}

// executable returns a copy of the test binary in a folder that every user can enter.
func executable(t *testing.T) string {
	t.Helper()
	path, err := copyOnce()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var copyOnce = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(self)
	if err != nil {
		return "", err
	}
	return copyPath(), os.WriteFile(copyPath(), content, 0o755)
})

func copyPath() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("tidemark-devstack-test-%d", os.Getpid()))
}

// openDir returns a temporary folder that every user can enter, unlike t.TempDir.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tidemark-devstack-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the test's folder: %v", err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startStack starts a stack and stops it at the end of the test.
func startStack(t *testing.T, o Options) *Stack {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

// connect opens a connection to the database at url and closes it at the end of the test.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func query(t *testing.T, url, sql string, args ...any) string {
	t.Helper()
	var answer string
	if err := connect(t, url).QueryRow(t.Context(), sql, args...).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return answer
}

func execute(t *testing.T, url, sql string) {
	t.Helper()
	if _, err := connect(t, url).Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func redisClient(t *testing.T, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(options)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// eventually polls until fact holds, and fails the test if it does not hold within a minute.
func eventually(t *testing.T, what string, fact func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !fact() {
		select {
		case <-deadline:
			t.Fatalf("after a minute it is not so that %s", what)
		case <-tick.C:
		}
	}
}

// alive reports whether a process runs. An ended process that was not waited for does not run.
func alive(pid int) bool {
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil
}

func anyAlive(pids []int) bool { return slices.ContainsFunc(pids, alive) }
