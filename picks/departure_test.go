package picks

import (
	"math"
	"slices"
	"testing"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
)

// A position whose company leaves the exchange is closed at its last close, soon after it has said so, and is never lost. A form for
// another class of its securities changes nothing. After a merger it counts at its last close; otherwise with the published loss.
func TestAPositionOfACompanyThatLeavesTheExchange(t *testing.T) {
	t.Parallel()
	const cik = equity.CIK(1)
	sessions := calendar.Between(day("2026-01-05"), day("2026-03-31"))
	last := slices.IndexFunc(sessions, day("2026-02-20").Equal)
	bar := func(i int, price equity.Price) equity.Bar {
		return equity.Bar{CIK: cik, Date: sessions[i], Close: price}
	}
	var quiet, trading []equity.Bar
	for i := range sessions {
		price := equity.Price("100.00")
		if i >= last {
			price = "110.00"
		}
		trading = append(trading, bar(i, price))
		if i <= last {
			quiet = append(quiet, bar(i, price))
		}
	}
	form := func(name, filed string, items ...string) equity.Filing {
		return equity.Filing{CIK: cik, Form: name, Filed: day(filed), Items: items}
	}
	for _, c := range []struct {
		name         string
		bars         []equity.Bar
		filings      []equity.Filing
		exit, reason string
		pct          float64 // 10 up to the last close; 10 and then 30 percent less, on the NYSE, where nothing says what a share was worth
	}{
		{"taken off by the exchange", quiet, []equity.Filing{form("25-NSE", "2026-02-23")}, "2026-02-25", ClosedDelisted, -23},
		{"by itself, before its last day", quiet, []equity.Filing{form("25", "2026-02-10")}, "2026-02-25", ClosedDelisted, -23},
		{"it no longer reports", quiet, []equity.Filing{form("15-12G", "2026-03-04")}, "2026-03-04", ClosedDelisted, -23},
		{"bought by another", quiet, []equity.Filing{form("8-K", "2026-02-23", "2.01", "3.01", "5.01"), form("25-NSE", "2026-02-23")}, "2026-02-25", ClosedMerger, 10},
		{"bought by another, without a word of the exchange", quiet, []equity.Filing{form("8-K", "2026-02-23", "2.01", "3.01", "5.01")}, "2026-03-20", ClosedSilent, 10},
		{"a foreign company that no longer reports", quiet, []equity.Filing{form("15F-12B", "2026-03-04")}, "2026-03-04", ClosedDelisted, -23},
		{"a foreign company that its owners take private", quiet, []equity.Filing{form("SC 13E3/A", "2026-02-23"), form("25-NSE", "2026-02-23"), form("15F-12B", "2026-03-06")}, "2026-02-25", ClosedMerger, 10},
		{"a foreign company that is bought by an offer", quiet, []equity.Filing{form("SC 14D9/A", "2026-02-20"), form("15F-12B", "2026-02-24")}, "2026-02-25", ClosedMerger, 10},
		{"it bought another, and fell silent", quiet, []equity.Filing{form("8-K", "2026-02-23", "2.01", "9.01")}, "2026-03-20", ClosedSilent, -23},
		{"a form of long ago, about bonds", quiet, []equity.Filing{form("25-NSE", "2026-01-20")}, "2026-03-20", ClosedSilent, -23},
		{"not a word", quiet, nil, "2026-03-20", ClosedSilent, -23},
		{"about bonds, while the shares trade", trading, []equity.Filing{form("25-NSE", "2026-02-23")}, "", "", 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := Simulate(PortfolioInput{
				Picks: []AnnouncedPick{{Seq: 1, Date: day("2026-01-05"), CIK: cik}}, Prices: Prices{cik: {Bars: c.bars}},
				Departures: map[equity.CIK][]equity.Filing{cik: c.filings}, To: day("2026-03-31"),
			}, DefaultPortfolioRules())
			if len(p.Positions) != 1 {
				t.Fatalf("%d positions", len(p.Positions))
			}
			q := p.Positions[0]
			exit := ""
			if !q.Open() {
				exit = q.ExitDate.Format("2006-01-02")
			}
			if exit != c.exit || q.Reason != c.reason || math.Abs(q.ReturnPct-c.pct) > 1e-9 {
				t.Errorf("closed on %q, %q, with %v %%; want %q, %q and %v %%", exit, q.Reason, q.ReturnPct, c.exit, c.reason, c.pct)
			}
		})
	}
}
