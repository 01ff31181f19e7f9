package stats

import (
	"encoding/json"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tidemark/internal/locale/languages"
)

// claims are the probabilities that are claimed outside of the briefs, whose figures have a test of their own. Each row of the table in
// docs/signals.md names what shows it: a test, or the table of another page.
var claims = []struct {
	// claim is what readers see, where the place.
	claim, where string
	// texts matches the sentences.
	texts *regexp.Regexp
	// shownBy is a test with its folder, or a document.
	shownBy string
}{
	{
		"the next figure lies in the central 80 % of its forecast", "pages of forecasts, signals and the calendar; MCP",
		regexp.MustCompile(`with 80%% probability|with 80% probability`), "docs/forecasts.md",
	},
	{
		"the central 50, 80 and 90 % of a forecast hold the figure as often; 2.5 and 97.5 % bound what luck leaves", "scorecard in API and OpenAPI",
		regexp.MustCompile(`what number of hits luck alone leaves`), "docs/forecasts.md",
	},
	{"the skill of a forecast lies in its 90 % interval", "scorecard in API and OpenAPI", regexp.MustCompile("`interval_90` holds 90 %"), "signals/forecast.TestComparisonsAreThoseOfTwoOtherPrograms"},
	{"the coverage of an interval lies in its exact binomial interval at 95 %", "`uncertainty.record` in API and OpenAPI", regexp.MustCompile("exact binomial interval at 95 %"), "test/stats.TestTheBoundsOfACoverageAreThoseOfTheBinomial"},
	{
		"the correlation of a backtest lies in its 95 % interval", "page of a signal", regexp.MustCompile(`Rank correlation \(information coefficient\) with its 95% interval`),
		"signals.TestTheIntervalOfAnEdgeHoldsItsLevel",
	},
	{"the share of finals in the 90 % interval of each stage of corn", "page of a signal", regexp.MustCompile(`In the 90% interval`), "test/stats.TestTheMeasuredFiguresOfTheCornBrief"},
	{
		"the correlation of two signals lies in its 90 % interval, which held 88 to 92 % in simulations", "`/compare`, in four languages",
		regexp.MustCompile(`90%% interval|intervalo del 90|intervalo de 90|Intervalo del 90|Intervalo de 90|90%% अंतराल|90% अंतराल|90% interval$|\(Bartlett, 1935\)|88 to 92% of the cases|88.{1,4}–.{1,4}92|88% a 92%|88.{0,4}92%`),
		"signals.TestTheIntervalOfAComparisonHoldsItsLevel",
	},
	{"with 95 % confidence the Sharpe ratio is above 0 after so many days", "evaluation of picks and methods", regexp.MustCompile(`with 95 % confidence`), "internal/sharpe.TestAfterTheMinTrackRecordTheProbabilityIsTheConfidence"},
}

// claimsTable is the section of docs/signals.md about them.
func claimsTable() string {
	var b strings.Builder
	b.WriteString("\n## Other probabilities that are claimed\n\nAPI, OpenAPI, MCP and pages claim these and no others: `TestNoTextClaimsAProbabilityThatNoTableCarries` reads their texts, in all\n" +
		"languages. The figures of the briefs have `TestEveryFigureOfABriefIsFoundByATest`.\n\n| claim | where | shown by |\n| --- | --- | --- |\n")
	for _, c := range claims {
		_, _ = fmt.Fprintf(&b, "| %s | %s | `%s` |\n", c.claim, c.where, c.shownBy)
	}
	return b.String()
}

var (
	// percentage and chance are what a sentence that claims a probability has both of.
	percentage = regexp.MustCompile(`\d[\s\x{a0}]?%`)
	chance     = regexp.MustCompile(`(?i)probab|interval|\bheld\b|contain|confiden|conteve|contuvo|अंतराल|प्रायिकता|संभाव`)
	sentences  = regexp.MustCompile(`[.!?]\s+|\n\s*\n|।\s*`)
	tags       = regexp.MustCompile(`<[^>]*>`)
)

// claiming returns the sentences of a text that claim a probability.
func claiming(text string) (out []string) {
	for _, s := range sentences.Split(text, -1) {
		if percentage.MatchString(s) && chance.MatchString(s) {
			out = append(out, strings.Join(strings.Fields(s), " "))
		}
	}
	return out
}

func carried(sentence string) bool {
	for _, c := range claims {
		if c.texts.MatchString(sentence) {
			return true
		}
	}
	return false
}

func TestNoTextClaimsAProbabilityThatNoTableCarries(t *testing.T) {
	t.Parallel()
	found := 0
	for place, text := range readersTexts(t) {
		for _, s := range claiming(text) {
			if found++; !carried(s) {
				t.Errorf("%s claims what docs/signals.md does not carry: %q", place, s)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d claims were found: the test does not see the texts", found)
	}
	for _, c := range claims {
		if folder, name, isTest := strings.Cut(c.shownBy, ".Test"); isTest {
			if !hasTest(t, "../../"+folder, "Test"+name) {
				t.Errorf("%s is to be shown by %s, which does not exist", c.claim, c.shownBy)
			}
		} else if _, err := os.Stat("../../" + c.shownBy); err != nil {
			t.Errorf("%s is to be shown by %s: %v", c.claim, c.shownBy, err)
		}
	}
	for _, planted := range []string{"The interval holds the true value with a probability of 90 %.", "El intervalo contiene el valor con un 95 % de probabilidad."} {
		if s := claiming(planted); len(s) != 1 || carried(s[0]) {
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

// readersTexts are the texts of OpenAPI, pages, languages and MCP.
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
			out[l.Name+" "+key] = text
		}
	}
	quoted := regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	code, err := filepath.Glob("../../api/mcp/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range code {
		if !strings.HasSuffix(file, "_test.go") {
			out[file] = strings.Join(quoted.FindAllString(readText(t, file), -1), "\n\n")
		}
	}
	return out
}

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
