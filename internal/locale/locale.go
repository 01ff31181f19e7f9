// Package locale defines a language: its words, and how it formats numbers, dates and units. Each language is a folder below this one;
// internal/locale/languages lists them. A language has every phrase of the texts, the pages and the answers to agents.
package locale

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// Lang is the ISO 639-1 code of a language.
type Lang string

// English is the default language, and the language of everything that is not translated.
const English Lang = "en"

// Unit is the unit of a number. It decides how the number is written and with which numbers it can be compared.
type Unit string

// The units. Values are plain decimal text in the unit.
const (
	Percent    Unit = "%"
	Points     Unit = "pp"       // percentage points
	BasisPoint Unit = "bp"       // hundredths of a percentage point
	Dollars    Unit = "USD"      // a price
	Millions   Unit = "USD mn"   // millions of US dollars
	Billions   Unit = "USD bn"   // billions (10^9) of US dollars
	Times      Unit = "x"        // a multiple
	Count      Unit = "count"    // a whole number of things
	Thousands  Unit = "thousand" // thousands of things
	Barrels    Unit = "bbl mn"   // millions of barrels
	Deviations Unit = "sd"       // standard deviations
	Plain      Unit = ""         // a number without a unit
	Year       Unit = "year"     // a year, never grouped
	Date       Unit = "date"     // YYYY-MM-DD
	Month      Unit = "month"    // YYYY-MM
	Name       Unit = "name"     // written unchanged: a name, a form, a ticker
	Term       Unit = "term"     // the key of a word that each language translates, or several keys joined by "+"
)

// Scale is the form of a unit from a size on. Around is the text around the number, whose decimal point is moved Shift places to the right.
type Scale struct {
	From   float64 // in the unit
	Shift  int
	Around string
}

// Write returns the form of a decimal text in a unit: the text with its decimal point moved, and the text around it. It returns false for a
// unit that the language does not have.
func (l *Language) Write(unit Unit, value string) (number, around string, ok bool) {
	size, err := strconv.ParseFloat(strings.TrimPrefix(value, "-"), 64)
	if err == nil {
		for _, s := range l.Scaled[unit] {
			if size >= s.From {
				number := Shifted(value, s.Shift)
				if s.Shift < 0 && unit != Thousands && strings.Contains(number, ".") && !strings.Contains(value, ".") { // zeros that only the shift made
					number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
				}
				return number, s.Around, true
			}
		}
	}
	around, ok = l.Units[unit]
	return value, around, ok
}

// Shifted moves the decimal point of a decimal text the given places to the right, or to the left if places is negative. No digit is lost.
func Shifted(value string, places int) string {
	number, negative := strings.CutPrefix(value, "-")
	whole, fraction, _ := strings.Cut(number, ".")
	switch {
	case places >= 0:
		fraction += strings.Repeat("0", max(0, places-len(fraction)))
		whole, fraction = whole+fraction[:places], fraction[places:]
	default:
		whole = strings.Repeat("0", max(0, -places-len(whole))) + whole
		cut := len(whole) + places
		whole, fraction = whole[:cut], whole[cut:]+fraction
	}
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if negative {
		return "-" + whole
	}
	return whole
}

// Powers maps each unit that is a count to its power of ten.
var Powers = map[Unit]int{
	Thousands: 3, Millions: 6, Barrels: 6, Billions: 9, "10^5": 5, "10^7": 7, "10^11": 11, "10^12": 12,
}

// Language holds the data of a language.
type Language struct {
	Code Lang
	// Tag selects the data of x/text: plural forms, digits, grouping, names of countries.
	Tag language.Tag
	// Name is the language's name in itself, EnglishName in English.
	Name, EnglishName string

	// Units maps a unit to the text around the number, which is N. A word in braces depends on the number's plural form: "N
	// {one:millón|other:millones}".
	Units map[Unit]string
	// Scaled lists other forms of a unit, for languages that count large numbers in other words than the unit's (crore, thousand millions).
	// The number's absolute value selects the first entry whose From it reaches. Below all of them, Units applies.
	Scaled map[Unit][]Scale
	// Months are the names of the months in a date. DateOrder is the order of D, M and Y in a date, and MonthOrder the order of M and Y.
	Months                [12]string
	DateOrder, MonthOrder string
	// FirstDay is how a date writes the first day of a month ("1º"). Empty means as a number.
	FirstDay string
	// Ranges are the forms of several days: within a month, within a year, and over New Year. The last day is E in the month N of the year Z.
	// An empty form is written as two dates.
	Ranges [3]string
	// Contractions maps what a preposition and a following article or name become: "de el " becomes "del ", "en NYSE" becomes "en la NYSE". Nil
	// where a language has none.
	Contractions map[string]string
	// PluralDecimals reports whether every number with decimals takes the plural, also 1.0: "1,0 millones".
	PluralDecimals bool
	// Decimal and Group are the separators between the digits of a number.
	Decimal, Group string
	// Sizes are the words that may follow a number, with the resulting unit. It also lists sizes that no fact uses, so that a number before
	// them matches nothing.
	Sizes map[string]Unit
	// And joins the last of several words. JoinedBy, if set, returns it for the following word.
	And      string
	JoinedBy func(next string) (and string)

	// Articles begin the names inside sentences, each with the space after it. A title has none.
	Articles []string
	// Phrases are the sentences of the texts, with placeholders for facts in braces. Terms are words for keys.
	Phrases, Terms map[string]string
	// Words are the fixed texts of the pages and of the answers to agents.
	Words map[string]string
	// Signals maps a signal's id to its name in a sentence, unless the signal's own file has it.
	Signals map[string]string
	// SignalTexts are the other texts of a signal by its id. English has none.
	SignalTexts map[string]SignalTexts
	// Annotations are the sentences of the events that plots are annotated with, by the event's id.
	Annotations map[string]string
}

