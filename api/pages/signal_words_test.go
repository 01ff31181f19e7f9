package pages

import (
	"html"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidemark/api/view"
	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/internal/postgres"
	"tidemark/picks"
	"tidemark/signals"
)

func snapshotOf(value, baseline float64) view.SignalSnapshot {
	at := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	return view.SignalSnapshot{Value: &value, BaselineValue: finite(baseline), ObservedAt: &at}
}

// The expected texts are written by hand, with the terms of each country's press. 190.1 bushels of 56 pounds an acre are 11.93 tonnes a hectare.
func TestAFindingIsToldInEachLanguage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		id              string
		value, baseline float64
		want            map[picks.Lang]string
	}{
		{"hormuz-transit", 112, 85.5, map[picks.Lang]string{
			"en": "Hormuz: 112 ships a day, 31% above normal for mid-November",
			"es": "Ormuz: 112 buques al día, un 31\u00a0% por encima de lo normal para mediados de noviembre",
			"pt": "Ormuz: 112 navios por dia, 31% acima do normal para meados de novembro",
			"hi": "होर्मुज़: 112 जहाज़ प्रतिदिन, नवंबर के मध्य के सामान्य स्तर से 31% ज़्यादा",
		}},
		{"hormuz-transit", 0.6, 85.5, map[picks.Lang]string{
			"en": "Hormuz: 1 ship a day, 99% below normal for mid-November",
			"es": "Ormuz: 1 buque al día, un 99\u00a0% por debajo de lo normal para mediados de noviembre",
			"pt": "Ormuz: 1 navio por dia, 99% abaixo do normal para meados de novembro",
			"hi": "होर्मुज़: 1 जहाज़ प्रतिदिन, नवंबर के मध्य के सामान्य स्तर से 99% कम",
		}},
		{"crack-spread-321", -0.36, 12.5, map[picks.Lang]string{
			"en": "Crack spread: −$0.36 a barrel, $12.86 below normal for mid-November",
			"es": "Margen de refino: −0,36 dólares por barril, 12,86 dólares por debajo de lo normal para mediados de noviembre",
			"pt": "Margem de refino: −US$\u00a00,36 por barril, US$\u00a012,86 abaixo do normal para meados de novembro",
			"hi": "रिफ़ाइनिंग मार्जिन: −0.36 डॉलर प्रति बैरल, नवंबर के मध्य के सामान्य स्तर से 12.86 डॉलर कम",
		}},
		{"eia-weekly-petroleum", 421100, 421100, map[picks.Lang]string{
			"en": "US crude oil stocks: 421.1 million barrels, at normal for mid-November",
			"es": "Crudo en EE.\u00a0UU.: 421,1 millones de barriles, en lo normal para mediados de noviembre",
			"pt": "Petróleo nos EUA: 421,1 milhões de barris, no nível normal para meados de novembro",
			"hi": "अमेरिका में कच्चे तेल का भंडार: 42.11 करोड़ बैरल, नवंबर के मध्य के सामान्य स्तर पर",
		}},
		{"iowa-corn-yield", 190.1, 200.1, map[picks.Lang]string{
			"en": "Iowa corn: 190.1 bushels an acre, 5% below its trend",
			"es": "Maíz en Iowa: 11,93 toneladas por hectárea, un 5\u00a0% por debajo de su tendencia",
			"pt": "Milho em Iowa: 11,93 toneladas por hectare, 5% abaixo da sua tendência",
			"hi": "आयोवा का मक्का: 11.93 टन प्रति हेक्टेयर, अपने रुझान से 5% कम",
		}},
		{"tropomi-no2-economic", 100.4, math.NaN(), map[picks.Lang]string{
			"en": "NO2 over industry: index 100.4", "es": "NO2 sobre la industria: índice 100,4", "pt": "NO2 sobre a indústria: índice 100,4", "hi": "उद्योगों के ऊपर NO2: सूचकांक 100.4",
		}},
	}
	for _, tt := range tests {
		d, ok := signals.ByID(tt.id)
		if !ok {
			t.Fatalf("unknown signal %s", tt.id)
		}
		for lang, want := range tt.want {
			if got := (localizer{Lang: lang}).finding(d, snapshotOf(tt.value, tt.baseline)).String(); got != want {
				t.Errorf("%s in %s:\n got %q\nwant %q", tt.id, lang, got, want)
			}
		}
	}
	d, _ := signals.ByID("hormuz-transit")
	for _, l := range languages.All() {
		if got := (localizer{Lang: l.Code}).finding(d, view.SignalSnapshot{}).String(); got != "" {
			t.Errorf("%s: a signal without a value is told as %q", l.Code, got)
		}
	}
}

