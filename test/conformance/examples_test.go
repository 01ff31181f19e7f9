package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"tidemark/test/program"
)

// exampleCurl, examplePython and exampleGo run the tours of the folder examples.
func exampleCurl(t *testing.T, s *server) {
	need(t, "sh")
	need(t, "curl")
	toured(t, s, exec.CommandContext(t.Context(), "sh", "../../examples/curl/tour.sh"))
}

func examplePython(t *testing.T, s *server) {
	need(t, "python3")
	toured(t, s, exec.CommandContext(t.Context(), "python3", "../../examples/python/tour.py"))
}

// examplePythonScorecard recomputes the forecasts' scorecards, and again behind proxies that change what no hash covers: the levels of the
// quantiles, the times of releases, and the catalog, which leaves out signals that are decayed. The sandbox may still be catching up with the present, so both are repeated until its record no longer changes.
func examplePythonScorecard(t *testing.T, s *server) {
	need(t, "python3")
	origin, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	behind := func(honest, lie string) string {
		liar := httptest.NewServer(&httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(origin) },
			ModifyResponse: func(r *http.Response) error {
				b, err := io.ReadAll(r.Body)
				b = bytes.ReplaceAll(b, []byte(honest), []byte(lie))
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
				r.Header.Set("Content-Length", strconv.Itoa(len(b)))
				return err
			},
		})
		t.Cleanup(liar.Close)
		return liar.URL
	}
	for _, c := range []struct {
		what, url string
		status    int
		want      *regexp.Regexp
	}{
		{"an honest record is recomputed", s.url, 0, regexp.MustCompile(`(?m)^grade:[1-9]\d*:[0-9a-f]{64}$`)},
		{"a signal that left the catalog counts", behind(`"signals":[`, `"signals":[],"others":[`), 0, regexp.MustCompile(`(?m)^grade:[1-9]\d*:[0-9a-f]{64}$`)},
		{"a changed release is named", behind(`"release_at":"20`, `"release_at":"30`), 1, regexp.MustCompile(`(?m)^forecast \d+ \(.*\): release_at is 2`)},
		{"a changed level is named", behind(`"p":0.5,`, `"p":0.51,`), 1, regexp.MustCompile(`(?m)^forecast \d+ \(.*\): quantiles is `)},
	} {
		program.Until(t, program.Timeout, c.what, func() (bool, string) {
			cmd := exec.CommandContext(t.Context(), "python3", "../../examples/python/scorecard.py")
			cmd.Env = append(os.Environ(), "TIDEMARK_URL="+c.url)
			out, _ := cmd.CombinedOutput()
			status := cmd.ProcessState.ExitCode()
			return status == c.status && c.want.Match(out), fmt.Sprintf("exit %d: %s", status, out)
		})
	}
}

func exampleGo(t *testing.T, s *server) {
	toured(t, s, exec.CommandContext(t.Context(), "go", "run", "tidemark/examples/go", s.url))
}

// exampleGoClient generates a client with oapi-codegen from the description that the server gives, and makes the tour with it. It works in a
// copy, so that the repository has no generated file.
func exampleGoClient(t *testing.T, s *server) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples/go-client")); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "TIDEMARK_URL="+s.url, "GOFLAGS=-mod=readonly", "GOWORK=off")
		return cmd
	}
	if out, err := run("mod", "download").CombinedOutput(); err != nil {
		t.Skipf("the Go module proxy does not have the generator: %v\n%s", err, out)
	}
	if out, err := run("generate", "./tidemark").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	toured(t, s, run("run", "."))
}

