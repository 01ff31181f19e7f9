package pages

import (
	"html"
	"strings"
	"testing"
	"time"

	"tidemark/api/view"
	"tidemark/picks"
)

// The text says that it uses nothing filed on its day or later. The comparison of risk factors beside it may.
func TestTheComparisonOfRisksIsNotPartOfTheText(t *testing.T) {
	t.Parallel()
	p, err := New(Options{PublicURL: "https://tidemark.example"})
	if err != nil {
		t.Fatal(err)
	}
	read := time.Date(2026, 11, 23, 14, 0, 0, 0, time.UTC)
	for lang, want := range map[picks.Lang]string{
		"en": "This section is not part of the text above, and can use newer reports. The newest report was read on November 23, 2026.",
		"es": "Esta sección no forma parte del texto que precede y puede usar informes más recientes. El último informe se leyó el 23 de noviembre de 2026.",
		"pt": "Esta seção não faz parte do texto acima e pode usar relatórios mais recentes. O último relatório foi lido em 23 de novembro de 2026.",
		"hi": "यह भाग ऊपर के लेख का हिस्सा नहीं है और इसमें बाद की रिपोर्टों की जानकारी भी हो सकती है। सबसे नई रिपोर्ट 23 नवंबर 2026 को पढ़ी गई।",
	} {
		shown := func(readAt *time.Time) string {
			body := researchBody{localizer: localizer{Lang: lang}, Research: view.Research{RiskFactors: &view.RiskFactors{
				State: "compared", ReadAt: readAt, Report: &view.RiskReport{Form: "10-K", Filed: "2026-11-20", Section: view.RiskSectionRead}, Before: &view.RiskReport{Form: "10-K", Filed: "2025-11-20", Section: view.RiskSectionRead},
			}}}
			var out strings.Builder
			if err := p.templates["research"].ExecuteTemplate(&out, "main", body); err != nil {
				t.Fatal(err)
			}
			return html.UnescapeString(out.String())
		}
		if !strings.Contains(shown(&read), want) {
			t.Errorf("%s: the page does not say %q", lang, want)
		}
		if first, _, _ := strings.Cut(want, "."); strings.Contains(shown(nil), first) {
			t.Errorf("%s: nothing was read, and the page says %q", lang, first)
		}
	}
}
