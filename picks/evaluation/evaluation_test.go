package evaluation_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/picks"
	"tidemark/picks/evaluation"
)

func day(text string) time.Time {
	d, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return d
}

var from, to = day("2023-12-01"), day("2025-12-31")

// market draws daily returns of all shares together.
func market(rng *rand.Rand) (moves []float64) {
	for range calendar.Between(from, to) {
		moves = append(moves, 0.0004+0.01*rng.NormFloat64())
	}
	return moves
}

// walk draws closes of a share, with a dividend each quarter and a split: the market's moves with an extra return a day and noise of its own.
func walk(rng *rand.Rand, cik equity.CIK, moves []float64, extra, noise float64) picks.History {
	var h picks.History
	price := 400.0
	for i, d := range calendar.Between(from, to) {
		price *= math.Exp(moves[i] + extra + noise*rng.NormFloat64() - noise*noise/2)
		if i%63 == 40 {
			h.Actions = append(h.Actions, equity.Action{CIK: cik, Kind: equity.Dividend, Date: d, Cash: "1.75"})
		}
		if i == 200 {
			price /= 4
			h.Actions = append(h.Actions, equity.Action{CIK: cik, Kind: equity.Split, Date: d, New: 4, Old: 1})
		}
		text, err := equity.PriceOf(price, 2)
		if err != nil {
			panic(err)
		}
		h.Bars = append(h.Bars, equity.Bar{CIK: cik, Date: d, Close: text})
	}
	return h
}

// record is a portfolio with a pick in nearly every session. Its shares differ from the benchmark by an extra return a day and by noise.
func record(seed uint64, extra, noise float64) (picks.PortfolioInput, []evaluation.Entry) {
	rng := rand.New(rand.NewPCG(seed, 20))
	moves := market(rng)
	in := picks.PortfolioInput{To: to, Prices: picks.Prices{}, Companies: map[equity.CIK]equity.Company{}, Benchmark: walk(rng, equity.Benchmark, moves, 0, 0)}
	for n := range 40 {
		cik := equity.CIK(n + 1)
		in.Prices[cik] = walk(rng, cik, moves, extra, noise)
		in.Companies[cik] = equity.Company{CIK: cik, Name: fmt.Sprint("Company ", n), SIC: 7372, Listings: []equity.Listing{{Ticker: fmt.Sprint("T", n), Exchange: "XNYS"}}}
	}
	in.Prices[equity.Benchmark] = in.Benchmark
	var entries []evaluation.Entry
	for i, d := range calendar.Between(day("2024-01-02"), to) {
		if rng.IntN(20) == 0 {
			continue
		}
		p := picks.AnnouncedPick{Seq: len(in.Picks) + 1, Date: d, CIK: equity.CIK(i%40 + 1)}
		in.Picks = append(in.Picks, p)
		if bar, ok := in.Prices.Entry(p.CIK, d, picks.DefaultPortfolioRules()); ok {
			entries = append(entries, evaluation.Entry{CIK: p.CIK, Bar: bar})
		}
	}
	return in, entries
}

func TestSharesThatMoveLikeTheBenchmarkHaveNoExcessReturn(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		in, entries := record(seed, 0, 0)
		p := picks.Simulate(in, picks.DefaultPortfolioRules())
		c, ok := evaluation.LikeWithLike(p.Snapshots)
		if !ok || math.Abs(c.ExcessPct) > 1e-9 || math.Abs(c.Portfolio.MaxDrawdownPct-c.Matched.MaxDrawdownPct) > 1e-9 ||
			math.Abs(c.Portfolio.VolatilityPct-c.Matched.VolatilityPct) > 1e-9 {
			t.Errorf("seed %d: %+v", seed, c)
		}
		if plain := p.Performance().ExcessReturnPct; math.Abs(plain) < 0.01 {
			t.Errorf("seed %d: the plain difference is %v: the cash of the first weeks makes no difference, so this test shows nothing", seed, plain)
		}
		if c.MeanCashPct < 0.5 || c.MeanCashPct > 50 {
			t.Errorf("seed %d: mean cash %v", seed, c.MeanCashPct)
		}
		excess := evaluation.Excess(entries, in.Prices, picks.DefaultPortfolioRules().HoldingDays, in.To)
		if len(excess) < 450 {
			t.Fatalf("seed %d: %d days", seed, len(excess))
		}
		for i, x := range excess {
			if math.Abs(x) > 1e-12 {
				t.Fatalf("seed %d: day %d has an excess of %v", seed, i, x)
			}
		}
	}
}

func TestBothSidesOfAComparisonAreTheirOwnReturns(t *testing.T) {
	t.Parallel()
	in, _ := record(7, 0.0001, 0.015)
	p := picks.Simulate(in, picks.DefaultPortfolioRules())
	c, ok := evaluation.LikeWithLike(p.Snapshots)
	sum := p.Performance()
	if !ok || math.Abs(c.Portfolio.ReturnPct-sum.ReturnPct) > 1e-8 || math.Abs(c.Portfolio.VolatilityPct-sum.VolatilityPct) > 1e-8 ||
		math.Abs(c.Portfolio.MaxDrawdownPct-sum.MaxDrawdownPct) > 1e-8 || math.Abs(c.Whole.ReturnPct-sum.BenchmarkReturnPct) > 1e-8 {
		t.Errorf("%+v, the summary says %+v", c, sum)
	}
}

