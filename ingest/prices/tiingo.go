package prices

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

const (
	tiingoHost = "api.tiingo.com"
	// tiingoStart is asked for where a window has no beginning: without one the service gives the newest day only.
	tiingoStart = "1962-01-02"
)

var errNoKey = errors.New("the setting TIINGO_API_KEY is empty: tiingo requires a key")

// Tiingo declares the daily prices of Tiingo, which needs a key. It states the prices as they were, with the dividends and splits of
// each day. The free plan allows 50 questions an hour and 500 shares a month, for internal use.
func Tiingo(apiKey string, all []Share) ingest.Source {
	return ingest.Source{
		ID: "prices-tiingo", Name: "Tiingo, daily prices, dividends and splits", Publisher: "Tiingo Inc.",
		License: "Tiingo terms of use (https://www.tiingo.com/about/terms): free plan for internal use, redistribution by agreement.",
		HomeURL: "https://www.tiingo.com",
		Cadence: evening(),
		Limits: ingest.Limits{
			Interval: time.Second, Timeout: time.Minute, MaxBytes: 16 << 20, ContentTypes: []string{"application/json"}, Pages: 1,
		},
		Request: func(w series.Window) ([]ingest.Request, error) {
			if strings.TrimSpace(apiKey) == "" {
				return nil, errNoKey
			}
			return requests(all, w, func(q fetchRequest, _ Share) ingest.Request { return tiingoRequest(apiKey, q) })
		},
		Parse: func(r ingest.Response) (ingest.Batch, error) {
			q, err := tiingoQuestion(r.Request.URL)
			var batch ingest.Batch
			if err == nil {
				batch, err = parseTiingo(r, q)
			}
			return wrap("tiingo", q, batch, err)
		},
	}
}

// tiingoRequest carries the key in a header: an address is stored.
func tiingoRequest(key string, q fetchRequest) ingest.Request {
	v := url.Values{"startDate": {tiingoStart}, "format": {"json"}, cikParam: {q.share.String()}}
	if !q.from.IsZero() {
		v.Set("startDate", q.from.Format(time.DateOnly))
	}
	if !q.to.IsZero() {
		v.Set("endDate", q.to.Format(time.DateOnly))
	}
	return ingest.Request{
		URL:    "https://" + tiingoHost + "/tiingo/daily/" + strings.ToLower(q.ticker) + "/prices?" + v.Encode(),
		Header: http.Header{"Authorization": {"Token " + strings.TrimSpace(key)}, "Accept": {"application/json"}},
	}
}

var tiingoPath = regexp.MustCompile(`^/tiingo/daily/([a-z0-9.-]+)/prices$`)

func tiingoQuestion(address string) (fetchRequest, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host != tiingoHost {
		return fetchRequest{}, fmt.Errorf("this is not asked of %s", tiingoHost)
	}
	m := tiingoPath.FindStringSubmatch(u.Path)
	if m == nil {
		return fetchRequest{}, errNoShare
	}
	q := fetchRequest{ticker: strings.ToUpper(m[1])}
	if q.share, err = shareOf(u); err != nil {
		return q, err
	}
	v := u.Query()
	if q.from, err = day(v.Get("startDate")); err != nil {
		return q, errors.New("startDate of the request is not a date")
	}
	if q.to, err = day(v.Get("endDate")); err != nil {
		return q, errors.New("endDate of the request is not a date")
	}
	return q, nil
}

// tiingoRow is one day. Its adjusted prices are not read: they change backwards with each dividend.
type tiingoRow struct {
	Date   string       `json:"date"`
	Close  *json.Number `json:"close"`
	Open   *json.Number `json:"open"`
	High   *json.Number `json:"high"`
	Low    *json.Number `json:"low"`
	Volume *json.Number `json:"volume"`
	Cash   float64      `json:"divCash"`
	Factor *float64     `json:"splitFactor"`
}

