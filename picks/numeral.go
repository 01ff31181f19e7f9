package picks

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"tidemark/internal/locale/languages"
)

// reader knows how a language writes numbers.
type reader struct {
	decimal, group string
	dates          *regexp.Regexp
	// spans are the forms of several days, each with the names of its groups: D, M, Y, E, N, Z.
	spans  []*regexp.Regexp
	months map[string]time.Month
	// dayGroup, monthGroup and yearGroup are the places of the parts in dates.
	dayGroup, monthGroup, yearGroup int
	// sizes are the words that may follow a number; words lists them, the longest first.
	sizes map[string]Unit
	words []string
}

// readers are made once, from each language's rules for numbers.
var readers = sync.OnceValue(func() map[Lang]*reader {
	all := map[Lang]*reader{}
	for _, l := range languages.All() {
		r := &reader{decimal: l.Decimal, group: l.Group, sizes: l.Sizes, months: map[string]time.Month{}}
		r.words = slices.SortedFunc(maps.Keys(r.sizes), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
		})
		var names []string
		for i, name := range l.Months {
			r.months[strings.ToLower(name)] = time.Month(i + 1)
			names = append(names, regexp.QuoteMeta(name))
		}
		order := regexp.QuoteMeta(l.DateOrder)
		ordinal := ordinalOf(l.FirstDay)
		pattern := strings.NewReplacer("D", `(\d{1,2})`+ordinal, "M", "("+strings.Join(names, "|")+")", "Y", `(\d{4})`).Replace(order)
		r.dates = regexp.MustCompile(`(?i)` + pattern)
		r.dayGroup, r.monthGroup, r.yearGroup = datePart(l.DateOrder, "D"), datePart(l.DateOrder, "M"), datePart(l.DateOrder, "Y")
		for _, form := range l.Ranges {
			if form != "" {
				r.spans = append(r.spans, spanPattern(form, strings.Join(names, "|"), ordinal))
			}
		}
		all[l.Code] = r
	}
	return all
})

// ordinalOf finds the sign after the number of a day, as in "1º".
func ordinalOf(firstDay string) string {
	sign := strings.TrimLeft(firstDay, "0123456789")
	if sign == "" {
		return ""
	}
	return "(?:" + regexp.QuoteMeta(sign) + ")?"
}

// spanPattern finds days written in one of a language's forms of ranges.
func spanPattern(form, months, ordinal string) *regexp.Regexp {
	pattern := strings.NewReplacer(
		"D", `(?P<D>\d{1,2})`+ordinal, "E", `(?P<E>\d{1,2})`+ordinal, "M", "(?P<M>"+months+")", "N", "(?P<N>"+months+")", "Y", `(?P<Y>\d{4})`, "Z", `(?P<Z>\d{4})`,
	).Replace(regexp.QuoteMeta(form))
	return regexp.MustCompile(`(?i)` + pattern)
}

// spanDays are the first and the last day of a match of a form, as YYYY-MM-DD. Parts that the form has once count for both.
func (r *reader) spanDays(pattern *regexp.Regexp, text string) (from, to string) {
	m := pattern.FindStringSubmatch(text)
	part := func(names ...string) string {
		for _, name := range names {
			if i := pattern.SubexpIndex(name); i >= 0 {
				return m[i]
			}
		}
		return ""
	}
	day := func(year, month, day string) string {
		return fmt.Sprintf("%s-%02d-%s", year, r.months[strings.ToLower(month)], ("0" + day)[len(day)-1:])
	}
	return day(part("Y"), part("M"), part("D")), day(part("Z", "Y"), part("N", "M"), part("E"))
}

// datePart is the number of a part among the parts of a date's order.
func datePart(order, part string) int {
	n := 1
	for _, other := range []string{"D", "M", "Y"} {
		if strings.Index(order, other) < strings.Index(order, part) {
			n++
		}
	}
	return n
}

// value reads a number as the language writes it.
func (r *reader) value(s string) (string, bool) {
	for _, space := range []string{"\u00a0", "\u202f", "\u2009"} {
		s = strings.ReplaceAll(s, space, r.group)
	}
	whole, fraction, _ := strings.Cut(s, r.decimal)
	if strings.Contains(fraction, r.decimal) || strings.Contains(fraction, r.group) {
		return "", false
	}
	if groups := strings.Split(whole, r.group); len(groups) > 1 {
		if len(groups[len(groups)-1]) != 3 || len(groups[0]) > 3 {
			return "", false
		}
		for _, g := range groups[1 : len(groups)-1] {
			if len(g) != 2 && len(g) != 3 {
				return "", false
			}
		}
		whole = strings.Join(groups, "")
	}
	return canonical(whole + "." + fraction), true
}

// canonical is a decimal text without zeros that say nothing.
func canonical(s string) string {
	whole, fraction, _ := strings.Cut(s, ".")
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// asciiDigits writes Devanagari, Arabic and full-width digits as ASCII digits. A numeral without digits, such as a fraction or a Roman
// numeral with its own code point, becomes a digit in a word. Such a word is not readable and fails the check.
func asciiDigits(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.Is(unicode.No, r) || unicode.Is(unicode.Nl, r):
			b.WriteString("n0n")
		case r > unicode.MaxASCII && unicode.IsDigit(r):
			b.WriteString(asciiDigit(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// asciiDigit is the ASCII form of a digit of the supported scripts, and an unreadable word for a digit of another.
func asciiDigit(r rune) string {
	for _, zero := range []rune{'०', '٠', '۰', '０'} {
		if r >= zero && r <= zero+9 {
			return string('0' + r - zero)
		}
	}
	return "n0n"
}

func excerpt(s string, from, to int) string {
	from, to = max(0, from-20), min(len(s), to+20)
	return strings.ToValidUTF8(s[from:to], "")
}

func lastRune(s string) rune {
	if s == "" {
		return ' '
	}
	r := []rune(s[max(0, len(s)-4):])
	return r[len(r)-1]
}

func firstRune(s string) rune {
	for _, r := range s {
		return r
	}
	return ' '
}