func TestEverySignalHasItsTextsInTheLanguagesOfTheCatalog(t *testing.T) {
	t.Parallel()
	for _, lang := range []picks.Lang{"es", "pt", "hi"} {
		for _, d := range signals.All() {
			texts, _ := localizer{Lang: lang}.texts(d)
			_, folder := languages.Or(lang).SignalTexts[d.ID]
			if _, file := d.Texts[string(lang)]; folder == file {
				t.Errorf("the texts of %s in %s must be in one place: in the language's folder (%v) or in the signal's file (%v)", d.ID, lang, folder, file)
			}
			for what, text := range map[string]string{
				"Short": texts.Short, "Figure": texts.Figure, "Normal": texts.Normal, "At": texts.At, "Baseline": texts.Baseline, "Interval": texts.Interval,
				"Truth": texts.Truth, "Lead": texts.Lead, "License": texts.License,
			} {
				if text == "" {
					t.Errorf("%s has no %s of %s", lang, what, d.ID)
				}
			}
			if d.Margin && texts.Gap == "" {
				t.Errorf("%s cannot tell a difference of %s", lang, d.ID)
			}
		}
	}
}

func TestThePartsOfASignalAreNamedAlike(t *testing.T) {
	t.Parallel()
	first := languages.Or("es").SignalTexts
	for _, lang := range []locale.Lang{"pt", "hi"} {
		for id, texts := range languages.Or(lang).SignalTexts {
			for name := range first[id].Parts {
				if texts.Parts[name] == "" {
					t.Errorf("%s has no name for the part %s of %s", lang, name, id)
				}
			}
			if len(texts.Parts) != len(first[id].Parts) {
				t.Errorf("%s names %d parts of %s, Spanish %d", lang, len(texts.Parts), id, len(first[id].Parts))
			}
		}
	}
}

// A change of stocks has a baseline near zero or below it, so that no percentage can be told. Its difference can.
func TestADifferenceWithoutAPercentageHasTheUnitOfTheSignal(t *testing.T) {
	t.Parallel()
	d, _ := signals.ByID("eia-weekly-petroleum")
	for lang, want := range map[picks.Lang]string{
		"en": "+1.9<small>million barrels</small>", "es": "+1,9<small>millones de barriles</small>", "pt": "+1,9<small>milhão de barris</small>",
	} {
		l := localizer{Lang: lang}
		c := view.Component{Name: "week_change", Unit: d.Unit, Value: new(1900.0), BaselineValue: new(0.0)}
		if got := string(l.PartChange(l.SizedPart(l.Own(d), c), c)); got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
		c.Value, c.DeltaVsBaselinePct, c.BaselineValue = new(110.0), new(10.0), new(100.0)
		if got := string(l.PartChange(l.SizedPart(l.Own(d), c), c)); got != "+"+l.Percent(new(10.0)) {
			t.Errorf("%s: a percentage that is known is %q", lang, got)
		}
	}
}

