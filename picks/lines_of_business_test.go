package picks

import (
	"math"
	"testing"

	"tidemark/internal/equity"
)

func flow(tag string, value float64) equity.Fact {
	return stated(tag, "k", "2024-01-01", "2024-12-31", value)
}

func TestFundsFromOperationsAreIncomeAndDepreciationLessGains(t *testing.T) {
	t.Parallel()
	facts := []equity.Fact{flow("NetIncomeLoss", 100), flow("DepreciationAndAmortization", 80), flow("GainsLossesOnSalesOfInvestmentRealEstate", 30), flow("ImpairmentOfRealEstate", 5)}
	for n, want := range map[int]float64{1: 0, 2: 180, 3: 150, 4: 155} {
		b := NewBook(facts[:n], day("2025-06-30"))
		if f := b.funds(b.trailing(netIncome)); f.Value != want || f.Known() != (want > 0) {
			t.Errorf("of %d lines: %v, want %v", n, f.Value, want)
		}
	}
}

func TestTheCombinedRatioIsReadOnlyWhereAllPartsAreStated(t *testing.T) {
	t.Parallel()
	facts := []equity.Fact{
		flow("NetIncomeLoss", 8), flow("PremiumsEarnedNet", 100), flow("PolicyholderBenefitsAndClaimsIncurredNet", 65),
		flow("DeferredPolicyAcquisitionCostAmortizationExpense", 10), flow("OtherUnderwritingExpense", 17),
	}
	for n := 1; n <= len(facts); n++ {
		b := NewBook(facts[:n], day("2025-06-30"))
		r := b.combinedRatio(b.trailing(netIncome).Over)
		if r.Known() != (n == len(facts)) || r.Known() && math.Abs(r.Value-0.92) > 1e-12 {
			t.Errorf("of %d lines: %v", n, r.Value)
		}
	}
	life := append(facts[:4:4], flow("OtherUnderwritingExpense", 117))
	b := NewBook(life, day("2025-06-30"))
	if r := b.combinedRatio(b.trailing(netIncome).Over); r.Known() {
		t.Errorf("a ratio of %v is told: it is that of another business", r.Value)
	}
}

func TestTangibleEquityIsWithoutGoodwillOfAtMostAYearAgo(t *testing.T) {
	t.Parallel()
	old := stated("Goodwill", "k", "", "2023-12-31", 20)
	for _, c := range []struct {
		name  string
		facts []equity.Fact
		want  float64
	}{
		{"goodwill", []equity.Fact{balance("Goodwill", 20)}, 80},
		{"goodwill and more", []equity.Fact{balance("Goodwill", 20), balance("IntangibleAssetsNetExcludingGoodwill", 7)}, 73},
		{"goodwill of the year before", []equity.Fact{old}, 80},
		{"nothing stated", nil, -1},
	} {
		b := NewBook(append(c.facts, balance("Assets", 1000), balance("StockholdersEquity", 100)), day("2025-06-30"))
		f := b.tangible(b.commonEquity(day("2024-12-31")))
		if f.Known() != (c.want >= 0) || f.Known() && f.Value != c.want {
			t.Errorf("%s: %v, want %v", c.name, f.Value, c.want)
		}
	}
}
