package equity

import (
	"testing"
	"time"
)

func day(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestPriceKeepsTheTextThatIsHashed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in, want string
		float          float64
	}{
		{"two decimals", "182.50", "182.50", 182.5},
		{"four decimals", "0.0725", "0.0725", 0.0725},
		{"one decimal gains a zero", "182.5", "182.50", 182.5},
		{"no decimals gain two", "182", "182.00", 182},
		{"a last zero stays", "12.3400", "12.3400", 12.34},
	} {
		got, err := ParsePrice(c.in)
		if err != nil || string(got) != c.want || got.Float() != c.float {
			t.Errorf("%s: %q is %q (%v, %v), want %q", c.name, c.in, got, got.Float(), err, c.want)
		}
	}
	for _, bad := range []string{"", "0", "0.00", "-1.00", "+1", "1e2", "1,000.00", "$5", ".5", "5.", "007.00", "1.23456", "NaN", "1.2.3", "9999999999999", "١٢"} {
		if got, err := ParsePrice(bad); err == nil {
			t.Errorf("%q passes as %q", bad, got)
		}
	}
}

func TestPriceOfRoundsABinaryNumber(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v        float64
		decimals int
		want     Price
	}{
		{212.91531372070312, 2, "212.92"},
		{212.91531372070312, 4, "212.9153"},
		{0.1 + 0.2, 2, "0.30"},
		{5, 0, "5.00"},
		{5, 9, "5.0000"},
	} {
		if got, err := PriceOf(c.v, c.decimals); err != nil || got != c.want {
			t.Errorf("%v with %d decimals is %q (%v), want %q", c.v, c.decimals, got, err, c.want)
		}
	}
	if _, err := PriceOf(0.001, 2); err == nil {
		t.Error("a price that rounds to zero passes")
	}
}

func TestTickerHistory(t *testing.T) {
	t.Parallel()
	meta := Company{
		CIK: 1326801, Name: "Meta Platforms, Inc.",
		Listings: []Listing{
			{Ticker: "META", Exchange: "XNAS", From: day("2022-06-09")},
			{Ticker: "FB", Exchange: "XNAS", From: day("2012-05-18"), To: day("2022-06-08")},
		},
	}
	for _, c := range []struct{ day, want string }{
		{"2012-05-17", ""}, {"2012-05-18", "FB"}, {"2022-06-08", "FB"}, {"2022-06-09", "META"}, {"2026-01-02", "META"},
	} {
		if got := meta.Ticker(day(c.day)); got != c.want {
			t.Errorf("on %s the ticker is %q, want %q", c.day, got, c.want)
		}
	}
	alphabet := Company{Listings: []Listing{{Ticker: "GOOGL"}, {Ticker: "GOOG"}}}
	if got := alphabet.Ticker(day("2026-01-02")); got != "GOOGL" {
		t.Errorf("of two share classes %q stands for the company, want the first", got)
	}
	if got := meta.CIK.String(); got != "0001326801" {
		t.Errorf("CIK %s", got)
	}
}

func TestFactPeriodsAndActionTerms(t *testing.T) {
	t.Parallel()
	year := Fact{Start: day("2024-09-29"), End: day("2025-09-27")}
	if got := year.Days(); got != 364 {
		t.Errorf("a fiscal year of 52 weeks has %d days", got)
	}
	if got := (Fact{End: day("2025-09-27")}).Days(); got != 0 {
		t.Errorf("an instant has %d days", got)
	}
	for _, c := range []struct {
		action Action
		want   float64
	}{
		{Action{New: 4, Old: 1}, 4},
		{Action{New: 1, Old: 8}, 0.125},
		{Action{New: 3, Old: 2}, 1.5},
		{Action{}, 1},
		{Action{New: 4}, 1},
	} {
		if got := c.action.Ratio(); got != c.want {
			t.Errorf("%v for %v is %v, want %v", c.action.New, c.action.Old, got, c.want)
		}
	}
}
