package picks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
)

func TestPortfolioAgreesWithALedgerOfShares(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		in := stormyMarket(seed, 130)
		rules := DefaultPortfolioRules()
		if seed == 1 {
			rules.MaxPositions, rules.HoldingDays = 200, 40
		}
		got, want := Simulate(in, rules), keepLedger(in, rules)
		if len(got.Snapshots) != len(want.values) || len(got.Positions) != len(want.lots) {
			t.Fatalf("%d days and %d positions, the ledger has %d and %d", len(got.Snapshots), len(got.Positions), len(want.values), len(want.lots))
		}
		for i, s := range got.Snapshots {
			if math.Abs((1+s.ReturnPct/100)/want.values[i]-1) > 1e-9 {
				t.Fatalf("seed %d, %s: the portfolio is worth %v, the ledger %v", seed, s.Date.Format(time.DateOnly), 1+s.ReturnPct/100, want.values[i])
			}
		}
		net := [3]float64{1, 1, 1}
		turnover := 0.0
		for i, s := range got.Snapshots {
			if math.Abs(s.TradedPct/100-want.traded[i]) > 1e-9 {
				t.Fatalf("seed %d, %s: %v %% is traded, in the ledger %v", seed, s.Date.Format(time.DateOnly), s.TradedPct, 100*want.traded[i])
			}
			turnover += want.traded[i]
			for k, points := range []float64{0.0005, 0.0010, 0.0020} {
				if i > 0 {
					net[k] *= want.values[i] / want.values[i-1]
				}
				net[k] *= 1 - points*want.traded[i]
			}
		}
		sum := got.Performance()
		if years := float64(len(got.Snapshots)-1) / 252; math.Abs(sum.TurnoverPct-100*turnover/2/years) > 1e-6 || turnover < 1 {
			t.Errorf("seed %d: a turnover of %v %% a year, in the ledger %v", seed, sum.TurnoverPct, 100*turnover/2/years)
		}
		for k := range net {
			if math.Abs(sum.NetPct[k]-100*(net[k]-1)) > 1e-7 || sum.NetPct[k] >= sum.ReturnPct {
				t.Errorf("seed %d: %v %% net of %d points, in the ledger %v", seed, sum.NetPct[k], Costs[k], 100*(net[k]-1))
			}
		}
		closed, total := map[string]int{}, 0.0
		for i, p := range got.Positions {
			x := want.lots[i]
			gain := x.flow
			if x.open {
				gain += x.shares * x.price
			}
			if p.Seq != x.seq || p.Open() != x.open || p.Holding != x.cik || math.Abs(p.ContributionPct-100*gain) > 1e-9 {
				t.Errorf("seed %d, pick %d: %+v, the ledger %+v gained %v %%", seed, p.Seq, p, x, 100*gain)
			}
			closed[p.Reason]++
			total += p.ContributionPct
		}
		last := got.Snapshots[len(got.Snapshots)-1]
		if math.Abs(total-last.ReturnPct) > 1e-9 {
			t.Errorf("the contributions add up to %v, the return is %v", total, last.ReturnPct)
		}
		t.Logf("seed %d: return %.2f %%, benchmark %.2f %%, positions by end %v, missed %d", seed, last.ReturnPct, last.BenchmarkReturnPct, closed, len(got.Missed))
	}
}

func TestEveryStormIsSeen(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	mergers := 0
	for seed := range uint64(4) {
		rules := DefaultPortfolioRules()
		if seed == 1 {
			rules.MaxPositions, rules.HoldingDays = 200, 40
		}
		for _, p := range Simulate(stormyMarket(seed, 130), rules).Positions {
			seen[p.Reason] = true
			if p.Holding != p.CIK {
				mergers++
			}
		}
	}
	for _, reason := range []string{"", ClosedHeld, ClosedReplaced, ClosedMerger, ClosedDelisted, ClosedSilent} {
		if !seen[reason] {
			t.Errorf("no position ended by %q: the comparison above shows less than it seems", reason)
		}
	}
	if mergers == 0 {
		t.Error("no position went on in the shares of a buyer")
	}
}

