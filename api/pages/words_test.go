package pages

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/api/view"
	"tidemark/internal/locale/languages"
	"tidemark/picks"
	"tidemark/signals"
)

func TestEveryWordIsThereInEveryLanguage(t *testing.T) {
	t.Parallel()
	english := languages.Or(picks.English).Words
	for _, l := range languages.All() {
		all := slices.Collect(maps.Keys(english))
		if l.Code != picks.English { // the kinds of problems have the English texts
			for _, kind := range view.ProblemKinds() {
				id := "problem." + kind.Code
				if all = append(all, id+".meaning", id+".remedy"); english["error."+kind.Code] == "" {
					all = append(all, id+".title")
				}
			}
		}
		slices.Sort(all)
		if diff := cmp.Diff(all, slices.Sorted(maps.Keys(l.Words))); diff != "" {
			t.Errorf("the words of %s (-en +%s):\n%s", l.EnglishName, l.Code, diff)
		}
		for id, w := range l.Words {
			if w == "" {
				t.Errorf("%s has no word for %s", l.EnglishName, id)
			}
		}
	}
	for lang, want := range map[picks.Lang]string{"es": "Selecciones", "en": "Picks", "pt": "Seleções", "hi": "चयन"} {
		if got := (localizer{Lang: lang}).T("picks"); got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
	}
}

func TestNumbersAreGroupedAsTheLanguageDoes(t *testing.T) {
	t.Parallel()
	tests := map[picks.Lang]struct{ million, pct, price, amount string }{
		picks.English: {"1,234,567.9", "+1,234.50%", "1,182.50", "−1,234.5"},
		"hi":          {"12,34,567.9", "+1,234.50%", "1,182.50", "−1,234.5"},
		"es":          {"1.234.567,9", "+1.234,50\u00a0%", "1.182,50", "−1.234,5"},
		"pt":          {"1.234.567,9", "+1.234,50%", "1.182,50", "−1.234,5"},
	}
	for lang, want := range tests {
		t.Run(string(lang), func(t *testing.T) {
			t.Parallel()
			l := localizer{Lang: lang}
			if got := l.Num(new(1234567.89), 1); got != want.million {
				t.Errorf("a million: %q, want %q", got, want.million)
			}
			if got := l.Pct(new(1234.5)); got != want.pct {
				t.Errorf("a percentage: %q, want %q", got, want.pct)
			}
			if got := l.Price("1182.50"); got != want.price {
				t.Errorf("a price: %q, want %q", got, want.price)
			}
			if got := l.Amount("-1234.5", ""); got != want.amount {
				t.Errorf("an amount: %q, want %q", got, want.amount)
			}
		})
	}
	l := localizer{Lang: picks.English}
	for v, want := range map[float64]string{0: "0.00%", -0.001: "0.00%", 0.001: "0.00%", -2.5: "−2.50%"} {
		if got := l.Pct(&v); got != want {
			t.Errorf("%g is %q, want %q", v, got, want)
		}
	}
}

func TestDatesAreWrittenOut(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)
	for lang, want := range map[picks.Lang]string{
		"es": "20 de noviembre de 2026", "en": "November 20, 2026", "pt": "20 de novembro de 2026", "hi": "20 नवंबर 2026",
	} {
		if got := (localizer{Lang: lang}).Date("2026-11-20"); got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
		if got := (localizer{Lang: lang}).Date(&at); got != want {
			t.Errorf("%s, an instant: %q, want %q", lang, got, want)
		}
	}
	if got := (localizer{Lang: "hi"}).Country("US"); got != "अमेरिका" {
		t.Errorf("a country in Hindi is %q", got)
	}
	if got := (localizer{Lang: "es"}).Sector("Technology"); got != "Tecnología" {
		t.Errorf("a sector in Spanish is %q", got)
	}
}

func TestBillionsOfDollarsAreCountedAsTheFinancialPressDoes(t *testing.T) {
	t.Parallel()
	for lang, want := range map[picks.Lang][2]string{
		picks.English: {"$1.4 billion", "$121.9 billion"},
		"es":          {"1.400 millones de dólares", "121.900 millones de dólares"},
		"pt":          {"US$\u00a01,4 bilhão", "US$\u00a0121,9 bilhões"},
		"hi":          {"1.4 अरब डॉलर", "121.9 अरब डॉलर"},
	} {
		l := localizer{Lang: lang}
		if got := [2]string{l.Billions(new(1.4)), l.Billions(new(121.9))}; got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
		if got := l.Billions(nil); got != l.T("unknown") {
			t.Errorf("%s: nothing is %q", lang, got)
		}
	}
}

