package picks

import (
	"cmp"
	"strings"
	"time"

	"tidemark/internal/locale/languages"
	"tidemark/signals"
)

// WriteTerm writes a term in a language, for example "sector.Technology" or "country.US". An unknown term is written as the text after
// its dot.
func WriteTerm(lang Lang, id string) string {
	kind, name, _ := strings.Cut(id, ".")
	if languages.Find(lang) == nil {
		return name
	}
	if word, ok := termOf(lang, id); ok {
		return word
	}
	if kind == "country" {
		if word, err := countryName(lang, name); err == nil {
			return word
		}
	}
	return name
}

// termOf finds a term of a language. The name of a signal, with the key "signal." and its id, is defined with the signal or with the
// language.
func termOf(lang Lang, id string) (string, bool) {
	l := languages.Find(lang)
	if l == nil {
		return "", false
	}
	if signal, ok := strings.CutPrefix(id, "signal."); ok {
		if word, ok := signalPhrases[signal][string(lang)]; ok {
			return word, true
		}
		word, ok := l.Signals[signal]
		return word, ok
	}
	word, ok := l.Terms[id]
	return word, ok
}

// signalPhrases are the names from each signal's file, by its id and the code of the language.
var signalPhrases = func() map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, d := range signals.All() {
		all[d.ID] = d.Phrase
	}
	return all
}()

// ExchangeName returns the name of an exchange that readers know, by its code (ISO 10383). It returns the code of any other exchange.
func ExchangeName(code string) string {
	return cmp.Or(exchangeNames[code], code)
}

// WriteNumber writes a decimal text in a unit of a language. It returns the text itself in an unknown language or unit.
func WriteNumber(lang Lang, unit Unit, value string) string {
	text, err := format(lang, Datum{Value: value, Unit: unit})
	if err != nil {
		return value
	}
	return text
}

// WriteDate writes a day in a language; in an unknown one, as YYYY-MM-DD.
func WriteDate(lang Lang, day time.Time) string {
	l := languages.Find(lang)
	if l == nil {
		return day.Format(time.DateOnly)
	}
	return l.WriteDate(day)
}
