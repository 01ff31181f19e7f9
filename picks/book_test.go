package picks

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/concepts"
	"tidemark/internal/equity"
)

// book is a folder for the cards of real filings, to be read: go test ./picks -run Book -book ../build/book.
var book = flag.String("book", "", "a folder that gets a file with a card of each real company on each day")

// The prices of the recorded files are adjusted for these splits, and for these spin-offs, which the publisher states as splits. The cards are
// of the shares as they were.
var splitsOf = map[string][]equity.Action{
	"AAPL":  {{Date: day("2014-06-09"), New: 7, Old: 1}, {Date: day("2020-08-31"), New: 4, Old: 1}},
	"AMZN":  {{Date: day("2022-06-06"), New: 20, Old: 1}},
	"GOOGL": {{Date: day("2014-04-03"), New: 1998, Old: 1000}, {Date: day("2022-07-18"), New: 20, Old: 1}},
	"NFLX":  {{Date: day("2015-07-15"), New: 7, Old: 1}},
	"KO":    {{Date: day("2012-08-13"), New: 2, Old: 1}},
	"GE":    {{Date: day("2019-02-26"), New: 104, Old: 100, Kind: equity.SpinOff}, {Date: day("2021-08-02"), New: 1, Old: 8}},
	"VZ":    {{Date: day("2010-07-02"), New: 1000, Old: 938, Kind: equity.SpinOff}},
	"PFE":   {{Date: day("2020-11-17"), New: 1054, Old: 1000, Kind: equity.SpinOff}},
	"IBM":   {{Date: day("2021-11-04"), New: 1046, Old: 1000, Kind: equity.SpinOff}},
	"T":     {{Date: day("2022-04-11"), New: 1324, Old: 1000, Kind: equity.SpinOff}},
}

var bookDays = []string{"2014-11-14", "2016-05-16", "2018-11-15", "2020-05-15", "2021-11-15", "2022-10-14"}

// bookMarket is recordedMarket with the prices as they were, in cents.
func bookMarket(t *testing.T, pick time.Time) Market {
	t.Helper()
	m := recordedMarket(t, pick)
	for i := range m.Candidates {
		c := &m.Candidates[i]
		for _, s := range splitsOf[c.Company.Name] {
			s.CIK, s.Kind = c.Company.CIK, cmp.Or(s.Kind, equity.Split)
			c.History.Actions = append(c.History.Actions, s)
		}
		for n, b := range c.History.Bars {
			ratio := 1.0
			for _, s := range c.History.Actions {
				if b.Date.Before(s.Date) {
					ratio *= s.Ratio()
				}
			}
			price, err := equity.PriceOf(b.Close.Float()*ratio, 2)
			if err != nil {
				t.Fatal(err)
			}
			c.History.Bars[n].Close = price
		}
	}
	return m
}

// bookPreface says what of a card is made up.
const bookPreface = "The figures are of real filings and closes. The recorded files name no company, exchange and country: here each company has its ticker " +
	"as its name, the NYSE and the United States.\n"

