// Package hi is Hindi.
package hi

import (
	"golang.org/x/text/language"

	"tidemark/internal/locale"
)

// Language is Hindi.
var Language = locale.Language{
	Code: "hi", Tag: language.Hindi, Name: "हिन्दी", EnglishName: "Hindi",
	Units: map[locale.Unit]string{
		locale.Percent: "N%", locale.Points: "N प्रतिशत अंक", locale.BasisPoint: "N आधार अंक", locale.Dollars: "N डॉलर", locale.Millions: "N मिलियन डॉलर", locale.Billions: "N अरब डॉलर",
		locale.Times: "N गुना", locale.Count: "N", locale.Thousands: "N हज़ार", locale.Deviations: "N मानक विचलन", locale.Plain: "N", locale.Barrels: "N मिलियन बैरल",
	},
	Scaled: map[locale.Unit][]locale.Scale{
		locale.Millions: {
			{From: 10, Shift: -1, Around: "N करोड़ डॉलर"},
			{From: 0.1, Shift: 1, Around: "N लाख डॉलर"},
			{From: 0, Shift: 6, Around: "N डॉलर"},
		},
		locale.Barrels: {
			{From: 10, Shift: -1, Around: "N करोड़ बैरल"},
			{From: 0.1, Shift: 1, Around: "N लाख बैरल"},
			{From: 0, Shift: 6, Around: "N बैरल"},
		},
		locale.Thousands: {{From: 100, Shift: -2, Around: "N लाख"}},
	},
	Months: [12]string{
		"जनवरी", "फ़रवरी", "मार्च", "अप्रैल", "मई", "जून", "जुलाई", "अगस्त", "सितंबर", "अक्टूबर", "नवंबर", "दिसंबर",
	},
	DateOrder: "D M Y", MonthOrder: "M Y",
	Ranges:  [3]string{"D से E M Y", "D M से E N Y", "D M Y से E N Z"},
	Decimal: ".", Group: ",",
	Sizes: map[string]locale.Unit{
		"%": locale.Percent, "प्रतिशत": locale.Percent, "फ़ीसदी": locale.Percent, "फीसदी": locale.Percent, "प्रतिशत अंक": locale.Points, "आधार अंक": locale.BasisPoint,
		"अरब": locale.Billions, "मिलियन": locale.Millions, "हज़ार": locale.Thousands, "हजार": locale.Thousands, "लाख": "10^5", "करोड़": "10^7", "खरब": "10^11",
	},
	And:     "और",
	Phrases: phrases, Terms: terms, Words: locale.Together(words, keyWords, portfolio, signalPage, dataPages, verifyPage, housePages, docsPage, problemsPage, facts, items), SignalTexts: signalTexts,
	Annotations: annotations,
}
