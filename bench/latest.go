package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tidemark/api/view"
	"tidemark/ingest/world"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/signals"
)

const (
	// latestClients send requests at once, each on its own connection.
	latestClients = 64
	// latestTime is how long each server is asked in a round, latestRounds how often, after one round that does not count.
	latestTime, latestRounds = 4 * time.Second, 7
	// changes is the number of snapshots committed in order, changesInTurn the number before the other server's turn, and changeLimit the
	// limit of the 99th percentile.
	changes, changesInTurn, changeLimit = 500, 50, 10 * time.Millisecond
	// pollPause is the pause between two requests that look for a change. Without it the polling would take the cores from the measured
	// program.
	pollPause = 200 * time.Microsecond
	// clockTick is Linux's unit of the times in /proc/PID/stat.
	clockTick = 10 * time.Millisecond
)

// latestSnapshot measures P1: the newest snapshot of a signal, from an API process as it is run, against nginx with the same bytes in
// a file. Beside them are our own handler under net/http, and fasthttp with the same bytes and header. The load comes from wrk, which costs less
// than any of them.
func latestSnapshot(ctx context.Context, m *meter) error {
	nginx, err := findNginx()
	if err != nil {
		m.say("  not measured: %v", err)
		return nil
	}
	wrk, err := exec.LookPath("wrk")
	if err != nil {
		m.say("  not measured: there is no wrk on this machine; on Debian: apt-get install wrk")
		return nil //nolint:nilerr // it is said, and the others go on
	}
	return withFixture(ctx, fortyYears, func(ctx context.Context, s *fixture) error {
		ours, err := s.startAPI(ctx)
		if err != nil {
			return err
		}
		defer ours.stop()
		b := &latestBench{meter: m, wrk: wrk}
		return b.run(ctx, s, nginx, ours)
	})
}

type latestBench struct {
	*meter

	wrk string
}

// latestSide is one of the servers, and what was measured of it: requests a second, and CPU time a request.
type latestSide struct {
	name, url string
	pid       int
	header    []string
	rates     []float64
	costs     []time.Duration
}

func (b *latestBench) run(ctx context.Context, s *fixture, nginx string, ours *apiProcess) error {
	files := filepath.Join(s.dir, "files")
	if err := os.Mkdir(files, 0o755); err != nil {
		return err
	}
	header, body, err := ours.answer(ctx, s.client)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(files, "latest"), body, 0o644); err != nil { //nolint:gosec // nginx's workers run as another user
		return err
	}
	address, pid, stop, err := startNginx(ctx, nginx, s.dir, files)
	if err != nil {
		return err
	}
	defer stop()
	library, libraryPID, stopLibrary, err := startFasthttp(ctx, s.dir, filepath.Join(files, "latest"), header)
	if err != nil {
		return err
	}
	defer stopLibrary()
	us := &latestSide{name: "ours", url: ours.url, pid: ours.cmd.Process.Pid}
	// The fast path does not know this field, and leaves the request to net/http and its handler.
	plain := &latestSide{name: "net/http", url: ours.url, pid: us.pid, header: []string{"-H", "X-Fast-Path: no"}}
	fast := &latestSide{name: "fasthttp", url: library + "/latest", pid: libraryPID}
	them := &latestSide{name: "nginx", url: address + "/latest", pid: pid}
	sides := []*latestSide{us, plain, fast, them}
	for round := range latestRounds + 1 {
		for _, side := range sides {
			if err := b.round(ctx, side, round > 0); err != nil {
				return err
			}
		}
	}
	for _, side := range sides {
		memory, err := resident(side.pid)
		if err != nil {
			return err
		}
		b.say("  %-8s %10.0f requests/s  %6.1f µs of CPU a request  %6.1f MB resident", side.name, middle(side.rates),
			float64(middle(side.costs).Nanoseconds())/1e3, float64(memory)/1e6)
	}
	rate, cost := middle(us.rates)/middle(them.rates), middle(us.costs).Seconds()/middle(them.costs).Seconds()
	b.say("  %-38s ratio %6.2f  target >= 0.80  %s", fmt.Sprintf("requests/s, answers of %d bytes", len(body)), rate, verdict(rate >= 0.8))
	for _, side := range []*latestSide{plain, fast} {
		b.say("  %-38s ratio %6.2f, of CPU a request %6.2f", "the fast path against "+side.name, middle(us.rates)/middle(side.rates),
			middle(us.costs).Seconds()/middle(side.costs).Seconds())
	}
	b.say("  %-38s ratio %6.2f  target <= 1.35  %s", "CPU a request", cost, verdict(cost <= 1.35))
	return nil
}

