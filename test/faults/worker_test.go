package faults

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/task"
	"tidemark/test/program"
	"tidemark/workers"
)

const spot = "eia-petroleum-spot"

// ingest asks for a run of the spot prices now.
func (s *fixture) ingest() int64 {
	s.t.Helper()
	id, err := s.db.AddRun(s.t.Context(), task.Ingest, spot, time.Now().UTC().Truncate(time.Microsecond), s.t.Name())
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// undisturbed returns the rows that one run stores without a fault.
func undisturbed(t *testing.T) []string {
	t.Helper()
	s := newFixture(t)
	s.pauseSchedule()
	s.start("scheduler")
	s.start("worker")
	s.awaitStatus(s.ingest(), "succeeded")
	rows := s.observations()
	if len(rows) < 10_000 {
		t.Fatalf("an undisturbed run brought %d rows", len(rows))
	}
	return rows
}

// pauseSchedule keeps the clock's own slots out of a test.
func (s *fixture) pauseSchedule() {
	s.t.Helper()
	s.admin(`alter table schedules alter column paused set default true`)
}

func TestWorkerKilledInMidTask(t *testing.T) { // R1
	t.Parallel()
	want := undisturbed(t)
	s := newFixture(t, "SANDBOX_DELAY=2s")
	s.pauseSchedule()
	s.start("scheduler")
	first := s.start("worker")
	id := s.ingest()
	s.awaitStatus(id, "running")
	first.Kill()
	killed := time.Now()
	s.start("worker")
	program.Until(t, program.Timeout, "the work resumes", func() (bool, string) {
		r := s.run(id)
		return r.Status == "running" && r.Attempt == 2, r.Status
	})
	t.Logf("resumed %s after the kill", time.Since(killed).Round(100*time.Millisecond))
	r := s.awaitStatus(id, "succeeded")
	if r.Losses != 1 || r.Failures != 0 {
		t.Errorf("%d losses and %d failures, want 1 and 0", r.Losses, r.Failures)
	}
	if d := cmp.Diff(want, s.observations()); d != "" {
		t.Errorf("rows differ from an undisturbed run (-want +got):\n%s", d)
	}
}

// shownWorker is a worker as `tidemark workers --json` shows it.
type shownWorker struct {
	Worker string
	Since  *time.Time
	State  string
	Places int
	Runs   []struct {
		ID           int64
		Job, Subject string
		Since        time.Time
	}
}

func (s *fixture) workers() (list []shownWorker) {
	s.t.Helper()
	code, out := s.command("workers", "--json", "--log-level=error")
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 {
		s.t.Fatalf("exit %d: %v: %s", code, err, out)
	}
	return list
}

func TestTheWorkersAreListedWithWhatTheyDo(t *testing.T) {
	t.Parallel()
	s := newFixture(t, "SANDBOX_DELAY=1h", "OPS_ADDR=127.0.0.1:0", "LOG_LEVEL=info")
	s.pauseSchedule()
	if list := s.workers(); len(list) != 0 {
		t.Errorf("workers where there are none: %+v", list)
	}
	scheduler := s.start("scheduler")
	busy := s.start("worker")
	id := s.ingest()
	s.awaitStatus(id, "running")
	idle := s.start("worker")
	state := func(p *program.Process) (string, shownWorker) {
		for _, w := range s.workers() {
			if strings.HasSuffix(w.Worker, "/"+strconv.Itoa(p.PID())) {
				return w.State, w
			}
		}
		return "", shownWorker{}
	}
	program.Until(t, program.Timeout, "both are listed", func() (bool, string) {
		a, w := state(busy)
		b, v := state(idle)
		return a == "at work" && b == "idle" && len(w.Runs) == 1 && w.Runs[0].ID == id && w.Runs[0].Subject == spot && !w.Runs[0].Since.IsZero() &&
			w.Since != nil && w.Places == workers.Places(4, 4) && len(v.Runs) == 0, fmt.Sprintf("%+v %+v", w, v)
	})
	at := private.FindStringSubmatch(busy.Output())[1]
	page := (&client{t: t, base: "http://" + at}).ask(http.MethodGet, "/workers", "", "").body
	if !strings.Contains(page, "/"+strconv.Itoa(busy.PID())) || !strings.Contains(page, "ingest "+spot) || !strings.Contains(page, ">idle<") {
		t.Errorf("the page:\n%s", page)
	}
	scheduler.Kill() // no scheduler starts the run again
	busy.Kill()
	idle.Signal(syscall.SIGTERM)
	<-idle.Done
	program.Until(t, program.Timeout, "the killed one is silent, and the other gone", func() (bool, string) {
		a, w := state(busy)
		b, _ := state(idle)
		return a == "silent" && len(w.Runs) == 1 && w.Since == nil && b == "", a + " " + b
	})
}

func TestWorkerKilledTenTimes(t *testing.T) {
	t.Parallel()
	want := undisturbed(t)
	s := newFixture(t, "SANDBOX_DELAY=150ms")
	s.pauseSchedule()
	s.start("scheduler")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	id := s.ingest()
	kills := 0
	for kills < 10 {
		w := s.start("worker")
		// From the claim on a run of this length has fetches, archive writes, staging and the commit before it; the moment is anywhere.
		program.Until(t, program.Timeout, "the run is claimed or over", func() (bool, string) {
			r := s.run(id)
			return r.Status == "running" || r.Status == "succeeded", r.Status
		})
		pause(t, time.Duration(random.Int64N(int64(900*time.Millisecond))))
		w.Kill()
		kills++
		if s.run(id).Status == "succeeded" { // the kill came too late: begin again, the rows must stay as they are
			id = s.ingest()
		}
	}
	s.start("worker")
	s.awaitStatus(id, "succeeded")
	if d := cmp.Diff(want, s.observations()); d != "" {
		t.Errorf("rows differ from an undisturbed run (-want +got):\n%s", d)
	}
}

func TestWorkerFrozen(t *testing.T) { // R4
	t.Parallel()
	want := undisturbed(t)
	s := newFixture(t, "SANDBOX_DELAY=2s")
	s.pauseSchedule()
	s.start("scheduler")
	frozen := s.start("worker")
	id := s.ingest()
	s.awaitStatus(id, "running")
	frozen.Signal(syscall.SIGSTOP)
	s.start("worker")
	r := s.awaitStatus(id, "succeeded")
	if r.Attempt != 2 {
		t.Errorf("attempt %d succeeded, want 2", r.Attempt)
	}
	before := s.observations()
	pause(t, 60*time.Second)
	frozen.Signal(syscall.SIGCONT)
	program.Until(t, program.Timeout, "the thawed worker finds that it was given up", func() (bool, string) {
		return strings.Contains(frozen.Output(), "nothing of it counts"), ""
	})
	if d := cmp.Diff(want, before); d != "" {
		t.Errorf("rows differ from an undisturbed run (-want +got):\n%s", d)
	}
	if d := cmp.Diff(before, s.observations()); d != "" {
		t.Errorf("the old attempt changed rows (-before +after):\n%s", d)
	}
	if r := s.run(id); r.Status != "succeeded" || r.Attempt != 2 {
		t.Errorf("the run is %s, attempt %d, want succeeded by attempt 2", r.Status, r.Attempt)
	}
}

func TestWorkerStopsInTime(t *testing.T) {
	t.Parallel()
	s := newFixture(t, "SANDBOX_DELAY=1h")
	s.pauseSchedule()
	s.start("scheduler")
	w := s.start("worker")
	id := s.ingest()
	s.awaitStatus(id, "running")
	began := time.Now()
	w.Signal(syscall.SIGTERM)
	select {
	case <-w.Done:
	case <-time.After(program.Timeout):
		t.Fatal("the worker did not stop upon SIGTERM")
	}
	t.Logf("stopped after %s", time.Since(began).Round(time.Millisecond))
	program.Until(t, program.Timeout, "the run is given back", func() (bool, string) {
		r := s.run(id)
		return r.Attempt == 2 && r.Losses == 0 && r.Failures == 0, r.Status
	})
}
