package picks

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tidemark/internal/locale"
)

var checkFacts = Data{
	{ID: "growth", Value: "51.0", Unit: locale.Percent, AsOf: day("2026-10-31")},
	{ID: "loss", Value: "-6.2", Unit: locale.Percent},
	{ID: "cap", Value: "4450.1", Unit: locale.Billions},
	{ID: "spend", Value: "850.0", Unit: locale.Millions},
	{ID: "price", Value: "182.50", Unit: locale.Dollars},
	{ID: "shares", Value: "12345678", Unit: locale.Count},
	{ID: "jobs", Value: "-92", Unit: locale.Thousands},
	{ID: "pe", Value: "38.2", Unit: locale.Times},
	{ID: "date", Value: "2026-11-20", Unit: locale.Date},
	{ID: "month", Value: "2026-10", Unit: locale.Month},
	{ID: "form", Value: "10-K", Unit: locale.Name},
	{ID: "name", Value: "3M Co", Unit: locale.Name},
	{ID: "items", Value: "5.02, 9.01", Unit: locale.Name},
	{ID: "sector", Value: "sector.Energy", Unit: locale.Term},
}

func TestCheckNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		lang Lang
		text string
		ok   bool
	}{
		{"no number", English, "Nothing to see here.", true},
		{"a percentage", English, "Revenue grew 51.0% this year.", true},
		{"without its last zero", English, "Revenue grew 51%.", true},
		{"in words", English, "Revenue grew 51 percent, or 51.0 per cent.", true},
		{"rounded differently", English, "Revenue grew 51.2%.", false},
		{"a percentage that is no percentage", English, "It sells at 38.2% of something.", false},
		{"a multiple", English, "It sells at 38.2 times earnings.", true},
		{"a fall told in words", English, "The share fell 6.2%.", true},
		{"a fall with its sign", English, "The share returned -6.2%.", true},
		{"with a true minus", English, "The share returned −6.2%.", true},
		{"a fall told as a rise", English, "The share returned +6.2%.", false},
		{"a rise told as a fall", English, "Revenue changed by -51.0%.", false},
		{"a hyphen is no minus", English, "A post-51.0% world.", true},
		{"an amount", English, "It is worth $4,450.1 billion.", true},
		{"the same amount in a wrong size", English, "It is worth $4,450.1 million.", false},
		{"an amount in the size of another fact", English, "It spent $850.0 billion.", false},
		{"the amount in another word for its size", English, "It is worth $4.4501 trillion.", true},
		{"the amount as a language tells it", "es", "Vale 4,4501 billones de dólares.", true},
		{"in crore", "hi", "ख़र्च 85 करोड़ डॉलर रहा।", true},
		{"in lakh, ten times too much", "hi", "ख़र्च 85,000 लाख डॉलर रहा।", false},
		{"a price told as an amount", English, "It closed at $182.50 million.", false},
		{"a size that no fact has", English, "It is worth $4,450.1 trillion.", false},
		{"a size that begins like another", "es", "Vale 4.450,1 billones de dólares.", false},
		{"a price", English, "It closed at $182.50.", true},
		{"a price at the end of a sentence", English, "It closed at 182.5.", true},
		{"another price", English, "It closed at $182.51.", false},
		{"a negative amount with its currency", English, "-$92 thousand", true},
		{"a whole number grouped", English, "It has 12,345,678 shares.", true},
		{"not grouped", English, "It has 12345678 shares.", true},
		{"grouped wrongly", English, "It has 1,2345,678 shares.", false},
		{"a European decimal in English", English, "Revenue grew 51,0%.", false},
		{"a date", English, "On November 20, 2026 it was picked.", true},
		{"a date in ISO form", English, "On 2026-11-20 it was picked.", true},
		{"the date a fact is about", English, "As of October 31, 2026.", true},
		{"another date", English, "On November 21, 2026 it was picked.", false},
		{"a year of a month that is a fact", English, "In October 2026.", true},
		{"another year", English, "In 2019 things were different.", false},
		{"a form", English, "Form 10-K was filed.", true},
		{"a part of a form", English, "There were 10 of them.", false},
		{"another form", English, "Form 10-Q was filed.", false},
		{"a name with a number", English, "3M Co makes tape.", true},
		{"items", English, "Filed under the items 5.02, 9.01.", true},
		{"a link", English, "See https://www.sec.gov/Archives/99/000123.", true},
		{"a quarter", English, "In Q3 it did well.", false},
		{"a fraction sign", English, "About ½ of it.", false},
		{"a circled digit", English, "Reason ③.", false},
		{"a range of which one end is no fact", English, "It lies between 38.2 and 40.", false},

		{"Spanish decimals", "es", "Los ingresos crecieron un 51,0 %.", true},
		{"with a hard space", "es", "Los ingresos crecieron un 51,0\u00a0%.", true},
		{"in Spanish words", "es", "Los ingresos crecieron un 51 por ciento.", true},
		{"Spanish billions", "es", "Vale 4.450,1 mil millones de dólares.", true},
		{"Spanish millions for billions", "es", "Vale 4.450,1 millones de dólares.", false},
		{"Spanish grouping", "es", "Tiene 12.345.678 acciones.", true},
		{"grouped with spaces", "es", "Tiene 12\u00a0345\u00a0678 acciones.", true},
		{"a Spanish date", "es", "El 20 de noviembre de 2026 se eligió.", true},
		{"a wrong Spanish date", "es", "El 20 de octubre de 2026 se eligió.", false},

		{"Portuguese amounts", "pt", "Vale US$\u00a04.450,1 bilhões e gastou US$ 850,0 milhões.", true},
		{"a Portuguese loss", "pt", "A ação rendeu -6,2%.", true},
		{"a Portuguese date", "pt", "Em 20 de novembro de 2026.", true},

		{"Hindi grouping", "hi", "इसके 1,23,45,678 शेयर हैं।", true},
		{"Western grouping in Hindi", "hi", "इसके 12,345,678 शेयर हैं।", true},
		{"Devanagari digits", "hi", "आमदनी ५१.० प्रतिशत बढ़ी।", true},
		{"wrong Devanagari digits", "hi", "आमदनी ५२ प्रतिशत बढ़ी।", false},
		{"Hindi billions", "hi", "बाज़ार मूल्य 4,450.1 अरब डॉलर है।", true},
		{"crores are another size", "hi", "बाज़ार मूल्य 4,450.1 करोड़ डॉलर है।", false},
		{"a Hindi date", "hi", "20 नवंबर 2026 को चुना गया।", true},
		{"a number before a danda", "hi", "भाव 182.50।", true},
		{"digits that nobody reads", "hi", "भाव ௧௮௨.", false},
	} {
		if err := CheckNumbers(c.text, c.lang, checkFacts); (err == nil) != c.ok {
			t.Errorf("%s: %q gives %v", c.name, c.text, err)
		}
	}
	if err := CheckNumbers("x", "xx", nil); err == nil {
		t.Error("a language that does not exist is checked")
	}
}

