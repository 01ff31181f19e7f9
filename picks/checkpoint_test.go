package picks

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
)

// bits are all numbers of a portfolio's end, and of its snapshots from a day on.
func bits(p Portfolio, from time.Time) string {
	sum := p.Performance()
	for _, list := range [][]Position{sum.Best, sum.Worst} {
		for i := range list {
			list[i].contributed, list[i].entered = nil, 0
		}
	}
	shown := fmt.Sprintf("%x %v %x\n", p.CashPct, p.Inception, sum)
	for _, s := range p.Snapshots {
		if !s.Date.Before(from) {
			shown += fmt.Sprintf("%x\n", s)
		}
	}
	for _, q := range p.Positions {
		shown += fmt.Sprintf("%d %d %d %s %s %s %s %s %s %s %s %x %x %x %s\n", q.Seq, q.CIK, q.Holding, q.Ticker, q.Name, q.Sector, q.Region, q.Country,
			q.EntryDate, q.ExitDate, q.Reason, q.WeightPct, q.ReturnPct, q.ContributionPct, q.PricedOn)
	}
	return shown
}

// stored is a checkpoint after its way through the database.
func stored(t *testing.T, c Checkpoint) (out Checkpoint) {
	t.Helper()
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// needed is the part of an input that Resume may read, and of the rest nothing.
func needed(in PortfolioInput, c Checkpoint) PortfolioInput {
	since := c.Since()
	in.Picks = slices.DeleteFunc(slices.Clone(in.Picks), func(p AnnouncedPick) bool { return p.Date.Before(c.Date) })
	ciks := c.Companies()
	for _, p := range in.Picks {
		ciks = append(ciks, p.CIK)
	}
	cut := func(h History) History {
		return History{Bars: h.Bars[h.upTo(since.AddDate(0, 0, -1)):], Actions: h.between(since.AddDate(0, 0, -1), in.To)}
	}
	prices := Prices{}
	for len(ciks) > 0 {
		cik := ciks[0]
		ciks = ciks[1:]
		if _, known := prices[cik]; known {
			continue
		}
		prices[cik] = cut(in.Prices[cik])
		for _, a := range prices[cik].Actions {
			if a.Successor != 0 {
				ciks = append(ciks, a.Successor)
			}
		}
	}
	in.Prices, in.Benchmark = prices, cut(in.Benchmark)
	return in
}

// Two years with splits, dividends, mergers, delistings, silent companies and months that begin, lived a day at a time.
func TestADayAddedToThePortfolioHasTheBitsOfAllReckonedAgain(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		in, rules := stormyMarket(seed+1, 130), DefaultPortfolioRules()
		end := in.To
		var kept Portfolio
		days := 0
		for _, day := range calendar.Between(in.Picks[0].Date, end) {
			in.To = day
			if len(kept.Checkpoints) == 0 {
				kept = Simulate(in, rules)
				continue
			}
			c := stored(t, kept.Checkpoints[len(kept.Checkpoints)-1])
			kept = Resume(c, kept.Positions, needed(in, c), rules)
			if days++; days%13 == 0 || day.Equal(end) {
				if whole := Simulate(in, rules); bits(kept, day) != bits(whole, day) {
					t.Fatalf("seed %d, %s: added day by day\n%s\nreckoned at once\n%s", seed+1, day.Format(time.DateOnly), bits(kept, day), bits(whole, day))
				}
			}
		}
		if days < 400 {
			t.Fatalf("%d days were added", days)
		}
	}
}

// A split that becomes known late, and a close that is revised: everything since is computed again, from the checkpoint before.
func TestARevisionIsReckonedFromTheCheckpointBefore(t *testing.T) {
	t.Parallel()
	in, rules := stormyMarket(2, 130), DefaultPortfolioRules()
	before := Simulate(in, rules)
	if n := len(before.Checkpoints); n < 30 || !before.Checkpoints[n-1].Date.Equal(before.Snapshots[len(before.Snapshots)-1].Date) {
		t.Fatalf("%d checkpoints", n)
	}
	for _, on := range []string{"2024-06-18", "2025-03-03", "2025-10-31", "2025-12-29"} {
		changed := day(on)
		again := in
		again.Prices = Prices{}
		for cik, h := range in.Prices {
			h.Bars = slices.Clone(h.Bars)
			for i, b := range h.Bars {
				if b.Date.Equal(changed) {
					price, err := equity.PriceOf(b.Close.Float()*1.01, 2)
					if err != nil {
						t.Fatal(err)
					}
					h.Bars[i].Close = price
				}
			}
			again.Prices[cik] = h
		}
		i, _ := slices.BinarySearchFunc(before.Checkpoints, changed, func(c Checkpoint, t time.Time) int { return c.Date.Compare(t) })
		if i == 0 {
			t.Fatalf("no checkpoint before %s", on)
		}
		c := stored(t, before.Checkpoints[i-1])
		whole, resumed := Simulate(again, rules), Resume(c, before.Positions, needed(again, c), rules)
		if bits(resumed, c.Date) != bits(whole, c.Date) {
			t.Errorf("revised on %s, the portfolio from %s on is another one than from its first day on", on, c.Date.Format(time.DateOnly))
		}
		if bits(whole, c.Date) == bits(before, c.Date) {
			t.Errorf("the revision of %s changes nothing", on)
		}
		monday := day("2025-12-22")
		if got, want := fmt.Sprintf("%x", resumed.delta(monday, monday.AddDate(0, 0, 4))), fmt.Sprintf("%x", whole.delta(monday, monday.AddDate(0, 0, 4))); c.Date.Before(monday) && got != want {
			t.Errorf("the week of %s is %s, by all that was reckoned %s", on, got, want)
		}
	}
	if c := before.Checkpoints[0]; c.Usable(PortfolioRules{}) || !c.Usable(rules) {
		t.Error("a checkpoint of other rules is gone on from")
	}
}
