package prices

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

const (
	nasdaqHost = "api.nasdaq.com"
	// nasdaqStart is asked for where a window has no beginning. The service has about ten years.
	nasdaqStart = "1990-01-01"
)

// Nasdaq declares the daily bars of the quote pages of nasdaq.com. It is not a supported service, and its prices may not be passed on; it
// needs no key. It has no dividends and splits, and states old prices for the shares of today. A history that is loaded at once is right
// for returns, but closes before the last split differ from the closes of their day. SplitBetween must apply a later split. It is a second
// opinion on a day's close rather than a history.
func Nasdaq(all []Share) ingest.Source {
	return ingest.Source{
		ID: "prices-nasdaq", Name: "Nasdaq, daily prices", Publisher: "Nasdaq, Inc.",
		License: "Nasdaq terms of use (https://www.nasdaq.com/legal/legal-terms): for personal use, no redistribution. The service is not a supported interface.",
		HomeURL: "https://www.nasdaq.com/market-activity/stocks",
		Cadence: evening(),
		Limits: ingest.Limits{
			Interval: 1500 * time.Millisecond, Timeout: time.Minute, MaxBytes: 8 << 20, ContentTypes: []string{"application/json"}, Pages: 1,
		},
		Request: func(w series.Window) ([]ingest.Request, error) { return requests(all, w, nasdaqRequest) },
		Parse: func(r ingest.Response) (ingest.Batch, error) {
			q, symbol, err := nasdaqQuestion(r.Request.URL)
			var bars []equity.Bar
			if err == nil {
				bars, err = parseNasdaq(r, q, symbol)
			}
			return wrap("nasdaq", q, ingest.Batch{Bars: bars}, err)
		},
	}
}

// nasdaqRequest asks for one share. Classes are written with a slash there. A window of one day is refused, so that its end is asked
// for a day late.
func nasdaqRequest(q fetchRequest, s Share) ingest.Request {
	v := url.Values{"assetclass": {"stocks"}, "limit": {"9999"}, "fromdate": {nasdaqStart}, cikParam: {q.share.String()}}
	if s.Fund {
		v.Set("assetclass", "etf")
	}
	if !q.from.IsZero() {
		v.Set("fromdate", q.from.Format(time.DateOnly))
	}
	if !q.to.IsZero() {
		v.Set("todate", q.to.AddDate(0, 0, 1).Format(time.DateOnly))
	}
	symbol := url.PathEscape(strings.ReplaceAll(q.ticker, "-", "/"))
	return ingest.Request{
		URL:    "https://" + nasdaqHost + "/api/quote/" + symbol + "/historical?" + v.Encode(),
		Header: http.Header{"User-Agent": {browser}, "Accept": {"application/json, text/plain, */*"}},
	}
}

var nasdaqPath = regexp.MustCompile(`^/api/quote/([A-Z0-9./]+)/historical$`)

// nasdaqQuestion reads an address that nasdaqRequest made, and the symbol in it.
func nasdaqQuestion(address string) (fetchRequest, string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host != nasdaqHost {
		return fetchRequest{}, "", fmt.Errorf("this is not asked of %s", nasdaqHost)
	}
	m := nasdaqPath.FindStringSubmatch(u.Path)
	if m == nil {
		return fetchRequest{}, "", errNoShare
	}
	q := fetchRequest{ticker: strings.ReplaceAll(m[1], "/", "-")}
	if q.share, err = shareOf(u); err != nil {
		return q, "", err
	}
	v := u.Query()
	if q.from, err = day(v.Get("fromdate")); err != nil {
		return q, "", errors.New("fromdate of the request is not a date")
	}
	if q.to, err = day(v.Get("todate")); err != nil {
		return q, "", errors.New("todate of the request is not a date")
	}
	if !q.to.IsZero() {
		q.to = q.to.AddDate(0, 0, -1)
	}
	return q, m[1], nil
}

