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

func TestOtherDaysOfAMonthlySignalAreMonths(t *testing.T) {
	t.Parallel()
	day := func(month time.Month) time.Time { return time.Date(2026, month, 1, 0, 0, 0, 0, time.UTC) }
	later := day(11).Format(time.DateOnly)
	other := &view.OtherDay{Asked: "2026-03-15", Shown: day(1).Format(time.DateOnly), Later: &later}
	for _, c := range []struct {
		id         string
		lang       picks.Lang
		days       [2]string
		none, next string
	}{
		{"iowa-corn-yield", "en", [2]string{"Earlier: 2025 crop", "Later: November 2026"}, "No figure refers to March 1, 2026 or an earlier day. Later: November 2026", "/evidence/iowa-corn-yield/2026-11-01"},
		{"iowa-corn-yield", "hi", [2]string{"इससे पहले: 2025 की फ़सल", "इसके बाद: नवंबर 2026"}, "1 मार्च 2026 या उससे पहले के किसी दिन का कोई आँकड़ा नहीं है। इसके बाद: नवंबर 2026", "/evidence/iowa-corn-yield/2026-11-01"},
		{"hormuz-transit", "en", [2]string{"Earlier: January 1, 2026", "Later: November 1, 2026"}, "No figure refers to March 1, 2026 or an earlier day. Later: November 1, 2026", "/evidence/hormuz-transit/2026-11-01"},
	} {
		l := localizer{Lang: c.lang}
		d, _ := signals.ByID(c.id)
		if got := otherDays(l, d, other, ""); got[0].Text != c.days[0] || got[1].Text != c.days[1] {
			t.Errorf("%s in %s leads to %v, want %v", c.id, c.lang, got, c.days)
		}
		if got := noNumber(d, &view.NoSuchDayError{Day: day(3), First: day(11)}, time.Time{}); got.In(c.lang) != c.none || got.Next.Path != c.next {
			t.Errorf("%s in %s: %q to %s", c.id, c.lang, got.In(c.lang), got.Next.Path)
		}
	}
}

func TestTheEvidenceHasNoPercentageOfAMargin(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]int{"lng-arbitrage": 1, "crack-spread-321": 1, "hormuz-transit": 2} {
		d, _ := signals.ByID(id)
		e := evidenceBody{Def: d, Evidence: &view.Evidence{Steps: []view.EvidenceStep{{Name: "value"}, {Name: "delta_vs_baseline_pct"}}}}
		if got := e.Steps(); len(got) != want || got[0].Name != "value" {
			t.Errorf("%s shows the steps %v, want %d", id, got, want)
		}
	}
}
