package pages

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/locale/languages"
	"tidemark/picks"
)

func TestEveryWordIsThereInEveryLanguage(t *testing.T) {
	t.Parallel()
	all := languages.Or(picks.English).Words
	for _, l := range languages.All() {
		if diff := cmp.Diff(slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(l.Words))); diff != "" {
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
	tests := map[picks.Lang]struct{ million, pct, price, fact string }{
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
			if got := l.Fact("-1234.5"); got != want.fact {
				t.Errorf("a fact: %q, want %q", got, want.fact)
			}
		})
	}
	l := localizer{Lang: picks.English}
	for in, want := range map[string]string{"2026-11-20": "2026-11-20", "sector.Energy": "sector.Energy", "1.2.3": "1.2.3", "": "", "0.50": "0.50"} {
		if got := l.Fact(in); got != want {
			t.Errorf("the fact %q is %q, want %q", in, got, want)
		}
	}
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
	if got := (localizer{Lang: "hi"}).Country("US"); got != "संयुक्त राज्य" {
		t.Errorf("a country in Hindi is %q", got)
	}
	if got := (localizer{Lang: "es"}).Sector("Technology"); got != "Tecnología" {
		t.Errorf("a sector in Spanish is %q", got)
	}
}
