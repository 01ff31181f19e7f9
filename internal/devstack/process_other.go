//go:build unix && !linux

package devstack

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// signalWhenOrphaned does nothing: this system has no such signal. A server that outlives this process is stopped by the next start on its
// folder.
func signalWhenOrphaned(*syscall.SysProcAttr, syscall.Signal) {}

// seesWorkingFolders reports whether processesIn finds every process, including children whose main process has ended.
const seesWorkingFolders = false

// processesIn returns the running process named program that left its number in dir, if there is one. This system does not show the working
// folders of other processes.
func processesIn(dir, program string) []int {
	for _, file := range []string{"postmaster.pid", "redis.pid"} {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			continue
		}
		line, _, _ := strings.Cut(string(content), "\n")
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			continue
		}
		for _, row := range ps("-p", strconv.Itoa(pid), "-o", "comm=") {
			if len(row) > 0 && filepath.Base(row[0]) == program {
				return []int{pid}
			}
		}
	}
	return nil
}

// parents maps each process to its parent.
func parents() map[int]int {
	m := map[int]int{}
	for _, row := range ps("-A", "-o", "pid=,ppid=") {
		if len(row) != 2 {
			continue
		}
		pid, errPID := strconv.Atoi(row[0])
		parent, errParent := strconv.Atoi(row[1])
		if errPID == nil && errParent == nil {
			m[pid] = parent
		}
	}
	return m
}

func ps(args ...string) [][]string {
	out, err := exec.Command("ps", args...).Output() //nolint:noctx // it prints a table and ends
	if err != nil {
		return nil
	}
	var rows [][]string
	for line := range strings.Lines(string(out)) {
		rows = append(rows, strings.Fields(line))
	}
	return rows
}

// bootID returns an empty string: the system does not name its starts.
func bootID() string { return "" }

// bootTime is not known on this system.
func bootTime() time.Time { return time.Time{} }

// roomIn is not known on this system.
func roomIn(string) (bytes uint64, known bool) { return 0, false }
