package prices

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	"tidemark/ingest"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

const (
	yahooHost = "query1.finance.yahoo.com"
	yahooPath = "/v8/finance/chart/"
	// forever is an end that is always in the future.
	forever = "9999999999"
)

// Yahoo declares the daily bars of the charts of Yahoo Finance, with the dividends and splits. It needs no key. Its terms allow personal
// use and no redistribution, so the operator must enable it.
//
// Prices, volumes and dividends are stated for the shares of today: every split rewrites the whole history. The splits in the response
// convert them back to the original values, so each response reaches to the present, even if the window ends before. Prices come as binary
// numbers of single precision and are rounded to cents, below a dollar to four decimals.
func Yahoo(all []Share) ingest.Source {
	return ingest.Source{
		ID: "prices-yahoo", Name: "Yahoo Finance, daily prices, dividends and splits", Publisher: "Yahoo",
		License: "Yahoo terms of service (https://legal.yahoo.com/us/en/yahoo/terms/otos/index.html): for personal, non-commercial use, no redistribution.",
		HomeURL: "https://finance.yahoo.com",
		Cadence: evening(),
		Limits: ingest.Limits{
			Interval: time.Second, Timeout: time.Minute, MaxBytes: 16 << 20, ContentTypes: []string{"application/json"}, Pages: 1,
		},
		Request: func(w series.Window) ([]ingest.Request, error) { return requests(all, w, yahooRequest) },
		Parse: func(r ingest.Response) (ingest.Batch, error) {
			q, err := yahooQuestion(r.Request.URL)
			var batch ingest.Batch
			if err == nil {
				batch, err = parseYahoo(r, q)
			}
			return wrap("yahoo", q, batch, err)
		},
	}
}

func yahooRequest(q fetchRequest, _ Share) ingest.Request {
	v := url.Values{"interval": {"1d"}, "events": {"div,splits"}, "period1": {"0"}, "period2": {forever}, cikParam: {q.share.String()}}
	if !q.from.IsZero() {
		v.Set("period1", strconv.FormatInt(q.from.Unix(), 10))
	}
	if !q.to.IsZero() {
		v.Set(toParam, q.to.Format(time.DateOnly))
	}
	return ingest.Request{
		URL:    "https://" + yahooHost + yahooPath + q.ticker + "?" + v.Encode(),
		Header: http.Header{"User-Agent": {browser}, "Accept": {"application/json"}},
	}
}

var yahooTicker = regexp.MustCompile(`^/v8/finance/chart/([A-Z0-9.-]+)$`)

func yahooQuestion(address string) (fetchRequest, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host != yahooHost {
		return fetchRequest{}, fmt.Errorf("this is not asked of %s", yahooHost)
	}
	m := yahooTicker.FindStringSubmatch(u.Path)
	if m == nil {
		return fetchRequest{}, errNoShare
	}
	q := fetchRequest{ticker: m[1]}
	if q.share, err = shareOf(u); err != nil {
		return q, err
	}
	v := u.Query()
	from, err := strconv.ParseInt(v.Get("period1"), 10, 64)
	if err != nil || v.Get("period2") != forever {
		return q, errors.New("the request does not reach from a time to the present")
	}
	if from != 0 {
		q.from = dateOf(time.Unix(from, 0))
	}
	if q.to, err = day(v.Get(toParam)); err != nil {
		return q, errors.New(toParam + " of the request is not a date")
	}
	return q, nil
}

// yahooAnswer is the part of an answer that is read.
type yahooAnswer struct {
	Chart *struct {
		Result []yahooResult `json:"result"`
		Error  *struct {
			Code        string `json:"code"`
			Description string `json:"description"`
		} `json:"error"`
	} `json:"chart"`
}

