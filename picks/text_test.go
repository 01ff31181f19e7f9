package picks

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/concepts"
	"tidemark/internal/equity"
	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"

	"tidemark/signals"
)

var braces = regexp.MustCompile(`\{([^}]*)\}`)

// placed are the facts that a phrase names, in any order, each as often as it names them.
func placed(phrase string) []string {
	var ids []string
	for _, m := range braces.FindAllStringSubmatch(phrase, -1) {
		id, options, _ := strings.Cut(m[1], "|")
		if !strings.Contains(options, ":") { // a word for a plural form or a sign names no number
			ids = append(ids, id)
		}
		if other, ok := strings.CutPrefix(options, ".."); ok {
			ids = append(ids, other)
		}
	}
	slices.Sort(ids)
	return ids
}

func TestTheLanguagesSayTheSame(t *testing.T) {
	t.Parallel()
	for _, l := range languages.All() {
		lang := l.Code
		for key, phrase := range english.Phrases {
			other, ok := l.Phrases[key]
			if !ok {
				t.Errorf("%s has no phrase %s", lang, key)
				continue
			}
			// A phrase may repeat a date in one language and say "it" in another, but never names another fact.
			if diff := cmp.Diff(slices.Compact(placed(phrase)), slices.Compact(placed(other))); diff != "" {
				t.Errorf("%s in %s names other facts (-en +%s):\n%s", key, lang, lang, diff)
			}
		}
		for what, pair := range map[string][2]map[string]string{"phrase": {english.Phrases, l.Phrases}, "term": {english.Terms, l.Terms}} {
			if diff := cmp.Diff(slices.Sorted(maps.Keys(pair[0])), slices.Sorted(maps.Keys(pair[1]))); diff != "" {
				t.Errorf("the %ss of %s (-en +%s):\n%s", what, lang, lang, diff)
			}
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(english.Units)), slices.Sorted(maps.Keys(l.Units))); diff != "" {
			t.Errorf("the units of %s (-en +%s):\n%s", lang, lang, diff)
		}
	}
}

func TestNoPhraseHasANumberOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, l := range languages.All() {
		lang := l.Code
		for key, phrase := range l.Phrases {
			if plain := braces.ReplaceAllString(phrase, ""); strings.ContainsFunc(plain, unicode.IsNumber) || strings.ContainsAny(plain, "{}") {
				t.Errorf("%s in %s: %s", key, lang, phrase)
			}
			if strings.Contains(phrase, "  ") || strings.TrimSpace(phrase) != phrase {
				t.Errorf("%s in %s has blanks too many: %q", key, lang, phrase)
			}
		}
		for key, term := range l.Terms {
			if strings.ContainsFunc(term, unicode.IsNumber) || term == "" {
				t.Errorf("term %s in %s: %q", key, lang, term)
			}
		}
		for unit, around := range l.Units {
			if strings.Count(around, "N") != 1 && unit != locale.Dollars || strings.ContainsFunc(around, unicode.IsNumber) {
				t.Errorf("unit %q in %s: %q", unit, lang, around)
			}
		}
	}
}

func TestEveryWordIsThereThatTheCodeAsksFor(t *testing.T) {
	t.Parallel()
	var keys []string
	for _, i := range industries {
		keys = append(keys, "industry."+i.id, "sector."+string(i.sector))
	}
	keys = append(keys, "industry.other", "sector."+string(OtherSector))
	ids := map[string]bool{}
	for _, d := range signals.All() {
		ids[d.ID] = true
		for _, l := range languages.All() {
			own, of := d.Phrase[string(l.Code)], l.Signals[d.ID]
			if (own == "") == (of == "") {
				t.Errorf("%s has to be named in %s once, and is by %q in its own file and %q in the language's", d.ID, l.Code, own, of)
			}
		}
		for code := range d.Phrase {
			if languages.Find(Lang(code)) == nil {
				t.Errorf("%s has a phrase in %s, in which nobody writes", d.ID, code)
			}
		}
	}
	for _, l := range languages.All() {
		for id := range l.Signals {
			if !ids[id] {
				t.Errorf("%s names the signal %s, which is not there", l.Code, id)
			}
		}
	}
	for _, d := range indicators {
		keys = append(keys, "indicator."+d.ID)
		for _, s := range d.Sectors {
			keys = append(keys, "sector."+string(s))
		}
		for _, way := range []string{"above", "below"} {
			if _, ok := english.Phrases["econ.meaning."+d.ID+"."+way]; !ok {
				t.Errorf("no phrase for what %s %s means", d.ID, way)
			}
		}
	}
	for _, why := range []concepts.Reason{
		concepts.Only, concepts.Ordered, concepts.Largest, concepts.NetOfInterest, concepts.Equal, concepts.Sum, concepts.Remainder,
		concepts.Total, concepts.Reconciled,
	} {
		keys = append(keys, "basis."+string(why))
	}
	for _, c := range closedTerms {
		keys = append(keys, c.term)
	}
	for _, k := range keys {
		if _, ok := english.Terms[k]; !ok {
			t.Errorf("no term %s", k)
		}
	}
	for _, id := range tableRows {
		if _, ok := english.Phrases["label."+id]; !ok {
			t.Errorf("no label for %s", id)
		}
	}
	for _, g := range metricGroups {
		for _, side := range []string{"good", "bad"} {
			if _, ok := english.Phrases[g.id+"."+side]; !ok {
				t.Errorf("no phrase %s.%s", g.id, side)
			}
		}
	}
}

