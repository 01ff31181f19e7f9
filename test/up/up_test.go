// Package up shows what a newcomer sees: `tidemark up` from nothing, again on the same state, after a power cut, and stopped with
// Ctrl-C; and what it says when it cannot.
package up

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/pgtest"
	"tidemark/signals"
	"tidemark/test/program"
)

func TestMain(m *testing.M) {
	defer program.Build()()
	pgtest.Main(m)
}

// opsToken lets the documents' lines act on the operators' pages.
const opsToken = "0123456789abcdef0123456789abcdef"

// fewCompanies is for tests that look at no picks: a start costs a third less.
const fewCompanies = "--universe=top 8"

// start runs `up` on a separate folder and returns the process with its address, once it prints the address.
func start(t *testing.T, dir string, user uint32, args ...string) (*program.Process, string) {
	t.Helper()
	return program.Up(t, program.Options{Dir: dir, User: user, Env: []string{"LOG_FORMAT=json", "OPS_ADDR=127.0.0.1:0", "OPS_TOKEN=" + opsToken}}, args...)
}

func get(t *testing.T, url string, into any) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0
	}
	if into != nil && resp.StatusCode == http.StatusOK {
		if err := json.Unmarshal(b, into); err != nil {
			t.Fatalf("%s: %v", url, err)
		}
	}
	return resp.StatusCode
}

type catalog struct {
	Count   int
	Signals []struct {
		ID        string
		Status    string
		Value     *float64
		Z         *float64 `json:"z_score"`
		Synthetic bool
	}
}

func awaitReady(t *testing.T, base string) {
	t.Helper()
	program.Until(t, program.Timeout, "readyz answers 200", func() (bool, string) {
		code := get(t, base+"/readyz", nil)
		return code == http.StatusOK, strconv.Itoa(code)
	})
}

// awaitSignals waits until every signal is live with a value and a z-score, marked synthetic.
func awaitSignals(t *testing.T, base string) {
	t.Helper()
	awaitReady(t, base)
	var c catalog
	program.Until(t, program.Timeout, "all signals are live with a value and a z-score", func() (bool, string) {
		get(t, base+"/api/signals", &c)
		good := 0
		for _, s := range c.Signals {
			if s.Status == "live" && s.Value != nil && s.Z != nil && s.Synthetic {
				good++
			}
		}
		return good == len(signals.All()) && c.Count == good, fmt.Sprintf("%+v", c)
	})
}

// private is where `up` says that it listens for its operator.
var private = regexp.MustCompile(`operators"?[:=]"?(http://127\.0\.0\.1:\d+)/`)

// awaitMetrics checks that the private listener knows what the program does, and returns its address.
func awaitMetrics(t *testing.T, p *program.Process, base string) string {
	t.Helper()
	at := private.FindStringSubmatch(p.Output())
	if at == nil {
		t.Fatal("up does not say where its private listener is")
	}
	get(t, base+"/api/signals", nil)
	want := []*regexp.Regexp{
		regexp.MustCompile(`tidemark_job_runs_total\{job="ingest",outcome="succeeded"\} [1-9]`),
		regexp.MustCompile(`tidemark_source_requests_total\{code="(200|304)",source="eia-petroleum-spot"\} [1-9]`),
		regexp.MustCompile(`tidemark_http_requests_total\{code="200",method="GET",route="/api/signals"\} [1-9]`),
		regexp.MustCompile(`tidemark_freshness_state\{signal="crack-spread-321",state="fresh"\} 1`),
		regexp.MustCompile(`tidemark_queue_tasks\{queue="critical",state="completed"\} [1-9]`),
		regexp.MustCompile(`tidemark_chain_valid 1`),
		regexp.MustCompile(`tidemark_x402_facilitator_breaker_open 0`),
	}
	program.Until(t, program.Timeout, "the metrics know what was done", func() (bool, string) {
		body := text(t, at[1]+"/metrics")
		for _, w := range want {
			if !w.MatchString(body) {
				return false, w.String()
			}
		}
		return true, ""
	})
	if code := get(t, at[1]+"/readyz", nil); code != http.StatusOK {
		t.Errorf("/readyz of the private listener: %d", code)
	}
	return at[1]
}

