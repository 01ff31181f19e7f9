package picks

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/locale/languages"
)

func TestDigestOfAWeek(t *testing.T) {
	t.Parallel()
	in := stormyMarket(1, 130)
	p := Simulate(in, DefaultPortfolioRules())
	input := DigestInput{Portfolio: p, Signals: []SignalState{{"hormuz-transit", 0.4, true}, {"crack-spread-321", -1.8, true}, {"lng-arbitrage", 9, false}}}
	for _, pick := range in.Picks {
		input.Picks = append(input.Picks, DigestPick{pick.Seq, in.Companies[pick.CIK].Ticker(pick.Date), pick.Date})
	}
	for _, s := range p.Snapshots {
		input.Events = append(input.Events, ClosedEvents(p, in.Companies, s.Date)...)
	}
	input.Economic = Surprises(indicator("unemployment"), []Print{
		{Period: day("2024-10-01"), At: time.Date(2024, 11, 1, 12, 30, 0, 0, time.UTC), Value: 4.1, Previous: 4.1, Revised: 4.1},
		{Period: day("2024-11-01"), At: time.Date(2024, 12, 6, 13, 30, 0, 0, time.UTC), Value: 4.2, Previous: 4.1, Revised: 4.1},
	})
	for _, c := range []struct {
		name, day, week, from, to string
	}{
		{"a plain week", "2024-12-04", "2024-W49", "2024-12-02", "2024-12-06"},
		{"asked on its Sunday", "2024-12-08", "2024-W49", "2024-12-02", "2024-12-06"},
		{"over New Year", "2024-12-31", "2025-W01", "2024-12-30", "2025-01-03"},
	} {
		g := NewDigest(input, day(c.day))
		if g.Week != c.week || g.From != day(c.from) || g.To != day(c.to) {
			t.Errorf("%s: %s from %s to %s", c.name, g.Week, g.From, g.To)
		}
		before, _ := p.Day(g.From.AddDate(0, 0, -1))
		after, _ := p.Day(g.To)
		want := 100 * ((1+after.ReturnPct/100)/(1+before.ReturnPct/100) - 1)
		if math.Abs(g.Delta.ReturnPct-want) > 1e-9 {
			t.Errorf("%s: return %v, want %v", c.name, g.Delta.ReturnPct, want)
		}
		total := 0.0
		for _, q := range p.Positions {
			total += q.contribution(p.index(g.From.AddDate(0, 0, -1)), p.index(g.To))
		}
		if total /= 1 + before.ReturnPct/100; math.Abs(total-g.Delta.ReturnPct) > 1e-9 {
			t.Errorf("%s: the positions added %v to a return of %v", c.name, total, g.Delta.ReturnPct)
		}
		for _, e := range g.Events {
			if e.Severity < Notable || e.OccurredAt.Before(g.From) || e.OccurredAt.After(g.From.AddDate(0, 0, 7)) {
				t.Errorf("%s: %+v", c.name, e)
			}
		}
		for _, pick := range g.Picks {
			if pick.Date.Before(g.From) || pick.Date.After(g.To) {
				t.Errorf("%s: pick of %s", c.name, pick.Date)
			}
		}
		added := 0
		for _, q := range p.Positions {
			if !q.EntryDate.Before(g.From) && !q.EntryDate.After(g.To) {
				added++
			}
		}
		if len(g.Delta.Added) != added || len(g.Delta.Top) == 0 || len(g.Delta.Bottom) == 0 {
			t.Errorf("%s: added %v, top %v, bottom %v", c.name, g.Delta.Added, g.Delta.Top, g.Delta.Bottom)
		}
		if len(g.Signals) != 2 || g.Signals[0].ID != "crack-spread-321" {
			t.Errorf("%s: signals %v", c.name, g.Signals)
		}
		texts := map[Lang]string{}
		for _, lang := range Langs() {
			x, err := g.Text(lang)
			if err != nil {
				t.Fatal(err)
			}
			texts[lang] = x.Body
			// The page of events has the same word.
			word := languages.Find(lang).Words[fmt.Sprintf("severity %d", DigestSeverity)]
			if len(g.Events) > 0 && !strings.Contains(x.Body, word) {
				t.Errorf("%s in %s does not say %q: %s", c.name, lang, word, x.Body)
			}
			if err := CheckNumbers(x.Title, lang, g.Facts()); err != nil {
				t.Errorf("%s in %s: %v", c.name, lang, err)
			}
		}
		wantSameNumbers(t, c.name, g.Facts(), texts)
		t.Log(texts[English])
	}
	december := NewDigest(input, day("2024-12-04"))
	if len(december.Economic) != 1 || december.Economic[0].ID != "us-unemployment-2024-11" {
		t.Errorf("economic events %v", december.Economic)
	}
	if x, _ := december.Text(English); !strings.Contains(x.Body, "The macro figure of the week: the US unemployment rate, 4.2%.") {
		t.Error(x.Body)
	}
}

