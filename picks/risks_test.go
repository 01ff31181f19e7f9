package picks

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/equity"
)

func riskReport(form, filed string, state equity.RiskState, risks ...string) RiskReport {
	day, err := time.Parse(time.DateOnly, filed)
	if err != nil {
		panic(err)
	}
	return RiskReport{RiskFactors: equity.RiskFactors{State: state, Risks: risks}, Filing: equity.Filing{Form: form, Filed: day}}
}

const (
	rivals    = "We face many rivals, and they may take our customers."
	rivalsNow = "We face many new rivals, and they may take our largest customers."
	storms    = "Storms may damage our sites."
	debt      = "We may not be able to pay our debt in time."
	tariffs   = "New tariffs may raise our costs and reduce what we sell."
)

func TestRiskFactorsOfTwoYears(t *testing.T) {
	t.Parallel()
	c := CompareRisks([]RiskReport{
		riskReport("10-K", "2023-02-10", equity.RisksRead, "It is too old to be compared."),
		riskReport("10-K", "2024-02-10", equity.RisksRead, rivals, storms, debt),
		riskReport("10-Q", "2024-05-02", equity.RisksRead, tariffs), // before the newest annual report
		riskReport("10-K", "2025-02-11", equity.RisksRead, "STORMS may damage our sites", rivalsNow, tariffs),
		riskReport("10-Q", "2025-05-01", equity.RisksUnchanged),
		riskReport("10-Q", "2025-08-01", equity.RisksRead, tariffs, debt),
		riskReport("10-Q", "2025-11-01", equity.RisksNotFound),
	})
	if c.State != RisksCompared || c.Same != 1 || c.Before.Filing.Filed.Year() != 2024 {
		t.Errorf("%s, %d unchanged", c.State, c.Same)
	}
	// Ten words are in both: we, face, many, rivals, and, they, may, take, our, customers. "new" and "largest" are in one.
	if d := cmp.Diff([]Reworded{{rivals, rivalsNow, 10.0 / 12}}, c.Reworded); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([][]string{{tariffs}, {debt}}, [][]string{c.Added, c.Removed}); d != "" {
		t.Error(d)
	}
	if len(c.Quarters) != 3 || c.Quarters[0].Compared || !c.Quarters[1].Compared || c.Quarters[2].Compared {
		t.Fatalf("%+v", c.Quarters)
	}
	if d := cmp.Diff([][]string{{debt}, {tariffs}}, [][]string{c.Quarters[1].Added, c.Quarters[1].Repeated}); d != "" {
		t.Error(d)
	}
}

// Unread reports are never reported as unchanged.
func TestRiskFactorsThatCannotBeCompared(t *testing.T) {
	t.Parallel()
	read := riskReport("10-K", "2024-02-10", equity.RisksRead, rivals, storms, debt)
	byParagraph := riskReport("10-K", "2025-02-11", equity.RisksRead, rivals, storms, debt)
	byParagraph.ByParagraph = true
	for _, c := range []struct {
		fact    string
		reports []RiskReport
		want    RiskComparison
	}{
		{"nothing was read", nil, RisksNotRead},
		{"one report", []RiskReport{read}, RisksNotRead},
		{"only a quarterly report", []RiskReport{riskReport("10-Q", "2025-05-01", equity.RisksUnchanged)}, RisksNotRead},
		{"no section in the newer report", []RiskReport{read, riskReport("10-K", "2025-02-11", equity.RisksNotFound)}, RisksNotRead},
		{"no section in the older report", []RiskReport{riskReport("10-K", "2023-02-11", equity.RisksElsewhere), read}, RisksNotRead},
		{"headings and paragraphs", []RiskReport{read, byParagraph}, RisksUnlike},
		{"nothing in common", []RiskReport{read, riskReport("10-K", "2025-02-11", equity.RisksRead, "One.", "Two.", "Three.")}, RisksUnlike},
		{"the same", []RiskReport{read, read}, RisksCompared},
	} {
		got := CompareRisks(c.reports)
		if got.State != c.want || got.State != RisksCompared && len(got.Added)+len(got.Removed)+len(got.Reworded)+got.Same > 0 {
			t.Errorf("%s: %+v", c.fact, got)
		}
	}
}

func TestEachRiskHasOnePartner(t *testing.T) {
	t.Parallel()
	d := compareTexts([]string{"a b c d e", "a b c d f"}, []string{"a b c d g", "z"})
	if diff := cmp.Diff([]Reworded{{"a b c d e", "a b c d g", 4.0 / 6}}, d.reworded); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"z"}, {"a b c d f"}}, [][]string{d.added, d.removed}); diff != "" {
		t.Error(diff)
	}
}
