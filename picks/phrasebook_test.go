package picks

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/equity"
	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/signals"
)

var phrasebook = flag.String("phrasebook", "", "the file that gets every sentence in every language with extreme values, for reading")

// extremes are values that phrases meet at their edges.
var extremes = []string{"0", "1", "2", "-1", "-1.5", "0.0", "1000000"}

// factsOf are the facts as a phrase has them: the change of a central bank's rate is in basis points.
func factsOf(facts Data, key string) Data {
	if !strings.HasPrefix(key, "econ.") {
		return facts
	}
	facts = slices.Clone(facts)
	if def, ok := titled(key); ok {
		facts.setIndicator(def)
	}
	facts[slices.IndexFunc(facts, func(x Datum) bool { return x.ID == "change" })].Unit = locale.BasisPoint
	return facts
}

// indicatorOf is the indicator of a term.
func indicatorOf(term string) (Indicator, bool) {
	all := Indicators()
	i := slices.IndexFunc(all, func(def Indicator) bool { return "indicator."+def.ID == term })
	if i < 0 {
		return Indicator{}, false
	}
	return all[i], true
}

// titlePhrase is the phrase of the titles of an indicator whose figure is not compared with an earlier rate.
func titlePhrase(def Indicator) string {
	return EconomicEvent{Indicator: def, Surprise: math.NaN()}.title()
}

// titled is an indicator whose titles a phrase is for.
func titled(key string) (Indicator, bool) {
	for _, def := range Indicators() {
		if def.Frequency != "meeting" && titlePhrase(def) == key {
			return def, true
		}
	}
	return Indicator{}, false
}

// setIndicator gives the facts the name and the unit of an indicator.
func (d Data) setIndicator(def Indicator) {
	for i := range d {
		switch d[i].ID {
		case "indicator":
			d[i].Value = "indicator." + def.ID
		case "actual":
			d[i].Unit = def.Unit
		}
	}
}

// inRound are the facts as a phrase can have them in one of several rounds.
func inRound(facts Data, key string, round int) Data {
	facts = slices.Clone(facts)
	for i, x := range facts {
		if !numbered(x.Unit) {
			continue
		}
		if value, limited := phraseValue(key, x.ID, round); limited {
			facts[i].Value = value
		} else if value := extremes[round%len(extremes)]; x.Unit != locale.Count || value[0] != '-' && !strings.Contains(value, ".") {
			facts[i].Value = value
		}
		if x.Unit == locale.Millions && !strings.Contains(facts[i].Value, ".") { // amounts have one decimal
			facts[i].Value += ".0"
		}
	}
	return facts
}

// numbered reports whether a fact of a unit is a number.
func numbered(u locale.Unit) bool {
	return !slices.Contains([]locale.Unit{locale.Name, locale.Year, locale.Term, locale.Date, locale.Month}, u)
}

// isSentence reports whether a phrase is a sentence, and not a title, a heading or a label.
func isSentence(key string) bool {
	kind, _, _ := strings.Cut(key, ".")
	return !slices.Contains([]string{"head", "table", "label"}, kind) && !strings.HasSuffix(key, ".title") && !strings.HasPrefix(key, "econ.title")
}