// unitOf is the unit that the fact of an id has in texts. The figures of indicators have several: these are percentages.
func unitOf(id string) locale.Unit {
	for unit, ids := range map[locale.Unit][]string{
		locale.Millions: {"revenue", "net_income", "market_value", "free_cash_flow", "cash_flow", "funds", "tangible_equity", "provisions", "usual_income"},
		locale.Dollars:  {"price", "amount", "amount_before"},
		locale.Times:    {"pe", "peers_pe", "range_low", "range_median", "range_high", "price_to_tangible", "size"},
		locale.Percent: {
			"quality_ahead", "value_ahead", "momentum_ahead", "risk_ahead", "net_margin", "gross_margin", "revenue_growth", "quarter_growth", "earnings_yield",
			"cash_yield", "book_yield", "operating_yield", "gross_profitability", "return_on_equity", "return_on_assets", "equity_to_assets", "debt_ratio",
			"momentum", "sector_momentum", "volatility", "funds_yield", "provision_ratio", "combined_ratio", "return", "actual", "expected", "previous",
			"revised", "lower", "portfolio", "benchmark", "change",
		},
		locale.Points:     {"distance", "excess", "top_points", "bottom_points"},
		locale.Deviations: {"signal_z", "z", "z_before"},
		locale.Year:       {"year"},
	} {
		if slices.Contains(ids, id) {
			return unit
		}
	}
	return locale.Count
}

// everyFact is one datum of every id that phrases name.
func everyFact() Data {
	d := Data{{ID: "to", Value: "2026-11-24", Unit: locale.Date}}
	for _, phrase := range english.Phrases {
		for _, m := range braces.FindAllStringSubmatch(phrase, -1) {
			id, options, _ := strings.Cut(m[1], "|")
			if d.Has(id) {
				continue
			}
			x := Datum{ID: id, Value: "7", Unit: unitOf(id)}
			switch {
			case slices.Contains([]string{"pick_date", "income_to", "year_end", "quarter_to", "momentum_from", "momentum_to", "annual_filed", "latest_filed", "next_report", "next_report_before", "range_from", "date", "week", "from", "to"}, id):
				x.Value, x.Unit = "2026-11-20", locale.Date
			case id == "period":
				x.Value, x.Unit = "2026-10", locale.Month
			case id == "year":
				x.Value = "2026"
			case slices.Contains([]string{"signal", "indicator", "closed", "sector", "industry", "country", "quarter", "sectors", "revenue_basis", "debt_basis", "shares_basis"}, id):
				x.Value, x.Unit = map[string]string{
					"signal": "signal.hormuz-transit", "indicator": "indicator.cpi", "closed": "closed.merger", "sector": "sector.Energy",
					"industry": "industry.gold", "country": "country.IE", "quarter": "quarter.3", "sectors": "sector.Trade+sector.Services+sector.Industry",
					"revenue_basis": "basis.largest", "debt_basis": "basis.sum", "shares_basis": "basis.only",
				}[id], locale.Term
			case slices.Contains([]string{"name", "ticker", "exchange", "annual_form", "latest_form", "form", "items", "top", "bottom", "tickers", "removed_tickers", "revenue_tag", "debt_tag", "shares_tag", "peers"}, id):
				x.Value, x.Unit = strings.ToUpper(id), locale.Name
			case options == "plus" || options == "abs":
				x.Value = "-7.5"
			}
			d = append(d, x)
		}
	}
	return d
}

