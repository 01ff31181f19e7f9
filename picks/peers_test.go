package picks

import (
	"math"
	"slices"
	"testing"
	"time"

	"tidemark/internal/equity"
)

func TestPeersAreNearestByIndustryCodeThenBySize(t *testing.T) {
	t.Parallel()
	of := func(ticker string, sic int, worth float64) Score {
		s := Score{CIK: equity.CIK(sic*1000 + int(worth)), Ticker: ticker, SIC: sic, Sector: HealthCare}
		s.MarketValue = Figure{Value: worth, From: []equity.Fact{{}}}
		return s
	}
	own := of("OWN", 2834, 100)
	other := of("BANK", 2834, 101)
	other.Sector = Finance
	all := []Score{
		of("FAR", 8062, 100), own, of("SAME", 2834, 900), of("NEAR", 2834, 110), of("SMALL", 2834, 20), other, of("KIN", 2836, 100), of("COUSIN", 2890, 100), of("ELSE", 3841, 99),
	}
	var got []string
	for _, p := range peersOf(all, own) {
		got = append(got, p.Ticker)
	}
	// 2834 alike: 110 is nearer to 100 than 20, a fifth, and 900, nine times; then three digits alike, two, and none by size.
	if want := []string{"NEAR", "SMALL", "SAME", "KIN", "COUSIN"}; !slices.Equal(got, want) {
		t.Errorf("the peers are %v, want %v", got, want)
	}
}

// Apple filed the report on its first quarter on 2025-01-31, a Friday. The next was to be expected 52 weeks later, and was filed on that day.
func TestTheNextReportIsExpectedAYearAfterTheOneOfItsQuarter(t *testing.T) {
	t.Parallel()
	facts := recorded(t, apple)
	want := day("2026-01-30")
	expected, before, ok := NewBook(facts, day("2025-11-15")).nextReport(day("2025-11-15"))
	if !ok || !expected.Equal(want) || !before.Equal(day("2025-01-31")) {
		t.Errorf("expected on %s after %s (%v), want 2026-01-30 after 2025-01-31", expected.Format(time.DateOnly), before.Format(time.DateOnly), ok)
	}
	if !slices.ContainsFunc(facts, func(f equity.Fact) bool {
		return f.Tag == "Assets" && f.End.Equal(day("2025-12-27")) && f.Filed.Equal(want)
	}) {
		t.Error("the recorded report is of another day")
	}
	if _, _, ok := NewBook(facts, day("2026-01-30")).nextReport(day("2026-01-30")); !ok {
		t.Error("after that report nothing is expected")
	}
	if _, _, ok := NewBook(facts, day("2025-11-15")).nextReport(want); ok {
		t.Error("a day that has come is still expected")
	}
}

// Apple's reports on the fiscal years that ended with June and with September 2025, in billions: revenue of the twelve months 408.6 and 416.2, net
// income 99.3 and 112.0, which their statements give as 391.035 + 313.695 - 296.105 and so on.
func TestWhatTheLastReportChanged(t *testing.T) {
	t.Parallel()
	s := newScore(equity.Company{CIK: 320193, Name: "Apple", SIC: 3571}, day("2025-11-15"))
	if err := s.readBook(Candidate{Facts: recorded(t, apple)}, day("2025-11-15"), DefaultRules()); err != nil {
		t.Fatal(err)
	}
	before, ok := s.beforeLastReport()
	if !ok || !before.Income.Over.End.Equal(day("2025-06-28")) || !s.Income.Over.End.Equal(day("2025-09-27")) {
		t.Fatalf("from %v to %v, %v", before.Income.Over.End, s.Income.Over.End, ok)
	}
	for i, want := range []struct {
		id          string
		before, now float64
	}{{"revenue", 408.625e9, 416.161e9}, {"gross_margin", 0.4667, 0.4691}, {"net_income", 99.280e9, 112.010e9}, {"net_margin", 0.2430, 0.2692}} {
		a, b := before.lines()[i], s.lines()[i]
		if a.id != want.id || b.id != want.id || math.Abs(a.figure.Value/want.before-1) > 3e-4 || math.Abs(b.figure.Value/want.now-1) > 3e-4 {
			t.Errorf("%s: %v and %v, want %s %v and %v", a.id, a.figure.Value, b.figure.Value, want.id, want.before, want.now)
		}
	}
}

