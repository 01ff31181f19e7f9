package api_test

import (
	"html"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tidemark/accounts"
)

// codeOnDocs finds the examples of the documentation.
var codeOnDocs = regexp.MustCompile(`(?s)<pre tabindex="0" class="code"><code>(.*?)</code></pre>`)

// A reader who copies an example runs it as it is.
func TestEachExampleOfTheDocumentationRuns(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelBalance)
	p.say(noon.AddDate(0, 0, -8), estimate(0, 20.5), estimate(1, 21)) // a week ago, for the example that asks what was known then
	p.say(noon, estimate(0, 20.5), estimate(4, 18))
	p.eventually("the signal", func() bool { return p.get(crack)["value"] == 18.0 })
	o, named := p.everything(), p.url
	p.run(o.Record.Run)
	p.eventually("the record", func() bool { return o.Record.State() != nil })
	p.serve(o)

	for code, c := range map[string]struct {
		program string
		// args run the file with the code.
		args func(file string) []string
		file string
		// rows are in what the examples with tables print. Where they are nil, those print the table.
		rows []string
	}{
		"curl":       {"sh", func(file string) []string { return []string{file} }, "example.sh", nil},
		"python":     {"python3", func(file string) []string { return []string{file} }, "example.py", []string{"2026-02-24T00:00:00Z 18\n", "1 2026-03-02 ACME 100.00\n2 2026-03-03 BORL 50.00\n"}},
		"go":         {"go", func(file string) []string { return []string{"run", file} }, "example.go", nil},
		"typescript": {"node", func(file string) []string { return []string{file} }, "example.mjs", nil}, // it has no types: Node reads it as it is
		"r":          {"Rscript", func(file string) []string { return []string{file} }, "example.R", []string{"ACME"}},
	} {
		t.Run(code, func(t *testing.T) {
			page := string(p.ask(http.MethodGet, "/docs?code="+code, "Accept", browser).body)
			examples := codeOnDocs.FindAllStringSubmatch(page, -1)
			if len(examples) != 6 {
				t.Errorf("%d examples, want 6", len(examples))
			}
			program, err := exec.LookPath(c.program)
			if err != nil {
				t.Skipf("there is no %s here: the examples in %s are not run", c.program, code)
			}
			var printed strings.Builder
			ran := map[string]bool{}
			for _, e := range examples {
				text := strings.ReplaceAll(html.UnescapeString(e[1]), named, p.url)
				address := regexp.MustCompile(regexp.QuoteMeta(p.url) + `[^"']*`).FindString(text)
				if code == "r" && strings.Contains(text, "library(") {
					continue // which needs packages that R does not bring
				}
				if kind := strings.Replace(text, address, "", 1); code == "go" && ran[kind] {
					continue // building the same program again
				} else {
					ran[kind] = true
				}
				file := filepath.Join(t.TempDir(), c.file)
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				cmd := exec.CommandContext(t.Context(), program, c.args(file)...) //nolint:gosec // our own documentation
				cmd.Env = append(os.Environ(), "TIDEMARK_KEY="+p.key)
				out, err := cmd.CombinedOutput()
				if err != nil || len(out) == 0 || strings.Contains(string(out), `"type":"https://`) {
					t.Errorf("%s: %v: %s\n%s", address, err, out, text)
				}
				printed.Write(out)
			}
			for _, row := range c.rows {
				if !strings.Contains(printed.String(), row) {
					t.Errorf("no example prints %q:\n%s", row, printed.String())
				}
			}
		})
	}
}
