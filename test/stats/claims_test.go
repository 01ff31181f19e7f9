package stats

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark/internal/locale/languages"
	"tidemark/signals"
	"tidemark/test/claims"
)

// claimsTable is the section of docs/signals.md about them.
func claimsTable() string {
	var b strings.Builder
	b.WriteString("\n## Other probabilities that are claimed\n\nAPI, OpenAPI, MCP, pages, documents, `.ics`, Atom and `llms.txt` claim these and no others: `TestNoTextClaimsAProbabilityThatNoTableCarries` reads the texts\n" +
		"of the program, in all languages, and a step of `make conformance` what a running program serves. The figures of the briefs have `TestEveryFigureOfABriefIsFoundByATest`.\n\n| claim | where | shown by |\n| --- | --- | --- |\n")
	for _, c := range claims.All() {
		_, _ = fmt.Fprintf(&b, "| %s | %s | `%s` |\n", c.Claim, c.Where, c.ShownBy)
	}
	return b.String()
}

// tags are removed from pages.
var tags = regexp.MustCompile(`<[^>]*>`)

func TestNoTextClaimsAProbabilityThatNoTableCarries(t *testing.T) {
	t.Parallel()
	found := 0
	for place, text := range readersTexts(t) {
		for _, s := range claims.In(text) {
			if found++; !claims.Carried(s) {
				t.Errorf("%s claims what docs/signals.md does not carry: %q", place, s)
			}
		}
	}
	unused := maps.Clone(noProbabilities)
	for _, l := range languages.All() {
		for key, text := range l.Words {
			if none := about(key); none != "" {
				delete(unused, none)
				continue
			}
			filled := [][]string{filledIn(text, "80%"), filledIn(text, "90%"), filledIn(text, "95%")}
			for i, s := range filled[0] {
				if !slices.ContainsFunc(filled, func(list []string) bool { return claims.Carried(list[i]) }) {
					t.Errorf("%s %s claims what docs/signals.md does not carry: %q", l.Name, key, s)
				}
			}
		}
	}
	if len(unused) > 0 {
		t.Errorf("no phrase is called %v", slices.Collect(maps.Keys(unused)))
	}
	if s := filledIn("It held %[1]s of %s cases.", "90%"); len(s) != 1 || claims.Carried(s[0]) {
		t.Errorf("a planted phrase passes: %q", s)
	}
	if found < 20 {
		t.Errorf("%d claims were found: the test does not see the texts", found)
	}
	for _, c := range claims.All() {
		if folder, name, isTest := strings.Cut(c.ShownBy, ".Test"); isTest {
			if !hasTest(t, "../../"+folder, "Test"+name) {
				t.Errorf("%s is to be shown by %s, which does not exist", c.Claim, c.ShownBy)
			}
		} else if _, err := os.Stat("../../" + c.ShownBy); err != nil {
			t.Errorf("%s is to be shown by %s: %v", c.Claim, c.ShownBy, err)
		}
	}
	for _, planted := range []string{
		"The interval holds the true value with a probability of 90 %.", "Nine times out of ten the interval contains it.", "It is 90 percent certain.", "La certeza es del 90 por ciento.", "El intervalo contiene el valor con un 95 % de probabilidad.", "It will be there with 70 % certainty.",
	} {
		if s := claims.In(planted); len(s) != 1 || claims.Carried(s[0]) {
			t.Errorf("a planted claim passes: %q", planted)
		}
	}
}