var (
	wrkRequests = regexp.MustCompile(`(\d+) requests in`)
	wrkFailed   = regexp.MustCompile(`Non-2xx or 3xx responses: (\d+)|Socket errors: (.*)`)
)

func (b *latestBench) round(ctx context.Context, side *latestSide, counts bool) error {
	before, err := cpuTime(side.pid)
	if err != nil {
		return err
	}
	var out []byte
	took, err := b.once(func() (err error) {
		args := []string{"-t1", "-c" + strconv.Itoa(latestClients), "-d" + strconv.Itoa(int(latestTime.Seconds())) + "s"}
		args = append(append(args, side.header...), side.url)
		out, err = exec.CommandContext(ctx, b.wrk, args...).CombinedOutput() //nolint:gosec // our own
		return err
	})
	if err != nil {
		return fmt.Errorf("wrk: %w: %s", err, out)
	}
	after, err := cpuTime(side.pid)
	if err != nil {
		return err
	}
	if failed := wrkFailed.Find(out); failed != nil {
		return fmt.Errorf("%s: %s", side.name, failed)
	}
	found := wrkRequests.FindSubmatch(out)
	if found == nil {
		return fmt.Errorf("wrk says: %s", out)
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil || n == 0 {
		return fmt.Errorf("%s answered nothing", side.name)
	}
	if counts {
		side.rates = append(side.rates, float64(n)/took.Seconds())
		side.costs = append(side.costs, (after-before)/time.Duration(n))
	}
	return nil
}

// middle is the median.
func middle[T float64 | time.Duration](of []T) T {
	slices.Sort(of)
	return of[len(of)/2]
}

// changeVisible measures P2: how long after its commit a change of a long history is answered, by an API process as it is run. Beside it is
// the least that can be: a session that waits for the same notification, and reads the one row. The two take turns, in blocks; the API process
// is stopped while the session is measured.
func changeVisible(ctx context.Context, m *meter) error {
	return withFixture(ctx, fortyYears, func(ctx context.Context, s *fixture) error {
		ours, err := s.startAPI(ctx)
		if err != nil {
			return err
		}
		defer ours.stop()
		worker, err := postgres.Open(ctx, s.server, postgres.RoleWorker)
		if err != nil {
			return err
		}
		defer worker.Close()
		c := changer{fixture: s, meter: m, worker: worker}
		var answered, read []time.Duration
		for len(answered) < changes {
			for range changesInTurn {
				wait, err := c.answered(ctx, ours)
				if err != nil {
					return err
				}
				answered = append(answered, wait)
			}
			if err := ours.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				return err
			}
			waits, err := c.read(ctx, changesInTurn)
			if err != nil {
				return err
			}
			read = append(read, waits...)
			if err := ours.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				return err
			}
			if err := c.shown(ctx, ours); err != nil {
				return err
			}
		}
		slices.Sort(answered)
		slices.Sort(read)
		p99 := answered[changes*99/100]
		m.say("  %d commits: answered after %s; target p99 <= %d ms  %s", changes, spread(answered), changeLimit.Milliseconds(), verdict(p99 <= changeLimit))
		m.say("  as many read by a session that waits for them: %s  ratio of the medians %6.2f, of p99 %6.2f", spread(read),
			answered[changes/2].Seconds()/read[changes/2].Seconds(), p99.Seconds()/read[changes*99/100].Seconds())
		return nil
	})
}

