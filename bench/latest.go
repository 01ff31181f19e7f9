package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/api/view"
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
// a file. It also measures our own handler under net/http, fasthttp with the same bytes and header, and the proxy before our API. The load comes
// from wrk, which costs less than any of them.
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
	address, pid, stop, err := startNginx(ctx, nginx, s.dir, files, false)
	if err != nil {
		return err
	}
	defer stop()
	library, libraryPID, stopLibrary, err := startFasthttp(ctx, s.dir, filepath.Join(files, "latest"), header)
	if err != nil {
		return err
	}
	defer stopLibrary()
	proxy, proxyPID, stopProxy, err := startProxy(ctx, nginx, s.dir, strings.TrimPrefix(ours.base, "http://"))
	if err != nil {
		return err
	}
	defer stopProxy()
	us := &latestSide{name: "ours", url: ours.url, pid: ours.cmd.Process.Pid}
	// The fast path does not know this field, and leaves the request to net/http and its handler.
	plain := &latestSide{name: "net/http", url: ours.url, pid: us.pid, header: []string{"-H", "X-Fast-Path: no"}}
	fast := &latestSide{name: "fasthttp", url: library + "/latest", pid: libraryPID}
	them := &latestSide{name: "nginx", url: address + "/latest", pid: pid}
	// The proxy's processor time is its own, without that of the API behind it.
	behind := &latestSide{name: "proxy", url: proxy + strings.TrimPrefix(ours.url, ours.base), pid: proxyPID}
	sides := []*latestSide{us, plain, fast, them, behind}
	b.count(latestRounds)
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
	b.say("  %-38s ratio %6.2f", "behind the proxy of docker-compose.yml", middle(behind.rates)/middle(us.rates))
	b.say("  %-38s ratio %6.2f  target <= 1.35  %s", "CPU a request", cost, verdict(cost <= 1.35))
	encoded, err := b.encoding(body)
	if err != nil {
		return err
	}
	own := middle(us.costs)
	b.say("  %-38s %.1f µs of CPU more a request  ratio %6.2f", "answers that are not made beforehand", float64(encoded.Nanoseconds())/1e3, (own+encoded).Seconds()/own.Seconds())
	return nil
}

// encoding is the processor time of making the answer's JSON with encoding/json, which is done once for each answer and not for each request.
func (b *latestBench) encoding(body []byte) (time.Duration, error) {
	const times = 1000
	var answer view.SignalSnapshot
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, err
	}
	made, err := view.Encode(answer)
	if err != nil {
		return 0, err
	}
	if !bytes.Equal(bytes.TrimSpace(made), bytes.TrimSpace(body)) {
		return 0, fmt.Errorf("the answer is encoded as other bytes: %s, want %s", made, body)
	}
	var took []time.Duration
	for range latestRounds {
		t, err := b.processor(func() error {
			for range times {
				if _, err := view.Encode(answer); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		took = append(took, t/times)
	}
	return middle(took), nil
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
