// Package languages lists the languages that texts and pages are written in. A new one is its folder below internal/locale and its line here.
package languages

import (
	"slices"
	"strings"

	"tidemark/internal/locale"
	"tidemark/internal/locale/en"
	"tidemark/internal/locale/es"
	"tidemark/internal/locale/hi"
	"tidemark/internal/locale/pt"
)

// list has the languages in the order in which they are named.
var list = []*locale.Language{
	&es.Language,
	&en.Language,
	&pt.Language,
	&hi.Language,
}

// All lists the languages.
func All() []*locale.Language { return slices.Clone(list) }

// Codes lists the codes of the languages.
func Codes() []locale.Lang {
	codes := make([]locale.Lang, len(list))
	for i, l := range list {
		codes[i] = l.Code
	}
	return codes
}

// Find returns the language of a code, and nil where there is none.
func Find(code locale.Lang) *locale.Language {
	if i := slices.IndexFunc(list, func(l *locale.Language) bool { return l.Code == code }); i >= 0 {
		return list[i]
	}
	return nil
}

// Or returns the language of a code, and English where there is none.
func Or(code locale.Lang) *locale.Language {
	if l := Find(code); l != nil {
		return l
	}
	return &en.Language
}

// Listed writes the codes as a sentence has them: "es, en, pt or hi".
func Listed(joined string) string {
	codes := Codes()
	names := make([]string, len(codes))
	for i, c := range codes {
		names[i] = string(c)
	}
	return enumerate(names, joined)
}

// Named writes the names of the languages in English: "Spanish, English, Portuguese or Hindi".
func Named(joined string) string {
	names := make([]string, len(list))
	for i, l := range list {
		names[i] = l.EnglishName
	}
	return enumerate(names, joined)
}

func enumerate(words []string, joined string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + joined + " " + words[last]
}

// Choose returns the text in a language and that language. What was written before the program knew the language is there in English.
func Choose[T any](texts map[locale.Lang]T, want locale.Lang) (T, locale.Lang) {
	if t, ok := texts[want]; ok {
		return t, want
	}
	return texts[locale.English], locale.English
}

// Of lists the languages that something is written in.
func Of[T any](texts map[locale.Lang]T) []locale.Lang {
	codes := []locale.Lang{}
	for _, l := range list {
		if _, ok := texts[l.Code]; ok {
			codes = append(codes, l.Code)
		}
	}
	return codes
}