// Early values of a history have too few before them for a baseline. There is none, which is another thing than an unknown one.
func TestAValueWithoutABaselineHasNoneAndNotAnUnknownOne(t *testing.T) {
	t.Parallel()
	d, _ := signals.ByID("hormuz-transit")
	unknown := (*float64)(nil)
	for lang, want := range map[picks.Lang]string{"en": "not applicable", "es": "no procede", "pt": "não se aplica", "hi": "लागू नहीं"} {
		l := localizer{Lang: lang}
		own := l.Own(d)
		for name, said := range map[string]func(value, number *float64) string{
			"baseline":         func(value, number *float64) string { return l.Baseline(own, value, number) },
			"difference":       l.Change,
			"z-score":          func(value, number *float64) string { return l.Score(value, number) },
			"cell of baseline": func(value, number *float64) string { return string(l.Bound(own, value, number)) },
			"cell of z-score":  func(value, number *float64) string { return string(l.ScoreCell(value, number)) },
		} {
			if got := said(new(118.4), unknown); !strings.Contains(got, want) || strings.Contains(got, l.T("unknown")) {
				t.Errorf("%s: a known value has the %s %q, want %q", lang, name, got, want)
			}
			if got := said(unknown, unknown); got != l.T("unknown") {
				t.Errorf("%s: an unknown value has the %s %q", lang, name, got)
			}
			if got := said(new(118.4), new(5.0)); !strings.Contains(got, "5") {
				t.Errorf("%s: a known %s is %q", lang, name, got)
			}
		}
	}
}

func TestAFinalNumberHasNoInterval(t *testing.T) {
	t.Parallel()
	d, _ := signals.ByID("iowa-corn-yield")
	for lang, want := range map[picks.Lang]string{"en": "not applicable", "es": "no procede", "pt": "não se aplica", "hi": "लागू नहीं"} {
		l := localizer{Lang: lang}
		own := l.Own(d)
		if got := l.Bounds(own, 211.0, math.NaN(), math.NaN()); got != want {
			t.Errorf("%s: the interval of a final is %q, want %q", lang, got, want)
		}
		if got := string(l.Bound(own, 211.0, math.NaN())); !strings.Contains(got, want) || strings.Contains(got, l.T("unknown")) {
			t.Errorf("%s: the cell of a final is %q, want %q", lang, got, want)
		}
		if got := string(l.Bound(own, 211.0, 199.5)); got != l.Figure(own, 199.5) {
			t.Errorf("%s: the cell of a bound is %q", lang, got)
		}
		if none := (*float64)(nil); l.Bounds(own, none, none, none) != l.T("unknown") || string(l.Bound(own, none, none)) != l.T("unknown") {
			t.Errorf("%s: an unknown value has a known interval", lang)
		}
	}
}

func TestTheProseOfAMethodHasOnePercentSignAndOneMinus(t *testing.T) {
	t.Parallel()
	hyphen, percent := regexp.MustCompile(`[\s(]-\d`), regexp.MustCompile(`\d[ \x{a0}]?%`)
	for _, d := range signals.All() {
		for _, l := range languages.All() {
			local := localizer{Lang: l.Code}
			texts := []string{local.About(d), local.Technique(d)}
			brief, _ := local.Brief(d)
			for line := range strings.Lines(brief) {
				if !strings.HasPrefix(line, "    ") {
					texts = append(texts, line)
				}
			}
			for _, text := range texts {
				if found := hyphen.FindString(text); found != "" {
					t.Errorf("%s in %s has a hyphen as a minus: %q in %q", d.ID, l.Code, found, text)
				}
				for _, found := range percent.FindAllString(text, -1) {
					if !strings.HasSuffix(found, local.PercentSign()) || (local.PercentSign() == "%") != (len(found) == 2) {
						t.Errorf("%s in %s: %q in %q", d.ID, l.Code, found, text)
					}
				}
			}
		}
	}
}

