package prices

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/world/synth"
)

// Sandbox answers for Yahoo's charts with the shares of the world's invented companies, as of the world's clock. It also has two funds of all
// of them, under the tickers of Funds. It has a bar a day from five past four in the afternoon on, and an unfinished bar while the
// exchange is open. It has splits that rewrite the whole history, dividends, and now and then a day without figures. A ticker that a
// company gave up is not found, nor is a delisted company. trading reports whether the exchange is open on a day. Everything is synthetic,
// as the names say. The handler is safe for concurrent use.
func Sandbox(mux *http.ServeMux, w synth.World, trading func(day time.Time) bool) {
	c := &charts{now: w.Now, market: w.Market(), trading: trading, world: w}
	mux.HandleFunc(yahooHost+yahooPath+"{ticker}", c.serve)
}

type charts struct {
	now     func() time.Time
	market  *synth.Market
	trading func(time.Time) bool
	world   synth.World
}

// The sandbox's clock of a trading day in New York.
const (
	opens  = 9*time.Hour + 30*time.Minute
	closed = 16*time.Hour + 5*time.Minute
)

// chart is an answer.
type chart struct {
	Result []chartResult `json:"result"`
	Error  *chartError   `json:"error"`
}

type chartError struct {
	Code        string `json:"code"`
	Description string `json:"description"`
}

type chartResult struct {
	Meta       map[string]any `json:"meta"`
	Times      []int64        `json:"timestamp,omitempty"`
	Events     *chartEvents   `json:"events,omitempty"`
	Indicators struct {
		Quote    []chartQuote    `json:"quote"`
		AdjClose []chartAdjusted `json:"adjclose"`
	} `json:"indicators"`
}

type chartEvents struct {
	Dividends map[string]yahooCash  `json:"dividends,omitempty"`
	Splits    map[string]chartSplit `json:"splits,omitempty"`
}

type chartSplit struct {
	Date        int64   `json:"date"`
	Numerator   float64 `json:"numerator"`
	Denominator float64 `json:"denominator"`
	Ratio       string  `json:"splitRatio"`
}

type chartQuote struct {
	Open   []*float64 `json:"open,omitempty"`
	High   []*float64 `json:"high,omitempty"`
	Low    []*float64 `json:"low,omitempty"`
	Close  []*float64 `json:"close,omitempty"`
	Volume []*float64 `json:"volume,omitempty"`
}

type chartAdjusted struct {
	AdjClose []*float64 `json:"adjclose,omitempty"`
}

