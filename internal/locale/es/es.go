// Package es is Spanish.
package es

import (
	"strings"

	"golang.org/x/text/language"

	"tidemark/internal/locale"
)

// Language is Spanish.
var Language = locale.Language{
	Code: "es", Tag: language.Spanish, Name: "Español", EnglishName: "Spanish",
	Units: map[locale.Unit]string{
		locale.Percent: "N\u00a0%", locale.Points: "N {one:punto porcentual|other:puntos porcentuales}", locale.BasisPoint: "N {one:punto básico|other:puntos básicos}", locale.Dollars: "N {one:dólar|other:dólares}",
		locale.Millions: "N {one:millón|other:millones} de dólares", locale.Billions: "N mil millones de dólares", locale.Times: "N {one:vez|other:veces}", locale.Count: "N", locale.Thousands: "N mil",
		locale.Deviations: "N {one:desviación típica|other:desviaciones típicas}", locale.Plain: "N", locale.Barrels: "N {one:millón|other:millones} de barriles",
	},
	Scaled: map[locale.Unit][]locale.Scale{
		locale.Billions: {
			{From: 1000, Shift: -3, Around: "N {one:billón|other:billones} de dólares"},
			{From: 0, Shift: 3, Around: "N {one:millón|other:millones} de dólares"},
		},
		locale.Thousands: {{From: 1000, Shift: -3, Around: "N {one:millón|other:millones}"}, {From: 0, Shift: 3, Around: "N"}},
	},
	Months: [12]string{
		"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre",
	},
	DateOrder: "D de M de Y", MonthOrder: "M de Y",
	Ranges:         [3]string{"D al E de M de Y", "D de M al E de N de Y", "D de M de Y al E de N de Z"},
	Contractions:   map[string]string{"a el ": "al ", "de el ": "del ", "en NYSE": "en la NYSE", "en Nasdaq": "en el Nasdaq"},
	PluralDecimals: true, Decimal: ",", Group: ".",
	Sizes: map[string]locale.Unit{
		"%": locale.Percent, "por ciento": locale.Percent, "puntos porcentuales": locale.Points, "punto porcentual": locale.Points, "puntos básicos": locale.BasisPoint, "punto básico": locale.BasisPoint,
		"mil millones": locale.Billions, "millones": locale.Millions, "millón": locale.Millions, "mil": locale.Thousands, "billones": "10^12", "billón": "10^12",
	},
	Articles: []string{"el ", "la ", "los ", "las "},
	And:      "y",
	JoinedBy: and,
	Phrases:  phrases, Terms: terms, Words: locale.Together(words, keyWords, portfolio, signalPage, dataPages, verifyPage, housePages, docsPage, problemsPage, facts, items), SignalTexts: signalTexts,
	Annotations: annotations,
}

// and returns the Spanish "and", which is "e" before a word that begins with its sound.
func and(next string) string {
	if strings.HasPrefix(next, "i") || strings.HasPrefix(next, "hi") {
		return "e"
	}
	return "y"
}