func TestABacktestIsToldInTheReadersLanguageAndNamesWhatIsInEnglish(t *testing.T) {
	t.Parallel()
	p, err := New(Options{PublicURL: "https://tidemark.example"})
	if err != nil {
		t.Fatal(err)
	}
	d, _ := signals.ByID("crack-spread-321")
	formula := map[picks.Lang]string{"en": "median of 60 margins", "es": "mediana de 60 márgenes", "pt": "mediana de 60 margens", "hi": "60 मार्जिनों की माध्यिका"}
	for lang, want := range map[picks.Lang][]string{
		"en": {"Naive forecast: the last known change of the crack spread over 20 trading days. Values up to", "later information: 7. Cases", "came: 9 (rank correlation +0.31)."},
		"es": {"El método de la prueba retrospectiva está en inglés.", "Previsión ingenua: la última variación conocida del margen en 20 sesiones. Los valores hasta el", "información posterior: 7. Casos", "9 (correlación de rangos +0,31)."},
		"pt": {"O método do backtest está em inglês.", "9 (correlação de postos +0,31)."},
		"hi": {"बैकटेस्ट की पद्धति अंग्रेज़ी में है।", "9 (रैंक सहसंबंध +0.31)।"},
	} {
		snapshot := snapshotOf(13.1, 12)
		snapshot.Backtest = &postgres.Backtest{N: 16, Naive: d.Backtest.Naive, Method: "what the paper says", Vintages: &postgres.AssumedVintages{
			Before: postgres.PartOfEdge{N: 7}, Since: postgres.PartOfEdge{N: 9, RankIC: new(0.3131)},
		}}
		l := localizer{Lang: lang}
		body := signalBody{localizer: l, Def: l.Own(d), Signal: &view.Signal{Definition: d, Snapshot: snapshot}, Snapshot: snapshot, Backtest: &backtestBody{Plot: "<svg>"}}
		body.Plots.Newest = []view.HistoryPoint{{ObservedAt: *snapshot.ObservedAt, Value: 13.1, Lo: math.NaN(), Hi: 14.25, Baseline: 12, Z: 1}}
		var out strings.Builder
		if err := p.templates["signal"].ExecuteTemplate(&out, "main", body); err != nil {
			t.Fatal(err)
		}
		page := html.UnescapeString(out.String())
		cell := func(name, figure string) string {
			return `<td class="num roomy" data-head="` + l.T(name) + `">` + figure + "</td>"
		}
		if !strings.Contains(page, cell("signal.low", string(l.None()))+cell("signal.high", l.Figure(body.Def, 14.25))) {
			t.Errorf("%s: a bound that there is none of is not called so, or the other is not shown", lang)
		}
		for _, say := range want {
			if !strings.Contains(page, say) {
				t.Errorf("%s: the page does not say %q", lang, say)
			}
		}
		if lang != picks.English && (strings.Contains(page, "Naive forecast") || strings.Contains(page, "rank correlation")) || !strings.Contains(page, `<p lang="en">What the paper says.`) {
			t.Errorf("%s: the page has English sentences that it does not name", lang)
		}
		evidence := evidenceBody{localizer: l, Def: body.Def, Signal: body.Signal, Evidence: &view.Evidence{Steps: []view.EvidenceStep{{Name: "scale", Formula: "median of 60 margins"}}}}
		out.Reset()
		if err := p.templates["evidence"].ExecuteTemplate(&out, "main", evidence); err != nil {
			t.Fatal(err)
		}
		if page := html.UnescapeString(out.String()); !strings.Contains(page, "<code>"+formula[lang]+"</code>") {
			t.Errorf("%s: the evidence does not say %q", lang, formula[lang])
		}
		body.Snapshot.Backtest.Method = signals.BacktestMethod
		out.Reset()
		if err := p.templates["signal"].ExecuteTemplate(&out, "main", body); err != nil {
			t.Fatal(err)
		}
		if page := out.String(); !strings.Contains(html.UnescapeString(page), "<p>"+l.T("backtest.method")+"</p>") || strings.Contains(page, l.T("backtest.english")) {
			t.Errorf("%s: today's method is not told in the language", lang)
		}
	}
}

