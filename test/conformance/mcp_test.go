package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	suiteScript     = "@modelcontextprotocol/conformance/dist/index.js"
	inspectorScript = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
)

// passes are the scenarios of the official suite that apply to any server, with the checks of each that passed when it was pinned. The
// others call tools, prompts and resources that the suite wants a server under test to have, and tools/list shows the seven of the
// interface and no other.
var passes = map[string]int{
	"server-initialize": 2, "server-stateless": 21, "ping": 2, "completion-complete": 2, "tools-list": 3, "resources-list": 2, "prompts-list": 2,
	"sep-2164-resource-not-found": 4, "dns-rebinding-protection": 2, "caching": 8, "http-header-validation": 14,
	"input-required-result-unsupported-methods": 2, "input-required-result-validate-input": 3,
}

// inapplicable are scenarios of features that the server does not have, and so does not declare. They are log levels, subscriptions, tasks,
// tools that ask back, arguments in headers, and the suite's own resources.
var inapplicable = regexp.MustCompile(`^(logging-set-level|tools-call-with-logging|resources-(un)?subscribe|tasks-.*|input-required-result-.*|` +
	`http-custom-header-server-validation|resources-read-(text|binary)|resources-templates-read|json-schema-2020-12)$`)

// fixture matches the names of the suite's own tools and prompts.
var fixture = regexp.MustCompile(`\btest_[a-z]`)

// mcpSuite runs all server scenarios of the official conformance suite, of all revisions of the protocol.
func mcpSuite(t *testing.T, s *server) {
	dir := t.TempDir()
	// It exits with 1 for the checks that cannot apply; they are told apart below.
	out, _ := s.node(t, suiteScript, "server", "--url", s.url+"/api/mcp", "--suite", "all", "--output-dir", dir)
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the suite wrote no results (%v):\n%s", err, out)
	}
	stamp := regexp.MustCompile(`^server-(.*)-\d{4}-\d{2}-\d{2}T[0-9-]+Z$`)
	passed := map[string]int{}
	for _, file := range files {
		name := stamp.FindStringSubmatch(filepath.Base(filepath.Dir(file)))
		if name == nil {
			t.Fatalf("results of an unknown name: %s", file)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var checks []struct{ ID, Status, ErrorMessage string }
		if err := json.Unmarshal(b, &checks); err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			switch {
			case c.Status == "SUCCESS":
				passed[name[1]]++
			case c.Status == "FAILURE" && !inapplicable.MatchString(name[1]) && !fixture.MatchString(c.ErrorMessage):
				t.Errorf("%s: %s: %s", name[1], c.ID, c.ErrorMessage)
			}
		}
	}
	all := 0
	for name, n := range passes {
		all += passed[name]
		if passed[name] < n {
			t.Errorf("%s: %d checks passed, want at least %d", name, passed[name], n)
		}
	}
	t.Logf("%d checks of %d scenarios that apply passed", all, len(passes))
}

// mcpInspector asks everything that is served with the official inspector, in both eras of the protocol.
func mcpInspector(t *testing.T, s *server) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			ask := func(args ...string) (map[string]any, string) {
				t.Helper()
				out, ok := s.node(t, inspectorScript, append([]string{"--cli", s.url + "/api/mcp", "--transport", "http", "--protocol-era", era, "--method"}, args...)...)
				var answer map[string]any
				if err := json.NewDecoder(strings.NewReader(out)).Decode(&answer); err != nil || !ok {
					t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
				}
				if args[0] == "tools/call" && len(out) > 100_000 {
					t.Errorf("%s is answered with %d bytes", strings.Join(args, " "), len(out))
				}
				return answer, out
			}
			names := func(list any) (names []string) {
				for _, one := range list.([]any) {
					names = append(names, one.(map[string]any)["name"].(string))
				}
				return names
			}

			list, out := ask("tools/list", "--strict")
			want := []string{
				"explain_change", "get_calendar", "get_economic_event", "get_forecast", "get_latest_picks", "get_portfolio_summary", "get_signal", "get_signal_history", "get_stock_research",
				"get_verification_chain", "list_economic_events", "list_signals", "verify_pick",
			}
			if got := names(list["tools"]); !slices.Equal(got, want) {
				t.Errorf("tools %v, want %v", got, want)
			}
			if strings.Contains(out, "Warning") {
				t.Errorf("schemas that not every client understands:\n%s", out)
			}

			latest, _ := ask("tools/call", "--tool-name", "get_latest_picks")
			newest := latest["structuredContent"].(map[string]any)["picks"].([]any)[0].(map[string]any)["ticker"].(string)
			for _, call := range [][]string{
				{"get_stock_research", "ticker=" + newest, "language=hi"},
				{"get_portfolio_summary"},
				{"verify_pick", "ticker=" + newest},
				{"get_verification_chain", "limit=2"},
				{"list_economic_events", "limit=1"},
				{"list_signals"},
				{"get_calendar"},
				{"get_signal", "id=crack-spread-321"},
				{"get_signal_history", "id=crack-spread-321", "limit=100"},
				{"explain_change", "id=crack-spread-321"},
				{"get_forecast", "id=eia-weekly-petroleum"},
			} {
				args := []string{"tools/call", "--tool-name", call[0]}
				if len(call) > 1 {
					args = append(append(args, "--tool-arg"), call[1:]...)
				}
				answer, _ := ask(args...)
				if answer["isError"] == true || answer["structuredContent"] == nil {
					t.Errorf("%v: %v", call, answer)
				}
			}

			resources, _ := ask("resources/list")
			if len(resources["resources"].([]any)) < 8 {
				t.Errorf("resources %v, want the catalog, six signals and the chain", names(resources["resources"]))
			}
			ask("resources/templates/list")
			brief, _ := ask("resources/read", "--uri", s.url+"/api/signals/crack-spread-321/brief")
			if text, _ := brief["contents"].([]any)[0].(map[string]any)["text"].(string); !strings.HasPrefix(text, "# ") {
				t.Errorf("the brief begins with %.40q, want a heading", text)
			}
			ask("prompts/list")
			ask("prompts/get", "--prompt-name", "verify_track_record")
			ask("prompts/get", "--prompt-name", "explain_signal", "--prompt-args", "signal=crack-spread-321")
		})
	}
}
