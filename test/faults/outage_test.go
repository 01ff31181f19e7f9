package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/test/program"
)

// private is where a process says that its private listener is.
var private = regexp.MustCompile(`"setting":"OPS_ADDR","addr":"([^"]+)"`)

// health is a process's report on its private listener.
type health struct {
	status            int
	OK                bool
	Role              string
	Missing, Degraded []string
	Needs             []struct {
		Name, Setting string
		Vital, OK     bool
		Since         time.Time
		LastError     *string `json:"last_error"`
	}
}

// ready asks a process whether it is.
func ready(t *testing.T, p *program.Process) (h health) {
	t.Helper()
	at := private.FindStringSubmatch(p.Output())
	if at == nil {
		return h
	}
	a := (&client{t: t, base: "http://" + at[1]}).ask(http.MethodGet, "/readyz", "", "")
	if err := json.Unmarshal([]byte(a.body), &h); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	h.status = a.status
	return h
}

// awaitHealth waits until a process says that it misses and goes without exactly these.
func awaitHealth(t *testing.T, p *program.Process, missing, degraded string) health {
	t.Helper()
	var h health
	program.Until(t, program.Timeout, fmt.Sprintf("missing %q, degraded %q", missing, degraded), func() (bool, string) {
		h = ready(t, p)
		agree := h.status != 0 && strings.Join(h.Missing, " ") == missing && strings.Join(h.Degraded, " ") == degraded
		for _, n := range h.Needs { // the API notices an outage on its own, and marks its responses, before or after
			away := strings.Contains(missing+" "+degraded, n.Name)
			agree = agree && n.OK != away && n.Setting != "" && !n.Since.IsZero() && (!away || n.LastError != nil)
		}
		return agree, fmt.Sprintf("%+v", h)
	})
	if want := map[bool]int{true: http.StatusOK, false: http.StatusServiceUnavailable}[missing == ""]; h.status != want || h.OK != (missing == "") {
		t.Errorf("missing %q: %d, ok %t, want %d", missing, h.status, h.OK, want)
	}
	return h
}

// outage is a set-up of all roles, two of each.
type outage struct {
	*fixture

	schedulers, workers [2]*program.Process
	apis                [2]*client
	served              [2]*program.Process
	key                 string
	slots               int
	// small reports whether the state is on a separate disk that can be filled.
	small bool
}

// signal asks for a run that a worker can always do.
func (o *outage) signal() int64 {
	o.t.Helper()
	o.slots++
	id, err := o.db.AddRun(o.t.Context(), task.Signal, "crack-spread-321", time.Now().UTC().Add(time.Duration(o.slots)*time.Microsecond).Truncate(time.Microsecond), "an outage")
	if err != nil {
		o.t.Fatal(err)
	}
	return id
}

func (o *outage) settled() {
	o.t.Helper()
	for _, p := range slices.Concat(o.schedulers[:], o.workers[:], o.served[:]) {
		awaitHealth(o.t, p, "", "")
	}
}

