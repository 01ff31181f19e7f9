// Package en is English.
package en

import (
	"golang.org/x/text/language"

	"tidemark/internal/locale"
)

// Language is English.
var Language = locale.Language{
	Code: "en", Tag: language.English, Name: "English", EnglishName: "English",
	Units: map[locale.Unit]string{
		locale.Percent: "N%", locale.Points: "N percentage {one:point|other:points}", locale.BasisPoint: "N basis {one:point|other:points}", locale.Dollars: "$N", locale.Millions: "$N million", locale.Billions: "$N billion",
		locale.Times: "N times", locale.Count: "N", locale.Thousands: "N thousand", locale.Deviations: "N standard {one:deviation|other:deviations}", locale.Plain: "N", locale.Barrels: "N million barrels",
	},
	Scaled: map[locale.Unit][]locale.Scale{
		locale.Billions:  {{From: 1000, Shift: -3, Around: "$N trillion"}},
		locale.Thousands: {{From: 1000, Shift: -3, Around: "N million"}, {From: 0, Shift: 3, Around: "N"}},
	},
	Months: [12]string{
		"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
	},
	DateOrder: "M D, Y", MonthOrder: "M Y",
	Ranges:  [3]string{"M D to E, Y", "M D to N E, Y", "M D, Y, to N E, Z"},
	Decimal: ".", Group: ",",
	Sizes: map[string]locale.Unit{
		"%": locale.Percent, "per cent": locale.Percent, "percent": locale.Percent, "percentage points": locale.Points, "percentage point": locale.Points,
		"basis points": locale.BasisPoint, "basis point": locale.BasisPoint, "billion": locale.Billions, "bn": locale.Billions, "million": locale.Millions, "mn": locale.Millions, "thousand": locale.Thousands,
		"trillion": "10^12", "tn": "10^12",
	},
	Articles: []string{"the "},
	And:      "and",
	Phrases:  phrases, Terms: terms, Words: locale.Together(words, keyWords, portfolio, signalPage, dataPages, verifyPage, housePages, docsPage, facts, items),
	Annotations: annotations,
}
