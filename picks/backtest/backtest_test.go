package backtest_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/picks"
	"tidemark/picks/backtest"
	"tidemark/picks/evaluation"
)

var firstDay, lastDay = time.Date(2023, 1, 3, 0, 0, 0, 0, time.UTC), time.Date(2026, 6, 30, 0, 0, 0, 0, time.UTC)

// fund draws companies with one report a year and prices that move as move says: session, company, the market's move.
func fund(t *testing.T, companies int, move func(session, company int, market float64) float64) backtest.Input {
	t.Helper()
	rng := rand.New(rand.NewPCG(20, 11))
	in := backtest.Input{
		To: lastDay, Prices: picks.Prices{}, Rules: picks.DefaultRules(), Holding: picks.DefaultPortfolioRules(), Trials: 3, Random: 100, Seed: 5,
	}
	sessions := calendar.Between(firstDay, lastDay)
	levels := make([]float64, companies+1)
	for i := range levels {
		levels[i] = 400 // so that rounding to cents is small
	}
	for n, d := range sessions {
		market := 0.0004 + 0.01*rng.NormFloat64()
		for i := range levels {
			levels[i] *= 1 + market
			if i < companies {
				levels[i] *= (1 + move(n, i, market)) / (1 + market)
			}
			cik := equity.CIK(1000 + i)
			if i == companies {
				cik = equity.Benchmark
			}
			price, err := equity.PriceOf(levels[i], 6)
			if err != nil {
				t.Fatal(err)
			}
			h := in.Prices[cik]
			h.Bars = append(h.Bars, equity.Bar{CIK: cik, Date: d, Close: price, Volume: 1_000_000})
			in.Prices[cik] = h
		}
	}
	var all []picks.Candidate
	for i := range companies {
		all = append(all, picks.Candidate{Company: company(i), Facts: reports(i), History: in.Prices[equity.CIK(1000+i)]})
	}
	in.Market = func(time.Time) ([]picks.Candidate, error) { return all, nil }
	for n := 260; n < len(sessions); n += 7 {
		in.Days = append(in.Days, sessions[n])
	}
	return in
}

func company(i int) equity.Company {
	return equity.Company{
		CIK: equity.CIK(1000 + i), Name: fmt.Sprint("Company ", i), SIC: []int{7372, 2834, 5311, 3523}[i%4], Location: "CA",
		Listings: []equity.Listing{{Ticker: fmt.Sprintf("C%02d", i), Exchange: "XNYS"}},
	}
}

func reports(i int) (facts []equity.Fact) {
	for year := 2021; year <= 2025; year++ {
		end := time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC)
		add := func(tag string, billions float64, flow bool) {
			f := equity.Fact{
				CIK: equity.CIK(1000 + i), Taxonomy: "us-gaap", Tag: tag, Unit: "USD", End: end, Form: "10-K", Filed: end.AddDate(0, 0, 50),
				Accession: fmt.Sprintf("%010d-%d", 1000+i, year), Value: billions * 1e9,
			}
			if flow {
				f.Start = end.AddDate(-1, 0, 1)
			}
			if tag == "EntityCommonStockSharesOutstanding" {
				f.Taxonomy, f.Unit, f.Value = "dei", "shares", 1e8
			}
			facts = append(facts, f)
		}
		n := 1 + float64((i*7+year*3)%10)/10
		for tag, v := range map[string]float64{
			"Revenues": 10 * n, "GrossProfit": 4 * n, "OperatingIncomeLoss": 2 * n, "NetIncomeLoss": n, "NetCashProvidedByUsedInOperatingActivities": 1.4 * n,
			"PaymentsToAcquirePropertyPlantAndEquipment": 0.4,
		} {
			add(tag, v, true)
		}
		for tag, v := range map[string]float64{
			"Assets": 12, "StockholdersEquity": 6, "AssetsCurrent": 4, "LiabilitiesCurrent": 2, "LongTermDebtNoncurrent": 2 / n,
			"CashAndCashEquivalentsAtCarryingValue": 1, "EntityCommonStockSharesOutstanding": 0,
		} {
			add(tag, v, false)
		}
	}
	return facts
}

