package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/nass"
	"tidemark/internal/series"
)

// nassFolder is the folder of the recordings of NASS below --from.
const nassFolder = "nass"

// The recordings that hold rows of Iowa: a table of finals that was published with a package of examples, and a file of the web
// form.
const (
	finalsName = "agridat_nass_corn_by_state_1866-2011.txt"
	quickstats = "quickstats_corn_yield_2025_five_states.csv"
	yieldItem  = "CORN, GRAIN - YIELD, MEASURED IN BU / ACRE"
	cornName   = "00000000-0000-3000-8000-000000000001"
)

// cornSaved is the last possible time at which the file of the web form was saved. It holds the annual summary of January 2026 and was
// collected in the spring. The end of April claims nothing too early.
var cornSaved = time.Date(2026, time.April, 30, 23, 59, 59, 0, time.UTC)

// readCorn reads the recorded rows of Iowa's corn. The archive gets the two answers of the web form to the question for yields: a
// name for it, and a file around the rows. The years between the recordings are missing from the file, and of the crop's condition
// nothing was recorded. There is nothing where neither file was.
func readCorn(from string) ([]entry, []omission, error) {
	fail := func(err error) ([]entry, []omission, error) {
		return nil, nil, fmt.Errorf("read the yields of nass: %w", err)
	}
	dir := filepath.Join(from, nassFolder)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	season, err := readSeason(filepath.Join(dir, quickstats))
	if err != nil {
		return fail(err)
	}
	finals, err := readFinals(filepath.Join(dir, finalsName))
	if err != nil {
		return fail(err)
	}
	src := nass.Source("")
	requests, err := src.Request(series.Window{})
	if err != nil {
		return fail(err)
	}
	question := requests[0]
	chain := []entry{
		{body: []byte(`"` + cornName + `"`), fetch: series.Fetch{
			URL:    ingest.LoggedURL(question.Method, question.URL, question.Body, question.Secret),
			Header: map[string]string{"Content-Type": "application/json"},
		}},
		{body: nass.Spreadsheet(slices.Concat(season, finals)), fetch: series.Fetch{
			URL:    nass.SpreadsheetURL(cornName),
			Header: map[string]string{"Content-Type": "text/csv"},
		}},
	}
	for i := range chain {
		e := &chain[i]
		e.file = nassFolder + "/" + quickstats + " and " + finalsName
		e.fetch.Status, e.fetch.FetchedAt, e.fetch.Constructed = http.StatusOK, cornSaved, true
		e.fetch.Header["Date"] = cornSaved.Format(http.TimeFormat)
	}
	if err := readBack(src, chain); err != nil {
		return fail(err)
	}
	return chain, []omission{
		{nassFolder + "/quickstats_corn_illinois_1902-2025.csv", "another state, which no source reads"},
		{nassFolder + "/TRAP_yield_with_forecasts_averaged_in_2005-2024.csv", "means of finals and forecasts, which nobody published"},
	}, nil
}

// readSeason reads the rows of Iowa from a file of the web form.
func readSeason(file string) ([]nass.Row, error) {
	lines, err := readCells(file, ',')
	if err != nil {
		return nil, err
	}
	var rows []nass.Row
	for _, line := range lines[1:] {
		cell := map[string]string{}
		for i, name := range lines[0] {
			cell[name] = line[i]
		}
		if cell["State"] != "IOWA" {
			continue
		}
		rows = append(rows, nass.Row{
			Program: cell["Program"], Year: cell["Year"], Period: cell["Period"], WeekEnding: cell["Week Ending"], Level: cell["Geo Level"],
			State: cell["State"], Item: cell["Data Item"], Domain: cell["Domain"], Value: cell["Value"], CV: cell["CV (%)"],
		})
	}
	return rows, nil
}

// readFinals reads the table of year, state, acres and yield, and writes a row for each year of Iowa, the newest first.
func readFinals(file string) ([]nass.Row, error) {
	lines, err := readCells(file, '\t')
	if err != nil {
		return nil, err
	}
	if want := "year,state,acres,yield"; strings.Join(lines[0], ",") != want {
		return nil, fmt.Errorf("%s: columns %q, want %q", filepath.Base(file), lines[0], want)
	}
	var rows []nass.Row
	for _, line := range slices.Backward(lines[1:]) {
		if line[1] != "Iowa" {
			continue
		}
		rows = append(rows, nass.Row{
			Program: "SURVEY", Year: line[0], Period: "YEAR", Level: "STATE", State: "IOWA", Item: yieldItem, Domain: "TOTAL", Value: line[3],
		})
	}
	return rows, nil
}

// readCells reads a table with a head.
func readCells(file string, comma rune) ([][]string, error) {
	body, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	table := csv.NewReader(bytes.NewReader(body))
	table.Comma = comma
	lines, err := table.ReadAll()
	if err == nil && len(lines) < 2 {
		err = errors.New("no rows")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	return lines, nil
}
