package picks

import (
	"math"
	"testing"

	"tidemark/internal/equity"
	"tidemark/internal/locale"
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

// The cards of a bank, an insurer of property and a property trust tell the measures of their lines of business. Each is computed here from the
// facts of the made-up filings: twelve months are the year, for the newest report is an annual one.
func TestCardsOfBanksInsurersAndPropertyTrustsTellTheirMeasures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		sic    int
		want   map[string]func(at func(tag string) float64, worth float64) float64
		untold []string
	}{
		{"a bank", 6021, map[string]func(func(string) float64, float64) float64{
			"return_on_assets": func(at func(string) float64, _ float64) float64 { return 100 * at("NetIncomeLoss") / at("Assets") },
			"equity_to_assets": func(at func(string) float64, _ float64) float64 { return 100 * at("StockholdersEquity") / at("Assets") },
			"provision_ratio": func(at func(string) float64, _ float64) float64 {
				return 100 * at("ProvisionForLoanLeaseAndOtherLosses") / at("Assets")
			},
			"price_to_tangible": func(at func(string) float64, worth float64) float64 {
				return worth / (at("StockholdersEquity") - at("Goodwill"))
			},
		}, []string{"funds", "combined_ratio", "cash_flow", "free_cash_flow", "debt_ratio", "fscore"}},
		{"an insurer of property", 6331, map[string]func(func(string) float64, float64) float64{
			"combined_ratio": func(at func(string) float64, _ float64) float64 {
				return 100 * (at("PolicyholderBenefitsAndClaimsIncurredNet") + at("DeferredPolicyAcquisitionCostAmortizationExpense") + at("OtherUnderwritingExpense")) / at("PremiumsEarnedNet")
			},
		}, []string{"funds", "provisions", "cash_flow", "free_cash_flow", "debt_ratio", "fscore"}},
		{"a property trust", 6798, map[string]func(func(string) float64, float64) float64{
			"funds": func(at func(string) float64, _ float64) float64 {
				return at("NetIncomeLoss") + at("DepreciationAndAmortization")
			},
			"funds_yield": func(at func(string) float64, worth float64) float64 {
				return 100 * (at("NetIncomeLoss") + at("DepreciationAndAmortization")) / worth
			},
		}, []string{"pe", "peers_pe", "range_low", "earnings_yield", "combined_ratio", "provisions", "cash_flow", "free_cash_flow", "debt_ratio", "fscore"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := synthMarket(uint64(c.sic), 24, day("2026-03-16"))
			facts := map[equity.CIK][]equity.Fact{}
			for i := range m.Candidates {
				m.Candidates[i].Company.SIC = c.sic
				facts[m.Candidates[i].Company.CIK] = m.Candidates[i].Facts
			}
			r := Rank(m, DefaultRules())
			told := map[string]int{}
			for i, s := range r.Scores {
				picked := r
				picked.Pick = &r.Scores[i]
				b := NewBrief(picked, s, Background{})
				at := func(tag string) float64 {
					for _, f := range facts[s.CIK] {
						if f.Tag == tag && f.End.Equal(day("2025-12-31")) && (f.Start.IsZero() || f.Start.Equal(day("2025-01-01"))) {
							return f.Value
						}
					}
					return math.NaN()
				}
				for id, figure := range c.want {
					d, ok := b.Facts.Find(id)
					if !ok {
						continue
					}
					told[id]++
					scale := map[locale.Unit]float64{locale.Millions: 1e6, locale.Billions: 1e9}[d.Unit]
					want := figure(at, s.MarketValue.Value) / max(scale, 1)
					if math.Abs(d.Number()-want) > 0.0500001 {
						t.Errorf("%s of %s is %s %s, want %v", id, s.Ticker, d.Value, d.Unit, want)
					}
				}
				for _, id := range c.untold {
					if b.Facts.Has(id) {
						t.Errorf("the card of %s tells %s", s.Ticker, id)
					}
				}
			}
			for id := range c.want {
				if 2*told[id] < len(r.Scores) || len(r.Scores) < 12 {
					t.Errorf("%s is on %d of %d cards", id, told[id], len(r.Scores))
				}
			}
		})
	}
}
