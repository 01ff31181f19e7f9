package companies_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest/companies"
	"tidemark/internal/equity"
)

func TestWhoIsInTheUniverse(t *testing.T) {
	t.Parallel()
	listed := func(cik equity.CIK, tickers ...string) equity.Company {
		c := equity.Company{CIK: cik}
		for _, ticker := range tickers {
			c.Listings = append(c.Listings, equity.Listing{Ticker: ticker})
		}
		return c
	}
	// The list of all companies, the largest first.
	all := []equity.Company{
		listed(1045810, "NVDA"), listed(equity.Benchmark, "SPY"), listed(320193, "AAPL"), listed(1067983, "BRK-B", "BRK-A"), listed(789019, "MSFT"),
	}
	for _, c := range []struct{ text, want, missing string }{
		{"top 2", "NVDA AAPL", ""}, // a fund does not count as a company
		{"TOP 300", "NVDA AAPL BRK-B MSFT", ""},
		{"msft, aapl", "AAPL MSFT", ""},
		{"brk.a", "BRK-B", ""},
		{"AAPL # largest of all\nNOPE\n0000789019 1", "AAPL MSFT", "0000000001 NOPE"},
		{"SPY", "", "SPY"},
	} {
		u, err := companies.ParseUniverse(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		chosen, missing := u.Choose(all)
		var got []string
		for _, k := range chosen {
			got = append(got, k.Listings[0].Ticker)
		}
		if diff := cmp.Diff(c.want+"|"+c.missing, strings.Join(got, " ")+"|"+strings.Join(missing, " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
	for text, meant := range map[string]string{"top300": "top 300", "tpo 300": "top 300", "300": "top 300", "Top-50\n": "top 50", "to 500": "top 500"} {
		if u, err := companies.ParseUniverse(text); err == nil || !strings.Contains(err.Error(), `did you mean "`+meant+`"?`) {
			t.Errorf("%q: %+v, %v, want %q named", text, u, err, meant)
		}
	}
	for _, text := range []string{"1800", "AAPL 300", "TOPS AAPL", "0000000300"} {
		if _, err := companies.ParseUniverse(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "top 0", "top many", " , ", "# nobody", "AAPL;MSFT", "../../etc/passwd"} {
		if u, err := companies.ParseUniverse(text); err == nil {
			t.Errorf("%q passes as %+v", text, u)
		}
	}
}
