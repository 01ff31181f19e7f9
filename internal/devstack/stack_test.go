package devstack

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestSecondStartFindsDataPortAndPassword(t *testing.T) {
	t.Parallel()
	state := filepath.Join(openDir(t), "state", "sandbox")
	first := startStack(t, Options{StateDir: state})
	execute(t, first.DatabaseURL, `create table tide (height text); insert into tide values ('high')`)
	if err := redisClient(t, first.RedisURL).Set(t.Context(), "tide", "high", 0).Err(); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(before); took > 5*time.Second {
		t.Errorf("stop took %s, want at most 5 s", took)
	}
	second := startStack(t, Options{StateDir: state})
	if got, want := second.DatabaseURL, first.DatabaseURL; got != want {
		t.Errorf("second start has the database at %s, the first had it at %s", got, want)
	}
	if got, want := second.RedisURL, first.RedisURL; got != want {
		t.Errorf("second start has Redis at %s, the first had it at %s", got, want)
	}
	if got := query(t, second.DatabaseURL, `select height from tide`); got != "high" {
		t.Errorf("database kept %q, want high", got)
	}
	if got := redisClient(t, second.RedisURL).Get(t.Context(), "tide").Val(); got != "high" {
		t.Errorf("Redis kept %q, want high", got)
	}
}

func TestServersAreClosedToStrangers(t *testing.T) {
	t.Parallel()
	state := openDir(t)
	s := startStack(t, Options{StateDir: state})
	for setting, want := range map[string]string{
		"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "synchronous_commit": "on", "fsync": "on", "max_connections": "200", "jit": "off",
	} {
		if got := query(t, s.DatabaseURL, `select current_setting($1)`, setting); got != want {
			t.Errorf("%s = %q, want %q", setting, got, want)
		}
	}
	methods := query(t, s.DatabaseURL, `select string_agg(distinct auth_method, ',') from pg_hba_file_rules`)
	if methods != "scram-sha-256" {
		t.Errorf("connections are let in by %s, want scram-sha-256 alone", methods)
	}
	wrong := redisClient(t, strings.Replace(s.RedisURL, s.Redis.home.keep.Password, "guess", 1))
	if err := wrong.Ping(t.Context()).Err(); err == nil {
		t.Error("Redis let a wrong password in")
	}
	if got := redisClient(t, s.RedisURL).ConfigGet(t.Context(), "bind").Val()["bind"]; got != "127.0.0.1" {
		t.Errorf("Redis listens on %q, want 127.0.0.1", got)
	}
	for _, server := range []*Server{s.Postgres, s.Redis} {
		info, err := os.Stat(filepath.Join(server.Dir(), "server.json"))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s is %o, want 600", info.Name(), got)
		}
		for _, pid := range server.PIDs() {
			arguments, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "cmdline"))
			if err == nil && bytes.Contains(arguments, []byte(server.home.keep.Password)) {
				t.Errorf("process %d shows its password to all", pid)
			}
		}
		if group, err := syscall.Getpgid(server.PIDs()[0]); err != nil || group == syscall.Getpgrp() {
			t.Errorf("%s shares our process group (%d, %v): Ctrl-C would reach it", server.name, group, err)
		}
	}
}

func TestGivenServersAreUsedAsTheyAre(t *testing.T) {
	t.Parallel()
	state := filepath.Join(openDir(t), "state")
	s := startStack(t, Options{StateDir: state, DatabaseURL: "postgres://db.example/x", RedisURL: "redis://cache.example", throwaway: true})
	if s.DatabaseURL != "postgres://db.example/x" || s.RedisURL != "redis://cache.example" || s.Postgres != nil || s.Redis != nil {
		t.Errorf("got %+v, want the two given URLs and no server", s)
	}
	if _, err := os.Stat(state); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state folder was made (%v), though nothing needs it", err)
	}
}

func TestFolderInUseIsRefused(t *testing.T) {
	t.Parallel()
	state := openDir(t)
	s := startStack(t, Options{StateDir: state, RedisURL: "redis://cache.example", throwaway: true})
	_, err := Start(t.Context(), Options{StateDir: state, RedisURL: "redis://cache.example", throwaway: true})
	if err == nil {
		t.Fatal("two stacks run on one folder")
	}
	for _, part := range []string{"STATE_DIR", state, itoa(os.Getpid())} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not name %s", err, part)
		}
	}
	oneLine(t, err)
	if got := query(t, s.DatabaseURL, `select 'works'`); got != "works" {
		t.Errorf("the first stack answers %q", got)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	startStack(t, Options{StateDir: state, RedisURL: "redis://cache.example", throwaway: true})
}

func TestDataOfAnotherVersionIsRefused(t *testing.T) {
	t.Parallel()
	state := openDir(t)
	s := startStack(t, Options{StateDir: state, RedisURL: "redis://cache.example", throwaway: true})
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Postgres.Dir(), "data", "PG_VERSION"), []byte("12\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{StateDir: state, RedisURL: "redis://cache.example", throwaway: true})
	if err == nil {
		t.Fatal("data of PostgreSQL 12 was opened")
	}
	for _, part := range []string{"PostgreSQL 12", "PostgreSQL " + s.Postgres.Version(), "install", "STATE_DIR"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %s", err, part)
		}
	}
	oneLine(t, err)
}

