package prices_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/prices"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

func day(t testing.TB, s string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	all := []prices.Share{{CIK: 1067983, Ticker: "BRK-B"}, prices.Benchmark()}
	some := series.Window{From: day(t, "2026-07-01"), To: day(t, "2026-07-22").Add(20 * time.Hour)}
	for _, tc := range []struct {
		src    ingest.Source
		window series.Window
		want   []string
	}{
		{prices.Nasdaq(all), series.Window{}, []string{
			"https://api.nasdaq.com/api/quote/BRK%2FB/historical?assetclass=stocks&fromdate=1990-01-01&limit=9999&tidemark_cik=0001067983",
			"https://api.nasdaq.com/api/quote/SPY/historical?assetclass=etf&fromdate=1990-01-01&limit=9999&tidemark_cik=0000884394",
		}},
		{prices.Nasdaq(all[1:]), some, []string{
			"https://api.nasdaq.com/api/quote/SPY/historical?assetclass=etf&fromdate=2026-07-01&limit=9999&tidemark_cik=0000884394&todate=2026-07-23",
		}},
		{prices.Yahoo(all), series.Window{}, []string{
			"https://query1.finance.yahoo.com/v8/finance/chart/BRK-B?events=div%2Csplits&interval=1d&period1=0&period2=9999999999&tidemark_cik=0001067983",
			"https://query1.finance.yahoo.com/v8/finance/chart/SPY?events=div%2Csplits&interval=1d&period1=0&period2=9999999999&tidemark_cik=0000884394",
		}},
		{prices.Yahoo(all[1:]), some, []string{ // to the present, with any end: later splits restate the prices in the window
			"https://query1.finance.yahoo.com/v8/finance/chart/SPY?events=div%2Csplits&interval=1d&period1=1782864000&period2=9999999999&tidemark_cik=0000884394&tidemark_to=2026-07-22",
		}},
		{prices.Tiingo("k3y", all), series.Window{}, []string{
			"https://api.tiingo.com/tiingo/daily/brk-b/prices?format=json&startDate=1962-01-02&tidemark_cik=0001067983",
			"https://api.tiingo.com/tiingo/daily/spy/prices?format=json&startDate=1962-01-02&tidemark_cik=0000884394",
		}},
		{prices.Tiingo("k3y", all[1:]), some, []string{
			"https://api.tiingo.com/tiingo/daily/spy/prices?endDate=2026-07-22&format=json&startDate=2026-07-01&tidemark_cik=0000884394",
		}},
	} {
		requests, err := tc.src.Request(tc.window)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range requests {
			got = append(got, r.URL)
			if strings.Contains(r.URL, "k3y") {
				t.Errorf("the key stands in the address %s", r.URL)
			}
			if tc.src.ID == "prices-tiingo" && r.Header.Get("Authorization") != "Token k3y" {
				t.Errorf("%s is asked without the key", r.URL)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s asks (-want +got):\n%s", tc.src.ID, diff)
		}
	}
}

func TestWhatCannotBeAskedIsRefused(t *testing.T) {
	t.Parallel()
	one := []prices.Share{appleShare}
	for _, tc := range []struct {
		fact, want string
		src        ingest.Source
	}{
		{"tiingo without a key names the setting", "TIINGO_API_KEY", prices.Tiingo(" ", one)},
		{"the folder is nobody to ask", "the operator's folder", prices.CSV()},
		{"no share", "no share", prices.Yahoo(nil)},
		{"no company", "want a ticker", prices.Yahoo([]prices.Share{{Ticker: "AAPL"}})},
		{"no ticker", "want a ticker", prices.Nasdaq([]prices.Share{{CIK: 320193}})},
		{"a path for a ticker", "want a ticker", prices.Nasdaq([]prices.Share{{CIK: 320193, Ticker: "../AAPL"}})},
		{"a ticker in small letters", "want a ticker", prices.Yahoo([]prices.Share{{CIK: 320193, Ticker: "aapl"}})},
	} {
		e := &ingest.Engine{}
		_, err := e.Collect(t.Context(), tc.src, series.Window{}, 1)
		if !errors.Is(err, ingest.Refused) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want a refusal that speaks of %s", tc.fact, err, tc.want)
		}
	}
}

