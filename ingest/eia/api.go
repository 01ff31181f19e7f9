package eia

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tidemark/ingest"
	"tidemark/internal/series"
)

const (
	// apiLength is the most rows that the API gives in one JSON answer.
	apiLength = 5000
	// apiOverlap is how far before a window's start the API is requested, so that the response for a window that ends now always has rows.
	// EIA returns zero rows and no error for an unknown series; the overlap distinguishes the two cases.
	apiOverlap = 35 * 24 * time.Hour
)

// apiRequests asks for the first page of each series, one series per request, so that a page is one unbroken stretch of one
// series. Rows are always asked for in ascending order: without an order, pages have overlapped.
func (g group) apiRequests(key string, w series.Window) ([]ingest.Request, error) {
	requests := make([]ingest.Request, len(g.histories))
	for i, h := range g.histories {
		q := url.Values{
			"api_key":            {key},
			"frequency":          {g.frequency},
			"data[0]":            {"value"},
			"facets[series][]":   {h.id},
			"sort[0][column]":    {"period"},
			"sort[0][direction]": {"asc"},
			"offset":             {"0"},
			"length":             {strconv.Itoa(apiLength)},
		}
		if !w.From.IsZero() {
			q.Set("start", w.From.UTC().Add(-apiOverlap).Format(time.DateOnly))
		}
		if !w.To.IsZero() {
			q.Set("end", w.To.UTC().Format(time.DateOnly))
		}
		u := url.URL{Scheme: "https", Host: apiHost, Path: "/v2/" + h.route + "/data/", RawQuery: q.Encode()}
		requests[i] = ingest.Request{URL: u.String(), Secret: []string{"api_key"}}
	}
	return requests, nil
}

// apiAnswer is the part of a response that is read. Members whose type differs between versions are kept raw. It is read by the second
// version of encoding/json, which is in the standard library from Go 1.27 on. For a long history it takes a third of the first version's
// time. It is strict: a repeated member, or a string that is not UTF-8, is an error.
type apiAnswer struct {
	Response *struct {
		Total     jsontext.Value `json:"total"`
		Frequency string         `json:"frequency"`
		Data      apiRows        `json:"data"`
		Warnings  jsontext.Value `json:"warnings"`
	} `json:"response"`
	Error jsontext.Value `json:"error"`
	Code  jsontext.Value `json:"code"`
}

type apiRow struct {
	Period      string         `json:"period"`
	Series      string         `json:"series"`
	Description string         `json:"series-description"`
	Value       jsontext.Value `json:"value"`
	Units       string         `json:"units"`
}

// apiRows are the rows of a page. They are read token by token, because the library takes twice as long to fill structs by their tags. The library
// reads any other row, with its rules and errors.
type apiRows []apiRow

// rowLength is about how many bytes a row has.
const rowLength = 300

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (rows *apiRows) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '[' {
		return json.UnmarshalDecode(d, (*[]apiRow)(rows))
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	*rows = make(apiRows, 0, len(d.UnreadBuffer())/rowLength)
	var last apiRow
	for d.PeekKind() != ']' {
		row, err := readRow(d, last)
		if err != nil {
			return err
		}
		*rows, last = append(*rows, row), row
	}
	_, err := d.ReadToken()
	return err
}

// readRow reads a row. It shares texts with the row before.
func readRow(d *jsontext.Decoder, last apiRow) (row apiRow, err error) {
	if d.PeekKind() != '{' {
		return row, json.UnmarshalDecode(d, &row)
	}
	if _, err := d.ReadToken(); err != nil {
		return row, err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadValue()
		if err != nil {
			return row, err
		}
		if bytes.IndexByte(name, '\\') >= 0 { // written in another way
			text, _ := jsontext.AppendUnquote(nil, name)
			name, _ = jsontext.AppendQuote(nil, text)
		}
		switch string(name) {
		case `"period"`:
			row.Period, err = readText(d, last.Period)
		case `"series"`:
			row.Series, err = readText(d, last.Series)
		case `"series-description"`:
			row.Description, err = readText(d, last.Description)
		case `"units"`:
			row.Units, err = readText(d, last.Units)
		case `"value"`:
			row.Value, err = d.ReadValue()
			row.Value = row.Value.Clone()
		default:
			err = d.SkipValue()
		}
		if err != nil {
			return row, err
		}
	}
	_, err = d.ReadToken()
	return row, err
}