// text returns the body at a URL, or "" without a response.
func text(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer func() { _ = resp.Body.Close() }()
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}

// witnesses are the lines of a verification in which both of them agree.
var witnesses = regexp.MustCompile(`(?s)ok +git +[1-9].*ok +attestations +all [1-9]`)

// awaitVerified waits until the record has caught up with the clock, and checks that a verification from outside finds everything in
// order.
func awaitVerified(t *testing.T, dir, base string) {
	t.Helper()
	var record struct{ Checks map[string]string }
	program.Until(t, program.Timeout, "the ledger and the attestations have caught up", func() (bool, string) {
		get(t, base+"/api/v1/verify/picks?limit=1", &record)
		return record.Checks["git"] == "ok" && record.Checks["attestations"] == "ok", fmt.Sprint(record.Checks)
	})
	program.Until(t, program.Timeout, "the picks are witnessed, each seal was cosigned first and is opened by its reveal", func() (bool, string) {
		status, out := program.Run(t, program.Options{Dir: dir}, "verify", "--url", base)
		return status == 0 && witnesses.MatchString(out) && opened.MatchString(out) && inOrder.MatchString(out), fmt.Sprintf("exit status %d:\n%s", status, out)
	})
}

// opened is what verify says of the seals in the log of a server.
var opened = regexp.MustCompile(`(?m)^ok +seals +[1-9][0-9]* sealed picks? in the [0-9]+ leaves of the log that the server names, each opened by its reveal`)

// inOrder is what verify says where the witnesses cosigned each seal of a sandbox before its reveal.
var inOrder = regexp.MustCompile(`(?m)^ok +seal_order +more than half of the witnesses that the server names cosigned each of [1-9][0-9]* sealed picks? before its reveal`)

// rebuilt checks that the stored portfolio still equals the portfolio computed from picks and prices, whichever process was killed.
func rebuilt(t *testing.T, dir string) {
	t.Helper()
	status, out := program.Run(t, program.Options{Dir: dir}, "portfolio", "rebuild", "--world=sandbox", "--state-dir="+filepath.Join(dir, "state"))
	if status != 0 || !strings.Contains(out, "snapshots: the same, bit for bit") || strings.HasPrefix(out, "0 ") {
		t.Errorf("exit status %d:\n%s", status, out)
	}
}

// left are the processes that have the folder in their command line.
func left(t *testing.T, dir string) []int {
	t.Helper()
	var pids []int
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(e)
		if err != nil || !strings.Contains(string(b), dir) {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(e, "/")[2]); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestUp(t *testing.T) {
	t.Parallel()
	users := map[string]uint32{"as the user of the test": 0}
	if os.Getuid() == 0 {
		users["as an ordinary user"] = 65534
	}
	for name, user := range users {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := program.Folder(t)
			if user != 0 {
				if err := os.Chown(dir, int(user), int(user)); err != nil {
					t.Fatal(err)
				}
			}
			sandbox := []string{"--world=sandbox", "--sandbox-days=9"}
			p, base := start(t, dir, user, sandbox...)
			awaitSignals(t, base)

			// A power cut: everything dies at once, servers included.
			for _, pid := range append(left(t, dir), p.PID()) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			<-p.Done
			p, base = start(t, dir, user, sandbox...)
			awaitSignals(t, base)

			// Only the program dies: its servers must not outlive it, and the next start must not mind.
			p.Kill()
			program.Until(t, program.Timeout, "the servers end with the program", func() (bool, string) {
				pids := left(t, dir)
				return len(pids) == 0, fmt.Sprint(pids)
			})
			p, base = start(t, dir, user, sandbox...)
			awaitSignals(t, base)
			operator := awaitMetrics(t, p, base)
			if user == 0 { // once is enough: the sandbox must first catch up with the present
				awaitVerified(t, dir, base)
				rebuilt(t, dir)
				documents(t, dir, base, operator)
			}

			began := time.Now()
			p.Signal(os.Interrupt.(syscall.Signal))
			select {
			case <-p.Done:
			case <-time.After(program.Timeout):
				t.Fatal("up did not end upon Ctrl-C")
			}
			t.Logf("stopped after %s", time.Since(began).Round(time.Millisecond))
			if p.Status() != 0 {
				t.Errorf("exit status %d after Ctrl-C", p.Status())
			}
			if pids := left(t, dir); len(pids) != 0 {
				t.Errorf("orphans: %v", pids)
			}
		})
	}
}

func TestUpSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	file := filepath.Join(program.Folder(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := pgtest.Empty(t)
	execSQL(t, foreign, `create table customers (id int)`)
	other := pgtest.New(t)
	execSQL(t, other, `insert into world (name) values ('live')`)
	pgtest.MigrateTo(t, other, 50)
	newer := pgtest.New(t)
	execSQL(t, newer, `insert into goose_db_version (version_id, is_applied) values (99999, true)`)

	for _, c := range []struct {
		name string
		env  []string
		want []string
	}{
		{"a port in use", []string{"ADDR=" + taken.Addr().String()}, []string{"ADDR", "another process listens at "}},
		{"a state folder that is a file", []string{"STATE_DIR=" + file}, []string{"STATE_DIR"}},
		{"a database of another program", []string{"DATABASE_URL=" + foreign, "REDIS_URL=redis://127.0.0.1:1"}, []string{"DATABASE_URL", "tables of another program"}},
		{"a database of another world", []string{"DATABASE_URL=" + other, "REDIS_URL=redis://127.0.0.1:1"}, []string{"world live", "WORLD asks for sandbox"}},
		{"a database of a newer program", []string{"DATABASE_URL=" + newer, "REDIS_URL=redis://127.0.0.1:1"}, []string{"use the newer program"}},
		{"a database that is not there", []string{"DATABASE_URL=postgres://x:hunter2@127.0.0.1:1/x", "REDIS_URL=redis://127.0.0.1:1"}, []string{"DATABASE_URL"}},
		{"two wrong settings at once", []string{"WORLD=moon", "CONCURRENCY=0"}, []string{"WORLD", "CONCURRENCY"}},
		{"a replay without an archive", []string{"WORLD=replay", "DATABASE_URL=" + pgtest.New(t), "REDIS_URL=redis://127.0.0.1:1"}, []string{"REPLAY_ARCHIVE"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := program.Folder(t)
			env := append([]string{"ADDR=127.0.0.1:0", "STATE_DIR=" + filepath.Join(dir, "state"), "WORLD=sandbox", "LOG_FORMAT=json", "LOG_LEVEL=error"}, c.env...)
			status, out := program.Run(t, program.Options{Dir: dir, Env: env}, "up")
			if status == 0 {
				t.Errorf("exit status 0")
			}
			// The database of another world is not migrated: this divides by zero if it was.
			execSQL(t, other, `select 1 / (case when max(version_id) = 50 then 1 else 0 end) from goose_db_version where is_applied`)
			for _, w := range c.want {
				if !strings.Contains(out, w) {
					t.Errorf("it says %q, want %q in it", out, w)
				}
			}
			if strings.Contains(out, "hunter2") {
				t.Errorf("it shows a password: %q", out)
			}
			for line := range strings.Lines(out) {
				if !json.Valid([]byte(line)) {
					t.Errorf("a line of LOG_FORMAT=json is %q", line)
				}
			}
			if lines := strings.Count(strings.TrimSpace(out), "\n"); lines > 2 {
				t.Errorf("%d lines, want one clear one:\n%s", lines+1, out)
			}
		})
	}
}

func execSQL(t *testing.T, url, sql string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	if _, err := c.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}
