package picks

import (
	"testing"

	"tidemark/internal/concepts"
	"tidemark/internal/equity"
)

// The totals of the companies' own income statements, in millions.
func TestRevenueOfTwelveMonthsIsTheTotalOfTheIncomeStatement(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ticker, end, tag string
		want             float64
		why              concepts.Reason
	}{
		{"AXP", "2026-03-31", "RevenuesNetOfInterestExpense", 74169, concepts.NetOfInterest},
		{"WMT", "2026-04-30", "Revenues", 725305, concepts.Largest},
		{"CVX", "2026-03-31", "Revenues", 190028, concepts.Largest},
		// The newest quarter has contract revenue alone, which was the same as the total of the year.
		{"COST", "2026-05-10", "RevenueFromContractWithCustomerExcludingAssessedTax", 293587, concepts.Only},
		{"JPM", "2026-03-31", "RevenuesNetOfInterestExpense", 186973, concepts.Only},
		{"AAPL", "2026-03-28", "RevenueFromContractWithCustomerExcludingAssessedTax", 451442, concepts.Only},
		{"GOOGL", "2026-06-30", "Revenues", 445866, concepts.Only},
		// The file has net income up to 2013 alone: it would be the revenue of 2013. 32,791 of 2025 + 8,398 - 7,250.
		{"MA", "2026-03-31", "Revenues", 33939, concepts.Only},
	} {
		t.Run(c.ticker, func(t *testing.T) {
			t.Parallel()
			got := NewBook(recorded(t, "../facts-trimmed/"+c.ticker+".json"), day("2026-07-24")).trailing(revenue)
			if got.Value != c.want*1e6 || !got.Over.End.Equal(day(c.end)) {
				t.Errorf("the twelve months to %s brought %v, want %v million to %s", got.Over.End.Format("2006-01-02"), got.Value, c.want, c.end)
			}
			t.Logf("%s: revenue of the twelve months to %s: %.2f billion", c.ticker, c.end, got.Value/1e9)
			if got.Why != c.why || len(got.From) != 3 || got.From[1].Tag != c.tag {
				t.Errorf("taken because %q from %+v, want %q and %s", got.Why, got.From, c.why, c.tag)
			}
		})
	}
}

func stated(tag, accession, start, end string, value float64) equity.Fact {
	f := equity.Fact{
		CIK: 7, Taxonomy: "us-gaap", Tag: tag, Unit: "USD", End: day(end), Value: value, Accession: accession, Form: "10-Q",
		Filed: day(end).AddDate(0, 1, 0),
	}
	if start != "" {
		f.Start = day(start)
	}
	if f.Days() > 300 {
		f.Form = "10-K"
	}
	return f
}

func TestMonthsUnderATagThatStatesAPartAreNotAddedToATotal(t *testing.T) {
	t.Parallel()
	const contract = "RevenueFromContractWithCustomerExcludingAssessedTax"
	facts := []equity.Fact{
		stated("NetIncomeLoss", "k", "2024-01-01", "2024-12-31", 10),
		stated("Revenues", "k", "2024-01-01", "2024-12-31", 100), stated(contract, "k", "2024-01-01", "2024-12-31", 60),
		stated(contract, "q", "2025-01-01", "2025-03-31", 20), stated(contract, "q", "2024-01-01", "2024-03-31", 15),
	}
	got := NewBook(facts, day("2025-06-30")).trailing(revenue)
	if got.Value != 100 || !got.Over.End.Equal(day("2024-12-31")) {
		t.Errorf("revenue is %v to %v, want the year's 100: the quarter states a part alone", got.Value, got.Over.End)
	}
	facts = append(facts, stated("Revenues", "q", "2025-01-01", "2025-03-31", 30), stated("Revenues", "q", "2024-01-01", "2024-03-31", 22))
	if got := NewBook(facts, day("2025-06-30")).trailing(revenue); got.Value != 108 {
		t.Errorf("revenue is %v, want 100 + 30 - 22", got.Value)
	}
	if now := NewBook(facts, day("2025-06-30")).quarter(revenue, day("2025-03-31")); now.Value != 30 {
		t.Errorf("the quarter brought %v, want the total of 30", now.Value)
	}
}

// The figures are those of Amazon, in millions. Its reports of 2017 and of 2018 state the nine months of 2017 under two tags. No report has both.
func TestTheTwelveMonthsAreKnownInTheFirstYearOfANewTag(t *testing.T) {
	t.Parallel()
	const contract = "RevenueFromContractWithCustomerExcludingAssessedTax"
	facts := []equity.Fact{
		stated("NetIncomeLoss", "k17", "2017-01-01", "2017-12-31", 3033), stated("SalesRevenueNet", "k17", "2017-01-01", "2017-12-31", 177_866),
		stated("SalesRevenueNet", "q17", "2017-01-01", "2017-09-30", 117_413),
		stated(contract, "q18", "2018-01-01", "2018-09-30", 160_504), stated(contract, "q18", "2017-01-01", "2017-09-30", 117_413),
	}
	got := NewBook(facts, day("2018-11-15")).trailing(revenue)
	if got.Value != 220_957 || !got.Over.End.Equal(day("2018-09-30")) {
		t.Errorf("revenue is %v to %v, want 177,866 + 160,504 - 117,413 to September 2018", got.Value, got.Over.End)
	}
	facts[4].Value = 117_000 // restated under the new tag: the two are not the same thing
	if got := NewBook(facts, day("2018-11-15")).trailing(revenue); got.Over.End.Equal(day("2018-09-30")) {
		t.Errorf("revenue is %v to %v: the tags state other amounts of one period", got.Value, got.Over.End)
	}
}

// The figures are those of Vistra, in millions: losses on hedges are subtracted from contract revenue, and not in all periods.
func TestMonthsOfATotalCountWhereAPartIsLarger(t *testing.T) {
	t.Parallel()
	const contract = "RevenueFromContractWithCustomerExcludingAssessedTax"
	got := NewBook([]equity.Fact{
		stated("NetIncomeLoss", "k", "2025-01-01", "2025-12-31", 10),
		stated("Revenues", "k", "2025-01-01", "2025-12-31", 17738), stated(contract, "k", "2025-01-01", "2025-12-31", 17586),
		stated("Revenues", "q", "2026-01-01", "2026-03-31", 5640), stated(contract, "q", "2026-01-01", "2026-03-31", 5001),
		stated("Revenues", "q", "2025-01-01", "2025-03-31", 3933), stated(contract, "q", "2025-01-01", "2025-03-31", 4250),
	}, day("2026-06-30")).trailing(revenue)
	if got.Value != 19445 || !got.Over.End.Equal(day("2026-03-31")) {
		t.Errorf("revenue is %v to %v, want 17,738 + 5,640 - 3,933 to March", got.Value, got.Over.End)
	}
}

func TestATotalAndAPartOfTwoYearsAreNoGrowth(t *testing.T) {
	t.Parallel()
	const contract = "RevenueFromContractWithCustomerExcludingAssessedTax"
	book := NewBook([]equity.Fact{
		stated("NetIncomeLoss", "a", "2023-01-01", "2023-12-31", 10), stated("Revenues", "a", "2023-01-01", "2023-12-31", 100),
		stated("NetIncomeLoss", "b", "2024-01-01", "2024-12-31", 10), stated(contract, "b", "2024-01-01", "2024-12-31", 60),
	}, day("2025-06-30"))
	if growth := (Score{Book: book}).revenueGrowth(); growth.Known() {
		t.Errorf("revenue passes for grown by %v: the years are stated under tags that are not known to be the same thing", growth.Value)
	}
}
