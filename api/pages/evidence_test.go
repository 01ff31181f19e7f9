package pages

import (
	"testing"
	"time"

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
		{"hi", "eia-weekly-petroleum", "सूत्रों और ख़ानों की संख्याएँ स्रोत की इकाई में हैं: हज़ार बैरल। उन्हें 10,000 से भाग देने पर वे करोड़ बैरल में आती हैं, जिसमें यह पृष्ठ मान दिखाता है।"},
		{"pt", "crack-spread-321", ""},
	} {
		l := localizer{Lang: c.lang}
		english, _ := signals.ByID(c.id)
		if got := (evidenceBody{localizer: l, Def: l.Own(english), Signal: &view.Signal{Definition: english}}).Conversion(); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.id, c.lang, got, c.want)
		}
	}
}

func TestTheEvidenceShowsTheNewestObservationsFirst(t *testing.T) {
	t.Parallel()
	var cells []view.EvidenceCell
	for year := 1976; year <= 2025; year++ {
		cells = append(cells, view.EvidenceCell{ObservedAt: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)})
	}
	got := newestCells(cells, maxEvidenceCells)
	if len(got) != maxEvidenceCells || got[0].ObservedAt.Year() != 2025 || got[maxEvidenceCells-1].ObservedAt.Year() != 2002 {
		t.Errorf("%d observations from %s to %s", len(got), got[0].ObservedAt, got[len(got)-1].ObservedAt)
	}
}

func TestAFormulaHasTheSignsOfArithmetic(t *testing.T) {
	t.Parallel()
	for _, lang := range []picks.Lang{"en", "es"} {
		english, _ := signals.ByID("crack-spread-321")
		l := localizer{Lang: lang}
		e := evidenceBody{localizer: l, Def: l.Own(english), Signal: &view.Signal{Definition: english}}
		const brief = "a - b * c:\n\n    z = (a - b) * 2\n- c"
		if got := formulaLine.ReplaceAllStringFunc(brief, operators.Replace); got != "a - b * c:\n\n    z = (a − b) × 2\n- c" {
			t.Errorf("a brief has %s", got)
		}
		if got := e.Formula("(2 * 42 * 2 - 3 * -1) / 3"); got != "(2 × 42 × 2 − 3 × -1) / 3" {
			t.Errorf("in %s: %s", lang, got)
		}
	}
}
