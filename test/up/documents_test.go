package up

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidemark/test/program"
)

// notRun are the beginnings of the documents' command lines that are not run against the sandbox, and why.
var notRun = map[string]string{
	"make ":                      "targets of the Makefile are what runs this test, or take hours",
	"tidemark backup":            "test/backup runs it",
	"tidemark restore ":          "wants an empty database: test/backup",
	"claude mcp add ":            "a program of others; test/conformance connects clients",
	"tidemark up":                "is what answers here; with --world=live it asks the publishers",
	"tidemark scheduler":         "runs until it is told to stop: test/faults",
	"tidemark worker":            "runs until it is told to stop: test/faults",
	"tidemark api":               "runs until it is told to stop: test/faults",
	"tidemark monitor":           "runs until it is told to stop: chain/monitor's tests",
	"tidemark runs show ID":      "the form of what cmd/tidemark's tests do",
	"tidemark backfill cancel ":  "a plan that is done is not cancelled: test/faults",
	"tidemark queue":             "runs until it is told to stop: test/faults",
	"tidemark simulate ":         "takes minutes: make simulate-short",
	"tidemark picks publish ":    "only before the pick of a trading day: cmd/tidemark's tests",
	"tidemark chain retry ":      "wants an attestation that failed: workers' tests",
	"tidemark payments resolve ": "wants a payment that is unclear: cmd/tidemark's tests",
	"tidemark sandbox ":          "TestTheWalkThroughQuarantine",
	"tidemark log key ":          "makes the keys of a log of one's own: cmd/tidemark's and workers' tests",
	"tidemark witness ":          "makes and serves a witness of one's own: chain/witness' tests",
	"tidemark log settle ":       "wants a leaf that was set aside: internal/postgres' tests",
	"tidemark verify --proof ":   "wants a proof and a policy of one's own: chain/tlog's tests",
	"tidemark verify --url https://tidemark.example --policy ": "wants a policy of one's own: cmd/tidemark's tests",
	"curl -O https://tidemark.example/log/":                    "wants a leaf of that number: api's tests",
	"tidemark verify --receipt ":                               "wants a paid answer and its receipt: cmd/tidemark's tests",
	"curl -sD head -o answer.json -H ":                         "wants a payment: test/payments",
	"tidemark schedule run JOB SUBJECT":                        "the form of what the lines around it do",
}