func run(t *testing.T, in backtest.Input) backtest.Result {
	t.Helper()
	r, err := backtest.Run(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func noise(seed uint64, size float64) func(int, int, float64) float64 {
	rng := rand.New(rand.NewPCG(seed, 3))
	return func(_, _ int, market float64) float64 { return market + size*rng.NormFloat64() }
}

func TestSharesThatMoveLikeTheBenchmarkHaveNoExcess(t *testing.T) {
	t.Parallel()
	r := run(t, fund(t, 24, func(_, _ int, market float64) float64 { return market }))
	for what, v := range map[string]backtest.Number{
		"over the benchmark": r.Picks.ExcessOverBenchmarkPct, "over the universe": r.Picks.ExcessOverUniversePct, "of random ones": r.Random.MeanPct,
		"of the first fifth over the last": r.Fifths.SpreadPct,
	} {
		if !(math.Abs(float64(v)) < 5e-4) {
			t.Errorf("the excess %s is %v", what, v)
		}
	}
	if r.ScoresFound || r.PicksFound {
		t.Errorf("something is found: %+v", r)
	}
}

// The returns of the picks are those of package evaluation, which follows each share by itself.
func TestTheExcessOfThePicksIsThatOfTheRecord(t *testing.T) {
	t.Parallel()
	in := fund(t, 24, noise(1, 0.015))
	r := run(t, in)
	var past []picks.PastPick
	var entries []evaluation.Entry
	for _, day := range in.Days {
		candidates, _ := in.Market(day)
		best := picks.Rank(picks.Market{Day: day, Candidates: candidates, Past: past}, in.Rules).Pick
		if best == nil {
			continue
		}
		past = append(past, picks.PastPick{Date: day, CIK: best.CIK, Sector: best.Sector})
		if bar, ok := in.Prices.Entry(best.CIK, day, in.Holding); ok {
			entries = append(entries, evaluation.Entry{CIK: best.CIK, Bar: bar})
		}
	}
	want := evaluation.Judge(evaluation.Excess(entries, in.Prices, in.Holding.HoldingDays, in.To)).ExcessPct
	if got := float64(r.Picks.ExcessOverBenchmarkPct); math.Abs(got-want) > 1e-9 || len(past) != r.Picks.Picks {
		t.Errorf("%d picks with %v %% a year, want %d with %v %%", r.Picks.Picks, got, len(past), want)
	}
}

func TestEqualInputsGiveOneArtefact(t *testing.T) {
	t.Parallel()
	in := fund(t, 16, noise(2, 0.015))
	in.Days = in.Days[:20]
	one, two := run(t, in), run(t, in)
	if one.Digest != two.Digest || len(one.Digest) != 64 || one.Method != picks.SourceHash() || one.Code != backtest.SourceHash() {
		t.Errorf("two runs: %+v and %+v", one, two)
	}
	in.Seed++
	if other := run(t, in); other.Digest == one.Digest || other.Random.MeanPct == one.Random.MeanPct {
		t.Error("another seed draws the same portfolios")
	}
	in.Seed, in.Trials = in.Seed-1, in.Trials+50
	if other := run(t, in); !(other.Picks.Deflated < one.Picks.Deflated) || other.Picks.Probabilistic != one.Picks.Probabilistic {
		t.Errorf("after more trials the deflated Sharpe ratio is %v, it was %v", other.Picks.Deflated, one.Picks.Deflated)
	}
}

// Later closes change what followed a ranking, and no ranking.
func TestARankingReadsNothingThatFollowed(t *testing.T) {
	t.Parallel()
	in := fund(t, 16, noise(3, 0.015))
	in.Days = in.Days[:12]
	whole := run(t, in)
	in.To = calendar.Add(in.Days[11], 30)
	short := run(t, in)
	if whole.Picks.Picks != short.Picks.Picks || whole.Fifths.TurnoverPct != short.Fifths.TurnoverPct || whole.Companies != short.Companies {
		t.Errorf("with closes of years after: %+v, without: %+v", whole, short)
	}
	if n := short.IC[4].Months; n != 0 || !math.IsNaN(float64(short.IC[4].Mean)) {
		t.Errorf("the twelfth month is known %d times, a month after", n)
	}
}

func TestABacktestOfNothingSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	in := fund(t, 8, noise(4, 0.015))
	if _, err := backtest.Run(in); err == nil || !strings.Contains(err.Error(), "at least ten companies") {
		t.Errorf("of eight companies: %v", err)
	}
	gone := errors.New("the database is gone")
	in.Market = func(time.Time) ([]picks.Candidate, error) { return nil, gone }
	if _, err := backtest.Run(in); !errors.Is(err, gone) {
		t.Errorf("without a market: %v", err)
	}
}

// Worked by hand. x has the ranks 1 2 3 4 5, y 2 1 4 3 5: the squares of the differences add up to 4, and 1 - 6*4/(5*24) = 0.8.
func TestRankCorrelationOfAWorkedExample(t *testing.T) {
	t.Parallel()
	if got := backtest.Spearman([]float64{1, 2, 3, 10, 50}, []float64{0.2, -5, 7, 3, 8}); math.Abs(got-0.8) > 1e-12 {
		t.Errorf("%v, want 0.8", got)
	}
	// Two equal numbers share the ranks 1 and 2: x is 1.5 1.5 3, y 1 2 3.
	if got := backtest.Spearman([]float64{4, 4, 5}, []float64{1, 2, 3}); math.Abs(got-1.5/math.Sqrt(1.5*2)) > 1e-12 {
		t.Errorf("with equal numbers %v", got)
	}
	for what, v := range map[string]float64{
		"two pairs": backtest.Spearman([]float64{1, 2}, []float64{1, 2}), "equal numbers": backtest.Spearman([]float64{1, 1, 1}, []float64{1, 2, 3}),
	} {
		if !math.IsNaN(v) {
			t.Errorf("of %s it is %v", what, v)
		}
	}
}

// A company of the ranking stops trading. What is assumed after its last close follows the exchange and the reason, and the sensitivity is shown.
func TestSharesThatStopTradingLoseWhatTheirExchangeAndReasonSay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, exchange       string
		action               equity.ActionKind
		form                 string
		items                []string
		mergers, performance int
		loss                 float64
	}{
		{"a notice of the NYSE", "XNYS", "", "25-NSE", nil, 0, 1, 0.30},
		{"a notice of Nasdaq", "XNAS", "", "25-NSE", nil, 0, 1, 0.55},
		{"no notice at all", "XNYS", "", "", nil, 0, 1, 0.30},
		{"a delisting without a value", "XNAS", equity.Delisting, "25-NSE", nil, 0, 1, 0.55},
		{"a change of control", "XNAS", "", "8-K", []string{"5.01"}, 1, 0, 0},
		{"a merger on the record", "XNYS", equity.Merger, "", nil, 1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := fund(t, 12, func(_, _ int, market float64) float64 { return market }) // without a loss no excess
			in.Days = in.Days[:12]
			in.Random = 0
			candidates, _ := in.Market(in.Days[0])
			for i := range candidates {
				candidates[i].Company.Listings[0].Exchange = c.exchange
			}
			first := picks.Rank(picks.Market{Day: in.Days[0], Candidates: candidates}, in.Rules).Pick.CIK
			h := in.Prices[first]
			until := calendar.Add(in.Days[11], 5)
			for n, b := range h.Bars {
				if b.Date.After(until) {
					h.Bars = h.Bars[:n:n]
					break
				}
			}
			next := calendar.Next(until)
			if c.action != "" {
				h.Actions = []equity.Action{{CIK: first, Kind: c.action, Date: next}}
			}
			if c.form != "" {
				in.Departures = map[equity.CIK][]equity.Filing{first: {{CIK: first, Form: c.form, Items: c.items, Filed: until}}}
			}
			in.Prices[first] = h
			r := run(t, in)
			d := r.Delisted
			if d.Mergers != c.mergers || d.Performance != c.performance {
				t.Fatalf("%+v", d)
			}
			if math.Abs(float64(d.Nothing)) > 5e-4 || r.Picks.ExcessOverBenchmarkPct != d.Published {
				t.Errorf("without a loss the excess is %v; the record has %v, the published losses give %v", d.Nothing, r.Picks.ExcessOverBenchmarkPct, d.Published)
			}
			// The loss is in proportion: the same session and weight, but for the benchmark's move.
			if c.performance == 0 {
				if d.Published != d.Nothing || d.All != d.Nothing {
					t.Errorf("a merger loses: %+v", d)
				}
			} else if share := float64(d.Published-d.Nothing) / float64(d.All-d.Nothing); math.Abs(share-c.loss) > 0.02 || !(d.All < -1) {
				t.Errorf("of a total loss it is %v, want %v: %+v", share, c.loss, d)
			}
		})
	}
}
