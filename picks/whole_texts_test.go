package picks

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tidemark/internal/locale"
)

// wholeText is a text as readers get it, with its facts.
type wholeText struct {
	what  string
	facts Data
	write func(lang Lang) (string, error)
}

// wholeTexts are articles about the companies of a made-up market, events of every kind, every indicator at its edges, and digests.
func wholeTexts() []wholeText {
	var all []wholeText
	market := Rank(synthMarket(1, 40, pickDay), DefaultRules())
	for i, s := range market.Scores {
		if i%4 != 0 {
			continue
		}
		of := market
		of.Pick = &s
		b := NewBrief(of, s, Background{})
		all = append(all, wholeText{"research " + s.Ticker, b.Facts, func(lang Lang) (string, error) {
			x, err := WriteResearch(b, lang)
			return x.FullResearch, err
		}})
	}
	for _, def := range Indicators() {
		for _, surprise := range []float64{0, 1, -1, 40, -40, math.NaN()} {
			all = append(all, economicText(def, surprise*def.Step))
		}
	}
	in := stormyMarket(1, 130)
	p := Simulate(in, DefaultPortfolioRules())
	for _, date := range []string{"2024-12-04", "2024-12-31", "2025-01-15", "2025-01-30"} {
		g := NewDigest(DigestInput{Portfolio: p, Signals: []SignalState{{"hormuz-transit", -2.4, true}}}, day(date))
		all = append(all, wholeText{"digest " + g.Week, g.Facts(), func(lang Lang) (string, error) {
			x, err := g.Text(lang)
			return x.Title + "\n" + x.Body, err
		}})
	}
	for _, s := range p.Snapshots {
		for _, e := range ClosedEvents(p, in.Companies, s.Date) {
			all = append(all, wholeText{"event " + e.ID, e.Facts, func(lang Lang) (string, error) {
				x, err := e.Text(lang)
				return x.Title + "\n" + x.Body, err
			}})
		}
	}
	return all
}

// economicText is a print of an indicator that differs from what was expected by an amount.
func economicText(def Indicator, surprise float64) wholeText {
	period := time.Date(2026, time.October, 1, 0, 0, 0, 0, time.UTC)
	e := EconomicEvent{
		ID: def.ID, Indicator: def, Expected: 10 * def.Step, Surprise: surprise, Z: surprise / def.Step / 20,
		Print: Print{Period: period, At: period.AddDate(0, 1, 10), Value: 10*def.Step + surprise, Previous: -3 * def.Step, Revised: -4 * def.Step},
	}
	if def.Reading == ReadLevel { // such a figure is expected to stay as it was, and is not negative
		e.Expected = 60 * def.Step
		e.Print.Value, e.Print.Previous, e.Print.Revised = e.Expected+surprise, e.Expected, 59*def.Step
	}
	if math.IsNaN(surprise) {
		e.Print.Value, e.Print.Previous, e.Expected, e.Z = 7*def.Step, surprise, surprise, surprise
	}
	if def.ID == fomc {
		e.Lower, e.For, e.Against = e.Print.Value-def.Step, 11, 1
	}
	return wholeText{fmt.Sprintf("%s, surprise %g", def.ID, surprise), e.Facts(), func(lang Lang) (string, error) {
		x, err := e.Text(lang)
		return x.Title + "\n" + x.Analysis, err
	}}
}

// Whole texts hold the rules that single phrases hold, also where sentences meet. make phrasebook appends the texts to its book.
func TestWholeTextsHoldTheRulesOfLanguage(t *testing.T) {
	t.Parallel()
	var book strings.Builder
	for _, x := range wholeTexts() {
		for _, lang := range Langs() {
			text, err := x.write(lang)
			if err != nil {
				t.Errorf("%s in %s: %v", x.what, lang, err)
			}
			fmt.Fprintf(&book, "\n## %s in %s\n\n%s\n", x.what, lang, text)
			for line := range strings.SplitSeq(text, "\n") {
				for _, fault := range languageFaults(locale.Lang(lang), withoutNames(line, x.facts)) {
					t.Errorf("%s in %s: %s in %q", x.what, lang, fault, line)
				}
			}
		}
	}
	if *phrasebook != "" {
		writeBook(t, *phrasebook+".texts.md", book.String())
	}
}
