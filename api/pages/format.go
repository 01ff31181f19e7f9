package pages

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"tidemark/api/pages/plot"
	"tidemark/signals"
)

var functions = template.FuncMap{
	"rfc3339": func(t any) string { return timeOf(t).UTC().Format(time.RFC3339Nano) },
	"signed":  signed,
	"percent": percent,
	"figure":  figure,
	"date":    func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
	"short":   short,
	"meter":   func(share float64) template.HTML { return template.HTML(plot.Meter(share)) },
	"tone":    tone,
	// wallet is the URL that opens a wallet, built by the service. Without this type, templates would reject its scheme.
	"wallet": func(address string) template.URL { return template.URL(address) },
	// pair passes a nested template its page and a row.
	"pair": func(page, row any) any { return struct{ Page, Row any }{page, row} },
	// known formats a number. NaN means unknown.
	"known":     func(v float64) string { return number(finite(v)) },
	"sentence":  sentence,
	"within":    within,
	"minus":     minus,
	"breakable": breakable,
	"written":   func(text string) template.HTML { return written(template.HTML(template.HTMLEscapeString(text))) }, //nolint:gosec // escaped
	"joined":    joined,
	"bare":      bare,
	"wholeDays": wholeDays,
	// text is a text or the one behind a pointer. code is a text as the element for code.
	"text": func(v any) string { return fmt.Sprint(reflect.Indirect(reflect.ValueOf(v))) },
	"code": code,
}

const unknown = "unknown"

// number formats a number for readers: at least four significant digits, thousands separators, and an exponent only if it is tiny.
func number(f *float64) string {
	if f == nil {
		return unknown
	}
	v := *f
	abs := math.Abs(v)
	if abs != 0 && abs < 1e-6 {
		return strconv.FormatFloat(v, 'e', 3, 64)
	}
	decimals := 0
	if abs != 0 {
		decimals = min(max(3-int(math.Floor(math.Log10(abs))), 0), 9)
	}
	s := strconv.FormatFloat(abs, 'f', decimals, 64)
	whole, fraction, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if v < 0 {
		return "−" + whole
	}
	return whole
}

// signed formats a number with two decimals and its sign.
func signed(f *float64) string {
	if f == nil {
		return unknown
	}
	s := strconv.FormatFloat(math.Abs(*f), 'f', 2, 64)
	switch {
	case strings.Trim(s, "0.") == "":
		return s
	case *f < 0:
		return "−" + s
	}
	return "+" + s
}

// percent formats a share as a percentage with one decimal.
func percent(f *float64) string {
	if f == nil {
		return unknown
	}
	return strconv.FormatFloat(*f, 'f', 1, 64) + "%"
}

// scaled multiplies a number by a factor. It returns nil for nil.
func scaled(f *float64, factor float64) *float64 {
	if f == nil {
		return nil
	}
	return new(*f * factor)
}

// figure formats a value of a signal, or a pointer to one, with the decimals and the scale of the signal's definition.
func figure(d signals.Definition, v any) string {
	value := math.NaN()
	switch f := v.(type) {
	case float64:
		value = f
	case *float64:
		if f != nil {
			value = *f
		}
	}
	if d.Phrasing.Figure == "" {
		return number(finite(value))
	}
	return d.Number(value)
}

// quantity formats a number with a unit. Days and transits are counted, so they have no decimals.
func quantity(unit string, f *float64) string {
	switch {
	case f != nil && (strings.HasPrefix(unit, "days") || strings.HasPrefix(unit, "transits")):
		return strconv.FormatFloat(math.Round(*f), 'f', 0, 64)
	case f != nil && unit == "percent":
		return percent(f)
	case f != nil && strings.HasPrefix(unit, "USD/"):
		return dollars(*f)
	}
	return number(f)
}

// dollars formats a price in dollars: with three decimals below ten dollars, where a cent is much.
func dollars(v float64) string {
	decimals, sign := 2, ""
	if math.Abs(v) < 10 {
		decimals = 3
	}
	if v < 0 {
		sign = "−"
	}
	return sign + "$" + fixed(math.Abs(v), decimals)
}