// The table next to a text has the decimals of the text.
func TestFiguresBesideATextHaveItsDecimals(t *testing.T) {
	t.Parallel()
	for lang, want := range map[picks.Lang][4]string{
		picks.English: {"20 times", "20.4 times", "6.3%", "−0.5%"},
		"es":          {"20 veces", "20,4 veces", "6,3\u00a0%", "−0,5\u00a0%"},
		"pt":          {"20 vezes", "20,4 vezes", "6,3%", "−0,5%"},
		"hi":          {"20 गुना", "20.4 गुना", "6.3%", "−0.5%"},
	} {
		l := localizer{Lang: lang}
		if got := [4]string{l.Times(new(20.0)), l.Times(new(20.4)), l.Percent(new(6.3)), l.Percent(new(-0.5))}; got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
	}
}

func TestEachFactHasANameForReaders(t *testing.T) {
	t.Parallel()
	for id, want := range map[string][4]string{
		"income_to":          {"End of the twelve months", "Fin de los doce meses", "Fim dos doze meses", "बारह महीनों का अंत"},
		"net_income_part_1":  {"Net income: part 1 of the calculation", "Resultado neto: parte 1 del cálculo", "Resultado líquido: parte 1 do cálculo", "शुद्ध लाभ: गणना का भाग 1"},
		"revenue_tag":        {"Revenue: name in the filing", "Ingresos: etiqueta en el informe", "Receita: etiqueta no relatório", "राजस्व: रिपोर्ट में टैग"},
		"debt_ratio_before":  {"Debt to assets, period before", "Deuda sobre activos, periodo anterior", "Dívida sobre ativos, período anterior", "परिसंपत्तियों की तुलना में क़र्ज़, पिछली अवधि"},
		"next_report":        {"Next report expected on", "Fecha prevista del próximo informe", "Data esperada do próximo relatório", "अगली रिपोर्ट की अपेक्षित तारीख़"},
		"next_report_before": {"Same report filed a year earlier on", "Presentación del mismo informe un año antes", "Mesmo relatório, um ano antes, protocolado em", "एक साल पहले यही रिपोर्ट दाख़िल होने की तारीख़"},
		"operating_yield":    {"Operating income to enterprise value", "Resultado operativo sobre valor de empresa", "Resultado operacional sobre valor da firma", "एंटरप्राइज़ वैल्यू की तुलना में परिचालन आय"},
		"some_new_fact":      {"some new fact", "some new fact", "some new fact", "some new fact"},
	} {
		for i, lang := range []picks.Lang{"en", "es", "pt", "hi"} {
			if got := (localizer{Lang: lang}).FactName(id); got != want[i] {
				t.Errorf("%s in %s: %q, want %q", id, lang, got, want[i])
			}
		}
	}
}

func TestAPickBoughtAtTheNewestCloseHasNoReturn(t *testing.T) {
	t.Parallel()
	close19, close20 := time.Date(2026, 11, 19, 21, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 21, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		entry  *string
		newest *time.Time
		want   bool
	}{{nil, &close20, false}, {new("2026-11-20"), nil, false}, {new("2026-11-20"), &close20, true}, {new("2026-11-19"), &close20, false}, {new("2026-11-19"), &close19, true}} {
		if got := boughtAtNewestClose(c.entry, c.newest); got != c.want {
			t.Errorf("%v, %v: %v", c.entry, c.newest, got)
		}
	}
}

func TestAmountsHaveTheUnitsOfTheLanguage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lang, value, unit, want string }{
		{"en", "248", "thousand", "248,000"},
		{"es", "248", "thousand", "248.000"},
		{"pt", "248", "thousand", "248 mil"},
		{"hi", "248", "thousand", "2.48 लाख"},
		{"es", "2.1", "bbl mn", "2,1 millones de barriles"},
		{"pt", "1.4", "bbl mn", "1,4 milhão de barris"},
		{"hi", "2.1", "bbl mn", "21 लाख बैरल"},
		{"es", "-0.1", "%", "−0,1\u00a0%"},
		{"hi", "-0.1", "%", "−0.1%"},
		{"pt", "2026-11-20", "date", "20 de novembro de 2026"},
		{"en", "no number", "%", "no number"},
	} {
		if got := (localizer{Lang: picks.Lang(c.lang)}).Amount(c.value, c.unit); got != c.want {
			t.Errorf("%s %s in %s: %q, want %q", c.value, c.unit, c.lang, got, c.want)
		}
	}
}