func TestEveryPhraseCanBeWritten(t *testing.T) {
	t.Parallel()
	facts := everyFact()
	for _, l := range languages.All() {
		lang := l.Code
		for key := range l.Phrases {
			s, err := facts.write(lang, key)
			if err != nil || strings.ContainsAny(s, "{}|") && !strings.Contains(key, "table") {
				t.Errorf("%s in %s: %q, %v", key, lang, s, err)
			}
		}
	}
	if _, err := facts.write("xx", "why.pick"); err == nil {
		t.Error("a language that does not exist writes")
	}
	if _, err := (Data{}).write(English, "why.pick"); err == nil {
		t.Error("a phrase without its facts is written")
	}
}

func TestHowNumbersLookInEachLanguage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value          string
		unit           Unit
		es, en, pt, hi string
	}{
		{"4450.1", locale.Billions, "4,4501 billones de dólares", "$4.4501 trillion", "US$\u00a04,4501 trilhões", "4,450.1 अरब डॉलर"},
		{"1.4", locale.Billions, "1.400 millones de dólares", "$1.4 billion", "US$\u00a01,4 bilhão", "1.4 अरब डॉलर"},
		{"421.1", locale.Barrels, "421,1 millones de barriles", "421.1 million barrels", "421,1 milhões de barris", "42.11 करोड़ बैरल"},
		{"-3.4", locale.Barrels, "-3,4 millones de barriles", "-3.4 million barrels", "-3,4 milhões de barris", "-34 लाख बैरल"},
		{"1", locale.Points, "1 punto porcentual", "1 percentage point", "1 ponto percentual", "1 प्रतिशत अंक"},
		{"0.25", locale.Points, "0,25 puntos porcentuales", "0.25 percentage points", "0,25 ponto percentual", "0.25 प्रतिशत अंक"},
		{"-61.2", locale.Millions, "-61,2 millones de dólares", "-$61.2 million", "-US$\u00a061,2 milhões", "-6.12 करोड़ डॉलर"},
		{"182.50", locale.Dollars, "182,50 dólares", "$182.50", "US$\u00a0182,50", "182.50 डॉलर"},
		{"-6.2", locale.Percent, "-6,2\u00a0%", "-6.2%", "-6,2%", "-6.2%"},
		{"38.2", locale.Times, "38,2 veces", "38.2 times", "38,2 vezes", "38.2 गुना"},
		{"12345678", locale.Count, "12.345.678", "12,345,678", "12.345.678", "1,23,45,678"},
		{"-92", locale.Thousands, "-92.000", "-92,000", "-92 mil", "-92 हज़ार"},
		{"248", locale.Thousands, "248.000", "248,000", "248 mil", "2.48 लाख"},
		{"7430", locale.Thousands, "7,430 millones", "7.430 million", "7,430 milhões", "74.30 लाख"},
		// An amount without a fraction has the precision of the amount next to it.
		{"0.0", locale.Millions, "0,0 millones de dólares", "$0.0 million", "US$\u00a00,0 milhão", "0 डॉलर"},
		{"0.0", locale.Barrels, "0,0 millones de barriles", "0.0 million barrels", "0,0 milhão de barris", "0 बैरल"},
		{"50.0", locale.Millions, "50,0 millones de dólares", "$50.0 million", "US$\u00a050,0 milhões", "5.00 करोड़ डॉलर"},
		{"27.0", locale.Billions, "27.000 millones de dólares", "$27.0 billion", "US$\u00a027,0 bilhões", "27.0 अरब डॉलर"},
		{"1.0", locale.Barrels, "1,0 millones de barriles", "1.0 million barrels", "1,0 milhão de barris", "10 लाख बैरल"},
		{"1.00", locale.Dollars, "1,00 dólares", "$1.00", "US$\u00a01,00", "1.00 डॉलर"},
		{"1.0", locale.Times, "1 vez", "1 times", "1 vez", "1 गुना"},
		{"1.5", locale.Times, "1,5 veces", "1.5 times", "1,5 vez", "1.5 गुना"},
		{"1.0", locale.Points, "1 punto porcentual", "1 percentage point", "1 ponto percentual", "1 प्रतिशत अंक"},
		{"2.0", locale.Deviations, "2 desviaciones típicas", "2 standard deviations", "2 desvios-padrão", "2 मानक विचलन"},
		{"2026", locale.Year, "2026", "2026", "2026", "2026"},
		{"2026-11-20", locale.Date, "20 de noviembre de 2026", "November 20, 2026", "20 de novembro de 2026", "20 नवंबर 2026"},
		{"2026-11-01", locale.Date, "1 de noviembre de 2026", "November 1, 2026", "1º de novembro de 2026", "1 नवंबर 2026"},
		{"2026-10", locale.Month, "octubre de 2026", "October 2026", "outubro de 2026", "अक्टूबर 2026"},
		{"10-K", locale.Name, "10-K", "10-K", "10-K", "10-K"},
		{"sector.Energy", locale.Term, "energía", "energy", "energia", "ऊर्जा"},
		{"sector.Energy+sector.Industry", locale.Term, "energía e industria", "energy and industrials", "energia e indústria", "ऊर्जा और उद्योग"},
		{"country.IE", locale.Term, "Irlanda", "Ireland", "Irlanda", "आयरलैंड"},
	} {
		for lang, want := range map[Lang]string{"es": c.es, English: c.en, "pt": c.pt, "hi": c.hi} {
			if got, err := format(lang, Datum{Value: c.value, Unit: c.unit}); err != nil || got != want {
				t.Errorf("%s %s in %s: %q (%v), want %q", c.value, c.unit, lang, got, err, want)
			}
		}
	}
}

