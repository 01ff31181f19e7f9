// Package locale says what a language is: its words, and how it writes numbers, dates and units. Each language is a folder beside this file;
// internal/locale/languages lists them. A language brings every phrase of the texts, the pages and the agents' answers.
package locale

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"
)

// Lang is the code of a language, as ISO 639-1 has it.
type Lang string

// English is the language of a reader who asks for none, and of what is not translated.
const English Lang = "en"

// Unit says how a number is written and what it may be compared with.
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
	Name       Unit = "name"     // written as it stands: a name, a form, a ticker
	Term       Unit = "term"     // the key of a word that each language has its own for, or several joined by "+"
)

// Scale is how a unit is written from a size on: Around stands around the number, whose decimal point has moved Shift places to the right.
type Scale struct {
	From   float64 // in the unit
	Shift  int
	Around string
}

// Write is how a decimal text is written in a unit: the text with its decimal point moved, and what stands around it. It reports false
// for a unit that the language does not have.
func (l *Language) Write(unit Unit, value string) (number, around string, ok bool) {
	size, err := strconv.ParseFloat(strings.TrimPrefix(value, "-"), 64)
	if err == nil {
		for _, s := range l.Scaled[unit] {
			if size >= s.From {
				return Shifted(value, s.Shift), s.Around, true
			}
		}
	}
	around, ok = l.Units[unit]
	return value, around, ok
}

// Shifted moves the decimal point of a decimal text so many places to the right, or to the left where places is negative. No digit is lost.
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

// Powers are the units that are a count of something, with the power of ten that one of them is.
var Powers = map[Unit]int{
	Thousands: 3, Millions: 6, Barrels: 6, Billions: 9, "10^5": 5, "10^7": 7, "10^11": 11, "10^12": 12,
}

// Language is everything that the program knows of a language.
type Language struct {
	Code Lang
	// Tag chooses what x/text knows: plural forms, digits, grouping, names of countries.
	Tag language.Tag
	// Name is the language's name in itself, EnglishName in English.
	Name, EnglishName string

	// Units pairs a unit with how it is written around the number, which is N. A word in braces follows the number's plural form:
	// "N {one:millón|other:millones}".
	Units map[Unit]string
	// Scaled lists other ways to write a unit, for languages whose words for size are not those of the unit (crore, thousand millions). The
	// first whose From the number reaches, without its sign, is used; Units holds below all of them.
	Scaled map[Unit][]Scale
	// Months are the names in a date. DateOrder is the order of D, M and Y in a date; MonthOrder that of M and Y.
	Months                [12]string
	DateOrder, MonthOrder string
	// Decimal and Group stand between the digits of a number.
	Decimal, Group string
	// Sizes are the words that may follow a number, with the unit that they make of it. Sizes that no fact is told in are listed too, so
	// that a number before one matches nothing.
	Sizes map[string]Unit
	// And joins the last of several words; JoinedBy, where set, is asked for it with the word that follows.
	And      string
	JoinedBy func(next string) (and string)

	// Phrases are the sentences of the texts, with places for facts in braces; Terms are words that stand for keys.
	Phrases, Terms map[string]string
	// Words are what the pages and the agents' answers say around the data.
	Words map[string]string
	// Signals says what a signal is called in a sentence, by its id, where the signal's own file does not.
	Signals map[string]string
}

// WriteDate writes a day.
func (l *Language) WriteDate(day time.Time) string { return l.ordered(day, l.DateOrder) }

// WriteMonth writes a month.
func (l *Language) WriteMonth(day time.Time) string { return l.ordered(day, l.MonthOrder) }

func (l *Language) ordered(day time.Time, order string) string {
	return strings.NewReplacer("D", strconv.Itoa(day.Day()), "M", l.Months[day.Month()-1], "Y", strconv.Itoa(day.Year())).Replace(order)
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