func FuzzCheckNumbers(f *testing.F) {
	f.Add("Revenue grew 51.0% to $4,450.1 billion on November 20, 2026.", "en")
	f.Add("आमदनी ५१.० प्रतिशत, 1,23,45,678", "hi")
	f.Add("12.345.678,9 -6,2 % ½ Ⅳ", "es")
	f.Fuzz(func(t *testing.T, text, lang string) {
		err := CheckNumbers(text, Lang(lang), checkFacts)
		if err == nil && strings.Contains(text, "77777") && !strings.Contains(text, "http") {
			t.Errorf("%q passes", text)
		}
	})
}

// author writes what it is told.
type author struct {
	texts Texts
	err   error
}

func (a author) Write(context.Context, Brief, Lang) (Texts, error) { return a.texts, a.err }

func TestAnotherWriterMayChooseWordsNotNumbers(t *testing.T) {
	t.Parallel()
	r := Rank(synthMarket(1, 30, pickDay), DefaultRules())
	b := NewBrief(r, *r.Pick, Background{})
	own, err := WriteResearch(b, English)
	if err != nil {
		t.Fatal(err)
	}
	price, _ := b.Facts.Find("price")
	honest := Texts{Lang: English, SummaryWhy: "A fine company at $" + price.Value + ".", WhatItDoes: "It works.", WhyChosen: "It is good.", MainRisk: "All.", FullResearch: "# Read"}
	lying := honest
	lying.MainRisk = "It may fall by 99.9%."
	silent := honest
	silent.MainRisk = " "
	foreign := honest
	foreign.Lang = "hi"
	for _, c := range []struct {
		name   string
		writer Writer
		want   Texts
		why    string
	}{
		{"without another writer the rules write", nil, own, ""},
		{"an honest text is taken", author{texts: honest}, honest, ""},
		{"an invented number is refused", author{texts: lying}, own, "99.9"},
		{"an empty text is refused", author{texts: silent}, own, "empty"},
		{"a text in another language is refused", author{texts: foreign}, own, `"hi"`},
		{"a writer that fails is done without", author{err: errors.New("out of words")}, own, "out of words"},
	} {
		got, refused, err := Compose(t.Context(), c.writer, b, English)
		if err != nil || got != c.want || (refused == nil) != (c.why == "") {
			t.Errorf("%s: refused %v, failed %v", c.name, refused, err)
		}
		if refused != nil && !strings.Contains(refused.Error(), c.why) {
			t.Errorf("%s: refused because of %v, want %s", c.name, refused, c.why)
		}
	}
	if _, _, err := Compose(t.Context(), nil, b, "xx"); err == nil {
		t.Error("a language that does not exist is written")
	}
}
