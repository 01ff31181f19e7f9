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
	"strings"
	"sync"
	"syscall"
	"time"
)

// Server is one Postgres or Redis that runs as a child of this process and ends with it. Its methods may be called from any
// goroutine; they wait for each other.
type Server struct {
	kind
	home *stateDir
	log  *slog.Logger
	died chan error

	mu sync.Mutex
	// proc is nil while the server is down.
	proc *process
}

// kind is what differs between the two servers.
type kind struct {
	// name is for people, program is the executable's name, path is where it is.
	name, program, path string
	// version is the program's, for people.
	version string
	// command builds the command line for a port.
	command func(ctx context.Context, port int) *exec.Cmd
	// stop asks for an orderly end, hurry (if any) for one at once.
	stop, hurry syscall.Signal
	// pidFile is the file in the data folder that refuses a second start. Empty: there is none.
	pidFile string
	// answer returns nil once the server works, and errRefused when it will never.
	answer func(ctx context.Context, port int) error
	// url is the address with its password.
	url func(port int) string
}

// errRefused tells that a server answers and that asking again is of no use.
var errRefused = errors.New("the server refuses us")

const (
	// startTimeout bounds the wait for a server's first answer, recovery after a crash included.
	startTimeout = 2 * time.Minute
	// stopTimeout bounds the orderly end, killTimeout the one after it.
	stopTimeout, killTimeout = 3 * time.Second, time.Second
	// portAttempts is how many ports are tried. Between the choice of a free one and its use another process may take it.
	portAttempts = 5
)

// URL is the address of the server with its password. It stays the same over Restart.
func (s *Server) URL() string { return s.url(s.home.keep.Port) }

// Port is the port on 127.0.0.1. It stays the same over Restart.
func (s *Server) Port() int { return s.home.keep.Port }

// Dir is the folder that holds all of the server, symbolic links resolved.
func (s *Server) Dir() string { return s.home.dir }

// Version is the server program's, as it names itself.
func (s *Server) Version() string { return s.version }

// Program is the path of the server's executable.
func (s *Server) Program() string { return s.path }

// Died tells when the server has ended without Stop, Kill or Restart: an error that quotes the end of its log. It holds one error
// until somebody reads it.
func (s *Server) Died() <-chan error { return s.died }

// PIDs lists the server's processes, the main one first. It is empty while the server is down.
func (s *Server) PIDs() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil || !s.proc.running() {
		return nil
	}
	return s.proc.pids()
}

// Stop ends the server in order, within five seconds: what it acknowledged is on disk. When ctx ends first, Stop goes on to harsher
// means at once. Stopping a server that is down does nothing. It also gives up the server's folder.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.halt(ctx)
	s.home.unlock()
	return err
}

// Kill ends all the server's processes with SIGKILL, so that none can tidy up, and returns when they are gone. It keeps the server's
// folder; Restart brings the server back.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil
	}
	s.proc.kill()
	s.proc = nil
	return stopStale(s.home.data(), s.program, 0)
}

// Restart starts the server again on the same port and data, after Stop, after Kill, or after it died. A server that runs is
// stopped in order first. It returns once the server answers.
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

// halt is Stop without giving up the folder.
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
	if s.hurry != 0 {
		p.signal(s.hurry)
		if ended(ctx, p, killTimeout) {
			return nil
		}
	}
	p.kill()
	return stopStale(s.home.data(), s.program, 0)
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

// start runs the server for the first time: on the wanted port, else the one it had last, else a free one.
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

// run starts the process on the kept port and waits until it answers. An error means that it is gone again, and quotes its log.
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
	// The process outlives ctx, which bounds the start alone.
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
		case s.died <- s.explain(fmt.Errorf("%s ended by itself: %w", s.name, exitError(p)), from):
		default:
		}
	}()
	return nil
}

// clear frees the data folder of what an earlier run left: processes, and the number of a process that has ended. Postgres looks
// after that number itself, but takes any other process that has been given it meanwhile for the server.
func (s *Server) clear(ctx context.Context) error {
	data := s.home.data()
	if pids := processesIn(data, s.program); len(pids) > 0 {
		s.log.InfoContext(ctx, "stopping a server left by an earlier run", "server", s.name, "pids", pids, "folder", s.home.dir)
		if err := stopStale(data, s.program, s.stop); err != nil {
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

// await asks until the server answers.
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
		// What refuses may be a stranger on the same port, and ours is about to find the port taken.
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

// exitError says how a process ended, also where it ended well.
func exitError(p *process) error {
	if p.err != nil {
		return p.err
	}
	return errors.New(p.cmd.ProcessState.String())
}

// explain adds what the server wrote to its log from an offset on. An address in use is recognised by its text, which the C locale
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

// stopStale makes sure that no process named program works in the folder data any more. Main processes get the signal stop, if one is
// given, and three seconds; then all are killed. Children whose main process is gone end by themselves meanwhile or are killed.
func stopStale(data, program string, stop syscall.Signal) error {
	pids := processesIn(data, program)
	if len(pids) == 0 {
		return nil
	}
	if stop != 0 {
		parent := parents()
		for _, pid := range pids {
			if !slices.Contains(pids, parent[pid]) {
				_ = syscall.Kill(pid, stop)
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

// gone waits until no process named program works in data.
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

// Ports are drawn from below the range that systems give to outgoing connections. There, a client that tries to reconnect to a
// server that is down can be given the server's own port and meet itself, and the port is lost to the server.
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
