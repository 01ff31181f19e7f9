package picks

import (
	"math"
	"testing"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
)

// Twenty shares are held at equal weight, and nothing moves. One stops trading: the portfolio loses that share's five percent times what its
// exchange and the reason say, and the sensitivity shows no loss and a total one. The benchmark stands still, so this is the excess return.
func TestAShareThatStopsTradingCostsWhatItsExchangeAndReasonSay(t *testing.T) {
	t.Parallel()
	sessions := calendar.Between(day("2026-01-05"), day("2026-06-30"))
	gone := sessions[60]
	for _, c := range []struct {
		name, exchange string
		action         *equity.Action
		filing         equity.Filing
		lost           float64 // of the share
	}{
		{"a notice of the NYSE", "XNYS", nil, equity.Filing{Form: "25-NSE", Filed: gone}, 0.30},
		{"a notice of Nasdaq", "XNAS", nil, equity.Filing{Form: "25-NSE", Filed: gone}, 0.55},
		{"a delisting without a value", "XNAS", &equity.Action{Kind: equity.Delisting, Date: gone}, equity.Filing{}, 0.55},
		{"a delisting with a value", "XNAS", &equity.Action{Kind: equity.Delisting, Date: gone, Cash: "60.00"}, equity.Filing{}, 0.40},
		{"a merger on the record", "XNAS", &equity.Action{Kind: equity.Merger, Date: gone}, equity.Filing{}, 0},
		{"a change of control", "XNAS", nil, equity.Filing{Form: "8-K", Items: []string{"5.01"}, Filed: gone}, 0},
		{"owners who take it private", "XNAS", nil, equity.Filing{Form: "SC 13E3/A", Filed: gone}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := PortfolioInput{Prices: Prices{}, Companies: map[equity.CIK]equity.Company{}, Departures: map[equity.CIK][]equity.Filing{1: {c.filing}}, To: sessions[100]}
			for i := range 20 {
				cik := equity.CIK(i + 1)
				in.Companies[cik] = equity.Company{CIK: cik, Listings: []equity.Listing{{Ticker: "T", Exchange: c.exchange}}}
				in.Picks = append(in.Picks, AnnouncedPick{Seq: i + 1, Date: sessions[i], CIK: cik})
				h := History{}
				for _, d := range sessions {
					if cik > 1 || d.Before(gone) {
						h.Bars = append(h.Bars, equity.Bar{CIK: cik, Date: d, Close: "100.00"})
					}
				}
				if cik == 1 && c.action != nil {
					h.Actions = []equity.Action{*c.action}
				}
				in.Prices[cik], in.Benchmark = h, h
			}
			sum := Simulate(in, DefaultPortfolioRules()).Performance()
			near := func(what string, got, want float64) {
				if math.Abs(got-want) > 1e-9 {
					t.Errorf("%s %v, want %v", what, got, want)
				}
			}
			near("the excess return is", sum.ExcessReturnPct, -5*c.lost)
			if assumed := c.lost > 0 && (c.action == nil || c.action.Cash == ""); assumed {
				near("with no loss it is", sum.AtLastClosePct, 0)
				near("with a total loss it is", sum.AtTotalLossPct, -5)
				if sum.Delisted != 1 {
					t.Errorf("%d sessions with such shares", sum.Delisted)
				}
			} else {
				near("with another assumption it is", sum.AtTotalLossPct, sum.ReturnPct)
			}
		})
	}
}

// A source without dividends, or whose dividends stop, makes price returns.
func TestAReturnWithoutDividendsIsNoTotalReturn(t *testing.T) {
	t.Parallel()
	sessions := calendar.Between(day("2025-01-02"), day("2025-12-31"))
	history := func(source string, dividends ...string) History {
		var h History
		for _, d := range sessions {
			h.Bars = append(h.Bars, equity.Bar{Date: d, Close: "100.00", Source: source})
		}
		for _, d := range dividends {
			h.Actions = append(h.Actions, dividend(d, "1.00"))
		}
		return h
	}
	quarterly := []string{"2025-03-21", "2025-06-20", "2025-09-19", "2025-12-19"}
	for _, c := range []struct {
		name             string
		benchmark, share History
		want             bool
	}{
		{"every quarter", history("tiingo", quarterly...), history("tiingo"), true},
		{"a publisher without dividends", history("nasdaq"), history("nasdaq"), false},
		{"one share by such a publisher", history("tiingo", quarterly...), history("nasdaq"), false},
		{"an operator's files without dividends", history("csv"), history("csv"), false},
		{"files whose dividends stop", history("csv", quarterly[:2]...), history("csv"), false},
	} {
		if got := TotalReturn(c.benchmark, Prices{1: c.share}); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	short := history("yahoo")
	short.Bars = short.Bars[:40]
	if !TotalReturn(short, Prices{}) {
		t.Error("forty sessions without a dividend of the benchmark are no sign of anything")
	}
}
