package picks

import (
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
