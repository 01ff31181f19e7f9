package pages

import (
	"strings"
	"testing"
	"time"

	"tidemark/api/view"
	"tidemark/internal/equity"
	"tidemark/picks"
)

func TestTheItemsOfAFilingHaveTheirTitles(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	e, ok := picks.FilingEvent(equity.Company{CIK: 1, Name: "Acme Inc.", Listings: []equity.Listing{{Ticker: "ACME", Exchange: "XNAS"}}}, equity.Filing{Form: "8-K", Filed: day, Items: []string{"1.01", "2.05", "9.99"}})
	if !ok {
		t.Fatal("a current report is not an event")
	}
	for lang, want := range map[picks.Lang]string{
		"en": "November 23, 2026. Items: 1.01 (Entry into a Material Definitive Agreement), 2.05 (Costs Associated with Exit or Disposal Activities), 9.99.",
		"es": "23 de noviembre de 2026. Apartados: 1.01 (Celebración de un acuerdo definitivo importante), 2.05 (Costes de cese o venta de actividades), 9.99.",
		"pt": "23 de novembro de 2026. Itens: 1.01 (Celebração de contrato definitivo relevante), 2.05 (Custos de encerramento ou venda de atividades), 9.99.",
		"hi": "दाख़िल हुआ। मद: 1.01 (महत्वपूर्ण अंतिम समझौता करना), 2.05 (कारोबार से निकलने या उसे बेचने की लागत), 9.99।",
	} {
		text, err := e.Text(lang)
		if err != nil {
			t.Fatal(err)
		}
		shown := view.Event{Type: string(e.Type), Body: text.Body, Lang: lang}
		if got := (localizer{Lang: "en"}).EventText(shown); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
		shown.Type = string(picks.PriceMove)
		if got := (localizer{Lang: lang}).EventText(shown); got != text.Body {
			t.Errorf("%s: a number of another event is told as an item: %q", lang, got)
		}
	}
}