// unitWords returns the words after a number that quantity has written. It is empty if the number already has its unit.
func unitWords(unit string) string {
	if unit == "percent" {
		return ""
	}
	if words, ok := unitsInWords[unit]; ok {
		return words
	}
	if of, found := strings.CutPrefix(unit, "USD/"); found {
		if name, ok := perUnit[of]; ok {
			return name
		}
		return "per " + of
	}
	return unit
}

// unitsInWords are the units of components other than prices.
var unitsInWords = map[string]string{"bu/acre": "bushels an acre", "bu/acre per year": "bushels an acre each year", "transits/day": "ships a day"}

// perUnit are the words for units of quantity behind a price.
var perUnit = map[string]string{"gal": "a gallon", "bbl": "a barrel", "t": "a tonne"}

// wholeDay keeps the day at the beginning of an instant on one line.
func wholeDay(instant string) template.HTML {
	day, clock, found := strings.Cut(instant, " ")
	if !found {
		clock = ""
	} else {
		clock = " " + clock
	}
	return template.HTML(`<span class="day">` + day + `</span>` + clock) //nolint:gosec // digits, hyphens and UTC
}

// dayOf matches a day in a text.
var dayOf = regexp.MustCompile(`\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b`)

// wholeDays keeps each day of a text on one line.
func wholeDays(text string) template.HTML {
	return template.HTML(dayOf.ReplaceAllString(template.HTMLEscapeString(text), `<span class="whole">$0</span>`)) //nolint:gosec // escaped
}

// relative formats a difference in percent with its sign. If both numbers are known but the percentage is undefined, it does not say
// "unknown".
func relative(value, baseline, pct *float64) string {
	switch {
	case pct == nil && value != nil && baseline != nil:
		return "not applicable"
	case pct == nil:
		return unknown
	}
	s := strconv.FormatFloat(math.Abs(*pct), 'f', 1, 64) + "%"
	switch {
	case strings.Trim(s, "0.%") == "":
		return s
	case *pct < 0:
		return "−" + s
	}
	return "+" + s
}

// probability formats a p-value with two significant digits. If it is below 0.0001, it says only that.
func probability(f *float64) string {
	switch {
	case f == nil:
		return unknown
	case *f < 1e-4:
		return "< 0.0001"
	}
	return strconv.FormatFloat(*f, 'g', 2, 64)
}

