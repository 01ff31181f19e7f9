package synth_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tidemark/ingest/world/synth"
)

var midsummer = time.Date(2026, 6, 30, 0, 0, 0, 0, time.UTC)

// Names and tickers are compared with the list of all companies that the SEC knows, if the list is available outside the repository.
func TestNoCompanyOfTheMarketIsReal(t *testing.T) {
	t.Parallel()
	market := synth.World{Seed: 1}.Market()
	if n := len(market.Companies); n < 55 || n > 75 {
		t.Errorf("%d companies", n)
	}
	seen := map[string]bool{}
	for _, c := range market.Companies {
		if !strings.HasSuffix(c.Name, " (synthetic)") || seen[c.Name] || c.CIK < 9_900_000_001 {
			t.Errorf("%d %q", c.CIK, c.Name)
		}
		seen[c.Name] = true
	}
	body, err := os.ReadFile("../../../../shared/upstream/sec-edgar/company_tickers.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no list of companies at ../shared/upstream/sec-edgar, beside the repository: names are not compared")
	}
	if err != nil {
		t.Fatal(err)
	}
	var real map[string]struct {
		CIK    int64 `json:"cik_str"`
		Ticker string
		Title  string
	}
	if err := json.Unmarshal(body, &real); err != nil {
		t.Fatal(err)
	}
	tickers, names := map[string]bool{}, map[string]bool{}
	for _, r := range real {
		tickers[r.Ticker] = true
		names[strings.ToUpper(r.Title)] = true
		if r.CIK >= market.Companies[0].CIK {
			t.Errorf("the numbers of invented companies are given: %d", r.CIK)
		}
	}
	for _, c := range market.Companies {
		name := strings.ToUpper(strings.TrimSuffix(c.Name, " (synthetic)"))
		for title := range names {
			if title == name || strings.HasPrefix(title, name+" ") || strings.HasPrefix(title, name+",") {
				t.Errorf("%s is real: %s", c.Name, title)
			}
		}
	}
	for seed := range uint64(20) {
		for _, c := range (synth.World{Seed: seed}).Market().Companies {
			for _, day := range []time.Time{c.Listed, midsummer.AddDate(8, 0, 0)} {
				if ticker := c.Ticker(day); tickers[ticker] {
					t.Errorf("%s has the real ticker %s", c.Name, ticker)
				}
			}
		}
	}
}

// A world with more companies has all of the usual one, unchanged, and the further ones are as different from each other.
func TestAMarketHasAsManyCompaniesAsAsked(t *testing.T) {
	t.Parallel()
	usual := synth.World{Seed: 1}.Market().Companies
	many := synth.World{Seed: 1, Companies: 300}.Market().Companies
	if len(many) != 300 || len((synth.World{Seed: 1, Companies: 10}).Market().Companies) != len(usual) {
		t.Fatalf("%d companies of 300", len(many))
	}
	day := midsummer
	names, owner := map[string]bool{}, map[string]string{}
	for i, c := range many {
		if i < len(usual) && (c.Name != usual[i].Name || c.Ticker(day) != usual[i].Ticker(day) || !cmp.Equal(c.Quarters(day), usual[i].Quarters(day))) {
			t.Errorf("%s is another company among many", usual[i].Name)
		}
		if names[c.Name] || !strings.HasSuffix(c.Name, " (synthetic)") {
			t.Errorf("%q is there twice, or does not say what it is", c.Name)
		}
		names[c.Name] = true
		for at := synth.FirstDay; at.Year() < 2037; at = at.AddDate(0, 3, 0) {
			ticker := c.Ticker(at)
			if was, taken := owner[ticker]; ticker != "" && (taken && was != c.Name || len(ticker) != 6 || !strings.HasSuffix(ticker, "SYN")) {
				t.Fatalf("%q is the ticker of %s and of %s", ticker, was, c.Name)
			}
			owner[ticker] = c.Name
		}
	}
	if cmp.Equal(many[len(usual)].Quarters(day), many[0].Quarters(day)) {
		t.Error("a further company has the books of its example")
	}
}

func TestNoTwoCompaniesShareATicker(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		market := synth.World{Seed: seed}.Market()
		owner := map[string]string{}
		for _, c := range market.Companies {
			for day := synth.FirstDay; day.Year() < 2037; day = day.AddDate(0, 1, 0) {
				ticker := c.Ticker(day)
				if was, taken := owner[ticker]; ticker != "" && taken && was != c.Name {
					t.Fatalf("seed %d: %s is the ticker of %s and of %s", seed, ticker, was, c.Name)
				}
				owner[ticker] = c.Name
			}
		}
	}
}

