package conformance

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"tidemark/signals"
	"tidemark/test/program"
)

var (
	npmFlag  = flag.String("npm", "", "the folder with the suites' packages, installed")
	tables   = flag.String("columns", "", "the folder with the packages that read Parquet and Arrow, installed")
	polars   = flag.String("polars", "", "the folder with the package of Polars, installed")
	nodeFlag = flag.String("node", "", "the Node that runs them")
	examples = flag.Bool("examples", false, "run the steps that need no packages, the examples first of all, where -npm names none")
)

// steps are the suites, in the order in which they begin. They share the sandbox and run side by side.
var steps = []struct {
	name string
	run  func(*testing.T, *server)
}{
	{"openapi redocly", openapiRedocly},
	{"openapi spectral", openapiSpectral},
	{"openapi answers", openapiAnswers},
	{"openapi webhooks", openapiWebhooks},
	{"openapi client in TypeScript", openapiClient},
	{"columns", columnsEqual},
	{"example in curl", exampleCurl},
	{"example in Python", examplePython},
	{"example of the scorecards in Python", examplePythonScorecard},
	{"example in Go", exampleGo},
	{"example of a generated client in Go", exampleGoClient},
	{"example of following in Python", exampleFollow},
	{"columns example in DuckDB", exampleDuckDB},
	{"columns example in Polars", examplePolars},
	{"example in R", exampleR},
	{"example of spreadsheets", exampleSpreadsheets},
	{"example of MCP by hand", exampleMCP},
	{"mcp configurations", mcpConfigurations},
	{"discovery links", discoveryLinks},
	{"claims of probability", claimsServed},
	{"mcp suite", mcpSuite},
	{"mcp inspector", mcpInspector},
}

// needsNothing are the steps without packages of npm.
var needsNothing = regexp.MustCompile(`^(example|discovery|claims|openapi answers)`)

func TestMain(m *testing.M) {
	flag.Parse()
	if *npmFlag == "" && !*examples {
		os.Exit(m.Run())
	}
	remove := program.Build()
	status := m.Run()
	remove()
	os.Exit(status)
}

func TestConformance(t *testing.T) {
	if *npmFlag == "" && !*examples {
		t.Skip("make conformance runs this, with packages of npm")
	}
	s := start(t)
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			if *npmFlag == "" && !needsNothing.MatchString(step.name) {
				t.Skip("there are no packages of npm")
			}
			t.Parallel()
			step.run(t, s)
		})
	}
}

// server is a sandbox that has something of everything: signals, picks, research, a portfolio, events.
type server struct {
	// url is its public address, without a slash at the end.
	url string
}

// days is how far back the sandbox begins: a few picks, and more than a weekly digest.
const days = "12"

// start runs the program and waits until it has lived through some days.
func start(t *testing.T) *server {
	t.Helper()
	began := time.Now()
	_, url := program.Up(t, program.Options{Dir: program.Folder(t), Env: []string{
		"LOG_LEVEL=error", "RATE_LIMIT=off", "REGISTER_LIMIT=off", "MCP_RATE_LIMIT=off", "PAGES_RATE_LIMIT=off",
	}}, "--world=sandbox", "--sandbox-days="+days)
	s := &server{url: url}
	program.Until(t, program.Timeout, "there are signals, picks, and all that is written around them", func() (bool, string) {
		var served struct{ Count int }
		var record struct {
			Length int `json:"chain_length"`
		}
		err := errors.Join(s.get(t.Context(), "/readyz", nil), s.get(t.Context(), "/api/signals", &served),
			s.get(t.Context(), "/api/v1/verify/picks?limit=1", &record))
		return err == nil && served.Count == len(signals.All()) && record.Length >= 6,
			fmt.Sprint(err, served.Count, record)
	})
	t.Logf("the sandbox at %s is filled after %s", s.url, time.Since(began).Round(time.Second))
	return s
}

// get reads what is at a path into a value, which may be nil.
func (s *server) get(ctx context.Context, path string, into any) error {
	return program.Get(ctx, s.url+path, into)
}

// node runs a program of the installed packages to its end, in their folder. It returns the output and reports whether the program
// succeeded. The script is a path below node_modules.
func (s *server) node(t *testing.T, script string, args ...string) (output string, ok bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, *nodeFlag, append([]string{filepath.Join("node_modules", script)}, args...)...)
	cmd.Dir = *npmFlag
	// The packages' child processes use the same Node, keep their files in the test's folder and do not look for newer versions.
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(*nodeFlag)+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+t.TempDir(),
		"NO_COLOR=1", "CI=1")
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", script, err)
	}
	return string(out), err == nil
}
