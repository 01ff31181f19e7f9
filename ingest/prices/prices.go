// Package prices reads daily bars of shares in one form: equity.Bar holds the share as traded that day, equity.Action its splits,
// dividends and endings. No free source of prices is both stable and clearly permitted, so the operator can choose. The choices are
// Tiingo (needs a key), Yahoo and Nasdaq (for personal use, if the operator confirms it), and a folder of CSV files, which always works
// (CSVImport). The rules that hold for all are in bars.go. Sandbox answers like Yahoo, with the shares of invented companies.
//
// A share is requested under its present ticker, and its data belong to its company. The request carries the CIK, so that a response can
// be parsed again after the ticker has passed to another company.
package prices

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

// Share identifies a share whose prices are requested.
type Share struct {
	CIK equity.CIK
	// Ticker as EDGAR writes it: upper case, share classes with a dash, "BRK-B".
	Ticker string
	// Fund reports whether it is a fund traded on an exchange, and not a company's share.
	Fund bool
}

// Benchmark is the fund that portfolios are compared with. Its bars and dividends come from the same sources as the companies' prices.
func Benchmark() Share { return Share{CIK: equity.Benchmark, Ticker: "SPY", Fund: true} }

// Funds are the funds that the portfolio is compared with, the benchmark first.
func Funds() []Share {
	return []Share{Benchmark(), {CIK: equity.EqualWeightFund, Ticker: "RSP", Fund: true}}
}

// The parameters that identify the purpose of a request. The services ignore unknown parameters.
const (
	cikParam = "tidemark_cik"
	toParam  = "tidemark_to"
)

// fetchRequest is the request of a response.
type fetchRequest struct {
	share  equity.CIK
	ticker string
	// from and to bound the dates that are wanted, both included. Zero is open.
	from, to time.Time
}

var (
	errNoShares = errors.New("no share is known whose prices can be asked for")
	errNoShare  = errors.New("the request does not say whose prices it asks for")
)

// requests builds a request for each share.
func requests(all []Share, w series.Window, request func(q fetchRequest, s Share) ingest.Request) ([]ingest.Request, error) {
	if len(all) == 0 {
		return nil, errNoShares
	}
	list := make([]ingest.Request, len(all))
	for i, s := range all {
		if s.CIK <= 0 || !isTicker(s.Ticker) {
			return nil, fmt.Errorf("the share %q of CIK %d: want a ticker in capitals and a CIK", s.Ticker, int64(s.CIK))
		}
		list[i] = request(fetchRequest{share: s.CIK, ticker: s.Ticker, from: dateOf(w.From), to: dateOf(w.To)}, s)
	}
	return list, nil
}

// shareOf reads the share in a request's address.
func shareOf(u *url.URL) (equity.CIK, error) {
	n, err := strconv.ParseInt(u.Query().Get(cikParam), 10, 64)
	if err != nil || n <= 0 {
		return 0, errNoShare
	}
	return equity.CIK(n), nil
}

// isTicker reports whether a text can be used as a ticker in a URL.
func isTicker(text string) bool {
	return text != "" && len(text) <= 12 && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") == "" && strings.Trim(text, "-.") == text
}

// dateOf is the date of an instant in UTC, none of none.
func dateOf(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	year, month, day := t.UTC().Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// day reads a date. An empty text is the zero time.
func day(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.DateOnly, text)
}

// evening is when the closes of a day are official. Some sources have them an hour later.
func evening() series.Cadence {
	return series.Cadence{Cron: "20 16 * * MON-FRI", Zone: ingest.NewYorkZone, CatchUp: series.CatchUpLatest}
}

// browser is the user agent that services for browsers require of programs.
const browser = "Mozilla/5.0 (compatible; Tidemark/1.0)"

// wrap says what was being read.
func wrap(what string, q fetchRequest, batch ingest.Batch, err error) (ingest.Batch, error) {
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse %s prices of %s (CIK %s): %w", what, q.ticker, q.share, err)
	}
	return batch, nil
}
