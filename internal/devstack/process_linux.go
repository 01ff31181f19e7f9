package devstack

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// signalWhenOrphaned makes the kernel send sig to the child when the thread that forked it ends.
func signalWhenOrphaned(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }

// seesWorkingFolders reports that processesIn finds every process, including children whose main process has ended.
const seesWorkingFolders = true

// bootID returns a name of this start of the machine, which no other start has.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// bootTime returns when the machine started, and the zero time if that is unknown.
func bootTime() time.Time {
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return time.Time{}
	}
	first, _, _ := strings.Cut(string(text), " ")
	up, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(up * float64(time.Second)))
}

// roomIn returns how many bytes a program may still write to the disk of a folder, and whether that is known.
func roomIn(dir string) (bytes uint64, known bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil || s.Bsize <= 0 {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}

// processesIn returns the running processes named program whose working folder is dir. Servers use their data folder as working folder, so
// these are the processes that use it, for any parent. A dead process that was not waited for has no folder.
func processesIn(dir, program string) []int {
	var found []int
	for _, pid := range allPIDs() {
		proc := filepath.Join("/proc", strconv.Itoa(pid))
		cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
		if err != nil || cwd != dir {
			continue
		}
		comm, err := os.ReadFile(filepath.Join(proc, "comm"))
		if err == nil && strings.TrimSpace(string(comm)) == program {
			found = append(found, pid)
		}
	}
	return found
}

// parents maps each process to its parent.
func parents() map[int]int {
	m := map[int]int{}
	for _, pid := range allPIDs() {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err != nil {
			continue
		}
		// "pid (name) state parent ...", and the name may hold spaces and brackets.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			m[pid] = parent
		}
	}
	return m
}

func allPIDs() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
