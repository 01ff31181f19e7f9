package pages

import (
	"testing"

	"tidemark/api/view"
	"tidemark/picks"
	"tidemark/signals"
)

func TestTheEvidenceSaysHowTheNumbersOfTheFormulasBecomeThoseOfThePage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lang     picks.Lang
		id, want string
	}{
		{"en", "iowa-corn-yield", ""},
		{"en", "eia-weekly-petroleum", "The numbers in the formulas and in the cells are in the unit of the source: thousand barrels. Divided by 1,000, they are million barrels, as the page shows the value and its changes."},
		{"es", "iowa-corn-yield", "Los números de las fórmulas y de las celdas están en la unidad de la fuente: bushels por acre. Divididos entre 15,9318, son toneladas por hectárea, que es como la página muestra el valor y sus cambios."},
		{"hi", "eia-weekly-petroleum", "सूत्रों और ख़ानों की संख्याएँ स्रोत की इकाई में हैं: हज़ार बैरल। उन्हें 10,000 से भाग देने पर वे करोड़ बैरल में आती हैं, जैसा यह पृष्ठ मान और उसके बदलाव दिखाता है।"},
		{"pt", "crack-spread-321", ""},
	} {
		l := localizer{Lang: c.lang}
		english, _ := signals.ByID(c.id)
		if got := (evidenceBody{localizer: l, Def: l.Own(english), Signal: &view.Signal{Definition: english}}).Conversion(); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.id, c.lang, got, c.want)
		}
	}
}
