package pages

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/message"
	xnumber "golang.org/x/text/number"

	"tidemark/api/pages/plot"
	"tidemark/api/view"
	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/picks"
	"tidemark/signals"
)

// localizer formats text in one language: words, dates, and numbers with the digit grouping of the language, which in Hindi is 12,34,567.
type localizer struct {
	Lang picks.Lang
	// Named reports that the address names the language, so that links must name it, too, if it is English.
	Named bool
}

// local returns the localizer of a page in a language.
func (r request) local(lang picks.Lang) localizer { return localizer{lang, r.query.Get("lang") != ""} }

// InLang returns the query of a link to a page in the same language. It is empty for English that the address does not name.
func (l localizer) InLang() string {
	if l.Lang == picks.English && !l.Named {
		return ""
	}
	return "?lang=" + string(l.Lang)
}

// language returns the data of the language.
func (l localizer) language() *locale.Language { return languages.Or(l.Lang) }

// T returns a translated text. It panics if the id is unknown, because that is a bug.
func (l localizer) T(id string) string {
	w, ok := l.language().Words[id]
	if !ok {
		panic("there is no word for " + id)
	}
	return w
}

// Say fills the places of a translated text.
func (l localizer) Say(id string, values ...any) string {
	return fmt.Sprintf(l.T(id), texts(values)...)
}

// texts writes counts as texts, because the places of translated texts are for texts.
func texts(values []any) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = fmt.Sprint(v)
	}
	return out
}

func (l localizer) decimals(v float64, n int) string {
	return message.NewPrinter(l.language().Tag).Sprint(xnumber.Decimal(signals.Rounded(math.Abs(v), n), xnumber.Scale(n)))
}

// Stop ends a sentence that a template composes.
func (l localizer) Stop() string { return l.T("stop") }

// Separator separates numbers with decimals in a list.
func (l localizer) Separator() string { return l.language().Separator() }

// Num formats a number with n decimals.
func (l localizer) Num(f *float64, n int) string {
	if f == nil {
		return l.T("unknown")
	}
	s := l.decimals(*f, n)
	if *f < 0 && strings.Trim(s, "0.,") != "" {
		return "−" + s
	}
	return s
}

// Pct formats a percentage with its sign and two decimals.
func (l localizer) Pct(f *float64) string {
	if f == nil {
		return l.T("unknown")
	}
	return l.Signed(f) + l.PercentSign()
}

// PctPoints formats a difference of two percentages with its sign and two decimals, in percentage points.
func (l localizer) PctPoints(f *float64) string {
	if f == nil {
		return l.T("unknown")
	}
	return l.points(*f, 2)
}

// points formats a number of percentage points with its sign and n decimals.
func (l localizer) points(v float64, n int) string {
	v = signals.Rounded(v, n)
	text := minus(picks.WriteNumber(l.Lang, locale.Points, strconv.FormatFloat(v, 'f', n, 64)))
	if v > 0 {
		return "+" + text
	}
	return text
}

// PointsApart is PctPoints with the unit in small letters below the number, which all languages write first.
func (l localizer) PointsApart(f *float64) template.HTML {
	return unitBelow(l.PctPoints(f))
}

func unitBelow(text string) template.HTML {
	number, unit, _ := strings.Cut(text, " ")
	return template.HTML(template.HTMLEscapeString(number) + "<small>" + template.HTMLEscapeString(unit) + "</small>") //nolint:gosec // escaped
}

// Waits reports whether no session has closed since the pick. Until then, readers could not have bought it.
func (l localizer) Waits(k view.Pick) bool { return k.EntryDate == nil }

// Bought reports whether the newest close is the one at which a reader could have bought the pick, so that it has no return yet.
func (l localizer) Bought(k view.Pick) bool {
	return boughtAtNewestClose(k.EntryDate, k.LastPriceAt)
}

func boughtAtNewestClose(entry *string, newest *time.Time) bool {
	return entry != nil && newest != nil && newest.UTC().Format(time.DateOnly) == *entry
}

// Billions formats billions of dollars in the words of the language: "121.900 millones de dólares".
func (l localizer) Billions(f *float64) string {
	if f == nil {
		return l.T("unknown")
	}
	return picks.WriteNumber(l.Lang, locale.Billions, strconv.FormatFloat(*f, 'f', 1, 64))
}

// Times formats a multiple as the texts of picks do: "20.4 times", "20 times".
func (l localizer) Times(f *float64) string {
	if f == nil {
		return l.T("unknown")
	}
	return minus(picks.WriteNumber(l.Lang, locale.Times, strconv.FormatFloat(*f, 'f', 1, 64)))
}

// figureWords are the words of the language in a figure. A short month has three letters where an alphabet has letters.
func (l localizer) figureWords() (out plot.Words) {
	if l.Lang == picks.English {
		return out
	}
	out.Decimal, out.Empty = l.language().Decimal, l.T("plot.empty")
	for i, name := range l.language().Months {
		if out.Months[i] = name; name[0] < utf8.RuneSelf && len(name) > 4 {
			out.Months[i] = name[:3]
		}
	}
	return out
}