// finite returns nil for an unknown number.
func finite(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// short returns the beginning of a hash, or of a hash behind a pointer.
func short(hash any) string {
	text, ok := hash.(string)
	if p, isPointer := hash.(*string); isPointer {
		text, ok = *p, true
	}
	if !ok || len(text) <= 14 {
		return text
	}
	return text[:14] + "…"
}

// tone returns the CSS class of a severity.
func tone(severity int) string {
	switch {
	case severity >= 4:
		return ""
	case severity == 3:
		return "warn"
	}
	return "plain"
}

// sentence capitalizes the first letter.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// within is a text inside a sentence: its first letter is small.
func within(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[n:]
}

// instant formats a time with its zone. It formats midnight as a day.
func instant(t time.Time) string {
	u := t.UTC()
	if u.Equal(u.Truncate(24 * time.Hour)) {
		return u.Format(time.DateOnly)
	}
	return u.Format("2006-01-02 15:04 UTC")
}

// timeOf returns a time.Time, or the time behind a pointer.
func timeOf(t any) time.Time {
	if p, ok := t.(*time.Time); ok {
		return *p
	}
	return t.(time.Time)
}

// breakable lets a machine name break after its underscores and points, and nowhere else.
func breakable(name string) template.HTML {
	return template.HTML(strings.NewReplacer("_", "_<wbr>", ".", ".<wbr>").Replace(template.HTMLEscapeString(name))) //nolint:gosec // the name is escaped
}

// textOrTag matches the texts and the tags of HTML. xbrlName matches the name of an XBRL element: three capitalized words or more in one. wordEnd
// matches where a word in it ends.
var textOrTag, xbrlName, wordEnd = regexp.MustCompile(`<[^>]*>|[^<]+`), regexp.MustCompile(`\b(?:[A-Z][a-z]+){3,}\b`), regexp.MustCompile(`([a-z])([A-Z])`)

// written marks where a line of a text can break: a long name breaks before its capitals, and a name like "10-K" does not break.
func written(page template.HTML) template.HTML {
	return template.HTML(textOrTag.ReplaceAllStringFunc(string(page), func(part string) string { //nolint:gosec // it only gets more elements
		if part[0] == '<' {
			return part
		}
		return xbrlName.ReplaceAllStringFunc(joined(part), func(name string) string { return wordEnd.ReplaceAllString(name, "$1<wbr>$2") })
	}))
}

// letterHyphen matches the hyphen after a single letter, "ex" or a short number, as in "t-statistic" and "10-K". wordByWord matches those of a word
// that is said twice in Hindi.
var letterHyphen, wordByWord = regexp.MustCompile(`(^|[^\p{L}\p{M}\p{N}-])(\p{L}|[Ee]x|[0-9]{1,2})-(\p{L})`), strings.NewReplacer("-दर-", "-\u2060दर-\u2060")

// joined keeps what is around such hyphens on one line.
func joined(text string) string {
	return wordByWord.Replace(letterHyphen.ReplaceAllString(text, "$1$2-\u2060$3"))
}

// bare is an address as a reader says it, without its scheme. It breaks after its slashes and points.
func bare(url string) template.HTML {
	said := strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/")
	return template.HTML(strings.NewReplacer("/", "/<wbr>", ".", ".<wbr>").Replace(template.HTMLEscapeString(said))) //nolint:gosec // escaped
}

// code is a command as the element for code. No line cuts the name of an option.
func code(command string) template.HTML {
	return template.HTML("<code>" + option.ReplaceAllString(template.HTMLEscapeString(command), `<span class="option">$0</span>`) + "</code>") //nolint:gosec // escaped
}

// option matches an option of a command.
var option = regexp.MustCompile(`--[a-z-]+`)

// hyphenMinus matches a hyphen that means minus: it is before a number or a currency sign, and not after a character that it could join.
var hyphenMinus = regexp.MustCompile(`(^|[\s(|:])-([0-9$]|US\$)`)

// unbroken keeps a minus sign and the currency sign after it on one line.
func unbroken(text string) string { return strings.ReplaceAll(text, "−$", "−\u2060$") }

// rangeOfDegrees and degreesOf find "30-33" and "33 N" in the name of a region.
var rangeOfDegrees, degreesOf = regexp.MustCompile(`([0-9])-([0-9])`), regexp.MustCompile(`([0-9]) ([NSEWOL])([ ]|$)`)

// coordinates writes the ranges of coordinates in a name as ranges, which no line cuts: "30–33 N".
func coordinates(name string) string {
	name = rangeOfDegrees.ReplaceAllString(name, "$1–\u2060$2")
	return degreesOf.ReplaceAllString(name, "$1\u00a0$2$3")
}

// minus replaces the minus signs of a text by the typographic ones of the pages. The stored text does not change.
func minus(text string) string { return hyphenMinus.ReplaceAllString(text, "$1−$2") }

// markdown renders a brief. It removes HTML inside the brief. It aligns cells without style attributes, which the content security policy
// would block.
func markdown(text string) template.HTML {
	var out bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
	))
	if err := md.Convert([]byte(text), &out); err != nil {
		panic(fmt.Errorf("render Markdown: %w", err)) // writing to memory cannot fail
	}
	// Wide tables and long lines scroll inside their boxes, which must be reachable by keyboard. Text was escaped before, so the matches
	// are elements only.
	return template.HTML(strings.NewReplacer("<table>", `<div class="scroll" role="group" tabindex="0"><table>`, "</table>", "</table></div>",
		"<pre>", `<pre tabindex="0">`).Replace(labelCells(out.String())))
}