func TestAFilingIsNamedInTheLanguage(t *testing.T) {
	t.Parallel()
	for lang, want := range map[picks.Lang]string{
		picks.English: "Form 10-\u2060K, February 20, 2026", "es": "Formulario 10-\u2060K, 20 de febrero de 2026", "pt": "Formulário 10-\u2060K, 20 de fevereiro de 2026", "hi": "फ़ॉर्म 10-\u2060K, 20 फ़रवरी 2026",
	} {
		if got := (localizer{Lang: lang}).SourceTitle("Form 10-K, 2026-02-20"); got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
	}
	if got := (localizer{Lang: "es"}).SourceTitle("Closing prices"); got != "Closing prices" {
		t.Errorf("another source is called %q", got)
	}
}

func TestADifferenceOfPercentagesIsInPercentagePoints(t *testing.T) {
	t.Parallel()
	for lang, want := range map[picks.Lang][4]string{
		"en": {"+0.34 percentage points", "−1.85 percentage points", "0 percentage points", "+0.50 percentage points"},
		"es": {"+0,34 puntos porcentuales", "−1,85 puntos porcentuales", "0 puntos porcentuales", "+0,50 puntos porcentuales"},
		"pt": {"+0,34 ponto percentual", "−1,85 ponto percentual", "0 ponto percentual", "+0,50 ponto percentual"},
		"hi": {"+0.34 प्रतिशत अंक", "−1.85 प्रतिशत अंक", "0 प्रतिशत अंक", "+0.50 प्रतिशत अंक"},
	} {
		for i, v := range []float64{0.34, -1.85, -0.001, 0.5} {
			if got := (localizer{Lang: lang}).PctPoints(&v); got != want[i] {
				t.Errorf("%s: %g is %q, want %q", lang, v, got, want[i])
			}
			number, unit, _ := strings.Cut(want[i], " ")
			if got := string((localizer{Lang: lang}).PointsApart(&v)); got != number+"<small>"+unit+"</small>" {
				t.Errorf("%s: %g with its unit apart is %q", lang, v, got)
			}
		}
	}
}

// The note below a backtest's interval names the rule that decides about the winner.
func TestTheNoteOfABacktestNamesTheLimitOfP(t *testing.T) {
	t.Parallel()
	clear := signals.BacktestResult{Edge: signals.Edge{N: 8, RankIC: .75, Lo: .6, Hi: .85}, BestRuleIC: .1}
	for p, want := range map[float64]string{.0499: signals.WinsSignal, .05: signals.WinsNeither} {
		if clear.AdjustedP = p; clear.Wins() != want {
			t.Errorf("with p = %v the winner is %q, want %q: the note is false", p, clear.Wins(), want)
		}
	}
	for lang, limit := range map[picks.Lang]string{"en": "below 0.05", "es": "inferior a 0,05", "pt": "abaixo de 0,05", "hi": "0.05 से कम"} {
		l := localizer{Lang: lang}
		for _, id := range []string{"backtest.note", "backtest.plot text"} {
			if !strings.Contains(l.T(id), limit) {
				t.Errorf("%s %s: %q, lacks %q", lang, id, l.T(id), limit)
			}
		}
	}
}

func TestAChangeOfAMacroFigureHasItsSignInBothDirections(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		indicator, unit, figure, want string
	}{
		{"crude-stocks", "bbl mn", "2.1", "+2.1 million barrels"},
		{"cpi", "%", "0.3", "+0.3%"},
		{"cpi", "%", "-0.1", "−0.1%"},
		{"cpi", "%", "0.0", "0.0%"},
		{"fomc", "%", "5.25", "5.25%"},
		{"job-openings", "thousand", "6360", "6.360 million"},
	} {
		if got := (localizer{Lang: "en"}).Macro(view.EconomicEvent{Indicator: c.indicator, Unit: c.unit}, c.figure); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.indicator, c.figure, got, c.want)
		}
	}
}
