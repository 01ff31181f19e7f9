package pages

import (
	"go/format"
	"os/exec"
	"strings"
	"testing"
)

func TestTheCodeOfEachExampleIsWellFormed(t *testing.T) {
	t.Parallel()
	kinds := []example{{Path: "/api/signals/x?as_of=2026-01-02"}, {Path: "/api/v1/picks/latest", Keyed: true}, {Path: "/api/signals/x/history?format=csv&from=2026-01-02", Columns: []string{"observed_at", "value"}}}
	for _, c := range codes {
		for _, e := range kinds {
			code := codeOf(c.id, "https://tidemark.example", e)
			if strings.Count(code, `https://tidemark.example`+e.Path) != 1 || strings.Contains(code, "ADDRESS") || strings.Contains(code, "COLUMNS") || e.Keyed != strings.Contains(code, "TIDEMARK_KEY") {
				t.Errorf("the code in %s for %s is\n%s", c.name, e.Path, code)
			}
			switch c.id {
			case "go":
				if formatted, err := format.Source([]byte(code)); err != nil || strings.TrimSpace(string(formatted)) != code {
					t.Errorf("the Go for %s, %v:\n%s", e.Path, err, code)
				}
			case "python":
				python, err := exec.LookPath("python3")
				if err != nil {
					continue
				}
				cmd := exec.CommandContext(t.Context(), python, "-c", "import ast, sys; ast.parse(sys.stdin.read())")
				cmd.Stdin = strings.NewReader(code)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("the Python for %s: %s\n%s", e.Path, out, code)
				}
			}
		}
	}
}

func TestAnExcerptIsTheBeginningOfAnAnswer(t *testing.T) {
	t.Parallel()
	if got := excerpt([]byte(`{"a":1,"b":[1]}`), false); got != "{\n  \"a\": 1,\n  \"b\": [\n    1\n  ]\n}" {
		t.Errorf("it is\n%s", got)
	}
	long := excerpt([]byte(strings.Repeat("x,y\r\n", 100)), true)
	if n := strings.Count(long, "\n") + 1; n != excerptLines+1 || !strings.HasSuffix(long, "\n…") || strings.Contains(long, "\r") {
		t.Errorf("%d lines:\n%s", n, long)
	}
	if wide := excerpt([]byte(strings.Repeat("é", 500)), true); len([]rune(wide)) != excerptWidth+1 {
		t.Errorf("a line has %d letters", len([]rune(wide)))
	}
	if excerpt(nil, false) != "" || excerpt([]byte("{"), false) != "" {
		t.Error("nothing, and what is not JSON, have an excerpt")
	}
}
