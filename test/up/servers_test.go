package up

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"tidemark/test/program"
)

// servers are the private ones of an `up`.
type servers struct {
	t     *testing.T
	state string
	// DatabaseURL and RedisURL are as `up` keeps them for other commands.
	DatabaseURL string `json:"database_url"`
	RedisURL    string `json:"redis_url"`
}

// one reads one value. It returns an error if the server is unavailable.
func (s *servers) one(sql string, into any) error {
	ctx, stop := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer stop()
	c, err := pgx.Connect(ctx, s.DatabaseURL)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	return c.QueryRow(ctx, sql).Scan(into)
}

// number reads a number, as soon as the server answers.
func (s *servers) number(sql string) (n int) {
	s.t.Helper()
	program.Until(s.t, program.Timeout, sql, func() (bool, string) {
		err := s.one(sql, &n)
		return err == nil, fmt.Sprint(err)
	})
	return n
}

// killPostgres kills the main process of Postgres and all its children.
func (s *servers) killPostgres() {
	s.t.Helper()
	for _, pid := range s.postgres() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// postgres returns the main process of Postgres and all its children.
func (s *servers) postgres() []int {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.state, "postgres", "data", "postmaster.pid"))
	if err != nil {
		s.t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	main, err := strconv.Atoi(first)
	if err != nil {
		s.t.Fatal(err)
	}
	all := []int{main}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state parent ..."
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) > 1 && fields[1] == first {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			all = append(all, pid)
		}
	}
	return all
}

// killBackend kills the process of one connection: Postgres then ends all others, and recovers on its own.
func (s *servers) killBackend() {
	s.t.Helper()
	pid := s.number(`select pid from pg_stat_activity where application_name = 'tidemark-worker' order by backend_start desc limit 1`)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// killRedis kills Redis. It returns false if Redis is the stand-in inside the program.
func (s *servers) killRedis() bool {
	s.t.Helper()
	o, err := redis.ParseURL(s.RedisURL)
	if err != nil {
		s.t.Fatal(err)
	}
	c := redis.NewClient(o)
	defer func() { _ = c.Close() }()
	info, err := c.Info(s.t.Context(), "server").Result()
	if err != nil {
		s.t.Fatal(err)
	}
	_, after, ok := strings.Cut(info, "process_id:")
	line, _, _ := strings.Cut(after, "\r\n")
	pid, err := strconv.Atoi(line)
	if !ok || err != nil || pid == 0 {
		return false
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	return true
}

// TestUpOutlivesItsServers kills servers of a sandbox that catches up with the present: the whole Postgres five times, one of its
// connections once, and Redis once. The sandbox reaches the present, with every run done and every day's pick in the record.
func TestUpOutlivesItsServers(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("the processes of a server are found by /proc")
	}
	dir := program.Folder(t)
	o := program.Options{Dir: dir, Env: []string{"LOG_FORMAT=json", "SIGNALS_ADDR=", "OPS_ADDR="}}
	p, url := program.Up(t, o, "--world=sandbox", "--sandbox-days=12")
	s := &servers{t: t, state: filepath.Join(dir, "state", "sandbox")}
	text, err := os.ReadFile(filepath.Join(s.state, "connections.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	const clock = `select coalesce(extract(epoch from clock_at), 0)::bigint from world`
	// lived waits until the sandbox has lived through some hours more, or has arrived.
	lived := func(hours int) {
		t.Helper()
		from := s.number(clock)
		program.Until(t, program.Timeout, "the sandbox lives on", func() (bool, string) {
			select {
			case <-p.Done:
				t.Fatal("up has ended")
			default:
			}
			at := from
			err := s.one(clock, &at)
			return err == nil && (at == 0 || at > from+hours*3600), fmt.Sprint(at, err)
		})
	}
	for range 5 {
		lived(24)
		s.killPostgres()
	}
	lived(12)
	s.killBackend()
	restarts := 5
	if lived(12); s.killRedis() {
		restarts++
	}
	program.Until(t, program.Timeout, "the sandbox reaches the present", func() (bool, string) {
		at := -1
		err := s.one(clock, &at)
		return err == nil && at == 0, fmt.Sprint(at, err)
	})
	program.Until(t, program.Timeout, "everything is done and witnessed", func() (bool, string) {
		status, out := program.Run(t, program.Options{Dir: dir, Env: []string{"STATE_DIR=" + filepath.Join(dir, "state")}}, "verify", "--url", url)
		return status == 0 && witnesses.MatchString(out), out
	})
	if n := strings.Count(p.Output(), `"msg":"a private server runs again"`); n != restarts {
		t.Errorf("up says %d times that a server runs again, want %d", n, restarts)
	}
	for what, sql := range map[string]string{
		"runs have failed":     `select count(*) from runs where status = 'failed'`,
		"runs are left behind": `select count(*) from runs where status <> 'succeeded' and status <> 'skipped' and created_at < now() - interval '10 minutes'`,
		"picks are doubled":    `select count(*) - count(distinct date) from picks`,
		"entries are doubled":  `select count(*) - count(distinct (seq, gap, correction)) from ledger_entries`,
		"picks are not public": `select count(*) from picks p where announce_at < now() - interval '1 day' and not exists (select from announcements a where a.seq = p.seq)`,
		"gaps are in the past": `select count(*) from gaps`,
	} {
		if n := s.number(sql); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
}

// TestUpOutlivesAPostgresThatDiesWhileItStarts kills the private Postgres as soon as it runs, and again when the database was migrated.
func TestUpOutlivesAPostgresThatDiesWhileItStarts(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("the processes of a server are found by /proc")
	}
	dir := program.Folder(t)
	p := program.Start(t, program.Options{Dir: dir, Env: []string{
		"LOG_FORMAT=json", "ADDR=127.0.0.1:0", "SIGNALS_ADDR=", "OPS_ADDR=", "STATE_DIR=" + filepath.Join(dir, "state"), "HOME=" + dir, "DATABASE_URL=", "REDIS_URL=",
	}}, "up", "--world=sandbox", "--sandbox-days=2")
	s := &servers{t: t, state: filepath.Join(dir, "state", "sandbox")}
	writes := func(text string) {
		t.Helper()
		program.Until(t, program.Timeout, "up writes "+text, func() (bool, string) {
			select {
			case <-p.Done:
				t.Fatalf("up has ended:\n%s", p.Output())
			default:
			}
			return strings.Contains(p.Output(), text), p.Output()
		})
	}
	// up knows the server's process once it says that the server runs.
	writes(`"server":"Postgres"`)
	s.killPostgres()
	writes(`"msg":"a private server runs again"`)
	writes(`"msg":"the database was migrated"`)
	s.killPostgres()
	writes(`"msg":"the sandbox has reached the present"`)
	if n := strings.Count(p.Output(), `"msg":"a private server runs again"`); n != 2 {
		t.Errorf("up says %d times that Postgres runs again, want 2", n)
	}
}
