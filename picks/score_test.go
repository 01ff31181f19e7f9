package picks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
)

// digest is all of a ranking that anyone can see, as text: equal texts are equal picks, bit for bit.
func digest(r Ranking) string {
	var b strings.Builder
	for _, s := range r.Scores {
		fmt.Fprintf(&b, "%d %s %v %x\n", s.Rank, s.Ticker, s.Price, math.Float64bits(s.Total))
		for _, m := range s.Metrics {
			fmt.Fprintf(&b, "  %s %x %x %d\n", m.ID, math.Float64bits(m.Value), math.Float64bits(m.Z), m.Peers)
		}
	}
	fmt.Fprintln(&b, r.Excluded, r.Passed, r.NoPick)
	if r.Pick != nil {
		fmt.Fprintln(&b, r.Pick.Ticker, r.Pick.Explain())
	}
	return b.String()
}

var pickDay = day("2026-06-15")

func TestSameMarketSamePickInAnyOrder(t *testing.T) {
	t.Parallel()
	m := synthMarket(1, 48, pickDay)
	for i := range 30 {
		m.Past = append(m.Past, PastPick{Date: calendar.Add(pickDay, -1-i), CIK: equity.CIK(1000 + i%20), Sector: Technology})
	}
	want := digest(Rank(m, DefaultRules()))
	rng := rand.New(rand.NewPCG(5, 5))
	for range 3 {
		rng.Shuffle(len(m.Candidates), func(i, j int) { m.Candidates[i], m.Candidates[j] = m.Candidates[j], m.Candidates[i] })
		rng.Shuffle(len(m.Past), func(i, j int) { m.Past[i], m.Past[j] = m.Past[j], m.Past[i] })
		for _, c := range m.Candidates {
			rng.Shuffle(len(c.Facts), func(i, j int) { c.Facts[i], c.Facts[j] = c.Facts[j], c.Facts[i] })
		}
		if diff := cmp.Diff(want, digest(Rank(m, DefaultRules()))); diff != "" {
			t.Fatalf("another order, another ranking (-want +got):\n%s", diff)
		}
	}
}

func TestNothingKnownLaterChangesAPick(t *testing.T) {
	t.Parallel()
	m := synthMarket(2, 40, pickDay)
	want := digest(Rank(m, DefaultRules()))
	rng := rand.New(rand.NewPCG(9, 9))
	changed := 0
	for i := range m.Candidates {
		c := &m.Candidates[i]
		c.Facts = slices.Clone(c.Facts)
		for j := range c.Facts {
			if f := &c.Facts[j]; !f.Filed.Before(pickDay) {
				f.Value *= 1 + rng.Float64()
				changed++
			}
		}
		// A restatement of everything, filed on the pick's own day.
		for _, f := range slices.Clone(c.Facts) {
			f.Value, f.Filed, f.Form, f.Accession = f.Value*3, pickDay, "10-K/A", "later"
			c.Facts = append(c.Facts, f)
			changed++
		}
		c.History.Bars = slices.Clone(c.History.Bars)
		for j := range c.History.Bars {
			if b := &c.History.Bars[j]; b.Date.After(pickDay) {
				b.Close = "999.99"
				changed++
			}
		}
		c.History.Actions = append(slices.Clone(c.History.Actions), split(pickDay.AddDate(0, 0, 40).Format(time.DateOnly), 10, 1))
	}
	m.Past = append(m.Past, PastPick{Date: pickDay, CIK: 1001, Sector: Technology}, PastPick{Date: pickDay.AddDate(0, 0, 9), CIK: 1002, Sector: Energy})
	if changed == 0 {
		t.Fatal("nothing was filed later: the test shows nothing")
	}
	if diff := cmp.Diff(want, digest(Rank(m, DefaultRules()))); diff != "" {
		t.Errorf("what became known later changed the pick (-want +got):\n%s", diff)
	}
	// What was filed the day before does change it.
	for i := range m.Candidates {
		for j := range m.Candidates[i].Facts {
			if f := &m.Candidates[i].Facts[j]; f.Accession == "later" {
				f.Filed = calendar.Previous(pickDay)
			}
		}
	}
	if digest(Rank(m, DefaultRules())) == want {
		t.Error("a restatement filed the day before changed nothing")
	}
}