func TestPortfolioProperties(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		in := stormyMarket(100+seed, 90)
		rules := DefaultPortfolioRules()
		p := Simulate(in, rules)
		product, bench := 1.0, 1.0
		for i, s := range p.Snapshots {
			if s.CashPct < 0 || s.CashPct > 100 || s.Positions > rules.MaxPositions || s.DrawdownPct > 0 {
				t.Fatalf("seed %d: %+v", seed, s)
			}
			if i == 0 {
				continue
			}
			product *= 1 + s.DailyReturnPct/100
			bench *= 1 + s.BenchmarkDailyReturnPct/100
			if math.Abs(100*(product-1)-s.ReturnPct) > 1e-8 || math.Abs(100*(bench-1)-s.BenchmarkReturnPct) > 1e-8 {
				t.Fatalf("seed %d, %s: daily returns multiply to %v and %v, the total says %v and %v", seed, s.Date, 100*(product-1), 100*(bench-1), s.ReturnPct, s.BenchmarkReturnPct)
			}
		}
		wantHundred(t, "positions", append(weightsOf(p.Positions), p.CashPct))
		var sectors, regions []float64
		for _, r := range p.Sectors() {
			sectors = append(sectors, r.WeightPct)
		}
		for _, r := range p.Regions() {
			regions = append(regions, r.WeightPct)
			inside := 0
			for _, c := range r.Countries {
				inside += hundredths(c.WeightPct)
			}
			if r.Region != CashRow && inside != hundredths(r.WeightPct) {
				t.Errorf("the countries of %s add up to %d, not %v", r.Region, inside, r.WeightPct)
			}
		}
		wantHundred(t, "sectors", sectors)
		wantHundred(t, "regions", regions)
		again := Simulate(in, rules)
		if diff := cmp.Diff(bits(p, time.Time{}), bits(again, time.Time{})); diff != "" {
			t.Errorf("the same input twice gives two portfolios:\n%s", diff)
		}
	}
}

func weightsOf(positions []Position) []float64 {
	var w []float64
	for _, p := range positions {
		w = append(w, p.WeightPct)
	}
	return w
}

func wantHundred(t *testing.T, what string, weights []float64) {
	t.Helper()
	sum := 0
	for _, w := range weights {
		if w < 0 {
			t.Errorf("%s: a weight of %v", what, w)
		}
		sum += hundredths(w)
	}
	if sum != 10_000 {
		t.Errorf("the weights of the %s add up to %v", what, float64(sum)/100)
	}
}

func TestAPickEntersAtTheNextSessionsClose(t *testing.T) {
	t.Parallel()
	in := PortfolioInput{
		Picks:     []AnnouncedPick{{1, day("2025-01-08"), 1}}, // a Wednesday; Thursday is a day of mourning
		Companies: map[equity.CIK]equity.Company{1: {CIK: 1, Listings: []equity.Listing{{Ticker: "ONE"}}}},
		Prices: Prices{1: {Bars: []equity.Bar{
			bar("2025-01-08", "100.00"), bar("2025-01-10", "120.00"), bar("2025-01-13", "132.00"),
		}}},
		Benchmark: History{Bars: []equity.Bar{bar("2025-01-08", "50.00"), bar("2025-01-10", "60.00"), bar("2025-01-13", "63.00")}},
		To:        day("2025-01-13"),
	}
	p := Simulate(in, DefaultPortfolioRules())
	if !p.Inception.Equal(day("2025-01-10")) || len(p.Snapshots) != 2 {
		t.Fatalf("inception %s, %d days", p.Inception, len(p.Snapshots))
	}
	first, last := p.Snapshots[0], p.Snapshots[1]
	if first.ReturnPct != 0 || first.CashPct != 95 || first.BenchmarkReturnPct != 0 {
		t.Errorf("on the day of the purchase: %+v", first)
	}
	// Five percent of the portfolio rose by ten: the change between the pick and the purchase is not part of any return.
	if math.Abs(last.ReturnPct-0.5) > 1e-12 || math.Abs(last.BenchmarkReturnPct-5) > 1e-12 {
		t.Errorf("on the next day: %+v", last)
	}
	q := p.Positions[0]
	if math.Abs(q.ReturnPct-10) > 1e-12 || math.Abs(q.ContributionPct-0.5) > 1e-12 || q.WeightPct != 5.47 || q.Ticker != "ONE" || p.CashPct != 94.53 {
		t.Errorf("position %+v, cash %v", q, p.CashPct)
	}
}

