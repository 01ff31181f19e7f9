package up

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/test/program"
)

// pandasPython returns a python3 that has pandas. Debian's package python3-pandas serves /usr/bin/python3 only, which may not be the first in
// PATH. tools/deps.sh looks in the same places.
func pandasPython(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if err := exec.CommandContext(t.Context(), python, "-c", "import pandas").Run(); err == nil {
			return python
		}
	}
	t.Skip("no python3 on this machine has pandas (tools/deps.sh pandas; Debian: apt install python3-pandas): the study is not run")
	return ""
}

// TestDepsFindsAPythonWithPandas runs tools/deps.sh where nothing can be installed: PATH has no apt-get.
func TestDepsFindsAPythonWithPandas(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	for _, name := range []string{"bash", "dirname", "id"} {
		at, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(at, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	deps := func(python string) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(path, "python3"), []byte("#!"+filepath.Join(path, "bash")+"\n"+python+"\n"), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), filepath.Join(path, "bash"), "../../tools/deps.sh", "pandas")
		cmd.Env = []string{"PATH=" + path}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if got := deps("exit 0"); got != "pandas at "+filepath.Join(path, "python3") {
		t.Errorf("the python3 in PATH has pandas: %s", got)
	}
	if got := deps("exit 1"); got != "pandas at /usr/bin/python3" && !strings.HasPrefix(got, "There is no python3 with pandas, and it cannot be installed") {
		t.Errorf("the python3 in PATH has no pandas: %s", got)
	}
}

// TestTheStudyOfRevisionsIsTheSameAfterABackfill runs the study of examples/pandas on a sandbox, works through two weeks before its first
// day, and runs it again.
func TestTheStudyOfRevisionsIsTheSameAfterABackfill(t *testing.T) {
	t.Parallel()
	python := pandasPython(t)
	dir := program.Folder(t)
	p, base := start(t, dir, 0, "--world=sandbox", "--sandbox-days=12", fewCompanies)
	program.Until(t, program.Timeout, "the sandbox has reached the present", func() (bool, string) {
		return strings.Contains(p.Output(), "the sandbox has reached the present"), "it lives through its past"
	})
	o := program.Options{Dir: dir, Env: []string{
		"WORLD=sandbox", "STATE_DIR=" + filepath.Join(dir, "state"), "DATABASE_URL=", "REDIS_URL=", "LOG_LEVEL=error",
	}}
	study := func() string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), python, "../../examples/pandas/revisions.py", "hormuz-transit", "crack-spread-321")
		cmd.Env = append(cmd.Environ(), "TIDEMARK_URL="+base)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	before := study()
	lines := strings.Split(before, "\n")
	if !strings.HasPrefix(lines[1], "hormuz-transit,") || strings.HasPrefix(lines[1], "hormuz-transit,0,") {
		t.Fatalf("the sandbox's publisher revised nothing: this shows nothing\n%s", before)
	}
	now := time.Now().UTC()
	for _, signal := range []string{"hormuz-transit", "crack-spread-321"} {
		status, out := program.Shell(t, o, "tidemark backfill run --signal "+signal+" --from "+now.AddDate(0, 0, -26).Format(time.DateOnly)+
			" --to "+now.AddDate(0, 0, -14).Format(time.DateOnly))
		if status != 0 || !strings.Contains(out, "added") {
			t.Fatalf("backfill: exit %d: %s", status, out)
		}
	}
	if after := study(); after != before {
		t.Errorf("before:\n%s\nafter a backfill:\n%s", before, after)
	}
}