func parseTiingo(r ingest.Response, q fetchRequest) (ingest.Batch, error) {
	if body := bytes.TrimSpace(r.Body); len(body) == 0 || body[0] != '[' {
		return ingest.Batch{}, tiingoTrouble(body)
	}
	var rows []tiingoRow
	if err := json.Unmarshal(r.Body, &rows); err != nil {
		return ingest.Batch{}, fmt.Errorf("want a JSON list of days: %w", err)
	}
	var bars []equity.Bar
	var actions []equity.Action
	for i, row := range rows {
		date, err := time.Parse(time.RFC3339, row.Date)
		if err != nil || !date.Equal(date.Truncate(24*time.Hour)) {
			return ingest.Batch{}, fmt.Errorf("row %d is of %.40q, want midnight in UTC", i, row.Date)
		}
		date = date.UTC()
		b, ok, err := row.bar(q.share, date)
		if err != nil {
			return ingest.Batch{}, fmt.Errorf("row %d of %.10s: %w", i, row.Date, err)
		}
		if ok {
			bars = append(bars, b)
		}
		done, err := row.actions(q.share, date)
		if err != nil {
			return ingest.Batch{}, fmt.Errorf("row %d of %.10s: %w", i, row.Date, err)
		}
		actions = append(actions, done...)
	}
	bars, err := settle(bars, q, r.FetchedAt)
	if err != nil {
		return ingest.Batch{}, err
	}
	return ingest.Batch{Bars: bars, Actions: within(actions, q)}, nil
}

// tiingoTrouble is the error of a response that is not a list. An exhausted quota is transient.
func tiingoTrouble(body []byte) error {
	var told struct {
		Detail string `json:"detail"`
	}
	text := string(body)
	if json.Unmarshal(body, &told) == nil && told.Detail != "" {
		text = told.Detail
	}
	err := fmt.Errorf("tiingo answers %.200q, want a list of days", text)
	if strings.Contains(text, "run over your") {
		err = fmt.Errorf("%w: %w", ingest.Temporary, err)
	}
	return err
}

// bar reads the prices of a day. A day without a close has no bar.
func (row tiingoRow) bar(share equity.CIK, date time.Time) (b equity.Bar, ok bool, err error) {
	if row.Close == nil {
		return b, false, nil
	}
	b = equity.Bar{CIK: share, Date: date, Source: "tiingo"}
	if b.Close, err = priceText(row.Close.String()); err != nil {
		return b, false, err
	}
	for _, p := range []struct {
		number *json.Number
		into   *equity.Price
	}{{row.Open, &b.Open}, {row.High, &b.High}, {row.Low, &b.Low}} {
		if p.number == nil || strings.Trim(p.number.String(), "0.") == "" {
			continue
		}
		if *p.into, err = priceText(p.number.String()); err != nil {
			return b, false, err
		}
	}
	if row.Volume != nil {
		v, err := row.Volume.Float64()
		if err != nil {
			return b, false, fmt.Errorf("the volume is %.40q", row.Volume.String())
		}
		b.Volume = int64(v)
	}
	return b, true, nil
}

// actions reads what happened to the shares on a day.
func (row tiingoRow) actions(share equity.CIK, date time.Time) ([]equity.Action, error) {
	var list []equity.Action
	if row.Factor != nil && *row.Factor != 1 {
		gained, given, err := terms(*row.Factor)
		if err != nil {
			return nil, err
		}
		list = append(list, equity.Action{CIK: share, Kind: equity.Split, Date: date, New: gained, Old: given, Source: "tiingo"})
	}
	if row.Cash != 0 {
		cash, err := cashOf(row.Cash)
		if err != nil {
			return nil, fmt.Errorf("the dividend: %w", err)
		}
		list = append(list, equity.Action{CIK: share, Kind: equity.Dividend, Date: date, Cash: cash, Source: "tiingo"})
	}
	return list, nil
}