func (c *charts) serve(w http.ResponseWriter, r *http.Request) {
	status, answer := c.answer(r)
	body, err := json.Marshal(map[string]chart{"chart": answer})
	if err != nil { // the sandbox draws only finite numbers
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client has gone
}

func (c *charts) answer(r *http.Request) (int, chart) {
	q := r.URL.Query()
	from, err := strconv.ParseInt(q.Get("period1"), 10, 64)
	to, err2 := strconv.ParseInt(q.Get("period2"), 10, 64)
	if err != nil || err2 != nil || from > to || q.Get("interval") != "1d" {
		return http.StatusBadRequest, chart{Error: &chartError{"Bad Request", "Invalid input: only daily bars between two times are supported"}}
	}
	ticker := r.PathValue("ticker")
	company, kind := c.find(ticker)
	if company == nil {
		return http.StatusNotFound, chart{Error: &chartError{"Not Found", "No data found, symbol may be delisted"}}
	}
	return http.StatusOK, chart{Result: []chartResult{c.result(company, ticker, kind, time.Unix(from, 0), time.Unix(to, 0))}}
}

// find is who trades under a ticker, and as what.
func (c *charts) find(ticker string) (*synth.Company, string) {
	for i, fund := range Funds() {
		if ticker == fund.Ticker {
			return c.market.Funds()[i], "ETF"
		}
	}
	for _, company := range c.market.Companies {
		if t := company.Ticker(tradingDay(c.now().Unix())); t != "" && t == ticker {
			return company, "EQUITY"
		}
	}
	return nil, ""
}

// at is an instant of a day in New York.
func at(day time.Time, clock time.Duration) time.Time {
	year, month, d := day.Date()
	return time.Date(year, month, d, 0, int(clock/time.Minute), 0, 0, ingest.NewYork())
}

// onward is the first trading day from a day on.
func (c *charts) onward(day time.Time) time.Time {
	for range 14 {
		if c.trading(day) {
			return day
		}
		day = day.AddDate(0, 0, 1)
	}
	return day
}

func (c *charts) result(company *synth.Company, ticker, kind string, from, to time.Time) chartResult {
	now := c.now()
	today := tradingDay(now.Unix())
	last := today
	if now.Before(at(today, opens)) {
		last = today.AddDate(0, 0, -1)
	}
	splits := slices.Clone(company.Splits(last))
	for i := range splits {
		splits[i].Day = c.onward(splits[i].Day)
	}
	// The present equivalent of one share of a day. A split that falls on a holiday takes effect on the next trading day, as in the drawn
	// prices.
	since := func(day time.Time) float64 {
		factor := 1.0
		for _, s := range splits {
			if s.Day.After(day) && !s.Day.After(last) {
				factor *= float64(s.New) / float64(s.Old)
			}
		}
		return factor
	}
	wanted := func(day time.Time) bool {
		open := at(day, opens)
		return !open.Before(from) && !open.After(to) && !day.After(last)
	}
	res := chartResult{Events: &chartEvents{Dividends: map[string]yahooCash{}, Splits: map[string]chartSplit{}}}
	for _, s := range splits {
		if open := at(s.Day, opens).Unix(); wanted(s.Day) {
			res.Events.Splits[strconv.FormatInt(open, 10)] = chartSplit{open, float64(s.New), float64(s.Old), strconv.Itoa(s.New) + ":" + strconv.Itoa(s.Old)}
		}
	}
	paid := map[time.Time]float64{}
	for _, d := range company.Dividends(last) {
		day := c.onward(d.Day)
		paid[day] = d.Cash
		if open := at(day, opens).Unix(); wanted(day) {
			res.Events.Dividends[strconv.FormatInt(open, 10)] = yahooCash{Amount: synth.Round(d.Cash/since(day), 6), Date: open}
		}
	}
	c.bars(&res, company, last, since, wanted, paid)
	res.Meta = map[string]any{
		"currency": "USD", "symbol": ticker, "exchangeName": map[string]string{"NYSE": "NYQ", "Nasdaq": "NMS"}[company.Exchange],
		"instrumentType": kind, "longName": company.Name, "regularMarketTime": now.Unix(), "hasPrePostMarketData": true,
		"timezone": now.In(ingest.NewYork()).Format("MST"), "exchangeTimezoneName": ingest.NewYorkZone, "priceHint": 2, "dataGranularity": "1d", "range": "",
	}
	if len(res.Events.Dividends)+len(res.Events.Splits) == 0 {
		res.Events = nil
	}
	return res
}

// bars writes the bars of the days that are wanted, for the shares of today.
func (c *charts) bars(res *chartResult, company *synth.Company, last time.Time, since func(time.Time) float64, wanted func(time.Time) bool, paid map[time.Time]float64) {
	now := c.now()
	quote, adjusted := chartQuote{}, []*float64{}
	single := func(v float64) *float64 { // as the service does, prices go through single precision
		v = float64(float32(v))
		return &v
	}
	gaps := c.world.Noise("yahoo gaps " + company.Name)
	back := 1.0 // what later dividends have made of a close
	for _, s := range slices.Backward(company.Sessions(last)) {
		if !c.trading(s.Day) {
			continue
		}
		if !wanted(s.Day) {
			if s.Day.Before(last) {
				break
			}
			continue
		}
		factor := since(s.Day)
		stamp := at(s.Day, opens).Unix()
		if now.Before(at(s.Day, closed)) { // the session is under way
			s.Close, s.High, s.Low, s.Volume = s.Open, s.Open, s.Open, s.Volume/3
			stamp = now.Unix()
		}
		volume := float64(s.Volume) * factor
		if gaps.Chance(s.Day, 0.001) && !c.market.Holds(company) && s.Day.Before(last) {
			quote.Open, quote.High, quote.Low = append(quote.Open, nil), append(quote.High, nil), append(quote.Low, nil)
			quote.Close, quote.Volume, adjusted = append(quote.Close, nil), append(quote.Volume, nil), append(adjusted, nil)
		} else {
			quote.Open, quote.High = append(quote.Open, single(s.Open/factor)), append(quote.High, single(s.High/factor))
			quote.Low, quote.Close = append(quote.Low, single(s.Low/factor)), append(quote.Close, single(s.Close/factor))
			quote.Volume, adjusted = append(quote.Volume, &volume), append(adjusted, single(s.Close/factor*back))
		}
		res.Times = append(res.Times, stamp)
		if cash := paid[s.Day]; cash > 0 {
			back *= 1 - cash/(cash+s.Open)
		}
	}
	for _, column := range [][]*float64{quote.Open, quote.High, quote.Low, quote.Close, quote.Volume, adjusted} {
		slices.Reverse(column)
	}
	slices.Reverse(res.Times)
	res.Indicators.Quote = []chartQuote{quote}
	res.Indicators.AdjClose = []chartAdjusted{{adjusted}}
}
