package picks

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
)

// A phrase is a text with places for facts in braces. No phrase contains a digit, so that every number of a text is a fact:
//
//	{id}                       the fact as its unit is written in the language
//	{id|abs}                   without its sign, where the words say which way
//	{id|plus}                  with its sign, a plus too
//	{id|cap}                   as a title begins: with a capital letter, and without an article
//	{id|..other}               two days as one range: 16 to 20 November
//	{id|one:share|other:shares} no number, but the word that its plural form asks for
//	{id|up:gained|down:lost}   no number, but the word that its sign asks for; zero is up
//
// A language has its phrases, its terms (words for a key) and its units in its folder below internal/locale.

// english has every phrase that there is; the other languages are compared with it.
var english = languages.Find(English)

// printers are x/text's, made once.
var printers = sync.OnceValue(func() map[Lang]*message.Printer {
	all := map[Lang]*message.Printer{}
	for _, l := range languages.All() {
		all[l.Code] = message.NewPrinter(l.Tag)
	}
	return all
})

// Write writes a phrase in a language with the facts that it names. It fails when a phrase or a fact is missing.
func (d Data) write(lang Lang, phrase string) (string, error) {
	l := languages.Find(lang)
	if l == nil {
		return "", fmt.Errorf("write %s: unknown language %q", phrase, lang)
	}
	text, ok := l.Phrases[phrase]
	if !ok {
		return "", fmt.Errorf("write %s: no such phrase in %s", phrase, lang)
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		place, after, _ := strings.Cut(rest, "}")
		word, err := d.fill(lang, place)
		if err != nil {
			return "", fmt.Errorf("write %s in %s: %w", phrase, lang, err)
		}
		written := l.Contract(b.String(), word)
		b.Reset()
		b.WriteString(written)
		text = after
	}
}

// paragraph writes several phrases as one paragraph; an empty list is an empty text.
func (d Data) paragraph(lang Lang, phrases ...string) (string, error) {
	var parts []string
	for _, p := range phrases {
		s, err := d.write(lang, p)
		if err != nil {
			return "", err
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " "), nil
}

// fill returns the text for one pair of braces.
func (d Data) fill(lang Lang, place string) (string, error) {
	id, options, _ := strings.Cut(place, "|")
	x, ok := d.Find(id)
	if !ok {
		return "", fmt.Errorf("no fact %q", id)
	}
	if other, ok := strings.CutPrefix(options, ".."); ok {
		return d.span(lang, x, other)
	}
	switch options {
	case "":
		s, err := format(lang, x)
		if err == nil && x.Signed && x.Number() > 0 {
			s = "+" + s
		}
		return s, err
	case "abs":
		x.Value = strings.TrimPrefix(x.Value, "-")
		return format(lang, x)
	case "cap":
		s, err := format(lang, x)
		if err != nil {
			return "", err
		}
		return languages.Or(lang).Title(s), nil
	case "plus":
		s, err := format(lang, x)
		if err == nil && x.Number() > 0 {
			s = "+" + s
		}
		return s, err
	default:
		return choose(lang, x.Value, options)
	}
}

// span writes the days from one fact to another.
func (d Data) span(lang Lang, from Datum, id string) (string, error) {
	to, ok := d.Find(id)
	if !ok {
		return "", fmt.Errorf("no fact %q", id)
	}
	first, err := time.Parse(time.DateOnly, from.Value)
	if err != nil {
		return "", fmt.Errorf("read fact %s: %w", from.ID, err)
	}
	last, err := time.Parse(time.DateOnly, to.Value)
	if err != nil {
		return "", fmt.Errorf("read fact %s: %w", id, err)
	}
	return languages.Or(lang).WriteDays(first, last), nil
}

// choose takes the word for the plural form of a number, "one:share|other:shares", or for its sign, "up:gained|down:lost".
func choose(lang Lang, value, options string) (string, error) {
	want := "other"
	switch {
	case strings.HasPrefix(options, "up:"):
		if want = "up"; strings.HasPrefix(value, "-") {
			want = "down"
		}
	case languages.Or(lang).Plural(value) == plural.One:
		want = "one"
	}
	for option := range strings.SplitSeq(options, "|") {
		if form, word, ok := strings.Cut(option, ":"); ok && form == want {
			return word, nil
		}
	}
	return "", fmt.Errorf("no form %q in %q", want, options)
}

// format writes a fact as its unit is written in a language.
func format(lang Lang, x Datum) (string, error) {
	l := languages.Find(lang)
	if l == nil {
		return "", fmt.Errorf("unknown language %q", lang)
	}
	switch x.Unit {
	case locale.Name, locale.Year:
		return x.Value, nil
	case locale.Term:
		return terms(lang, strings.Split(x.Value, "+"))
	case locale.Date:
		day, err := time.Parse(time.DateOnly, x.Value)
		if err != nil {
			return "", fmt.Errorf("read fact %s: %w", x.ID, err)
		}
		return l.WriteDate(day), nil
	case locale.Month:
		day, err := time.Parse("2006-01", x.Value)
		if err != nil {
			return "", fmt.Errorf("read fact %s: %w", x.ID, err)
		}
		return l.WriteMonth(day), nil
	}
	value, around, ok := l.Write(x.Unit, told(x))
	if !ok {
		return "", fmt.Errorf("no unit %q in %s", x.Unit, lang)
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return "", fmt.Errorf("read fact %s: %w", x.ID, err)
	}
	if before, rest, found := strings.Cut(around, "{"); found {
		options, after, _ := strings.Cut(rest, "}")
		word, err := choose(lang, value, options)
		if err != nil {
			return "", fmt.Errorf("write fact %s: %w", x.ID, err)
		}
		around = before + word + after
	}
	_, fraction, _ := strings.Cut(value, ".")
	digits := printers()[lang].Sprint(number.Decimal(n, number.Scale(len(fraction))))
	// A minus sign precedes a currency sign.
	if rest, negative := strings.CutPrefix(digits, "-"); negative && !strings.HasPrefix(around, "N") {
		return "-" + strings.Replace(around, "N", rest, 1), nil
	}
	return strings.Replace(around, "N", digits, 1), nil
}

// told is a number as texts have it: multiples and differences without decimals that are all zero, "12 times". Amounts keep them, because
// texts compare them: "$27.0 billion" follows "$26.1 billion".
func told(x Datum) string {
	switch x.Unit {
	case locale.Times, locale.Deviations, locale.Points:
		if strings.HasPrefix(x.ID, "range_") {
			break // both ends of a range have the same decimals
		}
		if whole, fraction, found := strings.Cut(x.Value, "."); found && strings.Trim(fraction, "0") == "" {
			return whole
		}
	}
	return x.Value
}

// terms writes the words for keys, several as a list: "a, b and c".
func terms(lang Lang, keys []string) (string, error) {
	words := make([]string, len(keys))
	for i, key := range keys {
		word, ok := termOf(lang, key)
		if code, country := strings.CutPrefix(key, "country."); country && !ok {
			name, err := countryName(lang, code)
			if err != nil {
				return "", err
			}
			word, ok = name, true
		}
		if !ok {
			return "", fmt.Errorf("no term %q in %s", key, lang)
		}
		words[i] = word
	}
	return languages.Or(lang).List(words), nil
}

// countryName is a country's name in a language, as CLDR has it.
func countryName(lang Lang, code string) (string, error) {
	region, err := language.ParseRegion(code)
	if err != nil {
		return "", fmt.Errorf("read country %q: %w", code, err)
	}
	return display.Regions(languages.Or(lang).Tag).Name(region), nil
}