func TestSessionsHoldTogether(t *testing.T) {
	t.Parallel()
	market := synth.World{Seed: 3}.Market()
	for _, c := range append(market.Companies[:20:20], market.Funds()...) {
		splits := map[time.Time]float64{}
		for _, s := range c.Splits(midsummer) {
			splits[s.Day] = float64(s.New) / float64(s.Old)
		}
		var before synth.Session
		for _, s := range c.Sessions(midsummer) {
			switch {
			case s.Low > min(s.Open, s.Close), s.High < max(s.Open, s.Close), s.Low <= 0, s.Volume <= 0:
				t.Fatalf("%s: %+v", c.Name, s)
			case s.Day.Weekday()%6 == 0, !s.Day.After(before.Day):
				t.Fatalf("%s: %s after %s", c.Name, s.Day, before.Day)
			}
			if before.Close > 0 {
				ratio := max(splits[s.Day], 0)
				if ratio == 0 {
					ratio = 1
				}
				if move := math.Log(s.Close * ratio / before.Close); math.Abs(move) > 0.15 {
					t.Errorf("%s moves by %.0f %% on %s", c.Name, 100*move, s.Day.Format(time.DateOnly))
				}
			}
			before = s
		}
	}
}

// The books' figures of quarters add up to the figures of years, and the balance sheet balances.
func TestBooksHoldTogether(t *testing.T) {
	t.Parallel()
	losses, quarters := 0, 0
	for _, c := range (synth.World{Seed: 2}).Market().Companies {
		books := c.Quarters(midsummer)
		if (len(books) == 0) != (c.Books == synth.Unreported) {
			t.Errorf("%s has %d quarters of %s books", c.Name, len(books), c.Books)
		}
		for i, q := range books {
			quarters++
			if q.Net < 0 {
				losses++
			}
			switch {
			case q.End.After(midsummer), q.End.AddDate(0, 0, 1).Day() != 1, i > 0 && !q.Start.Equal(books[i-1].End.AddDate(0, 0, 1)):
				t.Fatalf("%s: a quarter from %s to %s", c.Name, q.Start, q.End)
			case q.Number == 4 && q.End.Month() != c.YearEnd, q.Number == 4 && q.FiscalYear != q.End.Year():
				t.Fatalf("%s: the fiscal year %d ends on %s", c.Name, q.FiscalYear, q.End)
			case q.Sales <= 0, q.Assets <= 0, q.Equity <= 0, q.Equity > q.Assets, q.Cash > q.Assets, q.Diluted < q.Outstanding:
				t.Fatalf("%s: %+v", c.Name, q)
			case c.Books == synth.Commercial && (q.Current > q.Assets || q.Owed <= 0 || q.Cost <= 0 || q.Cost > q.Sales):
				t.Fatalf("%s: %+v", c.Name, q)
			case math.Mod(q.Sales, 1000) != 0:
				t.Fatalf("%s: sales of %v are not in thousands", c.Name, q.Sales)
			}
		}
	}
	if share := float64(losses) / float64(quarters); share < 0.005 || share > 0.15 {
		t.Errorf("%.1f %% of the quarters are losses", 100*share)
	}
}

func TestMarketsOfOneSeedAreOne(t *testing.T) {
	t.Parallel()
	one, two := synth.World{Seed: 4}.Market(), synth.World{Seed: 4}.Market()
	none := cmpopts.EquateEmpty()
	for i := range 8 {
		a, b := one.Companies[i], two.Companies[i]
		b.Sessions(midsummer.AddDate(1, 0, 0)) // asked for more, and for something else, before
		b.Quarters(midsummer.AddDate(2, 0, 0))
		if diff := cmp.Diff(a.Sessions(midsummer), b.Sessions(midsummer)); diff != "" {
			t.Errorf("%s has two histories:\n%s", a.Name, diff)
		}
		if diff := cmp.Diff(a.Quarters(midsummer), b.Quarters(midsummer)); diff != "" {
			t.Errorf("%s has two books:\n%s", a.Name, diff)
		}
		if diff := cmp.Diff(a.Splits(midsummer), b.Splits(midsummer), none); diff != "" {
			t.Errorf("%s has two sets of splits:\n%s", a.Name, diff)
		}
		if diff := cmp.Diff(a.Dividends(midsummer), b.Dividends(midsummer), none); diff != "" {
			t.Errorf("%s has two sets of dividends:\n%s", a.Name, diff)
		}
	}
	if cmp.Equal(one.Companies[1].Quarters(midsummer), (synth.World{Seed: 5}).Market().Companies[1].Quarters(midsummer)) {
		t.Error("another seed has the same books")
	}
}
