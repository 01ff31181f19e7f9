package picks

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
)

// The factors are those of their papers, on the small examples that docs/method-picks.md prints. Each expected figure is worked out there by
// hand, from the definition in the paper.

// statements are three years of an invented company, in millions. The first year has only its closing balance.
func statements(change func(tag string, year int, v float64) float64) []equity.Fact {
	var facts []equity.Fact
	add := func(tag string, flow bool, values ...float64) {
		for i, v := range values {
			year := 2026 - len(values) + i
			end := fmt.Sprintf("%d-12-31", year)
			from := ""
			if flow {
				from = fmt.Sprintf("%d-01-01", year)
			}
			unit := "USD"
			if strings.HasPrefix(tag, "Weighted") {
				unit = "shares"
			}
			f := fact(tag, from, end, 1e6*change(tag, year, v), "10-K", "2026-02-20")
			f.Unit = unit
			facts = append(facts, f)
		}
	}
	add("NetIncomeLoss", true, 60, 90)
	add("NetCashProvidedByUsedInOperatingActivities", true, 70, 100)
	add("Revenues", true, 900, 1050)
	add("CostOfRevenue", true, 540, 609)
	add("Assets", false, 950, 1000, 1050)
	add("AssetsCurrent", false, 300, 330)
	add("LiabilitiesCurrent", false, 200, 200)
	add("LongTermDebtNoncurrent", false, 250, 240)
	add("WeightedAverageNumberOfDilutedSharesOutstanding", true, 100, 99)
	return facts
}

func unchanged(_ string, _ int, v float64) float64 { return v }

// Piotroski, Value Investing, Journal of Accounting Research 38 (2000), section 2.2: ROA and CFO are scaled by the assets at the beginning of the
// year, the change in leverage is of long-term debt to average assets, liquidity is the current ratio, the offering signal is good without new
// shares, the margin is gross profit over sales, and turnover is sales over the assets at the beginning of the year.
func TestTheNineSignalsAreThoseOfPiotroskisPaper(t *testing.T) {
	t.Parallel()
	want := map[string][2]float64{ // this year and the one before
		SignalIncome:    {90e6, math.NaN()},
		SignalCash:      {100e6, math.NaN()},
		SignalReturn:    {90.0 / 1000, 60.0 / 950},
		SignalAccruals:  {100e6, 90e6},
		SignalDebt:      {240 / ((1050.0 + 1000) / 2), 250 / ((1000.0 + 950) / 2)},
		SignalLiquidity: {330.0 / 200, 300.0 / 200},
		SignalShares:    {99e6, 100e6},
		SignalMargin:    {(1050.0 - 609) / 1050, (900.0 - 540) / 900},
		SignalTurnover:  {1050.0 / 1000, 900.0 / 950},
	}
	s := NewBook(statements(unchanged), day("2026-03-01")).FScore()
	if s.Score != 9 || s.Known != 9 {
		t.Errorf("%d of %d signals are good", s.Score, s.Known)
	}
	for _, g := range s.Signals {
		t.Logf("%-45s %12.4f %12.4f", g.Name, g.Now.Value, g.Before.Value)
		w, ok := want[g.Name]
		if !ok || math.Abs(g.Now.Value-w[0]) > 1e-9*math.Abs(w[0]) || !math.IsNaN(w[1]) && math.Abs(g.Before.Value-w[1]) > 1e-9*math.Abs(w[1]) {
			t.Errorf("%s: %v and %v, want %v", g.Name, g.Now.Value, g.Before.Value, w)
		}
	}
	// Each change turns one signal, or the two that share the figure.
	for _, c := range []struct {
		tag    string
		year   int
		v      float64
		turned string
	}{
		{"NetIncomeLoss", 2025, -10, SignalIncome + ", " + SignalReturn},
		{"NetCashProvidedByUsedInOperatingActivities", 2025, -1, SignalCash + ", " + SignalAccruals},
		{"NetIncomeLoss", 2024, 86, SignalReturn}, // 86 / 950 = 0.0905 is above 90 / 1000
		{"NetIncomeLoss", 2025, 101, SignalAccruals},
		{"LongTermDebtNoncurrent", 2025, 263, SignalDebt}, // 263 / 1025 = 0.2566 is above 250 / 975 = 0.2564
		{"LongTermDebtNoncurrent", 2025, 262, ""},         // more debt, and less of it for the assets: 0.2556
		{"AssetsCurrent", 2025, 300, SignalLiquidity},
		{"WeightedAverageNumberOfDilutedSharesOutstanding", 2025, 100.1, SignalShares},
		{"CostOfRevenue", 2025, 631, SignalMargin},                    // a margin of 0.3990, below 0.4
		{"Revenues", 2025, 947, SignalTurnover + ", " + SignalMargin}, // 0.947, below 0.9474, and a margin of 0.3569
		{"Assets", 2024, 1200, SignalTurnover},                        // 1050 / 1200 = 0.875; the debt falls all the same, from 250 / 1075 to 240 / 1125
	} {
		var bad []string
		s := NewBook(statements(func(tag string, year int, v float64) float64 {
			if tag == c.tag && year == c.year {
				return c.v
			}
			return v
		}), day("2026-03-01")).FScore()
		for _, g := range s.Signals {
			if !g.Good {
				bad = append(bad, g.Name)
			}
		}
		if got, want := sorted(strings.Join(bad, ", ")), sorted(c.turned); got != want || s.Score != 9-len(bad) {
			t.Errorf("%s of %d is %v: %q, want %q", c.tag, c.year, c.v, got, want)
		}
	}
}