// readText reads a string. It returns last if that is equal.
func readText(d *jsontext.Decoder, last string) (string, error) {
	if d.PeekKind() != '"' {
		var s string
		err := json.UnmarshalDecode(d, &s)
		return s, err
	}
	quoted, err := d.ReadValue()
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(quoted, '\\') >= 0 {
		text, err := jsontext.AppendUnquote(nil, quoted)
		return string(text), err
	}
	text := quoted[1 : len(quoted)-1]
	if string(text) == last {
		return last, nil
	}
	return string(text), nil
}

// parseAPI reads one page of API rows. It covers the series from the page's first period to its last: both are stated, so it claims
// nothing about times between two pages or beyond the request's window. The next page's request has the same key as this one's.
func (g group) parseAPI(u *url.URL, r ingest.Response) (ingest.Batch, error) {
	q := u.Query()
	h, err := g.history(q.Get("facets[series][]"))
	if err == nil && u.Path != "/v2/"+h.route+"/data/" {
		err = fmt.Errorf("path %q does not belong to %s", u.Path, h.id)
	}
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse eia api answer: %w", err)
	}
	offset, err := strconv.Atoi(q.Get("offset"))
	if err != nil || offset < 0 {
		return ingest.Batch{}, fmt.Errorf("parse eia api answer of %s: offset %q of the request is not a count", h.id, q.Get("offset"))
	}
	length, err := strconv.Atoi(q.Get("length"))
	if err != nil || length <= 0 {
		return ingest.Batch{}, fmt.Errorf("parse eia api answer of %s: length %q of the request is not a count", h.id, q.Get("length"))
	}
	asked := pageAsked{offset: offset, length: min(length, apiLength), bounded: q.Get("end") != ""}
	batch, more, err := g.readAnswer(h, asked, r.Body)
	if err != nil {
		err = fmt.Errorf("parse eia api answer of %s %s, offset %d: %w", h.route, h.id, offset, err)
		return ingest.Batch{}, redactError(err, q.Get("api_key"))
	}
	if more > 0 {
		q.Set("offset", strconv.Itoa(more))
		next := *u
		next.RawQuery = q.Encode()
		request := r.Request
		request.URL = next.String()
		batch.Next = &request
	}
	return batch, nil
}

// redactError takes a key out of an error that quotes an answer: EIA may echo the request.
func redactError(err error, key string) error {
	if key == "" || !strings.Contains(err.Error(), key) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), key, "REDACTED"))
}

// pageAsked is the query of a request: a page of length rows from an offset, in a window with an end if bounded.
type pageAsked struct {
	offset, length int
	bounded        bool
}

// readAnswer returns the readings of a page, and the offset of the following page or 0. Only a bounded window may hold no row.
func (g group) readAnswer(h history, asked pageAsked, body []byte) (ingest.Batch, int, error) {
	var a apiAnswer
	if err := json.Unmarshal(body, &a); err != nil {
		return ingest.Batch{}, 0, fmt.Errorf("want a JSON object: %w", err)
	}
	if stated(a.Error) { // with any status: EIA has sent errors with 200
		return ingest.Batch{}, 0, apiError(a)
	}
	if a.Response == nil {
		return ingest.Batch{}, 0, errors.New("no member response")
	}
	if f := a.Response.Frequency; f != "" && f != g.frequency {
		return ingest.Batch{}, 0, fmt.Errorf("frequency is %q, want %q", f, g.frequency)
	}
	total, err := strconv.Atoi(strings.Trim(string(a.Response.Total), `"`))
	if err != nil || total < 0 {
		return ingest.Batch{}, 0, fmt.Errorf("total is %q, want a count", quote(a.Response.Total))
	}
	rows := a.Response.Data
	end := asked.offset + len(rows)
	var warned string
	if stated(a.Response.Warnings) {
		warned = fmt.Sprintf(" (warnings: %s)", quote(a.Response.Warnings))
	}
	switch {
	case total == 0 && len(rows) == 0 && asked.offset == 0 && asked.bounded:
		return ingest.Batch{}, 0, nil
	case total == 0 && len(rows) == 0:
		return ingest.Batch{}, 0, fmt.Errorf("no rows: EIA knows no such series or moved it%s", warned)
	case len(rows) == 0, end > total, end < total && len(rows) < asked.length:
		return ingest.Batch{}, 0, fmt.Errorf("%d rows from offset %d do not fit a total of %d in pages of %d%s", len(rows), asked.offset, total, asked.length, warned)
	}
	batch, err := g.readRows(h, rows)
	if err != nil || end == total {
		end = 0
	}
	return batch, end, err
}

