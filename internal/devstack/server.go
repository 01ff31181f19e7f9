package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Server is one Postgres or Redis that runs as a child of this process and ends with it. Its methods are safe for concurrent use; they wait
// for each other.
type Server struct {
	kind
	home *stateDir
	log  *slog.Logger
	died chan error

	mu sync.Mutex
	// proc is nil while the server is down.
	proc *process
}

// kind holds the differences between the two servers.
type kind struct {
	// name is for people, program is the executable's name, and path is the executable's path.
	name, program, path string
	// version is the program's version, for people.
	version string
	// command builds the command line for a port.
	command func(ctx context.Context, port int) *exec.Cmd
	// stop requests an orderly shutdown, stopNow (if set) an immediate one.
	stop, stopNow syscall.Signal
	// pidFile is the file in the data folder that prevents a second start, or an empty string.
	pidFile string
	// answer returns nil once the server works, and errRefused if it never will.
	answer func(ctx context.Context, port int) error
	// url returns the address with its password.
	url func(port int) string
}

// errRefused reports that a server answers but that retrying is useless.
var errRefused = errors.New("the server refuses us")

const (
	// startTimeout limits the wait for a server's first answer, recovery after a crash included.
	startTimeout = 2 * time.Minute
	// stopTimeout limits the orderly shutdown, killTimeout the immediate one after it.
	stopTimeout, killTimeout = 3 * time.Second, time.Second
	// portAttempts is the number of ports to try. Another process may take a free port before the server uses it.
	portAttempts = 5
)

// URL returns the address of the server with its password. Restart does not change it.
func (s *Server) URL() string { return s.url(s.home.keep.Port) }

// Port returns the port on 127.0.0.1. Restart does not change it.
func (s *Server) Port() int { return s.home.keep.Port }

// Dir returns the folder that holds all files of the server, with symbolic links resolved.
func (s *Server) Dir() string { return s.home.dir }

// Version returns the version that the server program reports.
func (s *Server) Version() string { return s.version }

// Program returns the path of the server's executable.
func (s *Server) Program() string { return s.path }

// Died returns a channel that receives an error when the server has ended without Stop, Kill or Restart. The error quotes the end of the
// server's log. The channel holds one error until it is read.
func (s *Server) Died() <-chan error { return s.died }

// PIDs returns the server's processes, the main process first. It is empty while the server is down.
func (s *Server) PIDs() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil || !s.proc.running() {
		return nil
	}
	return s.proc.pids()
}

// Stop shuts the server down in order, within five seconds: acknowledged writes are on disk. If ctx ends first, Stop uses harsher means at
// once. Stopping a server that is down does nothing. Data of a server without sync are written to the disk. Stop also releases the server's folder.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.halt(ctx)
	s.leaveSynced(ctx)
	s.home.unlock()
	return err
}

// Kill ends all the server's processes with SIGKILL, so that none can clean up, and returns when they have ended. It keeps the server's
// folder; Restart starts the server again.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil
	}
	s.proc.kill()
	s.proc = nil
	return stopStale(s.home.data(), s.program, "", 0)
}

// Restart starts the server again on the same port and data, after Stop, after Kill, or after it died. It first stops a running server in
// order. It returns once the server answers.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.halt(ctx); err != nil {
		return err
	}
	if err := s.home.lock(); err != nil {
		return err
	}
	if err := s.run(ctx); err != nil {
		return fmt.Errorf("restart %s: %w", s.name, err)
	}
	return nil
}

// halt is Stop without releasing the folder.
func (s *Server) halt(ctx context.Context) error {
	if s.proc == nil {
		return nil
	}
	p := s.proc
	s.proc = nil
	p.signal(s.stop)
	if ended(ctx, p, stopTimeout) {
		return nil
	}
	if s.stopNow != 0 {
		p.signal(s.stopNow)
		if ended(ctx, p, killTimeout) {
			return nil
		}
	}
	p.kill()
	return stopStale(s.home.data(), s.program, "", 0)
}

func ended(ctx context.Context, p *process, within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-ctx.Done():
		return false
	case <-t.C:
		return false
	}
}

// start runs the server for the first time: on the wanted port, else the last port, else a free one.
func (s *Server) start(ctx context.Context, wanted int) error {
	port := wanted
	if port == 0 {
		port = s.home.keep.Port
	}
	for attempt := 1; ; attempt++ {
		if wanted == 0 && !free(ctx, port) {
			var err error
			if port, err = freePort(ctx); err != nil {
				return err
			}
		}
		if err := s.home.keepPort(port); err != nil {
			return err
		}
		err := s.run(ctx)
		if err == nil {
			s.log.InfoContext(ctx, "server runs", "server", s.name, "version", s.version, "port", port, "folder", s.home.dir, "user", s.home.account.name)
			return nil
		}
		if wanted != 0 || attempt == portAttempts || !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
		port = 0
	}
}