var (
	// command is a line of code that a shell runs.
	command = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )*(?:tidemark |go run |make |curl |claude |source [./~<])`)
	// inline are the program's commands in the text.
	inline = regexp.MustCompile("`(tidemark [a-z][^`]*)`")
	// remark matches the explanation at the end of a line.
	remark = regexp.MustCompile(`\s+# .*$`)
)

// commands are the command lines of a document, in their order.
func commands(text string) (list []string) {
	fenced := false
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
			continue
		}
		code, ok := strings.CutPrefix(line, "    ")
		if !ok && !fenced {
			for _, m := range inline.FindAllStringSubmatch(line, -1) {
				list = append(list, m[1])
			}
			continue
		}
		if fenced {
			code = line
		}
		if !command.MatchString(code) {
			continue
		}
		for strings.HasSuffix(code, `\`) && i+1 < len(lines) {
			i++
			code = strings.TrimSuffix(code, `\`) + strings.TrimSpace(lines[i])
		}
		list = append(list, remark.ReplaceAllString(code, ""))
	}
	return list
}

// documents runs every command line of the documents, in order, in a shell next to a sandbox that has reached the present.
func documents(t *testing.T, dir, base, private string) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	_, err = exec.LookPath("curl")
	curl := err == nil
	r := newReader(t, dir, base, private)
	seen, left, ran := map[string]bool{}, map[string]bool{}, 0
	for _, file := range append([]string{"../../README.md", "../../CONTRIBUTING.md"}, files...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		before, walk, _ := strings.Cut(string(text), misbehaves) // a separate test covers this chapter
		_, after, _ := strings.Cut(walk, "\n## ")
		for _, line := range commands(before + "\n## " + after) {
			line = strings.ReplaceAll(line, "go run ./cmd/tidemark", "tidemark")
			if seen[line] {
				continue
			}
			seen[line] = true
			if reason := without(line); reason != "" {
				left[reason] = true
				continue
			}
			ran++
			if !curl && strings.HasPrefix(line, "curl ") {
				t.Logf("curl is not on this machine: left out: %s", line)
				continue
			}
			t.Run(filepath.Base(file)+": "+line, func(t *testing.T) {
				if err := r.run(t, line); err != nil {
					t.Error(err)
				}
			})
		}
	}
	for begin := range notRun {
		if !left[begin] {
			t.Errorf("no document has a line that begins with %q", begin)
		}
	}
	if ran < 50 {
		t.Errorf("only %d lines were found", ran)
	}
}

// without returns the key of notRun that a line begins with, or "" if the line is run.
func without(line string) string {
	for begin := range notRun {
		if strings.HasPrefix(line, begin) || strings.Contains(line, " "+begin) && begin == "tools/" {
			return begin
		}
	}
	return ""
}

// reader follows the documents, and puts its own values in place of examples and of words in capitals.
type reader struct {
	options program.Options
	theirs  map[string]string
	exports int
}

func newReader(t *testing.T, dir, base, private string) *reader {
	t.Helper()
	var record struct {
		Picks []struct{ Ticker, Date string }
	}
	if status := get(t, base+"/api/v1/verify/picks?limit=1", &record); status != http.StatusOK || len(record.Picks) == 0 {
		t.Fatalf("there is no pick: status %d", status)
	}
	// curl is to fail where the server answers with an error, and to end.
	if err := os.WriteFile(filepath.Join(dir, ".curlrc"), []byte("fail-with-body\nsilent\nshow-error\nmax-time = 60\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	return &reader{
		options: program.Options{Dir: dir, Env: []string{
			"WORLD=sandbox", "STATE_DIR=" + filepath.Join(dir, "state"), "OPS_ADDR=" + strings.TrimPrefix(private, "http://"),
			"OPS_TOKEN=" + opsToken, "DATABASE_URL=", "REDIS_URL=", "PUBLIC_URL=" + base, "LOG_LEVEL=error", "CURL_HOME=" + dir,
		}},
		theirs: map[string]string{
			"http://127.0.0.1:8080": base, "https://tidemark.example": base, "http://127.0.0.1:8081": private,
			"TICKER": record.Picks[0].Ticker, "AAPL": record.Picks[0].Ticker, "--date 2026-11-20": "--date " + record.Picks[0].Date,
			"2026-10-01T00:00:00Z": now.Add(-24 * time.Hour).Format(time.RFC3339),
			// Two weeks before the sandbox began.
			"--from 2026-01-01": "--from " + now.AddDate(0, 0, -34).Format(time.DateOnly), "--to 2026-03-31": "--to " + now.AddDate(0, 0, -20).Format(time.DateOnly),
			"--source S": "--source eia-petroleum-spot", "deprecate ID": "deprecate lng-arbitrage", "WHY": "'to see it'",
			".tidemark/sandbox/log": "state/sandbox/log", "log export DIR --policy FILE": "log export copies --policy state/sandbox/log/witnesses.policy",
			"correct SEQ --what W --evidence URL": "correct 1 --what 'its name' --evidence https://example.com",
		},
	}
}

// run runs a line to its end, and keeps the parts of its output that later lines need.
func (r *reader) run(t *testing.T, line string) error {
	t.Helper()
	status, out := r.shell(t, line)
	// A busy machine may not be ready at a moment, and something new of the sandbox's own may come between a plan and its application,
	// which then refuses.
	for try := 0; status != 0 && try < 10; try++ {
		<-time.After(2 * time.Second)
		if strings.Contains(out, "the world has changed") {
			r.shell(t, "tidemark backfill plan --signal crack-spread-321 --from 2026-01-01 --to 2026-03-31")
		}
		status, out = r.shell(t, line)
	}
	if status != 0 {
		return fmt.Errorf("exit status %d: %s", status, out)
	}
	if !strings.Contains(line, "/auth/register") {
		return nil
	}
	var made struct {
		Data struct {
			Key string `json:"api_key"`
		}
	}
	err := json.Unmarshal([]byte(out), &made)
	r.theirs["API_KEY"] = made.Data.Key
	return err
}

// planned names the plan that was made.
var planned = regexp.MustCompile(`tidemark backfill apply (\d+)`)

// shell runs a line with the reader's own values.
func (r *reader) shell(t *testing.T, line string) (status int, out string) {
	t.Helper()
	if strings.Contains(line, "archive export") { // the folder must be new
		r.exports++
		r.theirs["DIR"] = filepath.Join(r.options.Dir, fmt.Sprint("export", r.exports))
	}
	var pairs []string
	for example, own := range r.theirs {
		pairs = append(pairs, example, own)
	}
	began := time.Now()
	status, out = program.Shell(t, r.options, strings.NewReplacer(pairs...).Replace(line))
	t.Logf("%s: %s", time.Since(began).Round(time.Millisecond), line)
	if m := planned.FindStringSubmatch(out); m != nil {
		r.theirs["PLAN"] = m[1]
	}
	return status, out
}
