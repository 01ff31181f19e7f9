package up

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/test/program"
)

// misbehaves is the heading of the chapter that this test goes through.
const misbehaves = "\n## When a publisher misbehaves\n"

// TestTheWalkThroughQuarantine does what the operators' chapter says, line by line, and finds what it promises.
func TestTheWalkThroughQuarantine(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operator.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, _ := strings.Cut(string(page), misbehaves)
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	_, chapter, _ = strings.Cut(chapter, "A walk through quarantine.")
	dir := program.Folder(t)
	p, base := start(t, dir, 0, "--world=sandbox", "--sandbox-days=5", fewCompanies)
	awaitSignals(t, base)
	o := program.Options{Dir: dir, Env: []string{
		"WORLD=sandbox", "STATE_DIR=" + filepath.Join(dir, "state"), "DATABASE_URL=", "REDIS_URL=", "LOG_LEVEL=error",
	}}
	program.Until(t, program.Timeout, "the sandbox has reached the present", func() (bool, string) {
		return strings.Contains(p.Output(), "the sandbox has reached the present"), "it lives through its past"
	})
	lines := commands(chapter)
	want := []struct {
		status int
		says   string
	}{
		{0, "the upstream of fred-cpi is shrunk from"},
		{1, "it is in quarantine 1: check row_count"},
		{0, "fred-cpi"},
		{0, "known observations are not there"},
		{0, " withdrawn, of "},
		{0, "quarantine 1 is rejected"},
		{0, "behaves again"},
		{0, "succeeded"},
		{0, "is shrunk from"},
		{1, "it is in quarantine 2: check row_count"},
		{0, "quarantine 2 is accepted"},
		{0, "behaves again"},
		{0, "is malformed from"},
		{1, "wrong content type"},
		{0, "job-failed"},
		{0, "is away from"},
		{1, "is tried again"},
		{0, "is late from"},
		{0, "succeeded: 0 rows"},
		{0, "is revised from"},
		{0, "rows added"},
		{0, "see it with `tidemark schedule run equities edgar-companies --wait`"},
		{1, "is tried again"},
		{0, "temis-no2"},
		{0, "upstreams behave again"},
	}
	if len(lines) != len(want) {
		t.Fatalf("the chapter has %d lines, %d are known: %q", len(lines), len(want), lines)
	}
	for n, line := range lines {
		good := func() (bool, string) {
			status, out := program.Shell(t, o, line)
			return status == want[n].status && strings.Contains(out, want[n].says), fmt.Sprintf("exit %d: %s", status, out)
		}
		if strings.HasPrefix(line, "tidemark alerts") { // the scheduler looks now and then
			program.Until(t, program.Timeout, line, good)
		} else if ok, said := good(); !ok {
			t.Errorf("%s: %s\nwant exit %d and %q", line, said, want[n].status, want[n].says)
		}
	}
	if _, out := program.Shell(t, o, "tidemark schedule run ingest temis-no2 --wait"); !strings.Contains(out, "succeeded") {
		t.Errorf("when all is over: %s", out)
	}
}
