package picks

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"tidemark/internal/locale"
)

// CheckNumbers reads every number that a text in a language writes in digits, and fails on the first that is not among the facts. It is the
// gate for texts by other writers: a model may choose the words, never the numbers.
//
// Grouping and decimals are read as the language writes them, Devanagari digits as digits. A number before a percent sign must be a
// percentage among the facts, and a number before a word like million an amount of that size. Its decimals must equal the fact's, except
// for zeros at the end. A minus sign needs a negative fact and a plus sign a positive one; without a sign the words may state the
// direction. A date is read whole; it must be a fact's value or the date of a fact. Names with digits (a form, an index, a company) are
// facts of unit "name". Numbers in words are not read.
func CheckNumbers(text string, lang Lang, facts Data) error {
	r, ok := readers()[lang]
	if !ok {
		return fmt.Errorf("check numbers: unknown language %q", lang)
	}
	text = r.strip(asciiDigits(text), facts)
	for _, t := range r.tokens(text) {
		if t.bad != "" {
			return fmt.Errorf("check numbers: %q in %q is not readable", t.bad, t.around)
		}
		if !slices.ContainsFunc(facts, t.matches) {
			return fmt.Errorf("check numbers: %s in %q is not among the facts", t.text, t.around)
		}
	}
	return nil
}

var (
	links    = regexp.MustCompile(`https?://[^\s)\]]+`)
	isoDates = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)
	numerals = regexp.MustCompile(`\d+(?:[.,\x{00A0}\x{202F}\x{2009}]\d+)*`)
)

// strip takes links, names and the dates that are facts out of a text.
func (r *reader) strip(text string, facts Data) string {
	text = links.ReplaceAllString(text, " ")
	var names []string
	for _, f := range facts {
		if f.Unit == locale.Name && strings.ContainsFunc(f.Value, unicode.IsDigit) {
			names = append(names, f.Value)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	for _, name := range names {
		text = regexp.MustCompile(`(^|[^\pL\pN.,-])`+regexp.QuoteMeta(name)+`($|[^\pL\pN-])`).ReplaceAllString(text, "$1 $2")
	}
	known := func(iso string) bool {
		return slices.ContainsFunc(facts, func(f Datum) bool {
			return f.Unit == locale.Date && f.Value == iso || !f.AsOf.IsZero() && f.AsOf.Format(time.DateOnly) == iso
		})
	}
	text = isoDates.ReplaceAllStringFunc(text, func(s string) string {
		if known(s) {
			return " "
		}
		return s
	})
	for _, span := range r.spans {
		text = span.ReplaceAllStringFunc(text, func(s string) string {
			if from, to := r.spanDays(span, s); known(from) && known(to) {
				return " "
			}
			return s
		})
	}
	return r.dates.ReplaceAllStringFunc(text, func(s string) string {
		m := r.dates.FindStringSubmatch(s)
		day, err1 := strconv.Atoi(m[r.dayGroup])
		year, err2 := strconv.Atoi(m[r.yearGroup])
		month := r.months[strings.ToLower(m[r.monthGroup])]
		if err1 == nil && err2 == nil && known(fmt.Sprintf("%04d-%02d-%02d", year, month, day)) {
			return " "
		}
		return s
	})
}

// token is one number of a text.
type token struct {
	text, around string
	// value is the number without sign, separators and zeros that say nothing.
	value string
	sign  rune
	unit  Unit
	bad   string
}

// tokens lists the numbers of a text.
func (r *reader) tokens(text string) []token {
	var all []token
	for _, at := range numerals.FindAllStringIndex(text, -1) {
		t := token{text: text[at[0]:at[1]], around: excerpt(text, at[0], at[1])}
		before, after := text[:at[0]], text[at[1]:]
		last, first := lastRune(before), firstRune(after)
		if unicode.IsLetter(last) || unicode.IsLetter(first) || unicode.Is(unicode.M, first) {
			t.bad = t.text // part of a word that is not a fact
		}
		t.sign = signBefore(before)
		value, ok := r.value(t.text)
		if !ok {
			t.bad = t.text
		}
		t.value, t.unit = value, r.unit(after)
		all = append(all, t)
	}
	return all
}

// signBefore returns the plus or minus sign of a number, also with a currency sign in between; zero if it has none. A hyphen after a
// letter or a digit joins words or a range and is not a sign.
func signBefore(before string) rune {
	trimmed := strings.TrimRight(before, " \u00a0")
	if rest, ok := strings.CutSuffix(trimmed, "$"); ok {
		before = strings.TrimSuffix(rest, "US")
	}
	sign := lastRune(before)
	if !strings.ContainsRune("+-\u2212", sign) {
		return 0
	}
	if previous := lastRune(strings.TrimSuffix(before, string(sign))); unicode.IsLetter(previous) || unicode.IsDigit(previous) {
		return 0
	}
	return sign
}

// unit returns the percent sign or the word for a size that follows a number; empty if none exists.
func (r *reader) unit(after string) Unit {
	after = strings.ToLower(strings.TrimLeft(after, " \u00a0\u202f"))
	for _, w := range r.words {
		if rest, ok := strings.CutPrefix(after, w); ok && (w == "%" || !unicode.IsLetter(firstRune(rest))) {
			return r.sizes[w]
		}
	}
	return ""
}

// matches reports whether a token matches a fact.
func (t token) matches(f Datum) bool {
	if f.Unit == locale.Month {
		return t.unit == "" && t.value == canonical(f.Value[:min(4, len(f.Value))])
	}
	if f.Unit == locale.Date || f.Unit == locale.Name || f.Unit == locale.Term {
		return false
	}
	value, negative := strings.CutPrefix(f.Value, "-")
	said, is := 0, 0
	if p, ok := locale.Powers[t.unit]; ok && f.Unit != t.unit {
		// A language may state an amount in another size: 1.4 billion is 1,400 million.
		if is, ok = locale.Powers[f.Unit]; !ok {
			return false
		}
		said = p
	}
	switch {
	case canonical(locale.Shifted(value, is)) != canonical(locale.Shifted(t.value, said)) &&
		(t.unit != "" || canonical(locale.Shifted(value, locale.Powers[f.Unit])) != canonical(t.value)): // 248 thousand may be 248,000
		return false
	case t.sign == '+' && negative, (t.sign == '-' || t.sign == '\u2212') && !negative:
		return false
	case t.unit == "", said > 0:
		return true
	default:
		return t.unit == f.Unit
	}
}