func TestMomentumAndRiskStopAtTheDayBefore(t *testing.T) {
	t.Parallel()
	m := synthMarket(3, 12, pickDay)
	before := Rank(m, DefaultRules())
	c := &m.Candidates[0]
	i := c.History.upTo(pickDay) - 1
	c.History.Bars = slices.Clone(c.History.Bars)
	c.History.Bars[i].Close = "77.77"
	after := Rank(m, DefaultRules())
	find := func(r Ranking) Score {
		return r.Scores[slices.IndexFunc(r.Scores, func(s Score) bool { return s.CIK == c.Company.CIK })]
	}
	a, b := find(before), find(after)
	for _, id := range []string{PriceMomentum, LowVolatility} {
		if a.metric(id).Value != b.metric(id).Value {
			t.Errorf("%s reads the close of the pick's day", id)
		}
	}
	if b.Price != "77.77" || a.metric(EarningsYield).Value == b.metric(EarningsYield).Value {
		t.Errorf("the value does not read the close of the pick's day: %v", b.Price)
	}
}

// The comparison is checked against the definitions, written out again for a small universe.
func TestComparisonFollowsTheDefinitions(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 4))
	sectors := []Sector{Technology, Technology, Technology, Technology, Technology, Technology, Energy, Energy, Energy, Finance, Finance, Finance, Finance, Finance}
	var scores []Score
	for i, sector := range sectors {
		s := newScore(equity.Company{CIK: equity.CIK(i + 1)}, pickDay)
		s.Sector = sector
		for k := range s.Metrics {
			s.Metrics[k].Applies = applies(s.Metrics[k].ID, map[Sector]int{Technology: 7372, Energy: 1311, Finance: 6021}[sector])
			if s.Metrics[k].Applies && rng.IntN(6) > 0 {
				s.Metrics[k].Value = rng.NormFloat64()
			}
		}
		scores = append(scores, s)
	}
	scores[0].Metrics[0].Value = 50 // an extreme
	rules := DefaultRules()
	rules.ClipTail = 0.1
	compare(scores, rules)
	for i := range scores {
		scores[i].group(rules)
	}
	standardiseGroups(scores)
	for i := range scores {
		scores[i].total(nil, rules)
	}
	wide := map[Group][]float64{} // the group scores before they are standardised
	for i, s := range scores {
		groups, counts := map[Group]float64{}, map[Group]float64{}
		for k, m := range s.Metrics {
			if !m.Applies {
				continue
			}
			counts[m.Group]++
			if math.IsNaN(m.Value) {
				groups[m.Group] -= 0.25
				continue
			}
			// The clipped values of all companies, by the metric's rank within the universe.
			clipped := map[int]float64{}
			var sorted []float64
			for _, o := range scores {
				if v := o.Metrics[k].Value; !math.IsNaN(v) {
					sorted = append(sorted, v)
				}
			}
			slices.Sort(sorted)
			low, high := interpolated(sorted, 0.1), interpolated(sorted, 0.9)
			for j, o := range scores {
				if v := o.Metrics[k].Value; !math.IsNaN(v) {
					clipped[j] = math.Max(low, math.Min(high, v))
				}
			}
			if m.ID == PriceMomentum {
				total, n := map[Sector]float64{}, map[Sector]float64{}
				for j, v := range clipped {
					total[scores[j].Sector] += v
					n[scores[j].Sector]++
				}
				for j := range clipped {
					clipped[j] -= total[scores[j].Sector] / n[scores[j].Sector]
				}
			}
			var own, all []float64
			for j, v := range clipped {
				all = append(all, v)
				if scores[j].Sector == s.Sector {
					own = append(own, v)
				}
			}
			if len(own) < 5 {
				own = all
			}
			mean, squares := 0.0, 0.0
			for _, v := range own {
				mean += v / float64(len(own))
			}
			for _, v := range own {
				squares += (v - mean) * (v - mean)
			}
			want := (clipped[i] - mean) / math.Sqrt(squares/float64(len(own)-1))
			if math.Abs(m.Z-want) > 1e-9 || m.Peers != len(own) {
				t.Errorf("company %d, %s: z %v among %d, want %v among %d", i, m.ID, m.Z, m.Peers, want, len(own))
			}
			groups[m.Group] += want
		}
		for g, n := range counts {
			wide[g] = append(wide[g], groups[g]/n)
		}
	}
	for i, s := range scores {
		want := 0.0
		for g, weight := range map[Group]float64{Quality: 0.35, Value: 0.30, Momentum: 0.25, Risk: 0.10} {
			mean, squares := 0.0, 0.0
			for _, v := range wide[g] {
				mean += v / float64(len(scores))
			}
			for _, v := range wide[g] {
				squares += (v - mean) * (v - mean)
			}
			want += weight * (wide[g][i] - mean) / math.Sqrt(squares/float64(len(scores)-1))
		}
		if math.Abs(s.Total-want) > 1e-6 {
			t.Errorf("company %d: total %v, want %v", i, s.Total, want)
		}
	}
}

