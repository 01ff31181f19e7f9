package prices

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

const (
	// dropScheme begins the name under which the fetch log records a file of the operator's folder: "csvdrop:AAPL.csv?tidemark_cik=...".
	// The path of the folder stays private.
	dropScheme  = "csvdrop"
	actionsFile = "actions.csv"
	csvSource   = "csv"
)

var errFolder = errors.New("these prices are read from the operator's folder: no publisher can be asked")

// CSV declares the operator's folder as a source, so that its files are archived, recorded and parsed again like any response. It sends no
// requests: CSVImport reads the folder.
//
// A share's file is named by its ticker and has a head of column names, in any order and case: date (as 2026-06-30) and close. It may also
// have open, high, low, volume, dividend and split. Other columns are ignored, including adjusted prices. Prices and volumes are stated as
// of the day, before any later split or dividend. A dividend is the amount per share without which the shares trade from that day on. A
// split is its factor ("4", "0.125") or its terms ("4:1", "1/8"). Zero and empty mean no dividend and no split. Rows ascend or descend by
// date.
//
// The file actions.csv lists the endings of shares. Its columns are cik, date, kind (merger or delisting) and, if known, cash, new, old and
// successor.
// successor is the CIK of the company whose shares are given.
func CSV() ingest.Source {
	return ingest.Source{
		ID: "prices-csv", Name: "Daily prices from the operator's folder", Publisher: "the operator of this installation",
		License: "As the operator has obtained them.",
		HomeURL: "https://www.rfc-editor.org/rfc/rfc4180",
		Cadence: evening(),
		Limits:  ingest.Limits{Interval: time.Second, Timeout: time.Minute, MaxBytes: 16 << 20, ContentTypes: []string{"text/csv"}, Pages: 1},
		Request: func(series.Window) ([]ingest.Request, error) { return nil, errFolder },
		Parse: func(r ingest.Response) (ingest.Batch, error) {
			u, err := url.Parse(r.Request.URL)
			if err != nil || u.Scheme != dropScheme {
				return ingest.Batch{}, fmt.Errorf("parse a file of prices: %w", errFolder)
			}
			if u.Opaque == actionsFile {
				actions, err := parseActions(r.Body)
				if err != nil {
					return ingest.Batch{}, fmt.Errorf("parse %s: %w", actionsFile, err)
				}
				return ingest.Batch{Actions: actions}, nil
			}
			q := fetchRequest{ticker: strings.ToUpper(strings.TrimSuffix(u.Opaque, ".csv"))}
			if q.share, err = shareOf(u); err != nil {
				return wrap("csv", q, ingest.Batch{}, err)
			}
			batch, err := parseCSV(r, q)
			return wrap("csv", q, batch, err)
		},
	}
}

// dropURL names a file of the folder for the ledger.
func dropURL(name string, share equity.CIK) string {
	u := url.URL{Scheme: dropScheme, Opaque: name}
	if share != 0 {
		u.RawQuery = url.Values{cikParam: {share.String()}}.Encode()
	}
	return u.String()
}

// columns are the names that a column may have.
var columns = map[string][]string{
	"date": {"date"}, "open": {"open"}, "high": {"high"}, "low": {"low"}, "close": {"close"}, "volume": {"volume"},
	"dividend": {"dividend", "dividends", "divcash"}, "split": {"split", "splits", "stock splits", "splitfactor"},
	"cik": {"cik"}, "kind": {"kind"}, "cash": {"cash"}, "new": {"new"}, "old": {"old"}, "successor": {"successor"},
}

// sheet is a table of comma separated values.
type sheet struct {
	at   map[string]int
	rows [][]string
}

// readSheet reads a table that must have some columns.
func readSheet(body []byte, must ...string) (sheet, error) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if first := bytes.TrimSpace(body); len(first) == 0 || first[0] == '<' || first[0] == '{' {
		return sheet{}, fmt.Errorf("the file begins %.40q, want a head of column names", first)
	}
	lines, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
	if err != nil {
		return sheet{}, fmt.Errorf("want comma separated values: %w", err)
	}
	s := sheet{at: map[string]int{}, rows: lines[1:]}
	for i, head := range lines[0] {
		for name, known := range columns {
			if slices.Contains(known, strings.ToLower(strings.TrimSpace(head))) {
				if _, twice := s.at[name]; twice {
					return sheet{}, fmt.Errorf("two columns of %s", name)
				}
				s.at[name] = i
			}
		}
	}
	for _, name := range must {
		if _, ok := s.at[name]; !ok {
			return sheet{}, fmt.Errorf("no column %s in the head %.120q", name, strings.Join(lines[0], ","))
		}
	}
	return s, nil
}

// cell is a value of a row; empty where there is no such column.
func (s sheet) cell(row []string, name string) string {
	i, ok := s.at[name]
	if !ok {
		return ""
	}
	return strings.TrimSpace(row[i])
}