func TestDigestOfAWeekWithNothingInIt(t *testing.T) {
	t.Parallel()
	g := NewDigest(DigestInput{}, day("2024-12-04"))
	if !math.IsNaN(g.Delta.ReturnPct) || g.Delta.Added != nil {
		t.Errorf("%+v", g.Delta)
	}
	x, err := g.Text(English)
	want := DigestText{English, "The week of December 2 to 6, 2024", "No picks were announced.\n\n*This is editorial information, not personalized investment advice.*\n"}
	if diff := cmp.Diff(want, x); err != nil || diff != "" {
		t.Errorf("(-want +got):\n%s%v", diff, err)
	}
}

func TestADigestNamesNoSignalAtItsUsualLevel(t *testing.T) {
	t.Parallel()
	for z, want := range map[float64]bool{0.04: false, -0.04: false, 0.06: true} {
		g := NewDigest(DigestInput{Signals: []SignalState{{"hormuz-transit", z, true}}}, day("2026-11-20"))
		text, err := g.Text(English)
		if told := strings.Contains(text.Body, "furthest from its usual level"); err != nil || told != want {
			t.Errorf("z-score %v: told %v, %v, want %v:\n%s", z, told, err, want, text.Body)
		}
	}
}

func TestTheFirstWeekCountsFromTheInception(t *testing.T) {
	t.Parallel()
	p := Portfolio{Inception: day("2024-12-04"), Snapshots: []Snapshot{
		{Date: day("2024-12-04")}, {Date: day("2024-12-05"), ReturnPct: 1, BenchmarkReturnPct: 0.5}, {Date: day("2024-12-06"), ReturnPct: 2, BenchmarkReturnPct: 3},
	}}
	g := NewDigest(DigestInput{Portfolio: p}, day("2024-12-05"))
	if math.Abs(g.Delta.ReturnPct-2) > 1e-12 || math.Abs(g.Delta.ExcessReturnPct+1) > 1e-12 {
		t.Errorf("%+v", g.Delta)
	}
	x, err := g.Text(English)
	if err != nil || !strings.Contains(x.Body, "The model portfolio returned +2.0% against +3.0% for the benchmark: 1 percentage point behind.") {
		t.Errorf("%s, %v", x.Body, err)
	}
}

func TestTheTitleOfADigestNamesMonthAndYearOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, en, es, pt, hi string }{
		{
			"2026-11-16", "2026-11-20", "The week of November 16 to 20, 2026", "La semana del 16 al 20 de noviembre de 2026",
			"A semana de 16 a 20 de novembro de 2026", "16 से 20 नवंबर 2026 का सप्ताह",
		},
		{
			"2026-09-28", "2026-10-02", "The week of September 28 to October 2, 2026", "La semana del 28 de septiembre al 2 de octubre de 2026",
			"A semana de 28 de setembro a 2 de outubro de 2026", "28 सितंबर से 2 अक्टूबर 2026 का सप्ताह",
		},
		{
			"2025-12-29", "2026-01-02", "The week of December 29, 2025, to January 2, 2026", "La semana del 29 de diciembre de 2025 al 2 de enero de 2026",
			"A semana de 29 de dezembro de 2025 a 2 de janeiro de 2026", "29 दिसंबर 2025 से 2 जनवरी 2026 का सप्ताह",
		},
	} {
		g := Digest{From: day(c.from), To: day(c.to)}
		for lang, want := range map[Lang]string{English: c.en, "es": c.es, "pt": c.pt, "hi": c.hi} {
			x, err := g.Text(lang)
			if err != nil || x.Title != want {
				t.Errorf("%s in %s: %q, %v, want %q", c.from, lang, x.Title, err, want)
			}
			if err := CheckNumbers(x.Title, lang, g.Facts()); err != nil {
				t.Error(err)
			}
			other := Digest{From: day(c.from), To: day(c.to).AddDate(0, 0, 1)}
			if CheckNumbers(x.Title, lang, other.Facts()) == nil {
				t.Errorf("%q passes for a week that ends a day later", x.Title)
			}
		}
	}
}

func TestAWeekLevelWithTheBenchmarkIsNotAhead(t *testing.T) {
	t.Parallel()
	g := Digest{From: day("2026-11-16"), To: day("2026-11-20"), Delta: PortfolioDelta{ReturnPct: -1.2, BenchmarkReturnPct: -1.2}}
	for lang, want := range map[Lang]string{
		English: "The model portfolio returned -1.2%, the same as the benchmark.", "es": "La cartera modelo obtuvo una rentabilidad del -1,2\u00a0%, la misma que su índice de referencia.",
		"pt": "A carteira modelo teve retorno de -1,2%, o mesmo do índice de referência.", "hi": "मॉडल पोर्टफ़ोलियो का प्रतिफल -1.2% रहा, जो सूचकांक के बराबर है।",
	} {
		if x, err := g.Text(lang); err != nil || !strings.HasPrefix(x.Body, want) {
			t.Errorf("%s: %s, %v", lang, x.Body, err)
		}
	}
}