// A licence and a citation are in the page's language. Where a language lacks a licence, the English text says that it is English.
func TestALicenceAndACitationAreInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	d, _ := signals.ByID("lng-arbitrage")
	at := time.Date(2026, 11, 25, 21, 0, 0, 0, time.UTC)
	s := view.SignalSnapshot{ID: d.ID, AsOf: &at, PageURL: "https://tidemark.example/signals/lng-arbitrage"}
	for lang, want := range map[picks.Lang][3]string{
		"en": {"attribution to the World Bank", "[data set lng-arbitrage], as of 2026-11-25T21:00:00Z. https", "LNG arbitrage"},
		"es": {"con atribución al Banco Mundial", "[conjunto de datos lng-arbitrage], versión de 2026-11-25T21:00:00Z. https", "Margen del GNL"},
		"pt": {"com atribuição ao Banco Mundial", "[conjunto de dados lng-arbitrage], versão de 2026-11-25T21:00:00Z. https", "Margem do GNL"},
		"hi": {"विश्व बैंक के उल्लेख के साथ", "[डेटासेट lng-arbitrage], 2026-11-25T21:00:00Z का संस्करण. https", "एलएनजी का मार्जिन"},
	} {
		l := localizer{Lang: lang}
		if got := string(l.License(d)); !strings.Contains(got, want[0]) || strings.Contains(got, "lang=") {
			t.Errorf("%s: the licence is %q", lang, got)
		}
		if got := l.citation(l.Own(d).Name, s, "2026-11-25"); !strings.HasSuffix(got, "/signals/lng-arbitrage?as_of=2026-11-25") {
			t.Errorf("%s: the citation of a day is %q", lang, got)
		}
		if got := l.citation(l.Own(d).Name, s, ""); !strings.Contains(got, want[1]) || !strings.Contains(got, want[2]) {
			t.Errorf("%s: the citation is %q", lang, got)
		}
	}
	if got := string((localizer{Lang: "es"}).License(signals.Definition{License: "Free & open."})); got != `<span lang="en">Free &amp; open.</span>` {
		t.Errorf("an untranslated licence is %q", got)
	}
}

// A Hindi paper writes करोड़ from one crore on and लाख below, and both numbers of a row have one unit.
func TestANumberOfBarrelsHasTheUnitOfItsSize(t *testing.T) {
	t.Parallel()
	d, _ := signals.ByID("eia-weekly-petroleum")
	for _, c := range []struct {
		lang            picks.Lang
		value, baseline float64
		want            string
	}{
		{"hi", 500, -1234, "5, −12 लाख बैरल"},
		{"hi", 0, 9900, "0, 99 लाख बैरल"},
		{"hi", 500, 12340, "0.05, 1.23 करोड़ बैरल"},
		{"hi", 421140, 440000, "42.11, 44.00 करोड़ बैरल"},
		{"es", 500, -1234, "0,5, −1,2 millones de barriles"},
		{"en", 500, -1234, "0.5, −1.2 million barrels"},
		// In Portuguese a number below two takes the singular. In Spanish only "1" does, and "1,0" does not.
		{"pt", 1900, 440000, "1,9, 440,0 milhão de barris"},
		{"pt", -1949, 440000, "−1,9, 440,0 milhão de barris"},
		{"pt", 1960, 440000, "2,0, 440,0 milhões de barris"},
		{"es", 1000, 440000, "1,0, 440,0 millones de barriles"},
	} {
		l, part := localizer{Lang: c.lang}, view.Component{Unit: d.Unit, Value: &c.value, BaselineValue: &c.baseline}
		sized := l.SizedPart(l.Own(d), part)
		if got := l.Part(sized, part.Unit, part.Value) + ", " + l.Part(sized, part.Unit, part.BaselineValue) + " " + l.PartUnit(sized, part.Unit, part.Value); got != c.want {
			t.Errorf("%s: %q, want %q", c.lang, got, c.want)
		}
	}
}

func TestAComponentThatCanCrossZeroHasItsDifferenceAndNoPercentage(t *testing.T) {
	t.Parallel()
	part := func(unit string, value, baseline, pct float64) view.Component {
		return view.Component{Name: "part", Unit: unit, Value: &value, BaselineValue: &baseline, DeltaVsBaselinePct: &pct}
	}
	for _, c := range []struct {
		signal string
		part   view.Component
		lang   picks.Lang
		want   string
	}{
		{"lng-arbitrage", part("USD/MMBtu", 1.2, 1.86, -35.5), "en", "−$0.66"},
		{"lng-arbitrage", part("USD/MMBtu", 1.2, -0.3, 0), "es", "+1,50"},
		{"crack-spread-321", part("USD/gal", 2.2, 2, 10), "en", "+10.0%"},
		{"eia-weekly-petroleum", part("percent", 90.5, 90.2, 0.4), "en", "+0.3<small>percentage points</small>"},
		{"eia-weekly-petroleum", part("percent", 90.449, 90.151, 0.4), "en", "+0.2<small>percentage points</small>"}, // shown as 90.4 and 90.2
		{"lng-arbitrage", part("USD/MMBtu", 0.364, 2.2155, 0), "en", "−$1.86"},
		{"lng-arbitrage", part("USD/MMBtu", 0.364, 2.2155, 0), "hi", "−1.86"},
		{"eia-weekly-petroleum", part("percent", 90.2, 90.5, -0.4), "pt", "−0,3<small>ponto percentual</small>"},
		{"eia-weekly-petroleum", part("percent", 90.5, 90.5, 0), "hi", "0<small>प्रतिशत अंक</small>"},
	} {
		d, _ := signals.ByID(c.signal)
		l := localizer{Lang: c.lang}
		if got := l.PartChange(l.Own(d), c.part); string(got) != c.want {
			t.Errorf("%s, %s: %g against %g is %q, want %q", c.signal, c.lang, *c.part.Value, *c.part.BaselineValue, got, c.want)
		}
	}
}

