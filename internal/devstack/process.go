package devstack

import (
	"bytes"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
)

// process is a child process with all of its descendants.
type process struct {
	cmd *exec.Cmd
	// expected is set before the process is told to end.
	expected atomic.Bool
	// done closes when the process has ended and was waited for. err is set before.
	done chan struct{}
	err  error
}

// spawn starts cmd in its own process group. So Ctrl-C in a terminal reaches only this program, which then stops its servers in order. If
// the system supports it, the child gets the signal orphaned when this process dies for any reason.
func spawn(cmd *exec.Cmd, orphaned syscall.Signal) (*process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	signalWhenOrphaned(cmd.SysProcAttr, orphaned)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel sends the signal when the thread that forked ends, so that thread waits here.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Output runs a program and returns all that it writes, unless it goes to the command's Stdout. If the system supports it, the program ends with this process, however that ends.
func Output(cmd *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	if cmd.Stderr = &out; cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	p, err := spawn(cmd, syscall.SIGKILL)
	if err != nil {
		return nil, err
	}
	<-p.done
	return out.Bytes(), p.err
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// pids returns the process and all of its descendants.
func (p *process) pids() []int { return append([]int{p.pid()}, descendants(p.pid())...) }

// running reports whether the process has not been waited for yet.
func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// signal sends sig to the process alone. An ended process is not an error.
func (p *process) signal(sig syscall.Signal) {
	p.expected.Store(true)
	if p.running() {
		_ = p.cmd.Process.Signal(sig)
	}
}

// kill ends the process and its descendants at once and waits for the process. It stops the process first, so that the process cannot fork
// or notice a missing child meanwhile.
func (p *process) kill() {
	p.signal(syscall.SIGSTOP)
	if p.running() {
		killAll(p.pids())
	}
	<-p.done
}

// descendants returns the children of pid, their children and so on.
func descendants(pid int) []int {
	children := map[int][]int{}
	for child, parent := range parents() {
		children[parent] = append(children[parent], child)
	}
	var all []int
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		all = append(all, children[next[0]]...)
		next = append(next, children[next[0]]...)
	}
	return all
}

func killAll(pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
