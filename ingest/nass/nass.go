// Package nass reads the data of the U.S. National Agricultural Statistics Service about Iowa's corn. These are the final yields,
// the forecasts of the monthly Crop Production reports, and the weekly ratings of the crop's condition. Source declares the source. It has two forms of the
// Quick Stats database that return the same series. The public web form (form.go) needs no key, the API (api.go) needs one. rows.go
// interprets their rows. Sandbox answers in both forms with synthetic figures, and Spreadsheet writes the web form's file around given
// figures.
package nass

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// The series. A final yield is about a crop year and dated its 1 January. A forecast is dated the first of the month of its report. A
// rating of the crop is dated the end of its week.
const (
	finalYield series.ID = "nass.IA.CORN.YIELD.FINAL"
	forecast   series.ID = "nass.IA.CORN.YIELD.FORECAST"
	condition  series.ID = "nass.IA.CORN.CONDITION"
)

const host = "quickstats.nass.usda.gov"

// minYield and maxYield bound what Iowa's yield can be, in bushels per acre. It was 15 in the drought of 1894, has never been less
// since 1866, and was forecast at 222 in August 2025. In kilograms per hectare it is 63 times as many.
const minYield, maxYield = 3.0, 450.0

// filter is a column of Quick Stats and the value that it must have.
type filter struct{ column, value string }

// asked are the two questions, in columns that both forms know. The rows that they bring are filtered again.
var asked = [][]filter{
	{
		{"source_desc", "SURVEY"},
		{"sector_desc", "CROPS"},
		{"group_desc", "FIELD CROPS"},
		{"commodity_desc", "CORN"},
		{"statisticcat_desc", "YIELD"},
		{"short_desc", yieldItem},
		{"agg_level_desc", "STATE"},
		{"state_name", "IOWA"},
		{"freq_desc", "ANNUAL"},
	},
	{
		{"source_desc", "SURVEY"},
		{"sector_desc", "CROPS"},
		{"group_desc", "FIELD CROPS"},
		{"commodity_desc", "CORN"},
		{"statisticcat_desc", "CONDITION"},
		{"agg_level_desc", "STATE"},
		{"state_name", "IOWA"},
		{"freq_desc", "WEEKLY"},
	},
}

// Source declares Iowa's corn. With an empty key the public web form is requested, otherwise the API. Parse reads the responses of both
// forms with any key, so that an archive outlives a change of settings.
//
// Without a key there were three options. The bulk file of the crops sector (www.nass.usda.gov/datasets) is rebuilt every night and has
// grown to more than a gigabyte compressed, for some 300 wanted rows. The reports as text hold one season each, and their tables are laid
// out by hand. The web form returns exactly the requested rows, as a file of a few hundred kilobytes, by the two steps of its own page:
// it is the default. It does not state when a row was loaded; rows.go compensates for that.
//
// Crop Production comes at noon around the 10th to 12th of August to November and of January, Crop Progress on Mondays at 16:00 from
// April to November. Both reach the database within an hour or two. The source is requested twice on every working day, because a report
// may be late, moved by a holiday, or revised at any time of the year.
func Source(apiKey string) ingest.Source {
	s := ingest.Source{
		ID:              "nass-iowa-corn",
		Name:            "USDA NASS corn yield, forecasts and crop condition, Iowa",
		Publisher:       "USDA National Agricultural Statistics Service",
		License:         "USDA NASS, public domain as a work of the U.S. government; acknowledgement of USDA NASS requested. This product uses the NASS API but is not endorsed or certified by NASS.",
		Redistributable: true,
		HomeURL:         "https://" + host + "/",
		Cadence:         series.Cadence{Cron: "10 13,17 * * MON-FRI", Zone: ingest.NewYorkZone, CatchUp: series.CatchUpLatest},
		Limits: ingest.Limits{
			Interval: time.Second,
			Timeout:  4 * time.Minute, // the database is slow at times: clients allow 300 s
			MaxBytes: 32 << 20,
			// The form's labels for a query and for the file differ between reports; their content is checked.
			ContentTypes: []string{
				"application/json", "text/json", "text/javascript", "application/javascript", "text/plain", "text/html",
				"text/csv", "application/csv", "text/comma-separated-values", "application/vnd.ms-excel", "application/octet-stream",
			},
			Pages: 2,
		},
		Series: []series.Info{
			{
				ID: finalYield, Name: "Corn for grain, Iowa, yield: final estimate", Unit: "Bushels per Acre",
				Frequency: "annual", Published: finalPublished, Min: new(minYield), Max: new(maxYield),
			},
			{
				ID: forecast, Name: "Corn for grain, Iowa, yield: forecast of the month", Unit: "Bushels per Acre",
				Frequency: "monthly", Published: forecastPublished, Min: new(minYield), Max: new(maxYield),
			},
			{
				ID: condition, Name: "Corn, Iowa, condition: index of the five ratings", Unit: "1 (very poor) to 5 (excellent)",
				Frequency: "weekly", Published: conditionPublished, Min: new(1.0), Max: new(5.0),
			},
		},
		Request: formRequests,
		Parse:   parse,
		Epoch:   day,
		Locate:  locate,
	}
	if apiKey != "" {
		s.Request = func(w series.Window) ([]ingest.Request, error) { return apiRequests(apiKey, w), nil }
	}
	return s
}

// parse reads an answer of either form.
func parse(r ingest.Response) (ingest.Batch, error) {
	u, err := url.Parse(r.Request.URL)
	if err != nil {
		return ingest.Batch{}, errors.New("parse an answer of nass: its address is not one") // it may hold a key
	}
	var batch ingest.Batch
	switch {
	case u.Host == host && u.Path == encodePath:
		batch, err = parseName(r)
	case u.Host == host && strings.HasPrefix(u.Path, spreadsheetPath):
		batch, err = parseSpreadsheet(r)
	case u.Host == host && strings.TrimSuffix(u.Path, "/") == apiPath:
		batch, err = parseAPI(r)
	default:
		return ingest.Batch{}, fmt.Errorf("parse an answer of %s%s: nass is not asked there", u.Host, u.Path)
	}
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse %s: %w", strings.TrimPrefix(u.Path, "/"), err)
	}
	return batch, nil
}

// day names the day of a fetch. Of the same bytes more rows count as final from some days on, see settled. Rows are dated by days of UTC.
func day(fetchedAt time.Time) string {
	return fetchedAt.UTC().Format(time.DateOnly) + " " + fetchedAt.In(ingest.NewYork()).Format(time.DateOnly)
}
