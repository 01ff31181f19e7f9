package conformance

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// exampleCurl, examplePython and exampleGo run the tours of the folder examples.
func exampleCurl(t *testing.T, s *stand) {
	need(t, "sh")
	need(t, "curl")
	toured(t, s, exec.CommandContext(t.Context(), "sh", "../../examples/curl/tour.sh"))
}

func examplePython(t *testing.T, s *stand) {
	need(t, "python3")
	toured(t, s, exec.CommandContext(t.Context(), "python3", "../../examples/python/tour.py"))
}

func exampleGo(t *testing.T, s *stand) {
	toured(t, s, exec.CommandContext(t.Context(), "go", "run", "tidemark/examples/go", s.url))
}

// need skips a test whose interpreter is not on the machine.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("there is no %s on this machine", program)
	}
}

// toured runs a tour of the service and checks that it has seen what there is.
func toured(t *testing.T, s *stand, cmd *exec.Cmd) {
	t.Helper()
	cmd.Env = append(os.Environ(), "TIDEMARK_URL="+s.url)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("%v:\n%s%s", err, out, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	for what, seen := range map[string]bool{
		"a signal":               strings.Contains(string(out), "crack-spread-321"),
		"the chain, recomputed":  regexp.MustCompile(`[1-9]\d* picks recomputed|\|2\d{3}-\d{2}-\d{2}\|[0-9a-f]{64} -> [0-9a-f]{64}`).Match(out),
		"picks with their dates": regexp.MustCompile(`20\d{2}-\d{2}-\d{2} [A-Z.]+ at \d|seq,ticker`).Match(out),
	} {
		if !seen {
			t.Errorf("it did not show %s:\n%s", what, out)
		}
	}
}
