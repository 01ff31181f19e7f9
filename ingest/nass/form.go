package nass

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// The two steps of the public web form: a question is given a name, and the file of that name is the answer.
const (
	encodePath      = "/uuid/encode"
	spreadsheetPath = "/data/spreadsheet/"
)

// formRequests asks for the names of the questions. The files hold the whole history: the window is not used.
func formRequests(series.Window) ([]ingest.Request, error) {
	requests := make([]ingest.Request, len(asked))
	for i, filters := range asked {
		// The form sends each column that was chosen once more as a breadcrumb.
		var fields, crumbs []string
		for _, f := range filters {
			fields = append(fields, url.QueryEscape(f.column)+"="+url.QueryEscape(f.value))
			crumbs = append(crumbs, "breadcrumb="+url.QueryEscape(f.column))
		}
		requests[i] = ingest.Request{
			Method: http.MethodPost,
			URL:    "https://" + host + encodePath,
			Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=UTF-8"}},
			Body:   []byte(strings.Join(append(fields, crumbs...), "&")),
		}
	}
	return requests, nil
}

var questionName = regexp.MustCompile(`^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$`)

// SpreadsheetURL is the address of the file that answers the question of a name.
func SpreadsheetURL(name string) string { return "https://" + host + spreadsheetPath + name + ".csv" }

// parseName reads the name of a question, which is a UUID in quotation marks. The file is the next page.
func parseName(r ingest.Response) (ingest.Batch, error) {
	name := strings.Trim(string(bytes.TrimSpace(r.Body)), `"`)
	if !questionName.MatchString(name) {
		return ingest.Batch{}, fmt.Errorf("the answer begins %.60q, want the name of the question, a UUID", name)
	}
	return ingest.Batch{Next: &ingest.Request{URL: SpreadsheetURL(name)}}, nil
}

// The spreadsheet's columns. Those that are read are found by name.
var spreadsheetColumns = []string{
	"Program", "Year", "Period", "Week Ending", "Geo Level", "State", "State ANSI", "Ag District", "Ag District Code", "County",
	"County ANSI", "Zip Code", "Region", "watershed_code", "Watershed", "Commodity", "Data Item", "Domain", "Domain Category", "Value",
	"CV (%)",
}

// parseSpreadsheet reads the file. A line that was cut is refused. A file cut at the end of a line looks whole: it lacks the oldest
// years, because the newest come first, and nothing is claimed about those (see covers).
func parseSpreadsheet(r ingest.Response) (ingest.Batch, error) {
	lines, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(r.Body, []byte("\ufeff")))).ReadAll()
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("want a table of comma separated values: %w", err)
	}
	if len(lines) == 0 {
		return ingest.Batch{}, errors.New("the file is empty")
	}
	at := make(map[string]int, len(lines[0]))
	for i, name := range lines[0] {
		at[strings.TrimSpace(name)] = i
	}
	for _, name := range []string{"Program", "Year", "Period", "Week Ending", "Geo Level", "State", "Data Item", "Domain", "Value"} {
		if _, found := at[name]; !found {
			return ingest.Batch{}, fmt.Errorf("no column %q in a head that begins %.120q", name, strings.Join(lines[0], ","))
		}
	}
	rows := make([]Row, len(lines)-1)
	for i, line := range lines[1:] {
		cell := func(name string) string { return line[at[name]] }
		rows[i] = Row{
			Program: cell("Program"), Year: cell("Year"), Period: cell("Period"), WeekEnding: cell("Week Ending"), Level: cell("Geo Level"),
			State: cell("State"), Item: cell("Data Item"), Domain: cell("Domain"), Value: cell("Value"),
		}
	}
	found, err := read(rows, r.FetchedAt)
	if err != nil {
		return ingest.Batch{}, err
	}
	batch := ingest.Batch{Readings: found.list()}
	if descending := slices.IsSortedFunc(found.years, func(a, b int) int { return b - a }); descending {
		batch.Covers = found.covers()
	}
	return batch, nil
}

// Spreadsheet writes the file of the web form around rows: the inverse of the parser. The sandbox and a recording tool use it.
func Spreadsheet(rows []Row) []byte {
	b := make([]byte, 0, 512+192*len(rows))
	line := func(cells ...string) {
		for i, c := range cells {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, '"')
			b = append(b, strings.ReplaceAll(c, `"`, `""`)...)
			b = append(b, '"')
		}
		b = append(b, '\n')
	}
	line(spreadsheetColumns...)
	for _, r := range rows {
		commodity, _, _ := strings.Cut(r.Item, " - ")
		commodity, _, _ = strings.Cut(commodity, ",")
		category := "NOT SPECIFIED"
		line(r.Program, r.Year, r.Period, r.WeekEnding, r.Level, r.State, ansi[r.State], "", "", "", "", "", "", "00000000", "",
			commodity, r.Item, r.Domain, category, r.Value, r.CV)
	}
	return b
}

// ansi holds the codes of the states that are written.
var ansi = map[string]string{"IOWA": "19", "ILLINOIS": "17"}
