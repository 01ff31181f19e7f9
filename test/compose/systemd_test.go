package compose

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var starts = regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/tidemark ([a-z]+)`)

// TestTheUnitsOfSystemdAreGood checks that systemd accepts deploy/systemd and that tests run its commands. A role is ready when it says so.
func TestTheUnitsOfSystemdAreGood(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "deploy/systemd/*"))
	if err != nil || len(files) < 6 {
		t.Fatalf("%d units, %v", len(files), err)
	}
	dir, run := t.TempDir(), suites(t)
	args := []string{"verify", "--man=no", "--recursive-errors=no"}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, name := string(b), filepath.Base(file)
		if strings.HasSuffix(name, ".service") {
			m := starts.FindStringSubmatch(text)
			if m == nil || !strings.Contains(run, `"`+m[1]+`"`) {
				t.Errorf("%s starts %q, which no test runs", name, m)
				continue
			}
			role := m[1] == "scheduler" || m[1] == "worker" || m[1] == "api" || m[1] == "monitor"
			if role && !strings.Contains(text, "\nType=notify\n") {
				t.Errorf("%s does not wait until the role is ready", name)
			}
		}
		// The program is not installed where this runs.
		text = strings.ReplaceAll(text, "/usr/local/bin/tidemark", "/bin/true")
		copied := filepath.Join(dir, name)
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, copied)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not on this machine (Debian has it in the package systemd): its check of the units was left out")
	}
	if out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