func TestPlurals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lang Lang
		n    string
		want string
	}{
		{English, "0", "picks were"},
		{English, "1", "pick was"},
		{English, "2", "picks were"},
		{"es", "1", "selección"},
		{"es", "0", "selecciones"},
		{"pt", "0", "seleção"},
		{"pt", "1", "seleção"},
		{"pt", "2", "seleções"},
		{"hi", "0", "चयन घोषित हुआ"},
		{"hi", "1", "चयन घोषित हुआ"},
		{"hi", "5", "चयन घोषित हुए"},
	} {
		d := Data{{ID: "picks", Value: c.n, Unit: locale.Count}, {ID: "tickers", Value: "A", Unit: locale.Name}}
		if got, err := d.write(c.lang, "digest.picks"); err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s picks in %s: %q (%v), want %q in it", c.n, c.lang, got, err, c.want)
		}
	}
}

var numbersIn = regexp.MustCompile(`\d[\d.,]*`)

func TestResearchNamesOnlyFactsAndTheSameInAllLanguages(t *testing.T) {
	t.Parallel()
	risks, leads := map[string]int{}, map[Group]int{}
	for seed := range uint64(3) {
		m := synthMarket(20+seed, 40, pickDay)
		odd := m.Candidates[0]
		odd.Company.Name, odd.Company.CIK, odd.Company.Listings = "3M 2020 Holdings 10-K", 9, []equity.Listing{{Ticker: "3M", Exchange: "XNAS"}}
		m.Candidates = append(m.Candidates, odd)
		r := Rank(m, DefaultRules())
		for i, s := range r.Scores {
			of := r
			if i%8 > 0 { // each as if it were the pick, but for some
				of.Pick = &s
			}
			b := NewBrief(of, s, Background{})
			risks[b.risk]++
			leads[b.lead]++
			if i%4 > 0 && s.Ticker != "3M" {
				continue // enough to read
			}
			texts := map[Lang]map[string]string{}
			for _, lang := range Langs() {
				x, err := WriteResearch(b, lang)
				if err != nil {
					t.Fatal(err)
				}
				texts[lang] = map[string]string{"summary": x.SummaryWhy, "business": x.WhatItDoes, "why": x.WhyChosen, "risk": x.MainRisk, "full": x.FullResearch}
				again, err := WriteResearch(b, lang)
				if err != nil || again != x {
					t.Errorf("%s in %s differs the second time", s.Ticker, lang)
				}
			}
			for part := range texts[English] {
				same := map[Lang]string{}
				for lang, x := range texts {
					same[lang] = x[part]
				}
				wantSameNumbers(t, s.Ticker+" "+part, b.Facts, same)
			}
		}
	}
	t.Logf("main risks %v, leading groups %v", risks, leads)
	if len(risks) < 5 || len(leads) < 4 {
		t.Errorf("the texts hardly vary with the data: risks %v, leads %v", risks, leads)
	}
}