func TestFailedStartQuotesTheLog(t *testing.T) {
	t.Parallel()
	state := openDir(t)
	s := startStack(t, Options{StateDir: state, RedisURL: "redis://cache.example", throwaway: true})
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(s.Postgres.Dir(), "data", "postgresql.auto.conf")
	if err := os.WriteFile(settings, []byte("tide_height = 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{StateDir: state, RedisURL: "redis://cache.example", throwaway: true})
	if err == nil || !strings.Contains(err.Error(), `unrecognized configuration parameter "tide_height"`) {
		t.Errorf("error %v does not quote the server's reason", err)
	}
}

func TestUnusableFolderIsNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(openDir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{StateDir: file})
	if err == nil || !strings.Contains(err.Error(), "STATE_DIR") || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v does not name STATE_DIR and %s", err, file)
	}
	oneLine(t, err)
}

func TestLostPasswordIsNotReplaced(t *testing.T) {
	t.Parallel()
	state := openDir(t)
	s := startStack(t, Options{StateDir: state, RedisURL: "redis://cache.example", throwaway: true})
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(s.Postgres.Dir(), "server.json")); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{StateDir: state, RedisURL: "redis://cache.example", throwaway: true})
	if err == nil || !strings.Contains(err.Error(), "server.json") {
		t.Errorf("error %v does not name the missing file", err)
	}
}

func TestInterruptedFirstStartIsBegunAgain(t *testing.T) {
	t.Parallel()
	state := openDir(t)
	half := filepath.Join(state, "postgres", "data.new", "base")
	if err := os.MkdirAll(half, 0o755); err != nil {
		t.Fatal(err)
	}
	s := startStack(t, Options{StateDir: state, RedisURL: "redis://cache.example", throwaway: true})
	if got := query(t, s.DatabaseURL, `select current_database()`); got != "tidemark" {
		t.Errorf("database is %q, want tidemark", got)
	}
	if _, err := os.Stat(filepath.Dir(half)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the half-made folder is still there: %v", err)
	}
}

func TestCancelledStartLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	state := openDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Options{StateDir: state, RedisURL: "redis://cache.example", throwaway: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
	for _, folder := range []string{"data", "data.new"} {
		if pids := processesIn(filepath.Join(state, "postgres", folder), "postgres"); len(pids) > 0 {
			t.Errorf("processes %v work in %s", pids, folder)
		}
	}
	startStack(t, Options{StateDir: state, RedisURL: "redis://cache.example", throwaway: true})
}

func TestStandInForRedisKeepsTimeAndSaysWhatItIs(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := startStack(t, Options{
		StateDir: openDir(t), DatabaseURL: "postgres://db.example/x", OnlyBinDirs: true, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if !strings.Contains(log.String(), "stand-in") || !strings.Contains(log.String(), "loses its content") {
		t.Errorf("log is %q, want a line that says it is a stand-in", log.String())
	}
	c := redisClient(t, s.RedisURL)
	if err := c.Set(t.Context(), "short", "lived", 50*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a key has expired by the wall clock", func() bool {
		return errors.Is(c.Get(t.Context(), "short").Err(), redis.Nil)
	})
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", c.Options().Addr); err == nil {
		_ = conn.Close()
		t.Error("the stand-in listens after Stop")
	}
}

func TestMachineWithoutPostgresIsRecognised(t *testing.T) {
	t.Parallel()
	_, err := StartPostgres(t.Context(), PostgresOptions{Dir: openDir(t), OnlyBinDirs: true})
	if !errors.Is(err, ErrNotInstalled) {
		t.Errorf("error is %v, want ErrNotInstalled", err)
	}
}

func oneLine(t *testing.T, err error) {
	t.Helper()
	if err != nil && strings.Contains(err.Error(), "\n") {
		t.Errorf("error has more than one line:\n%v", err)
	}
}

// Between its fork and its exec, a child has every file of its parent open, including the lock.
func TestAFolderIsFreeWhenItIsGivenUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	over := make(chan struct{})
	var children sync.WaitGroup
	for range 4 {
		children.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					_ = exec.CommandContext(t.Context(), "true").Run()
				}
			}
		})
	}
	for i := range 200 {
		h := &stateDir{dir: dir}
		if err := h.lock(); err != nil {
			t.Errorf("after %d times: %v", i, err)
			break
		}
		h.unlock()
	}
	close(over)
	children.Wait()
}

func TestAServerThatEndsIsStartedAgainUntilThatIsOfNoUse(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := startStack(t, Options{
		StateDir: filepath.Join(openDir(t), "state"), DatabaseURL: "postgres://elsewhere", Log: slog.New(slog.NewTextHandler(&out, nil)),
	})
	if s.Redis == nil {
		t.Skip("no redis-server on this machine")
	}
	if err := redisClient(t, s.RedisURL).Set(t.Context(), "tide", "high", 0).Err(); err != nil {
		t.Fatal(err)
	}
	kept := make(chan error, 1)
	go func() { kept <- s.Keep(t.Context()) }()
	for n := range maxRestarts + 1 {
		var pids []int
		for len(pids) == 0 {
			select {
			case err := <-kept:
				t.Fatalf("given up after %d deaths: %v", n, err)
			case <-time.After(10 * time.Millisecond):
			}
			pids = s.Redis.PIDs()
		}
		if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for slices.Contains(s.Redis.PIDs(), pids[0]) {
			<-time.After(10 * time.Millisecond)
		}
	}
	if err := <-kept; err == nil || !strings.Contains(err.Error(), "Redis was started 5 times and ended each time") {
		t.Errorf("after %d deaths in a row: %v", maxRestarts+1, err)
	}
	if strings.Contains(out.String(), "The end of") || strings.Count(out.String(), "a private server has ended") != maxRestarts {
		t.Errorf("each death is one line, without the server's own log:\n%s", out.String())
	}
}