// Every figure of every card of a real company is in its filings: a fact of one filing, or the stated sum of such facts. The filings are the
// company's own, filed before the day. No card makes a claim that means nothing in its line of business, in any language.
func TestTheBookOfRealCardsShowsWhatTheFilingsShow(t *testing.T) {
	t.Parallel()
	cards := 0
	for _, d := range bookDays {
		m := bookMarket(t, day(d))
		facts, histories := map[equity.CIK][]equity.Fact{}, Prices{}
		for _, c := range m.Candidates {
			histories[c.Company.CIK] = c.History
			facts[c.Company.CIK] = c.Facts
		}
		r := Rank(m, DefaultRules())
		for _, e := range r.Excluded {
			t.Logf("%s: %s is left out: %s", d, e.Ticker, e.Reason)
		}
		var text strings.Builder
		for _, s := range r.Scores {
			of := r
			of.Pick = &s
			b := NewBrief(of, s, Background{History: histories[s.CIK]})
			x, err := WriteResearch(b, English)
			if err != nil {
				t.Fatal(err)
			}
			if err := x.check(English, b.Facts); err != nil {
				t.Errorf("%s on %s: %v", s.Ticker, d, err)
			}
			cards++
			for _, wrong := range []string{ // a loss is not a small gain; all are not a percentage, none no number, one no plural, and a forecast no fact
				"only -", "low at -", "100% of the companies", "100% of them", "only 0 of", "only 0%", "passes 0", "if that continues",
			} {
				if strings.Contains(x.FullResearch, wrong) {
					t.Errorf("%s on %s: the text says %q", s.Ticker, d, wrong)
				}
			}
			peers, _ := b.Facts.Find("peers")
			if one := !strings.Contains(peers.Value, ","); peers.Value != "" && one == strings.Contains(x.WhatItDoes, "Closest peers") {
				t.Errorf("%s on %s: the peers are called %s", s.Ticker, d, x.WhatItDoes)
			}
			wantConclusions(t, b, s)
			wantMajority(t, b, s, r.Scores)
			wantParts(t, b, s)
			for _, figure := range s.figures() {
				for _, f := range figure.From {
					if !f.Filed.Before(day(d)) || !slices.Contains(facts[s.CIK], f) {
						t.Errorf("%s on %s: no filing before shows %+v", s.Ticker, d, f)
					}
				}
				if figure.Known() && len(figure.From) == 0 {
					t.Errorf("%s on %s: a figure of %v cites nothing", s.Ticker, d, figure.Value)
				}
			}
			fmt.Fprintf(&text, "\n# %s on %s, rank %d\n\n%s\n\n%s\n\n%s\n\n%s\n\n%s\n", s.Ticker, d, s.Rank, x.SummaryWhy, x.WhatItDoes, x.WhyChosen, x.MainRisk, x.FullResearch)
			for _, f := range b.Facts {
				fmt.Fprintf(&text, "- %s = %s %s\n", f.ID, f.Value, f.Unit)
			}
		}
		if *book != "" {
			if err := os.MkdirAll(*book, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(*book, d+".md"), []byte(bookPreface+text.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d cards", cards)
	if cards < 100 {
		t.Errorf("%d cards, want 100", cards)
	}
}

// figures are what a score was made of.
func (s *Score) figures() []Figure {
	return []Figure{
		s.Revenue, s.GrossProfit, s.OperatingIncome, s.Income, s.CashFlow, s.Spending, s.Assets, s.Equity, s.Debt, s.MarketValue, s.EnterpriseValue,
		s.Funds, s.Provisions, s.CombinedRatio,
	}
}

// wantConclusions fails if a text draws a conclusion from a figure that says the opposite.
func wantConclusions(t *testing.T, b Brief, s Score) {
	t.Helper()
	number := func(id string) float64 {
		d, _ := b.Facts.Find(id)
		return d.Number()
	}
	value := func(id string) string {
		d, _ := b.Facts.Find(id)
		return d.Value
	}
	for _, id := range b.changes {
		before, _ := b.Facts.Find(id + "_before")
		now, _ := b.Facts.Find(id)
		if to := before.AsOf.Format(time.DateOnly); to != value("before_to") {
			t.Errorf("%s: %s of %s stands in the column of %s", s.Ticker, before.ID, to, value("before_to"))
		}
		if to := now.AsOf.Format(time.DateOnly); to != value("income_to") {
			t.Errorf("%s: %s of %s stands in the column of %s", s.Ticker, id, to, value("income_to"))
		}
	}
	backed := s.metric(CashBacking).Value
	for what, wrong := range map[string]bool{
		"earnings without cash, of cash flow above income":            b.risk == "accruals" && backed >= 0,
		"cash that hardly backs the result, of cash flow above it":    slices.Contains(b.poor, CashBacking) && backed >= 0,
		"cash that backs the result, of cash flow below it":           slices.Contains(b.strong, CashBacking) && backed <= 0,
		"a need of new capital, of free cash flow":                    b.risk == "loss" && number("free_cash_flow") > 0,
		"a fall that may go on, of a gain":                            b.risk == "falling" && number("momentum") >= 0,
		"high expectations, of a price of less than 20 times profit":  b.risk == "price" && number("pe") < 20,
		"little room for debt, of less than a quarter of the assets":  b.risk == "debt" && number("debt_ratio") < 25,
		"large losses within weeks, of a volatility below 30 percent": b.risk == "volatility" && number("volatility") < 30,
		"a shrinking business, of revenue that grew since the year":   b.risk == "shrinking" && (number("quarter_growth") > 0 || s.Revenue.Value > s.Book.over(revenue, s.Book.years[0]).Value),
		"a main strength that over a third of the others match":       b.lead != "" && number(string(b.lead)+"_ahead") < 66,
		"support by what over a third of the others do as well":       b.next != "" && number(string(b.next)+"_ahead") < 66,
		"a weak point in which over a third of the others are worse":  b.weak != "" && number(string(b.weak)+"_ahead") > 34,
		"a business of quality that loses money":                      (b.lead == Quality || b.next == Quality) && number("net_income") < 0,
		"earnings that cash backs poorly, of four fifths in cash":     s.Income.Value > 0 && s.CashFlow.Value >= 0.8*s.Income.Value && (b.risk == "accruals" || slices.Contains(b.poor, CashBacking)),
		"passed tests in its favor, of a minority":                    slices.Contains(b.strong, FinancialStrength) && 2*number("fscore") <= number("fscore_known"),
		"failed tests against it, of a minority":                      slices.Contains(b.poor, FinancialStrength) && 2*number("fscore") > number("fscore_known"),
		"high expectations, of earnings less than half of the median": b.risk == "price" && 2*number("net_income") < number("usual_income"),
		"low debt, of a total in a note":                              s.Debt.Why == concepts.Total && slices.Contains(b.strong, LowDebt),
		"no weakness, of a weak point or a point against it":          b.risk == "market" && (b.weak != "" || !slices.Equal(b.objections(), []string{"against.none"})),
		"weak points, of a company without one":                       b.risk == "market.weak" && b.weak == "" && slices.Equal(b.objections(), []string{"against.none"}),
		"a share that moved less than most, as the main risk":         b.risk == "volatility" && slices.Contains(b.strong, LowVolatility),
		"a cheap share, whose price is the main risk":                 (b.risk == "price" || b.risk == "depressed") && slices.Contains(b.strong, EarningsYield),
		"a share that did better than its sector, whose fall goes on": b.risk == "falling" && slices.Contains(b.strong, PriceMomentum),
		"low debt, as the main risk":                                  b.risk == "debt" && slices.Contains(b.strong, LowDebt),
		"a quarter before the newest report":                          b.Facts.Has("quarter_to") && value("quarter_to") != value("income_to"),
	} {
		if wrong {
			d, _ := b.Facts.Find("pick_date")
			t.Errorf("%s on %s: %s", s.Ticker, d.Value, what)
		}
	}
}

// wantMajority fails if a text says that a company does better or worse than most and half of the others say otherwise. It counts without the code that wrote the text.
func wantMajority(t *testing.T, b Brief, s Score, scores []Score) {
	t.Helper()
	for sign, list := range map[float64][]string{1: b.strong, -1: b.poor} {
		for _, id := range list {
			if slices.Contains([]string{PriceMomentum, FinancialStrength, CashBacking}, id) {
				continue // their texts compare with other things
			}
			var others []float64
			for _, o := range scores {
				if m := o.metric(id); o.CIK != s.CIK && m.Known() {
					others = append(others, sign*m.Value)
				}
			}
			slices.Sort(others)
			if n := len(others); n == 0 || sign*s.metric(id).Value <= others[(n-1)/2] {
				t.Errorf("%s: %s is %v, said to be on the side %+.0f of most of %d", s.Ticker, id, s.metric(id).Value, sign, n)
			}
		}
	}
}

func TestNoTextDrawsAConclusionThatItsFiguresContradict(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		r := Rank(synthMarket(60+seed, 40, pickDay), DefaultRules())
		for i, s := range r.Scores {
			of := r
			of.Pick = &r.Scores[i]
			b := NewBrief(of, s, Background{})
			wantConclusions(t, b, s)
			wantMajority(t, b, s, r.Scores)
		}
	}
}

// Coca-Cola's quarterly reports of 2018 state 4,297 diluted shares; its annual report says 4,324 million.
func TestACountInMillionsByMistakeIsNotRead(t *testing.T) {
	t.Parallel()
	count := func(from, to string, v float64, form, filed string) equity.Fact {
		f := fact("WeightedAverageNumberOfDilutedSharesOutstanding", from, to, v, form, filed)
		f.Unit = "shares"
		return f
	}
	year := count("2017-01-01", "2017-12-31", 4_324_000_000, "10-K", "2018-02-23")
	wrong := count("2018-01-01", "2018-09-28", 4297, "10-Q", "2018-10-30")
	if got := sharesOutstanding(NewBook([]equity.Fact{year, wrong}, day("2018-11-14")), 21344, History{}, day("2018-11-15")); got.Value != 4_324_000_000 {
		t.Errorf("%v shares, want those of the annual report", got.Value)
	}
	right := count("2018-01-01", "2018-09-28", 4_297_000_000, "10-Q", "2018-10-30")
	if got := sharesOutstanding(NewBook([]equity.Fact{year, right}, day("2018-11-14")), 21344, History{}, day("2018-11-15")); got.Value != 4_297_000_000 {
		t.Errorf("%v shares, want those of the newest report", got.Value)
	}
}

// Oracle's annual report of 2022 states a LongTermDebt of zero in a note, and its notes of 72 billion under a tag of its own.
func TestAZeroOfANoteIsNoDebtFreeCompany(t *testing.T) {
	t.Parallel()
	zero := fact("LongTermDebt", "", "2022-05-31", 0, "10-K", "2022-06-21")
	facts := []equity.Fact{
		zero, fact("Assets", "", "2022-05-31", 109_297, "10-K", "2022-06-21"), fact("Liabilities", "", "2022-05-31", 115_065, "10-K", "2022-06-21"),
		fact("LiabilitiesCurrent", "", "2022-05-31", 19_511, "10-K", "2022-06-21"),
	}
	if d := NewBook(facts, day("2022-10-13")).newestDebt(day("2022-05-31")); d.Known() {
		t.Errorf("its debt is %v", d.Value)
	}
	facts[2].Value = 19_511 // nothing is left beside what is due within the year
	if d := NewBook(facts, day("2022-10-13")).newestDebt(day("2022-05-31")); !d.Known() || d.Value != 0 {
		t.Errorf("where the liabilities reconcile it is %v, known %v", d.Value, d.Known())
	}
}
