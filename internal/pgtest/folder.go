package pgtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A folder's name contains the number of the process that made it, so that a later run can detect stale folders.
const folderPrefix = "tidemark-pgtest-"

// keepFor is how long the databases of failed tests are kept.
const keepFor = time.Hour

// inMemory is a folder in memory. A database is some 900 files: on a disk it takes five times as much of the processor to make and to remove.
const inMemory = "/dev/shm"

// A server takes some 200 MB, and several packages are tested at once.
const needsRoom, needsMemory = 4 << 30, 8 << 30

// places are where folders of servers are: the first is for new ones. Who sets TMPDIR decides.
var places = sync.OnceValue(func() []string {
	if os.TempDir() != "/tmp" {
		return []string{os.TempDir()}
	}
	var there syscall.Statfs_t
	if syscall.Statfs(inMemory, &there) != nil {
		return []string{os.TempDir()}
	}
	if there.Bavail*uint64(there.Bsize) < needsRoom || availableMemory() < needsMemory {
		return []string{os.TempDir(), inMemory}
	}
	return []string{inMemory, os.TempDir()}
})

// availableMemory returns the memory in bytes that Linux reports as available. It is zero if that is unknown.
func availableMemory() int {
	text, _ := os.ReadFile("/proc/meminfo")
	_, after, _ := strings.Cut(string(text), "MemAvailable:")
	var kilobytes int
	_, _ = fmt.Sscan(after, &kilobytes)
	return kilobytes << 10
}

// makeFolder makes a folder for a server, which runs as another user than root.
func makeFolder() (string, error) {
	dir, err := os.MkdirTemp(places()[0], folderPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return "", fmt.Errorf("make a folder for the server: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", fmt.Errorf("make a folder for the server: %w", err)
	}
	return dir, nil
}

// folder is makeFolder for one test. It is removed when the test ends.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := makeFolder()
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// removeStale removes the folders of ended processes that did not clean up: processes that crashed or were killed, and processes that kept
// a failed test's database long enough.
func removeStale() {
	for _, place := range places() {
		dirs, _ := filepath.Glob(filepath.Join(place, folderPrefix+"*"))
		for _, dir := range dirs {
			if leftOver(dir) {
				_ = os.RemoveAll(dir)
			}
		}
	}
}

func leftOver(dir string) bool {
	number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), folderPrefix), "-")
	pid, err := strconv.Atoi(number)
	if err != nil || syscall.Kill(pid, 0) != syscall.ESRCH {
		return false
	}
	if info, err := os.Stat(keptMark(dir)); err == nil && time.Since(info.ModTime()) < keepFor {
		return false
	}
	// The process may run in another process namespace (a container). It then holds the server's lock.
	lock, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return os.IsNotExist(err)
	}
	defer func() { _ = lock.Close() }()
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

func keptMark(dir string) string { return filepath.Join(dir, "kept") }

// fetchedBinaries returns the folder where make deps puts server binaries on machines where it cannot install them.
func fetchedBinaries() []string {
	dir, err := os.Getwd()
	if err != nil {
		return nil
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return []string{filepath.Join(dir, ".cache", "debian", "bin")}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}