// Signed formats a number with its sign and two decimals.
func (l localizer) Signed(f *float64) string { return l.signedTo(f, 2) }

// signedTo formats a number with its sign.
func (l localizer) signedTo(f *float64, decimals int) string {
	s := l.Num(f, decimals)
	if f != nil && *f > 0 && strings.Trim(s, "0.,") != "" {
		return "+" + s
	}
	return s
}

// Share formats a part of 100 with two decimals.
func (l localizer) Share(v float64) string { return l.Num(&v, 2) + l.PercentSign() }

// PercentSign returns the percent sign, after a space if the language has one.
func (l localizer) PercentSign() string {
	return strings.TrimPrefix(l.language().Units[locale.Percent], "N")
}

// Percent formats a percentage without a sign and with one decimal.
func (l localizer) Percent(v *float64) string {
	if v == nil {
		return l.T("unknown")
	}
	return l.Num(v, 1) + l.PercentSign()
}

// Price formats a price as recorded, with the digit grouping of the language. The hashed text itself is shown elsewhere.
func (l localizer) Price(text string) string {
	var v float64
	if _, err := fmt.Sscanf(text, "%g", &v); err != nil {
		return text
	}
	_, fraction, _ := strings.Cut(text, ".")
	return l.Num(&v, len(fraction))
}

// PriceIn writes a price with its currency, as the texts of the language do: "65,79 dólares", "US$ 65,79".
func (l localizer) PriceIn(text, currency string) string {
	if currency == "USD" {
		return picks.WriteNumber(l.Lang, locale.Dollars, text)
	}
	return l.Price(text) + "\u00a0" + currency
}

// Amount writes a value with its unit in the words of the language: "248 mil", "2,1 millones de barriles". It returns an unknown value as
// the text that the API shows.
func (l localizer) Amount(value any, unit string) string {
	text, ok := value.(string)
	if p, isPointer := value.(*string); isPointer && p != nil {
		text, ok = *p, true
	}
	if !ok {
		return l.T("unknown")
	}
	return minus(picks.WriteNumber(l.Lang, locale.Unit(unit), text))
}

// Macro writes a figure of an economic event. A change has its sign in both directions.
func (l localizer) Macro(e view.EconomicEvent, figure string) string {
	text := l.Amount(figure, e.Unit)
	is := func(d picks.Indicator) bool { return d.ID == e.Indicator && d.IsChange() }
	if v, err := strconv.ParseFloat(figure, 64); err == nil && v > 0 && slices.ContainsFunc(picks.Indicators(), is) {
		return "+" + text
	}
	return text
}

// Date formats a day from a text YYYY-MM-DD or from an instant. The day of an instant is in UTC.
func (l localizer) Date(day any) string {
	var at time.Time
	switch d := day.(type) {
	case string:
		var err error
		if at, err = time.Parse(time.DateOnly, d); err != nil {
			return d
		}
	case *string:
		if d == nil {
			return l.T("unknown")
		}
		return l.Date(*d)
	default:
		at = timeOf(day).UTC()
	}
	return picks.WriteDate(l.Lang, at)
}

// Sector returns the name of a sector.
func (l localizer) Sector(name string) string {
	return sentence(picks.WriteTerm(l.Lang, "sector."+name))
}

// SectorOrCash returns the name of a sector, or the word for cash.
func (l localizer) SectorOrCash(name string) string {
	if name == "Cash" {
		return l.T("portfolio.Cash")
	}
	return l.Sector(name)
}

// Benchmark returns the name of the benchmark.
func (l localizer) Benchmark(name string) string {
	if w, ok := l.language().Words["portfolio."+name]; ok {
		return w
	}
	return name
}

// ExitReason says why a position was sold.
func (l localizer) ExitReason(reason string) string {
	if term := picks.ClosedTerm(reason); term != "" {
		return picks.WriteTerm(l.Lang, term)
	}
	return reason
}

// Exchange returns the name of an exchange by its code.
func (l localizer) Exchange(code string) string { return picks.ExchangeName(code) }

// Country returns the name of a country by its code. It says so if the code is unknown.
func (l localizer) Country(code string) string {
	if code == "" {
		return l.T("unknown")
	}
	return picks.WriteTerm(l.Lang, "country."+code)
}

// SourceTitle writes the title of a filing in the language: "Formulario 10-K, 20 de febrero de 2026". Titles of other sources stay.
func (l localizer) SourceTitle(title string) string {
	rest, ok := strings.CutPrefix(title, "Form ")
	if !ok {
		return title
	}
	form, filed, _ := strings.Cut(rest, ", ")
	day, accession, _ := strings.Cut(filed, ", ")
	parts := []string{joined(l.T("source form") + " " + form)}
	for _, part := range []string{l.Date(day), accession} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// Tone returns the CSS class of a number: up, down or none.
func (l localizer) Tone(f *float64) string {
	switch {
	case f == nil || *f == 0:
		return ""
	case *f > 0:
		return "up"
	}
	return "down"
}
