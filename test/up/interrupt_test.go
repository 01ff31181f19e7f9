package up

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/test/program"
)

// TestASecondSignalEndsUpAtOnce stops the processes of the private Postgres, so that a shutdown must wait for them. The signals of GNU timeout
// and of a closed terminal come several times, and are one wish. A second signal does not wait, leaves no process behind, and the next start
// works.
func TestASecondSignalEndsUpAtOnce(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("the processes of a server are found by /proc")
	}
	dir := program.Folder(t)
	o := program.Options{Dir: dir, Env: []string{"LOG_FORMAT=json", "SIGNALS_ADDR=", "OPS_ADDR="}}
	sandbox := []string{"--world=sandbox", "--sandbox-days=3", fewCompanies}
	p, _ := program.Up(t, o, sandbox...)
	s := &servers{t: t, state: filepath.Join(dir, "state", "sandbox")}
	for _, pid := range s.postgres() {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGHUP} {
		p.Signal(s)
	}
	select {
	case <-p.Done:
		t.Fatal("up ended without a second signal, although its Postgres does nothing")
	case <-time.After(time.Second):
	}
	began := time.Now()
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.Done:
	case <-time.After(program.Timeout):
		t.Fatal("up did not end upon a second signal")
	}
	t.Logf("ended %s after the second signal", time.Since(began).Round(time.Millisecond))
	if want := 128 + int(syscall.SIGTERM); p.Status() != want {
		t.Errorf("exit status %d, want %d", p.Status(), want)
	}
	if !strings.Contains(p.Output(), `"err":"ending at once after a second signal`) {
		t.Errorf("it does not say that it ends at once:\n%s", p.Output())
	}
	if pids := left(t, dir); len(pids) != 0 {
		t.Errorf("orphans: %v", pids)
	}
	_, base := program.Up(t, o, sandbox...)
	awaitReady(t, base)
}