// nasdaqAnswer is the part of an answer that is read. The status of an error is 200 too, its own is inside.
type nasdaqAnswer struct {
	Data *struct {
		Symbol string `json:"symbol"`
		Total  int    `json:"totalRecords"`
		Table  *struct {
			Rows []nasdaqRow `json:"rows"`
		} `json:"tradesTable"`
	} `json:"data"`
	Status *struct {
		Code     int `json:"rCode"`
		Messages []struct {
			Code    int    `json:"code"`
			Message string `json:"errorMessage"`
		} `json:"bCodeMessage"`
	} `json:"status"`
}

type nasdaqRow struct {
	Date   string `json:"date"`
	Close  string `json:"close"`
	Volume string `json:"volume"`
	Open   string `json:"open"`
	High   string `json:"high"`
	Low    string `json:"low"`
}

func parseNasdaq(r ingest.Response, q fetchRequest, symbol string) ([]equity.Bar, error) {
	var a nasdaqAnswer
	if err := json.Unmarshal(r.Body, &a); err != nil {
		return nil, fmt.Errorf("want a JSON object: %w", err)
	}
	switch {
	case a.Status == nil:
		return nil, errors.New("no member status")
	case a.Status.Code != http.StatusOK:
		var told strings.Builder
		for _, m := range a.Status.Messages {
			fmt.Fprintf(&told, ", %d: %.200s", m.Code, m.Message)
		}
		return nil, fmt.Errorf("nasdaq answers with the status %d inside%s", a.Status.Code, told.String())
	case a.Data == nil:
		return nil, errors.New("no member data")
	case !strings.EqualFold(a.Data.Symbol, symbol):
		return nil, fmt.Errorf("the answer is about %.20q", a.Data.Symbol)
	}
	var rows []nasdaqRow
	if a.Data.Table != nil {
		rows = a.Data.Table.Rows
	}
	if a.Data.Total > len(rows) {
		return nil, fmt.Errorf("%d rows of %d: the answer is not whole", len(rows), a.Data.Total)
	}
	var bars []equity.Bar
	for i, row := range rows {
		b, ok, err := row.bar(q.share)
		if err != nil {
			return nil, fmt.Errorf("row %d of %.20q: %w", i, row.Date, err)
		}
		if ok {
			bars = append(bars, b)
		}
	}
	return settle(bars, q, r.FetchedAt)
}

// bar reads a row. A row without a close gives no bar.
func (row nasdaqRow) bar(share equity.CIK) (b equity.Bar, ok bool, err error) {
	date, err := time.Parse("01/02/2006", row.Date)
	if err != nil {
		return b, false, errors.New("want a date such as 07/22/2026")
	}
	b = equity.Bar{CIK: share, Date: date, Source: "nasdaq"}
	for _, p := range []struct {
		text string
		into *equity.Price
	}{{row.Close, &b.Close}, {row.Open, &b.Open}, {row.High, &b.High}, {row.Low, &b.Low}} {
		text, stated, err := plainNumber(p.text)
		if err != nil {
			return b, false, err
		}
		if stated {
			if *p.into, err = equity.ParsePrice(text); err != nil {
				return b, false, err
			}
		}
	}
	volume, stated, err := plainNumber(row.Volume)
	if err != nil {
		return b, false, err
	}
	if stated {
		if b.Volume, err = strconv.ParseInt(volume, 10, 64); err != nil {
			return b, false, fmt.Errorf("the volume is %.40q", row.Volume)
		}
	}
	return b, b.Close != "", nil
}

var writtenNumber = regexp.MustCompile(`^\$?([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(\.[0-9]+)?$`)

// plainNumber reads a number in its form for people: "$1,234.56". A missing number is empty, "N/A" or "--".
func plainNumber(text string) (plain string, stated bool, err error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "N/A" || text == "--" {
		return "", false, nil
	}
	m := writtenNumber.FindStringSubmatch(text)
	if m == nil {
		return "", false, fmt.Errorf("%.40q is not a number", text)
	}
	return strings.ReplaceAll(m[1], ",", "") + m[2], true, nil
}