// spread summarizes sorted times.
func spread(sorted []time.Duration) string {
	n := len(sorted)
	return fmt.Sprintf("%.1f ms (median), %.1f ms (p99), %.1f ms (longest)", milliseconds(sorted[n/2]), milliseconds(sorted[n*99/100]), milliseconds(sorted[n-1]))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// changer commits one newest value of a whole history after the other.
type changer struct {
	*fixture
	*meter
	worker *postgres.DB
	done   int
}

// commit commits another value, and returns when.
func (c *changer) commit(ctx context.Context) (time.Time, error) {
	newest := &c.track[len(c.track)-1]
	newest.Value += 0.01
	c.done++
	err := c.worker.SaveSnapshot(ctx, task.Fence{}, postgres.Snapshot{
		Signal: c.def.ID, At: now.Add(time.Duration(c.done-2*changes) * time.Second), Status: signals.StatusLive, Cause: "bench",
		ObservedAt: new(newest.ObservedAt.Time()), KnownAt: new(newest.KnownAt.Time()), Value: &newest.Value, Synthetic: true, CodeVersion: "bench",
	}, c.track)
	return c.now(), err
}

// answered is how long after a commit an API process answers with it.
func (c *changer) answered(ctx context.Context, ours *apiProcess) (time.Duration, error) {
	committed, err := c.commit(ctx)
	if err != nil {
		return 0, err
	}
	err = c.shown(ctx, ours)
	return c.now().Sub(committed), err
}

// shown waits until an API process answers with the newest value.
func (c *changer) shown(ctx context.Context, ours *apiProcess) error {
	for begin := c.now(); c.now().Sub(begin) < 10*time.Second; {
		body, err := ours.latest(ctx, c.client)
		if err != nil {
			return err
		}
		var answer struct{ Value float64 }
		if err := json.Unmarshal(body, &answer); err != nil {
			return err
		}
		if math.Abs(answer.Value-c.track[len(c.track)-1].Value) < 0.005 { // the answer has the digits of the inputs, and each change is 0.01
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollPause):
		}
	}
	return fmt.Errorf("commit %d is not visible after 10 s", c.done)
}