// interpolated is the value at which the empirical distribution, drawn as a line through its steps, reaches p.
func interpolated(sorted []float64, p float64) float64 {
	at := p*float64(len(sorted)) - 1
	if at <= 0 {
		return sorted[0]
	}
	i := int(math.Floor(at))
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

func TestMetricsOfOneCompanyByHand(t *testing.T) {
	t.Parallel()
	m := synthMarket(6, 30, pickDay)
	// Revenue of a hundred million a quarter from 2020 on, growing by ten percent in 2025 and again in 2026.
	f := companyFixture{
		cik: 1, ticker: "ONE", sic: 7372, margin: 0.2, gross: 0.6, backing: 1.25, debt: 0.2, shares: 1e8,
		revenue: func(year, _ int) float64 { return 1e9 * math.Pow(1.1, float64(max(year, 2024)-2024)) },
	}
	bars := walkBars(rand.New(rand.NewPCG(1, 1)), 1, calendar.Add(pickDay, -300), pickDay, 100, 0, 0)
	m.Candidates = append(m.Candidates, Candidate{Company: f.company(), Facts: f.facts(2021, 2026), History: History{Bars: bars}})
	r := Rank(m, DefaultRules())
	s := r.Scores[slices.IndexFunc(r.Scores, func(s Score) bool { return s.CIK == 1 })]
	// On June 15, 2026 the newest report is about the first quarter of 2026. Twelve months: three quarters of 1.1 and one of 1.21 billion.
	// The balance is five times a quarter's revenue. The cover counts 95 million shares.
	revenue, total, shares := 3*1.1e9+1.21e9, 5*1.21e9, 95e6
	income := 0.2 * revenue
	value := shares * 100
	ev := value + 0.2*total - 0.1*total
	for id, want := range map[string]float64{
		EarningsYield:      income / value,
		CashYield:          (1.25*income - 0.04*revenue) / value,
		BookYield:          0.5 * total / value,
		OperatingYield:     1.3 * income / ev,
		GrossProfitability: 0.6 * revenue / total,
		ReturnOnEquity:     income / (0.5 * total),
		CashBacking:        0.25 * income / total,
		LowDebt:            -0.2,
		// Fiscal 2025: margin and debt ratio are the same as the year before. Debt to average assets rose, as assets grew from 2024 to 2025
		// and did not before. Turnover on the opening assets rose, and so did the return on them. The rest is good. 7 of 9.
		FinancialStrength: 7.0 / 9,
		LowVolatility:     0,
	} {
		if got := s.metric(id).Value; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", id, got, want)
		}
	}
	if s.MarketValue.Value != value || math.Abs(s.EnterpriseValue.Value-ev) > 1 {
		t.Errorf("market value %v and enterprise value %v, want %v and %v", s.MarketValue.Value, s.EnterpriseValue.Value, value, ev)
	}
	if got := s.metric(PriceMomentum); got.Value != 0 || !got.From.Equal(calendar.Add(pickDay, -253)) || !got.To.Equal(calendar.Add(pickDay, -22)) {
		t.Errorf("momentum %+v", got)
	}
}

func TestAStockIsNotPickedAgainSoon(t *testing.T) {
	t.Parallel()
	m := synthMarket(7, 45, pickDay)
	best := Rank(m, DefaultRules()).Pick
	third := (len(Rank(m, DefaultRules()).Scores) + 2) / 3
	if DefaultRules().RepeatDays != 60 || third < 12 {
		t.Fatalf("%d days, and a third of the companies are %d", DefaultRules().RepeatDays, third)
	}
	for _, c := range []struct {
		rule, days int
		picked     bool
	}{
		{10, 1, false},
		{10, 9, false},
		{10, 10, false},
		{10, 11, true},
		{60, third, false},
		{60, third + 1, true}, // a small universe
	} {
		rules := DefaultRules()
		rules.RepeatDays = c.rule
		m.Past = []PastPick{{Date: calendar.Add(pickDay, -c.days), CIK: best.CIK, Sector: best.Sector}}
		r := Rank(m, rules)
		if got := r.Pick.CIK == best.CIK; got != c.picked {
			t.Errorf("rule of %d days, picked %d days ago: picked again %v, want %v (passed %v)", c.rule, c.days, got, c.picked, r.Passed)
		}
	}
}