func TestASessionWithoutAPriceOfTheBenchmarkIsNotCompared(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for name, s := range map[string][]picks.Snapshot{
		"nothing": nil, "the inception alone": {{CashPct: 95}}, "no benchmark": {{CashPct: 95}, {DailyReturnPct: 1, BenchmarkDailyReturnPct: nan}},
	} {
		if c, ok := evaluation.LikeWithLike(s); ok {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// The figures were computed by hand: 60 days of 0.3 and 60 of -0.1 percent.
func TestSkillIsMeasuredByTheDailyExcessReturns(t *testing.T) {
	t.Parallel()
	var excess []float64
	for range 60 {
		excess = append(excess, 0.003, -0.001)
	}
	s := evaluation.Judge(excess)
	sd := 0.002 * math.Sqrt(120.0/119)
	for what, c := range map[string][2]float64{
		"the excess":            {s.ExcessPct, 25.2},
		"the information ratio": {s.InformationRatio, 0.001 / sd * math.Sqrt(252)},
		"t":                     {s.T, 0.001 / sd * math.Sqrt(120)},
	} {
		if math.Abs(c[0]-c[1]) > 1e-9 {
			t.Errorf("%s is %v, want %v", what, c[0], c[1])
		}
	}
	if s.Sessions != 120 {
		t.Errorf("%d sessions", s.Sessions)
	}
	if !(s.Probability > 0.99) || !(s.TrackRecordYears > 0 && s.TrackRecordYears < 120.0/252) {
		t.Errorf("%+v", s)
	}
	for i := range excess {
		excess[i] = -excess[i]
	}
	if s := evaluation.Judge(excess); !math.IsInf(s.TrackRecordYears, 1) || s.Probability > 0.01 || s.T > -2 {
		t.Errorf("a record that loses: %+v", s)
	}
	if s := evaluation.Judge(excess[:59]); !math.IsNaN(s.Probability) || !math.IsNaN(s.TrackRecordYears) || math.IsNaN(s.T) {
		t.Errorf("59 returns are too few for a probability: %+v", s)
	}
	if s := evaluation.Judge(excess[:60]); math.IsNaN(s.Probability) || math.IsNaN(s.TrackRecordYears) {
		t.Errorf("60 returns: %+v", s)
	}
	if s := evaluation.Judge(excess[:19]); !math.IsNaN(s.T) || !math.IsNaN(s.ExcessPct) || s.Sessions != 19 {
		t.Errorf("a short record: %+v", s)
	}
	if y := evaluation.YearsAt(0.5); math.Abs(y-10.8222) > 1e-3 {
		t.Errorf("an information ratio of 0.5 needs %v years, want 10.8", y)
	}
}

func TestSkillIsFoundWhereItIsAndNotWhereItIsNot(t *testing.T) {
	t.Parallel()
	significant := map[bool]int{}
	const seeds = 8
	for seed := range uint64(seeds) {
		for _, planted := range []bool{false, true} {
			extra := 0.0
			if planted {
				extra = 0.0003
			}
			in, entries := record(100+seed, extra, 0.012)
			if s := evaluation.Judge(evaluation.Excess(entries, in.Prices, 120, in.To)); s.Probability > evaluation.Confidence {
				significant[planted]++
			}
		}
	}
	t.Logf("above 95 %%: %v of %d", significant, seeds)
	if significant[false] > 2 || significant[true] < 6 {
		t.Errorf("above 95 %%: %d records without skill and %d with, of %d each", significant[false], significant[true], seeds)
	}
}

func TestAnEntryCountsForItsHoldingPeriodAlone(t *testing.T) {
	t.Parallel()
	in, entries := record(3, 0, 0.015)
	for _, sessions := range []int{1, 5, 120} {
		if got := evaluation.Excess(entries[:1], in.Prices, sessions, in.To); len(got) != sessions {
			t.Errorf("%d days of %d", len(got), sessions)
		}
	}
	one := evaluation.Excess(entries[:1], in.Prices, 1, in.To)[0]
	e := entries[0]
	next := calendar.Next(e.Bar.Date)
	share := in.Prices.ReturnSince(e.CIK, e.Bar.Close, e.Bar.Date, next).Pct
	bench, _ := in.Benchmark.BarOn(e.Bar.Date)
	index := in.Prices.ReturnSince(equity.Benchmark, bench.Close, e.Bar.Date, next).Pct
	if math.Abs(100*one-(share-index)) > 1e-9 {
		t.Errorf("the first day's excess is %v, want %v - %v", 100*one, share, index)
	}
}
