package devstack

import (
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
)

// process is one child with everything that it forked.
type process struct {
	cmd *exec.Cmd
	// expected is set before the process is asked to end.
	expected atomic.Bool
	// done closes when the process has ended and was waited for. err is set before.
	done chan struct{}
	err  error
}

// spawn starts cmd in a process group of its own, so that Ctrl-C in a terminal reaches this program alone, which then stops its
// servers in order. Where the system can, the child gets the signal orphaned when this process dies, however it dies.
func spawn(cmd *exec.Cmd, orphaned syscall.Signal) (*process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	signalWhenOrphaned(cmd.SysProcAttr, orphaned)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel takes the end of the thread that forked for the end of the parent, so that thread waits here.
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

func (p *process) pid() int { return p.cmd.Process.Pid }

// pids lists the process and all that descend from it.
func (p *process) pids() []int { return append([]int{p.pid()}, descendants(p.pid())...) }

// running tells whether the process has not been waited for yet.
func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// signal sends sig to the process alone. A process that is gone is not an error.
func (p *process) signal(sig syscall.Signal) {
	p.expected.Store(true)
	if p.running() {
		_ = p.cmd.Process.Signal(sig)
	}
}

// kill ends the process and its descendants at once and waits for the process. It is stopped first, so that it cannot fork or
// notice that a child is missing meanwhile.
func (p *process) kill() {
	p.signal(syscall.SIGSTOP)
	if p.running() {
		killAll(p.pids())
	}
	<-p.done
}

// descendants lists the children of pid, their children and so on.
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