// parseCSV reads a share's file.
func parseCSV(r ingest.Response, q fetchRequest) (ingest.Batch, error) {
	s, err := readSheet(r.Body, "date", "close")
	if err != nil {
		return ingest.Batch{}, err
	}
	var bars []equity.Bar
	var actions []equity.Action
	for n, row := range s.rows {
		date, err := time.Parse(time.DateOnly, s.cell(row, "date"))
		if err != nil {
			return ingest.Batch{}, fmt.Errorf("line %d is of %.40q, want a date such as 2026-06-30", n+2, s.cell(row, "date"))
		}
		b, ok, err := s.bar(row, q.share, date)
		if err != nil {
			return ingest.Batch{}, fmt.Errorf("line %d of %s: %w", n+2, date.Format(time.DateOnly), err)
		}
		if ok {
			bars = append(bars, b)
		}
		done, err := s.dayActions(row, q.share, date)
		if err != nil {
			return ingest.Batch{}, fmt.Errorf("line %d of %s: %w", n+2, date.Format(time.DateOnly), err)
		}
		actions = append(actions, done...)
	}
	if bars, err = settle(bars, q, r.FetchedAt); err != nil {
		return ingest.Batch{}, err
	}
	return ingest.Batch{Bars: bars, Actions: actions}, nil
}

// bar reads the prices of a row. A row without a close has none.
func (s sheet) bar(row []string, share equity.CIK, date time.Time) (b equity.Bar, ok bool, err error) {
	b = equity.Bar{CIK: share, Date: date, Source: csvSource}
	for name, into := range map[string]*equity.Price{"close": &b.Close, "open": &b.Open, "high": &b.High, "low": &b.Low} {
		text := s.cell(row, name)
		if text == "" || strings.EqualFold(text, "null") || strings.EqualFold(text, "nan") {
			continue
		}
		if *into, err = priceText(text); err != nil {
			return b, false, fmt.Errorf("%s: %w", name, err)
		}
	}
	if text := s.cell(row, "volume"); text != "" && b.Close != "" {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || v < 0 || v > 1e15 {
			return b, false, fmt.Errorf("the volume is %.40q", text)
		}
		b.Volume = int64(v)
	}
	return b, b.Close != "", nil
}

// dayActions reads the dividend and the split of a row.
func (s sheet) dayActions(row []string, share equity.CIK, date time.Time) ([]equity.Action, error) {
	var list []equity.Action
	if text := s.cell(row, "split"); text != "" {
		gained, given, err := writtenTerms(text)
		if err != nil {
			return nil, err
		}
		if gained != given {
			list = append(list, equity.Action{CIK: share, Kind: equity.Split, Date: date, New: gained, Old: given, Source: csvSource})
		}
	}
	if text := s.cell(row, "dividend"); strings.Trim(text, "0.") != "" {
		cash, err := amount(text)
		if err != nil {
			return nil, fmt.Errorf("the dividend: %w", err)
		}
		list = append(list, equity.Action{CIK: share, Kind: equity.Dividend, Date: date, Cash: cash, Source: csvSource})
	}
	return list, nil
}

// amount reads dollars per share, which may have more decimals than a price.
func amount(text string) (equity.Price, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return "", fmt.Errorf("%.40q is not an amount", text)
	}
	return cashOf(v)
}

var splitTerms = regexp.MustCompile(`^([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*[:/]\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)$`)

// writtenTerms reads a split. Zero, which some tables have on days without a split, means no split.
func writtenTerms(text string) (gained, given float64, err error) {
	if m := splitTerms.FindStringSubmatch(text); m != nil {
		gained, _ = strconv.ParseFloat(m[1], 64) // digits parse
		given, _ = strconv.ParseFloat(m[2], 64)
		if gained > 0 && given > 0 {
			return gained, given, nil
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("%.40q is not a split", text)
	case v == 0:
		return 1, 1, nil
	}
	return terms(v)
}

// parseActions reads the file of the endings of shares.
func parseActions(body []byte) ([]equity.Action, error) {
	s, err := readSheet(body, "cik", "date", "kind")
	if err != nil {
		return nil, err
	}
	var list []equity.Action
	for n, row := range s.rows {
		a, err := s.end(row)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+2, err)
		}
		list = append(list, a)
	}
	return list, nil
}

func (s sheet) end(row []string) (equity.Action, error) {
	a := equity.Action{Kind: equity.ActionKind(strings.ToLower(s.cell(row, "kind"))), Source: csvSource}
	if a.Kind != equity.Merger && a.Kind != equity.Delisting {
		return a, fmt.Errorf("the kind is %.40q, want merger or delisting", s.cell(row, "kind"))
	}
	var err error
	if a.Date, err = time.Parse(time.DateOnly, s.cell(row, "date")); err != nil {
		return a, fmt.Errorf("the date is %.40q, want one such as 2026-06-30", s.cell(row, "date"))
	}
	for name, into := range map[string]*equity.CIK{"cik": &a.CIK, "successor": &a.Successor} {
		text := s.cell(row, name)
		if text == "" && name == "successor" {
			continue
		}
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil || number <= 0 {
			return a, fmt.Errorf("the %s is %.40q, want a CIK", name, text)
		}
		*into = equity.CIK(number)
	}
	if text := s.cell(row, "cash"); text != "" {
		if a.Cash, err = amount(text); err != nil {
			return a, fmt.Errorf("cash: %w", err)
		}
	}
	gained, given := s.cell(row, "new"), s.cell(row, "old")
	if gained != "" || given != "" {
		if a.New, a.Old, err = writtenTerms(gained + ":" + given); err != nil {
			return a, err
		}
	}
	if (a.New != 0) != (a.Successor != 0) {
		return a, errors.New("new and old shares go with a successor, and a successor with them")
	}
	return a, nil
}
