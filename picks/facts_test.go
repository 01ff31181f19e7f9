package picks

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/equity"
)

// fact is a figure in US dollars of the us-gaap taxonomy; from is empty for a balance.
func fact(tag, from, to string, value float64, form, filed string) equity.Fact {
	f := equity.Fact{Taxonomy: "us-gaap", Tag: tag, Unit: "USD", End: day(to), Value: value, Form: form, Filed: day(filed), Accession: form + " " + filed}
	if from != "" {
		f.Start = day(from)
	}
	return f
}

func TestWhichStatementCounts(t *testing.T) {
	t.Parallel()
	year := Period{day("2025-01-01"), day("2025-12-31")}
	const from, to = "2025-01-01", "2025-12-31"
	for _, c := range []struct {
		name  string
		facts []equity.Fact
		asOf  string
		want  float64
	}{
		{"the only one", []equity.Fact{fact("Revenues", from, to, 1, "10-K", "2026-02-20")}, "2026-06-01", 1},
		{"the later of two", []equity.Fact{fact("Revenues", from, to, 1, "10-K", "2026-02-20"), fact("Revenues", from, to, 2, "10-K/A", "2026-03-20")}, "2026-06-01", 2},
		{"the earlier before the later was filed", []equity.Fact{fact("Revenues", from, to, 1, "10-K", "2026-02-20"), fact("Revenues", from, to, 2, "10-K/A", "2026-03-20")}, "2026-03-19", 1},
		{"on the day of filing", []equity.Fact{fact("Revenues", from, to, 1, "10-K", "2026-02-20")}, "2026-02-20", 1},
		{"none before the first", []equity.Fact{fact("Revenues", from, to, 1, "10-K", "2026-02-20")}, "2026-02-19", 0},
		{"a proxy statement never", []equity.Fact{fact("Revenues", from, to, 1000, "DEF 14A", "2026-04-20"), fact("Revenues", from, to, 1, "10-K", "2026-02-20")}, "2026-06-01", 1},
		{"nor a current report", []equity.Fact{fact("Revenues", from, to, 1000, "8-K", "2026-04-20")}, "2026-06-01", 0},
		{"an annual report before a later foreign interim one", []equity.Fact{fact("Revenues", from, to, 1, "20-F", "2026-04-20"), fact("Revenues", from, to, 5, "6-K", "2026-05-20")}, "2026-06-01", 1},
		{"a foreign interim report where there is no other", []equity.Fact{fact("Revenues", from, to, 5, "6-K", "2026-05-20")}, "2026-06-01", 5},
		{"the total of two tags of one filing", []equity.Fact{fact("SalesRevenueNet", from, to, 3, "10-K", "2026-02-20"), fact("Revenues", from, to, 1, "10-K", "2026-02-20")}, "2026-06-01", 3},
		{"another period is another figure", []equity.Fact{fact("Revenues", "2025-01-02", to, 1, "10-K", "2026-02-20")}, "2026-06-01", 0},
		{"a quarter of the fiscal year is not the year", []equity.Fact{fact("Revenues", "2025-10-01", to, 1, "10-K", "2026-02-20")}, "2026-06-01", 0},
	} {
		got := NewBook(c.facts, day(c.asOf)).over(revenue, year)
		if got.Value != c.want || got.Known() != (c.want > 0) {
			t.Errorf("%s: %v, want %v", c.name, got.Value, c.want)
		}
	}
}