func TestNoSectorHasMoreThanAQuarterOfTwentyPicks(t *testing.T) {
	t.Parallel()
	m := synthMarket(8, 36, pickDay)
	var past []PastPick
	// The market does not change, so that the same sectors would win every day.
	rules := DefaultRules()
	rules.RepeatDays = 12
	for i := range 45 {
		at := m
		at.Past = past
		r := Rank(at, rules)
		if r.Pick == nil {
			t.Fatalf("day %d: %s", i, r.NoPick)
		}
		past = append(past, PastPick{Date: calendar.Add(pickDay, -200+i), CIK: r.Pick.CIK, Sector: r.Pick.Sector})
		count := map[Sector]int{}
		for _, p := range past[max(0, len(past)-20):] {
			count[p.Sector]++
			if count[p.Sector] > 5 {
				t.Fatalf("day %d: %d of the last 20 picks are in %s", i, count[p.Sector], p.Sector)
			}
		}
	}
}

func TestTiesGoByTicker(t *testing.T) {
	t.Parallel()
	m := synthMarket(9, 2, pickDay)
	twin := m.Candidates[0]
	twin.Company.CIK, twin.Company.Listings = 5, []equity.Listing{{Ticker: "AAAA", Exchange: "XNAS"}}
	m.Candidates = []Candidate{m.Candidates[0], twin}
	if got := Rank(m, DefaultRules()).Pick.Ticker; got != "AAAA" {
		t.Errorf("of two equal companies %s is picked", got)
	}
}

func TestWhoIsLeftOutAndWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		change     func(*Candidate)
	}{
		{"no ticker on the day", "not listed on a covered exchange", func(c *Candidate) { c.Company.Listings = nil }},
		{"traded over the counter", "not listed on a covered exchange", func(c *Candidate) { c.Company.Listings[0].Exchange = "OTCM" }},
		{"no industry", "the SEC states no industry", func(c *Candidate) { c.Company.SIC = 0 }},
		{"a blank check company", "a blank check company", func(c *Candidate) { c.Company.SIC = 6770 }},
		{"halted on the day", "no close on 2026-06-15", func(c *Candidate) {
			c.History.Bars = slices.DeleteFunc(c.History.Bars, func(b equity.Bar) bool { return b.Date.Equal(pickDay) })
		}},
		{"listed half a year ago", "less than a year of prices", func(c *Candidate) { c.History.Bars = c.History.Bars[200:] }},
		{"often halted", "gaps in the prices", func(c *Candidate) {
			c.History.Bars = slices.DeleteFunc(c.History.Bars, func(b equity.Bar) bool { return b.Date.Day() == 10 || b.Date.Day() == 11 })
		}},
		{"reports in euros", "no balance sheet under US rules in US dollars", func(c *Candidate) {
			for i := range c.Facts {
				if c.Facts[i].Unit == "USD" {
					c.Facts[i].Unit = "EUR"
				}
			}
		}},
		{"never filed an annual report", "no annual report", func(c *Candidate) {
			c.Facts = slices.DeleteFunc(c.Facts, func(f equity.Fact) bool { return f.Form == "10-K" })
		}},
		{"stopped reporting", "the newest fiscal year ended on 2024-12-31", func(c *Candidate) {
			c.Facts = slices.DeleteFunc(c.Facts, func(f equity.Fact) bool { return f.Filed.After(day("2025-12-31")) })
		}},
		{"states no shares", "number of shares unknown", func(c *Candidate) {
			c.Facts = slices.DeleteFunc(c.Facts, func(f equity.Fact) bool { return f.Unit == "shares" })
		}},
		{"hardly traded", "a median of", func(c *Candidate) {
			for i := range c.History.Bars {
				c.History.Bars[i].Volume = 10
			}
		}},
		{"a penny stock", "a price of 4.99 USD", func(c *Candidate) {
			c.History.Bars[c.History.upTo(pickDay)-1].Close = "4.99"
		}},
		{"too small", "a market value of", func(c *Candidate) {
			for i := range c.Facts {
				if c.Facts[i].Unit == "shares" {
					c.Facts[i].Value /= 1000
				}
			}
		}},
		{"states next to nothing", "metrics known", func(c *Candidate) {
			c.Facts = slices.DeleteFunc(c.Facts, func(f equity.Fact) bool {
				return !slices.Contains([]string{"NetIncomeLoss", "Assets", "EntityCommonStockSharesOutstanding"}, f.Tag)
			})
		}},
	} {
		m := synthMarket(10, 3, pickDay)
		m.Candidates[1].Company.CIK = 77
		c.change(&m.Candidates[1])
		r := Rank(m, DefaultRules())
		if len(r.Excluded) != 1 || r.Excluded[0].CIK != 77 || !strings.Contains(r.Excluded[0].Reason, c.want) {
			t.Errorf("%s: left out %v, want %q", c.name, r.Excluded, c.want)
		}
		if len(r.Scores) != 2 {
			t.Errorf("%s: %d scored", c.name, len(r.Scores))
		}
	}
}

