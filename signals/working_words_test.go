package signals_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"tidemark/internal/locale/languages"
	"tidemark/signals"
)

// Every note of a step, and every formula with words, exists in all languages. None keeps an English word.
func TestTheNotesOfAFormulaExistInAllLanguages(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile(`[a-z]{2,}`)
	perDefinition(t, func(t *testing.T, d signals.Definition) {
		set := madeUp(d, history, 4)
		track := d.Compute(set, end)
		seen := 0
		for _, e := range append(some(rand.New(rand.NewPCG(22, 3)), track, 40), track[len(track)-1]) {
			_, w, ok := d.Working(set, end, e.ObservedAt)
			if !ok {
				continue
			}
			for _, step := range w.Steps {
				for _, text := range []string{step.Formula, step.Note} {
					if bare := strings.NewReplacer("sqrt", "", "exp", "", "unknown", "").Replace(text); !words.MatchString(bare) {
						continue
					}
					seen++
					for _, l := range languages.All() {
						var filled []string
						got, ok := languages.Reword(l.Code, "evidence.note", text, func(place string) string {
							filled = append(filled, place)
							return place
						})
						if !ok {
							t.Fatalf("%s has no words for %q", l.Code, text)
						}
						if l.Code == "en" && got != text {
							t.Errorf("%q is %q in English", text, got)
						}
						for _, place := range filled {
							if !strings.Contains(text, "anomalies of") && words.MatchString(place) {
								t.Errorf("%q has words in a place: %q", text, place)
							}
						}
					}
				}
			}
		}
		if seen == 0 {
			t.Fatal("no step has a note")
		}
	})
}
