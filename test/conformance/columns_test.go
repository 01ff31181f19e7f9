package conformance

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tidemark/test/program"
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

// examplePolars runs the study of revisions in Polars, and counts the same in CSV.
func examplePolars(t *testing.T, s *server) {
	if *polars == "" {
		t.Skip("there are no packages of npm")
	}
	script, err := filepath.Abs("../../examples/polars/revisions.mjs")
	if err != nil {
		t.Fatal(err)
	}
	s.studied(t, func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), *nodeFlag, script, "hormuz-transit")
		cmd.Dir = *polars
		return cmd
	})
}

// exampleR runs the study of revisions in R.
func exampleR(t *testing.T, s *server) {
	need(t, "Rscript")
	s.studied(t, func() *exec.Cmd {
		return exec.CommandContext(t.Context(), "Rscript", "../../examples/r/revisions.R", "hormuz-transit")
	})
}

// studied runs a study of the revisions of hormuz-transit. It must print what the list as CSV says. The sandbox goes on meanwhile: it is run
// again until the list did not change.
func (s *server) studied(t *testing.T, study func() *exec.Cmd) {
	t.Helper()
	program.Until(t, program.Timeout, "the study prints what CSV says", func() (bool, string) {
		want, err := s.revisions(t, "hormuz-transit")
		if err != nil {
			return false, err.Error()
		}
		cmd := study()
		cmd.Env = append(os.Environ(), "TIDEMARK_URL="+s.url)
		out, err := cmd.CombinedOutput()
		return err == nil && strings.Contains(string(out), want), fmt.Sprintf("%v: %s, want %s", err, out, want)
	})
}

// revisions counts the versions, points and revisions of a signal in its list as CSV.
func (s *server) revisions(t *testing.T, id string) (string, error) {
	t.Helper()
	a := s.ask(t, http.MethodGet, "/api/signals/"+id+"/history?vintages=all&format=csv", "")
	rows, err := csv.NewReader(bytes.NewReader(a.Body)).ReadAll()
	if err != nil || len(rows) == 0 {
		return "", fmt.Errorf("the list as CSV: %w: %.200s", err, a.Body)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	points, revisions, before := map[string]bool{}, 0, map[string]string{}
	for _, row := range rows[1:] { // by day, and then by version
		day, value := row[column["observed_at"]], row[column["value"]]
		if row[column["revised"]] == "true" && before[day] != "" && value != "" {
			revisions++
		}
		points[day], before[day] = true, value
	}
	if revisions == 0 {
		return "", errors.New("nothing is revised yet")
	}
	return fmt.Sprintf("%s: %d versions of %d points, %d revisions", id, len(rows)-1, len(points), revisions), nil
}
