package picks

import (
	"testing"

	"tidemark/internal/equity"
)

func counted(tag, start, end string, millions float64) equity.Fact {
	f := stated(tag, "q", start, end, millions*1e6)
	f.Unit = "shares"
	if tag == coverShares.Tags[0] {
		f.Taxonomy = "dei"
	}
	return f
}

// trustee are counts on four covers, the last three as given, over averages of 894 to 896 million.
func trustee(second, third, last float64) []equity.Fact {
	const cover, basic = "EntityCommonStockSharesOutstanding", "WeightedAverageNumberOfSharesOutstandingBasic"
	return []equity.Fact{
		counted(cover, "", "2024-08-04", 946), counted(cover, "", "2024-10-27", second), counted(cover, "", "2025-02-09", third), counted(cover, "", "2025-04-27", last),
		counted(basic, "2024-07-01", "2024-09-30", 896), counted(basic, "2024-01-01", "2024-12-31", 896), counted(basic, "2025-01-01", "2025-03-31", 894),
	}
}

func TestTheNumberOfSharesIsOfAllClassesAndOfToday(t *testing.T) {
	t.Parallel()
	const (
		cover, basic = "EntityCommonStockSharesOutstanding", "WeightedAverageNumberOfSharesOutstandingBasic"
		onBalance    = "CommonStockSharesOutstanding"
	)
	split := History{Actions: []equity.Action{{Kind: equity.Split, Date: day("2025-06-02"), New: 2, Old: 1}}}
	for _, c := range []struct {
		name  string
		cik   equity.CIK
		facts []equity.Fact
		h     History
		want  float64 // million
	}{
		{"the cover", 7, []equity.Fact{counted(cover, "", "2025-04-25", 100), counted(basic, "2025-01-01", "2025-03-31", 101)}, History{}, 100},
		// Alphabet: 5,824 of class A, 5,456 of class C and 836 of class B; the cover of one class is not a count of all.
		{"one class of three on the cover", 7, []equity.Fact{
			counted(cover, "", "2025-04-25", 5824), counted(basic, "2025-01-01", "2025-03-31", 12150), counted(onBalance, "", "2025-03-31", 12116),
		}, History{}, 12116},
		{"one class that is more than half", 7, []equity.Fact{counted(cover, "", "2025-04-25", 70), counted(basic, "2025-01-01", "2025-03-31", 100)}, History{}, 100},
		{"new shares that the balance sheet has too", 7, []equity.Fact{
			counted(cover, "", "2025-04-25", 160), counted(basic, "2025-01-01", "2025-03-31", 100), counted(onBalance, "", "2025-03-31", 158),
		}, History{}, 160},
		{"a cover of years ago", 7, []equity.Fact{counted(cover, "", "2021-04-25", 100)}, History{}, 0},
		{"a cover of years ago under an average of today", 7, []equity.Fact{counted(cover, "", "2021-04-25", 100), counted(basic, "2025-01-01", "2025-03-31", 80)}, History{}, 80},
		{"issued less bought back", 7, []equity.Fact{
			counted("CommonStockSharesIssued", "", "2025-03-31", 400), counted("TreasuryStockCommonShares", "", "2025-03-31", 150), counted(basic, "2025-01-01", "2025-03-31", 251),
		}, History{}, 250},
		// An employee trust of Eli Lilly holds 50 of the 942 million shares on its cover.
		{"shares in a trust of the company", 7, trustee(945, 943, 942), History{}, 894},
		{"a cover above one average alone", 7, trustee(945, 900, 942), History{}, 942},
		// McDonald's states its averages in millions, in all reports since 2024.
		{"an average that is in millions by mistake", 7, []equity.Fact{
			counted(cover, "", "2025-04-25", 711), counted(basic, "2025-01-01", "2025-03-31", 713.5e-6),
		}, History{}, 711},
		{"nothing but an average that is in millions by mistake", 7, []equity.Fact{counted(basic, "2025-01-01", "2025-03-31", 713.5e-6)}, History{}, 0},
		{"a split since", 7, []equity.Fact{counted(cover, "", "2025-04-25", 100), counted(basic, "2025-01-01", "2025-03-31", 101)}, split, 200},
		{"thirteen shares in one that is listed", 1651308, []equity.Fact{counted(cover, "", "2025-04-25", 1430), counted(basic, "2025-01-01", "2025-03-31", 1420)}, History{}, 110},
		{"ten since the shares were divided", 1704292, []equity.Fact{counted(cover, "", "2025-04-25", 1100), counted(basic, "2025-01-01", "2025-03-31", 1090)}, History{}, 110},
	} {
		got := sharesOutstanding(NewBook(c.facts, day("2025-06-30")), c.cik, c.h, day("2025-06-30"))
		if got.Value != c.want*1e6 || got.Known() != (c.want > 0) {
			t.Errorf("%s: %v million (%+v), want %v", c.name, got.Value/1e6, got.From, c.want)
		}
	}
}

// Zai Lab had one share in each listed one until it divided its shares in ten.
func TestTheNumberOfSharesInAListedOneIsThatOfTheDay(t *testing.T) {
	t.Parallel()
	facts := []equity.Fact{counted("EntityCommonStockSharesOutstanding", "", "2022-02-15", 96)}
	facts[0].Filed = day("2022-03-01")
	if got := sharesOutstanding(NewBook(facts, day("2022-03-15")), 1704292, History{}, day("2022-03-15")); got.Value != 96e6 {
		t.Errorf("%v shares before the division, want 96 million", got.Value)
	}
}

// An old balance is not today's equity: a value that the newest balance does not state is unknown.
func TestEquityOfAnotherYearIsNotReadUnderIncomeOfToday(t *testing.T) {
	t.Parallel()
	m := synthMarket(5, 12, day("2026-03-16"))
	for i := range m.Candidates[0].Facts {
		if f := &m.Candidates[0].Facts[i]; f.Tag == bookEquity.Tags[0] && f.End.After(day("2022-01-01")) {
			f.Tag = "StockholdersEquityOfATagOfItsOwn"
		}
	}
	for _, s := range Rank(m, DefaultRules()).Scores {
		if s.CIK == m.Candidates[0].Company.CIK && (s.Equity.Known() || s.metric(ReturnOnEquity).Known() || s.metric(BookYield).Known()) {
			t.Errorf("equity of %v is read under income to %v", s.Equity.Over.End, s.Income.Over.End)
		}
	}
}