// termsOf are the terms that a fact can be in a phrase: all that begin like one.
func termsOf(l *locale.Language, key, term string) []string {
	kind, _, _ := strings.Cut(term, ".")
	switch kind {
	case "country":
		return []string{"country.US", "country.IE", "country.CH", "country.SV", "country.NL", "country.GB"}
	case "signal":
		var all []string
		for _, d := range signals.All() {
			all = append(all, "signal."+d.ID)
		}
		return all
	case "indicator":
		var all []string
		for _, def := range Indicators() {
			if now, _ := indicatorOf(term); !strings.HasPrefix(key, "econ.title") || titlePhrase(def) == titlePhrase(now) {
				all = append(all, "indicator."+def.ID)
			}
		}
		return all
	case "basis": // of revenue: phrases name no other basis
		return []string{"basis.only", "basis.ordered", "basis.largest", "basis.net_of_interest", "basis.equal"}
	}
	var all []string
	for key := range l.Terms {
		if strings.HasPrefix(key, kind+".") {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return all
}

// withEachTerm writes a phrase with every term that it can name.
func withEachTerm(t *testing.T, facts Data, l *locale.Language, key string) []string {
	t.Helper()
	var written []string
	for _, id := range slices.Compact(placed(l.Phrases[key])) {
		d, _ := facts.Find(id)
		if d.Unit != locale.Term || strings.Contains(d.Value, "+") {
			continue
		}
		for _, term := range termsOf(l, key, d.Value) {
			with := slices.Clone(facts)
			with[slices.IndexFunc(with, func(x Datum) bool { return x.ID == id })].Value = term
			if def, ok := indicatorOf(term); ok {
				with.setIndicator(def)
			}
			s, err := with.write(l.Code, key)
			if err != nil {
				t.Errorf("%s in %s with %s: %v", key, l.Code, term, err)
			}
			written = append(written, s)
		}
	}
	return written
}

// Every phrase is a sentence with each extreme value, and none is written with a fact missing. make phrasebook prints the sentences.
func TestPhrasesHoldExtremeValues(t *testing.T) {
	t.Parallel()
	facts := everyFact()
	var book strings.Builder
	for _, l := range languages.All() {
		fmt.Fprintf(&book, "# %s\n", l.Name)
		for _, key := range slices.Sorted(maps.Keys(l.Phrases)) {
			names := slices.Compact(placed(l.Phrases[key]))
			facts := factsOf(facts, key)
			var written []string
			for round := range extremes {
				s, err := inRound(facts, key, round).write(l.Code, key)
				if err != nil {
					t.Errorf("%s in %s, round %d: %v", key, l.Code, round, err)
				}
				written = append(written, s)
			}
			written = append(written, withEachTerm(t, inRound(facts, key, 1), l, key)...)
			slices.Sort(written)
			written = slices.Compact(written)
			for _, s := range written {
				for _, fault := range languageFaults(l.Code, s) {
					t.Errorf("%s in %s: %s in %q", key, l.Code, fault, s)
				}
				if ends := strings.HasSuffix(s, ".") || strings.HasSuffix(s, "।"); ends != isSentence(key) {
					t.Errorf("%s in %s: a sentence ends in a full stop, and a title does not: %q", key, l.Code, s)
				}
			}
			fmt.Fprintf(&book, "\n%s\n", key)
			for _, s := range written {
				fmt.Fprintf(&book, "  %s\n", s)
			}
			for _, name := range names {
				without := slices.DeleteFunc(slices.Clone(facts), func(x Datum) bool { return x.ID == name })
				if s, err := without.write(l.Code, key); err == nil {
					t.Errorf("%s in %s is written without %s: %q", key, l.Code, name, s)
				}
			}
		}
		book.WriteString("\n")
	}
	if *phrasebook == "" {
		return
	}
	writeBook(t, *phrasebook, book.String())
	t.Logf("%d sentences are in %s", strings.Count(book.String(), "\n  "), *phrasebook)
}

// writeBook writes a book and the folder that it is in.
func writeBook(t *testing.T, path, book string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(book), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestALoneCompanyHasNoStanding(t *testing.T) {
	t.Parallel()
	summary := func(companies string) []string {
		return Brief{picked: true, Facts: Data{
			{ID: "rank", Value: "1", Unit: locale.Count}, {ID: "universe", Value: companies, Unit: locale.Count}, {ID: "pick_date", Value: "2026-11-20", Unit: locale.Date},
		}}.summary()
	}
	if got := summary("1"); slices.Contains(got, "why.best") {
		t.Errorf("the only company is told to be the best: %q", got)
	}
	if got := summary("2"); !slices.Contains(got, "why.best") {
		t.Errorf("the better of two companies has no standing: %q", got)
	}
}

func TestTheAmountThatAPositionCostHasNoSecondMinus(t *testing.T) {
	t.Parallel()
	facts := Data{{ID: "bottom", Value: "ACME", Unit: locale.Name}, {ID: "bottom_points", Value: "-0.13", Unit: locale.Points}}
	for lang, want := range map[Lang]string{
		English: "The largest detractor was ACME, costing 0.13 percentage points.", "es": "El valor que más restó fue ACME: 0,13 puntos porcentuales.",
	} {
		if got, err := facts.write(lang, "digest.bottom"); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", lang, got, err, want)
		}
	}
}

func TestAPhraseFollowsTheSignOfItsFigure(t *testing.T) {
	t.Parallel()
	amount := func(id, value string) Datum { return Datum{ID: id, Value: value, Unit: locale.Millions} }
	share := func(id, value string) Datum { return Datum{ID: id, Value: value, Unit: locale.Percent} }
	for _, c := range []struct {
		brief        Brief
		metric, side string
		want         string
	}{
		{Brief{Facts: Data{amount("provisions", "-3.2")}}, LowProvisions, "good", "low_provisions.release"},
		{Brief{Facts: Data{amount("provisions", "3.2")}}, LowProvisions, "good", "low_provisions.good"},
		{Brief{Facts: Data{share("debt_ratio", "0.0")}}, LowDebt, "good", "low_debt.none"},
		{Brief{Facts: Data{share("debt_ratio", "0.1")}}, LowDebt, "good", "low_debt.good"},
		{Brief{Facts: Data{share(GrossProfitability, "-4.0")}}, GrossProfitability, "bad", "gross_profitability.loss"},
		{Brief{Facts: Data{share(ReturnOnAssets, "-0.4")}}, ReturnOnAssets, "bad", "return_on_assets.loss"},
		{Brief{Facts: Data{share(EquityToAssets, "-0.4")}}, EquityToAssets, "bad", "equity_to_assets.loss"},
		{Brief{loses: true, Facts: Data{amount("net_income", "-2.0"), amount("cash_flow", "-2.0")}}, CashBacking, "bad", "cash_backing.burn.near"},
		{Brief{loses: true, Facts: Data{amount("net_income", "-2.0"), amount("cash_flow", "-2.1")}}, CashBacking, "bad", "cash_backing.burn"},
	} {
		if got := c.brief.metricPhrase(c.metric, c.side); got != c.want {
			t.Errorf("%s with %v is told by %s, want %s", c.metric, c.brief.Facts, got, c.want)
		}
	}
	income := func(revenue string) []string {
		d := Data{amount("net_income", "-5.0"), amount("revenue", revenue), {ID: "income_to", Value: "2026-09-30", Unit: locale.Date}}
		return Brief{Facts: d}.business()
	}
	if got := income("0.0"); !slices.Equal(got, []string{"what.loss_only"}) {
		t.Errorf("without revenue: %q", got)
	}
	if got := income("0.1"); !slices.Equal(got, []string{"what.loss"}) {
		t.Errorf("with revenue: %q", got)
	}
}

func TestAShareThatStayedNeitherGainedNorLost(t *testing.T) {
	t.Parallel()
	brief := func(share, sector string) Brief {
		d := Data{{ID: "momentum", Value: share, Unit: locale.Percent}, {ID: "sector_momentum", Value: sector, Unit: locale.Percent}}
		d.date("momentum_from", day("2025-05-15"))
		d.date("momentum_to", day("2026-05-15"))
		return Brief{Facts: d}
	}
	for _, c := range []struct{ share, sector, side, want string }{
		{"0.0", "-4.0", "good", "From May 15, 2025, to May 15, 2026, the stock returned 0.0%, dividends included; its sector returned -4.0% on average."},
		{"-4.0", "0.0", "bad", "The stock lagged: from May 15, 2025, to May 15, 2026, it returned -4.0%, while its sector returned 0.0% on average."},
		{"4.0", "0.1", "good", "From May 15, 2025, to May 15, 2026, the stock gained 4.0%, dividends included; its sector gained 0.1% on average."},
	} {
		b := brief(c.share, c.sector)
		if got, err := b.Facts.paragraph(English, b.points([]string{PriceMomentum}, c.side)...); err != nil || got != c.want {
			t.Errorf("%q, %v, want %q", got, err, c.want)
		}
	}
	if got := brief("4.0", "4.0").points([]string{PriceMomentum}, "bad"); len(got) != 0 {
		t.Errorf("a share that gained as much as its sector is told by %q", got)
	}
}

func TestCasesOfOtherWeightsAreToldByTheirNumber(t *testing.T) {
	t.Parallel()
	for same, want := range map[string]string{
		"0": "another company would have been the pick in all 8 cases.",
		"3": "this company would still have been the pick in 3 of 8 cases.",
		"8": "this company would still have been the pick in all 8 cases.",
	} {
		b := Brief{Facts: Data{{ID: "weights_same", Value: same, Unit: locale.Count}, {ID: "weights_tried", Value: "8", Unit: locale.Count}}}
		if got, err := b.Facts.paragraph(English, b.listed(b.weightsPhrase())...); err != nil || !strings.HasSuffix(got, want) {
			t.Errorf("%q, %v, want %q at the end", got, err, want)
		}
	}
}

func TestALossIsNoAdvantageOverLargerLosses(t *testing.T) {
	t.Parallel()
	company := func(cik int, yield float64) Score {
		return Score{CIK: equity.CIK(cik), Metrics: []Metric{{ID: CashYield, Applies: true, Value: yield}}}
	}
	all := []Score{company(1, -0.01), company(2, -0.2), company(3, -0.3)}
	if all[0].supports(all[0].Metrics[0], all) {
		t.Error("a negative free cash flow is told in a company's favor")
	}
	all[0].Metrics[0].Value = 0.01
	if !all[0].supports(all[0].Metrics[0], all) {
		t.Error("the only positive free cash flow is not told in a company's favor")
	}
}

func TestASignalThatWasAtItsUsualLevelWasNeitherAboveNorBelowIt(t *testing.T) {
	t.Parallel()
	for before, want := range map[float64]string{
		0.04: "the previous one was at that level.", -0.04: "the previous one was at that level.", 0.06: "the previous one was 0.1 standard deviations above it.",
	} {
		events := SignalEvents(exxon, []SignalReading{{"crack-spread-321", before, 2.2, day("2026-05-01")}})
		if len(events) != 1 {
			t.Fatalf("%d events", len(events))
		}
		if text, err := events[0].Text(English); err != nil || !strings.Contains(text.Body, want) {
			t.Errorf("after %v: %q, %v, want %q", before, text.Body, err, want)
		}
	}
}

func TestACompanyWithoutProfitOrLossIsToldNeither(t *testing.T) {
	t.Parallel()
	facts := Data{
		{ID: "net_income", Value: "0.0", Unit: locale.Millions},
		{ID: "revenue", Value: "12.0", Unit: locale.Millions},
		{ID: "net_margin", Value: "0.0", Unit: locale.Percent},
		{ID: "income_to", Value: "2026-09-30", Unit: locale.Date},
	}
	if got := (Brief{Facts: facts}).business(); len(got) != 0 {
		t.Errorf("a result of zero is told by %q", got)
	}
}
