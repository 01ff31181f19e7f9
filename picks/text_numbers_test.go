package picks

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
)

// datesIn finds a language's dates by the order of their parts, for any names of the months.
func datesIn(l *locale.Language) *regexp.Regexp {
	return regexp.MustCompile(strings.NewReplacer("D", `(?P<day>\d+)º?`, "M", `[\pL\pM]+`, "Y", `(?P<year>\d{4})`).Replace(regexp.QuoteMeta(l.DateOrder)))
}

// named reads the numbers of a text with another method than the code's: dates as day and year, everything else as a float.
func named(t *testing.T, text string, lang Lang, facts Data) []string {
	t.Helper()
	for _, d := range facts {
		if d.Unit == locale.Name && strings.ContainsAny(d.Value, "0123456789") {
			text = strings.ReplaceAll(text, d.Value, "")
		}
	}
	var all []string
	l := languages.Find(lang)
	re := datesIn(l)
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		all = append(all, "day "+m[re.SubexpIndex("day")]+" of "+m[re.SubexpIndex("year")])
	}
	text = re.ReplaceAllString(text, "")
	for _, at := range numbersIn.FindAllStringIndex(text, -1) {
		s := strings.TrimRight(text[at[0]:at[1]], ".,")
		s = strings.NewReplacer(l.Group, "", l.Decimal, ".").Replace(s)
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatalf("%q in %s", s, lang)
		}
		word := append(strings.Fields(text[at[1]:]), "")[0]
		if size := sizeWords[strings.TrimRight(word, ".,;:)।")]; size > 0 {
			v *= size
		}
		all = append(all, inDigits(v))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// withoutNames replaces the names of a text, which hold to no language.
func withoutNames(text string, facts Data) string {
	for _, d := range facts {
		if d.Unit == locale.Name {
			text = strings.ReplaceAll(text, d.Value, "NAME")
		}
	}
	return text
}

// sizeWords are the words that may follow a number in one of the languages, with their factors.
var sizeWords = map[string]float64{
	"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
	"mil": 1e3, "millón": 1e6, "millones": 1e6, "billón": 1e12, "billones": 1e12,
	"milhão": 1e6, "milhões": 1e6, "bilhão": 1e9, "bilhões": 1e9, "trilhão": 1e12, "trilhões": 1e12,
	"हज़ार": 1e3, "लाख": 1e5, "करोड़": 1e7, "अरब": 1e9,
}

// inDigits is a number as text, without the noise of a product.
func inDigits(v float64) string { return strconv.FormatFloat(v, 'g', 12, 64) }

// known are the facts in the same form.
func knownNumbers(facts Data) map[string]bool {
	all := map[string]bool{}
	add := func(day time.Time) { all[fmt.Sprintf("day %d of %d", day.Day(), day.Year())] = true }
	for _, d := range facts {
		if v := d.Number(); !math.IsNaN(v) {
			all[inDigits(math.Abs(v)*math.Pow10(locale.Powers[d.Unit]))] = true
		}
		if d.Unit == locale.Date {
			add(day(d.Value))
		}
		if d.Unit == locale.Month {
			all[strings.TrimLeft(d.Value[:4], "0")] = true
		}
		if !d.AsOf.IsZero() {
			add(d.AsOf)
		}
	}
	return all
}

// wantSameNumbers checks that the texts of all languages name the same numbers, and only facts.
func wantSameNumbers(t *testing.T, what string, facts Data, texts map[Lang]string) {
	t.Helper()
	want := named(t, texts[English], English, facts)
	known := knownNumbers(facts)
	for _, n := range want {
		if !known[n] {
			t.Errorf("%s names %s, which is no fact:\n%s", what, n, texts[English])
		}
	}
	for _, lang := range Langs() {
		if diff := cmp.Diff(want, named(t, texts[lang], lang, facts)); diff != "" {
			t.Errorf("%s: the numbers in %s are others (-en +%s):\n%s\n%s", what, lang, lang, diff, texts[lang])
		}
		if err := CheckNumbers(texts[lang], lang, facts); err != nil {
			t.Errorf("%s in %s: %v", what, lang, err)
		}
		for _, fault := range languageFaults(lang, withoutNames(texts[lang], facts)) {
			t.Errorf("%s in %s: %s in\n%s", what, lang, fault, texts[lang])
		}
	}
}

// Both ends of a range have the same decimals: "entre 6,6 veces y 10,0 veces".
func TestTheEndsOfARangeHaveTheSameDecimals(t *testing.T) {
	t.Parallel()
	for lang, want := range map[Lang]string{"en": "6.6 times, 10.0 times", "es": "6,6 veces, 10,0 veces", "pt": "6,6 vezes, 10,0 vezes", "hi": "6.6 गुना, 10.0 गुना"} {
		low, err := format(lang, Datum{ID: "range_low", Value: "6.6", Unit: locale.Times})
		if err != nil {
			t.Fatal(err)
		}
		high, err := format(lang, Datum{ID: "range_high", Value: "10.0", Unit: locale.Times})
		if got := low + ", " + high; got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", lang, got, err, want)
		}
	}
}