func sorted(list string) string {
	parts := strings.Split(list, ", ")
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// Novy-Marx, The Other Side of Value, Journal of Financial Economics 108 (2013): revenues less cost of goods sold, over total assets of the same
// balance. (1050 - 609) / 1050 = 0.42.
func TestGrossProfitabilityIsThatOfNovyMarxsPaper(t *testing.T) {
	t.Parallel()
	s := scoreOf(t, statements(unchanged), levelPrices(nil))
	if got := s.metric(GrossProfitability).Value; math.Abs(got-0.42) > 1e-12 {
		t.Errorf("%v, want 0.42", got)
	}
}

// Jegadeesh and Titman, Returns to Buying Winners and Selling Losers, Journal of Finance 48 (1993): the return over past months, with a gap
// before the purchase. Ours is of eleven months with a gap of one. A share at 100 that doubles in the gap alone has no momentum; one that goes to
// 130 before the gap has 30 percent, whatever happens in the gap; a dividend of 13 reinvested at 130 makes it 43 percent.
func TestMomentumIsThatOfJegadeeshAndTitmansPaper(t *testing.T) {
	t.Parallel()
	se := sessionsBefore(definitionsDay)
	inGap, before := calendar.Next(se.monthAgo), calendar.Add(se.yearAgo, 100)
	for _, c := range []struct {
		name   string
		prices map[time.Time]float64
		paid   float64
		want   float64
	}{
		{"no change", nil, 0, 0},
		{"a doubling in the last month", map[time.Time]float64{inGap: 200}, 0, 0},
		{"a gain before it", map[time.Time]float64{before: 130}, 0, 0.30},
		{"a gain before it and a loss in it", map[time.Time]float64{before: 130, inGap: 50}, 0, 0.30},
		{"a gain and a dividend", map[time.Time]float64{before: 130}, 13, 0.43},
		{"a gain on the first day is of the base", map[time.Time]float64{se.yearAgo: 130}, 0, 0},
		{"a gain on the last day before the gap counts", map[time.Time]float64{se.monthAgo: 110}, 0, 0.10},
	} {
		h := levelPrices(c.prices)
		if c.paid > 0 {
			h.Actions = []equity.Action{{CIK: 1, Kind: equity.Dividend, Date: calendar.Add(before, 5), Cash: "13"}}
		}
		s := scoreOf(t, statements(unchanged), h)
		if got := s.metric(PriceMomentum).Value; math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

var definitionsDay = day("2026-06-16")

// levelPrices are closes of 100 from two years before, with steps to other levels.
func levelPrices(steps map[time.Time]float64) (h History) {
	price := 100.0
	for _, d := range calendar.Between(definitionsDay.AddDate(-2, 0, 0), definitionsDay) {
		if p, ok := steps[d]; ok {
			price = p
		}
		text, err := equity.PriceOf(price, 2)
		if err != nil {
			panic(err)
		}
		h.Bars = append(h.Bars, equity.Bar{CIK: 1, Date: d, Close: text, Volume: 1_000_000})
	}
	return h
}

// scoreOf measures one company.
func scoreOf(t *testing.T, facts []equity.Fact, h History) Score {
	t.Helper()
	c := equity.Company{CIK: 1, Name: "Example Corp", SIC: 3523, Location: "CA", Listings: []equity.Listing{{Ticker: "EXM", Exchange: "XNYS"}}}
	s := newScore(c, definitionsDay)
	if err := s.measure(Candidate{Company: c, Facts: facts, History: h}, definitionsDay, sessionsBefore(definitionsDay), DefaultRules()); err != nil {
		t.Fatal(err)
	}
	return s
}
