// Package languages lists the languages of texts and pages. A new language needs a folder below internal/locale and a line here.
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

// list has the languages in display order.
var list = []*locale.Language{
	&es.Language,
	&en.Language,
	&pt.Language,
	&hi.Language,
}

// All returns the languages.
func All() []*locale.Language { return slices.Clone(list) }

// Codes returns the codes of the languages.
func Codes() []locale.Lang {
	codes := make([]locale.Lang, len(list))
	for i, l := range list {
		codes[i] = l.Code
	}
	return codes
}

// Find returns the language of a code, nil if the code is unknown.
func Find(code locale.Lang) *locale.Language {
	if i := slices.IndexFunc(list, func(l *locale.Language) bool { return l.Code == code }); i >= 0 {
		return list[i]
	}
	return nil
}

// Or returns the language of a code, or English if the code is unknown.
func Or(code locale.Lang) *locale.Language {
	if l := Find(code); l != nil {
		return l
	}
	return &en.Language
}

// Listed joins the codes for a sentence: "es, en, pt or hi".
func Listed(joined string) string { return enumerate(texts(), joined) }

// Series joins the codes with commas: "es, en, pt, hi".
func Series() string { return strings.Join(texts(), ", ") }

func texts() []string {
	codes := make([]string, len(list))
	for i, l := range list {
		codes[i] = string(l.Code)
	}
	return codes
}

// Named joins the English names of the languages: "Spanish, English, Portuguese or Hindi".
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

// Choose returns the text in the wanted language, or else in English, and the language of the text. A text that is older than the program's
// support for the language exists in English.
func Choose[T any](texts map[locale.Lang]T, want locale.Lang) (T, locale.Lang) {
	if t, ok := texts[want]; ok {
		return t, want
	}
	return texts[locale.English], locale.English
}

// Of returns the codes of the languages in texts.
func Of[T any](texts map[locale.Lang]T) []locale.Lang {
	codes := []locale.Lang{}
	for _, l := range list {
		if _, ok := texts[l.Code]; ok {
			codes = append(codes, l.Code)
		}
	}
	return codes
}