type yahooResult struct {
	Meta struct {
		Currency    string `json:"currency"`
		Symbol      string `json:"symbol"`
		Zone        string `json:"exchangeTimezoneName"`
		Granularity string `json:"dataGranularity"`
	} `json:"meta"`
	Times  []int64 `json:"timestamp"`
	Events struct {
		Dividends    map[string]yahooCash  `json:"dividends"`
		CapitalGains map[string]yahooCash  `json:"capitalGains"`
		Splits       map[string]yahooSplit `json:"splits"`
	} `json:"events"`
	Indicators struct {
		Quote []struct {
			Open   []*float64 `json:"open"`
			High   []*float64 `json:"high"`
			Low    []*float64 `json:"low"`
			Close  []*float64 `json:"close"`
			Volume []*float64 `json:"volume"`
		} `json:"quote"`
	} `json:"indicators"`
}

type yahooCash struct {
	Amount float64 `json:"amount"`
	Date   int64   `json:"date"`
}

type yahooSplit struct {
	Date        int64   `json:"date"`
	Numerator   float64 `json:"numerator"`
	Denominator float64 `json:"denominator"`
}

func parseYahoo(r ingest.Response, q fetchRequest) (ingest.Batch, error) {
	var a yahooAnswer
	if err := json.Unmarshal(r.Body, &a); err != nil {
		return ingest.Batch{}, fmt.Errorf("want a JSON object: %w", err)
	}
	switch {
	case a.Chart == nil:
		return ingest.Batch{}, errors.New("no member chart")
	case a.Chart.Error != nil:
		return ingest.Batch{}, fmt.Errorf("yahoo answers with the error %.60s: %.200s", a.Chart.Error.Code, a.Chart.Error.Description)
	case len(a.Chart.Result) != 1:
		return ingest.Batch{}, fmt.Errorf("%d results, want 1", len(a.Chart.Result))
	}
	res := a.Chart.Result[0]
	switch m := res.Meta; {
	case m.Symbol != q.ticker:
		return ingest.Batch{}, fmt.Errorf("the answer is about %.20q", m.Symbol)
	case m.Currency != "USD" || m.Zone != ingest.NewYorkZone:
		return ingest.Batch{}, fmt.Errorf("prices in %.10q of an exchange in %.40q, want USD and %s", m.Currency, m.Zone, ingest.NewYorkZone)
	case m.Granularity != "1d":
		return ingest.Batch{}, fmt.Errorf("bars of %.10q, want 1d", m.Granularity)
	}
	splits, err := res.splits(q.share)
	if err != nil {
		return ingest.Batch{}, err
	}
	dividends, err := res.dividends(q.share, splits)
	if err != nil {
		return ingest.Batch{}, err
	}
	bars, err := res.bars(q.share, splits)
	if err != nil {
		return ingest.Batch{}, err
	}
	if err := adjusted(bars, splits); err != nil {
		return ingest.Batch{}, err
	}
	if bars, err = settle(bars, q, r.FetchedAt); err != nil {
		return ingest.Batch{}, err
	}
	return ingest.Batch{Bars: bars, Actions: within(slices.Concat(splits, dividends), q)}, nil
}

// tradingDay is the date of an instant on the exchange.
func tradingDay(seconds int64) time.Time {
	year, month, d := time.Unix(seconds, 0).In(ingest.NewYork()).Date()
	return time.Date(year, month, d, 0, 0, 0, 0, time.UTC)
}

// splits lists the splits by date.
func (res yahooResult) splits(share equity.CIK) ([]equity.Action, error) {
	var list []equity.Action
	for _, s := range res.Events.Splits {
		if !(s.Numerator > 0) || !(s.Denominator > 0) || math.IsInf(s.Numerator/s.Denominator, 0) {
			return nil, fmt.Errorf("a split of %v for %v", s.Numerator, s.Denominator)
		}
		list = append(list, equity.Action{
			CIK: share, Kind: equity.Split, Date: tradingDay(s.Date), New: s.Numerator, Old: s.Denominator, Source: "yahoo",
		})
	}
	byDate(list)
	return list, nil
}

