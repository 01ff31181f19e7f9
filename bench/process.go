package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/ingest/world"
	"tidemark/internal/postgres"
)

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

// cpuTime returns the CPU time of a process and its children, ended children included, in user and in kernel mode.
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
