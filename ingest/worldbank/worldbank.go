// Package worldbank reads the natural gas prices of the World Bank's commodity price data, the "Pink Sheet": monthly figures in one
// workbook. Source declares the source, which takes two steps. The workbook's address changes every year, while the old one stays online
// with outdated figures. So the address is read from the page of the commodity markets (landing.go), and then the workbook from there
// (workbook.go, table.go). Sandbox answers for both with synthetic figures.
package worldbank

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

const (
	landingHost = "www.worldbank.org"
	landingPath = "/en/research/commodity-markets"
	// domain is the domain of all hosts that a link may lead to.
	domain = "worldbank.org"
	// workbookName is the last part of the workbook's address.
	workbookName = "CMO-Historical-Data-Monthly.xlsx"
	// workbookType is the media type of such workbooks.
	workbookType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
)

// column is one series of the workbook.
type column struct {
	id series.ID
	// heading is the column's, without the asterisks that point to a change of method.
	heading string
	// name says what the workbook's own description says.
	name string
}

// columns are the series that are read.
var columns = []column{
	{"worldbank.NGAS_US", "Natural gas, US", "Natural gas, US: Henry Hub spot price"},
	{"worldbank.NGAS_EUR", "Natural gas, Europe", "Natural gas, Europe: TTF since April 2015, average import border price before"},
	{"worldbank.LNG_JP", "Liquefied natural gas, Japan", "Liquefied natural gas, Japan: import price, cif, a mix of contract and spot cargoes; the newest months are estimates"},
}

// unit is the unit that the workbook states for each of the columns.
const unit = "($/mmbtu)"

// lowest and highest bound a month's price. From 1960 to 2026 it was between 0.14 (United States, the 1960s) and 70.04 (Europe, August
// 2022). The price per thousand cubic metres is 35 times as much.
const lowest, highest = 0.02, 250.0

// Source declares the monthly prices of natural gas in the United States and in Europe, and of liquefied natural gas imported by
// Japan. An observation is about a month and dated its first day, midnight UTC. The workbook always holds the whole history.
//
// The workbook comes on the 2nd to 4th of a month with the month before; it is asked for on a few days more.
func Source() ingest.Source {
	s := ingest.Source{
		ID:              "worldbank-pink-sheet",
		Name:            "World Bank commodity prices (Pink Sheet), natural gas, monthly",
		Publisher:       "World Bank",
		License:         "CC BY 4.0. Attribution: World Bank Commodity Price Data (The Pink Sheet), a selection of its series.",
		Redistributable: true,
		HomeURL:         "https://" + landingHost + landingPath,
		Cadence:         series.Cadence{Cron: "20 12 2-8 * *", Zone: ingest.NewYorkZone, CatchUp: series.CatchUpLatest},
		Limits: ingest.Limits{
			Interval:     time.Second,
			Timeout:      2 * time.Minute,
			MaxBytes:     maxWorkbook,
			ContentTypes: []string{"text/html", workbookType, "application/octet-stream"},
			Pages:        2,
		},
		Request: func(series.Window) ([]ingest.Request, error) {
			return []ingest.Request{{URL: "https://" + landingHost + landingPath}}, nil
		},
		Parse:  parse,
		Locate: locate,
	}
	for _, c := range columns {
		s.Series = append(s.Series, series.Info{
			ID: c.id, Name: c.name, Unit: "Dollars per Million Btu", Frequency: "monthly", Published: published, Min: new(lowest), Max: new(highest), Rounding: rounding,
		})
	}
	return s
}

// parse reads an answer of either step.
func parse(r ingest.Response) (ingest.Batch, error) {
	u, err := url.Parse(r.Request.URL)
	if err != nil {
		return ingest.Batch{}, errors.New("parse an answer of the world bank: its address is not one")
	}
	switch {
	case u.Host == landingHost && u.Path == landingPath:
		return parseLanding(u, r)
	case ofDomain(u.Hostname()) && strings.EqualFold(path.Base(u.Path), workbookName):
		return parseWorkbook(r)
	}
	return ingest.Batch{}, fmt.Errorf("parse an answer of %s%s: the pink sheet is not there", u.Host, u.Path)
}

// ofDomain reports whether a host is the World Bank's.
func ofDomain(host string) bool {
	host = strings.ToLower(host)
	return host == domain || strings.HasSuffix(host, "."+domain)
}