func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(folder + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.Contains(readText(t, f), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tables are the documents that carry the claims of others: tests of their own hold their figures.
var tables = []string{"signals.md", "forecasts.md", "trials.md"}

// readersTexts are the texts of OpenAPI, pages, languages, MCP and documents.
func readersTexts(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{"service.json", "signals.json"} {
		var doc any
		if err := json.Unmarshal([]byte(readText(t, "../../api/openapi/"+name)), &doc); err != nil {
			t.Fatal(err)
		}
		out[name] = strings.Join(descriptions(doc), "\n\n")
	}
	pages, err := filepath.Glob("../../api/pages/templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		out[filepath.Base(page)] = html.UnescapeString(tags.ReplaceAllString(readText(t, page), "\n\n"))
	}
	for _, l := range languages.All() {
		for key, text := range l.Words {
			out[l.Name+" "+key] = strings.ReplaceAll(text, "%%", "%")
		}
	}
	for _, pattern := range []string{"../../README.md", "../../docs/*.md", "../../examples/*.md"} {
		documents, err := filepath.Glob(pattern)
		if err != nil || len(documents) == 0 {
			t.Fatalf("%s is no document (%v)", pattern, err)
		}
		for _, file := range documents {
			if !slices.Contains(tables, filepath.Base(file)) {
				out[file] = readText(t, file)
			}
		}
	}
	for _, folder := range answering {
		code, err := filepath.Glob("../../" + folder + "/*.go")
		if err != nil || len(code) == 0 {
			t.Fatalf("%s has no code (%v)", folder, err)
		}
		for _, file := range code {
			if !strings.HasSuffix(file, "_test.go") {
				out[file] = literals(t, file)
			}
		}
	}
	return out
}

// answering are the packages whose code has sentences of answers, of the calendar, of feeds, of llms.txt and of tools for agents.
var answering = []string{"api", "api/discovery", "api/endpoint", "api/mcp", "api/pages", "api/view", "internal/pushes", "signals", "signals/changes", "signals/forecast"}

// literals are the strings of a Go file, those joined by + as one, each formatted number as the figure 90.
func literals(t *testing.T, file string) string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	var text func(ast.Expr) (string, bool)
	text = func(e ast.Expr) (string, bool) {
		switch e := e.(type) {
		case *ast.BasicLit:
			s, err := strconv.Unquote(e.Value)
			return s, err == nil && e.Kind == token.STRING
		case *ast.BinaryExpr:
			a, left := text(e.X)
			b, right := text(e.Y)
			return a + b, e.Op == token.ADD && (left || right)
		}
		return "", false
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			if s, ok := text(e); ok {
				if slices.ContainsFunc(signals.All(), func(d signals.Definition) bool { return d.Brief == s }) {
					return false // its figures have a test of their own
				}
				out = append(out, strings.ReplaceAll(verbs.ReplaceAllString(s, "90"), "%%", "%"))
				return false
			}
		}
		return true
	})
	return strings.Join(out, "\n\n")
}

// noProbabilities are phrases with the sound of a claim whose places are filled with something else. A key that ends in a dot stands for all
// that begin with it.
var noProbabilities = map[string]string{
	"portfolio.like lead": "the share of cash", "key.with": "an address", "revisions.data": "links", "verify.js.": "what witnesses hold",
	"verify.only green": "a verdict", "refuse.severities": "names of parameters", "docs.": "names of parameters and links", "problem.": "names of fields",
}

// about returns the entry of noProbabilities that a phrase is among, or "".
func about(key string) string {
	for none := range noProbabilities {
		if key == none || strings.HasSuffix(none, ".") && strings.HasPrefix(key, none) {
			return none
		}
	}
	return ""
}

// filledIn are the sentences of a phrase that claim a probability, where each of its places is filled with a share.
func filledIn(phrase, share string) []string {
	return claims.In(strings.ReplaceAll(places.ReplaceAllString(phrase, share), "%%", "%"))
}

// places are the places of texts in phrases.
var places = regexp.MustCompile(`%(?:\[\d\])?s`)

// verbs are the places of numbers in formats.
var verbs = regexp.MustCompile(`%[+.\d]*[dfg]`)

// descriptions are the texts of an OpenAPI document, without its examples.
func descriptions(node any) (out []string) {
	switch node := node.(type) {
	case map[string]any:
		for key, child := range node {
			if text, ok := child.(string); ok && (key == "description" || key == "summary") {
				out = append(out, text)
			} else if key != "example" && key != "examples" {
				out = append(out, descriptions(child)...)
			}
		}
	case []any:
		for _, child := range node {
			out = append(out, descriptions(child)...)
		}
	}
	return out
}

// The probability of as many hits or more at the lower bound, and of as many or fewer at the upper one, is 2.5 % each, by adding up.
func TestTheBoundsOfACoverageAreThoseOfTheBinomial(t *testing.T) {
	t.Parallel()
	set, d := iowaCorn(t), definition(t, "iowa-corn-yield")
	_, r := d.MeasureInterval(set, nil, date("2012-03-01"))
	sum := func(p float64, from, to int) (total float64) {
		for k := from; k <= to; k++ {
			all, _ := math.Lgamma(float64(r.Cases + 1))
			hits, _ := math.Lgamma(float64(k + 1))
			rest, _ := math.Lgamma(float64(r.Cases - k + 1))
			total += math.Exp(all - hits - rest + float64(k)*math.Log(p) + float64(r.Cases-k)*math.Log1p(-p))
		}
		return total
	}
	c := r.Coverage
	if lo, hi := sum(c.Lo, c.Hits, c.Cases), sum(c.Hi, 0, c.Hits); math.Abs(lo-0.025) > 1e-6 || math.Abs(hi-0.025) > 1e-6 {
		t.Errorf("%d of %d: the bounds %v and %v leave %v and %v", c.Hits, c.Cases, c.Lo, c.Hi, lo, hi)
	}
}
