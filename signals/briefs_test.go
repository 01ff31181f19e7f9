package signals_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/signals"
)

var (
	briefLink   = regexp.MustCompile(`\]\((\S+)\)`)
	briefNumber = regexp.MustCompile(`(?:^|[^\p{L}\p{N}_.,])(\d[\d.,:]*)`)
	briefTime   = regexp.MustCompile(`(\d)h(\d\d)\b`) // in Portuguese
	briefCode   = regexp.MustCompile(`[A-Z][A-Z0-9_]{4,}`)
	// briefForeign matches a percentage with a space and a day before its month.
	briefForeign = regexp.MustCompile(`\d %|\b\d{1,2}\s(?:January|February|March|April|May|June|July|August|September|October|November|December)\b`)
)

// A brief says the same in every language: a reader of another language sees every number, every code of a series, every source and every part.
func TestABriefHasTheSameNumbersInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, d := range signals.All() {
		for _, l := range languages.All() {
			texts, ok := l.SignalTexts[d.ID]
			if own, brings := d.Texts[string(l.Code)]; brings { // in the signal's own file
				texts, ok = own, true
			}
			if l.Code == locale.English || !ok {
				continue
			}
			brief := texts.Brief
			if brief == "" {
				t.Errorf("%s has no brief in %s", d.ID, l.EnglishName)
				continue
			}
			if diff := cmp.Diff(numbersOf(d.Brief, ".", ","), numbersOf(brief, l.Decimal, l.Group)); diff != "" {
				t.Errorf("numbers of %s in %s (-en +%s):\n%s", d.ID, l.EnglishName, l.Code, diff)
			}
			if diff := cmp.Diff(numbersOf(d.Technique, ".", ","), numbersOf(texts.Technique, l.Decimal, l.Group)); diff != "" {
				t.Errorf("numbers of the technique of %s in %s (-en +%s):\n%s", d.ID, l.EnglishName, l.Code, diff)
			}
			if diff := cmp.Diff(partsOf(d.Brief), partsOf(brief)); diff != "" {
				t.Errorf("parts of %s in %s (-en +%s):\n%s", d.ID, l.EnglishName, l.Code, diff)
			}
		}
	}
}

// numbersOf returns the numbers of a text, sorted, written as in English without a separator of thousands.
func numbersOf(text, decimal, group string) []string {
	var out []string
	text = briefTime.ReplaceAllString(strings.ReplaceAll(briefLink.ReplaceAllString(text, ""), "CC BY 4.0", ""), "$1:$2")
	for _, m := range briefNumber.FindAllStringSubmatch(text, -1) {
		n := strings.TrimRight(m[1], ".,:")
		n = strings.ReplaceAll(n, group, "")
		out = append(out, strings.ReplaceAll(n, decimal, "."))
	}
	slices.Sort(out)
	return out
}

// parts are what a reader of any language finds in a brief.
type parts struct {
	Headings, Paragraphs, Items, Formulas int
	Links, Codes                          []string
}

func partsOf(text string) (out parts) {
	out.Paragraphs = strings.Count(strings.TrimSpace(text), "\n\n")
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "## "):
			out.Headings++
		case strings.HasPrefix(line, "- "):
			out.Items++
		case strings.HasPrefix(line, "    "):
			out.Formulas++
		}
	}
	for _, m := range briefLink.FindAllStringSubmatch(text, -1) {
		out.Links = append(out.Links, m[1])
	}
	out.Codes = briefCode.FindAllString(text, -1)
	slices.Sort(out.Codes)
	return out
}

// An English brief writes percentages and days as the English pages do: 90%, and June 14, 2006.
func TestAnEnglishBriefWritesPercentagesAndDaysAsThePages(t *testing.T) {
	t.Parallel()
	for _, d := range signals.All() {
		if found := briefForeign.FindAllString(d.Brief, -1); found != nil {
			t.Errorf("%s: %q", d.ID, found)
		}
	}
}