func TestNoPositionIsLost(t *testing.T) {
	t.Parallel()
	in := stormyMarket(1, 130)
	p := Simulate(in, DefaultPortfolioRules())
	accounted := map[int]bool{}
	for _, q := range p.Positions {
		accounted[q.Seq] = true
		if !q.Open() && q.Reason == "" || q.Open() && q.Reason != "" || q.Ticker == "" {
			t.Errorf("a position without an end or a name: %+v", q)
		}
	}
	for _, m := range p.Missed {
		accounted[m.Seq] = true
	}
	for _, pick := range in.Picks {
		due := calendar.Next(pick.Date)
		waiting := due.After(in.To) || calendar.Add(due, DefaultPortfolioRules().SilentDays).After(in.To)
		heldAlready := slices.ContainsFunc(p.Positions, func(q Position) bool {
			return (q.Holding == pick.CIK || q.CIK == pick.CIK) && q.Seq != pick.Seq && q.EntryDate.Before(due) && (q.Open() || !q.ExitDate.Before(due))
		})
		if !accounted[pick.Seq] && !waiting && !heldAlready {
			t.Errorf("pick %d of company %d on %s has no trace", pick.Seq, pick.CIK, pick.Date.Format(time.DateOnly))
		}
	}
	for _, q := range p.Positions {
		if q.CIK == 7 && q.Open() && q.Ticker != "NEW" {
			t.Errorf("after the change of its ticker the company is shown as %s", q.Ticker)
		}
	}
}

func TestLaterDaysDoNotChangeEarlierOnes(t *testing.T) {
	t.Parallel()
	in := stormyMarket(3, 130)
	whole := Simulate(in, DefaultPortfolioRules())
	for _, to := range []string{"2024-03-15", "2024-10-01", "2025-02-28"} {
		in.To = day(to)
		part := Simulate(in, DefaultPortfolioRules())
		n := len(part.Snapshots)
		if n == 0 || fmt.Sprintf("%x", part.Snapshots) != fmt.Sprintf("%x", whole.Snapshots[:n]) {
			t.Errorf("the first %d days as seen on %s are not those seen at the end", n, to)
		}
	}
}

