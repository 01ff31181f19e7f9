package languages

import (
	"strings"
	"testing"
)

func TestAnEnglishTextIsTranslatedWithWhatFillsItsPlaces(t *testing.T) {
	t.Parallel()
	write := func(filled string) string { return strings.ReplaceAll(filled, ".", ",") }
	for english, want := range map[string]string{
		"median of 60 margins": "mediana de 60 márgenes",
		"the mean of the two in the middle, 8.97310549954 and -9.25": "la media de los dos del centro, 8,97310549954 y -9,25",
		"(value - baseline) / scale":                                 "(valor − referencia) / dispersión habitual",
	} {
		if got, ok := Reword("es", "evidence.note", english, write); !ok || got != want {
			t.Errorf("%q is %q, want %q", english, got, want)
		}
	}
	if got, ok := Reword("es", "evidence.note", "14.2 / 3", write); ok {
		t.Errorf("a formula without words is translated as %q", got)
	}
}
