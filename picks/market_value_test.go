package picks

import (
	"encoding/csv"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"tidemark/internal/equity"
)

// marketValues is a file with what a publisher says that companies are worth, named by the day of its prices. Its columns are those of
// constituents-financials.csv of https://github.com/datasets/s-and-p-500-companies-financials: Symbol, Price and Market Cap are read.
var marketValues = flag.String("values", "", "a file YYYY-MM-DD.csv with the price and market value of companies on that day, to compare with -facts")

// The market value of a publisher, divided by its price, is a number of shares of all classes that nobody here counted. The number that the
// method has of the same day must be within 3 % of it, for 98 of 100 companies: go test ./picks -run OfAPublisher -v -facts=DIR -values=FILE.
func TestMarketValueAgreesWithThatOfAPublisher(t *testing.T) {
	t.Parallel()
	if *marketValues == "" || *moreFacts == "" {
		t.Skip("no market values of a publisher are given: -facts=DIR -values=FILE")
	}
	on, err := time.Parse(time.DateOnly+".csv", filepath.Base(*marketValues))
	if err != nil {
		t.Fatalf("-values=%s: the file must be named by the day of its prices, as 2026-07-10.csv", *marketValues)
	}
	published := publishedShares(t, *marketValues)
	files, err := filepath.Glob(filepath.Join(*moreFacts, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no facts in %s", *moreFacts)
	}
	var checked, within, unknown, before, withinBefore int
	for _, file := range files {
		facts := recordedAt(t, file)
		want, ok := published[facts[0].CIK]
		if !ok {
			continue
		}
		var filed time.Time
		for _, f := range facts {
			if f.Filed.After(filed) {
				filed = f.Filed
			}
		}
		if on.Sub(filed) > 100*24*time.Hour {
			t.Logf("%s: not compared, the last report is of %s", want.ticker, filed.Format(time.DateOnly))
			continue
		}
		b := NewBook(facts, on)
		if old := sharesBefore(b); old.Known() {
			before++
			if math.Abs(old.Value/want.shares-1) <= 0.03 {
				withinBefore++
			}
		}
		got := sharesOutstanding(b, facts[0].CIK, History{}, on)
		if !got.Known() {
			t.Logf("%s: %.0f million, ours unknown", want.ticker, want.shares/1e6)
			unknown++
			continue
		}
		off := got.Value/want.shares - 1
		checked++
		if math.Abs(off) <= 0.03 {
			within++
		}
		t.Logf("%s: %.0f million, ours %.0f of %s in %s: %+.2f %%", want.ticker, want.shares/1e6, got.Value/1e6, got.Over.End.Format(time.DateOnly), got.From[0].Tag, 100*off)
	}
	t.Logf("market value of %s within 3 %% of the publisher's: %d of %d, %d more are unknown; before %d of %d",
		on.Format(time.DateOnly), within, checked, unknown, withinBefore, before)
	if float64(within) < 0.98*float64(checked) {
		t.Errorf("%d of %d are within 3 %%, want 98 %%", within, checked)
	}
}

type published struct {
	ticker string
	shares float64
}

// publishedShares are the market values of a file divided by their prices, by company.
func publishedShares(t *testing.T, file string) map[equity.CIK]published {
	t.Helper()
	table := func(file string) []map[string]string {
		f, err := os.Open(file)
		if err != nil {
			t.Skip(err)
		}
		defer func() { _ = f.Close() }()
		rows, err := csv.NewReader(f).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var out []map[string]string
		for _, row := range rows[1:] {
			line := map[string]string{}
			for i, name := range rows[0] {
				line[name] = row[i]
			}
			out = append(out, line)
		}
		return out
	}
	ciks := map[string]equity.CIK{}
	for _, row := range table("../../shared/upstream/sp500/constituents.csv") {
		n, err := strconv.Atoi(row["CIK"])
		if err != nil {
			t.Fatal(err)
		}
		ciks[row["Symbol"]] = equity.CIK(n)
	}
	of := map[equity.CIK]published{}
	for _, row := range table(file) {
		price, err1 := strconv.ParseFloat(row["Price"], 64)
		value, err2 := strconv.ParseFloat(row["Market Cap"], 64)
		if err1 == nil && err2 == nil && ciks[row["Symbol"]] > 0 {
			of[ciks[row["Symbol"]]] = published{row["Symbol"], value / price}
		}
	}
	return of
}