// read is how long after each of n commits a session that waits for it has read its row.
func (c *changer) read(ctx context.Context, n int) ([]time.Duration, error) {
	ctx, stop := context.WithCancel(ctx)
	listens, values := make(chan struct{}, 1), make(chan float64)
	var listening sync.WaitGroup
	defer listening.Wait()
	defer stop()
	listening.Go(func() {
		_ = c.worker.Listen(ctx, postgres.Listener{
			Channels:  []string{postgres.ChannelSnapshots},
			Connected: func(context.Context) error { listens <- struct{}{}; return nil },
			Notified: func(ctx context.Context, _, signal string) error {
				newest, err := c.worker.SnapshotAsOf(ctx, signal, now.Add(changes*time.Second))
				if err != nil {
					return err
				}
				select {
				case values <- *newest.Value:
				case <-ctx.Done():
				}
				return nil
			},
			Log: slog.New(slog.DiscardHandler),
		}) // nil, when ctx has ended
	})
	select {
	case <-listens:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	waits := make([]time.Duration, n)
	for i := range waits {
		committed, err := c.commit(ctx)
		if err != nil {
			return nil, err
		}
		select {
		case value := <-values:
			waits[i] = c.now().Sub(committed)
			if value != c.track[len(c.track)-1].Value {
				return nil, fmt.Errorf("the commit that was read is not %d", c.done)
			}
		case <-time.After(10 * time.Second):
			return nil, fmt.Errorf("commit %d is not read after 10 s", c.done)
		}
	}
	return waits, nil
}

// apiProcess is `tidemark api` on a stand's database.
type apiProcess struct {
	// base is its address, url that of the newest snapshot.
	base, url string
	// ready is how long after its start it was ready.
	ready time.Duration
	cmd   *exec.Cmd
	out   bytes.Buffer
}

// readyWithin is how long a process may take to be ready.
const readyWithin = 2 * time.Minute

// startAPI builds and starts the program with further settings, and waits until it is ready.
func (s *fixture) startAPI(ctx context.Context, settings ...string) (*apiProcess, error) {
	p, err := startAPI(ctx, s.dir, s.server, settings...)
	if err == nil {
		p.url = p.base + "/api/signals/" + s.def.ID
	}
	return p, err
}

// startAPI builds the program into dir, starts its API on a database with further settings, and waits until that is ready.
func startAPI(ctx context.Context, dir, server string, settings ...string) (*apiProcess, error) {
	login, err := postgres.Login(ctx, server, postgres.RoleAPI)
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(dir, "tidemark")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "tidemark/cmd/tidemark").CombinedOutput(); err != nil { //nolint:gosec // our own
		return nil, fmt.Errorf("build the program: %w: %s", err, out)
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := ln.Addr().String()
	if err := ln.Close(); err != nil {
		return nil, err
	}
	p := &apiProcess{base: "http://" + address, cmd: exec.CommandContext(ctx, binary, "api", "--world="+view.WorldSandbox)} //nolint:gosec // our own
	p.cmd.Env = append([]string{"DATABASE_API_URL=" + login, "ADDR=" + address, "STATE_DIR=" + dir, "LOG_FORMAT=text"}, settings...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	begin := world.Wall{}.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	client := &http.Client{Timeout: time.Second}
	for {
		resp, err := client.Get(p.base + "/readyz") //nolint:noctx // the client has a limit
		if err == nil {
			_ = resp.Body.Close()
		}
		p.ready = world.Wall{}.Now().Sub(begin)
		switch {
		case err == nil && resp.StatusCode == http.StatusOK:
			return p, nil
		case p.ready > readyWithin:
			p.stop()
			return nil, fmt.Errorf("tidemark api is not ready after %s: %s", readyWithin, p.out.String())
		}
		select {
		case <-ctx.Done():
			p.stop()
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (p *apiProcess) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	_ = p.cmd.Wait()
}

// latest returns the newest snapshot.
func (p *apiProcess) latest(ctx context.Context, client *http.Client) (body []byte, err error) {
	_, body, err = p.answer(ctx, client)
	return body, err
}

// answer is the newest snapshot with its header.
func (p *apiProcess) answer(ctx context.Context, client *http.Client) (header http.Header, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	body, err = io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("the newest snapshot: %s: %s", resp.Status, body)
	}
	return resp.Header, body, nil
}

// cpuTime returns the CPU time of a process and its children, those that have ended included, in user and in kernel mode.
func cpuTime(pid int) (time.Duration, error) {
	var sum time.Duration
	found := false
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, file := range all {
		text, err := os.ReadFile(file) //nolint:gosec // of /proc
		if err != nil {
			continue // it has ended
		}
		id, rest, ok := strings.Cut(string(text), " (")
		fields := strings.Fields(rest[strings.LastIndexByte(rest, ')')+1:]) // a name may hold anything
		if !ok || len(fields) < 15 || id != strconv.Itoa(pid) && fields[1] != strconv.Itoa(pid) {
			continue
		}
		found = true
		for _, f := range fields[11:15] {
			ticks, err := strconv.Atoi(f)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", file, err)
			}
			sum += time.Duration(ticks) * clockTick
		}
	}
	if !found {
		return 0, fmt.Errorf("process %d is not in /proc", pid)
	}
	return sum, nil
}

// resident is how many bytes of memory a process and its children hold.
func resident(pid int) (int, error) {
	all, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		return 0, err
	}
	sum := 0
	for _, file := range all {
		text, err := os.ReadFile(file) //nolint:gosec // of /proc
		if err != nil {
			continue // it has ended
		}
		fields := map[string]string{}
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok {
				fields[name] = strings.TrimSpace(value)
			}
		}
		if me := strconv.Itoa(pid); fields["Pid"] != me && fields["PPid"] != me {
			continue
		}
		kb, err := strconv.Atoi(strings.TrimSuffix(fields["VmRSS"], " kB"))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		sum += kb << 10
	}
	return sum, nil
}
