package devstack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

func startPostgres(t *testing.T, o PostgresOptions) *Server {
	t.Helper()
	o.Throwaway = true
	s, err := StartPostgres(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func startRedis(t *testing.T, o RedisOptions) *Server {
	t.Helper()
	s, err := StartRedis(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func TestPostgresComesBackAfterSIGKILLOfAllItsProcesses(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	s := startPostgres(t, PostgresOptions{Dir: dir})
	execute(t, s.URL(), `create table tide (height text); insert into tide values ('high')`)
	pids := s.PIDs()
	if len(pids) < 4 {
		t.Fatalf("server has the processes %v, want the postmaster and its helpers", pids)
	}
	for _, pid := range pids {
		if maps, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "maps")); err == nil && strings.Contains(string(maps), "/dev/shm/") {
			t.Errorf("process %d shares memory in /dev/shm: whoever kills it and removes its folder leaves that behind", pid)
		}
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if anyAlive(pids) {
		t.Error("some of its processes are alive after Kill")
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "postmaster.pid")); err != nil {
		t.Errorf("this test means to find a stale postmaster.pid: %v", err)
	}
	url := s.URL()
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := query(t, url, `select height from tide`); got != "high" {
		t.Errorf("committed row is %q, want high", got)
	}
}

// A session that outlives the killed main process is told that it ends. A cancelled statement would look like one that took too long.
func TestASessionOfAKilledPostgresIsTold(t *testing.T) {
	t.Parallel()
	if !seesWorkingFolders {
		t.Skip("this system does not show whose folder a process works in")
	}
	s := startPostgres(t, PostgresOptions{Dir: openDir(t)})
	c, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	said := make(chan error, 1)
	go func() {
		_, err := c.Exec(t.Context(), "select count(*) from generate_series(1, 10000000000::bigint)")
		said <- err
	}()
	for busy := "0"; busy != "1"; {
		busy = query(t, s.URL(), fmt.Sprintf(`select count(*)::text from pg_stat_activity where pid = %d and state = 'active'`, c.PgConn().PID()))
	}
	if err := syscall.Kill(s.PIDs()[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-s.Died(); err == nil {
		t.Error("nothing says how it ended")
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-said; err == nil || strings.Contains(err.Error(), "57014") {
		t.Errorf("the session was told %v", err)
	}
}

// A postmaster.pid can name a running process of the same user. That happens in containers, where process numbers are small.
func TestPostgresStartsAlthoughItsOldNumberIsTaken(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	s := startPostgres(t, PostgresOptions{Dir: dir})
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	other := exec.CommandContext(t.Context(), "sleep", "60")
	s.home.prepare(other)
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	path := filepath.Join(dir, "data", "postmaster.pid")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(content), "\n")
	if err := os.WriteFile(path, []byte(itoa(other.Process.Pid)+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestStartReplacesAPostmasterLeftOnTheFolder(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	s := startPostgres(t, PostgresOptions{Dir: dir})
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := s.command(t.Context(), s.Port())
	s.home.prepare(left)
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = left.Process.Kill() })
	eventually(t, "the other postmaster answers", func() bool { return s.answer(t.Context(), s.Port()) == nil })
	again := startPostgres(t, PostgresOptions{Dir: dir})
	if again.PIDs()[0] == left.Process.Pid {
		t.Error("the new handle holds the old process")
	}
	if err := left.Wait(); err != nil {
		t.Errorf("the old postmaster ended with %v, want an orderly end", err)
	}
	if got := query(t, again.URL(), `select 'works'`); got != "works" {
		t.Errorf("the new server answers %q", got)
	}
}

func TestRestartKeepsThePort(t *testing.T) {
	t.Parallel()
	s := startPostgres(t, PostgresOptions{Dir: openDir(t)})
	first, pid := s.URL(), s.PIDs()[0]
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.URL() != first || s.PIDs()[0] == pid {
		t.Errorf("after Restart: %s as process %d, want the same address %s and another process than %d", s.URL(), s.PIDs()[0], first, pid)
	}
	if got := query(t, first, `select 'works'`); got != "works" {
		t.Errorf("it answers %q", got)
	}
}

func TestStopDoesNotWaitForClients(t *testing.T) {
	t.Parallel()
	s := startPostgres(t, PostgresOptions{Dir: openDir(t)})
	conn := connect(t, s.URL())
	if _, err := conn.Exec(t.Context(), `begin; create table held (x int)`); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.PIDs() != nil {
		t.Errorf("processes %v are left", s.PIDs())
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
}

// A server that does not react, here because it is frozen, is killed within the five seconds.
func TestStopEndsAFrozenServer(t *testing.T) {
	t.Parallel()
	s := startRedis(t, RedisOptions{Dir: openDir(t)})
	pid := s.PIDs()[0]
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Error("it is alive")
	}
}

func TestUnexpectedEndIsTold(t *testing.T) {
	t.Parallel()
	s := startPostgres(t, PostgresOptions{Dir: openDir(t)})
	if err := syscall.Kill(s.PIDs()[0], syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	err := <-s.Died()
	if !strings.Contains(err.Error(), "Postgres ended unexpectedly") || !strings.Contains(err.Error(), "immediate shutdown request") {
		t.Errorf("error %q does not name the server and quote its log", err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.Died():
		t.Errorf("Stop was told as an unexpected end: %v", err)
	default:
	}
}

func TestRedisKeepsItsContentOnlyWithAppendOnly(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fact       string
		appendOnly bool
		end        func(*Server) error
		want       string
	}{
		{"stop with append only keeps", true, func(s *Server) error { return s.Stop(t.Context()) }, "high"},
		{"kill with append only keeps what was synced", true, (*Server).Kill, "high"},
		{"stop without append only loses", false, func(s *Server) error { return s.Stop(t.Context()) }, ""},
		{"kill without append only loses", false, (*Server).Kill, ""},
	} {
		t.Run(test.fact, func(t *testing.T) {
			t.Parallel()
			s := startRedis(t, RedisOptions{Dir: openDir(t), AppendOnly: test.appendOnly})
			c := redisClient(t, s.URL())
			if err := c.Set(t.Context(), "tide", "high", 0).Err(); err != nil {
				t.Fatal(err)
			}
			if test.appendOnly {
				if err := c.Do(t.Context(), "waitaof", 1, 0, 5000).Err(); err != nil {
					// Before Redis 7.2 the command does not exist: the journal is written once the file has grown.
					eventually(t, "the journal has the key", func() bool { return journalHolds(s, "tide") })
				}
			}
			if err := test.end(s); err != nil {
				t.Fatal(err)
			}
			if err := s.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := redisClient(t, s.URL()).Get(t.Context(), "tide").Val(); got != test.want {
				t.Errorf("tide = %q, want %q", got, test.want)
			}
		})
	}
}

func TestBusyPortIsPassedOver(t *testing.T) {
	t.Parallel()
	first := startRedis(t, RedisOptions{Dir: openDir(t)})
	dir := openDir(t)
	if err := os.WriteFile(filepath.Join(dir, "server.json"), []byte(`{"port":`+itoa(first.Port())+`,"password":"x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	second := startRedis(t, RedisOptions{Dir: dir})
	if second.Port() == first.Port() {
		t.Errorf("both are on %d", first.Port())
	}
	if _, err := StartRedis(t.Context(), RedisOptions{Dir: openDir(t), Port: first.Port()}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a port that was asked for and is taken: error is %v, want one that says so", err)
	}
}

func TestSettingsOfTheCallerWin(t *testing.T) {
	t.Parallel()
	s := startPostgres(t, PostgresOptions{Dir: openDir(t), Settings: map[string]string{"max_connections": "17"}})
	if got := query(t, s.URL(), `select current_setting('max_connections')`); got != "17" {
		t.Errorf("max_connections = %s, want 17", got)
	}
	config, err := pgx.ParseConfig(s.URL())
	if err != nil || config.Host != "127.0.0.1" || int(config.Port) != s.Port() || config.Database != "tidemark" {
		t.Errorf("URL %s (%v) does not lead to database tidemark on port %d", s.URL(), err, s.Port())
	}
}

// journalHolds reports whether a file of the append-only journal contains text.
func journalHolds(s *Server, text string) bool {
	files, _ := filepath.Glob(filepath.Join(s.Dir(), "data", "appendonly*", "*"))
	single, _ := filepath.Glob(filepath.Join(s.Dir(), "data", "*.aof"))
	for _, file := range append(files, single...) {
		if content, err := os.ReadFile(file); err == nil && strings.Contains(string(content), text) {
			return true
		}
	}
	return false
}

func itoa(n int) string { return strconv.Itoa(n) }