// Apple's price to earnings at the ends of the quarters of 2017 to 2022, by its closes and the net income and diluted shares that it had reported by
// then. At the end of 2018 it had reported 59.531 billion and 5.000 billion shares, and closed at 157.74: 13.25 times, the lowest. At the end of
// 2020 it had reported 57.411 billion and 17.528 billion shares, and closed at 132.69: 40.51 times, the highest.
func TestTheRangeOfACompanysOwnValuations(t *testing.T) {
	t.Parallel()
	pick := day("2022-10-14")
	for _, c := range bookMarket(t, pick).Candidates {
		if c.Company.Name != "AAPL" {
			continue
		}
		s := newScore(c.Company, pick)
		if err := s.readBook(c, pick, DefaultRules()); err != nil {
			t.Fatal(err)
		}
		r, ok := s.valuations(c.History, pick)
		if !ok || !r.from.Equal(day("2017-12-31")) || math.Abs(r.low-13.25) > 0.01 || math.Abs(r.high-40.51) > 0.01 || r.median <= r.low || r.median >= r.high || r.known != 20 || r.quarters != 20 {
			t.Errorf("%+v, %v", r, ok)
		}
		// Without what was filed on a year, the ends of quarters at which nothing newer was known are counted, and left out.
		gap := c
		gap.Facts = slices.DeleteFunc(slices.Clone(c.Facts), func(f equity.Fact) bool { return f.Filed.After(day("2019-06-30")) && f.Filed.Before(day("2020-06-30")) })
		left := newScore(c.Company, pick)
		if err := left.readBook(gap, pick, DefaultRules()); err != nil {
			t.Fatal(err)
		}
		if r, ok := left.valuations(c.History, pick); !ok || r.quarters != 20 || r.known >= 20 || r.known < 12 || !r.from.Equal(day("2017-12-31")) {
			t.Errorf("with a gap %+v, %v", r, ok)
		}
		young := c.History
		young.Bars = young.Bars[len(young.Bars)-500:]
		if r, ok := s.valuations(young, pick); ok {
			t.Errorf("two years of prices give a range of five: %+v", r)
		}
	}
}

// What the filings state of the newest quarter and of the same quarter of the year before, in millions. A quarter after a fiscal year of 53 weeks ends
// 371 days after its namesake, and the one of Home Depot's 53rd week has 98 days.
func TestTheNewestQuarterIsComparedWithTheSameOfTheYearBefore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ticker, pick string
		now, before  float64
		days, then   int
	}{
		{"INTC", "2022-10-14", 15321, 19631, 91, 91},
		{"DIS", "2021-11-15", 17022, 11779, 91, 91},
		{"PFE", "2021-11-15", 24094, 10277, 91, 91},
		{"HD", "2020-05-15", 25782, 26491, 91, 98},
		{"MSFT", "2022-10-14", 51865, 46152, 91, 91},
	} {
		s := newScore(equity.Company{Name: c.ticker, SIC: sicOf[c.ticker]}, day(c.pick))
		if err := s.readBook(Candidate{Facts: recorded(t, "../facts-trimmed/"+c.ticker+".json")}, day(c.pick), DefaultRules()); err != nil {
			t.Fatal(err)
		}
		now, before := s.lastQuarters()
		if now.Value != c.now*1e6 || before.Value != c.before*1e6 || now.Over.Days() != c.days || before.Over.Days() != c.then {
			t.Errorf("%s on %s: %v over %v and %v over %v", c.ticker, c.pick, now.Value, now.Over, before.Value, before.Over)
		}
	}
}
