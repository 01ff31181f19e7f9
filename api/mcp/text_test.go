package mcp

import (
	"strings"
	"testing"

	"tidemark/api/view"
)

func TestNumbersForAgentsAreWrittenAsOnThePages(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0.93: "+0.93%", -1.85: "−1.85%", 0: "0.00%", -0.001: "0.00%", 0.001: "0.00%"} {
		if got := signed(&v); got != want {
			t.Errorf("%g is %q, want %q", v, got, want)
		}
	}
	var a view.PortfolioSummary
	a.CashPct, a.ReturnPct, a.ExcessReturnPct = 54.37, new(0.93), new(-1.85)
	text := portfolioText(a)
	for _, want := range []string{": +0.93%;", "difference −1.85 percentage points.", "one month not applicable", "54.37% cash"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}