// dividends lists by date the payments for each share at that time. Payments on one date are one dividend; less than half a hundredth of
// a cent is ignored.
func (res yahooResult) dividends(share equity.CIK, splits []equity.Action) ([]equity.Action, error) {
	paid := map[time.Time]float64{}
	for _, kind := range []map[string]yahooCash{res.Events.Dividends, res.Events.CapitalGains} {
		for _, c := range kind {
			if !(c.Amount > 0) {
				return nil, fmt.Errorf("a dividend of %v", c.Amount)
			}
			paid[tradingDay(c.Date)] += c.Amount
		}
	}
	var list []equity.Action
	for date, amount := range paid {
		if amount *= since(splits, date); amount < 0.00005 {
			continue
		}
		cash, err := cashOf(amount)
		if err != nil {
			return nil, fmt.Errorf("the dividend of %s: %w", date.Format(time.DateOnly), err)
		}
		list = append(list, equity.Action{CIK: share, Kind: equity.Dividend, Date: date, Cash: cash, Source: "yahoo"})
	}
	byDate(list)
	return list, nil
}

func byDate(list []equity.Action) {
	slices.SortFunc(list, func(a, b equity.Action) int { return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.New, b.New)) })
}

// since is how many shares of today one share of a date has become.
func since(splits []equity.Action, date time.Time) float64 {
	factor := 1.0
	for _, s := range splits {
		if s.Date.After(date) {
			factor *= s.Ratio()
		}
	}
	return factor
}

// bars lists the bars with a close, in the response's order, for the shares at that time. The last two may be of one day; the second is
// then the newer.
func (res yahooResult) bars(share equity.CIK, splits []equity.Action) ([]equity.Bar, error) {
	if len(res.Times) == 0 {
		return nil, nil
	}
	if len(res.Indicators.Quote) != 1 {
		return nil, fmt.Errorf("%d tables of prices, want 1", len(res.Indicators.Quote))
	}
	quote := res.Indicators.Quote[0]
	for name, column := range map[string][]*float64{"open": quote.Open, "high": quote.High, "low": quote.Low, "close": quote.Close, "volume": quote.Volume} {
		if len(column) != len(res.Times) {
			return nil, fmt.Errorf("%d times and %d values of %s", len(res.Times), len(column), name)
		}
	}
	var bars []equity.Bar
	for i, seconds := range res.Times {
		if quote.Close[i] == nil {
			continue
		}
		b := equity.Bar{CIK: share, Date: tradingDay(seconds), Source: "yahoo"}
		factor := since(splits, b.Date)
		for _, p := range []struct {
			value *float64
			into  *equity.Price
		}{{quote.Close[i], &b.Close}, {quote.Open[i], &b.Open}, {quote.High[i], &b.High}, {quote.Low[i], &b.Low}} {
			if p.value == nil || *p.value == 0 && p.into != &b.Close { // a day without a trade on the exchange may have a close alone
				continue
			}
			var err error
			if *p.into, err = priceOf(*p.value * factor); err != nil {
				return nil, fmt.Errorf("the bar of %s: %w", b.Date.Format(time.DateOnly), err)
			}
		}
		if v := quote.Volume[i]; v != nil {
			b.Volume = int64(math.Round(*v / factor))
		}
		if n := len(bars); n > 0 && i == len(res.Times)-1 && bars[n-1].Date.Equal(b.Date) {
			bars[n-1] = b
			continue
		}
		bars = append(bars, b)
	}
	return bars, nil
}

// adjusted checks that the history is stated for the shares of today: after each split the price is that much lower. A split that is
// listed before the history is rewritten would make all older prices wrong.
func adjusted(bars []equity.Bar, splits []equity.Action) error {
	for _, s := range splits {
		n, _ := slices.BinarySearchFunc(bars, s.Date, func(b equity.Bar, d time.Time) int { return b.Date.Compare(d) })
		if n == 0 || n == len(bars) {
			continue
		}
		fell, want := bars[n-1].Close.Float()/bars[n].Close.Float(), s.Ratio()
		if off := math.Abs(math.Log(fell / want)); off > math.Abs(math.Log(want))/2 && off > 0.25 {
			return fmt.Errorf("the split of %v for %v on %s is not worked into the history", s.New, s.Old, s.Date.Format(time.DateOnly))
		}
	}
	return nil
}
