package up

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/test/program"
)

// TestTheStudyOfRevisionsIsTheSameAfterABackfill runs the study of examples/pandas on a sandbox, works through two weeks before its first
// day, and runs it again.
func TestTheStudyOfRevisionsIsTheSameAfterABackfill(t *testing.T) {
	t.Parallel()
	if err := exec.CommandContext(t.Context(), "python3", "-c", "import pandas").Run(); err != nil {
		t.Skip("there is no python3 with pandas on this machine (Debian: apt install python3-pandas): the study is not run")
	}
	dir := program.Folder(t)
	p, base := start(t, dir, 0, "--world=sandbox", "--sandbox-days=12")
	program.Until(t, program.Timeout, "the sandbox has reached the present", func() (bool, string) {
		return strings.Contains(p.Output(), "the sandbox has reached the present"), "it lives through its past"
	})
	o := program.Options{Dir: dir, Env: []string{
		"WORLD=sandbox", "STATE_DIR=" + filepath.Join(dir, "state"), "DATABASE_URL=", "REDIS_URL=", "LOG_LEVEL=error",
	}}
	study := func() string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "python3", "../../examples/pandas/revisions.py", "hormuz-transit", "crack-spread-321")
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
