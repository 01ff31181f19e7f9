package compose

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// cronLine is the documented line of a crontab, without its times.
	cronLine = regexp.MustCompile(`(?m)^    10 3 \* \* \* (.*)$`)
	// environment is a documented file of settings.
	environment = regexp.MustCompile(`(?m)^    # /etc/tidemark/(\S+)\n((?:    [A-Z_]+=.*\n)+)`)
)

// TestTheLineForCronPassesTheSettings runs the documented line on the documented settings, which have spaces and ampersands.
func TestTheLineForCronPassesTheSettings(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join(root, "docs/operator.md"))
	if err != nil {
		t.Fatal(err)
	}
	text, dir := string(b), t.TempDir()
	line := cronLine.FindStringSubmatch(text)
	files := environment.FindAllStringSubmatch(text, -1)
	if line == nil || len(files) != 2 {
		t.Fatalf("docs/operator.md has the line %q and %d files of settings", line, len(files))
	}
	want, all := map[string]string{"WORLD": "live", "STATE_DIR": "/var/lib/tidemark"}, map[string]bool{}
	for _, f := range files {
		settings := strings.ReplaceAll(f[2], "    ", "")
		if err := os.WriteFile(filepath.Join(dir, f[1]), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		for setting := range strings.Lines(settings) {
			name, value, _ := strings.Cut(strings.TrimSpace(setting), "=")
			if !strings.HasPrefix(value, "'") || !strings.HasSuffix(value, "'") {
				t.Errorf("%s: %s is not quoted", f[1], name)
			}
			if all[name] = true; f[1] == "backup.env" { // cron runs the backup
				want[name] = strings.Trim(value, "'")
			}
		}
	}
	for _, name := range []string{"DATABASE_URL", "DATABASE_WORKER_URL", "SEC_USER_AGENT", "ARCHIVE_URL"} {
		if !all[name] {
			t.Errorf("the documented settings lack %s", name)
		}
	}
	// root reads the settings and starts the program as the user tidemark, here as nobody. Who runs the test as an ordinary user starts it as himself.
	become := ""
	if os.Getuid() == 0 {
		become = "/usr/sbin/runuser -u nobody -- "
	}
	if strings.Count(line[1], "/usr/sbin/runuser -u tidemark -- ") != 1 {
		t.Fatalf("the line does not become tidemark: %s", line[1])
	}
	for _, folder := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(folder, 0o755); err != nil { //nolint:gosec // the program in it is run by another user
			t.Fatal(err)
		}
	}
	tidemark := filepath.Join(dir, "tidemark")
	if err := os.WriteFile(tidemark, []byte("#!/bin/sh\necho \"$@\"\nexec env\n"), 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	shell := exec.CommandContext(t.Context(), "/bin/sh", "-c",
		strings.NewReplacer("/usr/sbin/runuser -u tidemark -- ", become, "/usr/local/bin/tidemark", tidemark, "/etc/tidemark/", dir+"/").Replace(line[1]))
	shell.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir} // as cron has it
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := strings.Split(string(out), "\n")
	if got[0] != "backup --keep=14 /backups" {
		t.Errorf("it runs %q", got[0])
	}
	for name, value := range want {
		if !strings.Contains("\n"+string(out), "\n"+name+"="+value+"\n") {
			t.Errorf("the program does not get %s=%s:\n%s", name, value, out)
		}
	}
}