// A company that was not picked may be the next one: its card is the same wherever it stands, and says nothing of it.
func TestACardOfACompanyThatWasNotPickedTellsNothingOfItsRank(t *testing.T) {
	t.Parallel()
	r := Rank(synthMarket(1, 30, pickDay), DefaultRules())
	r.Pick = nil
	for _, s := range r.Scores {
		b := NewBrief(r, s, Background{})
		for _, d := range b.Facts {
			if d.ID == "rank" || strings.HasSuffix(d.ID, "_ahead") {
				t.Errorf("%s: the fact %s, %s", s.Ticker, d.ID, d.Value)
			}
		}
		elsewhere := s
		elsewhere.Rank, elsewhere.Total = len(r.Scores)+1-s.Rank, -s.Total
		elsewhere.Groups = map[Group]float64{Quality: -s.Groups[Quality], Value: -s.Groups[Value], Momentum: -s.Groups[Momentum], Risk: -s.Groups[Risk]}
		for _, lang := range Langs() {
			x, err1 := WriteResearch(b, lang)
			y, err2 := WriteResearch(NewBrief(r, elsewhere, Background{}), lang)
			if err1 != nil || err2 != nil || x != y {
				t.Fatalf("%s in %s: %v, %v, at another rank:\n%s", s.Ticker, lang, err1, err2, cmp.Diff(x, y))
			}
		}
	}
	// The pick's own card tells it.
	r = Rank(synthMarket(1, 30, pickDay), DefaultRules())
	if b := NewBrief(r, *r.Pick, Background{}); !b.Facts.Has("rank", "quality_ahead", "value_ahead", "momentum_ahead", "risk_ahead") {
		t.Error("the pick's card does not tell its rank")
	}
}

func TestFactsPointToTheirFilings(t *testing.T) {
	t.Parallel()
	r := Rank(synthMarket(1, 30, pickDay), DefaultRules())
	s := *r.Pick
	accession := s.Income.From[0].Accession
	b := NewBrief(r, s, Background{Filings: []equity.Filing{{Accession: accession, URL: "https://www.sec.gov/filing", AcceptedAt: day("2026-02-20")}}})
	seen := map[string]bool{}
	for _, d := range b.Facts {
		if seen[d.ID] {
			t.Errorf("two facts have the id %s", d.ID)
		}
		seen[d.ID] = true
		if d.Source >= len(b.Sources) {
			t.Errorf("%s points to source %d of %d", d.ID, d.Source, len(b.Sources))
		}
	}
	income, _ := b.Facts.Find("net_income")
	if income.Source < 0 || b.Sources[income.Source].URL != "https://www.sec.gov/filing" || b.Sources[income.Source].Title != "Form 10-K, 2026-02-20" {
		t.Errorf("net income is from %d of %v", income.Source, b.Sources)
	}
	if price, _ := b.Facts.Find("price"); price.Value != string(s.Price) || price.Source != -1 {
		t.Errorf("the price %+v is not the hashed price, %s", price, s.Price)
	}
}

func TestTextFollowsTheData(t *testing.T) {
	t.Parallel()
	r := Rank(synthMarket(1, 30, pickDay), DefaultRules())
	base := *r.Pick
	change := func(alter func(*Score)) string {
		s := base
		s.Metrics = slices.Clone(base.Metrics)
		s.Groups = maps.Clone(base.Groups)
		alter(&s)
		x, err := WriteResearch(NewBrief(r, s, Background{}), English)
		if err != nil {
			t.Fatal(err)
		}
		return x.FullResearch
	}
	loss := func(s *Score) { s.Income.Value = -5e7; s.metric(EarningsYield).Value = -0.01 }
	for _, c := range []struct {
		name, want string
		alter      func(*Score)
	}{
		{"a loss is a loss and the main risk", "The company is losing money: $50.0 million", loss},
		{"and there is no multiple of it", "There are no earnings to value it on", func(s *Score) { loss(s); s.metric(EarningsYield).Z = -2 }},
		{"a calm share leads", "Its main strength is low volatility: the share price moved less", func(s *Score) {
			s.Groups = map[Group]float64{Risk: 3, Quality: 0.1, Value: 0.1, Momentum: 0.1}
		}},
		{"a trend leads", "Its main strength is momentum", func(s *Score) {
			s.Groups = map[Group]float64{Momentum: 2, Quality: 0.1, Value: 0.1, Risk: 0}
		}},
		{"the weak side is named", "Its weak point is the valuation", func(s *Score) {
			s.Groups = map[Group]float64{Momentum: 2, Quality: 0.1, Value: -1, Risk: 0}
		}},
		{"debt is the risk", "Debt is the main risk", func(s *Score) { s.Debt.Value = 0.9 * s.Assets.Value; s.Income.Value = 5e8 }},
		{"a high price is the risk", "The valuation is the main risk. At 100 times", func(s *Score) { s.metric(EarningsYield).Value = 0.01 }},
	} {
		if got := change(c.alter); !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q in\n%s", c.name, c.want, got)
		}
	}
}
