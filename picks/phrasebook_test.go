package picks

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/signals"
)

var phrasebook = flag.String("phrasebook", "", "the file that gets every sentence in every language with extreme values, for reading")

// extremes are values that phrases meet at their edges.
var extremes = []string{"0", "1", "2", "-1", "-1.5", "0.0", "1000000"}

// totals are counts, and phrases tell parts of them: all of a company's tests or measures, earlier figures, and quarters. There are always several.
var totals = []string{"fscore_known", "measures", "window", "years", "weights_tried", "range_known", "universe"}

// moves are the facts that phrases of a rise, a fall or a risk tell.
var moves = []string{"change", "revenue_growth", "quarter_growth", "momentum"}

// possible reports whether a fact can have a value in a phrase. Counts are whole, and companies are compared with others. Multiples of earnings
// and of book value are of a gain. What rises or falls differs from what it was before.
func possible(key string, x Datum, value string) bool {
	v, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil || x.Unit == locale.Times && x.ID != "size" && v <= 0:
		return false
	case slices.Contains(totals, x.ID): // of one company no standing is told
		return v > 1
	case x.Unit == locale.Count:
		return v >= 0 && !strings.Contains(value, ".")
	case slices.Contains(moves, x.ID) && (strings.Contains(key, ".up") || strings.HasSuffix(key, ".hike")):
		return v > 0
	case slices.Contains(moves, x.ID) && (strings.Contains(key, ".down") || strings.HasSuffix(key, ".cut") || strings.HasPrefix(key, "risk.")):
		return v < 0
	case x.ID == "distance":
		return v > 0
	}
	return true
}

// factsOf are the facts as a phrase has them: the change of a central bank's rate is in basis points.
func factsOf(facts Data, key string) Data {
	if !strings.HasPrefix(key, "econ.") {
		return facts
	}
	facts = slices.Clone(facts)
	facts[slices.IndexFunc(facts, func(x Datum) bool { return x.ID == "change" })].Unit = locale.BasisPoint
	return facts
}

// numbered reports whether a fact of a unit is a number.
func numbered(u locale.Unit) bool {
	return !slices.Contains([]locale.Unit{locale.Name, locale.Year, locale.Term, locale.Date, locale.Month}, u)
}

// isSentence reports whether a phrase is a sentence, and not a title, a heading or a label.
func isSentence(key string) bool {
	kind, _, _ := strings.Cut(key, ".")
	return !slices.Contains([]string{"head", "table", "label"}, kind) && !strings.HasSuffix(key, ".title") && !strings.HasPrefix(key, "econ.title")
}

// termsOf are the terms that the fact of an id can be: all that begin like the one of everyFact.
func termsOf(l *locale.Language, term string) []string {
	kind, _, _ := strings.Cut(term, ".")
	switch kind {
	case "country":
		return []string{"country.US", "country.IE", "country.CH", "country.SV", "country.NL", "country.GB"}
	case "signal":
		var all []string
		for _, d := range signals.All() {
			all = append(all, "signal."+d.ID)
		}
		return all
	}
	var all []string
	for key := range l.Terms {
		if strings.HasPrefix(key, kind+".") {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return all
}

// withEachTerm writes a phrase with every term that it can name.
func withEachTerm(t *testing.T, facts Data, l *locale.Language, key string) []string {
	t.Helper()
	var written []string
	for _, id := range slices.Compact(placed(l.Phrases[key])) {
		d, _ := facts.Find(id)
		if d.Unit != locale.Term || strings.Contains(d.Value, "+") {
			continue
		}
		for _, term := range termsOf(l, d.Value) {
			with := slices.Clone(facts)
			with[slices.IndexFunc(with, func(x Datum) bool { return x.ID == id })].Value = term
			s, err := with.write(l.Code, key)
			if err != nil {
				t.Errorf("%s in %s with %s: %v", key, l.Code, term, err)
			}
			written = append(written, s)
		}
	}
	return written
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
			facts := factsOf(facts, key)
			var written []string
			for _, value := range extremes {
				with := slices.Clone(facts)
				for i := range with {
					if numbered(with[i].Unit) && possible(key, with[i], value) {
						with[i].Value = value
					}
				}
				s, err := with.write(l.Code, key)
				if err != nil {
					t.Errorf("%s in %s with %s: %v", key, l.Code, value, err)
				}
				written = append(written, s)
			}
			written = append(written, withEachTerm(t, facts, l, key)...)
			slices.Sort(written)
			written = slices.Compact(written)
			for _, s := range written {
				for _, fault := range languageFaults(l.Code, s) {
					t.Errorf("%s in %s: %s in %q", key, l.Code, fault, s)
				}
				if ends := strings.HasSuffix(s, ".") || strings.HasSuffix(s, "।"); ends != isSentence(key) {
					t.Errorf("%s in %s: a sentence ends in a full stop, and a title does not: %q", key, l.Code, s)
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

func TestALoneCompanyHasNoStanding(t *testing.T) {
	t.Parallel()
	summary := func(companies string) []string {
		return Brief{picked: true, Facts: Data{
			{ID: "rank", Value: "1", Unit: locale.Count}, {ID: "universe", Value: companies, Unit: locale.Count}, {ID: "pick_date", Value: "2026-11-20", Unit: locale.Date},
		}}.summary()
	}
	if got := summary("1"); slices.Contains(got, "why.best") {
		t.Errorf("the only company is told to be the best: %q", got)
	}
	if got := summary("2"); !slices.Contains(got, "why.best") {
		t.Errorf("the better of two companies has no standing: %q", got)
	}
}

func TestTheAmountThatAPositionCostHasNoSecondMinus(t *testing.T) {
	t.Parallel()
	facts := Data{{ID: "bottom", Value: "ACME", Unit: locale.Name}, {ID: "bottom_points", Value: "-0.13", Unit: locale.Points}}
	for lang, want := range map[Lang]string{
		English: "The largest detractor was ACME, costing 0.13 percentage points.", "es": "El valor que más restó fue ACME: 0,13 puntos porcentuales.",
	} {
		if got, err := facts.write(lang, "digest.bottom"); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", lang, got, err, want)
		}
	}
}