// Title returns a name from a sentence as a title: without its article, and with a capital.
func (l *Language) Title(name string) string {
	for _, article := range l.Articles {
		if rest, ok := strings.CutPrefix(name, article); ok {
			name = rest
			break
		}
	}
	first, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[n:]
}

// Together returns the texts of several maps, which have no id in common. It panics if they have, because that is a bug.
func Together(parts ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, part := range parts {
		for id, text := range part {
			if _, twice := all[id]; twice {
				panic("two texts have the id " + id)
			}
			all[id] = text
		}
	}
	return all
}

// WriteDate writes a day.
func (l *Language) WriteDate(day time.Time) string { return l.ordered(day, l.DateOrder) }

// WriteDays writes the days from one to another, with the month and the year once if they are the same.
func (l *Language) WriteDays(from, to time.Time) string {
	form := l.Ranges[2]
	switch {
	case from.Equal(to):
		return l.WriteDate(from)
	case from.Year() == to.Year() && from.Month() == to.Month():
		form = l.Ranges[0]
	case from.Year() == to.Year():
		form = l.Ranges[1]
	}
	if form == "" {
		return l.WriteDate(from) + " – " + l.WriteDate(to)
	}
	return strings.NewReplacer("D", l.day(from), "M", l.Months[from.Month()-1], "Y", strconv.Itoa(from.Year()),
		"E", l.day(to), "N", l.Months[to.Month()-1], "Z", strconv.Itoa(to.Year())).Replace(form)
}

// Contract joins a text and the next word as the language does: "de" and "el tabaco" become "del tabaco".
func (l *Language) Contract(before, word string) string {
	for apart, joined := range l.Contractions {
		preposition, article, _ := strings.Cut(apart, " ")
		start, ok := strings.CutSuffix(before, preposition+" ")
		rest, follows := strings.CutPrefix(word, article)
		if ok && follows && (start == "" || strings.HasSuffix(start, " ")) {
			return start + joined + rest
		}
	}
	return before + word
}

// WriteMonth writes a month.
func (l *Language) WriteMonth(day time.Time) string { return l.ordered(day, l.MonthOrder) }

func (l *Language) ordered(day time.Time, order string) string {
	return strings.NewReplacer("D", l.day(day), "M", l.Months[day.Month()-1], "Y", strconv.Itoa(day.Year())).Replace(order)
}

// day writes the day of a month.
func (l *Language) day(t time.Time) string {
	if t.Day() == 1 && l.FirstDay != "" {
		return l.FirstDay
	}
	return strconv.Itoa(t.Day())
}

// Plural returns the CLDR form of a number with its digits as written: "-1.50".
func (l *Language) Plural(number string) plural.Form {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(number, "-"), ".")
	n, err := strconv.Atoi(whole)
	if err != nil || l.PluralDecimals && fraction != "" {
		return plural.Other
	}
	f, _ := strconv.Atoi(fraction)
	short := strings.TrimRight(fraction, "0")
	t, _ := strconv.Atoi(short)
	return plural.Cardinal.MatchPlural(l.Tag, n, len(fraction), len(short), f, t)
}

// Singular reports whether a number takes the singular. The number is as the language writes it.
func (l *Language) Singular(written string) bool {
	return l.Plural(strings.NewReplacer(l.Group, "", l.Decimal, ".").Replace(written)) == plural.One
}

// Separator separates numbers with decimals in a list. It is a semicolon if the decimals have a comma.
func (l *Language) Separator() string {
	if l.Decimal == "," {
		return "; "
	}
	return ", "
}

// List joins words: "a, b and c".
func (l *Language) List(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := words[len(words)-1]
	and := l.And
	if l.JoinedBy != nil {
		and = l.JoinedBy(last)
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + and + " " + last
}
