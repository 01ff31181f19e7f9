package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/worldbank"
	"tidemark/internal/series"
)

// worldbankFolder is the folder of the World Bank's workbooks below --from.
const worldbankFolder = "worldbank"

// entry is one answer, ready for the archive.
type entry struct {
	// file is the recording's path below --from, with slashes.
	file  string
	fetch series.Fetch
	body  []byte
	// readings are the readings that the source's parser found.
	readings []series.Reading
}

// workbookName is the name under which a workbook was saved, with the date in its cell "Updated on".
var workbookName = regexp.MustCompile(`^CMO-Historical-Data-Monthly_(\d{4}-\d{2}-\d{2})\.xlsx$`)

// documents are the names under which the World Bank served the workbooks, by the first of the years in which it did.
var documents = map[int]string{
	2021: "5d903e848db1d1b83e0ec8f744e55570-0350012021",
	2025: "18675f1d1639c7a34d463f59263ba0a2-0050012025",
	2026: "74e8be41ceb20fa0da750cda2f6b9e4e-0050012026",
}

// readPinkSheets reads the workbooks of the World Bank. The archive gets two responses for each: a constructed page with the link to the
// workbook, and the workbook as it was saved. Only the day is known: its last second in New York is taken, which claims nothing too early,
// and both responses have it as their Date. Without a recorded workbook the result is empty.
func readPinkSheets(from string) ([]entry, error) {
	files, err := filepath.Glob(filepath.Join(from, worldbankFolder, "*.xlsx"))
	if err != nil {
		return nil, fmt.Errorf("read the workbooks of the world bank: %w", err)
	}
	slices.Sort(files)
	var entries []entry
	for _, file := range files {
		pair, err := readPinkSheet(file)
		if err != nil {
			return nil, fmt.Errorf("read the workbooks of the world bank: %s: %w", filepath.Base(file), err)
		}
		entries = append(entries, pair...)
	}
	return entries, nil
}

func readPinkSheet(file string) ([]entry, error) {
	match := workbookName.FindStringSubmatch(filepath.Base(file))
	if match == nil {
		return nil, errors.New("its name does not say when it was updated")
	}
	zone, err := time.LoadLocation(eastern)
	if err != nil {
		return nil, err
	}
	day, err := time.ParseInLocation(time.DateOnly, match[1], zone)
	if err != nil {
		return nil, err
	}
	saved := day.AddDate(0, 0, 1).Add(-time.Second).UTC()
	body, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	document := ""
	for year := day.Year(); document == "" && year > 2000; year-- {
		document = documents[year]
	}
	if document == "" {
		return nil, fmt.Errorf("no address of the workbooks of %d is known", day.Year())
	}
	address, name := worldbank.WorkbookURL(document), worldbankFolder+"/"+filepath.Base(file)
	page := worldbank.LandingPage(address, "Constructed around a recorded workbook: "+name)
	answers := []entry{
		{file: name, body: page, fetch: series.Fetch{URL: worldbank.LandingURL(), Constructed: true}},
		{file: name, body: body, fetch: series.Fetch{URL: address}},
	}
	for i, media := range []string{"text/html; charset=utf-8", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"} {
		f := &answers[i].fetch
		f.Status, f.FetchedAt = http.StatusOK, saved
		f.Header = map[string]string{"Content-Type": media, "Date": saved.Format(http.TimeFormat)}
	}
	return answers, readBack(worldbank.Source(), answers)
}

// readBack names the source of a chain of answers and lets its parser read them, which must go from each to the next and end with
// the last.
func readBack(src ingest.Source, chain []entry) error {
	for i := range chain {
		e := &chain[i]
		e.fetch.Source = src.ID
		b, err := ingest.Parse(src, e.fetch, e.body)
		if err != nil {
			return err
		}
		e.readings = b.Readings
		next := ""
		if b.Next != nil {
			next = b.Next.URL
		}
		want := ""
		if i+1 < len(chain) {
			want = chain[i+1].fetch.URL
		}
		if next != want {
			return fmt.Errorf("%s leads to %q, want %q", e.fetch.URL, next, want)
		}
	}
	return nil
}