// A translation may divide a sentence, and adds one where its units differ. It leaves none out.
func TestABriefHasEachSentenceInEachLanguage(t *testing.T) {
	t.Parallel()
	end := regexp.MustCompile(`[.!?।]\)?(?:\s|$)`)
	sentences := func(paragraph string) int {
		return len(end.FindAllString(strings.NewReplacer("n.º ", "", "No. ", "", "नं. ", "").Replace(paragraph), -1))
	}
	for _, d := range signals.All() {
		english := strings.Split(strings.TrimSpace(d.Brief), "\n\n")
		for _, l := range languages.All() {
			brief, _ := localizer{Lang: l.Code}.Brief(d)
			own := strings.Split(strings.TrimSpace(brief), "\n\n")
			if len(own) != len(english) {
				t.Errorf("%s in %s has %d paragraphs, in English %d", d.ID, l.Code, len(own), len(english))
				continue
			}
			for i, paragraph := range english {
				if is, want := sentences(own[i]), sentences(paragraph); is < want {
					t.Errorf("%s in %s has %d sentences, in English %d: %s", d.ID, l.Code, is, want, own[i])
				}
			}
		}
	}
}

func TestASignalThatIsNotLiveIsNeitherMarkedAsGoodNorTheHeadline(t *testing.T) {
	t.Parallel()
	l := localizer{Lang: picks.English}
	signalOf := func(id, status string, z float64) *view.Signal {
		s := snapshotOf(112, 85.5)
		s.ID, s.Status, s.ZScore, s.Freshness.State = id, status, &z, view.Fresh
		d, _ := signals.ByID("hormuz-transit")
		return &view.Signal{Definition: d, Snapshot: s}
	}
	live := signalOf("live", signals.StatusLive, 1)
	decayed, deprecated := signalOf("decayed", signals.StatusDecayed, 2), signalOf("deprecated", signals.StatusDeprecated, -3)
	list := []*view.Signal{live, decayed, deprecated}
	if got := furthestSignal(list); got != live {
		t.Errorf("the headline is of the signal %s", got.Snapshot.ID)
	}
	if got := offered(list); len(got) != 2 || got[1] != decayed {
		t.Errorf("the home page has %d signals", len(got))
	}
	for _, s := range list {
		if tone := l.StateTone(s.Snapshot); (tone == view.Fresh) != (s == live) {
			t.Errorf("a signal that is %s is marked %q", s.Snapshot.Status, tone)
		}
	}
}

func TestASignalWithoutDataSaysSoAndHasNoUnit(t *testing.T) {
	t.Parallel()
	d, _ := signals.ByID("hormuz-transit")
	var s view.SignalSnapshot
	s.Status, s.Freshness.State = signals.StatusDecayed, view.Unknown
	for lang, want := range map[picks.Lang][2]string{
		"en": {"no data", "<data>unknown</data>"}, "es": {"sin datos", "<data>desconocido</data>"}, "pt": {"sem dados", "<data>desconhecido</data>"}, "hi": {"कोई आँकड़ा नहीं", "<data>अज्ञात</data>"},
	} {
		l := localizer{Lang: lang}
		if got := [2]string{l.State(s), string(l.Large(d, nil))}; got != want {
			t.Errorf("%s: a signal without data is %q, want %q", lang, got, want)
		}
	}
}
