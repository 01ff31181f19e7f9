package pages

import (
	"regexp"
	"testing"

	"tidemark/internal/locale/languages"
	"tidemark/picks"
	"tidemark/signals"
	"tidemark/signals/forecast"
)

func TestNumbersOfForecastsHaveTheirDecimalsAndThousandsApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v        float64
		decimals int
		want     string
	}{
		{1234567.4, 0, "1,234,567"}, {-4832.6, 0, "−4,833"}, {-0.04, 1, "0.0"}, {0, 0, "0"}, {999.95, 1, "1,000.0"}, {-1234.25, 2, "−1,234.25"}, {12, 3, "12.000"},
	} {
		if got := fixed(c.v, c.decimals); got != c.want {
			t.Errorf("%v to %d decimals is %s, want %s", c.v, c.decimals, got, c.want)
		}
	}
}

func TestAForecastHasTheUnitOfItsSignalsPage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		v    float64
		want map[picks.Lang]string
	}{
		"crack-spread-321": {13.887, map[picks.Lang]string{"en": "$13.89 a barrel", "es": "13,89 dólares por barril"}},
		"lng-arbitrage":    {-0.849, map[picks.Lang]string{"en": "−$0.85 per MMBtu", "pt": "−US$\u00a00,85 por MMBtu"}},
		"hormuz-transit":   {103.284, map[picks.Lang]string{"en": "103 ships a day", "hi": "103 जहाज़ प्रतिदिन"}},
		"eia-weekly-petroleum": {-4833, map[picks.Lang]string{
			"en": "−4.8 million barrels", "es": "−4,8 millones de barriles", "hi": "−48 लाख बैरल",
		}},
		"iowa-corn-yield":      {221.3, map[picks.Lang]string{"en": "221.3 bushels an acre", "pt": "13,89 toneladas por hectare"}},
		"tropomi-no2-economic": {103.21, map[picks.Lang]string{"en": "index 103.2", "es": "índice 103,2", "pt": "índice 103,2", "hi": "सूचकांक 103.2"}},
	}
	for id, want := range tests {
		d, ok := signals.ByID(id)
		if !ok || len(forecast.Of(id)) == 0 {
			t.Errorf("%s has %d forecasts", id, len(forecast.Of(id)))
		}
		for _, target := range forecast.Of(d.ID) {
			if target.Unit != d.Unit {
				t.Errorf("%s, %s: the unit is %s, and that of the signal is %s", d.ID, target.Figure, target.Unit, d.Unit)
			}
		}
		for lang, text := range want.want {
			unit := (localizer{Lang: lang}).forecastUnit(d, want.v)
			if got := tag.ReplaceAllString(string(unit.Large(unit.Def, &want.v)), ""); got != text {
				t.Errorf("%s in %s: %s, want %s", d.ID, lang, got, text)
			}
		}
	}
}

// tag matches an element's tag.
var tag = regexp.MustCompile(`<[^>]*>`)

func TestAScoreHasItsUnitWhereTheFigureHasIt(t *testing.T) {
	t.Parallel()
	d, _ := signals.ByID("crack-spread-321")
	for lang, want := range map[picks.Lang]string{"en": "$1.268 a barrel", "es": "1,268 dólares por barril", "pt": "US$\u00a01,268 por barril", "hi": "1.268 डॉलर प्रति बैरल"} {
		unit := localizer{Lang: lang}.forecastUnit(d)
		if got := unit.priced(new(1.2682)) + " " + unit.FigureUnit(unit.Def); got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
	}
}

func TestTheBoundsOfAForecastReadLikeASentence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lang         picks.Lang
		signal, want string
	}{
		{"en", "tropomi-no2-economic", "index 86.8 to 105.3"},
		{"es", "tropomi-no2-economic", "índice de 86,8 a 105,3"},
		{"en", "lng-arbitrage", "$86.80 to $105.30 per MMBtu"},
		{"pt", "hormuz-transit", "de 87 a 105 navios por dia"},
	} {
		d, _ := signals.ByID(c.signal)
		if got := (localizer{Lang: c.lang}).forecastUnit(d).between(86.8, 105.3); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.signal, c.lang, got, c.want)
		}
	}
}

func TestEachForecastFigureHasANameInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, lang := range picks.Langs() {
		if lang != picks.English && len(languages.Or(lang).SignalTexts) == 0 {
			continue // a language without texts of signals has the English ones
		}
		seen := map[string]bool{}
		for _, d := range signals.All() {
			for _, target := range forecast.Of(d.ID) {
				name := localizer{Lang: lang}.figureName(d.ID, target.Figure, target.Name)
				if seen[name] || lang != picks.English && name == target.Name {
					t.Errorf("%s, %s in %s is %q", d.ID, target.Figure, lang, name)
				}
				seen[name] = true
			}
		}
	}
}