func TestFiscalYearsAreThoseOfAnnualReports(t *testing.T) {
	t.Parallel()
	income := func(from, to, form, filed string) equity.Fact {
		return fact("NetIncomeLoss", from, to, 1, form, filed)
	}
	cash := func(from, to string) equity.Fact {
		return fact("NetCashProvidedByUsedInOperatingActivities", from, to, 1, "10-K", "2026-02-20")
	}
	for _, c := range []struct {
		name  string
		facts []equity.Fact
		want  string
	}{
		{"calendar years", []equity.Fact{income("2024-01-01", "2024-12-31", "10-K", "2025-02-20"), income("2025-01-01", "2025-12-31", "10-K", "2026-02-20")}, "2025-12-31 2024-12-31"},
		{"years of 52 and 53 weeks", []equity.Fact{income("2022-09-25", "2023-09-30", "10-K", "2025-11-01"), income("2023-10-01", "2024-09-28", "10-K", "2025-11-01"), income("2024-09-29", "2025-09-27", "10-K", "2025-11-01")}, "2025-09-27 2024-09-28 2023-09-30"},
		{"twelve months in a quarterly report are no year", []equity.Fact{income("2025-01-01", "2025-12-31", "10-K", "2026-02-20"), income("2025-04-01", "2026-03-31", "10-Q", "2026-05-05")}, "2025-12-31"},
		{"a single quarter in an annual report is none", []equity.Fact{income("2025-10-01", "2025-12-31", "10-K", "2026-02-20")}, ""},
		{"years of cash flow go on where net income ends", []equity.Fact{
			income("2023-01-01", "2023-12-31", "10-K", "2024-02-20"), cash("2023-01-01", "2023-12-31"), cash("2024-01-01", "2024-12-31"), cash("2025-01-01", "2025-12-31"),
		}, "2025-12-31 2024-12-31 2023-12-31"},
		{"a year of cash flow with a mistyped date is none", []equity.Fact{income("2025-01-01", "2025-12-31", "10-K", "2026-02-20"), cash("2025-01-15", "2026-01-15")}, "2025-12-31"},
		{"a missing year ends the list", []equity.Fact{income("2022-01-01", "2022-12-31", "10-K", "2023-02-20"), income("2024-01-01", "2024-12-31", "10-K", "2025-02-20"), income("2025-01-01", "2025-12-31", "10-K", "2026-02-20")}, "2025-12-31 2024-12-31"},
	} {
		var ends []string
		for _, y := range NewBook(c.facts, day("2026-06-01")).Years() {
			ends = append(ends, y.End.Format(time.DateOnly))
		}
		if got := strings.Join(ends, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTrailingTwelveMonths(t *testing.T) {
	t.Parallel()
	annual := func(tag string, v float64) equity.Fact {
		return fact(tag, "2025-01-01", "2025-12-31", v, "10-K", "2026-02-20")
	}
	base := []equity.Fact{annual("NetIncomeLoss", 40)}
	for _, c := range []struct {
		name  string
		facts []equity.Fact
		want  float64
		end   string
	}{
		{"the year, when nothing is newer", []equity.Fact{annual("Revenues", 400)}, 400, "2025-12-31"},
		{"year plus half a year minus the half before", []equity.Fact{
			annual("Revenues", 400), fact("Revenues", "2026-01-01", "2026-06-30", 230, "10-Q", "2026-08-05"), fact("Revenues", "2025-01-01", "2025-06-30", 190, "10-Q", "2026-08-05"),
		}, 440, "2026-06-30"},
		{"the quarter alone is no year to date", []equity.Fact{
			annual("Revenues", 400), fact("Revenues", "2026-04-01", "2026-06-30", 120, "10-Q", "2026-08-05"), fact("Revenues", "2025-04-01", "2025-06-30", 100, "10-Q", "2026-08-05"),
		}, 400, "2025-12-31"},
		{"without the months of the year before it stays the year", []equity.Fact{
			annual("Revenues", 400), fact("Revenues", "2026-01-01", "2026-06-30", 230, "10-Q", "2026-08-05"),
		}, 400, "2025-12-31"},
		{"two tags are not mixed", []equity.Fact{
			annual("Revenues", 400), fact("SalesRevenueNet", "2026-01-01", "2026-06-30", 230, "10-Q", "2026-08-05"), fact("SalesRevenueNet", "2025-01-01", "2025-06-30", 190, "10-Q", "2026-08-05"),
		}, 400, "2025-12-31"},
		{"the tag with the newest figure counts, though it is later in the order", []equity.Fact{
			annual("Revenues", 400), annual("SalesRevenueNet", 401), fact("SalesRevenueNet", "2026-01-01", "2026-03-31", 120, "10-Q", "2026-05-05"), fact("SalesRevenueNet", "2025-01-01", "2025-03-31", 100, "10-Q", "2026-05-05"),
		}, 421, "2026-03-31"},
	} {
		got := NewBook(slices.Concat(base, c.facts), day("2026-09-01")).trailing(revenue)
		if got.Value != c.want || got.Over.End != day(c.end) {
			t.Errorf("%s: %v to %s, want %v to %s", c.name, got.Value, got.Over.End.Format(time.DateOnly), c.want, c.end)
		}
	}
}

func TestUnknownIsNotZero(t *testing.T) {
	t.Parallel()
	facts := []equity.Fact{
		fact("NetIncomeLoss", "2024-01-01", "2024-12-31", 5, "10-K", "2026-02-20"), fact("NetIncomeLoss", "2025-01-01", "2025-12-31", 6, "10-K", "2026-02-20"),
		fact("Assets", "", "2025-12-31", 100, "10-K", "2026-02-20"), fact("Assets", "", "2024-12-31", 100, "10-K", "2026-02-20"),
		fact("LongTermDebt", "", "2025-12-31", 30, "10-K", "2026-02-20"),
	}
	b := NewBook(facts, day("2026-06-01"))
	if d := b.longTermDebt(Period{End: day("2025-12-31")}); d.Known() {
		t.Errorf("debt without its current part is %v", d.Value)
	}
	facts = append(facts, fact("LongTermDebtCurrent", "", "2025-12-31", 4, "10-K", "2026-02-20"))
	b = NewBook(facts, day("2026-06-01"))
	if d := b.longTermDebt(Period{End: day("2025-12-31")}); d.Value != 26 || len(d.From) != 2 {
		t.Errorf("total debt less the current part is %+v, want 26 from two facts", d)
	}
	s := b.FScore()
	for _, g := range s.Signals {
		if want := g.Name == SignalIncome; g.Known != want {
			t.Errorf("%q is known: %v, want %v", g.Name, g.Known, want)
		}
	}
	if s.Score != 1 || s.Known != 1 {
		t.Errorf("%d of %d", s.Score, s.Known)
	}
	if f := (Figure{Value: 5, From: facts[:1]}).over(Figure{Value: 0, From: facts[:1]}); f.Known() {
		t.Error("a division by zero is known")
	}
}

func TestNewSharesAreKnownFromProceedsOnlyWhereThereAreNone(t *testing.T) {
	t.Parallel()
	year, last := Period{day("2025-01-01"), day("2025-12-31")}, Period{day("2024-01-01"), day("2024-12-31")}
	for _, c := range []struct {
		name        string
		proceeds    float64
		known, good bool
	}{{"none were issued", 0, true, true}, {"some were", 7, false, false}} {
		b := NewBook([]equity.Fact{fact("ProceedsFromIssuanceOfCommonStock", "2025-01-01", "2025-12-31", c.proceeds, "10-K", "2026-02-20")}, day("2026-06-01"))
		if got := b.noNewShares(year, last); got.Known != c.known || got.Good != c.good {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// The figures are those of Apple, in millions: its reports of 2014 state its debt as LongTermDebt alone.
func TestDebtIsComparedByTotalsThatBothYearsState(t *testing.T) {
	t.Parallel()
	facts := []equity.Fact{
		fact("NetIncomeLoss", "2012-09-30", "2013-09-28", 37_037, "10-K", "2013-10-30"), fact("NetIncomeLoss", "2013-09-29", "2014-09-27", 39_510, "10-K", "2014-10-27"),
		fact("Assets", "", "2012-09-29", 176_064, "10-K", "2013-10-30"), fact("Assets", "", "2013-09-28", 207_000, "10-K", "2014-10-27"),
		fact("Assets", "", "2014-09-27", 231_839, "10-K", "2014-10-27"),
		fact("LongTermDebt", "", "2013-09-28", 16_960, "10-K", "2014-10-27"), fact("LongTermDebt", "", "2014-09-27", 28_987, "10-K", "2014-10-27"),
	}
	debt := func(facts []equity.Fact) FSignal { return NewBook(facts, day("2014-11-14")).FScore().Signals[4] }
	if s := debt(facts); s.Name != SignalDebt || !s.Known || s.Good {
		t.Errorf("debt that rose from 16,960 to 28,987 million: %+v", s)
	}
	zero := slices.Clone(facts)
	zero[5].Value = 0 // a note states zero beside debt under a company's own tag
	if s := debt(zero); s.Known {
		t.Errorf("debt that was zero in a note: %+v", s)
	}
	current := append(slices.Clone(facts), fact("LongTermDebtNoncurrent", "", "2014-09-27", 28_987, "10-K", "2014-10-27"))
	if s := debt(current); !s.Known || s.Good {
		t.Errorf("where one year alone states the part due after a year: %+v", s)
	}
}

func TestMarginsOfTwoYearsAreMadeInOneWay(t *testing.T) {
	t.Parallel()
	year, last := Period{day("2025-01-01"), day("2025-12-31")}, Period{day("2024-01-01"), day("2024-12-31")}
	facts := []equity.Fact{
		fact("Revenues", "2025-01-01", "2025-12-31", 100, "10-K", "2026-02-20"), fact("Revenues", "2024-01-01", "2024-12-31", 100, "10-K", "2026-02-20"),
		fact("CostOfRevenue", "2025-01-01", "2025-12-31", 60, "10-K", "2026-02-20"), fact("CostOfRevenue", "2024-01-01", "2024-12-31", 65, "10-K", "2026-02-20"),
		// Stated for one year only, after other costs: next to a derived margin it would look like a fall.
		fact("GrossProfit", "2025-01-01", "2025-12-31", 30, "10-K", "2026-02-20"),
	}
	got := NewBook(facts, day("2026-06-01")).marginRose(year, last)
	if !got.Known || !got.Good || got.Now.Value != 0.4 || got.Before.Value != 0.35 {
		t.Errorf("%+v, want 0.40 after 0.35", got)
	}
}

func TestExplainCitesEveryInput(t *testing.T) {
	t.Parallel()
	r := Rank(synthMarket(1, 30, pickDay), DefaultRules())
	text := r.Pick.Explain()
	for _, m := range r.Pick.Metrics {
		if m.Applies && !strings.Contains(text, "  "+m.ID+" ") {
			t.Errorf("%s is not explained", m.ID)
		}
		for _, f := range m.Facts {
			if !strings.Contains(text, f.Accession+" filed "+f.Filed.Format(time.DateOnly)) || !strings.Contains(text, f.Tag) {
				t.Errorf("%s: the fact %s of %s is not cited", m.ID, f.Tag, f.Accession)
			}
		}
	}
	if !strings.Contains(text, "closes from 2025-06-11 to 2026-05-13") || !strings.Contains(text, "as of 2026-06-14") {
		t.Errorf("the dates of the prices and of the reading are missing:\n%s", text)
	}
}

func TestFundamentals(t *testing.T) {
	t.Parallel()
	r := Rank(synthMarket(1, 30, pickDay), DefaultRules())
	losses := 0
	for _, s := range r.Scores {
		f := s.Fundamentals()
		if f.MarketCapUSDBn <= 0 || f.AsOf != day("2025-12-31") || f.RevenueGrowthPct != f.RevenueGrowthPct {
			t.Errorf("%s: %+v", s.Ticker, f)
		}
		if s.Income.Value < 0 {
			losses++
			if f.PE == f.PE {
				t.Errorf("%s loses money and has a price to earnings of %v", s.Ticker, f.PE)
			}
		}
	}
	if losses == 0 {
		t.Error("nobody loses money: the test shows less than it seems")
	}
}
