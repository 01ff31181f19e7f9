package picks

import (
	"strings"
	"time"
)

// WriteTerm writes a term in a language, for example "sector.Technology" or "country.US". One that is not known is written as what stands
// behind its dot.
func WriteTerm(lang Lang, id string) string {
	kind, name, _ := strings.Cut(id, ".")
	v := voices[lang]
	if v == nil {
		return name
	}
	if word, ok := v.terms[id]; ok {
		return word
	}
	if kind == "country" {
		if word, err := countryName(lang, name); err == nil {
			return word
		}
	}
	return name
}

// WriteDate writes a day in a language; in one that is not known, as YYYY-MM-DD.
func WriteDate(lang Lang, day time.Time) string {
	v := voices[lang]
	if v == nil {
		return day.Format(time.DateOnly)
	}
	return v.writeDate(day, v.date)
}