func TestHundredths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		values []float64
		want   []int
	}{
		{"thirds", []float64{1, 1, 1}, []int{3334, 3333, 3333}},
		{"the largest remainder gets the rest", []float64{1, 1, 4}, []int{1667, 1667, 6666}},
		{"sixths", []float64{1, 2, 3}, []int{1667, 3333, 5000}},
		{"a speck", []float64{1e-9, 1}, []int{0, 10000}},
		{"nothing", []float64{0, 0}, []int{0, 0}},
		{"all cash", []float64{1}, []int{10000}},
	} {
		if diff := cmp.Diff(c.want, Hundredths(c.values)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for range 2000 {
		values := make([]float64, 1+rng.IntN(80))
		for i := range values {
			values[i] = rng.ExpFloat64()
		}
		total := 0.0
		for _, v := range values {
			total += v
		}
		sum := 0
		for i, h := range Hundredths(values) {
			sum += h
			if math.Abs(float64(h)-10000*values[i]/total) >= 1 {
				t.Fatalf("%v of %v is rounded to %d", values[i], total, h)
			}
		}
		if sum != 10000 {
			t.Fatalf("the sum is %d", sum)
		}
	}
}

func TestPerformance(t *testing.T) {
	t.Parallel()
	var p Portfolio
	index, peak := 1.0, 1.0
	for i, d := range calendar.Between(day("2024-11-01"), day("2025-01-31")) {
		before := index
		if i > 0 {
			index *= 1 + 0.01*float64(i%5-1)/3
		}
		peak = max(peak, index)
		p.Snapshots = append(p.Snapshots, Snapshot{
			Date: d, ReturnPct: 100 * (index - 1), BenchmarkReturnPct: float64(i), DailyReturnPct: 100 * (index/before - 1), DrawdownPct: 100 * (index/peak - 1), Positions: 4,
		})
	}
	n := len(p.Snapshots)
	p.Inception = p.Snapshots[0].Date
	for i, pct := range []float64{4, -8, 1, 12} {
		p.Positions = append(p.Positions, Position{Seq: i, Ticker: string(rune('A' + i)), ReturnPct: pct})
	}
	p.Positions = append(p.Positions, Position{Seq: 9, Ticker: "Z", ReturnPct: 99, ExitDate: day("2025-01-15")})
	got := p.Performance()
	level := func(i int) float64 { return 1 + p.Snapshots[i].ReturnPct/100 }
	last := level(n - 1)
	endOf2024 := slices.IndexFunc(p.Snapshots, func(s Snapshot) bool { return s.Date.Equal(day("2024-12-31")) })
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"one day", got.Return1DPct, 100 * (last/level(n-2) - 1)},
		{"one week", got.Return1WPct, 100 * (last/level(n-6) - 1)},
		{"one month", got.Return1MPct, 100 * (last/level(n-22) - 1)},
		{"year to date", got.ReturnYTDPct, 100 * (last/level(endOf2024) - 1)},
		{"excess", got.ExcessReturnPct, p.Snapshots[n-1].ReturnPct - float64(n-1)},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	mean, squares := 0.0, 0.0
	for _, s := range p.Snapshots[1:] {
		mean += s.DailyReturnPct / float64(n-1)
	}
	worst := 0.0
	for _, s := range p.Snapshots[1:] {
		squares += (s.DailyReturnPct - mean) * (s.DailyReturnPct - mean)
		worst = min(worst, s.DrawdownPct)
	}
	if want := math.Sqrt(squares/float64(n-2)) * math.Sqrt(252); math.Abs(got.VolatilityPct-want) > 1e-9 || got.MaxDrawdownPct != worst {
		t.Errorf("volatility %v and drawdown %v, want %v and %v", got.VolatilityPct, got.MaxDrawdownPct, want, worst)
	}
	names := func(q []Position) string {
		var all []byte
		for _, p := range q {
			all = append(all, p.Ticker...)
		}
		return string(all)
	}
	if names(got.Best) != "DA" || names(got.Worst) != "BC" {
		t.Errorf("best %s and worst %s of four open positions, want DA and BC", names(got.Best), names(got.Worst))
	}

	p.Snapshots = p.Snapshots[:3]
	short := p.Performance()
	if !math.IsNaN(short.Return1WPct) || !math.IsNaN(short.Return1MPct) || !math.IsNaN(short.VolatilityPct) {
		t.Errorf("after three days a week, a month and a volatility are known: %+v", short)
	}
	if short.ReturnYTDPct != short.ReturnPct {
		t.Errorf("in the first year the return of the year is %v, since inception %v", short.ReturnYTDPct, short.ReturnPct)
	}
	if got := (Portfolio{}).Performance(); got.Positions != 0 || !got.AsOf.IsZero() {
		t.Errorf("an empty portfolio performs: %+v", got)
	}
}

func TestNoPicksNoPortfolio(t *testing.T) {
	t.Parallel()
	if p := Simulate(PortfolioInput{To: day("2025-01-10")}, DefaultPortfolioRules()); len(p.Snapshots) != 0 || !p.Inception.IsZero() {
		t.Errorf("%+v", p)
	}
	in := PortfolioInput{Picks: []AnnouncedPick{{1, day("2025-01-08"), 1}}, To: day("2025-03-10")}
	if p := Simulate(in, DefaultPortfolioRules()); len(p.Snapshots) != 0 || len(p.Missed) != 1 {
		t.Errorf("a pick that never had a price: %+v", p)
	}
}