// A response belongs to the company that its request names, even if another company has the ticker today.
func TestAnAnswerIsReadWithoutTheUniverse(t *testing.T) {
	t.Parallel()
	meta := prices.Yahoo([]prices.Share{{CIK: 1326801, Ticker: "FB"}})
	requests, err := meta.Request(series.Window{})
	if err != nil {
		t.Fatal(err)
	}
	body := `{"chart":{"result":[{"meta":{"currency":"USD","symbol":"FB","exchangeTimezoneName":"America/New_York","dataGranularity":"1d"},"timestamp":[1654608600],"indicators":{"quote":[{"open":[null],"high":[null],"low":[null],"close":[195.65],"volume":[1]}]}}],"error":null}}`
	later := prices.Yahoo([]prices.Share{{CIK: 42, Ticker: "FB"}}) // another company's by then
	batch, err := ingest.Parse(later, series.Fetch{
		URL: requests[0].URL, Status: http.StatusOK, Header: map[string]string{"Content-Type": "application/json;charset=utf-8"}, FetchedAt: time.Date(2022, 6, 7, 22, 0, 0, 0, time.UTC),
	}, []byte(body))
	want := []equity.Bar{{CIK: 1326801, Date: day(t, "2022-06-07"), Close: "195.65", Volume: 1, Source: "yahoo"}}
	if diff := cmp.Diff(want, batch.Bars); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestSplitThatAPublisherWorksInWithoutAWord(t *testing.T) {
	t.Parallel()
	bars := func(from string, closes ...equity.Price) []equity.Bar {
		var list []equity.Bar
		for i, c := range closes {
			list = append(list, equity.Bar{CIK: 320193, Date: day(t, from).AddDate(0, 0, i), Close: c, Source: "nasdaq"})
		}
		return list
	}
	kept := bars("2020-08-24", "503.43", "499.30", "506.09", "500.04", "499.23")
	for _, tc := range []struct {
		fact      string
		kept, now []equity.Bar
		want      *equity.Action
	}{
		{"nothing happened", kept, bars("2020-08-26", "506.09", "500.04", "499.23"), nil},
		{
			"four for one before the newest day", kept, bars("2020-08-25", "124.83", "126.52", "125.01", "124.81", "129.04"),
			&equity.Action{Date: day(t, "2020-08-29"), New: 4, Old: 1},
		},
		{
			"before a day that was stored", bars("2020-08-24", "503.43", "499.30", "506.09", "125.01", "124.81"),
			bars("2020-08-24", "125.86", "124.83", "126.52", "125.01", "124.81"), &equity.Action{Date: day(t, "2020-08-27"), New: 4, Old: 1},
		},
		{"one for eight", bars("2021-07-28", "12.90", "13.10", "12.95"), bars("2021-07-28", "103.20", "104.80", "103.60", "100.60"), &equity.Action{Date: day(t, "2021-07-31"), New: 1, Old: 8}},
		{"three for two", bars("2021-07-28", "90.00", "93.00"), bars("2021-07-28", "60.00", "62.00", "61.00"), &equity.Action{Date: day(t, "2021-07-30"), New: 3, Old: 2}},
		// AT&T, when it gave away the shares of Warner Bros. Discovery; four for three would be 0.7 percent off.
		{"the ratio of a spin-off", bars("2022-04-06", "24.03", "23.73", "24.14"), bars("2022-04-06", "18.15", "17.92", "18.23", "19.63"), &equity.Action{Date: day(t, "2022-04-09"), New: 49, Old: 37}},
		{"one common day is too little", kept, bars("2020-08-28", "124.81", "129.04"), nil},
		{"a split on the day after the newest is not told yet", kept, bars("2020-08-26", "126.52", "125.01", "124.81"), nil},
		{"a figure that was corrected", kept, bars("2020-08-24", "503.43", "499.30", "506.09", "250.00", "499.23"), nil},
		{"factors that differ", kept, bars("2020-08-24", "125.86", "99.86", "126.52", "125.01", "124.81", "129.04"), nil},
		{"no common day", kept, bars("2021-08-24", "1.00"), nil},
		{"a dividend is no split", bars("2021-07-28", "90.00", "93.00"), bars("2021-07-28", "88.20", "91.14", "92.00"), nil},
	} {
		got, ok := prices.SplitBetween(tc.kept, tc.now)
		if ok != (tc.want != nil) {
			t.Errorf("%s: found %t %+v", tc.fact, ok, got)
			continue
		}
		if ok {
			tc.want.CIK, tc.want.Kind, tc.want.Source = 320193, equity.Split, "nasdaq"
			if diff := cmp.Diff(*tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.fact, diff)
			}
		}
	}
}
