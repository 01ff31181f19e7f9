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
	each := units{}
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
			each.look(t, m[1], text)
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

// units maps the users of the services to the first service that has each.
type units map[string]string

// look checks that a service reads the settings of no other, and that only the worker and the backup, which share a folder, share a user.
func (u units) look(t *testing.T, role, text string) {
	t.Helper()
	files := regexp.MustCompile(`(?m)^EnvironmentFile=(.*)$`).FindAllStringSubmatch(text, -1)
	if len(files) != 1 || files[0][1] != "/etc/tidemark/"+role+".env" {
		t.Errorf("the settings of %s are in %v", role, files)
	}
	user, group := regexp.MustCompile(`(?m)^User=(.+)$`).FindStringSubmatch(text), regexp.MustCompile(`(?m)^Group=(.+)$`).FindStringSubmatch(text)
	if user == nil || group == nil || user[1] != group[1] || user[1] == "root" {
		t.Errorf("%s runs as %v of %v", role, user, group)
		return
	}
	name := user[1]
	if other, taken := u[name]; taken && (role != "worker" && role != "backup" || other != "worker" && other != "backup") {
		t.Errorf("%s and %s run as %s: each can read the settings of the other", role, other, name)
	}
	u[name] = role
	if !strings.Contains(text, "STATE_DIR=/var/lib/"+name) || !strings.Contains(text, "\nStateDirectory="+name+"\nStateDirectoryMode=0700\n") {
		t.Errorf("%s has not the folder of its user %s", role, name)
	}
}
