package picks

import (
	"testing"
	"time"

	"tidemark/internal/equity"
)

func TestPreferredStockIsNoEquityOfCommonShares(t *testing.T) {
	t.Parallel()
	facts := []equity.Fact{
		balance("Assets", 1000), balance("StockholdersEquity", 100), balance("PreferredStockValue", 20), balance("PreferredStockLiquidationPreferenceValue", 25),
		stated("NetIncomeLoss", "k", "2024-01-01", "2024-12-31", 12), stated("PreferredStockDividendsIncomeStatementImpact", "k", "2024-01-01", "2024-12-31", 2),
	}
	b := NewBook(facts, day("2025-06-30"))
	if e := b.commonEquity(day("2024-12-31")); e.Value != 75 || len(e.From) != 2 {
		t.Errorf("common equity is %v of %+v, want 75", e.Value, e.From)
	}
	if i := b.commonIncome(b.trailing(netIncome)); i.Value != 10 {
		t.Errorf("income of common shares is %v, want 10", i.Value)
	}
	b = NewBook(facts[:2], day("2025-06-30"))
	if e := b.commonEquity(day("2024-12-31")); e.Value != 100 {
		t.Errorf("common equity without preferred stock is %v, want 100", e.Value)
	}
}

// A return on almost no equity is a large number that says nothing; on negative equity its sign is wrong.
func TestAReturnOnAlmostNoEquityIsNotStated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		share float64 // equity, as a part of the assets
		known bool
	}{{"a fifth", 0.20, true}, {"a twentieth", 0.051, true}, {"less", 0.049, false}, {"none", 0, false}, {"negative", -0.2, false}} {
		m := synthMarket(9, 12, day("2026-03-16"))
		facts := m.Candidates[0].Facts
		assetsAt := map[time.Time]float64{}
		for _, f := range facts {
			if f.Tag == "Assets" {
				assetsAt[f.End] = f.Value
			}
		}
		for i := range facts {
			if facts[i].Tag == "StockholdersEquity" {
				facts[i].Value = c.share * assetsAt[facts[i].End]
			}
		}
		r := Rank(m, DefaultRules())
		for _, s := range r.Scores {
			if s.CIK != m.Candidates[0].Company.CIK {
				continue
			}
			if got := s.metric(ReturnOnEquity).Known(); got != c.known {
				t.Errorf("%s: stated is %v", c.name, got)
			}
			if got := NewBrief(r, s, Background{}).Facts.Has("return_on_equity"); got != c.known {
				t.Errorf("%s: a text has it: %v", c.name, got)
			}
			if !s.metric(BookYield).Known() {
				t.Errorf("%s: the book yield is not", c.name)
			}
		}
	}
}

func TestLiquidFundsAreReadFromWhateverLinesStateThem(t *testing.T) {
	t.Parallel()
	at := Period{End: day("2024-12-31")}
	for _, c := range []struct {
		name  string
		facts []equity.Fact
		want  float64
	}{
		{"cash alone", []equity.Fact{balance("CashAndCashEquivalentsAtCarryingValue", 5)}, 5},
		{"a line of short-term investments", []equity.Fact{balance("CashAndCashEquivalentsAtCarryingValue", 5), balance("ShortTermInvestments", 7)}, 12},
		{"two lines, one within the other", []equity.Fact{
			balance("CashAndCashEquivalentsAtCarryingValue", 5), balance("ShortTermInvestments", 7), balance("AvailableForSaleSecuritiesDebtSecuritiesCurrent", 6),
		}, 12},
		{"both as one line", []equity.Fact{balance("CashCashEquivalentsAndShortTermInvestments", 12)}, 12},
		{"both as one line beside cash", []equity.Fact{balance("CashAndCashEquivalentsAtCarryingValue", 5), balance("CashCashEquivalentsAndShortTermInvestments", 12)}, 12},
		{"nothing", nil, -1},
	} {
		f := NewBook(append(c.facts, balance("Assets", 100)), day("2025-06-30")).liquidFunds(at)
		if f.Known() != (c.want >= 0) || f.Known() && f.Value != c.want {
			t.Errorf("%s: %v, want %v", c.name, f.Value, c.want)
		}
	}
}

// Facebook stated MarketableSecuritiesCurrent until 2018, and went on under another tag.
func TestSecuritiesGoOnUnderAnotherTag(t *testing.T) {
	t.Parallel()
	facts := recorded(t, "CIK0001326801.json")
	b := NewBook(facts, day("2021-04-30"))
	if f := b.liquidFunds(Period{End: day("2021-03-31")}); f.Value != (19513+44706)*1e6 {
		t.Errorf("liquid funds of %v million, want 64,219", f.Value/1e6)
	}
}
