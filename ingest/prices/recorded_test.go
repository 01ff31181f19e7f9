package prices_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/prices"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

// recorded is the folder of price tables saved by others, if the recorded upstream data are next to the repository. They are test material
// only.
const recorded = "../../../shared/upstream/prices-yahoo"

func recordedTable(t *testing.T, name string) [][]string {
	t.Helper()
	file, err := os.Open(filepath.Join(recorded, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no recorded prices at ../shared/upstream/prices-yahoo, beside the repository: nothing to check against")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return lines[1:]
}

// chartOf writes a recorded table, which Yahoo states for the shares of the day it was saved, as the chart that it came from.
func chartOf(t *testing.T, ticker string, rows [][]string, splits []equity.Action) []byte {
	t.Helper()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	open := func(d time.Time) int64 { return time.Date(d.Year(), d.Month(), d.Day(), 9, 30, 0, 0, zone).Unix() }
	var times []int64
	columns := map[string][]float64{}
	for _, row := range rows {
		times = append(times, open(day(t, row[0])))
		for i, name := range []string{"open", "high", "low", "close", "adjclose", "volume"} {
			v, err := strconv.ParseFloat(row[i+1], 64)
			if err != nil {
				t.Fatal(err)
			}
			columns[name] = append(columns[name], v)
		}
	}
	events := map[string]any{}
	for _, s := range splits {
		events[strconv.FormatInt(open(s.Date), 10)] = map[string]any{"date": open(s.Date), "numerator": s.New, "denominator": s.Old}
	}
	body, err := json.Marshal(map[string]any{"chart": map[string]any{"error": nil, "result": []any{map[string]any{
		"meta":       map[string]any{"currency": "USD", "symbol": ticker, "exchangeTimezoneName": "America/New_York", "dataGranularity": "1d"},
		"timestamp":  times,
		"events":     map[string]any{"splits": events},
		"indicators": map[string]any{"quote": []any{columns}, "adjclose": []any{map[string]any{"adjclose": columns["adjclose"]}}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// Closes as the newspapers had them, of days before splits that rewrote the publisher's history.
func TestRecordedHistoriesAreBroughtBackToWhatTheyWere(t *testing.T) {
	t.Parallel()
	split := func(date string, gained, given float64) equity.Action {
		return equity.Action{Date: day(t, date), New: gained, Old: given}
	}
	for _, tc := range []struct {
		ticker string
		splits []equity.Action
		closes map[string]equity.Price
	}{
		{
			"AAPL",
			[]equity.Action{split("2014-06-09", 7, 1), split("2020-08-31", 4, 1)},
			map[string]equity.Price{
				"2010-01-04": "214.01", "2012-09-19": "702.10", "2014-06-06": "645.57", "2014-06-09": "93.70", "2020-08-28": "499.23", "2020-08-31": "129.04",
			},
		},
		{"AMZN", []equity.Action{split("2022-06-06", 20, 1)}, map[string]equity.Price{"2022-06-03": "2447.00", "2022-06-06": "124.79"}},
		{"NFLX", []equity.Action{split("2015-07-15", 7, 1)}, map[string]equity.Price{"2015-07-14": "702.60", "2015-07-15": "98.13"}},
		{"GE", []equity.Action{split("2021-08-02", 1, 8)}, map[string]equity.Price{"2021-07-30": "12.95", "2021-08-02": "100.60"}},
		{"GOOGL", []equity.Action{split("2022-07-18", 20, 1)}, map[string]equity.Price{"2022-07-15": "2235.55", "2022-07-18": "109.03"}},
	} {
		rows := recordedTable(t, "ohlcv-2010-2022/"+tc.ticker+".csv")
		share := prices.Share{CIK: 1, Ticker: tc.ticker}
		src := prices.Yahoo([]prices.Share{share})
		requests, err := src.Request(series.Window{})
		if err != nil {
			t.Fatal(err)
		}
		batch, err := ingest.Parse(src, series.Fetch{
			URL: requests[0].URL, Status: http.StatusOK, Header: map[string]string{"Content-Type": "application/json"}, FetchedAt: time.Date(2022, 11, 18, 22, 0, 0, 0, time.UTC),
		}, chartOf(t, tc.ticker, rows, tc.splits))
		if err != nil {
			t.Fatal(err)
		}
		if len(batch.Bars) != 3244 || len(batch.Actions) != len(tc.splits) {
			t.Errorf("%s: %d bars and %d splits, want 3,244 and %d", tc.ticker, len(batch.Bars), len(batch.Actions), len(tc.splits))
		}
		found := 0
		for _, b := range batch.Bars {
			if want, ok := tc.closes[b.Date.Format(time.DateOnly)]; ok {
				found++
				if b.Close != want {
					t.Errorf("%s closed at %s on %s, want %s", tc.ticker, b.Close, b.Date.Format(time.DateOnly), want)
				}
			}
			if b.Open == "" {
				t.Errorf("%s: the bar of %s contradicts itself", tc.ticker, b.Date.Format(time.DateOnly))
			}
		}
		if found != len(tc.closes) {
			t.Errorf("%s: %d of %d days found", tc.ticker, found, len(tc.closes))
		}
	}
}

// The tables themselves, as an operator could drop them. Their prices are adjusted, so that nothing is said of their level.
func TestRecordedTablesAreReadAsDropped(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(recorded, "ohlcv-2025-2026", "*.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no recorded prices at ../shared/upstream/prices-yahoo, beside the repository: nothing to check against")
	}
	src := prices.CSV()
	read := func(file string, fetched time.Time) ingest.Batch {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		batch, err := ingest.Parse(src, series.Fetch{
			URL: "csvdrop:" + filepath.Base(file) + "?tidemark_cik=1", Status: http.StatusOK, Header: map[string]string{"Content-Type": "text/csv"}, FetchedAt: fetched,
		}, body)
		if err != nil {
			t.Fatal(err)
		}
		return batch
	}
	for _, file := range files {
		if n := len(read(file, time.Date(2026, 7, 23, 22, 0, 0, 0, time.UTC)).Bars); n != 251 {
			t.Errorf("%s: %d bars, want 251", filepath.Base(file), n)
		}
	}
	fund := read(filepath.Join(recorded, "etf", "SPY.csv"), time.Date(2026, 6, 5, 22, 0, 0, 0, time.UTC)).Bars
	if len(fund) != 8395 || !fund[0].Date.Equal(day(t, "1993-01-29")) || fund[8394].Close != "737.55" {
		t.Errorf("%d bars of the fund from %s to a close of %s", len(fund), fund[0].Date, fund[len(fund)-1].Close)
	}
}
