package picks

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
)

var phrasebook = flag.String("phrasebook", "", "the file that gets every sentence in every language with extreme values, for reading")

// extremes are values that phrases meet at their edges.
var extremes = []string{"0", "1", "2", "-1", "-1.5", "0.0", "1000000"}

// numbered reports whether a fact of a unit is a number.
func numbered(u locale.Unit) bool {
	return !slices.Contains([]locale.Unit{locale.Name, locale.Year, locale.Term, locale.Date, locale.Month}, u)
}

// Every phrase is a sentence with each extreme value, and none is written with a fact missing. make phrasebook prints the sentences.
func TestPhrasesHoldExtremeValues(t *testing.T) {
	t.Parallel()
	facts := everyFact()
	var book strings.Builder
	for _, l := range languages.All() {
		fmt.Fprintf(&book, "# %s\n", l.Name)
		for _, key := range slices.Sorted(maps.Keys(l.Phrases)) {
			names := slices.Compact(placed(l.Phrases[key]))
			var written []string
			for _, value := range extremes {
				with := slices.Clone(facts)
				for i := range with {
					if numbered(with[i].Unit) {
						with[i].Value = value
					}
				}
				s, err := with.write(l.Code, key)
				if err != nil || strings.Contains(s, "--") || strings.Contains(s, "+-") || strings.Contains(s, "  ") || strings.Contains(s, "NaN") {
					t.Errorf("%s in %s with %s: %q, %v", key, l.Code, value, s, err)
				}
				if !slices.Contains(written, s) {
					written = append(written, s)
				}
			}
			fmt.Fprintf(&book, "\n%s\n", key)
			for _, s := range written {
				fmt.Fprintf(&book, "  %s\n", s)
			}
			for _, name := range names {
				without := slices.DeleteFunc(slices.Clone(facts), func(x Datum) bool { return x.ID == name })
				if s, err := without.write(l.Code, key); err == nil {
					t.Errorf("%s in %s is written without %s: %q", key, l.Code, name, s)
				}
			}
		}
		book.WriteString("\n")
	}
	if *phrasebook == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(*phrasebook), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*phrasebook, []byte(book.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d sentences are in %s", strings.Count(book.String(), "\n  "), *phrasebook)
}
