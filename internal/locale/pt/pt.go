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
		locale.Percent: "N%", locale.Points: "N pontos percentuais", locale.BasisPoint: "N pontos-base", locale.Dollars: "US$\u00a0N",
		locale.Millions: "US$\u00a0N milhões", locale.Billions: "US$\u00a0N bilhões", locale.Times: "N vezes", locale.Count: "N", locale.Thousands: "N mil",
		locale.Deviations: "N desvios-padrão", locale.Plain: "N", locale.Barrels: "N milhões de barris",
	},
	Months: [12]string{
		"janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro",
	},
	DateOrder: "D de M de Y", MonthOrder: "M de Y",
	Decimal: ",", Group: ".",
	Sizes: map[string]locale.Unit{
		"%": locale.Percent, "por cento": locale.Percent, "pontos percentuais": locale.Points, "ponto percentual": locale.Points, "pontos-base": locale.BasisPoint,
		"bilhões": locale.Billions, "bilhão": locale.Billions, "milhões": locale.Millions, "milhão": locale.Millions, "mil": locale.Thousands, "trilhões": "10^12",
		"trilhão": "10^12",
	},
	And:     "e",
	Phrases: phrases, Terms: terms, Words: words,
}
