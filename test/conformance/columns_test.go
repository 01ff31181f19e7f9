package conformance

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// columnsEqual compares the formats of every list: JSON and CSV against Parquet, as DuckDB and hyparquet read it, and Arrow.
func columnsEqual(t *testing.T, s *server) {
	if *tables == "" {
		t.Skip("there are no packages of npm")
	}
	key := s.key(t)
	lists := []string{
		"/api/signals/crack-spread-321/history", "/api/signals/crack-spread-321/history?vintages=all", "/api/signals/iowa-corn-yield/history?vintages=all",
		"/api/signals/crack-spread-321/forecasts?limit=500", "/api/v1/verify/picks", "/api/v1/picks?limit=500", "/api/v1/portfolio/positions?limit=500",
		"/api/v1/portfolio/history", "/api/v1/sectors", "/api/v1/regions", "/api/v1/stocks?limit=500", "/api/v1/events?limit=500",
		"/api/v1/economic-events?limit=500",
	}
	for _, path := range lists {
		if a := s.ask(t, http.MethodHead, path, key); a.Status != http.StatusOK {
			t.Errorf("%s: %d", path, a.Status)
		}
	}
	cmd := exec.CommandContext(t.Context(), *nodeFlag, append([]string{"columns.mjs", *tables, s.url, key}, lists...)...)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || strings.Count(string(out), " equal ") != len(lists) {
		t.Errorf("columns: %v", err)
	}
}

// exampleDuckDB runs the study of revisions in DuckDB.
func exampleDuckDB(t *testing.T, s *server) {
	if *tables == "" {
		t.Skip("there are no packages of npm")
	}
	script, err := filepath.Abs("../../examples/duckdb/revisions.mjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), *nodeFlag, script)
	cmd.Dir, cmd.Env = *tables, append(os.Environ(), "TIDEMARK_URL="+s.url)
	out, err := cmd.CombinedOutput()
	if err != nil || !regexp.MustCompile(`hormuz-transit: [1-9]\d* versions of [1-9]\d* points`).Match(out) {
		t.Errorf("%v\n%s", err, out)
	}
}
