// Package program runs the real tidemark binary for the end-to-end suites: it builds it, starts processes, keeps what
// they write, and kills them. Start at Main.
package program

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is the program under test, built by Build.
var binary string

// Build builds the program for a suite and returns what removes it again:
//
//	func TestMain(m *testing.M) { defer program.Build()(); m.Run() }
//
// The suites of a checkout share the file in its .cache: the first one links it, and the others find it up to date.
func Build() (remove func()) {
	cache := filepath.Join(root(), ".cache", "program")
	must(os.MkdirAll(cache, 0o755))
	lock, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	must(err)
	defer func() { _ = lock.Close() }()
	must(syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	shared := filepath.Join(cache, "tidemark")
	build("", shared)
	remove = place()
	// The suite gives the file another name, because the Go command puts another program in the place of the shared one.
	if os.Link(shared, binary) != nil {
		content, err := os.ReadFile(shared)
		must(err)
		must(os.WriteFile(binary, content, 0o755)) //nolint:gosec // suites run it as other users, too
	}
	return remove
}

// BuildIn is Build for a copy of the module in another folder. It shares nothing.
func BuildIn(module string) (remove func()) {
	remove = place()
	build(module, binary)
	return remove
}

// place makes the folder of a suite's program, and returns what removes it.
func place() (remove func()) {
	dir, err := os.MkdirTemp("", "tidemark-program")
	must(err)
	must(os.Chmod(dir, 0o755)) // suites run it as other users, too
	binary = filepath.Join(dir, "tidemark")
	return func() { _ = os.RemoveAll(dir) }
}

// build builds the program of a module, without the symbols for debuggers, as in the image, because linking takes long.
func build(module, file string) {
	cmd := exec.CommandContext(context.Background(), "go", "build", "-ldflags=-s -w", "-o", file, "tidemark/cmd/tidemark")
	cmd.Stderr, cmd.Dir = os.Stderr, module
	if err := cmd.Run(); err != nil {
		panic(fmt.Errorf("build the program: %w", err))
	}
}

// root returns the folder of the module.
func root() string {
	dir, err := os.Getwd()
	must(err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			panic("the suite does not run inside the module")
		}
		dir = filepath.Dir(dir)
	}
}

func must(err error) {
	if err != nil {
		panic(fmt.Errorf("build the program: %w", err))
	}
}

// Folder makes an empty folder that other users can enter, which a test's own cannot.
func Folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tidemark-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Process is a running tidemark command, the leader of its process group.
type Process struct {
	// Done is closed when it has ended.
	Done chan struct{}

	name string
	cmd  *exec.Cmd
	mu   sync.Mutex
	out  bytes.Buffer
}

// Options say how a command runs.
type Options struct {
	Dir string
	// Env is added to the test's own environment.
	Env []string
	// User is the numeric user to run as; 0: the test's own.
	User uint32
}

// Start runs a command until the test ends or the command is killed. Its output is shown if the test fails.
func Start(t testing.TB, o Options, args ...string) *Process {
	t.Helper()
	return start(t, o, strings.Join(args, " "), binary, args...)
}

func start(t testing.TB, o Options, name, file string, args ...string) *Process {
	t.Helper()
	p := &Process{name: name, Done: make(chan struct{})}
	p.cmd = exec.CommandContext(context.Background(), file, args...)
	p.cmd.Env = append(os.Environ(), o.Env...)
	p.cmd.Dir = o.Dir
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if o.User != 0 {
		p.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: o.User, Gid: o.User}
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.Done)
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.Signal(syscall.SIGCONT)
		p.Kill()
		if t.Failed() {
			t.Logf("--- %s\n%s", p.name, tail(p.Output(), 6000))
		}
	})
	return p
}

// address finds the address in the line that `up` logs about it.
var address = regexp.MustCompile(`pages"?[:=]"?(http://127\.0\.0\.1:\d+)/`)

// Up starts `up` with its own servers and with its state below o.Dir, unless o.Env sets them. It returns the process and its address once
// the process logs the address.
func Up(t testing.TB, o Options, args ...string) (p *Process, url string) {
	t.Helper()
	o.Env = append([]string{"ADDR=127.0.0.1:0", "STATE_DIR=" + filepath.Join(o.Dir, "state"), "HOME=" + o.Dir, "DATABASE_URL=", "REDIS_URL="}, o.Env...)
	p = Start(t, o, append([]string{"up"}, args...)...)
	Until(t, time.Minute, "up says where it listens", func() (bool, string) {
		select {
		case <-p.Done:
			t.Fatalf("up has ended:\n%s", p.Output())
		default:
		}
		if m := address.FindStringSubmatch(p.Output()); m != nil {
			url = m[1]
		}
		return url != "", "it wrote nothing of the kind"
	})
	return p, url
}

// Get reads the JSON at an address into a value, which may be nil. Any answer but 200 is an error.
func Get(ctx context.Context, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	return Do(req, http.StatusOK, into)
}

// Do sends a request and reads the JSON of the answer into a value, which may be nil. Another status than the wanted one is an error.
func Do(req *http.Request, want int, into any) error {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != want {
		return fmt.Errorf("%s %s: %s", req.Method, req.URL, resp.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// Run runs a command to its end and returns its exit status and what it wrote.
func Run(t testing.TB, o Options, args ...string) (status int, output string) {
	t.Helper()
	return Start(t, o, args...).end(t)
}

// Shell runs a line of bash, in which the program is the command tidemark, as Run runs a command.
func Shell(t testing.TB, o Options, line string) (status int, output string) {
	t.Helper()
	return start(t, o, line, "bash", "-eo", "pipefail", "-c", "PATH="+filepath.Dir(binary)+":$PATH\n"+line).end(t)
}

// end waits for a process that ends on its own.
func (p *Process) end(t testing.TB) (status int, output string) {
	t.Helper()
	select {
	case <-p.Done:
	case <-time.After(5 * time.Minute):
		t.Fatalf("%s does not end; it wrote:\n%s", p.name, tail(p.Output(), 6000))
	}
	return p.cmd.ProcessState.ExitCode(), p.Output()
}

// Write keeps what the process writes.
func (p *Process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

// Output is all that the process wrote so far.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// Status is the exit status of a process that has ended.
func (p *Process) Status() int { return p.cmd.ProcessState.ExitCode() }

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal to the process alone.
func (p *Process) Signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// Kill ends the process at once, as a power cut would.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.Done
}

func tail(s string, n int) string {
	if len(s) > n {
		return "…" + s[len(s)-n:]
	}
	return s
}

// Timeout is how long a test waits for an event that follows soon in a working program. It ends a hanging test; it is long, so that a
// machine may be slow.
const Timeout = 4 * time.Minute

// Until polls until ok, or fails the test with the awaited event and the last state.
func Until(t testing.TB, within time.Duration, what string, ok func() (bool, string)) {
	t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		done, state := ok()
		if done {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("not within %s: %s; state: %s", within, what, state)
		case <-tick.C:
		}
	}
}