// stated reports whether a raw member is present and not null.
func stated(raw jsontext.Value) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// apiError names the error of an answer, which is an object in one family of EIA's errors and a string in the other.
func apiError(a apiAnswer) error {
	var object struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(a.Error, &object) == nil {
		return fmt.Errorf("eia answers with error %s: %s", object.Code, object.Message)
	}
	var text string
	if json.Unmarshal(a.Error, &text) == nil {
		return fmt.Errorf("eia answers with error %s: %s", a.Code, text)
	}
	return fmt.Errorf("eia answers with error %s", quote(a.Error))
}

// quote writes a raw member on one line, and not more than a line of it.
func quote(raw jsontext.Value) string {
	line := raw.Clone()
	if err := line.Compact(); err != nil {
		return ""
	}
	return fmt.Sprintf("%.300s", line)
}

func (g group) readRows(h history, rows []apiRow) (ingest.Batch, error) {
	found := readings{list: make([]series.Reading, 0, len(rows))}
	id := h.series()
	var first, last time.Time
	for i, row := range rows {
		day, err := time.Parse(time.DateOnly, row.Period)
		if err == nil {
			err = g.checkDay(day)
		}
		switch {
		case err != nil:
			return ingest.Batch{}, fmt.Errorf("row %d: period %q: %w", i, row.Period, err)
		case row.Series != h.id:
			return ingest.Batch{}, fmt.Errorf("row %d is of series %q", i, row.Series)
		case !row.unitIs(h):
			return ingest.Batch{}, fmt.Errorf("row %d: unit is %q in %q, want %s or %q", i, row.Units, row.Description, h.code, h.unit)
		case i > 0 && day.Before(last):
			return ingest.Batch{}, fmt.Errorf("row %d: %s follows %s, want ascending periods", i, row.Period, last.Format(time.DateOnly))
		case len(row.Value) == 0:
			return ingest.Batch{}, fmt.Errorf("row %d of %s has no member value", i, row.Period)
		}
		if i == 0 {
			first = day
		}
		last = day
		if !stated(row.Value) {
			continue // as a blank cell
		}
		value, marker, err := row.value()
		if err == nil {
			err = found.add(series.Reading{Series: id, ObservedAt: day, Value: value, Marker: marker})
		}
		if err != nil {
			return ingest.Batch{}, fmt.Errorf("row %d of %s: %w", i, row.Period, err)
		}
	}
	if len(found.list) == 0 {
		return ingest.Batch{}, nil // a page of nulls claims nothing
	}
	return ingest.Batch{
		Readings: found.list,
		Covers:   []ingest.Coverage{{Series: id, Window: series.Window{From: first, To: last}}},
	}, nil
}

// unitIs reports whether a row is in the unit of the series, by the short form or by the end of the description. If a row states neither,
// the unit of its series is assumed.
func (r apiRow) unitIs(h history) bool {
	return r.Units == "" && r.Description == "" || r.Units == h.code || strings.HasSuffix(clean(r.Description), "("+h.unit+")")
}

// value reads a number that is a string since version 2.1.6 of the API and was a JSON number before.
func (r apiRow) value() (float64, string, error) {
	switch r.Value.Kind() {
	case '"':
		var short [32]byte
		text, err := jsontext.AppendUnquote(short[:0], r.Value)
		if err != nil {
			return 0, "", err
		}
		return parseValue(clean(string(text)))
	case '0':
		number, err := strconv.ParseFloat(string(r.Value), 64)
		if err == nil {
			return number, "", nil
		}
	}
	return 0, "", fmt.Errorf("value is %s, want a number or a string", quote(r.Value))
}