func TestADayWithoutAPickSaysWhy(t *testing.T) {
	t.Parallel()
	if r := Rank(synthMarket(11, 3, day("2026-06-13")), DefaultRules()); r.Pick != nil || r.NoPick != "not a trading day" {
		t.Errorf("a Saturday: %q", r.NoPick)
	}
	if r := Rank(Market{Day: pickDay}, DefaultRules()); r.Pick != nil || r.NoPick != "no company could be scored" {
		t.Errorf("nothing known: %q", r.NoPick)
	}
	m := synthMarket(11, 2, pickDay)
	for _, c := range m.Candidates {
		m.Past = append(m.Past, PastPick{Date: calendar.Previous(pickDay), CIK: c.Company.CIK})
	}
	if r := Rank(m, DefaultRules()); r.Pick != nil || !strings.Contains(r.NoPick, "picked lately") || len(r.Passed) != 2 {
		t.Errorf("all picked yesterday: %q", r.NoPick)
	}
}

func TestSharesOutstanding(t *testing.T) {
	t.Parallel()
	cover := func(end string, n float64, filed string) equity.Fact {
		return equity.Fact{Taxonomy: "dei", Tag: "EntityCommonStockSharesOutstanding", Unit: "shares", End: day(end), Value: n * 1e6, Form: "10-Q", Filed: day(filed)}
	}
	average := func(start, end string, n float64, filed string) equity.Fact {
		return equity.Fact{Taxonomy: "us-gaap", Tag: "WeightedAverageNumberOfDilutedSharesOutstanding", Unit: "shares", Start: day(start), End: day(end), Value: n * 1e6, Form: "10-Q", Filed: day(filed)}
	}
	for _, c := range []struct {
		name    string
		facts   []equity.Fact
		actions []equity.Action
		want    float64 // million
	}{
		{"the cover", []equity.Fact{cover("2026-05-01", 100, "2026-05-04"), average("2026-01-01", "2026-03-31", 104, "2026-05-04")}, nil, 100},
		{"a split after it", []equity.Fact{cover("2026-05-01", 100, "2026-05-04"), average("2026-01-01", "2026-03-31", 104, "2026-05-04")}, []equity.Action{split("2026-06-01", 4, 1)}, 400},
		{"a split before it is in it", []equity.Fact{cover("2026-05-01", 100, "2026-05-04")}, []equity.Action{split("2026-04-01", 4, 1)}, 100},
		{"a split between the quarter and the filing is in the average", []equity.Fact{average("2026-01-01", "2026-03-31", 104, "2026-05-04")}, []equity.Action{split("2026-04-20", 4, 1)}, 104},
		{"one class of several on the cover", []equity.Fact{cover("2026-05-01", 40, "2026-05-04"), average("2026-01-01", "2026-03-31", 104, "2026-05-04")}, nil, 104},
		{"no cover", []equity.Fact{average("2025-01-01", "2025-12-31", 110, "2026-02-20"), average("2026-01-01", "2026-03-31", 104, "2026-05-04")}, nil, 104},
		{"the quarter and not the half year", []equity.Fact{average("2026-01-01", "2026-06-30", 106, "2026-06-10"), average("2026-04-01", "2026-06-30", 104, "2026-06-10")}, nil, 104},
		{"neither", nil, nil, 0},
	} {
		got := sharesOutstanding(NewBook(c.facts, pickDay), 7, History{Actions: c.actions}, pickDay)
		if got.Value != c.want*1e6 || got.Known() != (c.want > 0) {
			t.Errorf("%s: %v million, want %v", c.name, got.Value/1e6, c.want)
		}
	}
}
