// Package pt is Portuguese.
package pt

import (
	"golang.org/x/text/language"

	"tidemark/internal/locale"
)

// Language is Portuguese.
var Language = locale.Language{
	Code: "pt", Tag: language.Portuguese, Name: "Português", EnglishName: "Portuguese",
	Units: map[locale.Unit]string{
		locale.Percent: "N%", locale.Points: "N {one:ponto percentual|other:pontos percentuais}", locale.BasisPoint: "N {one:ponto-base|other:pontos-base}", locale.Dollars: "US$\u00a0N",
		locale.Millions: "US$\u00a0N {one:milhão|other:milhões}", locale.Billions: "US$\u00a0N {one:bilhão|other:bilhões}", locale.Times: "N vezes", locale.Count: "N", locale.Thousands: "N mil",
		locale.Deviations: "N {one:desvio-padrão|other:desvios-padrão}", locale.Plain: "N", locale.Barrels: "N {one:milhão|other:milhões} de barris",
	},
	Scaled: map[locale.Unit][]locale.Scale{
		locale.Billions: {{From: 1000, Shift: -3, Around: "US$\u00a0N {one:trilhão|other:trilhões}"}},
	},
	Months: [12]string{
		"janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro",
	},
	DateOrder: "D de M de Y", MonthOrder: "M de Y",
	Decimal: ",", Group: ".",
	Articles: []string{"o ", "a ", "os ", "as "},
	Sizes: map[string]locale.Unit{
		"%": locale.Percent, "por cento": locale.Percent, "pontos percentuais": locale.Points, "ponto percentual": locale.Points, "pontos-base": locale.BasisPoint, "ponto-base": locale.BasisPoint,
		"bilhões": locale.Billions, "bilhão": locale.Billions, "milhões": locale.Millions, "milhão": locale.Millions, "mil": locale.Thousands, "trilhões": "10^12",
		"trilhão": "10^12",
	},
	And:     "e",
	Phrases: phrases, Terms: terms, Words: words,
}