// run starts the process on the saved port and waits until it answers. An error means that the process has ended again, and quotes its log.
func (s *Server) run(ctx context.Context) error {
	if err := s.clear(ctx); err != nil {
		return err
	}
	log, err := s.home.openLog()
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	from, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	port := s.home.keep.Port
	// The process outlives ctx, which limits only the start.
	cmd := s.command(context.WithoutCancel(ctx), port)
	cmd.Stdout, cmd.Stderr = log, log
	s.home.prepare(cmd)
	p, err := spawn(cmd, s.stop)
	if err != nil {
		return fmt.Errorf("run %s: %w", cmd.Path, err)
	}
	if err := s.await(ctx, p, port); err != nil {
		p.kill()
		return s.explain(err, from)
	}
	s.proc = p
	go func() {
		<-p.done
		if p.expected.Load() {
			return
		}
		select {
		case s.died <- s.explain(fmt.Errorf("%s ended unexpectedly: %w", s.name, exitError(p)), from):
		default:
		}
	}()
	return nil
}

// clear removes the remains of an earlier run from the data folder: processes, and the file with the number of an ended process. Postgres
// checks that number itself, but mistakes any other process that has the number now for the server.
func (s *Server) clear(ctx context.Context) error {
	data := s.home.data()
	if pids := processesIn(data, s.program); len(pids) > 0 {
		s.log.InfoContext(ctx, "stopping a server left by an earlier run", "server", s.name, "pids", pids, "folder", s.home.dir)
		if err := stopStale(data, s.program, s.pidFile, s.stop); err != nil {
			return err
		}
	}
	if !seesWorkingFolders || s.pidFile == "" {
		return nil
	}
	if err := os.Remove(filepath.Join(data, s.pidFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove a stale lock: %w", err)
	}
	return nil
}

// await polls until the server answers.
func (s *Server) await(ctx context.Context, p *process, port int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no answer within %s", startTimeout))
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.answer(ctx, port)
		if err == nil {
			return nil
		}
		// The refusal may come from a foreign server on the same port, and ours is about to report that the port is taken.
		if errors.Is(err, errRefused) && !ended(ctx, p, killTimeout) {
			return err
		}
		select {
		case <-p.done:
			return fmt.Errorf("it ended at once: %w", exitError(p))
		case <-ctx.Done():
			return fmt.Errorf("%w (its last answer: %w)", context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

// exitError describes how a process ended, including a successful end.
func exitError(p *process) error {
	if p.err != nil {
		return p.err
	}
	return errors.New(p.cmd.ProcessState.String())
}

// explain adds the text that the server wrote to its log from an offset on. It recognises an address in use by its text, which the C locale
// of the server fixes.
func (s *Server) explain(err error, from int64) error {
	lines := tail(s.home.logPath(), from, 12)
	if len(lines) == 0 {
		return err
	}
	text := strings.Join(lines, "\n  ")
	if strings.Contains(text, "Address already in use") {
		err = fmt.Errorf("%w: %w", err, syscall.EADDRINUSE)
	}
	return fmt.Errorf("%w\nThe end of %s:\n  %s", err, s.home.logPath(), text)
}

// stopStale makes sure that no process named program uses the folder data. It sends main processes the signal stop, if given, and waits
// three seconds; then it kills all. Children of an ended main process get SIGTERM. Postgres then tells clients that the session ends; the
// main process's signal would only cancel the statement. pidFile is the file in data with the number of the main process. If it is empty,
// each process of the folder without a parent is a main process.
func stopStale(data, program, pidFile string, stop syscall.Signal) error {
	pids := processesIn(data, program)
	if len(pids) == 0 {
		return nil
	}
	if stop != 0 {
		parent, main := parents(), numberIn(data, pidFile)
		for _, pid := range pids {
			switch {
			case slices.Contains(pids, parent[pid]):
			case main == 0 || pid == main:
				_ = syscall.Kill(pid, stop)
			default:
				_ = syscall.Kill(pid, syscall.SIGTERM)
			}
		}
		if gone(data, program, stopTimeout) {
			return nil
		}
	}
	killAll(processesIn(data, program))
	if !gone(data, program, stopTimeout) {
		return fmt.Errorf("processes %v still work in %s and cannot be ended", processesIn(data, program), data)
	}
	return nil
}

// numberIn returns the number in the first line of a file, and 0 if none exists.
func numberIn(dir, file string) int {
	if file == "" {
		return 0
	}
	text, err := os.ReadFile(filepath.Join(dir, file)) //nolint:gosec // a server's own file
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return 0
	}
	return n
}

// gone waits until no process named program uses data, and reports whether that happened.
func gone(data, program string, within time.Duration) bool {
	deadline := time.Now().Add(within)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for len(processesIn(data, program)) > 0 {
		if time.Now().After(deadline) {
			return false
		}
		<-tick.C
	}
	return true
}

// Ports are chosen from below the range for outgoing connections. In that range, a client that reconnects to a server that is down can get
// the server's own port as its source port and connect to itself. The server would then lose its port.
const portLow, portHigh = 20000, 32000

func freePort(ctx context.Context) (int, error) {
	for range 1000 {
		port := portLow + rand.IntN(portHigh-portLow)
		if free(ctx, port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port on 127.0.0.1 between %d and %d", portLow, portHigh)
}

func free(ctx context.Context, port int) bool {
	if port == 0 {
		return false
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}