// row is a row of the table of docs/operator.md.
var row = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`)

// TestWhatAnOutageDoes does what the table of docs/operator.md says, row by row, and asks every role how it is.
func TestWhatAnOutageDoes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operator.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, _ := strings.Cut(string(page), "## What an outage does")
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	o := &outage{fixture: newFixture(t, "ADDR=127.0.0.1:0", "OPS_ADDR=127.0.0.1:0", "LOG_LEVEL=info", "RATE_LIMIT=off", "SANDBOX_DELAY=3s")}
	o.ownDisk()
	o.pauseSchedule()
	now, err := o.db.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.save(now.Truncate(24*time.Hour), 21.5)
	for n := range 2 {
		o.schedulers[n], o.workers[n] = o.start("scheduler"), o.start("worker")
		o.apis[n], o.served[n] = o.startAPI()
	}
	o.key = o.apis[0].register()
	rows := map[string]func(*outage){
		"Postgres":                             (*outage).withoutPostgres,
		"Redis, also when it comes back empty": (*outage).withoutRedis,
		"changes to Postgres (it became a replica, or `default_transaction_read_only` is on)":      (*outage).withReadOnlyPostgres,
		"changes to Redis (it became a replica, its memory is full, or its log cannot be written)": (*outage).withFullRedis,
		"a worker, killed or frozen":            (*outage).withoutAWorker,
		"a scheduler":                           (*outage).withoutAScheduler,
		"an API":                                (*outage).withoutAnAPI,
		"the folder or bucket of `ARCHIVE_URL`": (*outage).withoutTheArchive,
		"room on the disk of `STATE_DIR`":       (*outage).withoutRoom,
	}
	listed := row.FindAllStringSubmatch(chapter, -1)
	for _, r := range listed[min(1, len(listed)):] {
		if strings.HasPrefix(r[1], "---") {
			continue
		}
		check := rows[r[1]]
		if check == nil {
			t.Errorf("nothing shows what is said of %q", r[1])
			continue
		}
		delete(rows, r[1])
		o.settled()
		check(o)
		if t.Failed() {
			t.Fatalf("that was: %s", r[1])
		}
	}
	for name := range rows {
		t.Errorf("the page has no row of %q", name)
	}
}

func (o *outage) withoutPostgres() {
	t := o.t
	waits := o.signal()
	o.awaitStatus(waits, "succeeded")
	if err := o.postgres.Kill(); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		awaitHealth(t, o.schedulers[n], "postgres", "")
		awaitHealth(t, o.workers[n], "postgres", "")
		awaitHealth(t, o.served[n], "", "postgres")
		program.Until(t, program.Timeout, "a signal is answered from memory, and marked", func() (bool, string) {
			a := o.apis[n].ask(http.MethodGet, "/api/signals/crack-spread-321", "", "")
			return a.status == http.StatusOK && a.degraded, fmt.Sprintf("%d, degraded %t", a.status, a.degraded)
		})
		o.apis[n].buy(o.key, http.StatusServiceUnavailable)
	}
	at := private.FindStringSubmatch(o.schedulers[0].Output())[1]
	if status, out := program.Run(t, program.Options{Dir: o.dir, Env: o.env}, "health", "--ops-addr="+at); status != 1 || !strings.Contains(out, "postgres") {
		t.Errorf("tidemark health: exit %d: %s", status, out)
	}
	for _, role := range []string{"scheduler", "worker", "api"} {
		if status, out := program.Run(t, program.Options{Dir: o.dir, Env: o.env}, role); status == 0 {
			t.Errorf("a %s that begins without Postgres ends well: %s", role, out)
		}
	}
	if err := o.postgres.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.connect()
	o.settled()
	o.awaitStatus(o.signal(), "succeeded")
	o.apis[0].delivered = 0
	program.Until(t, program.Timeout, "keys are good again", func() (bool, string) {
		a := o.apis[0].ask(http.MethodGet, "/api/v1/picks", "", o.key)
		return a.status == http.StatusOK, fmt.Sprintf("%d: %s", a.status, a.body)
	})
	if n := o.query(`select count(*) from ledger where kind = 'charge'`)[0]; n != "1" {
		t.Errorf("%s answers were charged, one was given", n)
	}
}

func (o *outage) withoutRedis() {
	t := o.t
	if err := o.redis.Kill(); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		h := awaitHealth(t, o.schedulers[n], "redis", "")
		if h.Role != "scheduler" {
			t.Errorf("the role is %q", h.Role)
		}
		awaitHealth(t, o.workers[n], "redis", "")
		awaitHealth(t, o.served[n], "", "redis")
		if a := o.apis[n].ask(http.MethodGet, "/api/signals/crack-spread-321", "", ""); a.status != http.StatusOK || a.degraded {
			t.Errorf("a signal: %d, degraded %t", a.status, a.degraded)
		}
		o.apis[n].buy(o.key, http.StatusOK)
	}
	waits := o.signal()
	if err := o.redis.Restart(t.Context()); err != nil { // it kept nothing on disk
		t.Fatal(err)
	}
	o.awaitStatus(waits, "succeeded")
}

func (o *outage) withReadOnlyPostgres() {
	t := o.t
	before := o.query(`select count(*) from ledger where kind = 'charge'`)[0]
	o.admin(`alter system set default_transaction_read_only = on`)
	o.admin(`select pg_reload_conf()`)
	for n := range 2 {
		h := awaitHealth(t, o.schedulers[n], "postgres", "")
		for _, need := range h.Needs {
			if need.Name == "postgres" && !strings.Contains(deref(need.LastError), "read-only") {
				t.Errorf("the error is %q", deref(need.LastError))
			}
		}
		awaitHealth(t, o.workers[n], "postgres", "")
		awaitHealth(t, o.served[n], "", "postgres")
		for _, path := range []string{"/api/signals/crack-spread-321", "/api/signals/crack-spread-321?as_of=2020-01-01"} {
			if a := o.apis[n].ask(http.MethodGet, path, "", ""); a.status != http.StatusOK && a.status != http.StatusNotFound { // nothing was known then
				t.Errorf("%s: %d: %s", path, a.status, a.body)
			}
		}
		o.apis[n].buy(o.key, http.StatusServiceUnavailable)
	}
	if status, out := program.Run(t, program.Options{Dir: o.dir, Env: o.env}, "doctor"); status != 1 || !strings.Contains(out, "the database is read-only") {
		t.Errorf("the doctor says of a read-only database (exit %d):\n%s", status, out)
	}
	for _, role := range []string{"scheduler", "worker"} {
		if status, out := program.Run(t, program.Options{Dir: o.dir, Env: o.env}, role); status == 0 || !strings.Contains(out, "read-only") {
			t.Errorf("a %s that begins with a read-only Postgres: exit %d: %s", role, status, out)
		}
	}
	o.admin(`alter system reset default_transaction_read_only`)
	o.admin(`select pg_reload_conf()`)
	o.settled()
	o.awaitStatus(o.signal(), "succeeded")
	if after := o.query(`select count(*) from ledger where kind = 'charge'`)[0]; after != before {
		t.Errorf("%s answers were charged before, %s after", before, after)
	}
}

func (o *outage) withFullRedis() {
	t := o.t
	limit := func(bytes string) {
		t.Helper()
		if err := o.redisClient().ConfigSet(t.Context(), "maxmemory", bytes).Err(); err != nil {
			t.Fatal(err)
		}
	}
	limit("1")
	for n := range 2 {
		awaitHealth(t, o.schedulers[n], "redis", "")
		awaitHealth(t, o.workers[n], "redis", "")
		awaitHealth(t, o.served[n], "", "redis")
		if a := o.apis[n].ask(http.MethodGet, "/api/signals/crack-spread-321", "", ""); a.status != http.StatusOK || a.degraded {
			t.Errorf("a signal: %d, degraded %t", a.status, a.degraded)
		}
		o.apis[n].buy(o.key, http.StatusOK)
	}
	waits := o.signal()
	limit("0")
	o.awaitStatus(waits, "succeeded")
}

func (o *outage) withoutAWorker() {
	t := o.t
	for name, sig := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "frozen": syscall.SIGSTOP} {
		id := o.ingest()
		r := o.awaitStatus(id, "running")
		for n, w := range o.workers {
			if !strings.HasSuffix(deref(r.Worker), fmt.Sprintf("/%d", w.PID())) {
				continue
			}
			w.Signal(sig)
			if r = o.awaitStatus(id, "succeeded"); r.Losses != 1 {
				t.Errorf("%s: %d losses, want 1", name, r.Losses)
			}
			w.Signal(syscall.SIGCONT)
			if sig == syscall.SIGKILL {
				<-w.Done
				o.workers[n] = o.start("worker")
			}
		}
		for _, p := range slices.Concat(o.schedulers[:], o.served[:]) {
			awaitHealth(t, p, "", "")
		}
		o.settled()
	}
}

func (o *outage) withoutAScheduler() {
	o.schedulers[0].Kill()
	o.awaitStatus(o.signal(), "succeeded")
	o.schedulers[0] = o.start("scheduler")
}

func (o *outage) withoutAnAPI() {
	t := o.t
	before := o.query(`select count(*) from ledger where kind = 'charge'`)[0]
	first := o.apis[0].again(o.key)
	o.served[0].Kill()
	second := o.apis[1].again(o.key)
	if first.status != http.StatusOK || second.status != http.StatusOK || first.body != second.body {
		t.Errorf("the answers: %d %s\n%d %s", first.status, first.body, second.status, second.body)
	}
	var was, is int
	if _, err := fmt.Sscan(before+" "+o.query(`select count(*) from ledger where kind = 'charge'`)[0], &was, &is); err != nil || is != was+1 {
		t.Errorf("charged %d times (%v)", is-was, err)
	}
	o.apis[0], o.served[0] = o.startAPI()
}

// ownDisk puts the state on a small separate disk, if this user may mount one.
func (o *outage) ownDisk() {
	o.t.Helper()
	dir := o.dir + "/state"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		o.t.Fatal(err)
	}
	if out, err := exec.CommandContext(o.t.Context(), "mount", "-t", "tmpfs", "-o", "size=64m", "none", dir).CombinedOutput(); err != nil {
		o.t.Logf("no disk can be mounted here: %v: %s", err, out)
		return
	}
	o.small = true
	o.t.Cleanup(func() { _ = exec.CommandContext(context.Background(), "umount", "-l", dir).Run() })
}

// fill leaves no room on the disk of a file, and returns what makes some.
func fill(t *testing.T, path string) (empty func()) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func (o *outage) withoutRoom() {
	t := o.t
	if !o.small {
		t.Log("a full disk was not tried: this user may mount none")
		return
	}
	empty := fill(t, o.dir+"/state/filler")
	id, err := o.db.AddRun(t.Context(), task.Ingest, "worldbank-pink-sheet", time.Now().UTC().Truncate(time.Microsecond), "a full disk")
	if err != nil {
		t.Fatal(err)
	}
	program.Until(t, program.Timeout, "the run cannot keep its bytes, and is tried again", func() (bool, string) {
		r := o.run(id)
		return r.Failures > 0 && r.Status == "due" && r.NextTryAt != nil && strings.Contains(deref(r.Error), "no room is left on the disk"),
			fmt.Sprintf("%s: %s", r.Status, deref(r.Error))
	})
	o.settled()
	o.awaitStatus(o.signal(), "succeeded")
	for n := range 2 {
		if a := o.apis[n].ask(http.MethodGet, "/api/signals/crack-spread-321", "", ""); a.status != http.StatusOK || a.degraded {
			t.Errorf("a signal: %d, degraded %t", a.status, a.degraded)
		}
		o.apis[n].buy(o.key, http.StatusOK)
	}
	if _, out := program.Run(t, program.Options{Dir: o.dir, Env: o.env}, "doctor"); !strings.Contains(out, "the disk is full") || !strings.Contains(out, "make room at ARCHIVE_URL") {
		t.Errorf("the doctor says of a full disk:\n%s", out)
	}
	empty()
	o.admin(`update runs set next_try_at = null where id = $1`, id) // its pause is over
	o.awaitStatus(id, "succeeded")
}

func (o *outage) withoutTheArchive() {
	t := o.t
	folder := o.dir + "/state/sandbox/archive"
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		awaitHealth(t, o.workers[n], "", "archive")
		awaitHealth(t, o.schedulers[n], "", "")
		awaitHealth(t, o.served[n], "", "")
	}
	o.awaitStatus(o.signal(), "succeeded")
	if err := os.Rename(folder+".away", folder); err != nil {
		t.Fatal(err)
	}
	o.settled()
	if list := o.runs(postgres.RunFilter{Status: "failed"}); len(list) > 0 {
		t.Errorf("%d runs have failed, the first: %s", len(list), deref(list[0].Error))
	}
}
