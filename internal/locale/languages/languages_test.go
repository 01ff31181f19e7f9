package languages_test

import (
	"slices"
	"testing"
	"time"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
)

func TestWhatWasWrittenBeforeALanguageWasKnownIsReadInEnglish(t *testing.T) {
	t.Parallel()
	texts := map[locale.Lang]string{"en": "a rise", "hi": "बढ़त"}
	for want, is := range map[locale.Lang]struct {
		text string
		lang locale.Lang
	}{"hi": {"बढ़त", "hi"}, "en": {"a rise", "en"}, "es": {"a rise", "en"}} {
		if text, lang := languages.Choose(texts, want); text != is.text || lang != is.lang {
			t.Errorf("in %s it is %q in %s, want %q in %s", want, text, lang, is.text, is.lang)
		}
	}
	if got := languages.Of(texts); !slices.Equal(got, []locale.Lang{"en", "hi"}) {
		t.Errorf("it is there in %v", got)
	}
}

func TestEachLanguageIsWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	day := time.Date(2026, time.November, 20, 0, 0, 0, 0, time.UTC)
	for _, l := range languages.All() {
		for what, text := range map[string]string{
			"code": string(l.Code), "name": l.Name, "name in English": l.EnglishName, "and": l.And, "decimal": l.Decimal, "group": l.Group,
			"date": l.WriteDate(day), "month": l.WriteMonth(day),
		} {
			if text == "" {
				t.Errorf("%q has no %s", l.Code, what)
			}
		}
		for _, once := range []string{"code " + string(l.Code), "name " + l.Name, "English name " + l.EnglishName} {
			if seen[once] {
				t.Errorf("two languages have the %s", once)
			}
			seen[once] = true
		}
		if languages.Find(l.Code) != l {
			t.Errorf("%s is not found", l.Code)
		}
	}
	if languages.Find("xx") != nil || languages.Or("xx").Code != locale.English {
		t.Error("a code that nobody has is not English")
	}
}