// exampleFollow follows the stream from its beginning, and again from where it was: the second time it prints nothing of the first.
func exampleFollow(t *testing.T, s *server) {
	need(t, "python3")
	cursor := filepath.Join(t.TempDir(), "cursor")
	if err := os.WriteFile(cursor, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for round := range 2 {
		cmd := exec.CommandContext(t.Context(), "python3", "../../examples/python/follow.py", "--topics", "pick", "--seconds", "2", "--cursor", cursor)
		cmd.Env = append(os.Environ(), "TIDEMARK_URL="+s.url)
		out, err := cmd.CombinedOutput()
		if err != nil || round == 0 && !strings.Contains(string(out), " pick announced ") {
			t.Errorf("round %d: %v\n%s", round, err, out)
		}
		for line := range strings.Lines(string(out)) {
			if seen[line] {
				t.Errorf("%q comes twice", line)
			}
			seen[line] = true
		}
	}
}

// The client outlives answers that break off and answers that are none. It waits as the server asks, and longer while nothing comes.
func TestTheClientThatFollowsOutlivesBrokenAnswers(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	var asked atomic.Int64
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		const header = "HTTP/1.1 200 OK\r\nConnection: close\r\n"
		answer := header + "\r\nretry: 100\n\n" // and the end
		switch asked.Add(1) {
		case 1:
			answer = header + "Transfer-Encoding: chunked\r\n\r\nc\r\nretry: 100\n\n\r\nff\r\nid: 1"
		case 2:
			answer = "this is no answer\r\n\r\n"
		case 3:
			answer = header + "\r\nid: 7\nevent: pick\ndata: {\"at\":\"now\",\"topic\":\"pick\",\"kind\":\"announced\",\"url\":\"x\"}\n\n"
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = conn.Write([]byte(answer))
		_ = conn.Close()
	}))
	defer broken.Close()
	cmd := exec.CommandContext(t.Context(), "python3", "../../examples/python/follow.py", "--seconds", "3")
	cmd.Env = append(os.Environ(), "TIDEMARK_URL="+broken.URL)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "now pick announced x") {
		t.Errorf("%v\n%s", err, out)
	}
	if n := asked.Load(); n > 12 {
		t.Errorf("it asked %d times in 3 seconds", n)
	}
}

// guide is the page that explains how to set up MCP clients.
const guide = "../../docs/mcp.md"

// theirs is the address that guides have in the place of the reader's own.
const theirs = "https://tidemark.example"

// exampleMCP runs the command of the guide.
func exampleMCP(t *testing.T, s *server) {
	need(t, "sh")
	need(t, "curl")
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^    curl (?:.*\\\n)*.*\n`).FindString(string(text))
	out, err := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(command, theirs, s.url)).Output()
	if err != nil || !strings.Contains(string(out), `"structuredContent"`) {
		t.Errorf("%s\n%v: %.500s", command, err, out)
	}
}

// mcpConfigurations connects the official inspector with each configuration of the guide that names an address.
func mcpConfigurations(t *testing.T, s *server) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	connected := 0
	for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		var config struct {
			MCPServers map[string]map[string]any `json:"mcpServers"`
			// Servers is VS Code's name for the same map.
			Servers map[string]map[string]any `json:"servers,omitempty"`
		}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(block[1], theirs, s.url)), &config); err != nil {
			t.Errorf("%s: %v", block[1], err)
			continue
		}
		if config.MCPServers == nil {
			config.MCPServers, config.Servers = config.Servers, nil
		}
		for name, server := range config.MCPServers {
			if server["url"] == nil {
				continue // a bridge of others, which the guide does not answer for
			}
			server["type"] = "http" // without it the inspector takes an address for a command
			b, err := json.Marshal(config)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "mcp.json")
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
			out, ok := s.node(t, inspectorScript, "--cli", "--config", file, "--server", name, "--method", "tools/list")
			if !ok || !strings.Contains(out, "get_verification_chain") {
				t.Errorf("%s\n%s", block[1], out)
			}
			connected++
		}
	}
	if connected < 2 {
		t.Errorf("%d configurations name an address, want those of two clients at least", connected)
	}
}

// need skips a test whose interpreter is not on the machine.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("there is no %s on this machine", program)
	}
}

// toured runs a tour of the service and checks that it has seen what there is.
func toured(t *testing.T, s *server, cmd *exec.Cmd) {
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
