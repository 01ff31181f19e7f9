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
		locale.Millions: "US$\u00a0N {one:milhão|other:milhões}", locale.Billions: "US$\u00a0N {one:bilhão|other:bilhões}", locale.Times: "N {one:vez|other:vezes}", locale.Count: "N", locale.Thousands: "N mil",
		locale.Deviations: "N {one:desvio-padrão|other:desvios-padrão}", locale.Plain: "N", locale.Barrels: "N {one:milhão|other:milhões} de barris",
	},
	Scaled: map[locale.Unit][]locale.Scale{
		locale.Billions:  {{From: 1000, Shift: -3, Around: "US$\u00a0N {one:trilhão|other:trilhões}"}},
		locale.Thousands: {{From: 1000, Shift: -3, Around: "N {one:milhão|other:milhões}"}},
	},
	Months: [12]string{
		"janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro",
	},
	DateOrder: "D de M de Y", MonthOrder: "M de Y", FirstDay: "1º",
	Ranges: [3]string{"D a E de M de Y", "D de M a E de N de Y", "D de M de Y a E de N de Z"},
	Contractions: map[string]string{
		"a o ": "ao ", "a os ": "aos ", "a a ": "à ", "a as ": "às ", "de o ": "do ", "de a ": "da ", "de os ": "dos ", "de as ": "das ",
		"em o ": "no ", "em a ": "na ", "em os ": "nos ", "em as ": "nas ", "por o ": "pelo ", "por a ": "pela ",
	},
	Decimal: ",", Group: ".",
	Articles: []string{"o ", "a ", "os ", "as "},
	Sizes: map[string]locale.Unit{
		"%": locale.Percent, "por cento": locale.Percent, "pontos percentuais": locale.Points, "ponto percentual": locale.Points, "pontos-base": locale.BasisPoint, "ponto-base": locale.BasisPoint,
		"bilhões": locale.Billions, "bilhão": locale.Billions, "milhões": locale.Millions, "milhão": locale.Millions, "mil": locale.Thousands, "trilhões": "10^12",
		"trilhão": "10^12",
	},
	And:     "e",
	Phrases: phrases, Terms: terms, Words: locale.Together(words, keyWords, portfolio, signalPage, dataPages, verifyPage, housePages, docsPage, problemsPage, facts, items), SignalTexts: signalTexts,
	Annotations: annotations,
}
