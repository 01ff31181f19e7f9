package evaluation_test

import (
	"math"
	"testing"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/picks"
	"tidemark/picks/evaluation"
)

// If every share moves like the benchmark, so do all of them at equal weight, with splits and dividends, and the portfolio is ahead of nothing.
func TestSharesThatMoveAlikeHaveNoExcessReturnOverTheirMean(t *testing.T) {
	t.Parallel()
	in, _ := record(3, 0, 0)
	p := picks.Simulate(in, picks.DefaultPortfolioRules())
	var ciks []equity.CIK
	for n := range 40 {
		ciks = append(ciks, equity.CIK(n+1))
	}
	index := evaluation.Daily(in.Benchmark, in.To, true)
	for _, d := range calendar.Between(from.AddDate(0, 0, 1), to) {
		mean, n := evaluation.EqualWeight(ciks, in.Prices, calendar.Previous(d), d)
		if n != 40 || math.Abs(mean-index[d]) > 1e-12 {
			t.Fatalf("%v: %d companies returned %v, the index %v", d, n, mean, index[d])
		}
	}
	c, ok := evaluation.LikeWithLike(evaluation.Against(p.Snapshots, index))
	if !ok || math.Abs(c.ExcessPct) > 1e-9 || math.Abs(c.Portfolio.ReturnPct) < 1 {
		t.Errorf("%+v", c)
	}
}

func TestAComparisonBeginsWhereTheOtherBenchmarkIsKnown(t *testing.T) {
	t.Parallel()
	var all []picks.Snapshot
	for i, d := range calendar.Between(day("2026-03-02"), day("2026-03-06")) {
		all = append(all, picks.Snapshot{Date: d, DailyReturnPct: float64(i), BenchmarkDailyReturnPct: 9, CashPct: 50})
	}
	// Known from Thursday on; the return of Friday is missing, as on a day without a pick.
	since := evaluation.Against(all, map[time.Time]float64{all[3].Date: 0.02})
	c, ok := evaluation.LikeWithLike(since)
	if !ok || len(since) != 3 || !since[0].Date.Equal(all[2].Date) {
		t.Fatalf("%d snapshots: %+v", len(since), since)
	}
	// 1.03 times 1.04, against half of 2 percent and nothing.
	if math.Abs(c.Portfolio.ReturnPct-7.12) > 1e-9 || math.Abs(c.Matched.ReturnPct-1) > 1e-9 || math.Abs(c.Whole.ReturnPct-2) > 1e-9 {
		t.Errorf("%+v", c)
	}
	if got := evaluation.Against(all, nil); got != nil {
		t.Errorf("an unknown benchmark compares %d sessions", len(got))
	}
}

// 10, -50 and no change: a halted share stays, one that is not known on the first day is left out, a split and a dividend count.
func TestTheMeanOfCompaniesCountsSplitsDividendsAndHalts(t *testing.T) {
	t.Parallel()
	monday, tuesday := day("2026-03-02"), day("2026-03-03")
	bars := func(before, now equity.Price) (h picks.History) {
		if before != "" {
			h.Bars = append(h.Bars, equity.Bar{Date: monday, Close: before})
		}
		if now != "" {
			h.Bars = append(h.Bars, equity.Bar{Date: tuesday, Close: now})
		}
		return h
	}
	prices := picks.Prices{1: bars("100.00", "54.00"), 2: bars("80.00", "40.00"), 3: bars("7.00", ""), 4: bars("", "9.00")}
	one := prices[1]
	one.Actions = []equity.Action{
		{CIK: 1, Kind: equity.Split, Date: tuesday, New: 2, Old: 1}, {CIK: 1, Kind: equity.Dividend, Date: tuesday, Cash: "1.00"},
	}
	prices[1] = one
	mean, n := evaluation.EqualWeight([]equity.CIK{1, 2, 3, 4, 5}, prices, monday, tuesday)
	if n != 3 || math.Abs(mean-(0.10-0.50)/3) > 1e-9 {
		t.Errorf("%d companies returned %v", n, mean)
	}
}
